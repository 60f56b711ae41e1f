//! The `uv` program: found on the machine or brought from the package index, and driven with a configuration of ours.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use thiserror::Error;

use crate::process::{self, Finished, RunError, Sight};
use crate::{Distribution, Interpreter, Lock, Requirement};

/// The oldest uv that has all options used here.
const OLDEST: (u32, u32) = (0, 5);
/// Longest time for a resolution or an installation. Downloads of gigabytes on a slow line take that long.
const LIMIT: Duration = Duration::from_secs(3600);
/// Longest time for uv to tell its version or make an empty environment.
const SHORT: Duration = Duration::from_secs(120);

/// Why there is no uv.
#[derive(Debug, Error)]
#[error("uv is needed to build environments; it is not on PATH and could not be installed: {0}")]
pub struct UvMissing(String);

/// A working uv.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uv {
    /// The executable.
    pub path: PathBuf,
    /// What `uv --version` says, without the name.
    pub version: String,
}

impl Uv {
    /// Takes uv from `PATH`, from the usual places of a user's programs (`~/.local/bin`, `~/.cargo/bin`) or from
    /// `cache`; if there is none, installs it from the package index into a virtual environment under `cache/tools`,
    /// with pip's own configuration.
    pub fn find(cache: &Path, interpreters: &[Interpreter]) -> Result<Self, UvMissing> {
        let mut places: Vec<PathBuf> =
            std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        if let Some(home) = process::variable("HOME").map(PathBuf::from) {
            places.extend([home.join(".local/bin"), home.join(".cargo/bin")]);
        }
        let name = format!("uv{}", std::env::consts::EXE_SUFFIX);
        if let Some(found) = places.iter().find_map(|place| Self::at(&place.join(&name))) {
            return Ok(found);
        }
        Self::bring(cache, interpreters)
    }

    /// The uv under `cache/tools`, installed there first if need be, whatever else the machine has.
    pub fn bring(cache: &Path, interpreters: &[Interpreter]) -> Result<Self, UvMissing> {
        let own = cache.join("tools").join("uv");
        match Self::brought(&own) {
            Some(found) => Ok(found),
            None => Self::fetch(&own, interpreters).map_err(UvMissing),
        }
    }

    fn at(path: &Path) -> Option<Self> {
        if !path.is_file() {
            return None;
        }
        let finished = process::run(process::command(path, Sight::Bare).arg("--version"), SHORT, "").ok()?;
        let version = finished.stdout.trim().strip_prefix("uv ")?.split_whitespace().next()?.to_owned();
        let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
        let found = (numbers.next()??, numbers.next()??);
        (found >= OLDEST).then(|| Self { path: path.to_owned(), version })
    }

    fn brought(own: &Path) -> Option<Self> {
        let name = format!("uv{}", std::env::consts::EXE_SUFFIX);
        [own.join(bin()).join(&name), own.join("target").join("bin").join(&name)]
            .iter()
            .find_map(|path| Self::at(path))
    }

    fn fetch(own: &Path, interpreters: &[Interpreter]) -> Result<Self, String> {
        fs::create_dir_all(own).map_err(|error| format!("{}: {error}", own.display()))?;
        let lock = File::create(own.join("lock")).map_err(|error| error.to_string())?;
        lock.lock().map_err(|error| error.to_string())?;
        // Another process may have brought it while this one waited.
        if let Some(found) = Self::brought(own) {
            return Ok(found);
        }
        let mut words = "no Python 3.8 or later was found".to_owned();
        for python in interpreters.iter().filter(|each| each.is_cpython() && each.minor() >= (3, 8)) {
            let attempts: [&dyn Fn() -> Result<(), String>; 2] = [
                &|| {
                    pip(&python.path, &["-m", "venv", &own.display().to_string()])?;
                    pip(&own.join(bin()).join("python"), &["-m", "pip", "install", "--quiet", "uv"])
                },
                // Debian's python3 has no ensurepip without the package python3-venv.
                &|| {
                    let target = own.join("target").display().to_string();
                    pip(&python.path, &["-m", "pip", "install", "--quiet", "--target", &target, "uv"])
                },
            ];
            for attempt in attempts {
                match attempt() {
                    Ok(()) => match Self::brought(own) {
                        Some(found) => return Ok(found),
                        None => words = "the installed program does not run".to_owned(),
                    },
                    Err(error) => words = error,
                }
            }
        }
        Err(words)
    }

    /// uv with the options that make it independent of the folder it runs in and of the user's settings: no
    /// configuration files (a `uv.toml` nearby silently changes a resolution), no downloads of interpreters, no bars.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = process::command(&self.path, Sight::Indexes);
        command.args(arguments).args(["--no-config", "--no-progress", "--color", "never"]);
        command.env("UV_PYTHON_DOWNLOADS", "never");
        for (name, value) in pip_indexes() {
            command.env(name, value);
        }
        command
    }

    /// Exact versions that satisfy the requirements on this interpreter, from wheels only but for the distributions
    /// `from_source`. The error is uv's own explanation.
    pub(crate) fn compile(
        &self,
        python: &Interpreter,
        requirements: &[Requirement],
        from_source: &[Distribution],
    ) -> Result<Lock, String> {
        let mut input = String::new();
        for requirement in requirements {
            input.push_str(&requirement.to_string());
            input.push('\n');
        }
        let mut command = self.command(&[
            "pip",
            "compile",
            "-",
            "--generate-hashes",
            "--no-header",
            "--no-annotate",
            "--quiet",
        ]);
        command.arg("--python").arg(&python.path);
        wheels_only(&mut command, from_source);
        // In a folder of its own, so that nothing beside it is read.
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        command.current_dir(folder.path());
        let finished = checked(process::run(&mut command, LIMIT, &input))?;
        let built = from_source.iter().map(|each| each.as_str().to_owned()).collect();
        Ok(Lock::from_compiled(&finished.stdout, python, built))
    }

    /// Makes an empty virtual environment. `lock` is held until uv has ended, as it is by [`Uv::sync`].
    pub(crate) fn make_environment(&self, python: &Path, folder: &Path, lock: &File) -> Result<(), String> {
        let mut command = self.command(&["venv", "--quiet", "--no-project"]);
        command.arg("--python").arg(python).arg(folder);
        checked(process::run_holding(&mut command, SHORT, lock)).map(drop)
    }

    /// Installs exactly the pins of a lock, bytecode compiled.
    pub(crate) fn sync(&self, pins: &Lock, file: &Path, python: &Path, lock: &File) -> Result<(), String> {
        let mut command = self.command(&["pip", "sync", "--compile-bytecode", "--quiet"]);
        command.arg("--python").arg(python).arg(file);
        let sources: Vec<Distribution> =
            pins.built_from_source.iter().map(|name| Distribution::new(name)).collect();
        wheels_only(&mut command, &sources);
        if let Some(folder) = file.parent() {
            command.current_dir(folder);
        }
        checked(process::run_holding(&mut command, LIMIT, lock)).map(drop)
    }
}

/// Building from source runs the distribution's own code on this machine, outside any confinement, and needs
/// compilers; so wheels only, with named exceptions.
fn wheels_only(command: &mut Command, from_source: &[Distribution]) {
    command.args(["--only-binary", ":all:"]);
    for distribution in from_source {
        command.args(["--no-binary", distribution.as_str()]);
    }
}

fn checked(result: Result<Finished, RunError>) -> Result<Finished, String> {
    match result {
        Ok(finished) if finished.status.success() => Ok(finished),
        Ok(finished) => {
            let words = finished.stderr.trim();
            Err(if words.is_empty() { process::ending(finished.status) } else { words.to_owned() })
        }
        Err(RunError::Start(error)) => Err(format!("uv cannot be started: {error}")),
        Err(RunError::TooSlow(limit)) => {
            Err(format!("uv was not done after {} minutes", limit.as_secs() / 60))
        }
        Err(RunError::Pipe(error)) => Err(format!("uv cannot be watched: {error}")),
    }
}

/// Runs an interpreter with pip's or venv's arguments.
pub(crate) fn pip(python: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut command = process::command(python, Sight::Indexes);
    command.args(arguments);
    finished(process::run(&mut command, LIMIT, ""))
}

/// As [`pip`]; `lock` is held until the interpreter has ended.
pub(crate) fn pip_holding(python: &Path, arguments: &[&str], lock: &File) -> Result<(), String> {
    let mut command = process::command(python, Sight::Indexes);
    command.args(arguments);
    finished(process::run_holding(&mut command, LIMIT, lock))
}

fn finished(result: Result<Finished, RunError>) -> Result<(), String> {
    match result {
        Ok(finished) if finished.status.success() => Ok(()),
        Ok(finished) => Err(process::last_words(&finished.stderr, 2)),
        Err(RunError::Start(error) | RunError::Pipe(error)) => Err(error.to_string()),
        Err(RunError::TooSlow(limit)) => {
            Err(format!("pip was not done after {} minutes", limit.as_secs() / 60))
        }
    }
}

/// The folder of executables inside a virtual environment.
pub(crate) fn bin() -> &'static str {
    if cfg!(windows) { "Scripts" } else { "bin" }
}

/// Where packages come from, as pip is told by its variables and files, in uv's variables. uv reads neither, so on a
/// machine whose index is configured for pip it would ask the public one. What is set for uv itself wins.
fn pip_indexes() -> Vec<(&'static str, String)> {
    let configured = |uv: &[&str]| uv.iter().any(|name| process::variable(name).is_some());
    let files = pip_files();
    let mut found = Vec::new();
    for (key, uv, instead) in [
        ("index-url", "UV_DEFAULT_INDEX", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"]),
        ("extra-index-url", "UV_INDEX", ["UV_INDEX", "UV_EXTRA_INDEX_URL"]),
        ("find-links", "UV_FIND_LINKS", ["UV_FIND_LINKS", "UV_FIND_LINKS"]),
    ] {
        if configured(&instead) {
            continue;
        }
        let variable = format!("PIP_{}", key.to_ascii_uppercase().replace('-', "_"));
        let value = process::variable(&variable)
            .and_then(|value| value.into_string().ok())
            .or_else(|| files.iter().find_map(|text| pip_setting(text, key)));
        if let Some(value) = value {
            let value = if key == "find-links" {
                // uv refuses a folder that does not exist, pip passes over it.
                let links =
                    value.split_whitespace().filter(|link| link.contains("://") || Path::new(link).exists());
                links.collect::<Vec<_>>().join(",")
            } else {
                value.split_whitespace().collect::<Vec<_>>().join(" ")
            };
            if !value.is_empty() {
                found.push((uv, value));
            }
        }
    }
    found
}

/// Texts of pip's configuration files, the strongest first (pip documentation, Configuration: site is left out).
fn pip_files() -> Vec<String> {
    let home = process::variable("HOME").map(PathBuf::from);
    let configuration = process::variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    let places = [
        process::variable("PIP_CONFIG_FILE").map(PathBuf::from),
        configuration.map(|folder| folder.join("pip/pip.conf")),
        home.map(|home| home.join(".pip/pip.conf")),
        Some(PathBuf::from("/etc/xdg/pip/pip.conf")),
        Some(PathBuf::from("/etc/pip.conf")),
    ];
    places.into_iter().flatten().filter_map(|path| fs::read_to_string(path).ok()).collect()
}

/// A setting of the sections `[install]` or `[global]`, with its continuation lines.
fn pip_setting(text: &str, key: &str) -> Option<String> {
    let mut section = "";
    let mut values: [Option<String>; 2] = [None, None];
    let mut open: Option<usize> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            if let Some(value) = open.and_then(|index| values[index].as_mut()) {
                value.push(' ');
                value.push_str(trimmed);
            }
            continue;
        }
        open = None;
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if let Some((name, value)) = trimmed.split_once(['=', ':'])
            && name.trim().replace('_', "-") == key
        {
            let index = match section {
                "install" => 0,
                "global" => 1,
                _ => continue,
            };
            values[index] = Some(value.trim().to_owned());
            open = Some(index);
        }
    }
    let [install, global] = values;
    install.or(global).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_settings_are_read() {
        let text = "[global]\n# a comment\nindex-url = https://one.example/simple\nextra_index_url =\n    https://two.example\n    https://three.example\n[install]\nfind-links: /a /b\n[freeze]\nindex-url = no\n";
        assert_eq!(pip_setting(text, "index-url").as_deref(), Some("https://one.example/simple"));
        assert_eq!(
            pip_setting(text, "extra-index-url").as_deref(),
            Some("https://two.example https://three.example")
        );
        assert_eq!(pip_setting(text, "find-links").as_deref(), Some("/a /b"));
        assert_eq!(pip_setting("", "index-url"), None);
    }
}
