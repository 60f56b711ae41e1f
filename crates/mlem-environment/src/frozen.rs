//! An exact list of versions, installed for an interpreter of its time by that interpreter's own pip.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::environment::{Place, chosen, in_cache};
use crate::lock::{Lock, Pin, platform};
use crate::uv::{bin, pip, pip_holding};
use crate::{
    Environment, EnvironmentError, Interpreter, PythonChoice, RequirementsFileError, Step, read_requirements,
};

/// The last virtualenv that makes environments for Python 2.7 and 3.6 (its changelog, 20.22.0).
const VIRTUALENV: &str = "virtualenv==20.21.1";
/// A newer setuptools brings a `distutils` of its own, whose warnings would land in notebooks' outputs.
const SETUPTOOLS: &str = "setuptools<58";

/// Why an exact list could not be installed.
#[derive(Debug, Error)]
pub enum FrozenError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] RequirementsFileError),
    /// A line names no exact version, so the list is not what was once installed.
    #[error(
        "{}, line {line}: `{requirement}` is not an exact version (NAME==VERSION, as `pip freeze` writes it)",
        .path.display()
    )]
    NotExact {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What stands there.
        requirement: String,
    },
    /// Without it no notebook can be run.
    #[error("{}: ipykernel is not in the list; add the version that was installed (`pip freeze` writes it)", .0.display())]
    NoKernel(PathBuf),
    /// It could not be built.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
}

/// Installs exactly what a `pip freeze` file lists, and nothing else, for the interpreter of `choice`: an
/// environment of the past, with that Python's own pip. Cached and shared like every built environment.
///
/// Distributions that publish no wheel for that Python are built from source, as pip did then; that runs their code
/// outside any confinement, so the list has to be one that the user trusts.
///
/// # Errors
/// [`FrozenError`] names the file and line, or what pip said.
pub fn build_frozen(
    choice: &PythonChoice,
    list: &Path,
    cache: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<Environment, FrozenError> {
    let file = read_requirements(list)?;
    let mut pins = BTreeSet::new();
    for (line, requirement) in &file.requirements {
        let version =
            requirement.specifier.strip_prefix("==").filter(|version| !version.contains(['*', ',']));
        let Some(version) = version.filter(|_| requirement.url.is_none()) else {
            let (path, requirement) = (list.to_owned(), requirement.to_string());
            return Err(FrozenError::NotExact { path, line: *line, requirement });
        };
        pins.insert(Pin {
            name: requirement.distribution.as_str().to_owned(),
            version: version.to_owned(),
            url: None,
            hashes: Vec::new(),
        });
    }
    if !pins.iter().any(|pin| pin.name == "ipykernel") {
        return Err(FrozenError::NoKernel(list.to_owned()));
    }
    let base = chosen(choice)?;
    let lock =
        Lock { python: platform(&base), packages: pins.into_iter().collect(), built_from_source: Vec::new() };
    Ok(in_cache(cache, &lock, progress, "pip", |place| fill(&base, cache, place))?)
}

fn fill(base: &Interpreter, cache: &Path, place: &Place<'_>) -> Result<(), String> {
    let venv = place.venv.display().to_string();
    if base.minor() < (3, 3) {
        let virtualenv = virtualenv(cache)?;
        let python = base.path.display().to_string();
        pip_holding(&virtualenv, &["-m", "virtualenv", "--quiet", "--python", &python, &venv], place.guard)?;
    } else {
        pip_holding(&base.path, &["-m", "venv", &venv], place.guard)?;
    }
    let list = place.list.display().to_string();
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    // The resolvers of those years disagree with each other; the list is what was installed, so none is asked.
    let rest = ["--no-deps", "--prefer-binary", "-r", &list];
    if base.minor() < (3, 12) {
        pip_holding(&place.python, &[&install[..], &[SETUPTOOLS, "wheel"]].concat(), place.guard)?;
    }
    pip_holding(&place.python, &[&install[..], &rest[..]].concat(), place.guard)
}

/// An interpreter that has [`VIRTUALENV`], brought into the cache when it is first needed.
fn virtualenv(cache: &Path) -> Result<PathBuf, String> {
    let own = cache.join("tools").join("virtualenv");
    let python = own.join(bin()).join(format!("python{}", std::env::consts::EXE_SUFFIX));
    fs::create_dir_all(&own).map_err(|error| format!("{}: {error}", own.display()))?;
    let lock = File::create(own.join("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    if python.is_file() && pip(&python, &["-m", "virtualenv", "--version"]).is_ok() {
        return Ok(python);
    }
    let all = Interpreter::discover();
    let fits = |each: &&Interpreter| each.is_cpython() && ((3, 7)..=(3, 11)).contains(&each.minor());
    let Some(base) = all.iter().find(fits) else {
        return Err("environments for Python 2.7 are made by a virtualenv that needs Python 3.7 to 3.11; \
                    install one of these, or name a Python 2.7 with ipykernel by its path"
            .to_owned());
    };
    pip(&base.path, &["-m", "venv", &own.display().to_string()])?;
    pip(&python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", VIRTUALENV])?;
    Ok(python)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("past.txt");
        fs::write(&list, text).unwrap();
        let error = build_frozen(&PythonChoice::Newest, &list, folder.path(), &mut |_| ()).unwrap_err();
        assert!(!folder.path().join("environments").exists());
        error.to_string()
    }

    #[test]
    fn a_list_that_is_not_exact_is_refused_with_its_line() {
        let message = refused("ipykernel==4.10.1\n\npandas>=0.20\n");
        assert!(message.contains("past.txt, line 3: `pandas>=0.20`"), "{message}");
    }

    #[test]
    fn a_list_without_a_kernel_is_refused() {
        let message = refused("pandas==0.20.3\n");
        assert!(message.contains("ipykernel is not in the list"), "{message}");
    }
}
