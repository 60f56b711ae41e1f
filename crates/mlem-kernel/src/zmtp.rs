//! The part of ZMTP 3.0 (ZeroMQ's wire, RFC 23) that a Jupyter client needs: connect, subscribe,
//! send and receive multipart messages without security mechanism.
//!
//! Written here because a client of untrusted kernels must bound what it reads: a frame beyond the
//! limit is passed over on the wire instead of being held in memory, and the kernel's end of the
//! connection is reported instead of being retried for ever.

use std::io;
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};

/// Where a kernel listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A unix socket.
    Ipc(PathBuf),
    /// A port on the loopback interface.
    Tcp(u16),
}

/// The kind of socket we pretend to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// For requests and replies.
    Dealer,
    /// For broadcasts; subscribes to everything.
    Subscriber,
}

/// The receiving half of a connection.
pub(crate) struct Receiver {
    stream: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
}

/// The sending half of a connection.
pub(crate) struct Sender {
    stream: Box<dyn AsyncWrite + Send + Unpin>,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Its bytes.
    Whole(Vec<u8>),
    /// A part that was too large to keep: its beginning, and its whole length.
    Oversize(Vec<u8>, u64),
}

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// The largest command that a peer may send during the handshake, in bytes.
const COMMAND_BYTES: u64 = 64 * 1024;

/// How much of a part that is too large is kept, in bytes.
const BEGINNING_BYTES: u64 = 1 << 20;

/// Most parts of one message that are kept; Jupyter uses six to eight, plus buffers.
const PARTS: usize = 1024;

/// Opens a connection and shakes hands.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    kind: Kind,
    identity: &str,
) -> io::Result<(Receiver, Sender)> {
    let (reader, writer): (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>) =
        match endpoint {
            Endpoint::Ipc(path) => {
                let (reader, writer) = UnixStream::connect(path).await?.into_split();
                (Box::new(reader), Box::new(writer))
            }
            Endpoint::Tcp(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port)).await?;
                stream.set_nodelay(true)?;
                let (reader, writer) = stream.into_split();
                (Box::new(reader), Box::new(writer))
            }
        };
    let mut receiver = Receiver { stream: BufReader::with_capacity(64 * 1024, reader) };
    let mut sender = Sender { stream: writer };
    sender.stream.write_all(&greeting()).await?;
    receiver.greeting().await?;
    sender.stream.write_all(&ready(kind, identity)).await?;
    receiver.ready().await?;
    if kind == Kind::Subscriber {
        // In version 3.0 a subscription is a message: 1, then the topic; no topic is everything.
        sender.send(&[&[1]]).await?;
    }
    Ok((receiver, sender))
}

/// Signature, version 3.0, mechanism NULL, not a server.
fn greeting() -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[0] = 0xff;
    bytes[9] = 0x7f;
    bytes[10] = 3;
    bytes[12..16].copy_from_slice(b"NULL");
    bytes
}

/// The READY command with our socket type and identity.
fn ready(kind: Kind, identity: &str) -> Vec<u8> {
    let kind = match kind {
        Kind::Dealer => "DEALER",
        Kind::Subscriber => "SUB",
    };
    let mut body = b"\x05READY".to_vec();
    for (name, value) in [("Socket-Type", kind), ("Identity", identity)] {
        body.push(name.len() as u8);
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    let mut frame = Vec::new();
    push_frame(&mut frame, COMMAND, &body);
    frame
}

fn push_frame(out: &mut Vec<u8>, flags: u8, body: &[u8]) {
    match u8::try_from(body.len()) {
        Ok(length) => out.extend_from_slice(&[flags, length]),
        Err(_) => {
            out.push(flags | LONG);
            out.extend_from_slice(&(body.len() as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(body);
}

fn protocol_error(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Sender {
    /// Sends one message of these parts.
    pub(crate) async fn send(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(parts.iter().map(|part| part.len() + 9).sum());
        for (index, part) in parts.iter().enumerate() {
            let more = if index + 1 < parts.len() { MORE } else { 0 };
            push_frame(&mut bytes, more, part);
        }
        self.stream.write_all(&bytes).await
    }
}

impl Receiver {
    async fn greeting(&mut self) -> io::Result<()> {
        let mut bytes = [0; 64];
        self.stream.read_exact(&mut bytes).await?;
        if bytes[0] != 0xff || bytes[9] & 1 != 1 || bytes[10] < 3 {
            return Err(protocol_error("the peer does not speak ZMTP 3"));
        }
        if !bytes[12..].starts_with(b"NULL\0") {
            return Err(protocol_error("the peer asks for a security mechanism"));
        }
        Ok(())
    }

    async fn ready(&mut self) -> io::Result<()> {
        let (flags, length) = self.header().await?;
        if flags & COMMAND == 0 || length > COMMAND_BYTES {
            return Err(protocol_error("the peer did not get ready"));
        }
        let mut body = vec![0; length as usize];
        self.stream.read_exact(&mut body).await?;
        if !body.starts_with(b"\x05READY") {
            return Err(protocol_error("the peer refused the connection"));
        }
        Ok(())
    }

    async fn header(&mut self) -> io::Result<(u8, u64)> {
        let flags = self.stream.read_u8().await?;
        let length = if flags & LONG == 0 {
            u64::from(self.stream.read_u8().await?)
        } else {
            self.stream.read_u64().await?
        };
        Ok((flags, length))
    }

    /// Receives one message; of parts that would bring it beyond `limit` bytes only the beginning is
    /// kept.
    ///
    /// An error is final: the connection has ended or lost its place. Not cancel-safe.
    pub(crate) async fn receive(&mut self, limit: u64) -> io::Result<Vec<Frame>> {
        let mut parts = Vec::new();
        let mut kept = 0;
        loop {
            let (flags, length) = self.header().await?;
            if flags & COMMAND != 0 {
                self.pass_over(length).await?;
                continue;
            }
            let whole = kept + length <= limit;
            let wanted = match (parts.len() < PARTS, whole) {
                (false, _) => 0,
                (true, true) => length,
                (true, false) => length.min(BEGINNING_BYTES),
            };
            let mut body = vec![0; wanted as usize];
            self.stream.read_exact(&mut body).await?;
            self.pass_over(length - wanted).await?;
            if parts.len() < PARTS {
                if whole {
                    kept += length;
                    parts.push(Frame::Whole(body));
                } else {
                    parts.push(Frame::Oversize(body, length));
                }
            }
            if flags & MORE == 0 {
                return Ok(parts);
            }
        }
    }

    async fn pass_over(&mut self, length: u64) -> io::Result<()> {
        let mut part = (&mut self.stream).take(length);
        let passed = tokio::io::copy_buf(&mut part, &mut tokio::io::sink()).await?;
        if passed < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(bytes: Vec<u8>) -> Receiver {
        Receiver { stream: BufReader::new(Box::new(io::Cursor::new(bytes))) }
    }

    #[tokio::test]
    async fn long_and_short_parts_come_back() {
        let long = vec![7u8; 300];
        let mut bytes = Vec::new();
        push_frame(&mut bytes, MORE, b"id");
        push_frame(&mut bytes, COMMAND, b"\x04PING\0\0");
        push_frame(&mut bytes, 0, &long);
        let parts = receiver(bytes).receive(1000).await.unwrap();
        assert_eq!(parts, [Frame::Whole(b"id".to_vec()), Frame::Whole(long)]);
    }

    #[tokio::test]
    async fn a_part_beyond_the_limit_is_passed_over() {
        let mut bytes = Vec::new();
        push_frame(&mut bytes, MORE, &[0; 10]);
        push_frame(&mut bytes, 0, &[0; 3_000_000]);
        push_frame(&mut bytes, 0, b"next");
        let mut receiver = receiver(bytes);
        let parts = receiver.receive(50).await.unwrap();
        assert_eq!(parts, [Frame::Whole(vec![0; 10]), Frame::Oversize(vec![0; 1 << 20], 3_000_000)]);
        assert_eq!(receiver.receive(50).await.unwrap(), [Frame::Whole(b"next".to_vec())]);
    }

    #[tokio::test]
    async fn a_torn_message_is_an_error() {
        let mut bytes = Vec::new();
        push_frame(&mut bytes, 0, &[0; 100]);
        bytes.truncate(60);
        assert!(receiver(bytes.clone()).receive(1000).await.is_err());
        assert!(receiver(bytes).receive(10).await.is_err());
    }

    #[tokio::test]
    async fn a_peer_that_speaks_something_else_is_refused() {
        assert!(receiver(vec![b'H'; 64]).greeting().await.is_err());
    }
}
