//! What one configuration amounts to.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use mlem_rules::{Catalogue, Layer, Pins, Selection, Selector};

use crate::globs::Globs;

/// Rules, versions and files: what a configuration file and the command line together want.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(crate) catalogue: &'static Catalogue,
    pub(crate) target: Pins,
    pub(crate) selection: Selection,
    /// Rules ignored in the files that globs match.
    pub(crate) per_file_ignores: Vec<(Globs, Vec<Selector>)>,
    pub(crate) exclude: Option<Globs>,
    pub(crate) include_unsafe: bool,
}

impl Settings {
    /// The shipped rules, all of them, in every file.
    pub fn of_target(target: Pins) -> Settings {
        let catalogue = Catalogue::shipped();
        Settings {
            catalogue,
            target,
            selection: Selection::of(catalogue, &[Layer::default()]),
            per_file_ignores: Vec::new(),
            exclude: None,
            include_unsafe: false,
        }
    }

    /// The shipped rules and the project's own.
    pub fn catalogue(&self) -> &'static Catalogue {
        self.catalogue
    }

    /// The versions to judge against.
    pub fn target(&self) -> &Pins {
        &self.target
    }

    /// Whether unsafe fixes are wanted without being asked for each time.
    pub fn include_unsafe(&self) -> bool {
        self.include_unsafe
    }

    /// The rules that are wanted in a file.
    pub fn selection(&self, file: &Path) -> Cow<'_, Selection> {
        if self.per_file_ignores.is_empty() {
            return Cow::Borrowed(&self.selection);
        }
        let file = whole(file);
        let ignored = self.per_file_ignores.iter().filter(|(globs, _)| globs.matches(&file));
        let ignored: Vec<&Selector> = ignored.flat_map(|(_, selectors)| selectors).collect();
        if ignored.is_empty() {
            return Cow::Borrowed(&self.selection);
        }
        Cow::Owned(self.selection.without(self.catalogue, ignored.into_iter()))
    }

    /// Whether a file is to be passed over.
    pub fn excludes(&self, file: &Path) -> bool {
        self.exclude.as_ref().is_some_and(|globs| globs.matches(&whole(file)))
    }
}

/// The file's path from the root, links in its folder followed: as the folders of configuration files are named.
pub(crate) fn whole(file: &Path) -> PathBuf {
    let folder = folder_of(file);
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    file.file_name().map_or(folder.clone(), |name| folder.join(name))
}

/// The folder that a file lies in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
