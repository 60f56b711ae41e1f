//! A kernel at work on a scratch copy: runs pieces of source and says what failed, and where.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mlem_environment::Environment;
use mlem_kernel::{
    ExecuteOptions, Execution, ExecutionStatus, Kernel, KernelError, KernelSpec, Limits, Network,
};
use mlem_notebook::Output;

use crate::diagnose::{Exception, Frame, FramePlace, is_library};
use crate::scratch::Scratch;
use crate::sources::{Place, Sources};
use crate::tables::{Sample, Snapshot, Table};

/// How kernels are run.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// Most time for one cell.
    pub cell_timeout: Option<Duration>,
    /// Whether the notebook may use the network.
    pub network: bool,
    /// Address space limit of the kernel in bytes; `None` takes the kernel crate's default.
    pub memory_bytes: Option<u64>,
}

impl SessionOptions {
    /// The resource limits that they come to.
    pub fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits { memory_bytes: self.memory_bytes.or(default.memory_bytes), ..default }
    }
}

/// One failing cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Position of the failing code cell.
    pub cell: usize,
    /// What ended it.
    pub cause: Cause,
}

/// What ended a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A Python exception, with the user's own lines that lead to it, innermost first: (piece, line from 1).
    Exception { exception: Exception, user_lines: Vec<(usize, usize)> },
    /// The time limit: the cell's own, or what was left of the whole notebook's.
    Timeout { limit: Duration, whole: bool },
    /// The kernel's death.
    Death(mlem_kernel::Death),
}

impl Failure {
    /// `AttributeError: message`, or what else ended the cell.
    pub(crate) fn signature(&self) -> String {
        match &self.cause {
            Cause::Exception { exception, .. } => exception.signature(),
            Cause::Timeout { limit, .. } => {
                format!("Timeout: the cell ran longer than {:.1} s", limit.as_secs_f64())
            }
            Cause::Death(death) => format!("DeadKernel: {death}"),
        }
    }

    /// The user's line that raised the exception.
    pub(crate) fn culprit(&self) -> Option<(usize, usize)> {
        match &self.cause {
            Cause::Exception { user_lines, .. } => user_lines.first().copied(),
            _ => None,
        }
    }
}

/// The result of running one cell.
#[derive(Debug)]
pub(crate) struct CellRun {
    /// What the kernel sent.
    pub execution: Execution,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
}

/// A running kernel on a scratch copy of the notebook's tree.
pub(crate) struct Session {
    kernel: Kernel,
    scratch: Scratch,
    options: SessionOptions,
    /// Execution count → position of the code cell; survives nothing but this kernel.
    executions: HashMap<u64, usize>,
    log: PathBuf,
    /// The working folder's files before the first cell.
    before: Snapshot,
}

impl Session {
    /// Copies the tree, writes the current helper modules into the copy, and starts a kernel there.
    ///
    /// # Errors
    /// When the copy cannot be made, or the kernel does not start.
    pub(crate) async fn start(
        environment: &Environment,
        (notebook, root): (&Path, &Path),
        sources: &Sources,
        options: &SessionOptions,
    ) -> Result<Session, SessionError> {
        let scratch = Scratch::copy_of(notebook, root).map_err(SessionError::Scratch)?;
        write_modules(&scratch, sources).map_err(SessionError::Scratch)?;
        let log = scratch.root().with_file_name("kernel.log");
        let before = Snapshot::of(&scratch.folder());
        let kernel = Kernel::start(spec(environment, &scratch, options, &log)).await?;
        Ok(Session { kernel, scratch, options: options.clone(), executions: HashMap::new(), log, before })
    }

    /// Starts afresh: a new kernel and a new scratch copy, as a user's "restart and run all" would.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub(crate) async fn start_again(
        &mut self,
        environment: &Environment,
        (notebook, root): (&Path, &Path),
        sources: &Sources,
    ) -> Result<(), SessionError> {
        let options = self.options.clone();
        // Dropping the old session ends its kernel and removes its copy.
        *self = Session::start(environment, (notebook, root), sources, &options).await?;
        Ok(())
    }

    /// Runs code cell `cell` as it stands in `sources`, no longer than the cell's limit or `left`.
    ///
    /// # Errors
    /// When the kernel cannot be spoken to any more; the death of the kernel is a [`Failure`].
    pub(crate) async fn run(
        &mut self,
        sources: &Sources,
        cell: usize,
        left: Option<Duration>,
    ) -> Result<CellRun, KernelError> {
        let deadline = match (self.options.cell_timeout, left) {
            (Some(limit), Some(left)) => Some(limit.min(left)),
            (limit, left) => limit.or(left),
        };
        let started = Instant::now();
        let options = ExecuteOptions { deadline, ..ExecuteOptions::default() };
        let execution = self.kernel.execute(&sources.cells()[cell].current, &options).await?;
        if let Some(count) = execution.execution_count {
            self.executions.insert(count, cell);
        }
        let cause = match &execution.status {
            ExecutionStatus::Ok => None,
            ExecutionStatus::TimedOut => Some(Cause::Timeout {
                limit: deadline.unwrap_or_else(|| started.elapsed()),
                whole: left.is_some_and(|left| self.options.cell_timeout.is_none_or(|limit| left < limit)),
            }),
            ExecutionStatus::KernelDied(death) => Some(Cause::Death(*death)),
            ExecutionStatus::Error | ExecutionStatus::Aborted => {
                Some(self.exception(sources, cell, &execution))
            }
        };
        Ok(CellRun { failure: cause.map(|cause| Failure { cell, cause }), execution })
    }

    /// The true error of an execution: the last error output that has a frame in the user's own source, since
    /// libraries print errors of their own that end nothing (protobuf's `GetPrototype` at TensorFlow's import).
    fn exception(&self, sources: &Sources, cell: usize, execution: &Execution) -> Cause {
        let errors: Vec<(Exception, Vec<(usize, usize)>)> = execution
            .outputs
            .iter()
            .filter_map(|output| match output {
                Output::Error { ename, evalue, traceback } => {
                    let exception = Exception::read(ename, evalue, traceback);
                    let lines = self.user_lines(sources, cell, &exception.frames);
                    Some((exception, lines))
                }
                _ => None,
            })
            .collect();
        let chosen = errors.iter().rposition(|(_, lines)| !lines.is_empty()).or(errors.len().checked_sub(1));
        match chosen.and_then(|index| errors.into_iter().nth(index)) {
            Some((exception, user_lines)) => Cause::Exception { exception, user_lines },
            None => Cause::Exception {
                exception: Exception {
                    ename: "Aborted".into(),
                    evalue: "the kernel did not run the cell".into(),
                    frames: Vec::new(),
                },
                user_lines: Vec::new(),
            },
        }
    }

    /// The frames that lie in cells or in modules of the notebook's tree, innermost first.
    fn user_lines(&self, sources: &Sources, cell: usize, frames: &[Frame]) -> Vec<(usize, usize)> {
        let mut lines: Vec<(usize, usize)> = frames
            .iter()
            .rev()
            .filter_map(|frame| match &frame.place {
                FramePlace::Execution(count) => Some((*self.executions.get(count)?, frame.line)),
                FramePlace::RunningCell => Some((cell, frame.line)),
                FramePlace::MagicBody => {
                    // The magic compiles the lines below its own.
                    let magic =
                        sources.cells()[cell].current.lines().take_while(|line| !line.starts_with("%%"));
                    Some((cell, frame.line + magic.count() + 1))
                }
                FramePlace::File(path) if path.to_string_lossy().starts_with("<ipython-input-") => {
                    Some((cell, frame.line))
                }
                FramePlace::File(path) if !is_library(path) => {
                    let module = Place::Module(self.scratch.relative(path)?);
                    Some((sources.position(&module)?, frame.line))
                }
                FramePlace::File(_) => None,
            })
            .collect();
        lines.dedup();
        lines
    }

    /// The classes of an expression's value, most derived first, by every name that they go by: in the frame of the
    /// last traceback that stood on `line` of the user's own source, else in the global namespace. `None` when it
    /// cannot be told.
    pub(crate) async fn types_of(&mut self, expression: &str, line: Option<usize>) -> Option<Vec<String>> {
        let answers = self.kernel.evaluate(&[&type_question(expression, line)]).await.ok()?;
        let text = answers.into_iter().next()?.ok()?;
        let names: Vec<&str> = text.split(['\'', '"']).skip(1).step_by(2).collect();
        (!names.is_empty()).then(|| names.iter().flat_map(|name| public_names(name)).collect())
    }

    /// A value that is a string, in the global namespace; `None` when it is none or cannot be told.
    pub(crate) async fn text_of(&mut self, expression: &str) -> Option<String> {
        let answers = self.kernel.evaluate(&[&hexadecimal(expression)]).await.ok()?;
        let answer = answers.into_iter().next()?.ok()?;
        let digits = answer.trim_start_matches(['b', 'u']).trim_matches(['\'', '"']);
        let bytes: Option<Vec<u8>> = (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok())
            .collect();
        String::from_utf8(bytes?).ok()
    }

    /// The names of an archive's members, at most a few hundred.
    pub(crate) async fn members(&mut self, archive: &str) -> Vec<String> {
        let path = serde_json::Value::from(archive).to_string();
        let list = format!("'\\n'.join(__import__('zipfile').ZipFile({path}).namelist()[:{MOST_MEMBERS}])");
        let text = self.text_of(&list).await.unwrap_or_default();
        text.lines().filter(|name| !name.starts_with("__MACOSX/")).map(str::to_owned).collect()
    }

    /// The scratch copy.
    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The tables that the cells wrote so far, the likely submission first; `samples` are sample submissions
    /// elsewhere.
    pub(crate) fn tables(&self, finished: bool, samples: &[Sample]) -> Vec<Table> {
        self.before.tables(&self.scratch.folder(), finished, samples)
    }

    /// The running kernel's own words about its language, for the notebook's metadata.
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Where the kernel's stdout and stderr go.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// Ends the kernel; hands back the scratch copy and how the kernel ended.
    pub(crate) async fn finish(self) -> (Scratch, mlem_kernel::ExitReport) {
        let report = self.kernel.shutdown().await;
        (self.scratch, report)
    }
}

fn spec(environment: &Environment, scratch: &Scratch, options: &SessionOptions, log: &Path) -> KernelSpec {
    let mut spec = KernelSpec::new(&environment.python, scratch.folder());
    spec.network = if options.network { Network::Host } else { Network::None };
    spec.log = Some(log.to_owned());
    spec.limits = options.limits();
    spec
}

fn write_modules(scratch: &Scratch, sources: &Sources) -> std::io::Result<()> {
    for piece in sources.modules() {
        if let Place::Module(path) = &piece.place
            && piece.current != piece.original
        {
            std::fs::write(scratch.root().join(path), &piece.current)?;
        }
    }
    Ok(())
}

/// More members of an archive than these say nothing more about its folders.
const MOST_MEMBERS: usize = 500;

/// A Python expression (2.7 and 3) for a string's UTF-8 bytes in hexadecimal digits, which no `repr` escapes; of
/// another value it fails.
fn hexadecimal(expression: &str) -> String {
    let quoted = serde_json::Value::from(expression).to_string();
    format!("__import__('binascii').hexlify((u'' + eval({quoted})).encode('utf-8'))")
}

/// A Python expression (2.7 and 3) for the names of a value's classes. IPython keeps the last traceback in `sys`, and
/// with it the frames, so that the local variables of a function that failed can still be asked.
fn type_question(expression: &str, line: Option<usize>) -> String {
    // A Rust string literal of source code is a Python one too, but for `\u{…}`, which ASCII escaping avoids.
    let quoted = serde_json::Value::from(expression).to_string();
    let line = line.map_or("None".to_owned(), |line| line.to_string());
    format!(
        "(lambda frames: [c.__module__ + '.' + getattr(c, '__qualname__', c.__name__) for c in type(\
eval({quoted}, frames[-1].f_globals, frames[-1].f_locals) if frames else eval({quoted})).__mro__])(\
[t.tb_frame for t in (lambda f, t: f(f, t))(lambda f, t: [] if t is None else [t] + f(f, t.tb_next), \
getattr(__import__('sys'), 'last_traceback', None)) \
if t.tb_lineno == {line} and 'site-packages' not in t.tb_frame.f_code.co_filename])"
    )
}

/// The names under which a class is documented: without private modules, and directly under its package
/// (`pandas.core.frame.DataFrame` → `pandas.DataFrame`, `sklearn.tree._classes.X` → `sklearn.tree.X`).
fn public_names(name: &str) -> Vec<String> {
    let builtin = name.strip_prefix("builtins.").or_else(|| name.strip_prefix("__builtin__."));
    if let Some(builtin) = builtin {
        return vec![builtin.to_owned()];
    }
    let parts: Vec<&str> = name.split('.').collect();
    let mut names = vec![name.to_owned()];
    let public: Vec<&str> = parts.iter().copied().filter(|part| !part.starts_with('_')).collect();
    names.push(public.join("."));
    if let (Some(first), Some(last)) = (parts.first(), parts.last()) {
        names.push(format!("{first}.{last}"));
    }
    names.dedup();
    names
}

/// Why a session could not begin.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The scratch copy.
    #[error("failed to copy the notebook's folder to a scratch folder: {0}")]
    Scratch(#[source] std::io::Error),
    /// The kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_go_by_their_public_names() {
        assert!(public_names("pandas.core.frame.DataFrame").contains(&"pandas.DataFrame".to_owned()));
        assert!(public_names("sklearn.tree._classes.Tree").contains(&"sklearn.tree.Tree".to_owned()));
        assert_eq!(public_names("builtins.list"), ["list"]);
    }
}
