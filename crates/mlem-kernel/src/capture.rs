//! Bounded logs of what a process prints.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of the end that are always kept, beside the beginning.
const TAIL_BYTES: usize = 64 * 1024;

/// A bounded record of output: its beginning in memory or in a file, and always its last 64 KiB.
///
/// Clones share the record.
#[derive(Clone)]
pub struct Log {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    closed: Condvar,
    path: Option<PathBuf>,
    limit: usize,
}

struct State {
    head: Vec<u8>,
    file: Option<File>,
    kept: usize,
    total: u64,
    tail: VecDeque<u8>,
    /// Pipes that still feed this log.
    writers: usize,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Log")
            .field("path", &self.shared.path)
            .field("limit", &self.shared.limit)
            .finish_non_exhaustive()
    }
}

impl Log {
    /// A log whose beginning, up to `limit` bytes, stays in memory.
    pub fn in_memory(limit: usize) -> Log {
        Log::new(None, None, limit)
    }

    /// A log whose beginning, up to `limit` bytes, goes to a file, made or emptied here.
    pub fn to_file(path: &Path, limit: usize) -> io::Result<Log> {
        Ok(Log::new(Some(File::create(path)?), Some(path.to_owned()), limit))
    }

    fn new(file: Option<File>, path: Option<PathBuf>, limit: usize) -> Log {
        Log {
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    head: Vec::new(),
                    file,
                    kept: 0,
                    total: 0,
                    tail: VecDeque::new(),
                    writers: 0,
                }),
                closed: Condvar::new(),
                path,
                limit,
            }),
        }
    }

    /// The file behind the log, if it has one.
    pub fn path(&self) -> Option<&Path> {
        self.shared.path.as_deref()
    }

    /// The beginning, when it is kept in memory.
    pub fn head(&self) -> Vec<u8> {
        self.lock().head.clone()
    }

    /// The last 64 KiB as text; bytes that are not UTF-8 are replaced.
    pub fn tail(&self) -> String {
        let state = self.lock();
        let (front, back) = state.tail.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }

    /// Bytes beyond the limit; of them only the tail is known.
    pub fn dropped_bytes(&self) -> u64 {
        let state = self.lock();
        state.total - state.kept as u64
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies `pipe` into the log on a thread of its own until its end.
    pub(crate) fn feed(&self, mut pipe: PipeReader) -> io::Result<()> {
        self.lock().writers += 1;
        let log = self.clone();
        let result =
            std::thread::Builder::new().name("mlem-log".to_owned()).stack_size(128 * 1024).spawn(move || {
                let mut buffer = [0u8; 16 * 1024];
                loop {
                    match pipe.read(&mut buffer) {
                        Ok(0) => break,
                        Ok(count) => log.append(&buffer[..count]),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(_) => break,
                    }
                }
                log.lock().writers -= 1;
                log.shared.closed.notify_all();
            });
        if result.is_err() {
            self.lock().writers -= 1;
        }
        result.map(drop)
    }

    /// Waits until every pipe that feeds the log has ended, at most `patience`.
    pub(crate) fn wait_closed(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        while state.writers > 0 {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return;
            };
            state = self.shared.closed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn append(&self, bytes: &[u8]) {
        let mut state = self.lock();
        let room = self.shared.limit.saturating_sub(state.kept);
        let kept = &bytes[..bytes.len().min(room)];
        if let Some(file) = &mut state.file {
            // A full disk must not stop the process that prints: the log just ends early.
            if file.write_all(kept).is_ok() {
                state.kept += kept.len();
            }
        } else {
            state.head.extend_from_slice(kept);
            state.kept += kept.len();
        }
        state.total += bytes.len() as u64;
        state.tail.extend(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
        let excess = state.tail.len().saturating_sub(TAIL_BYTES);
        state.tail.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept() {
        let log = Log::in_memory(4);
        log.append(b"abcdef");
        log.append(b"gh");
        assert_eq!(log.head(), b"abcd");
        assert_eq!(log.tail(), "abcdefgh");
        assert_eq!(log.dropped_bytes(), 4);
    }

    #[test]
    fn the_tail_is_bounded() {
        let log = Log::in_memory(0);
        for _ in 0..20 {
            log.append(&[b'x'; 10_000]);
        }
        log.append(b"end");
        assert_eq!(log.tail().len(), TAIL_BYTES);
        assert!(log.tail().ends_with("xend"));
    }

    #[test]
    fn a_file_takes_no_more_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.log");
        let log = Log::to_file(&path, 3).unwrap();
        log.append(b"abcdef");
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
    }
}
