//! The channels to one kernel, and the tasks that read them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::message::{Incoming, Session};
use crate::process::random_hex;
use crate::zmtp::{self, Endpoint, Kind, Receiver, Sender};

/// The largest message that is kept, in bytes; of larger ones only the size is known.
const MESSAGE_BYTES: u64 = 64 << 20;

/// Bytes of output that may wait to be looked at. Beyond, output is dropped and counted, so that a
/// kernel that prints faster than we work costs no memory; state changes are never dropped.
const BACKLOG_BYTES: usize = 32 << 20;

/// What one waiting message costs beside its bytes.
const MESSAGE_OVERHEAD: usize = 512;

/// Numbers of the five sockets, as the connection file names them.
const SHELL: u16 = 1;
const IOPUB: u16 = 2;
const STDIN: u16 = 3;
const CONTROL: u16 = 4;
const HEARTBEAT: u16 = 5;

/// Unix socket paths may have 103 bytes on macOS and 107 on Linux, without the final zero.
const SOCKET_PATH_BYTES: usize = 103;

/// Where a kernel is to listen.
#[derive(Debug)]
pub(crate) struct Address {
    place: Place,
    key: String,
}

#[derive(Debug)]
enum Place {
    /// Unix sockets `PREFIX-1` to `PREFIX-5`.
    Ipc(PathBuf),
    /// Ports on the loopback interface, in the order of the numbers above.
    Tcp([u16; 5]),
}

impl Address {
    /// Unix sockets in `folder`, which only we may enter; none where such sockets cannot be made.
    pub(crate) fn ipc(folder: &Path) -> Option<Address> {
        let prefix = folder.join("k");
        if prefix.as_os_str().len() + 2 > SOCKET_PATH_BYTES || prefix.to_str().is_none() {
            return None;
        }
        let trial = folder.join("k-0");
        std::os::unix::net::UnixListener::bind(&trial).ok()?;
        let _ = std::fs::remove_file(&trial);
        // The folder's mode keeps others out: signatures would only cost time.
        Some(Address { place: Place::Ipc(prefix), key: String::new() })
    }

    /// Free ports, with a key. Somebody else may take a port before the kernel does; the kernel then
    /// ends, and the caller tries again.
    pub(crate) fn tcp() -> io::Result<Address> {
        let mut ports = [0; 5];
        let mut held = Vec::new();
        for port in &mut ports {
            let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
            *port = listener.local_addr()?.port();
            held.push(listener);
        }
        Ok(Address { place: Place::Tcp(ports), key: random_hex(32) })
    }

    pub(crate) fn is_tcp(&self) -> bool {
        matches!(self.place, Place::Tcp(_))
    }

    /// The content of the connection file.
    pub(crate) fn connection_file(&self) -> Value {
        let (transport, ip) = match &self.place {
            Place::Ipc(prefix) => ("ipc", prefix.to_string_lossy().into_owned()),
            Place::Tcp(_) => ("tcp", "127.0.0.1".to_owned()),
        };
        json!({
            "transport": transport,
            "ip": ip,
            "shell_port": self.port(SHELL),
            "iopub_port": self.port(IOPUB),
            "stdin_port": self.port(STDIN),
            "control_port": self.port(CONTROL),
            "hb_port": self.port(HEARTBEAT),
            "key": self.key,
            "signature_scheme": "hmac-sha256",
            "kernel_name": "mlem",
        })
    }

    fn port(&self, number: u16) -> u16 {
        match &self.place {
            Place::Ipc(_) => number,
            Place::Tcp(ports) => ports[usize::from(number) - 1],
        }
    }

    fn endpoint(&self, number: u16) -> Endpoint {
        match &self.place {
            Place::Ipc(prefix) => {
                let mut path = prefix.clone().into_os_string();
                path.push(format!("-{number}"));
                Endpoint::Ipc(path.into())
            }
            Place::Tcp(ports) => Endpoint::Tcp(ports[usize::from(number) - 1]),
        }
    }
}

/// On which channel a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Shell,
    IoPub,
}

/// What the reading tasks report.
#[derive(Debug)]
pub(crate) enum Event {
    Message(Channel, Incoming),
    /// A message that made no sense, and why.
    Malformed(Channel, String),
    /// The kernel closed the channel.
    Closed(Channel),
}

/// The open channels to one kernel.
pub(crate) struct Connection {
    session: Arc<Session>,
    shell: Sender,
    events: mpsc::UnboundedReceiver<Event>,
    backlog: Arc<Backlog>,
    readers: Vec<JoinHandle<()>>,
    /// Subscriptions end when this half is dropped.
    _iopub: Sender,
}

/// Output waiting to be looked at, and output dropped because too much of it waited.
#[derive(Debug, Default)]
struct Backlog {
    waiting: AtomicUsize,
    dropped: AtomicU64,
}

impl Connection {
    /// Opens all channels; fails at once where the kernel does not listen yet.
    pub(crate) async fn open(address: &Address) -> io::Result<Connection> {
        let session = Arc::new(Session::new(random_hex(16), address.key.clone()));
        let connect = async |number: u16, kind: Kind| {
            zmtp::connect(&address.endpoint(number), kind, session.id()).await
        };
        // First of all the broadcasts, so that nothing is missed.
        let (iopub, iopub_sender) = connect(IOPUB, Kind::Subscriber).await?;
        let (shell, shell_sender) = connect(SHELL, Kind::Dealer).await?;
        let (sender, events) = mpsc::unbounded_channel();
        let backlog = Arc::new(Backlog::default());
        let readers = [(Channel::IoPub, iopub), (Channel::Shell, shell)]
            .into_iter()
            .map(|(channel, receiver)| {
                tokio::spawn(pump(
                    channel,
                    receiver,
                    Arc::clone(&session),
                    sender.clone(),
                    Arc::clone(&backlog),
                ))
            })
            .collect();
        Ok(Connection { session, shell: shell_sender, events, backlog, readers, _iopub: iopub_sender })
    }

    /// Sends a request on the shell channel; returns its id.
    pub(crate) async fn request(&mut self, kind: &str, content: &Value) -> io::Result<String> {
        let (id, frames) = self.session.request(kind, content);
        let parts: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        self.shell.send(&parts).await?;
        Ok(id)
    }

    /// The next event; none when every channel is closed. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        let event = self.events.recv().await?;
        if let Event::Message(_, message) = &event {
            self.backlog.waiting.fetch_sub(message.size + MESSAGE_OVERHEAD, Ordering::Relaxed);
        }
        Some(event)
    }

    /// Bytes of output dropped since the last call because too much of it waited.
    pub(crate) fn take_dropped(&self) -> u64 {
        self.backlog.dropped.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for reader in &self.readers {
            reader.abort();
        }
    }
}

/// Reads one channel to its end. It never waits for whoever works on the messages: ZeroMQ drops
/// broadcasts of a kernel whose subscriber is slow, the end of the cell included.
async fn pump(
    channel: Channel,
    mut receiver: Receiver,
    session: Arc<Session>,
    events: mpsc::UnboundedSender<Event>,
    backlog: Arc<Backlog>,
) {
    while let Ok(frames) = receiver.receive(MESSAGE_BYTES).await {
        let event = match session.open(&frames) {
            Err(reason) => Event::Malformed(channel, reason),
            Ok(message) => {
                let cost = message.size + MESSAGE_OVERHEAD;
                let output = matches!(
                    message.kind.as_str(),
                    "stream"
                        | "display_data"
                        | "update_display_data"
                        | "execute_result"
                        | "comm_msg"
                        | "comm_open"
                );
                let waiting = backlog.waiting.load(Ordering::Relaxed);
                // A single large message may always come through.
                if output && waiting > 0 && waiting + cost > BACKLOG_BYTES {
                    backlog.dropped.fetch_add(message.size as u64 + message.oversize, Ordering::Relaxed);
                    continue;
                }
                backlog.waiting.fetch_add(cost, Ordering::Relaxed);
                Event::Message(channel, message)
            }
        };
        if events.send(event).is_err() {
            return;
        }
    }
    // Whoever listens has gone: nothing to tell.
    let _ = events.send(Event::Closed(channel));
}
