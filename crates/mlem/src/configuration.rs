//! From arguments to the configuration of each notebook.

use std::path::PathBuf;
use std::sync::Arc;

use mlem_configuration::{Configuration, Origin, Overrides, Settings, Versions};
use mlem_environment::newest_releases;
use mlem_rules::Pins;

use crate::arguments::{Configured, Selected, Target};
use crate::failure::Failure;
use crate::inputs::Inputs;

/// What the command line says about configuration files and rules.
pub(crate) fn overrides(configured: &Configured) -> Overrides {
    let origin = match &configured.config {
        Some(file) => Origin::File(file.clone()),
        None if configured.isolated => Origin::Isolated,
        None => Origin::Nearest,
    };
    Overrides { origin, rules: configured.folders.clone(), ..Overrides::default() }
}

/// The same with what it says about single rules.
pub(crate) fn selecting(selected: &Selected) -> Overrides {
    let select = selected.select.clone();
    Overrides { select, ignore: selected.ignore.clone(), ..overrides(&selected.configured) }
}

/// Configurations that judge against the newest releases.
pub(crate) fn against_releases(overrides: Overrides) -> Configuration {
    let newest = newest_releases();
    let releases = Pins {
        python: newest.python(),
        packages: newest.iter().map(|(name, version)| (name.to_owned(), version.clone())).collect(),
    };
    Configuration::against_releases(releases, overrides)
}

/// Configurations that judge against an interpreter, or against releases and the versions that are written down.
pub(crate) fn against(target: &Target, mut overrides: Overrides) -> Result<Configuration, Failure> {
    if let Some(python) = &target.python {
        let installed = mlem_repair::pins(&mlem_environment::existing(python)?);
        return Ok(Configuration::against_installed(installed, overrides));
    }
    let mut versions = Versions::default();
    for wish in &target.target {
        versions.add_argument(wish).map_err(|reason| Failure::Usage(format!("--target {wish}: {reason}")))?;
    }
    overrides.versions = versions;
    Ok(against_releases(overrides))
}

/// A notebook or module with its settings.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) file: PathBuf,
    pub(crate) settings: Arc<Settings>,
}

/// The inputs that no configuration excludes. What was named itself is excluded only on request.
pub(crate) fn configure(
    inputs: &Inputs,
    named: &[PathBuf],
    selected: &Selected,
    configuration: &mut Configuration,
) -> Result<Vec<Chosen>, Failure> {
    let mut chosen = Vec::with_capacity(inputs.files.len());
    for file in &inputs.files {
        let settings = configuration.settings(file)?;
        let may_be_excluded = selected.force_exclude || !named.contains(file);
        if !(may_be_excluded && settings.excludes(file)) {
            chosen.push(Chosen { file: file.clone(), settings });
        }
    }
    Ok(chosen)
}
