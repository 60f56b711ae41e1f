//! Versions to judge against, as they are written.

use mlem_environment::Distribution;
use mlem_rules::{Pins, Version};

/// Versions of distributions and of Python that someone wrote down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Versions {
    python: Option<(u8, u8)>,
    packages: Vec<(String, Version)>,
}

impl Versions {
    /// Reads `NAME==VERSION` and adds it.
    ///
    /// # Errors
    /// What is wanted instead.
    pub fn add_argument(&mut self, text: &str) -> Result<(), String> {
        let wanted = || "NAME==VERSION is wanted, such as numpy==1.26 or python==3.11".to_owned();
        let (name, version) = text.split_once("==").ok_or_else(wanted)?;
        self.add(name.trim(), version.trim())
    }

    /// Adds a version; of `python` the first two numbers count.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn add(&mut self, name: &str, version: &str) -> Result<(), String> {
        let parsed: Version = version.parse().map_err(|_| {
            format!("`{version}` is not a version; one such as \"1.26\" or \"2.0.3\" is wanted")
        })?;
        let distribution = Distribution::new(name);
        if distribution.as_str().is_empty() {
            return Err("the name of a distribution is missing".to_owned());
        }
        if distribution.as_str() != "python" {
            self.packages.push((distribution.as_str().to_owned(), parsed));
            return Ok(());
        }
        let part = |at: usize| parsed.release().get(at).and_then(|number| u8::try_from(*number).ok());
        match (part(0), part(1)) {
            (Some(major), Some(minor)) => self.python = Some((major, minor)),
            _ => {
                return Err(format!(
                    "`{version}` is not a version of Python; one such as \"3.11\" is wanted"
                ));
            }
        }
        Ok(())
    }

    /// Puts these versions in the place of what `pins` holds.
    pub(crate) fn apply(&self, pins: &mut Pins) {
        if let Some(python) = self.python {
            pins.python = python;
        }
        pins.packages.extend(self.packages.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_replace_what_was_there() {
        let mut pins =
            Pins { python: (3, 13), packages: [("numpy".to_owned(), "2.3".parse().unwrap())].into() };
        let mut versions = Versions::default();
        versions.add_argument("Scikit_Learn == 1.2").unwrap();
        versions.add("python", "3.9.1").unwrap();
        versions.add("numpy", "1.26").unwrap();
        versions.apply(&mut pins);
        assert_eq!(pins.python, (3, 9));
        let found: Vec<String> =
            pins.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
        assert_eq!(found, ["numpy 1.26", "scikit-learn 1.2"]);
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["numpy", "numpy==", "numpy==new", "==1.0", "python==3", "python==999.1"] {
            assert!(Versions::default().add_argument(text).is_err(), "{text}");
        }
    }
}
