//! The catalogue: every rule, read once, with an index for checking.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use thiserror::Error;
use toml::de::{DeArray, DeTable, DeValue, ValueDeserializer};

use crate::checks::CHECKS;
use crate::defaults;
use crate::index::Index;
use crate::place::Place;
use crate::rule::Rule;
use crate::schema::RawRule;

/// The rule files of `rules/`, one a library.
const FILES: &[(&str, &str)] = &[
    ("catboost.toml", include_str!("../rules/catboost.toml")),
    ("fastai.toml", include_str!("../rules/fastai.toml")),
    ("ipython.toml", include_str!("../rules/ipython.toml")),
    ("keras.toml", include_str!("../rules/keras.toml")),
    ("lightgbm.toml", include_str!("../rules/lightgbm.toml")),
    ("matplotlib.toml", include_str!("../rules/matplotlib.toml")),
    ("numpy.toml", include_str!("../rules/numpy.toml")),
    ("other.toml", include_str!("../rules/other.toml")),
    ("pandas.toml", include_str!("../rules/pandas.toml")),
    ("python.toml", include_str!("../rules/python.toml")),
    ("scikit-learn.toml", include_str!("../rules/scikit-learn.toml")),
    ("scipy.toml", include_str!("../rules/scipy.toml")),
    ("seaborn.toml", include_str!("../rules/seaborn.toml")),
    ("statsmodels.toml", include_str!("../rules/statsmodels.toml")),
    ("tensorflow.toml", include_str!("../rules/tensorflow.toml")),
    ("torch.toml", include_str!("../rules/torch.toml")),
    ("transformers.toml", include_str!("../rules/transformers.toml")),
    ("xgboost.toml", include_str!("../rules/xgboost.toml")),
];

/// Why a rule file was refused.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{file}{}: {}{reason}", place.map(|place| format!(":{place}")).unwrap_or_default(), rule.as_ref().map(|id| format!("rule {id}: ")).unwrap_or_default())]
pub struct CatalogueError {
    /// The rule file.
    pub file: String,
    /// Where in the file: the field, else the rule.
    pub place: Option<Place>,
    /// The rule, where known.
    pub rule: Option<String>,
    /// The field and what is wrong with it.
    pub reason: String,
}

/// All rules, with the index they are looked up by.
#[derive(Debug)]
pub struct Catalogue {
    rules: Vec<Rule>,
    /// How many of them are shipped with this crate; the rest was added.
    shipped: usize,
    pub(crate) index: Index,
}

static SHIPPED: LazyLock<(Catalogue, Vec<CatalogueError>)> = LazyLock::new(|| {
    let mut rules = Vec::new();
    let mut errors = Vec::new();
    for (file, text) in FILES {
        let (mut read, mut refused) = read_file(&format!("rules/{file}"), text);
        rules.append(&mut read);
        errors.append(&mut refused);
    }
    let (mut read, mut refused) = defaults::shipped();
    rules.append(&mut read);
    errors.append(&mut refused);
    let shipped = rules.len();
    errors.extend(duplicates(&rules, 0));
    (Catalogue::from_rules(rules, shipped), errors)
});

impl Catalogue {
    /// The rules shipped with this crate, parsed on first use.
    pub fn shipped() -> &'static Catalogue {
        &SHIPPED.0
    }

    /// What is wrong with the shipped files; a test keeps this empty.
    pub fn shipped_errors() -> &'static [CatalogueError] {
        &SHIPPED.1
    }

    /// Reads a catalogue from rule text.
    ///
    /// # Errors
    /// Everything that is wrong with it: file, place, rule, field and reason.
    pub fn parse(file: &str, text: &str) -> Result<Catalogue, Vec<CatalogueError>> {
        let (rules, mut errors) = read_file(file, text);
        errors.extend(duplicates(&rules, 0));
        if errors.is_empty() { Ok(Catalogue::from_rules(rules, 0)) } else { Err(errors) }
    }

    /// The shipped rules, then those of more files: names and texts.
    ///
    /// Findings refer to the rules that made them, so the catalogue stays in memory until the process ends; ask once
    /// for a set of files.
    ///
    /// # Errors
    /// Everything that is wrong with the files, ids and names that are taken included.
    pub fn extended(files: &[(String, String)]) -> Result<&'static Catalogue, Vec<CatalogueError>> {
        let mut rules = Vec::new();
        let mut errors = Vec::new();
        for (file, text) in FILES {
            let (mut read, _) = read_file(&format!("rules/{file}"), text);
            rules.append(&mut read);
        }
        rules.append(&mut defaults::shipped().0);
        let shipped = rules.len();
        for (file, text) in files {
            let (mut read, mut refused) = read_file(file, text);
            rules.append(&mut read);
            errors.append(&mut refused);
        }
        errors.extend(duplicates(&rules, shipped));
        if errors.is_empty() {
            Ok(Box::leak(Box::new(Catalogue::from_rules(rules, shipped))))
        } else {
            Err(errors)
        }
    }

    /// Reads a catalogue from the text of a table of changed defaults.
    ///
    /// # Errors
    /// As of [`Catalogue::parse`].
    pub fn parse_defaults(file: &str, text: &str) -> Result<Catalogue, Vec<CatalogueError>> {
        let (rules, mut errors) = defaults::read(file, text);
        errors.extend(duplicates(&rules, 0));
        if errors.is_empty() { Ok(Catalogue::from_rules(rules, 0)) } else { Err(errors) }
    }

    /// The rules, by file and then as written.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules that were added to the shipped ones.
    pub fn added(&self) -> &[Rule] {
        &self.rules[self.shipped..]
    }

    /// The rule with an identifier.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    fn from_rules(rules: Vec<Rule>, shipped: usize) -> Catalogue {
        let index = Index::new(&rules);
        Catalogue { rules, shipped, index }
    }
}

fn read_file(file: &str, text: &str) -> (Vec<Rule>, Vec<CatalogueError>) {
    let error = |at: Option<usize>, rule: Option<String>, reason: String| CatalogueError {
        file: file.to_string(),
        place: at.map(|at| Place::at(text, at)),
        rule,
        reason,
    };
    let table = match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(reason) => {
            let at = reason.span().map(|span| span.start);
            return (Vec::new(), vec![error(at, None, reason.message().to_string())]);
        }
    };
    let mut errors = Vec::new();
    let mut entries = DeArray::new();
    for (key, value) in table {
        if key.get_ref() != "rule" {
            let reason = format!("unknown top-level key `{}`", key.get_ref());
            errors.push(error(Some(key.span().start), None, reason));
            continue;
        }
        match value.into_inner() {
            DeValue::Array(array) => entries = array,
            _ => {
                let reason = "`rule` is not an array of tables ([[rule]])".to_string();
                errors.push(error(Some(key.span().start), None, reason));
            }
        }
    }
    let mut rules = Vec::new();
    // Rules are told their lines as they come, since counting from the top for each would be quadratic.
    let (mut line, mut counted) = (1, 0);
    for (position, entry) in entries.into_iter().enumerate() {
        let start = entry.span().start;
        line += text[counted..start].matches('\n').count();
        counted = start;
        let id = entry
            .get_ref()
            .get("id")
            .and_then(|id| id.get_ref().as_str())
            .map_or_else(|| format!("number {}", position + 1), str::to_string);
        match RawRule::deserialize(ValueDeserializer::from(entry)) {
            Ok(raw) => match Rule::compile(raw, file, line) {
                Ok(rule) => rules.push(rule),
                Err((id, reason)) => {
                    let at = field_offset(text, position, &reason).unwrap_or(start);
                    errors.push(error(Some(at), Some(id), reason));
                }
            },
            Err(reason) => {
                let at = reason.span().map_or(start, |span| span.start);
                errors.push(error(Some(at), Some(id), reason.message().to_string()));
            }
        }
    }
    (rules, errors)
}

/// Where the field that a reason begins with (`where.frame: …`) stands in the rule at a position. The text is parsed
/// once more, which only an error costs.
fn field_offset(text: &str, position: usize, reason: &str) -> Option<usize> {
    let (field, _) = reason.split_once(": ")?;
    let table = DeTable::parse(text).ok()?;
    let rules = table.get_ref().iter().find(|(key, _)| key.get_ref() == "rule")?.1.get_ref().as_array()?;
    key_offset(rules.get(position)?.get_ref().as_table()?, field)
}

/// Where a dotted field stands in a table; its last parts may be one key (`moved.sklearn.externals`).
fn key_offset(table: &DeTable<'_>, field: &str) -> Option<usize> {
    let key = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name);
    if let Some((key, _)) = key(field) {
        return Some(key.span().start);
    }
    let (head, rest) = field.split_once('.')?;
    let (key, value) = key(head)?;
    let inner = value.get_ref().as_table().and_then(|table| key_offset(table, rest));
    Some(inner.unwrap_or(key.span().start))
}

/// Ids and names that are used twice; the first `shipped` rules are our own.
fn duplicates(rules: &[Rule], shipped: usize) -> Vec<CatalogueError> {
    let mut seen: FxHashMap<&str, (usize, &Rule)> = FxHashMap::default();
    let mut errors = Vec::new();
    for check in CHECKS {
        for rule in rules.iter().filter(|rule| rule.id == check.id || rule.name == check.name) {
            errors.push(taken(rule, check.id, check.id, "mlem itself"));
        }
    }
    for (at, rule) in rules.iter().enumerate() {
        for key in [rule.id.as_str(), rule.name.as_str()] {
            if let Some((first_at, first)) = seen.insert(key, (at, rule)) {
                let whose = if first_at < shipped { "mlem's " } else { "" };
                errors.push(taken(rule, key, &first.id, &format!("{whose}{}", first.file)));
            }
        }
    }
    errors
}

fn taken(rule: &Rule, key: &str, first: &str, file: &str) -> CatalogueError {
    CatalogueError {
        file: rule.file.clone(),
        place: Some(Place { line: rule.line, column: 1 }),
        rule: Some(rule.id.clone()),
        reason: format!("`{key}` is also used by {first} in {file}; take another"),
    }
}
