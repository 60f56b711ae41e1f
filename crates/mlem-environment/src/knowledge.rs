//! The reviewed tables: which distribution offers an import, what a call needs, what the standard library holds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::Distribution;

/// What is known about one import name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The preferred distribution; `None` where none on the package index offers the import.
    pub distribution: Option<Distribution>,
    /// Other distributions that offer the same import.
    pub alternatives: Vec<Distribution>,
    /// A version constraint without which the import is gone, or `""`.
    pub specifier: String,
    /// What a person should know.
    pub note: Option<String>,
}

/// The first and the last CPython release that has something.
type Span = ((u8, u8), (u8, u8));

/// Something that is needed without being imported.
#[derive(Debug)]
pub(crate) struct Implied {
    pub(crate) cause: Cause,
    pub(crate) needs: Vec<Distribution>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A dotted import begins so.
    Import(String),
    /// A qualified name is used, with a string literal that ends so if one is given.
    Call(String, Option<String>),
    /// An attribute is used and the notebook imports this top-level module.
    Method(String, String),
}

/// All tables of this crate, read once.
pub struct Knowledge {
    offers: FxHashMap<String, Offer>,
    /// Keys are `same` names normalised, so that `Quandl` and `quandl` are one.
    same: FxHashSet<Distribution>,
    part_of: FxHashMap<String, Distribution>,
    platform: FxHashSet<String>,
    sdist: FxHashSet<Distribution>,
    conda: FxHashMap<String, Option<Distribution>>,
    magics: FxHashMap<String, Vec<Distribution>>,
    extensions: FxHashMap<String, Vec<Distribution>>,
    /// Import names that people write where a distribution belongs (`pip install sklearn`), by normal form.
    misnamed: FxHashMap<Distribution, Distribution>,
    /// Alternative to preferred distribution.
    preferred: FxHashMap<Distribution, Distribution>,
    standard: FxHashMap<&'static str, Span>,
    pub(crate) implied: Vec<Implied>,
}

#[derive(Deserialize)]
struct Distributions {
    same: Vec<String>,
    platform: Vec<String>,
    sdist: Vec<String>,
    conda: BTreeMap<String, String>,
    part_of: BTreeMap<String, String>,
    import: BTreeMap<String, ImportRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportRow {
    distribution: String,
    #[serde(default)]
    alternatives: Vec<String>,
    #[serde(default)]
    specifier: String,
    note: Option<String>,
    #[serde(rename = "source")]
    _source: Option<String>,
}

#[derive(Deserialize)]
struct Magics {
    magic: BTreeMap<String, Vec<String>>,
    extension: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct ImpliedTable {
    implied: Vec<ImpliedRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImpliedRow {
    import: Option<OneOrMore>,
    call: Option<OneOrMore>,
    method: Option<OneOrMore>,
    with: Option<String>,
    literal: Option<String>,
    needs: Vec<String>,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::More(more) => more,
        }
    }
}

impl Knowledge {
    /// The tables as shipped.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Knowledge> = LazyLock::new(Knowledge::read);
        &SHIPPED
    }

    fn read() -> Self {
        // The tables are part of the program; tests read every row of them.
        let table: Distributions =
            toml::from_str(include_str!("../data/distributions.toml")).expect("distributions.toml is valid");
        let implied: ImpliedTable =
            toml::from_str(include_str!("../data/implied.toml")).expect("implied.toml is valid");
        let magics: Magics =
            toml::from_str(include_str!("../data/magics.toml")).expect("magics.toml is valid");
        let named = |name: &str| (!name.is_empty()).then(|| Distribution::new(name));
        let all = |names: Vec<String>| names.iter().map(|name| Distribution::new(name)).collect::<Vec<_>>();
        let mut misnamed = FxHashMap::default();
        let mut preferred = FxHashMap::default();
        for (import, row) in &table.import {
            if let Some(distribution) = named(&row.distribution) {
                for alternative in &row.alternatives {
                    preferred.insert(Distribution::new(alternative), distribution.clone());
                }
                if Distribution::new(import) != distribution {
                    misnamed.insert(Distribution::new(import), distribution);
                }
            }
        }
        let offers = table
            .import
            .into_iter()
            .map(|(import, row)| {
                let offer = Offer {
                    distribution: named(&row.distribution),
                    alternatives: row.alternatives.iter().map(|name| Distribution::new(name)).collect(),
                    specifier: row.specifier,
                    note: row.note,
                };
                (import, offer)
            })
            .collect();
        Self {
            offers,
            same: table.same.iter().map(|name| Distribution::new(name)).collect(),
            part_of: table
                .part_of
                .into_iter()
                .map(|(import, name)| (import, Distribution::new(&name)))
                .collect(),
            platform: table.platform.into_iter().collect(),
            sdist: table.sdist.iter().map(|name| Distribution::new(name)).collect(),
            conda: table.conda.into_iter().map(|(name, here)| (name, named(&here))).collect(),
            magics: magics.magic.into_iter().map(|(name, needs)| (name, all(needs))).collect(),
            extensions: magics.extension.into_iter().map(|(name, needs)| (name, all(needs))).collect(),
            misnamed,
            preferred,
            standard: standard_library(include_str!("../data/stdlib.txt")),
            implied: implied.implied.into_iter().flat_map(causes).collect(),
        }
    }

    /// What offers a dotted import, e.g. `sklearn.svm` or `google.cloud.storage`: the longest dotted name that a table
    /// holds decides. `None` when no table holds it.
    pub fn offer(&self, import: &str) -> Option<Offer> {
        if import.contains('.') {
            let mut name = import;
            loop {
                if let Some(distribution) = self.part_of.get(name) {
                    return Some(Offer {
                        distribution: Some(distribution.clone()),
                        alternatives: Vec::new(),
                        specifier: String::new(),
                        note: None,
                    });
                }
                match name.rsplit_once('.') {
                    Some((front, _)) => name = front,
                    None => break,
                }
            }
        }
        let top = top_level(import);
        if let Some(offer) = self.offers.get(top) {
            return Some(offer.clone());
        }
        let distribution = Distribution::new(top);
        self.same.contains(&distribution).then(|| Offer {
            distribution: Some(distribution),
            alternatives: Vec::new(),
            specifier: String::new(),
            note: None,
        })
    }

    /// Whether an import is one of a hosted service's own modules, which no package index has.
    pub fn is_platform_only(&self, import: &str) -> bool {
        let mut name = import;
        loop {
            if self.platform.contains(name) {
                return true;
            }
            match name.rsplit_once('.') {
                Some((front, _)) => name = front,
                None => return false,
            }
        }
    }

    /// The first and the last CPython release known here (2.7, 3.6 to 3.13) whose standard library holds a module.
    pub fn standard_library(&self, import: &str) -> Option<((u8, u8), (u8, u8))> {
        self.standard.get(top_level(import)).copied()
    }

    /// The distribution that stands for one named in a `pip install` line: the preferred one of several with the same
    /// import, or the right one where the import's name was written.
    pub fn preferred(&self, distribution: &Distribution) -> Option<&Distribution> {
        self.preferred.get(distribution).or_else(|| self.misnamed.get(distribution))
    }

    /// The package index's name of a conda package: `None` when there is none, itself when nothing is known.
    pub fn from_conda(&self, name: &str) -> Option<Distribution> {
        match self.conda.get(name) {
            Some(known) => known.clone(),
            None => Some(Distribution::new(name)),
        }
    }

    /// What a line or cell magic needs, by its name without `%`.
    pub(crate) fn magic(&self, name: &str) -> &[Distribution] {
        self.magics.get(name).map_or(&[], Vec::as_slice)
    }

    /// What the IPython extension that `%load_ext` names needs; `None` for an extension that no table holds.
    pub(crate) fn extension(&self, name: &str) -> Option<&[Distribution]> {
        self.extensions.get(name).map(Vec::as_slice)
    }

    /// Whether a distribution publishes no wheel and is pure Python, so that building it needs no compiler.
    pub fn may_be_built(&self, distribution: &Distribution) -> bool {
        self.sdist.contains(distribution)
    }
}

/// The first part of a dotted name.
pub(crate) fn top_level(import: &str) -> &str {
    import.split('.').next().unwrap_or(import)
}

fn causes(row: ImpliedRow) -> Vec<Implied> {
    let ImpliedRow { import, call, method, with, literal, needs, .. } = row;
    let with = with.unwrap_or_default();
    let imports = import.map(OneOrMore::into_vec).unwrap_or_default().into_iter().map(Cause::Import);
    let calls = call
        .map(OneOrMore::into_vec)
        .unwrap_or_default()
        .into_iter()
        .map(|name| Cause::Call(name, literal.clone()));
    let methods = method
        .map(OneOrMore::into_vec)
        .unwrap_or_default()
        .into_iter()
        .map(|name| Cause::Method(name, with.clone()));
    imports
        .chain(calls)
        .chain(methods)
        .map(|cause| Implied { cause, needs: needs.iter().map(|name| Distribution::new(name)).collect() })
        .collect()
}

fn standard_library(text: &'static str) -> FxHashMap<&'static str, Span> {
    let version = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, (version(words.next()?)?, version(words.next()?)?)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(import: &str) -> String {
        match Knowledge::shipped().offer(import) {
            Some(offer) => offer.distribution.map_or("none".to_owned(), |name| name.to_string()),
            None => "unknown".to_owned(),
        }
    }

    #[test]
    fn imports_lead_to_one_distribution() {
        for (import, expected) in [
            ("numpy", "numpy"),
            ("sklearn.externals", "scikit-learn"),
            ("sklearn.externals.joblib", "joblib"),
            ("google.cloud.storage", "google-cloud-storage"),
            ("google.cloud.storage.blob", "google-cloud-storage"),
            ("google.cloud.nothing", "unknown"),
            ("mpl_toolkits.mplot3d", "matplotlib"),
            ("mpl_toolkits.basemap", "basemap"),
            ("Quandl", "quandl"),
            ("apex", "none"),
            ("no_such_module", "unknown"),
        ] {
            assert_eq!(offered(import), expected, "{import}");
        }
    }

    #[test]
    fn the_tables_are_consistent() {
        let knowledge = Knowledge::shipped();
        for (import, offer) in &knowledge.offers {
            assert!(!knowledge.same.contains(&Distribution::new(import)), "{import} stands twice");
            assert!(
                knowledge.standard_library(import).is_none() || import == "user",
                "{import} is standard library"
            );
            if !offer.specifier.is_empty() {
                let text = format!("x{}", offer.specifier);
                assert!(crate::Requirement::parse(&text).is_ok(), "{import}: {}", offer.specifier);
            }
        }
        assert!(knowledge.same.len() + knowledge.offers.len() > 300);
        for implied in &knowledge.implied {
            assert!(!implied.needs.is_empty());
            if let Cause::Method(_, with) = &implied.cause {
                assert!(!with.is_empty(), "{:?}", implied.cause);
            }
        }
    }

    #[test]
    fn the_standard_library_of_each_release_is_known() {
        let knowledge = Knowledge::shipped();
        assert_eq!(knowledge.standard_library("os.path"), Some(((2, 7), (3, 13))));
        assert_eq!(knowledge.standard_library("urllib2"), Some(((2, 7), (2, 7))));
        assert_eq!(knowledge.standard_library("distutils"), Some(((2, 7), (3, 11))));
        assert_eq!(knowledge.standard_library("tomllib"), Some(((3, 11), (3, 13))));
        for name in ["cPickle", "StringIO", "ConfigParser", "__builtin__", "Tkinter", "urlparse"] {
            assert!(knowledge.standard_library(name).is_some(), "{name}");
        }
        assert_eq!(knowledge.standard_library("numpy"), None);
    }

    #[test]
    fn hosted_services_modules_are_known() {
        assert!(Knowledge::shipped().is_platform_only("kaggle_datasets"));
        assert!(Knowledge::shipped().is_platform_only("google.colab.drive"));
        assert!(!Knowledge::shipped().is_platform_only("google.cloud"));
    }
}
