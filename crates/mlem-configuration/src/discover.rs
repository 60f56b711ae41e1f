//! Finds the configuration file of each notebook, and reads each once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mlem_rules::{Catalogue, Layer, Pins, Selection, Selector};

use crate::error::ConfigurationError;
use crate::file::{self, OWN, SHARED, Text, Written};
use crate::globs::Globs;
use crate::rule_files;
use crate::settings::{Settings, folder_of};
use crate::target::Versions;

/// Which configuration file counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Origin {
    /// The nearest to each notebook, upwards: `mlem.toml`, or `pyproject.toml` with a `[tool.mlem]`.
    #[default]
    Nearest,
    /// This one, for every notebook. Paths in it are relative to the current folder.
    File(PathBuf),
    /// None.
    Isolated,
}

/// What the command line says; it has the last word.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// Which configuration file counts.
    pub origin: Origin,
    /// The only rules that are wanted.
    pub select: Option<Vec<String>>,
    /// Rules that are not wanted.
    pub ignore: Vec<String>,
    /// Versions to judge against.
    pub versions: Versions,
    /// More folders of rules.
    pub rules: Vec<PathBuf>,
    /// Whether unsafe fixes are wanted.
    pub include_unsafe: Option<bool>,
}

/// The configurations of many notebooks.
#[derive(Debug)]
pub struct Configuration {
    overrides: Overrides,
    /// What is judged against where no version is written down.
    target: Pins,
    /// The target is what an interpreter has, whatever versions are written down.
    is_installed: bool,
    /// By the folder of a notebook, links followed.
    by_folder: HashMap<PathBuf, Arc<Settings>>,
    /// By the parent of a notebook's path as it was named, so that the file system is asked once a folder.
    by_parent: HashMap<PathBuf, Arc<Settings>>,
    /// Catalogues by their folders of rules.
    catalogues: HashMap<Vec<PathBuf>, &'static Catalogue>,
}

impl Configuration {
    /// Judges against `releases`, but for the versions that are written down.
    pub fn against_releases(releases: Pins, overrides: Overrides) -> Configuration {
        Configuration::new(releases, false, overrides)
    }

    /// Judges against what an interpreter has installed.
    pub fn against_installed(installed: Pins, overrides: Overrides) -> Configuration {
        Configuration::new(installed, true, overrides)
    }

    fn new(target: Pins, is_installed: bool, overrides: Overrides) -> Configuration {
        Configuration {
            overrides,
            target,
            is_installed,
            by_folder: HashMap::new(),
            by_parent: HashMap::new(),
            catalogues: HashMap::new(),
        }
    }

    /// The settings for a notebook or module.
    ///
    /// # Errors
    /// [`ConfigurationError`], which concerns every file below the same folder.
    pub fn settings(&mut self, file: &Path) -> Result<Arc<Settings>, ConfigurationError> {
        let parent = folder_of(file);
        if let Some(known) = self.by_parent.get(parent) {
            return Ok(Arc::clone(known));
        }
        let settings = match self.overrides.origin.clone() {
            Origin::Nearest => self.nearest(parent)?,
            // One for all folders: kept under the empty path, which no folder has.
            origin => match self.by_folder.get(Path::new("")) {
                Some(known) => Arc::clone(known),
                None => {
                    let settings = Arc::new(self.of_origin(&origin)?);
                    self.by_folder.insert(PathBuf::new(), Arc::clone(&settings));
                    settings
                }
            },
        };
        self.by_parent.insert(parent.to_owned(), Arc::clone(&settings));
        Ok(settings)
    }

    fn of_origin(&mut self, origin: &Origin) -> Result<Settings, ConfigurationError> {
        let Origin::File(path) = origin else {
            return self.build(None);
        };
        let here = std::fs::canonicalize(".").unwrap_or_else(|_| PathBuf::from("."));
        let written = file::read(path)?.ok_or_else(|| ConfigurationError::Unreadable {
            path: path.display().to_string(),
            reason: "holds no table [tool.mlem]".to_owned(),
        })?;
        self.build(Some((path, &here, written)))
    }

    fn nearest(&mut self, parent: &Path) -> Result<Arc<Settings>, ConfigurationError> {
        let folder = std::fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
        let mut passed = Vec::new();
        let mut found = None;
        for ancestor in folder.ancestors() {
            if let Some(known) = self.by_folder.get(ancestor) {
                found = Some(Arc::clone(known));
                break;
            }
            passed.push(ancestor.to_owned());
            if let Some((path, written)) = in_folder(ancestor)? {
                found = Some(Arc::new(self.build(Some((&path, ancestor, written)))?));
                break;
            }
        }
        let settings = match found {
            Some(settings) => settings,
            None => Arc::new(self.build(None)?),
        };
        for folder in passed {
            self.by_folder.insert(folder, Arc::clone(&settings));
        }
        Ok(settings)
    }

    /// Puts the command line on top of a file: its path, the folder its paths are relative to, what it says.
    fn build(&mut self, file: Option<(&Path, &Path, Written)>) -> Result<Settings, ConfigurationError> {
        let (path, folder, written) = match &file {
            Some((path, folder, written)) => (*path, *folder, written),
            None => (Path::new(""), Path::new(""), &Written::default()),
        };
        let invalid =
            |place, reason| ConfigurationError::Invalid { file: path.display().to_string(), place, reason };
        let mut folders: Vec<PathBuf> = Vec::new();
        for (place, text) in &written.rules {
            let rules = folder.join(text);
            if !rules.is_dir() {
                return Err(invalid(*place, format!("`rules`: there is no folder {}", rules.display())));
            }
            folders.push(rules);
        }
        folders.extend(self.overrides.rules.iter().cloned());
        let catalogue = self.catalogue(folders)?;
        let selectors = |texts: &[Text]| {
            let selector = |(place, text): &Text| {
                catalogue.selector(text).map_err(|unknown| invalid(*place, unknown.to_string()))
            };
            texts.iter().map(selector).collect::<Result<Vec<Selector>, _>>()
        };
        let globs = |globs: &[&Text]| {
            Globs::new(folder, globs.iter().map(|(_, text)| text.as_str())).map_err(|error| {
                let wrong = globs.iter().find(|(_, text)| error.glob() == Some(text.as_str()));
                let place =
                    wrong.or(globs.first()).map_or(mlem_rules::Place { line: 1, column: 1 }, |glob| glob.0);
                invalid(place, format!("`{}` is no glob: {}", error.glob().unwrap_or_default(), error.kind()))
            })
        };
        let own = Layer {
            select: written.select.as_deref().map(&selectors).transpose()?,
            ignore: selectors(&written.ignore)?,
        };
        let per_file_ignores = written
            .per_file_ignores
            .iter()
            .map(|(glob, rules)| Ok((globs(&[glob])?, selectors(rules)?)))
            .collect::<Result<_, ConfigurationError>>()?;
        let typed = |option: &str, texts: &[String]| {
            let selector = |text: &String| {
                catalogue.selector(text).map_err(|unknown| ConfigurationError::Argument {
                    argument: format!("{option} {text}"),
                    reason: unknown.to_string(),
                })
            };
            texts.iter().map(selector).collect::<Result<Vec<Selector>, _>>()
        };
        let overrides = &self.overrides;
        let typed = Layer {
            select: overrides.select.as_deref().map(|texts| typed("--select", texts)).transpose()?,
            ignore: typed("--ignore", &overrides.ignore)?,
        };
        let mut target = self.target.clone();
        if !self.is_installed {
            written.target.apply(&mut target);
            overrides.versions.apply(&mut target);
        }
        Ok(Settings {
            catalogue,
            target,
            selection: Selection::of(catalogue, &[own, typed]),
            per_file_ignores,
            exclude: match &written.exclude[..] {
                [] => None,
                texts => Some(globs(&texts.iter().collect::<Vec<_>>())?),
            },
            include_unsafe: overrides.include_unsafe.or(written.include_unsafe).unwrap_or(false),
        })
    }

    /// The shipped rules and those of `folders`, read once for each set of folders.
    fn catalogue(&mut self, folders: Vec<PathBuf>) -> Result<&'static Catalogue, ConfigurationError> {
        let mut distinct: Vec<PathBuf> = Vec::new();
        let mut real: Vec<PathBuf> = Vec::new();
        for folder in folders {
            let canonical = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
            if !real.contains(&canonical) {
                real.push(canonical);
                distinct.push(folder);
            }
        }
        if distinct.is_empty() {
            return Ok(Catalogue::shipped());
        }
        if let Some(known) = self.catalogues.get(&real) {
            return Ok(known);
        }
        let files = rule_files::read(&distinct)?;
        let catalogue = Catalogue::extended(&files).map_err(ConfigurationError::Rules)?;
        self.catalogues.insert(real, catalogue);
        Ok(catalogue)
    }
}

/// The configuration file in a folder; ours counts before the one that tools share.
fn in_folder(folder: &Path) -> Result<Option<(PathBuf, Written)>, ConfigurationError> {
    for name in [OWN, SHARED] {
        let path = folder.join(name);
        if path.is_file()
            && let Some(written) = file::read(&path)?
        {
            return Ok(Some((path, written)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_file_is_read_once_for_everything_below_it() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let file = place.path().join("mlem.toml");
        std::fs::write(&file, "ignore = [\"PD\"]\n").unwrap();
        let pins = Pins { python: (3, 13), packages: BTreeMap::new() };
        let mut configuration = Configuration::against_releases(pins, Overrides::default());
        let first = configuration.settings(&deep.join("x.ipynb")).unwrap();
        assert!(!first.selection(&deep.join("x.ipynb")).wants("PD001"));
        // Whoever read it again would find nothing.
        std::fs::remove_file(file).unwrap();
        for other in [deep.join("y.ipynb"), place.path().join("a/z.ipynb"), place.path().join("z.py")] {
            assert!(Arc::ptr_eq(&first, &configuration.settings(&other).unwrap()), "{}", other.display());
        }
    }

    #[test]
    fn folders_of_rules_are_read_once_for_all_that_name_them() {
        let place = tempfile::tempdir().unwrap();
        let rules = place.path().join("rules");
        std::fs::create_dir_all(&rules).unwrap();
        std::fs::write(rules.join("none.toml"), "").unwrap();
        let mut catalogues = Vec::new();
        let pins = Pins { python: (3, 13), packages: BTreeMap::new() };
        let mut configuration = Configuration::against_releases(pins, Overrides::default());
        for name in ["a", "b"] {
            let folder = place.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("mlem.toml"), "rules = [\"../rules\"]\n").unwrap();
            catalogues.push(configuration.settings(&folder.join("x.ipynb")).unwrap().catalogue());
        }
        assert!(std::ptr::eq(catalogues[0], catalogues[1]));
    }
}
