//! A locked list of exact versions for one interpreter.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Interpreter;

/// Changes when environments must be built anew although their pins are the same.
const RECIPE: &str = "mlem-environment 1";

/// One distribution at one version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pin {
    /// Normalised name.
    pub name: String,
    /// Exact version; empty for one that comes from `url`.
    pub version: String,
    /// Where it comes from when not from an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `sha256:…` of each file that may be installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hashes: Vec<String>,
}

/// Exact versions of everything in an environment, and the interpreter it is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// What the environment is for: implementation, version, platform and path of the interpreter.
    pub python: String,
    /// Pins in alphabetical order.
    pub packages: Vec<Pin>,
    /// Distributions that were allowed to be built from source, since they publish no wheel and are pure Python.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub built_from_source: Vec<String>,
}

impl Lock {
    /// Reads what `uv pip compile --generate-hashes --no-annotate --no-header` printed.
    pub(crate) fn from_compiled(
        text: &str,
        interpreter: &Interpreter,
        built_from_source: Vec<String>,
    ) -> Self {
        let mut packages: Vec<Pin> = Vec::new();
        for line in text.lines() {
            let line = line.trim().trim_end_matches('\\').trim_end();
            if let Some(hash) = line.strip_prefix("--hash=") {
                if let Some(pin) = packages.last_mut() {
                    pin.hashes.push(hash.to_owned());
                }
                continue;
            }
            let line = line.split(" ;").next().unwrap_or(line).trim();
            let pin = |name: &str, version: &str, url: Option<&str>| Pin {
                name: crate::Distribution::new(name.split('[').next().unwrap_or(name)).as_str().to_owned(),
                version: version.to_owned(),
                url: url.map(str::to_owned),
                hashes: Vec::new(),
            };
            if let Some((name, url)) = line.split_once(" @ ") {
                packages.push(pin(name, "", Some(url)));
            } else if let Some((name, version)) = line.split_once("==") {
                packages.push(pin(name, version, None));
            }
        }
        packages.sort();
        Self { python: platform(interpreter), packages, built_from_source }
    }

    /// The version of a distribution, by its normalised name.
    pub fn version_of(&self, distribution: &str) -> Option<&str> {
        self.packages.iter().find(|pin| pin.name == distribution).map(|pin| pin.version.as_str())
    }

    /// The key of the environment: 40 hexadecimal digits over the interpreter, its platform and all pins. File hashes
    /// do not count, since a project may add a wheel to a release later.
    pub fn hash(&self) -> String {
        let mut text = format!("{RECIPE}\n{}\n", self.python);
        for pin in &self.packages {
            text.push_str(&pin_line(pin));
            text.push('\n');
        }
        let mut digits = hex_digest(&text);
        digits.truncate(40);
        digits
    }

    /// The requirements file from which the environment can be installed again by pip or uv, hashes included.
    pub fn to_requirements(&self) -> String {
        let mut text = String::new();
        for pin in &self.packages {
            text.push_str(&pin_line(pin));
            for hash in &pin.hashes {
                // Writing to a String cannot fail.
                let _ = write!(text, " \\\n    --hash={hash}");
            }
            text.push('\n');
        }
        text
    }
}

fn pin_line(pin: &Pin) -> String {
    match &pin.url {
        Some(url) => format!("{} @ {url}", pin.name),
        None => format!("{}=={}", pin.name, pin.version),
    }
}

/// What of an interpreter decides which files fit it.
pub(crate) fn platform(interpreter: &Interpreter) -> String {
    let path = interpreter.path.canonicalize().unwrap_or_else(|_| interpreter.path.clone());
    format!("{interpreter} {} {} {}", interpreter.system, interpreter.machine, path.display())
}

/// SHA-256 of a text in hexadecimal digits.
pub(crate) fn hex_digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut digits, byte| {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn interpreter() -> Interpreter {
        Interpreter {
            path: PathBuf::from("/nowhere/bin/python"),
            version: (3, 13, 0),
            implementation: "CPython".to_owned(),
            machine: "x86_64".to_owned(),
            system: "linux".to_owned(),
            virtual_environment: false,
            search_path: Vec::new(),
            standard_library: PathBuf::new(),
            packages: Default::default(),
        }
    }

    #[test]
    fn a_compiled_list_is_read_and_written_again() {
        let text = "six==1.17.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\nattrs==26.1.0 \\\n    --hash=sha256:cc\n";
        let lock = Lock::from_compiled(text, &interpreter(), Vec::new());
        assert_eq!(lock.version_of("six"), Some("1.17.0"));
        assert_eq!(
            lock.to_requirements(),
            "attrs==26.1.0 \\\n    --hash=sha256:cc\nsix==1.17.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
        );
        assert_eq!(lock.hash().len(), 40);
    }

    #[test]
    fn the_key_depends_on_pins_and_interpreter_but_not_on_file_hashes() {
        let one = Lock::from_compiled("six==1.17.0 \\\n  --hash=sha256:aa\n", &interpreter(), Vec::new());
        let same = Lock::from_compiled("six==1.17.0\n", &interpreter(), Vec::new());
        let other = Lock::from_compiled("six==1.16.0\n", &interpreter(), Vec::new());
        let elsewhere = Lock::from_compiled(
            "six==1.17.0\n",
            &Interpreter { version: (3, 12, 1), ..interpreter() },
            Vec::new(),
        );
        assert_eq!(one.hash(), same.hash());
        assert_ne!(one.hash(), other.hash());
        assert_ne!(one.hash(), elsewhere.hash());
    }
}
