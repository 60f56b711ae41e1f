//! What a notebook tells about its time: its metadata, install lines, stored outputs, and the idioms that it uses.

use std::path::Path;
use std::str::FromStr;
use std::sync::LazyLock;

use mlem_environment::{Clue, Date, Detector, Knowledge, Says, Surroundings, detect_units, marks};
use mlem_notebook::{Notebook, Output};
use mlem_python::Program;
use mlem_python::ast::Expr;
use mlem_python::ast::visitor::{Visitor, walk_expr};
use mlem_rules::checks::PYTHON2;
use mlem_rules::{Catalogue, Demonstration, Kind, Rule};
use pep440_rs::{Version, VersionSpecifiers};
use regex::Regex;

use crate::report::EditRecord;

/// Where something stands: `cell 3`, or a module's path.
fn place(path: &str, cell: Option<usize>) -> String {
    cell.map_or_else(|| path.to_owned(), |cell| format!("cell {cell}"))
}

/// A notebook as it is stored: the file, the program of its code cells, and their indices among all cells.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    /// The file.
    pub notebook: &'a Notebook,
    /// Its code cells; whether Python 2 was lifted does not matter.
    pub program: &'a Program,
    /// Index of each unit's cell.
    pub cells: &'a [usize],
    /// The folder in which it lies.
    pub folder: &'a Path,
    /// Looks around each folder once.
    pub detector: &'a Detector,
}

/// What is known without looking at any rule: the day on which it was last run at the latest, the notebook as it is
/// stored, and what lies around it.
pub fn of_notebook(stored: Stored<'_>, as_of: Option<Date>) -> Vec<Clue> {
    let Stored { notebook, program, cells, folder, detector } = stored;
    let mut clues: Vec<Clue> = as_of.map(of_day).into_iter().collect();
    clues.extend(metadata(notebook));
    clues.extend(stated(program, cells, &detector.surroundings(folder)));
    clues.extend(outputs(notebook, program, cells));
    clues
}

/// What the user says.
pub fn of_day(day: Date) -> Clue {
    Clue { says: Says::AsOf(day), evidence: format!("`--as-of` says {day}") }
}

fn metadata(notebook: &Notebook) -> Option<Clue> {
    if let Some(text) = notebook.language_version() {
        // Python 2.7 of Debian calls itself `2.7.5+`.
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let version = Version::from_str(text[..end].trim_end_matches('.')).ok()?;
        let evidence = format!("the notebook's metadata say Python {text}");
        return Some(Clue { says: Says::Python(version), evidence });
    }
    let is_python2 = notebook.kernel_name() == Some("python2");
    is_python2.then(|| Clue {
        says: Says::Python(Version::new([2, 7])),
        evidence: "the notebook's kernel is python2".to_owned(),
    })
}

/// Versions that install lines and the repository's requirements state.
fn stated(program: &Program, numbers: &[usize], around: &Surroundings) -> Vec<Clue> {
    let mut stated: Vec<(String, String, String)> = Vec::new();
    for (unit, number) in program.units().iter().zip(numbers) {
        if !unit.source().contains("install") {
            continue;
        }
        // Each cell alone: of several that ask for a distribution, each has its say.
        let detected = detect_units(std::slice::from_ref(unit), &Surroundings::default(), (3, 13));
        for need in detected.needs {
            // Where an import still exists is known of today's versions, not of the notebook's.
            let is_ours = need.import.as_deref().is_some_and(|import| {
                Knowledge::shipped().offer(import).is_some_and(|offer| offer.specifier == need.specifier)
            });
            if let Some(distribution) = need.distribution.filter(|_| !is_ours) {
                stated.push((distribution.to_string(), need.specifier, place("", Some(*number))));
            }
        }
    }
    for evidence in around.evidence() {
        let name = evidence.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let requirement = &evidence.requirement;
        stated.push((requirement.distribution.to_string(), requirement.specifier.clone(), name));
    }
    stated
        .into_iter()
        .filter(|(_, specifier, _)| !specifier.is_empty())
        .filter_map(|(distribution, specifier, place)| {
            let specifiers = VersionSpecifiers::from_str(&specifier).ok()?;
            let evidence = format!("{place} asks for {distribution}{specifier}");
            Some(Clue { says: Says::Versions(distribution, specifiers), evidence })
        })
        .collect()
}

/// What stored outputs tell: warnings of a change to come, versions that were printed, paths, and their own form.
fn outputs(notebook: &Notebook, program: &Program, numbers: &[usize]) -> Vec<Clue> {
    let mut clues = Vec::new();
    let is_written = |regex: &Regex| program.units().iter().any(|unit| regex.is_match(unit.source()));
    for (unit, number) in numbers.iter().enumerate() {
        let cell = place("", Some(*number));
        let outputs = notebook.cells()[*number].outputs();
        for text in outputs.iter().flat_map(texts) {
            for rule in Catalogue::shipped().rules() {
                let Some(warned) = rule.default_change().and_then(|change| change.warned(&text)) else {
                    continue;
                };
                let says =
                    Says::Between(rule.library.clone(), Some(warned.clone()), Some(rule.since.clone()));
                let evidence = format!("the output of {cell} warns of the change in {}", rule.since);
                clues.push(Clue { says, evidence });
            }
            for (says, seen) in marks(&text, &is_written) {
                let evidence = format!("the output of {cell} holds `{seen}`");
                clues.push(Clue { says, evidence });
            }
            if let Some(python) = python_of_path(&text) {
                let evidence = format!("a path in the output of {cell} is of Python {python}");
                clues.push(Clue { says: Says::Python(python), evidence });
            }
        }
        clues.extend(printed_version(program, unit, &outputs).map(|(library, version)| {
            let evidence = format!("{cell} printed that {library} is {version}");
            Clue { says: Says::Versions(library, VersionSpecifiers::from(exactly(version))), evidence }
        }));
    }
    clues
}

fn exactly(version: Version) -> pep440_rs::VersionSpecifier {
    pep440_rs::VersionSpecifier::equals_version(version)
}

/// The text of an output.
fn texts(output: &Output) -> Vec<String> {
    let plain = |data: &mlem_notebook::MimeBundle| {
        data.get("text/plain").and_then(|text| text.as_str()).map(str::to_owned).into_iter().collect()
    };
    match output {
        Output::Stream { text, .. } => vec![text.clone()],
        Output::DisplayData { data, .. } | Output::ExecuteResult { data, .. } => plain(data),
        Output::Error { traceback, .. } => vec![traceback.join("\n")],
    }
}

/// The Python whose installed packages a path in the text lies in.
fn python_of_path(text: &str) -> Option<Version> {
    static PATH: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[/\\]python(\d)\.(\d+)[/\\](site|dist)-packages[/\\]").ok());
    let found = PATH.as_ref()?.captures(text)?;
    Version::from_str(&format!("{}.{}", &found[1], &found[2])).ok()
}

/// The library and the version of it that a cell printed: it names one `….__version__`, and its output is one version.
fn printed_version(program: &Program, unit: usize, outputs: &[Output]) -> Option<(String, Version)> {
    static VERSION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?:^|[\s'\x22(:])v?(\d+\.\d+(?:\.\d+)?)(?:[\s'\x22),]|$)").ok());
    let mut asked = Versions { names: Vec::new() };
    program.units()[unit].body().iter().for_each(|statement| asked.visit_stmt(statement));
    let [name] = asked.names.as_slice() else { return None };
    let module = program.qualified_name(unit, name)?.split('.').next()?.to_owned();
    let library = Knowledge::shipped().offer(&module)?.distribution?.to_string();
    let printed = outputs.iter().flat_map(texts).collect::<Vec<_>>().join("\n");
    let mut versions = VERSION.as_ref()?.captures_iter(&printed).map(|found| found[1].to_owned());
    let version = versions.next()?;
    versions.next().is_none().then(|| Version::from_str(&version).ok()).flatten().map(|it| (library, it))
}

/// The values that `.__version__` is asked of.
struct Versions<'a> {
    names: Vec<&'a Expr>,
}

impl<'a> Visitor<'a> for Versions<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Attribute(attribute) = expr
            && attribute.attr.as_str() == "__version__"
        {
            self.names.push(&attribute.value);
        }
        walk_expr(self, expr);
    }
}

/// The version before which a rule's old form ran, if the rule says so for certain.
fn gone_since(rule: &Rule) -> Option<&Version> {
    let is_gone =
        matches!(rule.kind, Kind::Moved | Kind::Renamed | Kind::Argument | Kind::Rewrite | Kind::Error);
    (is_gone && rule.proof == Demonstration::Fails && rule.library != "python").then_some(&rule.since)
}

/// What follows from the use of something that a rule knows to be gone; `seen` is where it was seen.
pub fn of_rule(rule: &Rule, seen: &str) -> Option<Clue> {
    let since = gone_since(rule)?;
    let evidence = format!("{seen} uses what is gone since {} {since} ({})", rule.library, rule.id);
    Some(Clue { says: Says::Between(rule.library.clone(), None, Some(since.clone())), evidence })
}

/// What follows from Python 2 syntax.
pub fn of_python2(seen: &str) -> Clue {
    Clue { says: Says::Python(Version::new([2, 7])), evidence: format!("{seen} is Python 2") }
}

/// What follows from changes that were made because of proven or live evidence. A cell whose author let it fail
/// tells nothing: it may have failed on just that.
pub fn of_edits(edits: &[EditRecord], catalogue: &Catalogue, may_fail: &dyn Fn(usize) -> bool) -> Vec<Clue> {
    edits
        .iter()
        .filter(|edit| !edit.cell.is_some_and(may_fail))
        .filter_map(|edit| {
            let seen = place(&edit.path, edit.cell);
            let id = edit.rule.as_deref()?;
            if id == PYTHON2.id {
                return Some(of_python2(&seen));
            }
            of_rule(catalogue.rule(id)?, &seen)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use mlem_environment::Age;
    use mlem_python::Unit;
    use serde_json::json;

    use super::*;

    fn notebook(metadata: serde_json::Value, cells: &[(&str, serde_json::Value)]) -> Notebook {
        let cells: Vec<serde_json::Value> = cells
            .iter()
            .map(|(source, outputs)| {
                json!({"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": outputs, "source": source})
            })
            .collect();
        let text =
            json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 2}).to_string();
        Notebook::parse(text, Path::new("a.ipynb")).expect("a notebook")
    }

    fn age(metadata: serde_json::Value, cells: &[(&str, serde_json::Value)]) -> Age {
        let folder = tempfile::tempdir().expect("a folder");
        let notebook = notebook(metadata, cells);
        let units = notebook.cells().iter().map(|cell| Unit::cell(&cell.source)).collect();
        let numbers: Vec<usize> = (0..cells.len()).collect();
        let program = &Program::new(units);
        let detector = &Detector::new((3, 13));
        let folder = folder.path();
        let stored = Stored { notebook: &notebook, program, cells: &numbers, folder, detector };
        Age::of(&of_notebook(stored, None))
    }

    fn proven(age: &Age, library: &str, before: &str) -> Option<String> {
        age.proves(library, None, &before.parse().expect("a version"))
    }

    #[test]
    fn metadata_install_lines_and_printed_versions_tell() {
        let age = self::age(json!({"language_info": {"name": "python", "version": "3.6.5"}}), &[]);
        assert!(proven(&age, "scikit-learn", "1.0").expect("proven").contains("metadata say Python 3.6.5"));
        assert_eq!(proven(&age, "scikit-learn", "0.24"), None);

        let cells = [("!pip install scikit-learn==0.20.3", json!([]))];
        let age = self::age(json!({}), &cells);
        assert_eq!(
            proven(&age, "scikit-learn", "0.22").as_deref(),
            Some("cell 0 asks for scikit-learn==0.20.3")
        );

        let output = json!([{"output_type": "stream", "name": "stdout", "text": "0.20.3\n"}]);
        let age = self::age(json!({}), &[("import sklearn\nprint(sklearn.__version__)", output)]);
        assert_eq!(
            proven(&age, "scikit-learn", "0.22").as_deref(),
            Some("cell 0 printed that scikit-learn is 0.20.3")
        );
    }

    #[test]
    fn stored_warnings_and_paths_tell() {
        let text = "/opt/conda/lib/python3.6/site-packages/sklearn/ensemble/forest.py:248: FutureWarning: The \
                    default value of n_estimators will change from 10 in version 0.20 to 100 in 0.22.";
        let output = json!([{"output_type": "stream", "name": "stderr", "text": text}]);
        let age = self::age(json!({}), &[("RandomForestClassifier()", output)]);
        let versions = age.versions("scikit-learn").expect("known");
        let bound = |bound: &Option<mlem_environment::Bound<Version>>| {
            bound.as_ref().map(|bound| bound.at.to_string())
        };
        assert_eq!(
            (bound(&versions.from).as_deref(), bound(&versions.to).as_deref()),
            (Some("0.20"), Some("0.22"))
        );
        assert!(proven(&age, "pandas", "1.2").expect("proven").contains("Python 3.6"));
    }

    #[test]
    fn a_version_beside_others_tells_nothing() {
        let output = json!([{"output_type": "stream", "name": "stdout", "text": "0.20.3\n1.16.2\n"}]);
        let source = "import sklearn, numpy\nprint(sklearn.__version__)\nprint(numpy.__version__)";
        let age = self::age(json!({}), &[(source, output)]);
        assert_eq!(age.all_versions().count(), 0);
    }
}
