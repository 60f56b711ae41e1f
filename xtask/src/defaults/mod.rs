//! Which default values changed between two releases of a library, as rows for review.
//!
//! Each release is installed for the oldest CPython that has wheels of it, with what was current in its time, and a
//! script asks every public callable for its signature. `--from-source` reads the sources in the wheel instead, for
//! libraries whose dependencies are too heavy. What is printed are suggestions: whether a sentinel changed its meaning,
//! and what has to be written today, is for a person to find out.

mod compare;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mlem_environment::{Interpreter, Uv, UvMissing, release_history};
use serde::Deserialize;
use thiserror::Error;

/// Which releases of which library.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Name on the package index (scikit-learn)
    library: String,
    /// The older release
    old: String,
    /// The newer release
    new: String,
    /// Name of the import, where it is another (sklearn)
    #[arg(long, value_name = "NAME")]
    import: Option<String>,
    /// Read the sources in the wheels and install nothing else
    #[arg(long)]
    from_source: bool,
}

/// Why releases could not be compared.
#[derive(Debug, Error)]
pub(crate) enum DefaultsError {
    /// There is no uv.
    #[error(transparent)]
    Uv(#[from] UvMissing),
    /// No interpreter takes the release.
    #[error("{library} {version} could not be installed for any CPython found here: {reason}")]
    NotInstalled {
        /// The library.
        library: String,
        /// The release.
        version: String,
        /// What the last attempt said.
        reason: String,
    },
    /// The script failed.
    #[error("{program} could not read {library} {version}: {reason}")]
    NotRead {
        /// The script.
        program: &'static str,
        /// The library.
        library: String,
        /// The release.
        version: String,
        /// The last line it wrote.
        reason: String,
    },
    /// The file system, or a program that did not start.
    #[error("{path}: {error}")]
    Io {
        /// The file or program.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
}

/// One release's public callables, by their shortest names.
#[derive(Debug, Deserialize)]
struct Signatures {
    callables: BTreeMap<String, Signature>,
}

#[derive(Debug, Clone, Deserialize)]
struct Signature {
    /// Other public names of the same object.
    aliases: Vec<String>,
    /// Name, default as written where there is one, and kind; nothing where it cannot be read.
    parameters: Option<Vec<(String, Option<String>, String)>>,
}

/// What old releases need beside themselves where their own metadata cannot be read by today's resolvers.
const COMPANIONS: &[&str] =
    &["numpy", "scipy", "pandas", "scikit-learn", "pytz", "python-dateutil", "six", "joblib"];

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Prints the changes between two releases as rows.
pub(crate) fn run(arguments: &Arguments) -> Result<(), DefaultsError> {
    let folder = Path::new(ROOT).join("target/xtask/defaults");
    std::fs::create_dir_all(&folder).map_err(|error| io(&folder, error))?;
    let mut pythons: Vec<Interpreter> =
        Interpreter::discover().into_iter().filter(|it| it.is_cpython() && it.minor() >= (3, 6)).collect();
    pythons.sort_by_key(Interpreter::minor);
    pythons.dedup_by_key(|python| python.minor());
    let uv = Uv::find(&folder, &pythons)?;
    let reader = Reader { arguments, folder: &folder, uv: &uv.path, pythons: &pythons };
    let old = reader.read(&arguments.old)?;
    let new = reader.read(&arguments.new)?;
    print!("{}", compare::rows(&old.callables, &new.callables, &arguments.old, &arguments.new));
    Ok(())
}

struct Reader<'a> {
    arguments: &'a Arguments,
    folder: &'a Path,
    uv: &'a Path,
    /// Oldest first.
    pythons: &'a [Interpreter],
}

impl Reader<'_> {
    /// The signatures of one release; what was read once is kept.
    fn read(&self, version: &str) -> Result<Signatures, DefaultsError> {
        let name = format!("{}-{version}", self.arguments.library);
        let kept = self.folder.join(format!("{name}.json"));
        if let Ok(text) = std::fs::read_to_string(&kept)
            && let Ok(signatures) = serde_json::from_str(&text)
        {
            return Ok(signatures);
        }
        let import =
            self.arguments.import.clone().unwrap_or_else(|| self.arguments.library.replace('-', "_"));
        let scripts = Path::new(ROOT).join("xtask/src/defaults");
        let place = self.folder.join(name);
        let (program, output) = if self.arguments.from_source {
            let python = self.unpack(&place, version)?;
            let mut command = Command::new(python);
            command.arg(scripts.join("read_source.py")).arg(&place).arg(&import);
            ("read_source.py", output(&mut command)?)
        } else {
            let python = self.install(&place, version)?;
            let mut command = Command::new(python);
            command.args(["-W", "ignore"]).arg(scripts.join("introspect.py")).arg(&import);
            ("introspect.py", output(&mut command)?)
        };
        let text = String::from_utf8_lossy(&output.stdout);
        // Libraries print on import; the result is the last line.
        let line = text.lines().last().unwrap_or_default();
        let signatures = serde_json::from_str(line).map_err(|_| DefaultsError::NotRead {
            program,
            library: self.arguments.library.clone(),
            version: version.to_owned(),
            reason: last_line(&output),
        })?;
        std::fs::write(&kept, line).map_err(|error| io(&kept, error))?;
        Ok(signatures)
    }

    /// Unpacks the wheel alone; returns a Python that can read its sources.
    fn unpack(&self, place: &Path, version: &str) -> Result<PathBuf, DefaultsError> {
        let Some(newest) = self.pythons.last() else {
            return Err(self.not_installed(version, "there is none".to_owned()));
        };
        let mut command = self.uv(&["pip", "install", "--no-deps", "--target"]);
        command.arg(place).arg("--python").arg(&newest.path).arg(self.requirement(version));
        let output = output(&mut command)?;
        if output.status.success() {
            Ok(newest.path.clone())
        } else {
            Err(self.not_installed(version, last_line(&output)))
        }
    }

    /// Installs a release for the oldest Python that has wheels of it; returns the environment's Python.
    fn install(&self, place: &Path, version: &str) -> Result<PathBuf, DefaultsError> {
        let mut reason = "there is none".to_owned();
        for python in self.pythons {
            let own = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
            let own = place.join(own);
            let made = output(self.uv(&["venv", "--clear", "--python"]).arg(&python.path).arg(place))?;
            if !made.status.success() {
                reason = last_line(&made);
                continue;
            }
            // Once by its own metadata; where that is broken, once with what such libraries need.
            for companions in [None, Some(COMPANIONS)] {
                let mut command = self.uv(&["pip", "install", "--only-binary", ":all:", "--python"]);
                // Old packages import pkg_resources without asking for it, which environments had then anyway.
                command.arg(&own).arg(self.requirement(version)).arg("setuptools");
                if let Some(day) = self.until(version) {
                    command.args(["--exclude-newer", &day]);
                }
                if let Some(companions) = companions {
                    command
                        .arg("--no-deps")
                        .args(companions.iter().filter(|it| **it != self.arguments.library));
                }
                let installed = output(&mut command)?;
                if installed.status.success() {
                    return Ok(own);
                }
                reason = last_line(&installed);
            }
        }
        Err(self.not_installed(version, reason))
    }

    /// The day on which the next series of the library came out: later dependencies did not exist for this one.
    fn until(&self, version: &str) -> Option<String> {
        let library = release_history().library(&self.arguments.library)?;
        let version = version.parse().ok()?;
        library.after(&version).map(|release| release.date.to_string())
    }

    fn requirement(&self, version: &str) -> String {
        format!("{}=={version}", self.arguments.library)
    }

    fn uv(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.uv);
        command.args(["--no-config", "--quiet"]).args(arguments).env("UV_PYTHON_DOWNLOADS", "never");
        command
    }

    fn not_installed(&self, version: &str, reason: String) -> DefaultsError {
        let library = self.arguments.library.clone();
        DefaultsError::NotInstalled { library, version: version.to_owned(), reason }
    }
}

fn output(command: &mut Command) -> Result<Output, DefaultsError> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.output().map_err(|error| DefaultsError::Io { path: program, error })
}

fn io(path: &Path, error: std::io::Error) -> DefaultsError {
    DefaultsError::Io { path: path.display().to_string(), error }
}

fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or("it said nothing").trim().to_owned()
}
