//! From a specification to a kernel that has answered.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use super::{Kernel, KernelError, KernelSpec, Transport};
use crate::capture::Log;
use crate::connection::{Address, Channel, Connection, Event};
use crate::launch::{Launch, LaunchError, Network, Sink};
use crate::process::{Death, Process};

/// What `ipykernel_launcher` does, except that ipykernel finds no debugger while it starts: importing
/// debugpy takes a fifth of the whole start, and nobody will debug. Cells may import it again.
const LAUNCHER: &str = "\
import sys
if sys.path[0] == '':
    del sys.path[0]
sys.modules['debugpy'] = None
from ipykernel.kernelapp import IPKernelApp
app = IPKernelApp.instance()
app.initialize()
del sys.modules['debugpy']
app.start()
";

/// How often it is looked whether the kernel listens. The start takes some 300 ms; a retry of the
/// usual growing kind would waste up to half of that.
const LISTEN_INTERVAL: Duration = Duration::from_millis(3);

/// How long the first broadcast may come after the first reply before the question is repeated: a
/// subscription takes effect a moment after the connection, and older kernels do not confirm it.
const SUBSCRIPTION_PATIENCE: Duration = Duration::from_millis(200);

/// How often a start over TCP is tried: somebody may take one of the ports found free.
const TCP_ATTEMPTS: usize = 3;

/// Longest temporary folder in which unix sockets are put; else `/tmp` serves.
const TEMPORARY_PATH_BYTES: usize = 70;

/// What a kernel says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelInfo {
    /// Version of the messaging protocol, such as `5.3`.
    pub protocol_version: String,
    /// Name of the implementation: `ipython`.
    pub implementation: String,
    /// Version of IPython.
    pub implementation_version: String,
    /// Version of Python, such as `3.11.7`.
    pub language_version: String,
    /// What a console would show at the start.
    pub banner: String,
    /// The `language_info` of a notebook's metadata, as the kernel gives it.
    pub language_info: Value,
}

/// Starts a kernel; `log` is that of its predecessor when it is a restart.
pub(super) async fn start(mut spec: KernelSpec, log: Option<Log>) -> Result<Kernel, KernelError> {
    // A path relative to our folder would be looked for in the kernel's. A bare name is left to PATH.
    if spec.python.components().count() > 1 {
        spec.python = std::path::absolute(&spec.python).map_err(KernelError::Prepare)?;
    }
    if !spec.working_dir.is_dir() {
        return Err(KernelError::WorkingDir(spec.working_dir));
    }
    let folder = private_folder().map_err(KernelError::Prepare)?;
    let log = match log {
        Some(log) => log,
        None => {
            let path = spec.log.clone().unwrap_or_else(|| folder.path().join("kernel.log"));
            Log::to_file(&path, spec.log_limit_bytes).map_err(KernelError::Prepare)?
        }
    };
    let deadline = Instant::now() + spec.startup_timeout;
    let mut attempts = 0;
    loop {
        attempts += 1;
        let address = match Address::ipc(folder.path()) {
            Some(address) if spec.transport == Transport::Auto => address,
            _ => Address::tcp().map_err(KernelError::Prepare)?,
        };
        let process = launch(&spec, folder.path(), &address, &log)?;
        match greet(&spec, &address, &process, &log, deadline).await {
            Ok((connection, info)) => {
                return Ok(Kernel { spec, connection, process, info, log, notes: Vec::new(), folder });
            }
            Err(KernelError::DiedAtStart { death, output, .. }) => {
                if has_ipykernel(&spec).await == Some(false) {
                    return Err(KernelError::NoIpykernel { python: spec.python, output });
                }
                if !(address.is_tcp() && attempts < TCP_ATTEMPTS && death == Death::Exit(1)) {
                    return Err(KernelError::DiedAtStart { python: spec.python, death, output });
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// A folder that only we may enter, with a path short enough for sockets in it.
fn private_folder() -> std::io::Result<TempDir> {
    let temporary = std::env::temp_dir();
    let base =
        if temporary.as_os_str().len() <= TEMPORARY_PATH_BYTES { temporary } else { PathBuf::from("/tmp") };
    tempfile::Builder::new().prefix("mlem-k").rand_bytes(8).tempdir_in(base)
}

/// Starts the interpreter.
fn launch(spec: &KernelSpec, folder: &Path, address: &Address, log: &Log) -> Result<Process, KernelError> {
    let connection_file = folder.join("connection.json");
    std::fs::write(&connection_file, address.connection_file().to_string()).map_err(KernelError::Prepare)?;
    let mut launch = interpreter(spec)
        .args(["-c", LAUNCHER, "-f"])
        .arg(connection_file)
        // No history file: nothing of one notebook may reach another, and SQLite costs time.
        .args(["--HistoryManager.enabled=False", "--HistoryManager.hist_file=:memory:"])
        .env("IPYTHONDIR", folder.join("ipython"))
        .env("JUPYTER_CONFIG_DIR", folder.join("jupyter"))
        .env("JUPYTER_DATA_DIR", folder.join("jupyter"))
        .env("JUPYTER_RUNTIME_DIR", folder.join("jupyter"))
        // Python 3.11 and later freeze modules; the debugger would warn about it on every start.
        .env("PYDEVD_DISABLE_FILE_VALIDATION", "1")
        .stdout(Sink::Log(log.clone()))
        .stderr(Sink::Log(log.clone()));
    for (name, value) in &spec.env {
        launch = launch.env(name, value);
    }
    // Another network namespace has another loopback interface: TCP could not reach it.
    let network = if address.is_tcp() { Network::Host } else { spec.network };
    let mut process = launch.network(network).spawn()?;
    if network != spec.network {
        process.add_missing("the network is not shut off: the kernel is spoken to over TCP");
    }
    Ok(process)
}

/// The interpreter with the confinement and surroundings of the specification.
fn interpreter(spec: &KernelSpec) -> Launch {
    let mut launch =
        Launch::new(&spec.python).working_dir(&spec.working_dir).limits(spec.limits).network(spec.network);
    if let Some(home) = &spec.home {
        launch = launch.home(home);
    }
    // As an activated environment: `!python` and `!pip` in a cell mean this interpreter.
    if let Some(scripts) = spec.python.parent().filter(|scripts| scripts.is_absolute()) {
        launch = launch.path_first(scripts);
        if let Some(environment) = scripts.parent().filter(|folder| folder.join("pyvenv.cfg").exists()) {
            launch = launch.env("VIRTUAL_ENV", OsString::from(environment));
        }
    }
    launch
}

/// Waits until the kernel listens, connects, and asks it who it is.
async fn greet(
    spec: &KernelSpec,
    address: &Address,
    process: &Process,
    log: &Log,
    deadline: Instant,
) -> Result<(Connection, KernelInfo), KernelError> {
    let dialogue = async {
        let mut connection = loop {
            match Connection::open(address).await {
                Ok(connection) => break connection,
                Err(_) => tokio::time::sleep(LISTEN_INTERVAL).await,
            }
        };
        let info = ask_info(&mut connection).await;
        (connection, info)
    };
    let timeout = || KernelError::StartupTimeout {
        python: spec.python.clone(),
        timeout: spec.startup_timeout,
        output: log.tail(),
    };
    tokio::select! {
        (connection, info) = dialogue => match info {
            Some(info) => Ok((connection, info)),
            None => {
                // Closed channels: the process is ending.
                let exit = tokio::time::timeout_at(deadline, process.exited()).await.map_err(|_| timeout())?;
                Err(died(spec, exit.death, log))
            }
        },
        exit = process.exited() => Err(died(spec, exit.death, log)),
        () = tokio::time::sleep_until(deadline) => Err(timeout()),
    }
}

fn died(spec: &KernelSpec, death: Death, log: &Log) -> KernelError {
    KernelError::DiedAtStart { python: spec.python.clone(), death, output: log.tail() }
}

/// Asks until both the reply and a broadcast about it have come: only then is the subscription sure
/// to be in force. None when the channels close.
async fn ask_info(connection: &mut Connection) -> Option<KernelInfo> {
    let mut reply = None;
    let mut asked = Vec::new();
    let mut subscribed = false;
    loop {
        asked.push(connection.request("kernel_info_request", &json!({})).await.ok()?);
        loop {
            let event = if reply.is_none() {
                connection.next().await?
            } else {
                match tokio::time::timeout(SUBSCRIPTION_PATIENCE, connection.next()).await {
                    Ok(event) => event?,
                    Err(_) => break,
                }
            };
            match event {
                Event::Message(Channel::Shell, message) if message.kind == "kernel_info_reply" => {
                    reply = Some(message.content);
                }
                Event::Message(Channel::IoPub, message) => {
                    subscribed |= message.kind == "iopub_welcome" || asked.contains(&message.parent);
                }
                Event::Closed(_) => return None,
                Event::Message(..) | Event::Malformed(..) => {}
            }
            if subscribed && let Some(reply) = &reply {
                return Some(KernelInfo::read(reply));
            }
        }
    }
}

impl KernelInfo {
    /// Reads a `kernel_info_reply`; what is missing stays empty.
    fn read(reply: &Value) -> KernelInfo {
        let text = |value: &Value, name: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let language_info = reply.get("language_info").cloned().unwrap_or_else(|| json!({}));
        KernelInfo {
            protocol_version: text(reply, "protocol_version"),
            implementation: text(reply, "implementation"),
            implementation_version: text(reply, "implementation_version"),
            language_version: text(&language_info, "version"),
            banner: text(reply, "banner"),
            language_info,
        }
    }
}

/// Whether the interpreter, which has just failed to start a kernel, has ipykernel. None when it is
/// not even able to print.
async fn has_ipykernel(spec: &KernelSpec) -> Option<bool> {
    let log = Log::in_memory(64 * 1024);
    let process: Result<Process, LaunchError> = interpreter(spec)
        .arg("-c")
        .arg("import sys; sys.stdout.write('alive'); sys.stdout.flush(); import ipykernel.kernelapp")
        .stdout(Sink::Log(log.clone()))
        .spawn();
    let process = process.ok()?;
    let exited = tokio::time::timeout(Duration::from_secs(30), process.exited()).await.ok()?;
    (log.head() == b"alive").then_some(exited.death != Death::Exit(1))
}

/// The last lines of an output, set below a message.
pub(super) fn quoted(output: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let shown = &lines[lines.len().saturating_sub(LINES)..];
    shown.iter().map(|line| format!("\n  {line}")).collect()
}
