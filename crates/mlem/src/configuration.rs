//! From arguments to the configuration of each notebook.

use mlem_configuration::{Configuration, Origin, Overrides};
use mlem_environment::newest_releases;
use mlem_rules::Pins;

use crate::arguments::Configured;

/// What the command line says about configuration files and rules.
pub(crate) fn overrides(configured: &Configured) -> Overrides {
    let origin = match &configured.config {
        Some(file) => Origin::File(file.clone()),
        None if configured.isolated => Origin::Isolated,
        None => Origin::Nearest,
    };
    Overrides { origin, rules: configured.folders.clone(), ..Overrides::default() }
}

/// Configurations that judge against the newest releases.
pub(crate) fn against_releases(overrides: Overrides) -> Configuration {
    Configuration::against_releases(releases(), overrides)
}

/// The newest releases that this version of `mlem` knows.
pub(crate) fn releases() -> Pins {
    let newest = newest_releases();
    Pins {
        python: newest.python(),
        packages: newest.iter().map(|(name, version)| (name.to_owned(), version.clone())).collect(),
    }
}
