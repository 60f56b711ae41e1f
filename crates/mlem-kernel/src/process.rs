//! A started process: its end is awaited on a thread of its own, its whole family ends with it.

#![expect(unsafe_code, reason = "signals and wait4 have no safe form in the standard library")]

use std::io;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde::Serialize;
use tempfile::TempDir;
use tokio::sync::watch;

use crate::accounting::OomKills;
use crate::capture::Log;
use crate::launch::{Confinement, MARKER, Report};

/// How a process ended, judged by the operating system's accounting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Death {
    /// It exited with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
    /// It was killed for want of memory, or broke down at its memory limit.
    OutOfMemory {
        /// The signal that ended it.
        signal: i32,
        /// Largest resident size it had, in bytes.
        peak_bytes: u64,
        /// Its own memory limit in bytes, if that is what it ran into.
        limit_bytes: Option<u64>,
    },
}

impl std::fmt::Display for Death {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Death::Exit(code) => write!(formatter, "exited with code {code}"),
            Death::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(formatter, "killed by {name}"),
                None => write!(formatter, "killed by signal {signal}"),
            },
            Death::OutOfMemory { peak_bytes, .. } => {
                write!(formatter, "out of memory at {} MiB", peak_bytes >> 20)
            }
        }
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        _ => return None,
    })
}

/// The end of a process and what it used, children that it waited for included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Exit {
    /// How it ended.
    pub death: Death,
    /// Largest resident size of any one process of the family, in bytes.
    pub peak_bytes: u64,
    /// Processor time in user mode, in seconds.
    pub user_seconds: f64,
    /// Processor time in the system, in seconds.
    pub system_seconds: f64,
}

impl Exit {
    /// Whether it exited with code 0.
    pub fn success(&self) -> bool {
        self.death == Death::Exit(0)
    }
}

/// A running or ended process. Dropping it ends the process and all its descendants.
#[derive(Debug)]
pub struct Process {
    handle: ProcessHandle,
    confinement: Confinement,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// Home and temporary files of the process; removed last.
    scratch: TempDir,
}

/// A cheap handle to send signals to a process and to learn of its end; it does not keep it alive.
#[derive(Clone, Debug)]
pub struct ProcessHandle {
    shared: Arc<Shared>,
    ended: watch::Receiver<Option<Exit>>,
}

#[derive(Debug)]
struct Shared {
    pid: libc::pid_t,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    exit: Option<Exit>,
    /// Set when the number may belong to another process again: no signal may be sent any more.
    reaped: bool,
    killed_by_us: bool,
    /// The sweep for descendants outside the group; set before the process can be adopted.
    marker: String,
    logs: Vec<Log>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the spawning thread hands over.
pub(crate) struct Started {
    handle: ProcessHandle,
    pub(crate) confinement: Confinement,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Started {
    /// Spawns `command` on a thread that lives exactly as long as the process: Linux sends the
    /// parent-death signal when the spawning *thread* ends (prctl(2), `PR_SET_PDEATHSIG`).
    ///
    /// An error with a text means that only the isolation of the network was refused.
    pub(crate) fn start(
        mut command: Command,
        logs: Vec<(io::PipeReader, Log)>,
        report: Report,
        marker: &str,
    ) -> Result<Started, (Option<String>, io::Error)> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let marker = marker.to_owned();
        std::thread::Builder::new()
            .name("mlem-reaper".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || {
                let before = OomKills::read();
                let spawned = command.spawn();
                // Closes our ends of the pipes, so that readers see their end.
                drop(command);
                let outcome = report.finish();
                let mut child = match spawned {
                    Ok(child) => child,
                    Err(error) => {
                        let _ = sender.send(Err((outcome.network_refusal, error)));
                        return;
                    }
                };
                let fed: Vec<Log> = logs
                    .into_iter()
                    .filter_map(|(pipe, log)| log.feed(pipe).is_ok().then_some(log))
                    .collect();
                let (notify, ended) = watch::channel(None);
                let shared = Arc::new(Shared {
                    pid: child.id() as libc::pid_t,
                    state: Mutex::new(State { marker, logs: fed, ..State::default() }),
                    changed: Condvar::new(),
                });
                let memory_limit = outcome.confinement.limits.and_then(|limits| limits.memory_bytes);
                let started = Started {
                    handle: ProcessHandle { shared: Arc::clone(&shared), ended },
                    confinement: outcome.confinement,
                    stdin: child.stdin.take(),
                    stdout: child.stdout.take(),
                    stderr: child.stderr.take(),
                };
                if let Err(mpsc::SendError(Ok(started))) = sender.send(Ok(started)) {
                    started.handle.kill();
                }
                reap(&shared, &before, memory_limit, &notify);
            })
            .map_err(|error| (None, error))?;
        receiver.recv().unwrap_or_else(|_| Err((None, io::Error::other("the spawning thread ended"))))
    }
}

/// Waits for the end of the process, ends what is left of its family, and publishes the exit.
fn reap(shared: &Shared, before: &OomKills, memory_limit: Option<u64>, notify: &watch::Sender<Option<Exit>>) {
    let pid = shared.pid;
    // Wait without reaping: while the zombie exists, its number and group are surely ours.
    // SAFETY: all-zero structs are valid, and the pointers outlive the calls.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        while libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, libc::WEXITED | libc::WNOWAIT) != 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        libc::kill(-pid, libc::SIGKILL);
    }
    let (marker, logs) = {
        let mut state = shared.lock();
        (std::mem::take(&mut state.marker), std::mem::take(&mut state.logs))
    };
    sweep(&marker);
    let mut status = 0;
    // SAFETY: as above; the lock keeps signals away while the number is given back.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let mut state = shared.lock();
        while libc::wait4(pid, &mut status, 0, &mut usage) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        state.reaped = true;
        usage
    };
    for log in logs {
        log.wait_closed(Duration::from_secs(1));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let peak_bytes = usage.ru_maxrss as u64 * unit;
    let mut state = shared.lock();
    let oom_killed = !state.killed_by_us && OomKills::read().grew_since(before);
    let exit = Exit {
        death: judge(status, oom_killed, peak_bytes, memory_limit),
        peak_bytes,
        user_seconds: seconds(usage.ru_utime),
        system_seconds: seconds(usage.ru_stime),
    };
    state.exit = Some(exit);
    shared.changed.notify_all();
    drop(state);
    notify.send_replace(Some(exit));
}

/// Reads a wait status together with the memory accounting.
fn judge(status: i32, oom_killed: bool, peak_bytes: u64, memory_limit: Option<u64>) -> Death {
    if libc::WIFEXITED(status) {
        return Death::Exit(libc::WEXITSTATUS(status));
    }
    let signal = libc::WTERMSIG(status);
    // The out-of-memory killer only ever sends SIGKILL.
    if signal == libc::SIGKILL && oom_killed {
        return Death::OutOfMemory { signal, peak_bytes, limit_bytes: None };
    }
    // A refused allocation ends native code by abort (std::bad_alloc) or a null pointer. Only a
    // process that really stood near its limit is judged so.
    let breakdown = [libc::SIGABRT, libc::SIGSEGV, libc::SIGBUS].contains(&signal);
    match memory_limit {
        Some(limit) if breakdown && peak_bytes >= limit / 10 * 9 => {
            Death::OutOfMemory { signal, peak_bytes, limit_bytes: Some(limit) }
        }
        _ => Death::Signal(signal),
    }
}

/// Ends every process that carries `marker` in the environment it was started with.
///
/// Descendants that made a session of their own (`setsid`) escape a group's signals; the marker is
/// random and set by us alone, so what carries it is ours.
#[cfg(target_os = "linux")]
fn sweep(marker: &str) {
    let needle = format!("{MARKER}={marker}");
    let carries = |pid: libc::pid_t| {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|pair| pair == needle.as_bytes()))
    };
    // Again while something was found: a process may fork while the list is read.
    for _ in 0..16 {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return;
        };
        let mut found = false;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<libc::pid_t>().ok()) else {
                continue;
            };
            if !carries(pid) {
                continue;
            }
            // The descriptor pins the process; only then is the second look conclusive.
            // SAFETY: pidfd_open and pidfd_send_signal take integers and a null pointer.
            unsafe {
                let pidfd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
                if pidfd < 0 {
                    continue;
                }
                if carries(pid) {
                    found = true;
                    let none: *const libc::siginfo_t = std::ptr::null();
                    libc::syscall(libc::SYS_pidfd_send_signal, pidfd, libc::SIGKILL, none, 0);
                }
                libc::close(pidfd as libc::c_int);
            }
        }
        if !found {
            return;
        }
    }
}

/// Elsewhere the process group must do.
#[cfg(not(target_os = "linux"))]
fn sweep(_marker: &str) {
    let _ = MARKER;
}

impl Process {
    pub(crate) fn adopt(started: Started, scratch: TempDir) -> Process {
        Process {
            handle: started.handle,
            confinement: started.confinement,
            stdin: started.stdin,
            stdout: started.stdout,
            stderr: started.stderr,
            scratch,
        }
    }

    /// The process number.
    pub fn id(&self) -> u32 {
        self.handle.id()
    }

    /// The confinement that was really achieved.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Records something that this launch could not have, beyond what the system refused.
    pub(crate) fn add_missing(&mut self, what: &str) {
        self.confinement.missing.push(what.to_owned());
    }

    /// The scratch folder that holds the process's temporary files and, unless it was given a lasting
    /// one, its home. Removed when this value is dropped.
    pub fn scratch(&self) -> &std::path::Path {
        self.scratch.path()
    }

    /// A handle that outlives this value but does not keep the process alive.
    pub fn handle(&self) -> ProcessHandle {
        self.handle.clone()
    }

    /// The writing end of standard input, once, when it was asked for.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.stdin.take()
    }

    /// The reading end of standard output, once, when it was asked for.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// The reading end of standard error, once, when it was asked for.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.stderr.take()
    }

    /// The exit, if the process has ended.
    pub fn try_exit(&self) -> Option<Exit> {
        self.handle.try_exit()
    }

    /// Waits for the end, blocking the thread.
    pub fn wait(&self) -> Exit {
        let mut state = self.handle.shared.lock();
        loop {
            if let Some(exit) = state.exit {
                return exit;
            }
            state = self.handle.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the end for at most `patience`, blocking the thread.
    pub fn wait_timeout(&self, patience: Duration) -> Option<Exit> {
        let deadline = Instant::now() + patience;
        let mut state = self.handle.shared.lock();
        loop {
            if state.exit.is_some() {
                return state.exit;
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            state = self
                .handle
                .shared
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Waits for the end without blocking; dropping the future loses nothing.
    pub async fn exited(&self) -> Exit {
        self.handle.exited().await
    }

    /// Ends the process and its group at once (SIGKILL).
    pub fn kill(&self) {
        self.handle.kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.try_exit().is_none() {
            self.kill();
            // The thread that reaps also ends descendants outside the group: give it time, so that
            // nothing is left even when our own process ends right after.
            let _ = self.wait_timeout(Duration::from_secs(5));
        }
    }
}

impl ProcessHandle {
    /// The process number.
    pub fn id(&self) -> u32 {
        self.shared.pid as u32
    }

    /// The exit, if the process has ended.
    pub fn try_exit(&self) -> Option<Exit> {
        *self.ended.borrow()
    }

    /// Waits for the end without blocking; dropping the future loses nothing.
    pub async fn exited(&self) -> Exit {
        let mut ended = self.ended.clone();
        loop {
            if let Some(exit) = *ended.borrow_and_update() {
                return exit;
            }
            if ended.changed().await.is_err() {
                // The sender lives until it has sent; without it there is nothing to wait for.
                return ended.borrow().unwrap_or(Exit {
                    death: Death::Signal(libc::SIGKILL),
                    peak_bytes: 0,
                    user_seconds: 0.0,
                    system_seconds: 0.0,
                });
            }
        }
    }

    /// Sends SIGINT to the process alone, not to its children.
    pub fn interrupt(&self) {
        let state = self.shared.lock();
        if !state.reaped {
            // SAFETY: kill takes integers; the number is ours until it is reaped under this lock.
            unsafe {
                libc::kill(self.shared.pid, libc::SIGINT);
            }
        }
    }

    /// Ends the process and its group at once (SIGKILL).
    pub fn kill(&self) {
        let mut state = self.shared.lock();
        if !state.reaped {
            state.killed_by_us = true;
            // SAFETY: as in `interrupt`; the group was made by the process itself (`setsid`).
            unsafe {
                libc::kill(-self.shared.pid, libc::SIGKILL);
                libc::kill(self.shared.pid, libc::SIGKILL);
            }
        }
    }
}

/// `bytes` random bytes as hexadecimal text, from the system's source.
pub(crate) fn random_hex(bytes: usize) -> String {
    let mut buffer = vec![0u8; bytes];
    let filled = std::fs::File::open("/dev/urandom")
        .and_then(|mut source| io::Read::read_exact(&mut source, &mut buffer));
    if filled.is_err() {
        // No such device: the hasher's keys come from the same source by system call.
        use std::hash::{BuildHasher, Hasher, RandomState};
        for chunk in buffer.chunks_mut(8) {
            let word = RandomState::new().build_hasher().finish().to_ne_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
    buffer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_is_want_of_memory_only_by_the_accounting() {
        assert_eq!(judge(9, false, 0, Some(1000)), Death::Signal(9));
        assert!(matches!(judge(9, true, 0, None), Death::OutOfMemory { .. }));
        assert_eq!(judge(6, false, 100, Some(1000)), Death::Signal(6));
        assert!(matches!(judge(6, false, 950, Some(1000)), Death::OutOfMemory { .. }));
        assert_eq!(judge(3 << 8, true, 0, None), Death::Exit(3));
    }
}
