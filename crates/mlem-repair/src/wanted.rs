//! Which rules may be used on which piece of a notebook.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mlem_configuration::Settings;
use mlem_rules::{Catalogue, Selection};

use crate::sources::{Place, Sources};

/// The rules, and for each piece of a notebook's source those that are wanted there. Helper modules follow the
/// configuration of the notebook that imports them, in which their own paths are looked up.
#[derive(Debug, Clone)]
pub struct Wanted {
    catalogue: &'static Catalogue,
    cells: Selection,
    modules: BTreeMap<PathBuf, Selection>,
}

impl Wanted {
    /// What `settings` want of `file`, and of the helper modules of `sources`, whose paths are relative to `root`.
    pub fn new(settings: &Settings, file: &Path, root: &Path, sources: &Sources) -> Wanted {
        let modules = sources.modules().iter().filter_map(|piece| match &piece.place {
            Place::Module(path) => Some((path.clone(), settings.selection(&root.join(path)).into_owned())),
            Place::Cell(_) => None,
        });
        Wanted {
            catalogue: settings.catalogue(),
            cells: settings.selection(file).into_owned(),
            modules: modules.collect(),
        }
    }

    /// Every rule, wanted or not.
    pub fn catalogue(&self) -> &'static Catalogue {
        self.catalogue
    }

    /// Whether the rule or check with this id is wanted at a place.
    pub fn has(&self, place: &Place, id: &str) -> bool {
        match place {
            Place::Cell(_) => self.cells.wants(id),
            Place::Module(path) => self.modules.get(path).is_none_or(|selection| selection.wants(id)),
        }
    }

    /// Every selection in words that differ where the selections do, for telling an earlier run's apart.
    pub(crate) fn key(&self) -> Vec<String> {
        let added = self.catalogue.added().iter().map(|rule| {
            format!("+{} {} {}", rule.id, rule.before, rule.after.as_deref().unwrap_or_default())
        });
        let cells = self.cells.unwanted().map(|id| format!("-{id}"));
        let modules = self.modules.iter().flat_map(|(path, selection)| {
            selection.unwanted().map(move |id| format!("-{id} {}", path.display()))
        });
        added.chain(cells).chain(modules).collect()
    }
}
