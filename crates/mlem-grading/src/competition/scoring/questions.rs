//! Natural questions: long and short answers as token ranges.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use crate::competition::Fault;
use crate::table::{Table, python_integer, python_strip};

/// One question of the answers' JSON Lines.
#[derive(Debug, Deserialize)]
pub(crate) struct Question {
    #[serde(deserialize_with = "printed")]
    example_id: String,
    annotations: Vec<Annotation>,
}

#[derive(Debug, Deserialize)]
struct Annotation {
    long_answer: Range,
    short_answers: Vec<Range>,
    yes_no_answer: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Range {
    start_token: i64,
    end_token: i64,
}

/// Ids are numbers or text; the submission holds them as text.
fn printed<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::String(text) => Ok(text),
        serde_json::Value::Number(number) => Ok(number.to_string()),
        other => Err(serde::de::Error::custom(format!("an id cannot be {other}"))),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Prediction<'p> {
    Range(Range),
    Word(&'p str),
}

fn prediction(cell: &str) -> Option<Prediction<'_>> {
    let cell = python_strip(cell);
    if let Some((start, end)) = cell.split_once(':')
        && !end.contains(':')
    {
        let range = Range { start_token: python_integer(start)?, end_token: python_integer(end)? };
        return Some(Prediction::Range(range));
    }
    matches!(cell, "YES" | "NO" | "").then_some(Prediction::Word(cell))
}

impl Annotation {
    fn accepts(&self, is_long: bool, prediction: &Prediction<'_>) -> bool {
        let long = [self.long_answer];
        let ranges: &[Range] = match (is_long, self.long_answer.start_token) {
            (true, -1) => &[],
            (true, _) => &long,
            (false, _) => &self.short_answers,
        };
        let word = (!is_long && self.yes_no_answer != "NONE").then_some(self.yes_no_answer.as_str());
        match prediction {
            Prediction::Range(range) => ranges.contains(range),
            Prediction::Word("") => ranges.is_empty() && word.is_none(),
            Prediction::Word(given) => word == Some(*given),
        }
    }
}

/// The share of rows whose prediction is among the valid answers, or is rightly empty.
pub(crate) fn answer_accuracy(submission: &Table, questions: &[Question]) -> Result<f64, Fault> {
    let refuse = |text: String| Err(Fault::Submission(text));
    if questions.is_empty() {
        return Err(Fault::Answers("there are no questions".to_owned()));
    }
    if submission.rows() != 2 * questions.len() {
        return refuse(format!(
            "{} rows where {} questions need {}",
            submission.rows(),
            questions.len(),
            2 * questions.len()
        ));
    }
    let (Some(ids), Some(predictions)) =
        (submission.column("example_id"), submission.column("PredictionString"))
    else {
        return refuse("the columns `example_id` and `PredictionString` must be there".to_owned());
    };
    let known: HashMap<&str, &Question> =
        questions.iter().map(|question| (question.example_id.as_str(), question)).collect();
    let mut seen = HashSet::new();
    let mut right = 0;
    for row in 0..submission.rows() {
        let id = ids.printed(row);
        let (stem, is_long) = match (id.strip_suffix("_long"), id.strip_suffix("_short")) {
            (Some(stem), _) => (stem, true),
            (None, Some(stem)) => (stem, false),
            (None, None) => {
                return refuse(format!("row {}: id `{id}` ends in neither _long nor _short", row + 1));
            }
        };
        let Some(question) = known.get(stem) else {
            return refuse(format!("row {}: id `{id}` is not among the answers' ids", row + 1));
        };
        if !seen.insert(id.clone().into_owned()) {
            return refuse(format!("row {}: id `{id}` appears again", row + 1));
        }
        let cell = if predictions.is_missing(row) { "".into() } else { predictions.printed(row) };
        let Some(prediction) = prediction(&cell) else {
            return refuse(format!(
                "row {}: `{cell}` is no answer; `start:end`, YES, NO or nothing is wanted",
                row + 1
            ));
        };
        let Some(annotation) = question.annotations.first() else {
            return Err(Fault::Answers(format!("question {} has no annotation", question.example_id)));
        };
        right += usize::from(annotation.accepts(is_long, &prediction));
    }
    Ok(right as f64 / submission.rows() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions() -> Vec<Question> {
        let lines = [
            r#"{"example_id": 7, "annotations": [{"long_answer": {"start_token": 3, "end_token": 9}, "short_answers": [], "yes_no_answer": "YES"}]}"#,
            r#"{"example_id": "-8", "annotations": [{"long_answer": {"start_token": -1, "end_token": -1}, "short_answers": [{"start_token": 4, "end_token": 5}], "yes_no_answer": "NONE"}]}"#,
        ];
        lines.map(|line| serde_json::from_str(line).unwrap()).into()
    }

    fn graded(text: &str) -> Result<f64, Fault> {
        answer_accuracy(&Table::parse(text.as_bytes().to_vec()).unwrap(), &questions())
    }

    #[test]
    fn ranges_words_and_nothing() {
        let head = "example_id,PredictionString\n";
        assert_eq!(graded(&format!("{head}7_long,3:9\n7_short,YES\n-8_long,\n-8_short,4:5\n")), Ok(1.0));
        assert_eq!(graded(&format!("{head}7_long,\n7_short,NO\n-8_long,1:2\n-8_short, 4:5 \n")), Ok(0.25));
    }

    #[test]
    fn what_is_refused() {
        let head = "example_id,PredictionString\n";
        for (rows, word) in [
            ("7_long,\n", "1 rows"),
            ("7_long,\n7_long,\n-8_long,\n-8_short,\n", "appears again"),
            ("7_long,\n7_short,\n-9_long,\n-8_short,\n", "not among"),
            ("7_long,maybe\n7_short,\n-8_long,\n-8_short,\n", "`maybe` is no answer"),
        ] {
            let Err(Fault::Submission(reason)) = graded(&format!("{head}{rows}")) else { panic!("{rows}") };
            assert!(reason.contains(word), "{reason}");
        }
    }
}
