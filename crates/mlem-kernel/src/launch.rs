//! The one way in which a process of ours starts.
//!
//! A [`Launch`] says what runs and how far it is confined; [`Launch::spawn`] starts it in a session
//! and process group of its own, with an environment made from an allow-list, resource limits, and
//! (unless asked otherwise) no network. What the system refused is recorded in [`Confinement`].

mod confine;
mod environment;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Serialize;
use tempfile::TempDir;

pub(crate) use self::confine::Report;
use self::confine::default_memory_limit;
use crate::capture::Log;
use crate::process::{Exit, Process, Started, random_hex};

/// Name of the environment variable that marks every descendant of one launch.
///
/// It is how processes are found that left the process group (`setsid`), which no group signal reaches.
pub(crate) const MARKER: &str = "MLEM_LAUNCH";

/// What a process may reach over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Only a loopback interface of its own, where the system allows network namespaces.
    #[default]
    None,
    /// The network of the machine.
    Host,
}

/// Resource limits of one process and, where the system counts so, of its children.
///
/// `None` means no limit beyond the one already in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Private writable memory of one process, in bytes (`RLIMIT_DATA`, which since Linux 4.7 counts
    /// anonymous mappings too; address space would punish libraries that only reserve it).
    pub memory_bytes: Option<u64>,
    /// Processor time of one process, in seconds (`RLIMIT_CPU`).
    pub cpu_seconds: Option<u64>,
    /// Largest file that may be written, in bytes (`RLIMIT_FSIZE`).
    pub file_bytes: Option<u64>,
    /// Processes and threads of this launch (`RLIMIT_NPROC`). Only applied inside a user namespace of
    /// our own: elsewhere the system counts everything that the user runs.
    pub processes: Option<u64>,
}

impl Limits {
    /// No limit at all.
    pub const NONE: Limits =
        Limits { memory_bytes: None, cpu_seconds: None, file_bytes: None, processes: None };
}

impl Default for Limits {
    /// Nine tenths of the memory this process may use, 64 GiB a file, 4,096 processes and threads.
    fn default() -> Limits {
        Limits {
            memory_bytes: default_memory_limit(),
            cpu_seconds: None,
            file_bytes: Some(64 << 30),
            processes: Some(4096),
        }
    }
}

/// What confinement a launched process really has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Confinement {
    /// Whether the process sees no network but a loopback interface of its own.
    pub network_isolated: bool,
    /// The limits in force.
    pub limits: Option<Limits>,
    /// What was asked for and refused by the system, one sentence each.
    pub missing: Vec<String>,
}

/// Where one of the output streams of a process goes.
#[derive(Clone, Debug, Default)]
pub enum Sink {
    /// Nowhere.
    #[default]
    Null,
    /// To a pipe that the caller reads ([`Process::take_stdout`], [`Process::take_stderr`]).
    Pipe,
    /// To a bounded log; both streams may share one.
    Log(Log),
}

/// A process to start: program, surroundings and confinement.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    working_dir: Option<PathBuf>,
    extra: Vec<(OsString, OsString)>,
    inherited: Vec<OsString>,
    home: Option<PathBuf>,
    path_first: Option<PathBuf>,
    limits: Limits,
    network: Network,
    stdin_piped: bool,
    stdout: Sink,
    stderr: Sink,
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The operating system refused.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The scratch folder for home and temporary files could not be made.
    #[error("cannot make a scratch folder: {0}")]
    Scratch(#[source] io::Error),
}

/// A finished process with what it printed.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Standard output, at most the bytes asked for.
    pub stdout: Vec<u8>,
    /// Standard error, at most the bytes asked for.
    pub stderr: Vec<u8>,
    /// Bytes of both streams that were not kept.
    pub dropped_bytes: u64,
    /// Whether the deadline ended it.
    pub timed_out: bool,
    /// The confinement it ran in.
    pub confinement: Confinement,
}

impl Launch {
    /// A launch of `program` with default confinement, no arguments, no standard streams.
    pub fn new(program: impl Into<PathBuf>) -> Launch {
        Launch {
            program: program.into(),
            arguments: Vec::new(),
            working_dir: None,
            extra: Vec::new(),
            inherited: Vec::new(),
            home: None,
            path_first: None,
            limits: Limits::default(),
            network: Network::default(),
            stdin_piped: false,
            stdout: Sink::Null,
            stderr: Sink::Null,
        }
    }

    /// Appends one argument.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Launch {
        self.arguments.push(argument.into());
        self
    }

    /// Appends arguments.
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Launch {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets the working folder (default: ours).
    pub fn working_dir(mut self, folder: impl Into<PathBuf>) -> Launch {
        self.working_dir = Some(folder.into());
        self
    }

    /// Sets an environment variable of the process; wins over everything inherited.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Launch {
        self.extra.push((name.into(), value.into()));
        self
    }

    /// Lets one more variable of our own environment through the allow-list.
    pub fn inherit(mut self, name: impl Into<OsString>) -> Launch {
        self.inherited.push(name.into());
        self
    }

    /// Uses a lasting home folder, made when absent, instead of a scratch one that is removed at the
    /// end. A lasting home keeps caches such as matplotlib's font list between runs.
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Launch {
        self.home = Some(folder.into());
        self
    }

    /// Puts a folder first in `PATH`.
    pub fn path_first(mut self, folder: impl Into<PathBuf>) -> Launch {
        self.path_first = Some(folder.into());
        self
    }

    /// Sets the resource limits.
    pub fn limits(mut self, limits: Limits) -> Launch {
        self.limits = limits;
        self
    }

    /// Sets what the network is.
    pub fn network(mut self, network: Network) -> Launch {
        self.network = network;
        self
    }

    /// Gives the process a standard input that the caller writes ([`Process::take_stdin`]); without
    /// it reads see the end at once.
    pub fn stdin_piped(mut self) -> Launch {
        self.stdin_piped = true;
        self
    }

    /// Sets where standard output goes.
    pub fn stdout(mut self, sink: Sink) -> Launch {
        self.stdout = sink;
        self
    }

    /// Sets where standard error goes.
    pub fn stderr(mut self, sink: Sink) -> Launch {
        self.stderr = sink;
        self
    }

    /// The program that would run.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Starts the process.
    ///
    /// Needs no async runtime. The process dies with the returned [`Process`], and with us.
    pub fn spawn(self) -> Result<Process, LaunchError> {
        let marker = random_hex(16);
        let scratch = scratch_dir().map_err(LaunchError::Scratch)?;
        let network = self.network;
        match self.attempt(network, &marker, scratch.path()) {
            Ok(started) => Ok(Process::adopt(started, scratch)),
            Err((Some(refusal), _)) => {
                let mut started =
                    self.attempt(Network::Host, &marker, scratch.path()).map_err(|(_, error)| error)?;
                started.confinement.missing.insert(0, refusal);
                Ok(Process::adopt(started, scratch))
            }
            Err((None, error)) => Err(error),
        }
    }

    /// Starts the process, keeps up to `limit_bytes` of each output stream, and waits for its end;
    /// at the deadline it is killed. Blocks the calling thread.
    pub fn run(self, deadline: Option<Duration>, limit_bytes: usize) -> Result<Finished, LaunchError> {
        let stdout = Log::in_memory(limit_bytes);
        let stderr = Log::in_memory(limit_bytes);
        let process = self.stdout(Sink::Log(stdout.clone())).stderr(Sink::Log(stderr.clone())).spawn()?;
        let mut timed_out = false;
        let exit = match deadline {
            None => process.wait(),
            Some(deadline) => match process.wait_timeout(deadline) {
                Some(exit) => exit,
                None => {
                    timed_out = true;
                    process.kill();
                    process.wait()
                }
            },
        };
        Ok(Finished {
            exit,
            dropped_bytes: stdout.dropped_bytes() + stderr.dropped_bytes(),
            stdout: stdout.head(),
            stderr: stderr.head(),
            timed_out,
            confinement: process.confinement().clone(),
        })
    }

    /// One try with or without network isolation. An error with a text means that only the
    /// isolation was refused.
    fn attempt(
        &self,
        network: Network,
        marker: &str,
        scratch: &Path,
    ) -> Result<Started, (Option<String>, LaunchError)> {
        let start_error = |source: io::Error| LaunchError::Start { program: self.program.clone(), source };
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.env_clear();
        let variables =
            self.variables(marker, scratch).map_err(|error| (None, LaunchError::Scratch(error)))?;
        command.envs(variables);
        if let Some(folder) = &self.working_dir {
            command.current_dir(folder);
        }
        command.stdin(if self.stdin_piped { Stdio::piped() } else { Stdio::null() });
        let mut logs = Vec::new();
        for (sink, is_stdout) in [(&self.stdout, true), (&self.stderr, false)] {
            let stdio = match sink {
                Sink::Null => Stdio::null(),
                Sink::Pipe => Stdio::piped(),
                Sink::Log(log) => {
                    let (reader, writer) = io::pipe().map_err(|error| (None, start_error(error)))?;
                    logs.push((reader, log.clone()));
                    writer.into()
                }
            };
            if is_stdout {
                command.stdout(stdio);
            } else {
                command.stderr(stdio);
            }
        }
        let report = confine::prepare(&mut command, self.limits, network)
            .map_err(|error| (None, start_error(error)))?;
        Started::start(command, logs, report, marker)
            .map_err(|(refusal, source)| (refusal, start_error(source)))
    }

    /// The environment of the process: allow-list, scratch folders, marker, extras.
    fn variables(&self, marker: &str, scratch: &Path) -> io::Result<Vec<(OsString, OsString)>> {
        let home = match &self.home {
            Some(home) => {
                std::fs::create_dir_all(home)?;
                std::path::absolute(home)?
            }
            None => {
                let home = scratch.join("home");
                std::fs::create_dir_all(&home)?;
                home
            }
        };
        let temporary = scratch.join("tmp");
        std::fs::create_dir_all(&temporary)?;
        let mut variables = environment::allowed(std::env::vars_os(), &self.inherited);
        let mut set = |name: &str, value: OsString| {
            variables.retain(|(known, _)| known != OsStr::new(name));
            variables.push((name.into(), value));
        };
        set("HOME", home.into_os_string());
        // Packages installed for the user stay in reach although the home is another one.
        if std::env::var_os("PYTHONUSERBASE").is_none()
            && let Some(base) = std::env::home_dir().map(|home| home.join(".local"))
            && base.is_dir()
        {
            set("PYTHONUSERBASE", base.into_os_string());
        }
        set("TMPDIR", temporary.into_os_string());
        set(MARKER, marker.into());
        if let Some(first) = &self.path_first {
            let mut path = first.clone().into_os_string();
            if let Some(rest) = std::env::var_os("PATH").filter(|rest| !rest.is_empty()) {
                path.push(":");
                path.push(rest);
            }
            set("PATH", path);
        }
        for (name, value) in &self.extra {
            variables.retain(|(known, _)| known != name);
            variables.push((name.clone(), value.clone()));
        }
        Ok(variables)
    }
}

/// A private folder with a short path: unix socket paths end at 104 (macOS) or 108 bytes.
fn scratch_dir() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("mlem-").rand_bytes(8).tempdir()
}
