//! The examples come back with the numbers of their own time, on the real current libraries.
#![cfg(feature = "real-library")]
#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::Place;

/// Copies a folder of `examples/` into the place, so that nothing is written into the repository.
fn copy_example(place: &Place, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    copy(&source, &place.path(name));
    place.path(name).join(format!("{name}.ipynb"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// It fails as it is, and comes back with every stored output the same.
#[track_caller]
fn comes_back(name: &str, arguments: &[&str]) {
    let place = Place::new();
    let notebook = copy_example(&place, name);
    let python = std::env::var("MLEM_REAL_PYTHON")
        .expect("MLEM_REAL_PYTHON must name a Python with the current libraries; ./test.sh real makes one and sets it");
    let notebook = notebook.to_str().unwrap();
    let ran = place.mlem(&["run", notebook, "--python", &python, "--out", "as-it-is"]);
    assert_eq!(ran.code, Some(1), "it must fail today: {}", ran.stdout);
    let mut all = vec!["modernize", notebook, "--python", &python, "--out", "modern"];
    all.extend(arguments);
    let ran = place.mlem(&all);
    let page = fs::read_to_string(place.path("modern/report.md")).unwrap_or_default();
    assert_eq!(ran.code, Some(0), "{}{}\n{page}", ran.stdout, ran.stderr);
    assert_eq!(place.json("modern/report.json")["verdict"], "equivalent", "{page}");
}

#[test]
fn titanic_2014() {
    comes_back("titanic-2014", &[]);
}

#[test]
fn house_prices_2016() {
    comes_back("house-prices-2016", &[]);
}

#[test]
fn text_2017() {
    comes_back("text-2017", &[]);
}

#[test]
fn plots_2018() {
    comes_back("plots-2018", &[]);
}

#[test]
fn boosting_2019() {
    comes_back("boosting-2019", &["--data", "boosting-2019/input"]);
}

/// It runs on defaults that have changed since: other scores without them, every digit of the old ones with them.
#[test]
fn churn_2019() {
    comes_back("churn-2019", &[]);
    let place = Place::new();
    let notebook = copy_example(&place, "churn-2019");
    let python = std::env::var("MLEM_REAL_PYTHON").unwrap();
    let notebook = notebook.to_str().unwrap();
    let arguments = ["modernize", notebook, "--python", &python, "--out", "modern", "--no-default-pins"];
    let ran = place.mlem(&arguments);
    let report = place.json("modern/report.json");
    assert_eq!(report["verdict"], "different", "{}{}", ran.stdout, ran.stderr);
    let differing = report["outputs"].as_array().unwrap().iter().filter(|each| each["status"] == "different");
    assert_eq!(differing.count(), 6);
    assert!(report["edits"].as_array().unwrap().iter().all(|edit| edit["rule"] == "SK023"));
}
