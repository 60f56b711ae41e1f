//! `mlem grade`, driven as a user does, on real files.

#![allow(clippy::unwrap_used, reason = "test code")]

mod support;

use std::fs::{self, File};

use serde_json::{Value, json};
use support::{Place, Ran};

const ANSWERS: &str = "id,has_cactus\na,1\nb,0\nc,1\nd,0\n";
const CACTUS: [&str; 4] = ["--competition", "aerial-cactus-identification", "--answers", "answers.csv"];

fn place() -> Place {
    let place = Place::new();
    place.write("answers.csv", ANSWERS);
    place.write("submission.csv", "id,has_cactus\nd,0.25\na,0.75\nb,0.5\nc,0.5\n");
    place
}

fn grade(place: &Place, submission: &str, more: &[&str]) -> Ran {
    place.mlem(&[&["grade", submission, "--format", "json"], more].concat())
}

fn report(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}\n{}", ran.stdout, ran.stderr))
}

#[test]
fn a_submission_gets_its_score_and_its_medal() {
    let place = place();
    place.write("leaderboard.csv", "teamName,score\na,0.99\nb,0.9\nc,0.875\nd,0.5\ne,0.1\n");
    let ran = grade(&place, "submission.csv", &[&CACTUS[..], &["--leaderboard", "leaderboard.csv"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let report = report(&ran);
    assert_eq!(report["score"], 0.875);
    assert_eq!(report["score_raw"], 0.875);
    assert_eq!((&report["rows"], &report["reason"]), (&json!(4), &Value::Null));
    assert_eq!(report["is_lower_better"], false);
    assert_eq!(
        (&report["gold_medal"], &report["silver_medal"], &report["bronze_medal"]),
        (&json!(false), &json!(false), &json!(false))
    );
    assert_eq!(report["bronze_threshold"], 0.9);
    let given = ["--thresholds", "0.9,0.875,0.8,0.5"];
    let report = self::report(&grade(&place, "submission.csv", &[&CACTUS[..], &given].concat()));
    assert_eq!(
        (&report["silver_medal"], &report["any_medal"], &report["above_median"]),
        (&json!(true), &json!(true), &json!(true))
    );
    let text = place.mlem(&[&["grade", "submission.csv"], &CACTUS[..]].concat());
    assert_eq!(text.stdout, "submission.csv: 0.875 (roc-auc, higher is better, 4 rows)\n");
}

#[test]
fn what_cannot_be_graded_has_a_reason_of_a_kind_and_exit_code_1() {
    let place = place();
    place.write("ragged.csv", "id,has_cactus\na,0.5\nb,0.5,0.5\n");
    place.write("latin.csv", b"id,has_cactus\n\xe9,0.5\n");
    place.write("empty.csv", "");
    place.write("twice.csv", "id,has_cactus\na,0.5\nb,0.5\na,0.5\nd,0.5\n");
    place.write("range.csv", "id,has_cactus\na,0.5\nb,0.5\nc,1.5\nd,0.5\n");
    place.write("table.txt", "id,has_cactus\na,0.5\n");
    File::create(place.path("huge.csv")).unwrap().set_len(2 << 30).unwrap();
    for (file, kind, words) in [
        ("ragged.csv", "unreadable", "line 3 has 3 cells where 2 are expected"),
        ("latin.csv", "unreadable", "byte 14 (line 2) is not UTF-8"),
        ("empty.csv", "unreadable", "the file is empty"),
        ("huge.csv", "unreadable", "--max-size"),
        ("twice.csv", "invalid", "row 3: id `a` appears again, first at row 1"),
        ("range.csv", "invalid", "row 3: `has_cactus` is 1.5"),
        ("table.txt", "missing", "must be called .csv"),
        ("absent.csv", "missing", "no such file"),
    ] {
        let ran = grade(&place, file, &CACTUS);
        assert_eq!(ran.code, Some(1), "{file}: {}", ran.stderr);
        let report = report(&ran);
        assert_eq!(report["reason_kind"], kind, "{file}");
        assert!(report["reason"].as_str().unwrap().contains(words), "{file}: {}", report["reason"]);
        assert_eq!((&report["score"], &report["valid_submission"]), (&Value::Null, &json!(false)), "{file}");
        assert_eq!(report["submission_exists"], kind != "missing", "{file}");
    }
}

#[test]
fn what_is_asked_wrongly_ends_with_exit_code_2() {
    let place = place();
    for (arguments, words) in [
        (
            vec!["grade", "submission.csv", "--competition", "cactus", "--answers", "answers.csv"],
            "aerial-cactus-identification",
        ),
        (vec!["grade", "submission.csv", "--metric", "auc", "--answers", "answers.csv"], "roc-auc"),
        (
            vec!["grade", "submission.csv", "--metric", "coco-map", "--answers", "answers.csv"],
            "--competition",
        ),
        (
            vec!["grade", "submission.csv", "--competition", "AI4Code", "--answers", "absent.csv"],
            "absent.csv: no such file",
        ),
        (vec!["grade", "submission.csv", "--answers", "answers.csv"], "--metric NAME"),
        (vec!["grade", "submission.csv", "--metric", "rmse"], "--answers"),
        (vec!["grade", ".", "--data", ".", "--out", "graded"], "--competition"),
    ] {
        let ran = place.mlem(&arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn any_other_data_by_its_metric() {
    let place = Place::new();
    place.write("truth.csv", "key,price,area\n1,10,1\n2,20,2\n3,30,3\n");
    place.write("guess.csv", "key,price,area\n3,30,3\n2,20,5\n1,13,1\n");
    let of = |more: &[&str]| {
        report(&grade(&place, "guess.csv", &[&["--answers", "truth.csv", "--metric"], more].concat()))
    };
    assert_eq!(of(&["mae", "--id", "key", "--target", "price"])["score"], 1.0);
    assert_eq!(of(&["mean-column-rmse"])["score"], 1.73205);
    let several = of(&["rmse"]);
    assert_eq!(several["reason_kind"], "internal");
    assert!(several["reason"].as_str().unwrap().contains("--target"));
}

#[test]
fn strict_mode_refuses_what_mlebench_lets_pass() {
    let place = Place::new();
    place.write("test.csv", "key,fare_amount\n2015-01-01 a,10\n2015-01-01 b,20\n");
    place.write("guess.csv", "key,fare_amount\n2016-01-01 a,10\n2016-01-01 b,20\n");
    let taxi = ["--competition", "new-york-city-taxi-fare-prediction", "--answers", "test.csv"];
    assert_eq!(report(&grade(&place, "guess.csv", &taxi))["score"], 0.0);
    let strict = grade(&place, "guess.csv", &[&taxi[..], &["--strict"]].concat());
    assert_eq!((strict.code, &report(&strict)["reason_kind"]), (Some(1), &json!("invalid")));
}

#[test]
fn no_bare_nan_in_the_report() {
    let place = Place::new();
    place.write("test.csv", "id,score\na,0\nb,1\n");
    place.write("constant.csv", "id,score\na,0.5\nb,0.5\n");
    let ran = grade(
        &place,
        "constant.csv",
        &["--competition", "us-patent-phrase-to-phrase-matching", "--answers", "test.csv"],
    );
    assert_eq!(ran.code, Some(0));
    let report = report(&ran);
    assert_eq!((&report["score"], &report["score_raw"]), (&Value::Null, &json!("NaN")));
    assert_eq!(report["valid_submission"], true);
}

#[test]
fn the_submission_is_found_among_what_a_notebook_wrote_100_times_the_same() {
    let place = place();
    place.write("sample.csv", "id,has_cactus\na,0\nb,0\nc,0\nd,0\n");
    place.write("run/features.csv", "id,f1,f2\na,1,2\nb,1,2\n");
    place.write("run/oof.csv", "id,has_cactus\nx,0.5\ny,0.5\n");
    place.write("run/nested/final.csv", "id,has_cactus\na,1\nb,0\nc,1\nd,0\n");
    place.write("run/submission.csv", "id,has_cactus\na,0.9\n");
    let run = || grade(&place, "run", &[&CACTUS[..], &["--sample", "sample.csv"]].concat());
    let first = report(&run());
    assert_eq!((&first["submission_path"], &first["score"]), (&json!("run/nested/final.csv"), &json!(1.0)));
    assert!(first["chosen"]["why"].as_str().unwrap().contains("the same ids"), "{}", first["chosen"]);
    assert_eq!(first["chosen"]["candidates"].as_array().unwrap().len(), 4);
    for _ in 1..100 {
        assert_eq!(report(&run())["chosen"], first["chosen"]);
    }
}

#[test]
fn a_batch_goes_on_whatever_one_of_it_is() {
    let place = Place::new();
    let prepared = "data/aerial-cactus-identification/prepared/";
    place.write(&format!("{prepared}private/test.csv"), ANSWERS);
    place.write(&format!("{prepared}public/sample_submission.csv"), "id,has_cactus\na,0\nb,0\nc,0\nd,0\n");
    let runs = "runs/aerial-cactus-identification/";
    place.write(&format!("{runs}good.csv"), ANSWERS);
    place.write(&format!("{runs}ragged.csv"), "id,has_cactus\na,1\nb,1,1\n");
    place.write(&format!("{runs}latin.csv"), b"\xff\xfe");
    place.write(&format!("{runs}notebook/submission.csv"), "id,has_cactus\na,0\nb,0\nc,1\nd,0\n");
    place.write(&format!("{runs}notebook/other.csv"), "x\n1\n");
    place.write("runs/AI4Code/unprepared.csv", "id,cell_order\n");
    let ran = place.mlem(&["grade", "runs", "--data", "data", "--out", "graded", "-j", "2"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let grades = place.json("graded/grades.json");
    assert_eq!((&grades["total_runs"], &grades["total_valid_submissions"]), (&json!(5), &json!(2)));
    let reports = grades["competition_reports"].as_array().unwrap();
    let kinds: Vec<&Value> = reports.iter().map(|report| &report["reason_kind"]).collect();
    assert_eq!(
        kinds,
        [&json!("missing"), &Value::Null, &json!("unreadable"), &Value::Null, &json!("unreadable")]
    );
    assert!(reports[0]["reason"].as_str().unwrap().contains("mlebench prepare -c AI4Code"));
    let scores = place.json("graded/csv_score.json");
    let fields = scores["aerial-cactus-identification/good"]["score"].as_object().unwrap();
    assert_eq!((fields.len(), &fields["score"]), (16, &json!(1.0)));
    assert_eq!(scores["aerial-cactus-identification/notebook"]["score"]["score"], 0.75);
    assert!(scores["AI4Code/unprepared"]["score"]["score"].is_null());
}

#[test]
fn a_list_in_mlebench_s_format() {
    let place = Place::new();
    place.write("data/aerial-cactus-identification/prepared/private/test.csv", ANSWERS);
    place.write("good.csv", ANSWERS);
    let line = |path: Value| {
        json!({"competition_id": "aerial-cactus-identification", "submission_path": path}).to_string()
    };
    place.write("list.jsonl", format!("# a comment\n{}\n{}\n", line(json!("good.csv")), line(Value::Null)));
    let ran = place.mlem(&["grade", "list.jsonl", "--data", "data", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let grades = report(&ran);
    assert_eq!((&grades["total_runs"], &grades["total_runs_with_submissions"]), (&json!(2), &json!(1)));
}

/// Grades a file with a grader of the user's own in `python`.
fn graded_by(place: &Place, python: &std::path::Path, file: &str) -> Value {
    let arguments =
        ["grade", file, "--format", "json", "--answers", "answers.csv", "--grader", "graders/grade.py"];
    let mut command = place.command(&arguments);
    command.arg("--lower-is-better").arg("--python").arg(python).env("KEY", "secret");
    report(&support::ran(command.output().unwrap()))
}

#[test]
fn a_grader_that_cannot_run_is_the_result() {
    let place = place();
    place.write("graders/grade.py", "import absent_module\n");
    let report = graded_by(&place, &support::python(), "submission.csv");
    assert_eq!(report["reason_kind"], "internal");
    assert!(report["reason"].as_str().unwrap().contains("absent_module"), "{}", report["reason"]);
    let report = graded_by(&place, std::path::Path::new("absent/python"), "submission.csv");
    assert!(report["reason"].as_str().unwrap().contains("absent/python"), "{}", report["reason"]);
}

#[cfg(feature = "real-library")]
#[test]
fn a_grader_of_the_user_s_own_runs_confined() {
    let place = place();
    place.write(
        "graders/grade.py",
        "import os\nfrom mlebench.grade_helpers import InvalidSubmissionError\n\n\
         def grade(submission, answers):\n    print('noise')\n    \
         if 'KEY' in os.environ: raise RuntimeError('sees the environment')\n    \
         if len(submission) != len(answers): raise InvalidSubmissionError('too short')\n    \
         if submission.has_cactus[0] == 9: raise ValueError('nine')\n    \
         return submission.has_cactus.sum()\n",
    );
    place.write("short.csv", "id,has_cactus\na,1\n");
    place.write("nine.csv", "id,has_cactus\na,9\nb,0\nc,0\nd,0\n");
    let python = std::path::PathBuf::from(
        std::env::var_os("MLEM_REAL_PYTHON").expect("MLEM_REAL_PYTHON must name a Python with pandas"),
    );
    let good = graded_by(&place, &python, "submission.csv");
    assert_eq!((&good["score"], &good["is_lower_better"]), (&json!(2.0), &json!(true)), "{good}");
    let short = graded_by(&place, &python, "short.csv");
    assert_eq!((&short["reason_kind"], &short["reason"]), (&json!("invalid"), &json!("too short")));
    let nine = graded_by(&place, &python, "nine.csv");
    assert_eq!(nine["reason_kind"], "internal");
    assert!(nine["reason"].as_str().unwrap().contains("ValueError: nine"), "{}", nine["reason"]);
}

#[test]
fn nothing_is_written_without_out() {
    let place = place();
    let before = fs::read_dir(place.path("")).unwrap().count();
    grade(&place, "submission.csv", &CACTUS);
    assert_eq!(fs::read_dir(place.path("")).unwrap().count(), before);
}
