//! What a running kernel adds: its error and the types of its values.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use mlem_python::{Program, Unit};
use mlem_rules::{Catalogue, Finding, LiveError, LiveTypes, Pins, Proof, Question, fix_until_stable, plan};

/// Types by expression, as the kernel would tell them.
struct Kernel(BTreeMap<&'static str, Vec<&'static str>>);

impl LiveTypes for Kernel {
    fn type_of(&self, expression: &str) -> Option<Vec<String>> {
        let classes = self.0.get(expression)?;
        Some(classes.iter().map(ToString::to_string).collect())
    }
}

const FRAME: &[&str] = &["pandas.core.frame.DataFrame", "pandas.core.generic.NDFrame", "object"];
const LIST: &[&str] = &["list", "object"];

fn kernel(types: &[(&'static str, &[&'static str])]) -> Kernel {
    Kernel(types.iter().map(|(name, classes)| (*name, classes.to_vec())).collect())
}

fn target() -> Pins {
    Pins { python: (3, 12), packages: BTreeMap::from([("pandas".to_string(), "3.0".parse().unwrap())]) }
}

fn program(cells: &[&str]) -> Program {
    Program::new(cells.iter().map(|cell| Unit::cell(cell)).collect())
}

fn no_append(unit: usize, lines: Option<(usize, usize)>) -> LiveError {
    LiveError {
        ename: "AttributeError".to_string(),
        evalue: "'DataFrame' object has no attribute 'append'".to_string(),
        unit,
        lines,
    }
}

fn check(program: &Program, error: Option<&LiveError>, types: Option<&dyn LiveTypes>) -> Vec<Finding> {
    let target = target();
    let question = Question { program, target: &target, error, types };
    Catalogue::shipped().check(&question).into_iter().filter(|finding| finding.rule.id == "PD001").collect()
}

const UNKNOWN: &[&str] =
    &["import pandas as pd\na = load()\nb = load()", "rows = []\nc = a.append(b)\nrows.append(c)"];

#[test]
fn an_unknown_type_of_a_common_name_is_no_finding() {
    assert!(check(&program(UNKNOWN), None, None).is_empty());
}

#[test]
fn a_matching_error_proves_the_receiver_but_not_what_the_fix_depends_on() {
    let error = no_append(1, Some((2, 2)));
    let program = program(UNKNOWN);
    // A Series in the place of `b` would want another fix, and the error says nothing of `b`.
    let findings = check(&program, Some(&error), None);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].proof, Proof::Unproven("the type of `b` is not known".to_string()));
    assert!(findings[0].fix.is_none() && findings[0].tentative.is_some());

    let types = kernel(&[("b", FRAME)]);
    let findings = check(&program, Some(&error), Some(&types));
    assert_eq!(findings[0].proof, Proof::Live);
    assert_eq!(plan(&findings, &Finding::is_applicable).applied, [0]);
}

#[test]
fn an_error_elsewhere_proves_nothing() {
    let program = program(UNKNOWN);
    assert!(check(&program, Some(&no_append(0, None)), None).is_empty());
    assert!(check(&program, Some(&no_append(1, Some((1, 1)))), None).is_empty());
}

#[test]
fn a_static_type_that_contradicts_wins_over_the_error() {
    let program = program(UNKNOWN);
    let error = no_append(1, None);
    let texts: Vec<&str> = check(&program, Some(&error), None)
        .iter()
        .map(|finding| &program.units()[finding.unit].source()[finding.range])
        .collect();
    assert_eq!(texts, ["a.append(b)"], "`rows` is a list");
}

#[test]
fn live_types_prove_and_refute() {
    let program = program(UNKNOWN);
    let frames = kernel(&[("a", FRAME), ("b", FRAME)]);
    let findings = check(&program, None, Some(&frames));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].proof, Proof::Live);
    let lists = kernel(&[("a", LIST), ("b", FRAME)]);
    assert!(check(&program, None, Some(&lists)).is_empty());
}

#[test]
fn a_label_or_position_is_decided_by_the_live_index() {
    let error = LiveError {
        ename: "AttributeError".to_string(),
        evalue: "'DataFrame' object has no attribute 'ix'".to_string(),
        unit: 1,
        lines: None,
    };
    let fixed = |index: &[&'static str], dtype: &[&'static str]| {
        let types = kernel(&[("df", FRAME), ("df.index", index), ("df.index.dtype", dtype)]);
        let fixed = fix_until_stable(
            Catalogue::shipped(),
            &program(&["df = load()", "x = df.ix[3]"]),
            &target(),
            (Some(&error), Some(&types)),
            &Finding::is_applicable,
        );
        fixed.sources()[1].to_string()
    };
    assert_eq!(fixed(&["pandas.RangeIndex"], &["numpy.dtypes.Int64DType"]), "x = df.loc[3]");
    assert_eq!(fixed(&["pandas.Index"], &["numpy.dtypes.ObjectDType"]), "x = df.iloc[3]");
    assert_eq!(fixed(&["pandas.DatetimeIndex"], &[]), "x = df.iloc[3]");
    assert_eq!(fixed(&["pandas.Index"], &["numpy.dtypes.Float64DType"]), "x = df.ix[3]");
}

#[test]
fn every_changed_unit_is_described() {
    let fixed = fix_until_stable(
        Catalogue::shipped(),
        &program(&["import pandas as pd", "x = 1\ndf = pd.DataFrame({'a': [1]}).as_matrix()\ny = 2"]),
        &target(),
        (None, None),
        &Finding::is_applicable,
    );
    assert_eq!(fixed.changed, [1]);
    let applied = &fixed.applied[0];
    assert_eq!((applied.rule.id.as_str(), applied.unit, applied.lines), ("PD002", 1, (2, 2)));
    assert_eq!(applied.before, "df = pd.DataFrame({'a': [1]}).as_matrix()\n");
    assert_eq!(applied.after, "df = pd.DataFrame({'a': [1]}).values\n");
}

#[test]
fn a_method_of_the_notebooks_own_is_not_the_librarys() {
    let target = target();
    let found = |cells: &[&str]| -> Vec<bool> {
        let program = program(cells);
        let question = Question::without_kernel(&program, &target);
        let findings = Catalogue::shipped().check(&question);
        findings.iter().filter(|finding| finding.rule.id == "PD002").map(Finding::is_applicable).collect()
    };
    assert_eq!(found(&["import pandas", "x = load().as_matrix()"]), [true]);
    assert_eq!(
        found(&[
            "import pandas\nclass Log:\n    def as_matrix(self):\n        return 1",
            "x = load().as_matrix()"
        ]),
        [false]
    );
}
