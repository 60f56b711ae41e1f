//! One Jupyter kernel: started, asked to execute cells, interrupted, restarted, shut down.

mod run;
mod startup;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

pub use self::startup::KernelInfo;
use crate::capture::Log;
use crate::connection::Connection;
use crate::execution::{CellEvent, EvaluationError, ExecuteOptions, Execution, ExecutionStatus};
use crate::launch::{Confinement, LaunchError, Limits, Network};
use crate::process::{Death, Exit, Process, ProcessHandle};

/// Time that [`Kernel::evaluate`] gives the kernel.
const EVALUATION_DEADLINE: Duration = Duration::from_secs(10);

/// Time that a kernel has to end by itself when it is restarted.
const RESTART_GRACE: Duration = Duration::from_secs(2);

/// Most notes about odd behaviour that are kept for one kernel.
const MAX_NOTES: usize = 100;

/// A kernel to start: interpreter, surroundings, confinement.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// The Python interpreter; it must have ipykernel.
    pub python: PathBuf,
    /// The folder in which cells run.
    pub working_dir: PathBuf,
    /// Environment variables beside those of the allow-list.
    pub env: Vec<(String, String)>,
    /// Resource limits.
    pub limits: Limits,
    /// What the network is.
    pub network: Network,
    /// A lasting home folder; a scratch one without it.
    pub home: Option<PathBuf>,
    /// Where the kernel's own output (what bypasses Jupyter) goes; a file that lives as long as the
    /// [`Kernel`] without it.
    pub log: Option<PathBuf>,
    /// Largest size of that log, in bytes.
    pub log_limit_bytes: usize,
    /// Time to the first answer.
    pub startup_timeout: Duration,
    /// Time to end after a shutdown request before it is killed.
    pub shutdown_grace: Duration,
    /// How client and kernel talk.
    pub transport: Transport,
}

/// How client and kernel talk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Unix sockets, or TCP where they cannot be made.
    #[default]
    Auto,
    /// TCP on the loopback interface, which rules out isolating the network.
    Tcp,
}

impl KernelSpec {
    /// A kernel of `python` in `working_dir` with default confinement and times.
    pub fn new(python: impl Into<PathBuf>, working_dir: impl Into<PathBuf>) -> KernelSpec {
        KernelSpec {
            python: python.into(),
            working_dir: working_dir.into(),
            env: Vec::new(),
            limits: Limits::default(),
            network: Network::default(),
            home: None,
            log: None,
            log_limit_bytes: 16 << 20,
            startup_timeout: Duration::from_secs(60),
            shutdown_grace: Duration::from_secs(5),
            transport: Transport::default(),
        }
    }
}

/// Why a kernel could not be started or asked.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The interpreter could not be run at all.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A folder or file for the kernel could not be made.
    #[error("cannot prepare the kernel: {0}")]
    Prepare(#[source] std::io::Error),
    /// The folder in which cells are to run is not there.
    #[error("the working folder {} is not there", .0.display())]
    WorkingDir(PathBuf),
    /// The interpreter works but has no ipykernel.
    #[error("{} has no ipykernel; install it with: {} -m pip install ipykernel", python.display(), python.display())]
    NoIpykernel {
        /// The interpreter.
        python: PathBuf,
        /// The end of what it printed.
        output: String,
    },
    /// The interpreter ended before the kernel answered.
    #[error("{} ended before its kernel answered ({death}){}", python.display(), startup::quoted(output))]
    DiedAtStart {
        /// The interpreter.
        python: PathBuf,
        /// How it ended.
        death: Death,
        /// The end of what it printed.
        output: String,
    },
    /// The kernel did not answer in time.
    #[error("the kernel of {} did not answer within {} s{}", python.display(), timeout.as_secs_f64(), startup::quoted(output))]
    StartupTimeout {
        /// The interpreter.
        python: PathBuf,
        /// The time it had.
        timeout: Duration,
        /// The end of what it printed.
        output: String,
    },
    /// The kernel has ended and must be restarted first.
    #[error("the kernel has ended ({0})")]
    NotRunning(Death),
}

/// A running kernel. Dropping it ends the kernel and everything it started.
pub struct Kernel {
    spec: KernelSpec,
    connection: Connection,
    process: Process,
    info: KernelInfo,
    log: Log,
    notes: Vec<String>,
    /// Connection file, sockets, IPython's and Jupyter's folders.
    folder: TempDir,
}

/// How a kernel was ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ExitReport {
    /// How it ended and what it used.
    pub exit: Exit,
    /// Whether it had to be killed.
    pub forced: bool,
    /// The end of its own output.
    pub log_tail: String,
    /// Odd things it did, such as malformed messages; none of them was fatal.
    pub notes: Vec<String>,
}

impl Kernel {
    /// Starts a kernel and waits for its first answer.
    ///
    /// Needs a tokio runtime with time and I/O; the kernel's channels are read by tasks on it.
    pub async fn start(spec: KernelSpec) -> Result<Kernel, KernelError> {
        startup::start(spec, None).await
    }

    /// What the kernel said about itself.
    pub fn info(&self) -> &KernelInfo {
        &self.info
    }

    /// What it was started from.
    pub fn spec(&self) -> &KernelSpec {
        &self.spec
    }

    /// The confinement that was really achieved.
    pub fn confinement(&self) -> &Confinement {
        self.process.confinement()
    }

    /// The kernel's process number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether the process is running.
    pub fn is_alive(&self) -> bool {
        self.process.try_exit().is_none()
    }

    /// How the process ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        self.process.try_exit()
    }

    /// Largest resident memory of the kernel's process so far, in bytes, where the system tells.
    pub fn peak_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// The file with the kernel's own output.
    pub fn log_path(&self) -> &Path {
        self.log.path().unwrap_or_else(|| self.folder.path())
    }

    /// The last 64 KiB of the kernel's own output.
    pub fn log_tail(&self) -> String {
        self.log.tail()
    }

    /// Odd things the kernel did, such as malformed messages; none of them was fatal.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A handle by which another task can interrupt or kill the kernel while a cell runs.
    pub fn handle(&self) -> ProcessHandle {
        self.process.handle()
    }

    /// Interrupts the running cell: SIGINT to the kernel alone. Old kernels never answer the
    /// protocol's own interrupt request (ipykernel 4 and 5 on POSIX systems).
    pub async fn interrupt(&self) {
        self.process.handle().interrupt();
    }

    /// Executes a cell and waits for its end.
    ///
    /// A cell that fails, runs out of time or kills the kernel is an `Ok` with that status; an error
    /// means that it was not run.
    pub async fn execute(&mut self, code: &str, options: &ExecuteOptions) -> Result<Execution, KernelError> {
        self.execute_with(code, options, |_| {}).await
    }

    /// As [`Kernel::execute`], and reports what happens while it happens.
    pub async fn execute_with(
        &mut self,
        code: &str,
        options: &ExecuteOptions,
        on_event: impl FnMut(CellEvent<'_>),
    ) -> Result<Execution, KernelError> {
        let content = json!({
            "code": code,
            "silent": options.silent,
            "store_history": options.store_history,
            "user_expressions": {},
            "allow_stdin": false,
            "stop_on_error": options.stop_on_error,
        });
        Ok(self.run(&content, options, on_event).await?.0)
    }

    /// Evaluates expressions in the kernel's namespace: the `repr` of each, or its error. Nothing is
    /// printed, counted or remembered; together they have 10 seconds.
    pub async fn evaluate(
        &mut self,
        expressions: &[&str],
    ) -> Result<Vec<Result<String, EvaluationError>>, KernelError> {
        let keyed: Map<String, Value> = expressions
            .iter()
            .enumerate()
            .map(|(index, expression)| (index.to_string(), Value::from(*expression)))
            .collect();
        let content = json!({
            "code": "",
            "silent": true,
            "store_history": false,
            "user_expressions": keyed,
            "allow_stdin": false,
            "stop_on_error": false,
        });
        let options = ExecuteOptions { deadline: Some(EVALUATION_DEADLINE), ..ExecuteOptions::default() };
        let (execution, mut reply) = self.run(&content, &options, |_| {}).await?;
        let mut take = |index: usize| {
            let result = reply.get_mut("user_expressions")?.get_mut(index.to_string())?;
            Some(evaluated(result))
        };
        Ok((0..expressions.len())
            .map(|index| take(index).unwrap_or_else(|| Err(unanswered(&execution))))
            .collect())
    }

    /// Ends the kernel and starts it again from the same specification, with an empty namespace.
    pub async fn restart(&mut self) -> Result<(), KernelError> {
        self.end(RESTART_GRACE).await;
        *self = startup::start(self.spec.clone(), Some(self.log.clone())).await?;
        Ok(())
    }

    /// Asks the kernel to end, so that Python closes files and runs exit handlers; kills it when it
    /// does not in time.
    pub async fn shutdown(mut self) -> ExitReport {
        let (exit, forced) = self.end(self.spec.shutdown_grace).await;
        ExitReport { exit, forced, log_tail: self.log.tail(), notes: std::mem::take(&mut self.notes) }
    }

    async fn end(&mut self, grace: Duration) -> (Exit, bool) {
        let process = self.process.handle();
        let request = json!({"restart": false});
        // On the shell channel, which every ipykernel takes it from. From the control channel, one
        // shutdown in twenty of ipykernel 6 and 7 never ends: the main thread joins the control
        // thread while that still broadcasts through sockets already closed (seen with 6.29 and 7.4).
        let asked = self.connection.request("shutdown_request", &request).await.is_ok();
        if asked && let Ok(exit) = tokio::time::timeout(grace, process.exited()).await {
            return (exit, false);
        }
        let forced = process.try_exit().is_none();
        process.kill();
        (process.exited().await, forced)
    }

    fn note(&mut self, text: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(text);
        }
    }
}

/// Reads one entry of a reply's `user_expressions`.
fn evaluated(result: &mut Value) -> Result<String, EvaluationError> {
    let mut text = |name: &str| match result.get_mut(name).map(Value::take) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    if text("status") == "ok" {
        return match result.get_mut("data").and_then(|data| data.get_mut("text/plain")).map(Value::take) {
            Some(Value::String(text)) => Ok(text),
            _ => Ok(String::new()),
        };
    }
    Err(EvaluationError { ename: text("ename"), evalue: text("evalue") })
}

/// The error of an expression that the reply says nothing about.
fn unanswered(execution: &Execution) -> EvaluationError {
    let (ename, evalue) = match execution.status {
        ExecutionStatus::TimedOut => ("TimeoutError", "the evaluation took too long".to_owned()),
        ExecutionStatus::KernelDied(death) => ("DeadKernelError", format!("the kernel {death}")),
        _ => ("RuntimeError", "the kernel gave no answer".to_owned()),
    };
    EvaluationError { ename: ename.to_owned(), evalue }
}
