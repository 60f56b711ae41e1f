//! Python interpreters: which there are on this machine, and what each is.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Distribution;
use crate::process::{self, RunError, Sight};

/// Longest time an interpreter may take to say what it is.
const LIMIT: Duration = Duration::from_secs(30);

/// The oldest releases whose kernels are known to work: 2.7, and 3.6 of the 3 series.
const OLDEST: [(u8, u8); 2] = [(2, 7), (3, 6)];

/// One Python interpreter that was run and answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interpreter {
    /// The executable.
    pub path: PathBuf,
    /// Major, minor and micro version.
    pub version: (u8, u8, u16),
    /// `CPython` or `PyPy`.
    pub implementation: String,
    /// Processor architecture, e.g. `x86_64`.
    pub machine: String,
    /// `sys.platform`, e.g. `linux`.
    pub system: String,
    /// Whether it belongs to a virtual environment.
    pub virtual_environment: bool,
    /// `sys.path` without the working folder.
    pub search_path: Vec<PathBuf>,
    /// The folder of the standard library.
    pub standard_library: PathBuf,
    /// Installed distributions: normalised name to version.
    pub packages: BTreeMap<String, String>,
}

/// Why an executable is no use as an interpreter.
#[derive(Debug, Error)]
pub enum InterpreterError {
    /// There is no such file.
    #[error("{}: no such file", .0.display())]
    Missing(PathBuf),
    /// It may not or cannot be executed.
    #[error("{}: cannot be executed: {}", .0.display(), .1)]
    NotExecutable(PathBuf, String),
    /// It ran and did not answer as Python does.
    #[error("{}: not a Python interpreter: {}", .0.display(), .1)]
    NotPython(PathBuf, String),
    /// It died while answering.
    #[error("{}: the interpreter died: {}", .0.display(), .1)]
    Died(PathBuf, String),
    /// It gave no answer in time.
    #[error("{}: the interpreter did not answer within {} seconds", .0.display(), .1)]
    TooSlow(PathBuf, u64),
    /// Its version is older than any kernel supports.
    #[error("{}: Python {}.{} is too old; 2.7 and 3.6 or later are supported", .0.display(), .1, .2)]
    TooOld(PathBuf, u8, u8),
}

#[derive(Deserialize)]
struct Answer {
    version: (u8, u8, u16),
    implementation: String,
    machine: String,
    system: String,
    #[serde(rename = "virtual")]
    virtual_environment: bool,
    path: Vec<PathBuf>,
    standard_library: PathBuf,
    packages: BTreeMap<String, String>,
}

impl Interpreter {
    /// Runs an executable (at most 30 seconds) and asks what it is and what it has installed.
    pub fn inspect(path: &Path) -> Result<Self, InterpreterError> {
        let at = || path.to_owned();
        if !path.exists() {
            return Err(InterpreterError::Missing(at()));
        }
        if path.is_dir() {
            return Err(InterpreterError::NotExecutable(at(), "it is a folder".to_owned()));
        }
        // Absolute, because the child runs in another folder; not canonical, because the link in a virtual
        // environment's `bin` is what makes it that environment's interpreter.
        let absolute = std::path::absolute(path).unwrap_or_else(|_| at());
        let mut command = process::command(&absolute, Sight::Bare);
        command.args(["-c", include_str!("inspect.py")]);
        if cfg!(unix) {
            command.current_dir("/");
        }
        let finished = process::run(&mut command, LIMIT, "").map_err(|error| match error {
            RunError::Start(error) => InterpreterError::NotExecutable(at(), error.to_string()),
            RunError::Pipe(error) => InterpreterError::Died(at(), error.to_string()),
            RunError::TooSlow(limit) => InterpreterError::TooSlow(at(), limit.as_secs()),
        })?;
        let answer = finished.stdout.lines().find_map(|line| line.strip_prefix("mlem:"));
        let Some(answer) = answer.and_then(|line| serde_json::from_str::<Answer>(line).ok()) else {
            let words = process::last_words(&finished.stderr, 1);
            let ending = process::ending(finished.status);
            let words = if words.is_empty() { ending.clone() } else { format!("{ending}: {words}") };
            return Err(if finished.status.code().is_none() {
                InterpreterError::Died(at(), words)
            } else {
                InterpreterError::NotPython(at(), words)
            });
        };
        let (major, minor, _) = answer.version;
        if !OLDEST.iter().any(|&(oldest, least)| major == oldest && minor >= least) {
            return Err(InterpreterError::TooOld(at(), major, minor));
        }
        Ok(Self {
            path: absolute,
            version: answer.version,
            implementation: answer.implementation,
            machine: answer.machine,
            system: answer.system,
            virtual_environment: answer.virtual_environment,
            search_path: answer.path,
            standard_library: answer.standard_library,
            packages: answer
                .packages
                .into_iter()
                .map(|(name, version)| (Distribution::new(&name).as_str().to_owned(), version))
                .collect(),
        })
    }

    /// All interpreters found on this machine, newest first: on `PATH`, under pyenv (`$PYENV_ROOT` or `~/.pyenv`), among
    /// uv's own, in `/usr/bin` and `/usr/local/bin`. Virtual environments are left out. Those that do not work are left
    /// out too.
    pub fn discover() -> Vec<Self> {
        let mut found: Vec<Self> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                candidates().into_iter().map(|path| scope.spawn(move || Self::inspect(&path).ok())).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).collect()
        });
        found.retain(|interpreter| !interpreter.virtual_environment);
        // A stable sort, so that of equal versions the one found first (on PATH) stays first.
        found.sort_by_key(|each| std::cmp::Reverse((each.is_cpython(), each.version)));
        found
    }

    /// Whether it is CPython.
    pub fn is_cpython(&self) -> bool {
        self.implementation == "CPython"
    }

    /// Major and minor version.
    pub fn minor(&self) -> (u8, u8) {
        (self.version.0, self.version.1)
    }
}

impl fmt::Display for Interpreter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, micro) = self.version;
        write!(formatter, "{} {major}.{minor}.{micro}", self.implementation)
    }
}

/// Executables that may be interpreters, each once, in the order of preference among equal versions.
fn candidates() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    folders.extend(["/usr/local/bin", "/usr/bin"].map(PathBuf::from));
    let home = process::variable("HOME").map(PathBuf::from);
    let under_home = |tail: &str| home.as_ref().map(|home| home.join(tail));
    let collections = [
        process::variable("PYENV_ROOT")
            .map(PathBuf::from)
            .or_else(|| under_home(".pyenv"))
            .map(|root| root.join("versions")),
        process::variable("UV_PYTHON_INSTALL_DIR")
            .map(PathBuf::from)
            .or_else(|| under_home(".local/share/uv/python")),
    ];
    for collection in collections.into_iter().flatten() {
        folders.extend(entries(&collection).into_iter().map(|version| version.join("bin")));
    }
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for folder in folders {
        // pyenv's shims choose a version by the working folder, or fail with 127.
        if folder.ends_with("shims") {
            continue;
        }
        for path in entries(&folder) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if is_python_name(name)
                && let Ok(real) = path.canonicalize()
                && seen.insert(real.clone())
            {
                found.push(real);
            }
        }
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|list| list.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

/// `python`, `python3`, `python2.7`, `python3.13`, `pypy3.10`; not `python3-config` or `python3.13t`.
fn is_python_name(name: &str) -> bool {
    name.strip_prefix("python")
        .or_else(|| name.strip_prefix("pypy"))
        .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_interpreters() {
        for name in ["python", "python3", "python2.7", "python3.13", "pypy3"] {
            assert!(is_python_name(name), "{name}");
        }
        for name in ["python3-config", "python3.13t", "pythonw", "ipython"] {
            assert!(!is_python_name(name), "{name}");
        }
    }

    #[cfg(unix)]
    fn executable(folder: &Path, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("python");
        // Written under another name and moved, since a file still open for writing cannot be executed.
        let draft = folder.join("draft");
        std::fs::write(&draft, text).unwrap();
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(&draft, &path).unwrap();
        path
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_interpreter_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let message = |path: &Path| Interpreter::inspect(path).unwrap_err();
        assert!(matches!(message(&folder.path().join("none")), InterpreterError::Missing(_)));
        assert!(matches!(message(folder.path()), InterpreterError::NotExecutable(..)));
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "text").unwrap();
        assert!(matches!(message(&plain), InterpreterError::NotExecutable(..)));
        let other = executable(folder.path(), "#!/bin/sh\necho hello\n");
        assert!(matches!(message(&other), InterpreterError::NotPython(..)));
        let dies = executable(folder.path(), "#!/bin/sh\nkill -SEGV $$\n");
        assert!(message(&dies).to_string().contains("signal 11"));
        let old = executable(
            folder.path(),
            "#!/bin/sh\necho 'mlem:{\"version\":[3,4,1],\"implementation\":\"CPython\",\"machine\":\"m\",\"system\":\"s\",\
             \"virtual\":false,\"path\":[],\"standard_library\":\"/\",\"packages\":{}}'\n",
        );
        assert!(message(&old).to_string().contains("Python 3.4 is too old"));
    }

    #[test]
    fn this_machine_has_an_interpreter() {
        let found = Interpreter::discover();
        assert!(!found.is_empty(), "no Python interpreter on this machine");
        for pair in found.windows(2) {
            assert!((pair[0].is_cpython(), pair[0].version) >= (pair[1].is_cpython(), pair[1].version));
        }
    }
}
