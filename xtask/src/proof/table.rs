//! The table of outcomes: `docs/rules-proof.json`, which tests read, and `docs/rules-proof.md`, which people read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use mlem_rules::{Catalogue, Demonstration, Rule};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::environments::{Environment, short_digest};
use super::judge::Outcome;
use super::review::Reviews;

/// What a failing test of the committed table says to do.
#[cfg(test)]
const REGENERATE: &str = "run `cargo run -p xtask -- prove-rules --update`";

/// Why the table cannot be read or written.
#[derive(Debug, Error)]
pub(crate) enum TableFileError {
    /// It cannot be read or written.
    #[error("{path}: {1}", path = .0.display())]
    File(PathBuf, std::io::Error),
    /// It is not what this program writes.
    #[error("{path}: {1}", path = .0.display())]
    Syntax(PathBuf, serde_json::Error),
}

/// All outcomes, with what they were found in.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// Day of the last run, `YYYY-MM-DD`.
    pub(crate) date: String,
    /// Digests of the environments' pins, by name.
    pub(crate) environments: BTreeMap<String, String>,
    /// Why environments could not be built, by name.
    pub(crate) absent: BTreeMap<String, String>,
    /// One row a rule, in the order of the catalogue.
    pub(crate) rules: Vec<Row>,
}

/// One rule's outcome.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) rule: String,
    /// Of what the outcome rests on; another digest means that the row is stale.
    pub(crate) digest: String,
    pub(crate) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<Side>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(crate) notes: Vec<String>,
}

/// A release of the rule's library and where it is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Side {
    pub(crate) version: String,
    pub(crate) environment: String,
}

/// Digest of all fields of a rule that its outcome rests on.
pub(crate) fn digest(rule: &Rule) -> String {
    let proof = match &rule.proof {
        Demonstration::Fails => "fails",
        Demonstration::Differs => "differs",
        Demonstration::Warns => "warns",
        Demonstration::NotRun(reason) => reason.as_str(),
    };
    let until = rule.until.as_ref().map(ToString::to_string).unwrap_or_default();
    short_digest(&[
        &rule.library,
        &rule.since.to_string(),
        &until,
        &rule.setup,
        &rule.before,
        rule.after.as_deref().unwrap_or_default(),
        rule.evidence.as_deref().unwrap_or_default(),
        &format!("{:?}", rule.score),
        proof,
    ])
}

impl Table {
    /// Reads the table; an empty one where there is none.
    pub(crate) fn read(path: &Path) -> Result<Table, TableFileError> {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                serde_json::from_str(&text).map_err(|error| TableFileError::Syntax(path.to_path_buf(), error))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Table::default()),
            Err(error) => Err(TableFileError::File(path.to_path_buf(), error)),
        }
    }

    /// Rules whose row is missing, or no longer about what they say or where they were run.
    pub(crate) fn stale<'a>(&self, catalogue: &'a Catalogue, environments: &[Environment]) -> Vec<&'a Rule> {
        let rows: BTreeMap<&str, &Row> = self.rules.iter().map(|row| (row.rule.as_str(), row)).collect();
        let current: BTreeMap<&str, String> = environments
            .iter()
            .map(|environment| (environment.name.as_str(), environment.digest()))
            .collect();
        let same = |side: &Option<Side>| {
            side.as_ref().is_none_or(|side| {
                let name = side.environment.as_str();
                current.get(name).is_some_and(|digest| self.environments.get(name) == Some(digest))
            })
        };
        let rules = catalogue.rules().iter();
        rules
            .filter(|rule| {
                rows.get(rule.id.as_str())
                    .is_none_or(|row| row.digest != digest(rule) || !same(&row.old) || !same(&row.new))
            })
            .collect()
    }

    /// Rows of rules that the catalogue does not have.
    pub(crate) fn unknown(&self, catalogue: &Catalogue) -> Vec<&str> {
        self.rules.iter().map(|row| row.rule.as_str()).filter(|id| catalogue.rule(id).is_none()).collect()
    }

    /// Takes in new rows, drops those of unknown rules, and brings all into the order of the catalogue.
    pub(crate) fn update(&mut self, rows: Vec<Row>, catalogue: &Catalogue) {
        let mut all: BTreeMap<String, Row> =
            self.rules.drain(..).chain(rows).map(|row| (row.rule.clone(), row)).collect();
        self.rules = catalogue.rules().iter().filter_map(|rule| all.remove(&rule.id)).collect();
    }

    /// The JSON, one row a line so that a change of one rule is a change of one line.
    pub(crate) fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = String::from("{\n");
        let line = |text: &mut String, name: &str, value: &str| {
            text.push_str(&format!("  {name:?}: {value},\n"));
        };
        line(&mut text, "date", &serde_json::to_string(&self.date)?);
        line(&mut text, "environments", &serde_json::to_string(&self.environments)?);
        line(&mut text, "absent", &serde_json::to_string(&self.absent)?);
        text.push_str("  \"rules\": [\n");
        for (at, row) in self.rules.iter().enumerate() {
            let comma = if at + 1 < self.rules.len() { "," } else { "" };
            text.push_str(&format!("    {}{comma}\n", serde_json::to_string(row)?));
        }
        text.push_str("  ]\n}\n");
        Ok(text)
    }

    /// The page for people.
    pub(crate) fn to_markdown(
        &self,
        catalogue: &Catalogue,
        environments: &[Environment],
        reviews: &Reviews,
    ) -> String {
        let mut page = String::from(
            "# Proof of the rules by running them\n\n\
             Generated by `cargo run -p xtask -- prove-rules --update`; the source of this page is `rules-proof.json`.\n\n\
             Every rule's *before* is run with the last release of its library below `since` that can be installed, and \
             with a current one; *after* with the current one. What comes out is compared: printed text, the value of the \
             last expression, the names that are bound, and the figures (the data drawn, colours, labels, limits). Numbers \
             are equal within a relative 1e-6. Objects that cannot be looked into count as nothing. Where an outcome is against a \
             rule that stands all the same, the reason is in **bold** (from `xtask/reviewed.toml`).\n\n",
        );
        let _ = writeln!(page, "Last run: {}.\n", self.date);
        page.push_str("| outcome | rules | meaning |\n|---|---:|---|\n");
        for outcome in Outcome::ALL {
            let count = self.rules.iter().filter(|row| row.outcome == outcome).count();
            let _ = writeln!(page, "| {} | {count} | {} |", outcome.as_str(), outcome.meaning());
        }
        let _ = writeln!(page, "| all | {} | |", self.rules.len());
        page.push_str("\n## Environments\n\nAll pins are in `xtask/environments/`.\n\n");
        page.push_str("| environment | Python | checked | main pins |\n|---|---|---|---|\n");
        for environment in environments {
            let main: Vec<String> = MAIN
                .iter()
                .filter_map(|name| Some(format!("{name} {}", environment.version_of(name)?)))
                .collect();
            let (major, minor) = environment.python;
            let absent = self.absent.get(&environment.name);
            let said =
                absent.map_or_else(|| main.join(", "), |reason| format!("not built: {}", cell(reason)));
            let _ = writeln!(
                page,
                "| {} | {major}.{minor} | {} | {said} |",
                environment.name, environment.checked
            );
        }
        page.push_str("\n## Rules\n");
        let mut library = "";
        for row in &self.rules {
            let Some(rule) = catalogue.rule(&row.rule) else { continue };
            if rule.library != library {
                library = &rule.library;
                let _ = write!(
                    page,
                    "\n### {library}\n\n| rule | old | new | outcome | note |\n|---|---|---|---|---|\n"
                );
            }
            let version =
                |side: &Option<Side>| side.as_ref().map_or("–", |side| side.version.as_str()).to_string();
            let mut notes: Vec<String> = row.notes.iter().map(|note| cell(note)).collect();
            notes.extend(reviews.reason(row).map(|reason| format!("**{}**", cell(reason))));
            let _ = writeln!(
                page,
                "| {} {} | {} | {} | {} | {} |",
                row.rule,
                rule.name,
                version(&row.old),
                version(&row.new),
                row.outcome.as_str(),
                notes.join("; ")
            );
        }
        page
    }
}

/// Libraries named in the list of environments.
const MAIN: [&str; 10] = [
    "numpy",
    "pandas",
    "scikit-learn",
    "scipy",
    "matplotlib",
    "seaborn",
    "statsmodels",
    "tensorflow",
    "keras",
    "torch",
];

/// Text that stays inside a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ").replace('<', "&lt;")
}

/// Writes a file through a neighbour, so that it is never half there.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), TableFileError> {
    let file = |error| TableFileError::File(path.to_path_buf(), error);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(file)?;
    temporary.write_all(text.as_bytes()).map_err(file)?;
    temporary.persist(path).map_err(|error| file(error.error))?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::proof::{environments, workspace};

    fn committed() -> (Table, Vec<Environment>) {
        let table = Table::read(&workspace().join("docs").join("rules-proof.json")).unwrap();
        (table, environments::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap())
    }

    #[test]
    fn the_table_is_about_all_rules_as_they_are() {
        let (table, environments) = committed();
        let catalogue = Catalogue::shipped();
        let stale: Vec<&str> =
            table.stale(catalogue, &environments).iter().map(|rule| rule.id.as_str()).collect();
        let shown = stale[..stale.len().min(20)].join(" ");
        assert!(stale.is_empty(), "{} rules are not proven as they are: {shown}; {REGENERATE}", stale.len());
        let unknown = table.unknown(catalogue);
        assert!(unknown.is_empty(), "rows without a rule: {}; {REGENERATE}", unknown.join(" "));
    }

    fn reviews() -> Reviews {
        Reviews::read(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn every_doubt_was_looked_at() {
        let (table, _) = committed();
        let open: Vec<&str> = reviews().open(&table.rules).iter().map(|row| row.rule.as_str()).collect();
        assert!(
            open.is_empty(),
            "correct the rule, or say in xtask/reviewed.toml why it stands: {} (docs/rules-proof.md has the notes)",
            open.join(" ")
        );
        let reviews = reviews();
        let needless = reviews.needless(&table.rules);
        assert!(needless.is_empty(), "in xtask/reviewed.toml without that outcome: {}", needless.join(" "));
    }

    #[test]
    fn the_page_is_made_from_the_table() {
        let (table, environments) = committed();
        let page = std::fs::read_to_string(workspace().join("docs").join("rules-proof.md")).unwrap();
        assert!(
            page == table.to_markdown(Catalogue::shipped(), &environments, &reviews()),
            "docs/rules-proof.md is not what docs/rules-proof.json says; {REGENERATE}"
        );
    }

    #[test]
    fn a_changed_rule_is_stale_and_an_unchanged_one_is_not() {
        let rule = |after: &str| {
            let text = format!(
                "[[rule]]\nid = \"XX001\"\nname = \"a\"\nsummary = \"s\"\nlibrary = \"numpy\"\nsince = \"1.0\"\n\
                 kind = \"renamed\"\nsafety = \"safe\"\nsource = \"s\"\nmatch = \"numpy.old($x)\"\n\
                 replace = \"numpy.new($x)\"\nneeds = [\"import numpy as np\"]\nbefore = \"np.old(1)\"\n\
                 after = \"{after}\"\nproof = \"fails\"\n"
            );
            Catalogue::parse("x.toml", &text).unwrap()
        };
        let (one, other) = (rule("np.new(1)"), rule("np.new(2)"));
        let row = Row {
            rule: "XX001".to_string(),
            digest: digest(&one.rules()[0]),
            outcome: Outcome::Proven,
            old: None,
            new: Some(Side { version: "2.0".to_string(), environment: "a".to_string() }),
            notes: Vec::new(),
        };
        let (_, environments) = committed();
        let environment = environments[0].name.clone();
        let mut table = Table { rules: vec![row], ..Table::default() };
        table.environments.insert(environment.clone(), environments[0].digest());
        assert_eq!(table.stale(&one, &environments).len(), 1, "its environment is not in the table");
        table.rules[0].new.as_mut().unwrap().environment = environment.clone();
        assert!(table.stale(&one, &environments).is_empty());
        assert_eq!(table.stale(&other, &environments).len(), 1);
        table.environments.insert(environment, "other".to_string());
        assert_eq!(table.stale(&one, &environments).len(), 1, "its pins have changed");
    }

    #[test]
    fn text_stays_inside_its_cell() {
        assert_eq!(cell("a|b\n<c>"), "a\\|b &lt;c>");
    }
}
