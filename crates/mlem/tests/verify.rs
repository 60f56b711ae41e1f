//! `mlem verify` on real kernels, driven as a user does.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use serde_json::json;
use support::{Place, Ran, printed, python};

#[track_caller]
fn verify(place: &Place, arguments: &[&str]) -> Ran {
    let python = python();
    let mut all = vec!["verify", "--python", python.to_str().unwrap(), "--out", "out"];
    all.extend(arguments);
    place.mlem(&all)
}

#[test]
fn two_identical_runs_decide() {
    let place = Place::new();
    place.notebook_with_outputs("a.ipynb", &[("print('AUC', 0.5 + 0.25)", printed("AUC 0.75\n"))]);
    let ran = verify(&place, &["a.ipynb", "--score-from", r"AUC ([\d.]+)", "--metric", "auc", "--runs", "9"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/verify.json");
    assert_eq!(report["verdict"], "equivalent");
    assert_eq!(report["deterministic"], true);
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);
    assert_eq!(report["runs"][0]["score"], 0.75);
    assert_eq!(report["outputs"]["same"], 1);
    assert_eq!(report["score"]["decision"], "equivalent");
}

#[test]
fn another_number_is_different() {
    let place = Place::new();
    place.notebook_with_outputs("a.ipynb", &[("print('AUC', 0.6)", printed("AUC 0.75\n"))]);
    let ran = verify(&place, &["a.ipynb"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/verify.json");
    assert_eq!(report["verdict"], "different");
    assert_eq!(report["outputs"]["different"], 1);
    assert!(ran.stdout.contains("cell 0:"), "{}", ran.stdout);
}

/// Noise a hundred times smaller than the margin: the score decides, and the output that changes each time does not.
#[test]
fn a_noisy_score_is_decided_by_its_interval() {
    let place = Place::new();
    let source = "import random\nprint('RMSE', 10 + random.gauss(0, 0.001))";
    place.notebook_with_outputs("a.ipynb", &[(source, printed("RMSE 10.0003\n"))]);
    let from = ["--score-from", r"RMSE ([\d.]+)", "--margin", "1%"];
    let ran = verify(&place, &[&["a.ipynb"], &from[..]].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/verify.json");
    assert_eq!((&report["verdict"], &report["deterministic"]), (&json!("equivalent"), &json!(false)));
    assert_eq!(report["outputs"]["varying"], 1);

    let ran = verify(&place, &[&["a.ipynb", "--target-score", "12", "--as-paper"], &from[..]].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/verify.json");
    assert_eq!(report["verdict"], "different");
    assert_eq!(report["as_paper"]["band"][0], "Not Replicable");
}

/// Without a score nothing says whether an output that changes each time is still what it was.
#[test]
fn an_output_that_changes_each_time_is_inconclusive() {
    let place = Place::new();
    let source = "import random\nprint('RMSE', random.random())";
    place.notebook_with_outputs("a.ipynb", &[(source, printed("RMSE 0.123\n"))]);
    let ran = verify(&place, &["a.ipynb"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(place.json("out/verify.json")["verdict"], "inconclusive");
}

#[test]
fn runs_that_fail_or_print_no_score_never_count() {
    let place = Place::new();
    place.notebook_with_outputs("a.ipynb", &[("1/0", printed("AUC 0.75\n"))]);
    let ran = verify(&place, &["a.ipynb"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/verify.json");
    assert_eq!(report["verdict"], "error");
    assert_eq!(report["runs"].as_array().unwrap().len(), 2);

    place.notebook_with_outputs("b.ipynb", &[("print('nothing')", printed("nothing\n"))]);
    let from = ["--score-from", "AUC (.*)", "--target-score", "0.7", "--margin", "0.1", "--runs", "3"];
    let ran = verify(&place, &[&["b.ipynb"], &from[..]].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/verify.json");
    assert_eq!(report["verdict"], "inconclusive");
    assert_eq!(report["runs"][0]["score_problem"], "no output matches `AUC (.*)`");
}

#[test]
fn the_recorded_run_counts_as_the_first() {
    let place = Place::new();
    place.notebook_with_outputs("a.ipynb", &[("print(6 * 7)", printed("42\n"))]);
    let python = python();
    let python = python.to_str().unwrap();
    let ran = place.mlem(&["modernize", "a.ipynb", "--python", python]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let ran = place.mlem(&["verify", "a.mlem/a.ipynb", "--python", python]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("a.mlem/verify.json");
    assert_eq!(report["verdict"], "equivalent");
    assert_eq!(
        (&report["runs"][0]["recorded"], &report["runs"][1]["recorded"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(report["deterministic"], true);
}

#[test]
fn the_old_notebook_is_run_in_an_environment_of_the_past() {
    let place = Place::new();
    place.notebook_with_outputs("a.ipynb", &[("print(6 * 7)", printed("a stored output that was edited\n"))]);
    let python = python();
    let python = python.to_str().unwrap();
    let ran = place.mlem(&["modernize", "a.ipynb", "--python", python]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let past = ["--against-past", "--past-python", python];
    let ran = place.mlem(&[&["verify", "a.ipynb", "--python", python], &past[..]].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("a.mlem/verify.json");
    assert_eq!((&report["verdict"], &report["outputs"]["same"]), (&json!("equivalent"), &json!(1)));
    assert_eq!(report["past"]["runs"].as_array().unwrap().len(), 2);
}

/// The submission that each run writes is graded; the target is a published score.
#[test]
fn submissions_are_graded() {
    let place = Place::new();
    place.write("answers.csv", "Id,y\n1,0\n2,1\n3,1\n4,0\n");
    let source = "open('submission.csv', 'w').write('Id,y\\n1,0.1\\n2,0.9\\n3,0.2\\n4,0.3\\n')";
    place.notebook("a.ipynb", &[source]);
    let graded = ["--answers", "answers.csv", "--metric", "roc-auc", "--reference-outputs", "none"];
    let ran = verify(&place, &[&["a.ipynb", "--target-score", "0.751"], &graded[..]].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/verify.json");
    assert_eq!((&report["verdict"], &report["runs"][1]["score"]), (&json!("equivalent"), &json!(0.75)));

    let ran = verify(&place, &[&["a.ipynb", "--target-score", "0.9"], &graded[..]].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(place.json("out/verify.json")["verdict"], "different");

    place.notebook("b.ipynb", &["1"]);
    let ran = verify(&place, &[&["b.ipynb", "--target-score", "0.75"], &graded[..]].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("out/verify.json");
    assert_eq!(report["verdict"], "inconclusive");
    assert_eq!(report["runs"][0]["score_problem"], "it wrote no table that looks like a submission");
}

/// `modernize` repeats the run where a score is asked for, and its verdict is over both.
#[test]
fn modernize_judges_the_score() {
    let place = Place::new();
    let source = "import random\nprint('RMSE', 10 + random.gauss(0, 0.001))";
    place.notebook_with_outputs("a.ipynb", &[(source, printed("RMSE 10.0003\n"))]);
    let python = python();
    let arguments = ["modernize", "a.ipynb", "--python", python.to_str().unwrap()];
    let from = ["--score-from", r"RMSE ([\d.]+)", "--metric", "rmse"];
    let ran = place.mlem(&[&arguments[..], &from[..]].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let report = place.json("a.mlem/report.json");
    assert_eq!(report["verdict"], "equivalent", "{}", report["reason"]);
    assert_eq!(
        (&report["score"]["decision"], &report["score"]["reference"]),
        (&json!("equivalent"), &json!(10.0003))
    );
    assert_eq!(report["statistics"]["runs"][0]["recorded"], true);
    assert_eq!(report["statistics"]["varying_outputs"], 1);

    let ran = place.mlem(&[&arguments[..], &from[..], &["--target-score", "12", "--strict"]].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(place.json("a.mlem/report.json")["verdict"], "different");
    let ran = place.mlem(&[&arguments[..], &["--target-score", "12"]].concat());
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
}

/// The old notebook finds Kaggle's `../input` in its own time as well.
#[test]
fn data_lies_where_the_notebook_looks_for_it() {
    let place = Place::new();
    place.write("downloads/train.csv", "Id,y\n1,5\n");
    let source = "print(open('../input/train.csv').read())";
    place.notebook_with_outputs("nb/a.ipynb", &[(source, printed("Id,y\n1,5\n\n"))]);
    let ran = verify(&place, &["nb/a.ipynb", "--data", "downloads"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(place.json("out/verify.json")["outputs"]["same"], 1);
    assert!(!place.path("input").exists());
    let ran = verify(&place, &["nb/a.ipynb", "--data", "nowhere"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--data wants a folder that exists"), "{}", ran.stderr);
}

#[test]
fn what_is_lacking_is_said_before_anything_runs() {
    let place = Place::new();
    place.notebook_with_outputs("a.ipynb", &[("1", json!([]))]);
    let cases: [(&[&str], &str); 9] = [
        (&["a.ipynb", "--target-score", "1"], "where does the score come from?"),
        (&["a.ipynb", "--answers", "a.csv"], "--answers needs --competition or --metric"),
        (&["a.ipynb", "--answers", "nowhere.csv", "--metric", "rmse"], "nowhere.csv"),
        (&["a.ipynb", "--score-from", "("], "--score-from (: "),
        (&["a.ipynb", "--score-from", "x"], "--metric or --margin"),
        (&["a.ipynb", "--score-from", "x", "--metric", "profit"], "no default margin"),
        (&["a.ipynb", "--score-from", "x", "--margin", "1"], "no --target-score"),
        (&["a.ipynb", "--against-past"], "run `mlem modernize` first"),
        (&["nowhere.ipynb"], "nowhere.ipynb"),
    ];
    for (arguments, message) in cases {
        let ran = verify(&place, arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
        assert!(!place.path("out/verify.json").exists());
    }
}
