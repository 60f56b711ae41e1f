//! What strict mode refuses or matches otherwise where MLE-bench looks away.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::fs;

use mlem_grading::table::DEFAULT_MAX_BYTES;
use mlem_grading::{Competition, Grader, Mode, ReasonKind};

/// A score in MLE-bench's mode and in strict mode; text is why there is none.
#[track_caller]
fn graded(competition: &str, answers: &str, submission: &str) -> [Result<f64, String>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let (answers_path, path) = (folder.path().join("answers.csv"), folder.path().join("submission.csv"));
    fs::write(&answers_path, answers).unwrap();
    fs::write(&path, submission).unwrap();
    let competition = Competition::find(competition).unwrap();
    [Mode::Mlebench, Mode::Strict].map(|mode| {
        let grader = Grader::new(competition, &answers_path, mode, DEFAULT_MAX_BYTES).unwrap();
        grader.grade(&path).score.map_err(|reason| {
            assert_eq!(reason.kind, ReasonKind::Invalid, "{}", reason.text);
            reason.text
        })
    })
}

/// MLE-bench's mode gives `score`; strict mode refuses with these words.
#[track_caller]
fn refused(competition: &str, answers: &str, submission: &str, score: f64, words: &str) {
    let [mlebench, strict] = graded(competition, answers, submission);
    let mlebench = mlebench.unwrap();
    assert!((mlebench - score).abs() < 1e-12 || (mlebench.is_nan() && score.is_nan()), "{mlebench}");
    let reason = strict.unwrap_err();
    assert!(reason.contains(words), "{reason}");
}

/// Both modes give a score, and not the same.
#[track_caller]
fn differs(competition: &str, answers: &str, submission: &str, mlebench: f64, strict: f64) {
    let scores = graded(competition, answers, submission).map(Result::unwrap);
    for (score, expected) in scores.into_iter().zip([mlebench, strict]) {
        assert!((score - expected).abs() < 1e-12, "{scores:?}");
    }
}

#[test]
fn ids_that_mlebench_never_compares() {
    let quest = "qa_id,a,b\n1,1,1\n2,2,2\n3,3,3\n";
    refused(
        "google-quest-challenge",
        quest,
        "qa_id,a,b\n7,1,1\n8,2,2\n9,3,3\n",
        1.0,
        "not among the answers' ids",
    );
    let taxi = "key,fare_amount\nx,1\ny,2\n";
    refused("new-york-city-taxi-fare-prediction", taxi, "key,fare_amount\nx,1\nx,2\n", 0.0, "appears again");
}

#[test]
fn rows_that_mlebench_matches_by_their_place() {
    let answers = "id,formation_energy_ev_natom,bandgap_energy_ev\n1,0,0\n2,1,1\n";
    let swapped = "id,formation_energy_ev_natom,bandgap_energy_ev\n2,1,1\n1,0,0\n";
    differs("nomad2018-predict-transparent-conductors", answers, swapped, 2f64.ln(), 0.0);

    let trip = |rows: &str| format!("tripId,UnixTimeMillis,LatitudeDegrees,LongitudeDegrees\n{rows}");
    let answers = trip("a,1,0,0\na,2,0,90\n");
    let quarter = 6_371_000.0 * std::f64::consts::FRAC_PI_2;
    let [mlebench, strict] =
        graded("smartphone-decimeter-2022", &answers, &trip("a,2,0,90\na,1,0,0\n")).map(Result::unwrap);
    assert!((mlebench - quarter).abs() < 1e-6 && strict == 0.0, "{mlebench} {strict}");
    let scores = graded("smartphone-decimeter-2022", &answers, &trip("a,1,0,0\na,3,0,90\n"));
    assert_eq!(scores[0], Ok(0.0));
    assert!(scores[1].as_ref().unwrap_err().contains("no such time"));

    let slices = |rows: &str, more: &str| format!("id,class,predicted{more}\n{rows}");
    let answers =
        slices("c1_day1_slice_1,a,1 2,4,4\nc1_day1_slice_1,b,9 2,4,4\n", ",image_height,image_width");
    let swapped = slices("c1_day1_slice_1,b,9 2\nc1_day1_slice_1,a,1 2\n", "");
    // No pixel of a row agrees, though the slice as a whole does.
    differs("uw-madison-gi-tract-image-segmentation", &answers, &swapped, 0.6, 1.0);
}

#[test]
fn columns_that_mlebench_takes_by_their_place() {
    let names = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"];
    let file = |names: &[&str], rows: [[u8; 6]; 2]| {
        let row = |id: usize| rows[id].map(|cell| cell.to_string()).join(",");
        format!("id,{}\n0,{}\n1,{}\n", names.join(","), row(0), row(1))
    };
    let answers = file(&names, [[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0]]);
    let mut swapped = names;
    swapped.swap(0, 1);
    let submission = file(&swapped, [[1, 0, 0, 1, 0, 1], [0, 1, 1, 0, 1, 0]]);
    differs("jigsaw-toxic-comment-classification-challenge", &answers, &submission, 4.0 / 6.0, 1.0);
}

#[test]
fn rows_that_mlebench_drops_by_their_place() {
    let columns = "id_seqpos,reactivity,deg_Mg_pH10,deg_Mg_50C,deg_pH10,deg_50C";
    let answers = format!("{columns},keep\na,1,1,1,1,1,True\nb,2,2,2,2,2,False\n");
    // In the other order the row that is kept is the other one.
    let submission = format!("{columns}\nb,2,2,2,0,0\na,1,1,1,0,0\n");
    differs("stanford-covid-vaccine", &answers, &submission, 1.0, 0.0);
}

#[test]
fn predictions_that_are_missing() {
    let answers = "Patient_Week,Patient,FVC\nP_1,P,2000\nP_2,P,2000\n";
    let perfect = -(std::f64::consts::SQRT_2 * 70.0).ln();
    refused(
        "osic-pulmonary-fibrosis-progression",
        answers,
        "Patient_Week,FVC,Confidence\nP_1,2000,70\n",
        perfect,
        "1 of the graded rows are not in the submission",
    );
    let answers = "prediction_id,cancer\na,1\nb,0\n";
    refused(
        "rsna-breast-cancer-detection",
        answers,
        "prediction_id,cancer\na,\nb,0\n",
        0.0,
        "`cancer` is missing",
    );
    let words = "id,after\na,nan\nb,x\n";
    refused(
        "text-normalization-challenge-english-language",
        words,
        "id,after\na,\nb,x\n",
        1.0,
        "`after` is missing",
    );
}

#[test]
fn repeated_rows_and_half_a_run() {
    let answers = "segment_id,time_to_eruption\n1,10\n2,20\n";
    let twice = "segment_id,time_to_eruption\n1,10\n2,26\n2,20\n";
    refused("predict-volcanic-eruptions-ingv-oe", answers, twice, 2.0, "appears again");
    let answers = "Id,Predicted,width,height\na,1 3 10 3,5,5\n";
    refused("vesuvius-challenge-ink-detection", answers, "Id,Predicted\na,1 3 10\n", 1.0, "no pairs");
}

#[test]
fn labels_of_another_kind() {
    let answers = "fname,label\na,yes\nb,no\nc,up\n";
    refused(
        "tensorflow-speech-recognition-challenge",
        answers,
        "fname,label\na,1\nb,2\nc,3\n",
        0.0,
        "integers",
    );
}
