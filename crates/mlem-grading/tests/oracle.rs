//! Every competition gives the scores that MLE-bench's own graders gave; `oracle/README.md` says how they were made.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::Path;

use mlem_grading::table::DEFAULT_MAX_BYTES;
use mlem_grading::{Competition, Grader, Mode, Outcome};
use serde_json::Value;

/// What MLE-bench's grader said: a number (as text where JSON has none), or nothing.
fn expected(score: &Value) -> Option<f64> {
    match score {
        Value::Null => None,
        Value::String(word) => Some(word.parse().unwrap()),
        number => Some(number.as_f64().unwrap()),
    }
}

fn agree(theirs: Option<f64>, outcome: &Outcome) -> bool {
    match (theirs, &outcome.score) {
        (Some(theirs), Ok(ours)) => {
            theirs == *ours
                || (theirs.is_nan() && ours.is_nan())
                || (theirs - ours).abs() <= 1e-9 * theirs.abs().max(1.0)
        }
        (None, Err(_)) => true,
        _ => false,
    }
}

#[test]
fn all_82_competitions_score_as_mlebench_does() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/cases");
    let folder = tempfile::tempdir().unwrap();
    let (mut scored, mut without, mut different) = (0, 0, Vec::new());
    for competition in Competition::all() {
        let text = fs::read_to_string(cases.join(format!("{}.json", competition.id))).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let answers = folder.path().join("answers");
        fs::write(&answers, document["answers"].as_str().unwrap()).unwrap();
        let grader = Grader::new(competition, &answers, Mode::Mlebench, DEFAULT_MAX_BYTES).unwrap();
        for case in document["cases"].as_array().unwrap() {
            let submission = folder.path().join("submission.csv");
            fs::write(&submission, case["submission"].as_str().unwrap()).unwrap();
            let outcome = grader.grade(&submission);
            let theirs = expected(&case["score"]);
            if theirs.is_some() {
                scored += 1
            } else {
                without += 1
            }
            if !agree(theirs, &outcome) {
                different.push(format!(
                    "{} {}: {theirs:?}, ours {:?}",
                    competition.id, case["name"], outcome.score
                ));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(scored > 400 && without > 400, "{scored} with a score, {without} without");
}
