//! Environments: an interpreter with a known set of distributions, found or built.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cache::{Use, lock_path};
use crate::interpreter::{Interpreter, InterpreterError};
use crate::resolve::{self, Dropped, PassedOver, Resolution, Suspect};
use crate::uv::{self, Uv, UvMissing};
use crate::{Distribution, Lock, Requirement};

/// Which Python an environment is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PythonChoice {
    /// The newest CPython on this machine for which everything required resolves to wheels.
    Newest,
    /// The interpreter at this path.
    Path(PathBuf),
    /// The first interpreter found of this major and minor version.
    Version(u8, u8),
}

/// One distribution that an environment should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What is wanted.
    pub requirement: Requirement,
    /// Whether the environment is useless without it. What is not required (a guess, a guarded import) is left out
    /// when it cannot be had, with the reason recorded.
    pub required: bool,
}

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentSpec {
    /// Which Python.
    pub python: PythonChoice,
    /// What to install. `ipykernel` is always added.
    pub wanted: Vec<Wanted>,
}

/// Where a build is, for a progress line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Versions are being chosen for this interpreter.
    Resolving(String),
    /// This interpreter was passed over.
    PassedOver(PassedOver),
    /// Another process is building the same environment.
    Waiting,
    /// This many distributions are being installed.
    Installing(usize),
}

/// An interpreter with a known set of distributions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The interpreter's path.
    pub python: PathBuf,
    /// Its version: major, minor, micro.
    pub version: (u8, u8, u16),
    /// Installed distributions: normalised name to version.
    pub packages: BTreeMap<String, String>,
    /// The interpreter as it described itself.
    pub interpreter: Interpreter,
    /// The exact versions it was built from; `None` for an environment that was found, which is never changed.
    pub lock: Option<Lock>,
    /// What was wanted and left out, with the reason.
    pub dropped: Vec<Dropped>,
    /// Newer interpreters that were not taken, with the reason.
    pub passed_over: Vec<PassedOver>,
    /// Versions that look too old to be what anybody meant.
    pub suspects: Vec<Suspect>,
    /// Keeps it from being pruned.
    pub(crate) used: Option<Use>,
}

/// Why there is no environment.
#[derive(Debug, Error)]
pub enum EnvironmentError {
    /// The interpreter is of no use.
    #[error(transparent)]
    Interpreter(#[from] InterpreterError),
    /// There is no interpreter of the wanted version.
    #[error(
        "no CPython {wanted} found on this machine (found: {found}); install one or name an interpreter by its path"
    )]
    NoInterpreter {
        /// What was looked for.
        wanted: String,
        /// What there is.
        found: String,
    },
    /// uv is neither there nor to be had.
    #[error(transparent)]
    Uv(#[from] UvMissing),
    /// Environments for this Python cannot be built here, only used.
    #[error(
        "{0}: environments for Python {1}.{2} cannot be built by uv; make one with pip and use it by its path"
    )]
    PythonTooOld(String, u8, u8),
    /// Something required cannot be had.
    #[error("{what} cannot be installed on {python}: {reason}")]
    Unresolvable {
        /// The required distributions at fault, comma separated.
        what: String,
        /// The interpreter tried last.
        python: String,
        /// The resolver's explanation and what to do.
        reason: String,
        /// All interpreters tried before.
        passed_over: Vec<PassedOver>,
    },
    /// The chosen versions could not be installed.
    #[error("installing into {}: {reason}", .folder.display())]
    Install {
        /// The environment's folder.
        folder: PathBuf,
        /// The installer's words.
        reason: String,
    },
    /// The environment belongs to the user.
    #[error("{} is not an environment of ours and is never changed; install {what} there yourself", .python.display())]
    Foreign {
        /// Its interpreter.
        python: PathBuf,
        /// What was to be installed.
        what: String,
    },
    /// A folder in the cache that we did not make is in the way.
    #[error("{} exists and was not made by this program; move it away", .0.display())]
    InTheWay(PathBuf),
    /// The cache cannot be used.
    #[error("{}: {source}", .path.display())]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
}

/// What is written beside a finished environment; its presence says that it is finished.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) lock: Lock,
    /// Version of what installed it; `uv` in records of older environments.
    #[serde(alias = "uv")]
    tool: String,
}

pub(crate) const RECORD: &str = "environment.json";
/// Made first in a folder of ours, so that only such a folder is ever removed.
pub(crate) const OURS: &str = ".mlem-environment";

impl Environment {
    fn new(interpreter: Interpreter) -> Self {
        Self {
            python: interpreter.path.clone(),
            version: interpreter.version,
            packages: interpreter.packages.clone(),
            interpreter,
            lock: None,
            dropped: Vec::new(),
            passed_over: Vec::new(),
            suspects: Vec::new(),
            used: None,
        }
    }

    /// The installed version of a distribution, by its normalised name.
    pub fn version_of(&self, distribution: &str) -> Option<&str> {
        self.packages.get(distribution).map(String::as_str)
    }

    /// Whether a Jupyter kernel can be started in it.
    pub fn has_ipykernel(&self) -> bool {
        self.packages.contains_key("ipykernel")
    }

    /// Whether it was built here and lives in the cache.
    pub fn is_ours(&self) -> bool {
        self.lock.is_some()
    }

    /// A text that changes whenever its interpreter or its distributions do.
    pub fn key(&self) -> String {
        let mut text = format!("{}\n", crate::lock::platform(&self.interpreter));
        for place in &self.interpreter.search_path {
            text.push_str(&format!("{}\n", place.display()));
        }
        for (name, version) in &self.packages {
            text.push_str(&format!("{name}=={version}\n"));
        }
        let mut digits = crate::lock::hex_digest(&text);
        digits.truncate(40);
        digits
    }
}

/// The environment of an interpreter that exists, virtual or not. It is only read.
pub fn existing(python: &Path) -> Result<Environment, EnvironmentError> {
    let used = Use::of_interpreter(python);
    Ok(Environment { used, ..Environment::new(Interpreter::inspect(python)?) })
}

/// Builds an environment under `cache/environments`, or takes the one built before from the same exact versions.
///
/// Two processes that want the same one wait for each other. A build that was killed is begun again. Nothing is removed
/// but folders that this function made.
pub fn build(
    spec: &EnvironmentSpec,
    cache: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<Environment, EnvironmentError> {
    let interpreters = match &spec.python {
        PythonChoice::Path(_) | PythonChoice::Version(..) => vec![chosen(&spec.python)?],
        PythonChoice::Newest => {
            let all = Interpreter::discover();
            let mut seen = Vec::new();
            let usable: Vec<Interpreter> = all
                .iter()
                .filter(|each| each.is_cpython() && each.minor() >= OLDEST_BUILT)
                .filter(|each| {
                    !seen.contains(&each.minor()) && {
                        seen.push(each.minor());
                        true
                    }
                })
                .cloned()
                .collect();
            if usable.is_empty() {
                return Err(no_interpreter("3.8 or later", &all));
            }
            usable
        }
    };
    if let [only] = interpreters.as_slice()
        && only.minor() < OLDEST_BUILT
    {
        return Err(EnvironmentError::PythonTooOld(
            only.path.display().to_string(),
            only.version.0,
            only.version.1,
        ));
    }
    let uv = Uv::find(cache, &interpreters)?;
    let mut wanted = spec.wanted.clone();
    wanted.push(Wanted { requirement: Requirement::any(Distribution::new("ipykernel")), required: true });
    let resolution = resolve::newest(&uv, cache, &interpreters, &wanted, progress)?;
    let mut environment = install(&uv, cache, &resolution.interpreter, &resolution.lock, progress)?;
    let Resolution { dropped, passed_over, suspects, .. } = resolution;
    environment.dropped = dropped;
    environment.passed_over = passed_over;
    environment.suspects = suspects;
    Ok(environment)
}

/// The interpreter of a choice; of [`PythonChoice::Newest`] the newest CPython.
pub(crate) fn chosen(choice: &PythonChoice) -> Result<Interpreter, EnvironmentError> {
    let version = match choice {
        PythonChoice::Path(path) => return Ok(Interpreter::inspect(path)?),
        PythonChoice::Version(major, minor) => Some((*major, *minor)),
        PythonChoice::Newest => None,
    };
    let all = Interpreter::discover();
    let fits = |each: &&Interpreter| each.is_cpython() && version.is_none_or(|wanted| each.minor() == wanted);
    match (all.iter().find(fits), version) {
        (Some(found), _) => Ok(found.clone()),
        (None, Some((major, minor))) => Err(no_interpreter(&format!("{major}.{minor}"), &all)),
        (None, None) => Err(no_interpreter("of any version", &all)),
    }
}

/// The oldest Python for which current uv and ipykernel make environments.
pub(crate) const OLDEST_BUILT: (u8, u8) = (3, 8);

fn no_interpreter(wanted: &str, all: &[Interpreter]) -> EnvironmentError {
    let found: Vec<String> = all.iter().map(ToString::to_string).collect();
    let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    EnvironmentError::NoInterpreter { wanted: wanted.to_owned(), found }
}

/// An environment with more distributions: all versions of `environment` stay as they are. The result is an environment
/// of its own, since others may be using the old one; one that was found and not built is refused.
pub fn install_missing(
    environment: &Environment,
    distributions: &[Distribution],
    cache: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<Environment, EnvironmentError> {
    let names: Vec<&str> = distributions.iter().map(Distribution::as_str).collect();
    let Some(lock) = &environment.lock else {
        return Err(EnvironmentError::Foreign { python: environment.python.clone(), what: names.join(", ") });
    };
    // The interpreter in a virtual environment leads to the one it was made from.
    let base = environment.python.canonicalize().unwrap_or_else(|_| environment.python.clone());
    let base = Interpreter::inspect(&base)?;
    let uv = Uv::find(cache, std::slice::from_ref(&base))?;
    let kept = lock.packages.iter().map(|pin| Requirement {
        url: pin.url.clone(),
        ..Requirement::exactly(Distribution::new(&pin.name), &pin.version)
    });
    let added = distributions.iter().filter(|each| lock.version_of(each.as_str()).is_none());
    let requirements: Vec<Requirement> =
        kept.chain(added.map(|each| Requirement::any(each.clone()))).collect();
    progress(Step::Resolving(base.to_string()));
    let sources: Vec<Distribution> =
        lock.built_from_source.iter().map(|name| Distribution::new(name)).collect();
    let lock = resolve::with_exceptions(&uv, cache, &base, &requirements, sources).map_err(|reason| {
        EnvironmentError::Unresolvable {
            what: names.join(", "),
            python: base.to_string(),
            reason: resolve::in_short(&reason),
            passed_over: Vec::new(),
        }
    })?;
    let built = install(&uv, cache, &base, &lock, progress)?;
    Ok(Environment {
        dropped: environment.dropped.clone(),
        passed_over: environment.passed_over.clone(),
        suspects: environment.suspects.clone(),
        ..built
    })
}

/// The environment of a lock: from the cache, or built by uv.
fn install(
    uv: &Uv,
    cache: &Path,
    base: &Interpreter,
    lock: &Lock,
    progress: &mut dyn FnMut(Step),
) -> Result<Environment, EnvironmentError> {
    in_cache(cache, lock, progress, &uv.version, |place| {
        uv.make_environment(&base.path, &place.venv, place.guard)?;
        uv.sync(lock, &place.list, &place.python, place.guard)
    })
}

/// Where an environment is being built.
pub(crate) struct Place<'a> {
    /// The virtual environment's folder.
    pub(crate) venv: PathBuf,
    /// Its interpreter-to-be.
    pub(crate) python: PathBuf,
    /// The requirements file of the lock.
    pub(crate) list: PathBuf,
    /// Held by every process that builds, so that a killed builder's children are waited for.
    pub(crate) guard: &'a File,
}

/// The environment of a lock: from the cache, or filled by `fill`, which tells in words why it could not.
pub(crate) fn in_cache(
    cache: &Path,
    lock: &Lock,
    progress: &mut dyn FnMut(Step),
    tool: &str,
    fill: impl FnOnce(&Place<'_>) -> Result<(), String>,
) -> Result<Environment, EnvironmentError> {
    let environments = cache.join("environments");
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| EnvironmentError::Cache { path, source }
    };
    fs::create_dir_all(&environments).map_err(at(&environments))?;
    let key = lock.hash();
    let folder = environments.join(&key);
    let python = folder.join("venv").join(uv::bin()).join(format!("python{}", std::env::consts::EXE_SUFFIX));

    // Scripts in an environment name its interpreter by absolute path, so it is built in its final place, under a lock
    // and with the record written last, rather than elsewhere and moved.
    let guard_path = lock_path(&folder, "lock");
    let guard = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&guard_path)
        .map_err(at(&guard_path))?;
    match guard.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress(Step::Waiting);
            guard.lock().map_err(at(&guard_path))?;
        }
        Err(TryLockError::Error(source)) => return Err(EnvironmentError::Cache { path: guard_path, source }),
    }
    // Taken while the guard is held, so that nothing prunes it in between.
    if let Some(environment) = finished(&folder, &python) {
        return Ok(Environment { used: Use::of(&folder), ..environment });
    }
    if folder.exists() {
        if !folder.join(OURS).exists() {
            return Err(EnvironmentError::InTheWay(folder));
        }
        fs::remove_dir_all(&folder).map_err(at(&folder))?;
    }
    fs::create_dir(&folder).map_err(at(&folder))?;
    let ours = folder.join(OURS);
    fs::write(&ours, "Made by mlem; may be deleted when no mlem runs.\n").map_err(at(&ours))?;
    progress(Step::Installing(lock.packages.len()));
    let failed = |reason: String| EnvironmentError::Install {
        folder: folder.clone(),
        reason: resolve::in_short(&reason),
    };
    let list = folder.join("requirements.txt");
    fs::write(&list, lock.to_requirements()).map_err(at(&list))?;
    fill(&Place { venv: folder.join("venv"), python: python.clone(), list, guard: &guard })
        .map_err(failed)?;
    let mut environment = Environment::new(Interpreter::inspect(&python)?);
    environment.lock = Some(lock.clone());
    let record = Record { lock: lock.clone(), tool: tool.to_owned() };
    let draft = folder.join("environment.json.part");
    let text = serde_json::to_string_pretty(&record).map_err(|error| failed(error.to_string()))?;
    fs::write(&draft, text).map_err(at(&draft))?;
    fs::rename(&draft, folder.join(RECORD)).map_err(at(&draft))?;
    environment.used = Use::of(&folder);
    Ok(environment)
}

/// A finished environment whose interpreter still works; `None` when it has to be built.
fn finished(folder: &Path, python: &Path) -> Option<Environment> {
    let text = fs::read_to_string(folder.join(RECORD)).ok()?;
    let record: Record = serde_json::from_str(&text).ok()?;
    let mut environment = Environment::new(Interpreter::inspect(python).ok()?);
    let complete = record.lock.packages.iter().all(|pin| environment.packages.contains_key(&pin.name));
    environment.lock = Some(record.lock);
    complete.then_some(environment)
}
