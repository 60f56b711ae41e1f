//! `mlem diff`, driven as a user does.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use serde_json::{Value, json};
use support::Place;

const SPLIT: &str =
    "from sklearn.cross_validation import train_test_split\nX, V = train_test_split(data, test_size=0.2)";

fn printed(text: &str) -> Value {
    json!([{"output_type": "stream", "name": "stdout", "text": text}])
}

#[test]
fn a_moved_import_is_neutral_and_a_changed_split_is_drift() {
    let place = Place::new();
    place.notebook_with_outputs("old.ipynb", &[(SPLIT, json!([])), ("print(len(X))", printed("80\n"))]);
    let moved = SPLIT.replace("cross_validation", "model_selection");
    place.notebook_with_outputs("moved.ipynb", &[(&moved, json!([])), ("print(len(X))", printed("80\n"))]);
    let ran = place.mlem(&["diff", "old.ipynb", "moved.ipynb"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("equivalent"), "{}", ran.stdout);

    let drifted = moved.replace("0.2", "0.3");
    place.notebook_with_outputs("new.ipynb", &[(&drifted, json!([])), ("print(len(X))", printed("70\n"))]);
    let ran = place.mlem(&["diff", "old.ipynb", "new.ipynb"]);
    assert_eq!(ran.code, Some(1));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].contains("drifted (1 drift, 0 unclear,"), "{}", ran.stdout);
    assert_eq!(lines[1], "  drift: cell 0, line 2: the split of the data changed: test_size `0.2` → `0.3`");
    assert!(ran.stdout.contains("output of cell 1: different: `80` → `70`"), "{}", ran.stdout);
}

#[test]
fn the_json_names_class_place_and_verdict() {
    let place = Place::new();
    place.notebook("old.ipynb", &["model.fit(X)", "x = 1"]);
    place.notebook("new.ipynb", &["# model.fit(X)", "x = 1"]);
    let ran = place.mlem(&["diff", "old.ipynb", "new.ipynb", "--format", "json"]);
    assert_eq!(ran.code, Some(1));
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((document["schema"].as_u64(), document["verdict"].as_str()), (Some(1), Some("drifted")));
    let file = &document["files"][0];
    assert_eq!((file["class"].as_str(), file["verdict"].as_str()), (Some("drift"), Some("drifted")));
    let change = &file["changes"][0];
    assert_eq!(change["class"], "drift");
    assert_eq!(change["topic"], "training");
    assert_eq!(change["old"], json!({"cell": 0, "lines": [1, 1]}));
    assert_eq!(change["before"], "model.fit(X)");
}

#[test]
fn what_cannot_be_told_is_not_neutral() {
    let place = Place::new();
    place.notebook("old.ipynb", &["y = f(x)"]);
    place.notebook("new.ipynb", &["y = g(x)"]);
    let ran = place.mlem(&["diff", "old.ipynb", "new.ipynb"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("inconclusive") && ran.stdout.contains("unclear"), "{}", ran.stdout);
}

#[test]
fn folders_are_matched_by_path() {
    let place = Place::new();
    place.notebook("a/one.ipynb", &["x = 1"]);
    place.write("a/deep/two.py", "x = 2\n");
    place.write("a/gone.py", "x = 3\n");
    place.notebook("b/one.ipynb", &["x = 1  # one"]);
    place.write("b/deep/two.py", "x  =  2\n");
    let ran = place.mlem(&["diff", "a", "b", "--format", "json"]);
    assert_eq!(ran.code, Some(1));
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let files: Vec<(Option<&str>, Option<&str>, &str)> = document["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["old"].as_str(), file["new"].as_str(), file["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(
        files,
        [
            (Some("a/deep/two.py"), Some("b/deep/two.py"), "equivalent"),
            (Some("a/gone.py"), None, "drifted"),
            (Some("a/one.ipynb"), Some("b/one.ipynb"), "equivalent"),
        ]
    );
}

#[test]
fn bad_input_gives_one_clear_error() {
    let place = Place::new();
    let one = |arguments: &[&str], words: &str| {
        let ran = place.mlem(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(words), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    };
    place.notebook("old.ipynb", &["x = 1"]);
    place.write("broken.ipynb", "{\"cells\": [");
    std::fs::create_dir_all(place.path("empty")).unwrap();
    one(&["diff", "old.ipynb", "none.ipynb"], "none.ipynb: no such file or folder");
    one(&["diff", "old.ipynb", "broken.ipynb"], "broken.ipynb");
    one(&["diff", "old.ipynb", "empty"], "a file is wanted");
    one(&["diff", "empty", "empty"], "holds no notebook");
}

#[test]
fn a_default_written_out_is_unclear_since_nobody_says_when_it_held() {
    let place = Place::new();
    let old = "from sklearn.ensemble import RandomForestClassifier\nm = RandomForestClassifier(max_depth=3)";
    place.notebook("old.ipynb", &[old]);
    place.notebook("pinned.ipynb", &[&old.replace("=3", "=3, n_estimators=10")]);
    place.notebook("other.ipynb", &[&old.replace("=3", "=3, n_estimators=12")]);
    let pinned = place.mlem(&["diff", "old.ipynb", "pinned.ipynb"]);
    assert!(pinned.stdout.contains("inconclusive (0 drift, 1 unclear,"), "{}", pinned.stdout);
    assert!(pinned.stdout.contains("SKD001"), "{}", pinned.stdout);
    let other = place.mlem(&["diff", "old.ipynb", "other.ipynb"]);
    assert!(other.stdout.contains("drifted (1 drift,"), "{}", other.stdout);
}
