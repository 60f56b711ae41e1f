//! Old default values in `mlem check` and `mlem fix`, driven as a user does.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use serde_json::Value;
use support::Place;

const FOREST: &str = "from sklearn.ensemble import RandomForestClassifier\nmodel = RandomForestClassifier()";

fn findings(place: &Place, arguments: &[&str]) -> Vec<Value> {
    let mut all = vec!["check", "old.ipynb", "--format", "json"];
    all.extend(arguments);
    let document: Value = serde_json::from_str(&place.mlem(&all).stdout).unwrap();
    let found = document["findings"].as_array().unwrap().clone();
    found.into_iter().filter(|finding| finding["rule"] == "SKD001").collect()
}

#[test]
fn a_default_is_a_finding_only_where_the_time_is_known() {
    let place = Place::new();
    place.notebook("old.ipynb", &[FOREST]);
    assert!(findings(&place, &[]).is_empty(), "nothing tells the time");
    assert!(findings(&place, &["--as-of", "2020-06-30"]).is_empty(), "0.22 was out");
    let found = findings(&place, &["--as-of", "2019-06-30"]);
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0]["line"], &found[0]["fixable"]), (&2.into(), &true.into()));
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.contains("n_estimators: 10 before scikit-learn 0.22, 100 since"), "{message}");
    assert!(
        message.contains("`--as-of` says 2019-06-30; scikit-learn 0.22 came out on 2019-12-03"),
        "{message}"
    );
    assert!(findings(&place, &["--as-of", "2019-06-30", "--no-default-pins"]).is_empty());
    let target = ["--as-of", "2019-06-30", "--target", "scikit-learn==0.21.3"];
    assert!(findings(&place, &target).is_empty(), "the target still has the old default");
}

#[test]
fn idioms_of_the_notebook_tell_its_time() {
    let place = Place::new();
    place.notebook("old.ipynb", &["from sklearn.preprocessing import Imputer", FOREST]);
    let found = findings(&place, &[]);
    assert_eq!(found.len(), 1);
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.ends_with("cell 0 uses what is gone since scikit-learn 0.22 (SK023)"), "{message}");
}

#[test]
fn fix_writes_the_old_default_out() {
    let place = Place::new();
    let path = place.notebook("old.ipynb", &["!pip install scikit-learn==0.20.3", FOREST]);
    let before = std::fs::read_to_string(&path).unwrap();
    let ran = place.mlem(&["fix", "old.ipynb", "--no-default-pins"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    let ran = place.mlem(&["fix", "old.ipynb"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let after = std::fs::read_to_string(&path).unwrap();
    assert_eq!(after, before.replace("RandomForestClassifier()", "RandomForestClassifier(n_estimators=10)"));
}

#[test]
fn clues_that_contradict_each_other_pin_nothing_and_are_told() {
    let place = Place::new();
    let cells = ["!pip install scikit-learn==0.23.1", "from sklearn.preprocessing import Imputer", FOREST];
    let path = place.notebook("old.ipynb", &cells);
    let ran = place.mlem(&["fix", "old.ipynb", "--format", "json"]);
    assert!(!std::fs::read_to_string(&path).unwrap().contains("n_estimators"));
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let left = document["files"][0]["left_alone"].to_string();
    assert!(left.contains("the version of scikit-learn is not known"), "{left}");
}

#[test]
fn a_day_that_is_none_is_refused() {
    let place = Place::new();
    place.notebook("old.ipynb", &[FOREST]);
    let ran = place.mlem(&["check", "old.ipynb", "--as-of", "2019"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`2019` is not a day; write it as 2019-06-30"), "{}", ran.stderr);
}
