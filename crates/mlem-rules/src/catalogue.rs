//! The catalogue: every rule, read once, with an index for checking.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::index::Index;
use crate::rule::Rule;
use crate::schema::RawRule;

/// The rule files, one a library.
const FILES: &[(&str, &str)] = &[
    ("catboost.toml", include_str!("../rules/catboost.toml")),
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
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{file}: {}{reason}", rule.as_ref().map(|id| format!("rule {id}: ")).unwrap_or_default())]
pub struct CatalogueError {
    /// The rule file.
    pub file: String,
    /// The rule, where known.
    pub rule: Option<String>,
    /// The field and what is wrong with it.
    pub reason: String,
}

/// All rules, with the index they are looked up by.
#[derive(Debug)]
pub struct Catalogue {
    rules: Vec<Rule>,
    pub(crate) index: Index,
}

static SHIPPED: LazyLock<(Catalogue, Vec<CatalogueError>)> = LazyLock::new(|| {
    let mut rules = Vec::new();
    let mut errors = Vec::new();
    for (file, text) in FILES {
        let (mut read, mut refused) = read_file(file, text);
        rules.append(&mut read);
        errors.append(&mut refused);
    }
    errors.extend(duplicates(&rules));
    (Catalogue::from_rules(rules), errors)
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
    /// Everything that is wrong with it: file, rule, field and reason.
    pub fn parse(file: &'static str, text: &str) -> Result<Catalogue, Vec<CatalogueError>> {
        let (rules, mut errors) = read_file(file, text);
        errors.extend(duplicates(&rules));
        if errors.is_empty() { Ok(Catalogue::from_rules(rules)) } else { Err(errors) }
    }

    /// The rules, by file and then as written.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule with an identifier.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    fn from_rules(rules: Vec<Rule>) -> Catalogue {
        let index = Index::new(&rules);
        Catalogue { rules, index }
    }
}

fn read_file(file: &'static str, text: &str) -> (Vec<Rule>, Vec<CatalogueError>) {
    let error =
        |rule: Option<String>, reason: String| CatalogueError { file: file.to_string(), rule, reason };
    let mut table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(reason) => return (Vec::new(), vec![error(None, reason.to_string())]),
    };
    let entries = match table.remove("rule") {
        Some(toml::Value::Array(entries)) => entries,
        Some(_) => {
            let reason = "`rule` is not an array of tables ([[rule]])".to_string();
            return (Vec::new(), vec![error(None, reason)]);
        }
        None => Vec::new(),
    };
    let mut rules = Vec::new();
    let mut errors: Vec<_> =
        table.keys().map(|key| error(None, format!("unknown top-level key `{key}`"))).collect();
    for (position, entry) in entries.into_iter().enumerate() {
        let id = entry
            .get("id")
            .and_then(toml::Value::as_str)
            .map_or_else(|| format!("number {}", position + 1), str::to_string);
        let compiled = entry
            .try_into::<RawRule>()
            .map_err(|reason| (id, reason.message().to_string()))
            .and_then(|raw| Rule::compile(raw, file));
        match compiled {
            Ok(rule) => rules.push(rule),
            Err((id, reason)) => errors.push(error(Some(id), reason)),
        }
    }
    (rules, errors)
}

fn duplicates(rules: &[Rule]) -> Vec<CatalogueError> {
    let mut seen: FxHashMap<&str, &Rule> = FxHashMap::default();
    let mut errors = Vec::new();
    for rule in rules {
        for key in [rule.id.as_str(), rule.name.as_str()] {
            if let Some(first) = seen.insert(key, rule) {
                errors.push(CatalogueError {
                    file: rule.file.to_string(),
                    rule: Some(rule.id.clone()),
                    reason: format!("`{key}` is also used by {} in {}", first.id, first.file),
                });
            }
        }
    }
    errors
}
