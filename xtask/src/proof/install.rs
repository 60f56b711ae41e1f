//! Builds the environments of the table under `target/xtask`, once for each list of pins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mlem_environment::{Interpreter, Uv};
use thiserror::Error;

use super::environments::Environment;
use super::run::Built;

/// Why an environment is not there.
#[derive(Debug, Error)]
pub(crate) enum InstallError {
    /// The machine has no such interpreter.
    #[error("there is no CPython {0}.{1} on this machine")]
    NoPython(u8, u8),
    /// A program failed; its last words.
    #[error("{0}: {1}")]
    Failed(&'static str, String),
    /// A file cannot be written.
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, std::io::Error),
}

/// What builds environments.
#[derive(Debug)]
pub(crate) struct Installer {
    interpreters: Vec<Interpreter>,
    uv: Uv,
    folder: PathBuf,
}

impl Installer {
    /// `folder` takes the environments, and uv where the machine has none.
    pub(crate) fn new(folder: &Path) -> Result<Installer, mlem_environment::UvMissing> {
        let interpreters = Interpreter::discover();
        let uv = Uv::find(folder, &interpreters)?;
        Ok(Installer { interpreters, uv, folder: folder.join("environments") })
    }

    /// The interpreter of an environment.
    pub(crate) fn interpreter(&self, environment: &Environment) -> Option<&Interpreter> {
        self.interpreters.iter().find(|each| each.is_cpython() && each.minor() == environment.python)
    }

    /// The environment, built if it is not there or its pins have changed.
    pub(crate) fn build(&self, environment: &Environment) -> Result<Built, InstallError> {
        let (major, minor) = environment.python;
        let python = self.interpreter(environment).ok_or(InstallError::NoPython(major, minor))?;
        let folder = self.folder.join(&environment.name);
        let stamp = folder.join("xtask-stamp");
        let built = if major == 2 {
            Built { python: python.path.clone(), path: Some(folder.join("site")) }
        } else {
            Built { python: folder.join("bin").join("python"), path: None }
        };
        let digest = environment.digest();
        if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == digest) {
            return Ok(built);
        }
        eprintln!("{}: building", environment.name);
        let file = |error| InstallError::File(folder.clone(), error);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(file)?;
        }
        fs::create_dir_all(&folder).map_err(file)?;
        // The locks list all that is needed; what the metadata of old releases asks for is not read (--no-deps).
        if major == 2 {
            // uv does not know Python 2, whose own pip does.
            let mut pip = Command::new(&python.path);
            pip.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--disable-pip-version-check",
                "--target",
            ]);
            pip.arg(folder.join("site")).args(&environment.pins);
            succeed("pip install", pip.output())?;
        } else {
            let mut venv = Command::new(&self.uv.path);
            venv.args(["--no-config", "venv", "--quiet", "--allow-existing", "--python"])
                .arg(&python.path)
                .arg(&folder);
            succeed("uv venv", venv.output())?;
            let mut install = Command::new(&self.uv.path);
            install.args(["--no-config", "pip", "install", "--quiet", "--no-deps", "--python"]);
            install.arg(&built.python).args(&environment.pins);
            succeed("uv pip install", install.output())?;
        }
        fs::write(&stamp, digest).map_err(|error| InstallError::File(stamp, error))?;
        Ok(built)
    }
}

fn succeed(program: &'static str, output: std::io::Result<Output>) -> Result<(), InstallError> {
    let output = output.map_err(|error| InstallError::Failed(program, error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(InstallError::Failed(program, words[words.len().saturating_sub(4)..].join("; ")))
}
