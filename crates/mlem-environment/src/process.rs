//! Child processes of this crate: a scrubbed environment, a time limit, both streams kept.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Variables every child gets.
const ALWAYS: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TEMP",
    "TMP",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    "USERPROFILE",
];

/// Variables that reach a package index: proxies, certificates, cache places. Those of pip and uv come by prefix.
const FOR_INDEXES: &[&str] = &[
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NETRC",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CONFIG_DIRS",
    "APPDATA",
    "LOCALAPPDATA",
];

/// What a child may see.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Nothing that could hold a secret: for a child that runs other people's Python.
    Bare,
    /// Also how to reach package indexes, which may include credentials: for uv and pip.
    Indexes,
}

/// A command whose environment holds only what [`Sight`] allows.
pub(crate) fn command(program: &Path, sight: Sight) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for (name, value) in std::env::vars_os() {
        if let Some(text) = name.to_str()
            && passes(text, sight)
        {
            command.env(&name, value);
        }
    }
    command
}

fn passes(name: &str, sight: Sight) -> bool {
    if ALWAYS.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)) {
        return true;
    }
    if sight == Sight::Bare {
        return false;
    }
    let lower = name.to_ascii_lowercase();
    FOR_INDEXES.contains(&name)
        || matches!(lower.as_str(), "http_proxy" | "https_proxy" | "all_proxy" | "no_proxy")
        || name.starts_with("PIP_")
        // Variables that change what uv resolves or installs are decided here, not by the caller's shell.
        || name.starts_with("UV_") && !matches!(
            name,
            "UV_PYTHON" | "UV_PYTHON_DOWNLOADS" | "UV_PROJECT_ENVIRONMENT" | "UV_SYSTEM_PYTHON" | "UV_RESOLUTION"
                | "UV_PRERELEASE" | "UV_EXCLUDE_NEWER" | "UV_CONSTRAINT" | "UV_OVERRIDE" | "UV_NO_BINARY"
                | "UV_COMPILE_BYTECODE" | "UV_CONFIG_FILE" | "UV_REQUIRE_HASHES" | "UV_NO_BUILD" | "UV_TARGET"
        )
}

/// How a child ended and what it said.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Why there is no end to tell of.
pub(crate) enum RunError {
    /// It could not be started.
    Start(io::Error),
    /// It took longer than allowed and was killed.
    TooSlow(Duration),
    /// Talking to it failed.
    Pipe(io::Error),
}

/// Runs a command to its end or to the time limit, with `input` on its standard input.
pub(crate) fn run(command: &mut Command, limit: Duration, input: &str) -> Result<Finished, RunError> {
    finish(command.stdin(Stdio::piped()), limit, input)
}

/// Runs a command to its end or to the time limit while it holds a locked file open. The lock lasts as long as any process
/// has the file, so it outlives this process if that is killed and the child is not.
pub(crate) fn run_holding(command: &mut Command, limit: Duration, lock: &File) -> Result<Finished, RunError> {
    let lock = lock.try_clone().map_err(RunError::Start)?;
    finish(command.stdin(lock), limit, "")
}

fn finish(command: &mut Command, limit: Duration, input: &str) -> Result<Finished, RunError> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(RunError::Start)?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        // A child that ends without reading its input breaks the pipe, which its exit status tells better.
        std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    }
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let Some(status) = wait(&mut child, limit).map_err(RunError::Pipe)? else {
        // It may have ended in between; either way it is gone and reaped after this.
        drop(child.kill());
        drop(child.wait());
        return Err(RunError::TooSlow(limit));
    };
    // A grandchild that keeps the pipes open must not hold up the answer.
    let grace = Duration::from_secs(2);
    let stdout = stdout.recv_timeout(grace).unwrap_or_default();
    let stderr = stderr.recv_timeout(grace).unwrap_or_default();
    Ok(Finished {
        status,
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before a failure still counts.
            drop(pipe.read_to_end(&mut bytes));
        }
        drop(sender.send(bytes));
    });
    receiver
}

/// Waits until the child ended, or `None` after the limit.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// How a process ended, in words.
pub(crate) fn ending(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return format!("killed by signal {signal}");
        }
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "ended without an exit code".to_owned(),
    }
}

/// The last lines of an error stream that say something, at most `count`.
pub(crate) fn last_words(stderr: &str, count: usize) -> String {
    let lines: Vec<&str> = stderr.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// The value of an environment variable that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_pass() {
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "OPENAI_API_KEY",
            "KAGGLE_KEY",
            "PYTHONPATH",
            "UV_EXCLUDE_NEWER",
            "PYTHONDONTWRITEBYTECODE",
        ] {
            assert!(!passes(name, Sight::Indexes), "{name}");
        }
        for name in ["PIP_INDEX_URL", "UV_INDEX_URL", "https_proxy", "HTTPS_PROXY", "SSL_CERT_FILE"] {
            assert!(passes(name, Sight::Indexes), "{name}");
            assert!(!passes(name, Sight::Bare), "{name}");
        }
        assert!(passes("PATH", Sight::Bare));
    }

    #[cfg(unix)]
    #[test]
    fn a_slow_child_is_ended() {
        let start = Instant::now();
        let result =
            run(command(Path::new("/bin/sleep"), Sight::Bare).arg("30"), Duration::from_millis(50), "");
        assert!(matches!(result, Err(RunError::TooSlow(_))));
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[cfg(unix)]
    #[test]
    fn streams_and_endings_are_kept() {
        let mut child = command(Path::new("/bin/sh"), Sight::Bare);
        let Ok(end) = run(child.args(["-c", "cat; echo bad >&2; exit 3"]), Duration::from_secs(10), "in")
        else {
            panic!("it ends")
        };
        assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("in", "bad\n"));
        assert_eq!(ending(end.status), "exit code 3");
        let mut child = command(Path::new("/bin/sh"), Sight::Bare);
        let Ok(end) = run(child.args(["-c", "kill -9 $$"]), Duration::from_secs(10), "") else {
            panic!("it ends")
        };
        assert_eq!(ending(end.status), "killed by signal 9");
    }
}
