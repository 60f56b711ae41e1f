//! The tables of changed defaults: what they say, and that every row does what it says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use mlem_python::{EditSet, Program, Unit};
use mlem_rules::{Catalogue, Past, Pins, Rule, Version};

/// A past in which every old default held.
struct Long;

impl Past for Long {
    fn proves(&self, distribution: &str, _: Option<&Version>, before: &Version) -> Option<String> {
        Some(format!("{distribution} was below {before}"))
    }
}

/// A past with one version of everything.
struct Had(Version);

impl Past for Had {
    fn proves(&self, _: &str, from: Option<&Version>, before: &Version) -> Option<String> {
        (self.0 < *before && from.is_none_or(|from| self.0 >= *from)).then(|| format!("it was {}", self.0))
    }
}

fn target(library: &str, version: &Version) -> Pins {
    Pins { python: (3, 12), packages: BTreeMap::from([(library.to_string(), version.clone())]) }
}

fn program(cells: &[&str]) -> Program {
    Program::new(cells.iter().map(|cell| Unit::cell(cell)).collect())
}

/// The cells after the pins of `select`, and how many pins there were.
fn pinned(cells: &[&str], target: &Pins, past: &dyn Past, select: &dyn Fn(&Rule) -> bool) -> (String, usize) {
    let program = program(cells);
    let mut sources: Vec<String> = cells.iter().map(|cell| (*cell).to_string()).collect();
    let pins = Catalogue::shipped().default_pins(&program, target, past);
    let pins: Vec<_> = pins.into_iter().filter(|pin| select(pin.finding.rule)).collect();
    for pin in pins.iter().rev() {
        for (unit, edit) in pin.finding.fix.iter().flat_map(|fix| &fix.edits) {
            let mut set = EditSet::new();
            set.add(edit.clone()).unwrap();
            sources[*unit] = set.apply(&sources[*unit]).unwrap();
        }
    }
    (sources.join("\n"), pins.len())
}

fn rows() -> impl Iterator<Item = &'static Rule> {
    Catalogue::shipped().rules().iter().filter(|rule| rule.default_change().is_some())
}

#[test]
fn every_row_pins_its_example_and_leaves_the_pinned_call_alone() {
    let mut failures = Vec::new();
    let mut count = 0;
    for rule in rows() {
        count += 1;
        let target = target(&rule.library, &rule.since);
        let only = |found: &Rule| found.id == rule.id;
        let cells = [rule.setup.as_str(), rule.before.trim()];
        let (got, pins) = pinned(&cells, &target, &Long, &only);
        let wanted = format!("{}\n{}", rule.setup, rule.after.as_ref().unwrap_or(&rule.before).trim());
        if pins != 1 || got != wanted {
            failures.push(format!("{} {}: {pins} pins give\n{got}\nand not\n{wanted}", rule.id, rule.name));
            continue;
        }
        let Some(after) = &rule.after else { continue };
        let (_, again) = pinned(&[&rule.setup, after.trim()], &target, &Long, &only);
        if again != 0 {
            failures.push(format!("{} {}: the pinned call is pinned again", rule.id, rule.name));
        }
        let mut before = target.clone();
        before.packages.insert(rule.library.clone(), "0.0.1".parse().unwrap());
        if pinned(&cells, &before, &Long, &only).1 != 0 {
            failures.push(format!("{} {}: pins where the default is still the old one", rule.id, rule.name));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
    assert!(count > 60, "{count} rows");
}

fn newest(library: &str) -> Pins {
    target(library, &"9999".parse().unwrap())
}

fn with_scikit_learn(version: &str, cell: &str) -> String {
    pinned(&[cell], &newest("scikit-learn"), &Had(version.parse().unwrap()), &|_| true).0
}

#[test]
fn what_is_given_is_not_pinned() {
    let forest = "from sklearn.ensemble import RandomForestClassifier as RF\n";
    let cases = [
        ("RF()", "RF(n_estimators=10)"),
        ("RF(max_depth=3)", "RF(max_depth=3, n_estimators=10)"),
        ("RF(\n    max_depth=3,  # shallow\n)", "RF(\n    max_depth=3, n_estimators=10,  # shallow\n)"),
        ("models = [('a', RF())]", "models = [('a', RF(n_estimators=10))]"),
        (
            "def make():\n    return RF(max_depth=(3))",
            "def make():\n    return RF(max_depth=(3), n_estimators=10)",
        ),
        ("RF(50)", "RF(50)"),
        ("RF(n_estimators=50)", "RF(n_estimators=50)"),
        ("RF(*options)", "RF(*options)"),
        ("RF(**options)", "RF(**options)"),
        ("RF(**{'n_estimators': 5})", "RF(**{'n_estimators': 5})"),
        ("o = {'n_estimators': 5}\nRF(**o)", "o = {'n_estimators': 5}\nRF(**o)"),
        ("o = {'max_depth': 5}\nRF(**o)", "o = {'max_depth': 5}\nRF(**o, n_estimators=10)"),
        (
            "o = dict(max_depth=5)\no['n_estimators'] = 7\nRF(**o)",
            "o = dict(max_depth=5)\no['n_estimators'] = 7\nRF(**o)",
        ),
        ("m = RF()\nm.set_params(n_estimators=7)", "m = RF()\nm.set_params(n_estimators=7)"),
        ("m = RF()\npipe.set_params(rf__n_estimators=7)", "m = RF()\npipe.set_params(rf__n_estimators=7)"),
        ("m = RF()\nm.n_estimators = 7", "m = RF()\nm.n_estimators = 7"),
        (
            "def RandomForestClassifier():\n    pass\nRandomForestClassifier()",
            "def RandomForestClassifier():\n    pass\nRandomForestClassifier()",
        ),
    ];
    for (before, after) in cases {
        let cell = format!("{forest}{before}");
        assert_eq!(with_scikit_learn("0.21", &cell), format!("{forest}{after}"), "{before}");
    }
}

#[test]
fn the_version_decides_which_old_default_held() {
    let cell = "from sklearn.manifold import TSNE\nTSNE(init='pca', early_exaggeration=4.0, n_iter_without_progress=30)";
    assert!(with_scikit_learn("0.18", cell).contains("learning_rate=1000.0"));
    assert!(with_scikit_learn("1.1", cell).contains("learning_rate=200.0"));
    assert_eq!(with_scikit_learn("1.2", cell), cell);
}

#[test]
fn other_arguments_can_make_a_default_irrelevant() {
    let cell = "from sklearn.svm import SVC\nSVC(kernel=\"linear\")";
    assert_eq!(with_scikit_learn("0.21", cell), cell);
    let cell = "from sklearn.svm import SVC\nSVC(kernel='rbf')";
    assert!(with_scikit_learn("0.21", cell).ends_with("SVC(kernel='rbf', gamma='auto')"));
}

#[test]
fn parameters_in_a_dictionary_are_pinned_there_and_once() {
    let past = Had("0.90".parse().unwrap());
    let cell =
        "import xgboost as xgb\np = {'eta': 0.1, 'base_score': 0.5}\na = xgb.train(p, d)\nb = xgb.cv(p, d)";
    let (got, pins) = pinned(&[cell], &newest("xgboost"), &past, &|_| true);
    assert_eq!(got, cell.replace("0.5}", "0.5, 'tree_method': 'exact'}"));
    assert_eq!(pins, 1);
    let cell =
        "import xgboost as xgb\np = {'base_score': 0.5}\np['tree_method'] = 'hist'\na = xgb.train(p, d)";
    assert_eq!(pinned(&[cell], &newest("xgboost"), &past, &|_| true).0, cell);
}

/// pandas sorted the keys of a dictionary until 0.23.
#[test]
fn keys_are_pinned_in_the_order_they_had() {
    let target = newest("pandas");
    let frame = |cells: &[&str]| pinned(cells, &target, &Long, &|rule| rule.id == "PDD008").0;
    let import = "from pandas import DataFrame";
    assert_eq!(
        frame(&[import, "d = {'b': x, 'a': y}\ndf = DataFrame(d)\ndf.columns = ['one', 'two']"]),
        format!(
            "{import}\nd = {{'b': x, 'a': y}}\ndf = DataFrame(d, columns=sorted(d))\ndf.columns = ['one', 'two']"
        )
    );
    let again = "d = {'b': x, 'a': y}\ndf = DataFrame(d)\nd = {'c': y, 'b': x}";
    assert!(frame(&[import, again]).contains("DataFrame(d, columns=sorted(d))"));
    for alone in [
        "d = {'b': x, 'a': y}\ndf = DataFrame(d)\nd = {'b': {2: 1}, 'a': {1: 2}}",
        "d = {'b': x, 'a': y}\ndf = DataFrame(d)\nd = load()",
        "DataFrame({'a': [1], 'b': [2]})",
        "DataFrame({'b': [1], 'a': [2]}, columns=['b', 'a'])",
        "DataFrame({'b': [1], name: [2]})",
        "DataFrame({'b': {2: 1}, 'a': {1: 2}})",
        "DataFrame([{'b': 1, 'a': 2}])",
        "DataFrame(d)",
    ] {
        assert_eq!(frame(&[import, alone]), format!("{import}\n{alone}"));
    }
}

#[test]
fn rows_are_refused_with_file_place_and_reason() {
    let row = r#"library = "numpy"
[[default]]
id = "NPD001"
name = "a-default"
call = "numpy.old"
parameter = "x"
since = "1.0"
old = "1"
new = "2"
write = "1"
score = "shifting"
source = "release notes"
"#;
    assert!(Catalogue::parse_defaults("d.toml", row).is_ok());
    let cases = [
        ("since = \"1.0\"", "since = \"one\"", "since: `one` is not a version"),
        ("since = \"1.0\"", "since = \"1.0\"\nfrom = \"2.0\"", "from: is not before `since`"),
        ("write = \"1\"", "", "needs one of `write`, `sorted_keys`, and `reason`"),
        ("write = \"1\"", "sorted_keys = 0", "after: is needed beside `sorted_keys`"),
        ("write = \"1\"", "write = \"1 +\"", "write: `1 +` is not an expression"),
        ("call = \"numpy.old\"", "call = \"type:numpy.ndarray.old\"", "before: a method needs"),
        ("source = \"release notes\"", "source = \" \"", "source: is empty"),
        ("source = ", "sauce = ", "unknown field `sauce`"),
        ("NPD001", "npd1", "id: is not two to four capital letters"),
    ];
    for (old, new, reason) in cases {
        assert!(row.contains(old), "{old}");
        let errors = Catalogue::parse_defaults("d.toml", &row.replace(old, new)).expect_err(reason);
        let said = errors[0].to_string();
        assert!(said.starts_with("d.toml:") && said.contains(reason), "{said:?} does not say {reason:?}");
    }
}
