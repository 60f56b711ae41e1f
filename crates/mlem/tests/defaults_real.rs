//! Pins that a notebook does not bear today, on the real current libraries.
#![cfg(feature = "real-library")]
#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use serde_json::Value;
use support::Place;

const DATA: &str = "import numpy as np\nX = np.arange(120.0).reshape(60, 2) % 7\ny = np.arange(60) % 3";

/// The report and the modernized source of a notebook of 2019.
fn modernized(cells: &[&str]) -> (Value, String) {
    let place = Place::new();
    place.notebook("old.ipynb", cells);
    let python = std::env::var("MLEM_REAL_PYTHON")
        .expect("MLEM_REAL_PYTHON must name a Python with the current libraries; ./test.sh real makes one and sets it");
    let arguments =
        ["modernize", "old.ipynb", "--python", &python, "--as-of", "2019-06-30", "--out", "modern"];
    let ran = place.mlem(&arguments);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let source = std::fs::read_to_string(place.path("modern/old.ipynb")).unwrap();
    (place.json("modern/report.json"), source)
}

#[test]
fn a_pin_that_makes_a_cell_fail_is_taken_back_alone() {
    let make = "from sklearn.ensemble import RandomForestClassifier\nfrom sklearn.svm import SVC\n\
                forest, vectors = RandomForestClassifier(), SVC()";
    let fit = "trees = len(forest.fit(X, y).estimators_)\nassert trees == 100, 'n_estimators is another'";
    let (report, source) = modernized(&[DATA, make, fit]);
    assert_eq!(report["verdict"], "runs");
    assert!(source.contains("RandomForestClassifier(), SVC(gamma='auto')"), "{source}");
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("cell 1: not pinned, since then AssertionError: n_estimators is another"),
        "{notes}"
    );
}

#[test]
fn a_rule_may_know_what_else_the_old_default_needs() {
    let make = "from sklearn.linear_model import LogisticRegression\nmodel = LogisticRegression()";
    let (report, source) = modernized(&[DATA, make, "model.fit(X, y)", "print(model.predict(X[:1]))"]);
    assert_eq!(report["verdict"], "runs");
    assert!(source.contains("LogisticRegression(solver='liblinear')"), "{source}");
    assert!(source.contains("OneVsRestClassifier(model).fit(X, y)"), "{source}");
}
