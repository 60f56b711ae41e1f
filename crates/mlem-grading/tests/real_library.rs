//! The figures of scikit-learn, scipy and pandas on random data with ties, missing values and extremes.
#![cfg(feature = "real-library")]
#![allow(clippy::unwrap_used, reason = "test code")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use mlem_grading::metric::masks::Mask;
use mlem_grading::metric::volumes::{Volume, hausdorff};
use mlem_grading::metric::{boxes, errors};
use mlem_grading::table::{DEFAULT_MAX_BYTES, Table};
use mlem_grading::{Competition, Grader, Metric, Mode};
use serde_json::{Value, json};

/// A Python with the libraries, asked line by line.
struct Libraries {
    process: Child,
    answers: BufReader<ChildStdout>,
}

impl Libraries {
    fn start() -> Libraries {
        let python = std::env::var_os("MLEM_REAL_PYTHON").expect(
            "MLEM_REAL_PYTHON must name a Python with scikit-learn; ./test.sh real makes one and sets it",
        );
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_library.py");
        let mut process =
            Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Libraries { process, answers }
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.process.stdin.as_mut().unwrap(), "{request}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no answer to {request}"))
    }

    /// A number, or why there is none.
    fn number(&mut self, request: &Value) -> Result<f64, String> {
        let answer = self.ask(request);
        match answer["value"].as_str() {
            Some(value) => Ok(value.parse().unwrap()),
            None => Err(answer["error"].as_str().unwrap_or_default().to_owned()),
        }
    }
}

impl Drop for Libraries {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A small generator of its own, so that every run asks the same.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Within 0 and 1, coarse where there shall be ties.
    fn share(&mut self, steps: u64) -> f64 {
        self.below(steps + 1) as f64 / steps as f64
    }

    fn pick<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

fn close(ours: f64, theirs: f64) -> bool {
    ours == theirs
        || (ours.is_nan() && theirs.is_nan())
        || (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0)
}

struct Data {
    folder: tempfile::TempDir,
    answers: PathBuf,
    submission: PathBuf,
}

impl Data {
    fn new() -> Data {
        let folder = tempfile::tempdir().unwrap();
        let (answers, submission) = (folder.path().join("answers.csv"), folder.path().join("submission.csv"));
        Data { folder, answers, submission }
    }

    /// Writes both sides; the rows of the submission run backwards.
    fn write(&self, names: &[String], truth: &[Vec<String>], predicted: &[Vec<String>]) {
        let side = |path: &Path, rows: &[Vec<String>], backwards: bool| {
            let mut text = format!("id,{}\n", names.join(","));
            let mut lines: Vec<String> =
                rows.iter().enumerate().map(|(id, cells)| format!("{id},{}\n", cells.join(","))).collect();
            if backwards {
                lines.reverse();
            }
            lines.iter().for_each(|line| text.push_str(line));
            fs::write(path, text).unwrap();
        };
        side(&self.answers, truth, false);
        side(&self.submission, predicted, true);
    }

    fn ours(&self, metric: Metric) -> Result<f64, String> {
        let competition = Competition::of_metric(metric, "id", Vec::new(), None);
        let grader = Grader::new(&competition, &self.answers, Mode::Mlebench, DEFAULT_MAX_BYTES).unwrap();
        grader.grade(&self.submission).score.map_err(|reason| reason.text)
    }

    fn theirs(&self, libraries: &mut Libraries, metric: Metric) -> Result<f64, String> {
        libraries.number(&json!({"kind": "files", "metric": metric.name(), "answers": self.answers,
            "submission": self.submission}))
    }
}

/// One pair of cells, truth and prediction, for a metric.
fn cells(metric: Metric, random: &mut Random, row: usize, steps: u64) -> (String, String) {
    let text = |value: f64| format!("{value}");
    match metric {
        Metric::RocAuc | Metric::MeanColumnRocAuc | Metric::LogLoss => {
            let label = if row < 2 { row as u64 } else { random.below(2) };
            (label.to_string(), text(random.share(steps)))
        }
        Metric::Accuracy | Metric::ErrorRate | Metric::F1Macro | Metric::QuadraticKappa => {
            let label = random.below(5);
            let predicted = if random.below(3) == 0 { random.below(7) } else { label };
            (label.to_string(), predicted.to_string())
        }
        Metric::Matthews => (random.below(3).to_string(), random.below(3).to_string()),
        Metric::Rmsle => (text(random.share(steps) * 1e6), text(random.share(steps) * 10.0)),
        Metric::Lwlrap => (random.below(2).to_string(), text(random.share(steps))),
        Metric::F1Multilabel | Metric::WordJaccard => {
            let mut words = |least: u64| {
                let words = ["a", "b", "C", "dé", "e f", "ω"];
                (0..random.below(4).max(least)).map(|_| *random.pick(&words)).collect::<Vec<&str>>().join(" ")
            };
            (words(1), words(0))
        }
        _ => {
            let scale = *random.pick(&[1.0, 1.0, 1.0, 1e-9, 1e9]);
            (text((random.share(steps) - 0.5) * scale), text(random.share(steps) - 0.5))
        }
    }
}

#[test]
fn metrics_of_random_data() {
    use Metric::*;
    let single = [
        RocAuc,
        LogLoss,
        Accuracy,
        ErrorRate,
        Rmse,
        Rmsle,
        Mae,
        R2,
        F1Macro,
        F1Multilabel,
        WordJaccard,
        Pearson,
        QuadraticKappa,
        Matthews,
    ];
    let several = [MeanColumnRocAuc, MeanColumnRmse, MeanColumnSpearman, Lwlrap];
    let mut libraries = Libraries::start();
    let mut random = Random(11);
    let data = Data::new();
    let mut compared = 0;
    for (metric, width) in
        single.map(|metric| (metric, 1)).into_iter().chain(several.map(|metric| (metric, 4)))
    {
        for round in 0..15u64 {
            let rows = 5 + random.below(300) as usize;
            let steps = *random.pick(&[2, 10, 1 << 30]);
            let names: Vec<String> = (0..width).map(|column| format!("c{column}")).collect();
            let (mut truth, mut predicted) = (Vec::new(), Vec::new());
            for row in 0..rows {
                let pairs: Vec<_> = (0..width).map(|_| cells(metric, &mut random, row, steps)).collect();
                let (theirs, ours): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
                truth.push(theirs);
                predicted.push(ours);
            }
            // In some rounds a prediction is missing, infinite, or all are the same.
            match round {
                12 => predicted[rows / 2][0] = String::new(),
                13 => predicted[rows / 2][0] = "inf".to_owned(),
                14 => {
                    let same = predicted[0][0].clone();
                    predicted.iter_mut().for_each(|row| row[0] = same.clone());
                }
                _ => {}
            }
            data.write(&names, &truth, &predicted);
            let (ours, theirs) = (data.ours(metric), data.theirs(&mut libraries, metric));
            compared += 1;
            match (&ours, &theirs) {
                (Ok(ours), Ok(theirs)) => {
                    assert!(close(*ours, *theirs), "{} round {round}: {ours} and {theirs}", metric.name());
                }
                (Err(_), Err(_)) => {}
                _ => panic!("{} round {round}: ours {ours:?}, theirs {theirs:?}", metric.name()),
            }
        }
    }
    assert_eq!(compared, 18 * 15);
}

#[test]
fn losses_of_distributions_with_certain_and_impossible_classes() {
    let mut libraries = Libraries::start();
    let mut random = Random(5);
    let data = Data::new();
    let names: Vec<String> = (0..4).map(|column| format!("c{column}")).collect();
    for metric in [Metric::LogLoss, Metric::KlDivergence] {
        for _ in 0..20 {
            let rows = 3 + random.below(60) as usize;
            let (mut truth, mut predicted) = (Vec::new(), Vec::new());
            for _ in 0..rows {
                let label = random.below(4);
                truth.push(
                    (0..4)
                        .map(|class| match metric {
                            Metric::LogLoss => u64::from(class == label).to_string(),
                            _ => (random.below(4) + u64::from(class == label)).to_string(),
                        })
                        .collect(),
                );
                // One class certain, or quarters.
                let certain = random.below(6);
                predicted.push(
                    (0..4)
                        .map(|class| match certain {
                            0..4 => u64::from(class == certain).to_string(),
                            _ => "0.25".to_owned(),
                        })
                        .collect(),
                );
            }
            data.write(&names, &truth, &predicted);
            let (ours, theirs) = (data.ours(metric).unwrap(), data.theirs(&mut libraries, metric).unwrap());
            assert!(close(ours, theirs), "{}: {ours} and {theirs}", metric.name());
        }
    }
}

#[test]
fn a_million_rows_stay_within_1e_9() {
    let mut libraries = Libraries::start();
    let mut random = Random(3);
    let data = Data::new();
    let rows: Vec<(String, String)> =
        (0..1_000_000).map(|row| cells(Metric::LogLoss, &mut random, row, 1 << 30)).collect();
    let (truth, predicted): (Vec<_>, Vec<_>) =
        rows.into_iter().map(|(truth, predicted)| (vec![truth], vec![predicted])).unzip();
    data.write(&["y".to_owned()], &truth, &predicted);
    for metric in [Metric::LogLoss, Metric::Rmse] {
        let (ours, theirs) = (data.ours(metric).unwrap(), data.theirs(&mut libraries, metric).unwrap());
        assert!((ours - theirs).abs() < 1e-9, "{}: {ours} and {theirs}", metric.name());
    }
}

#[test]
fn average_precision_quantiles_and_distances() {
    let mut libraries = Libraries::start();
    let mut random = Random(23);
    for _ in 0..60 {
        let steps = *random.pick(&[3, 1 << 20]);
        let outcomes: Vec<(f64, bool)> =
            (0..20).map(|row| (random.share(steps), row == 0 || random.below(2) == 1)).collect();
        let (scores, truth): (Vec<f64>, Vec<bool>) = outcomes.iter().copied().unzip();
        let theirs = libraries
            .number(&json!({"kind": "average-precision", "truth": truth, "scores": scores}))
            .unwrap();
        assert!(close(boxes::average_precision(outcomes), theirs));
        let share = random.share(20);
        let theirs =
            libraries.number(&json!({"kind": "quantile", "values": scores, "share": share})).unwrap();
        assert!(close(errors::quantile(&scores, share), theirs));
    }
    for _ in 0..30 {
        let shape = (2 + random.below(9), 2 + random.below(7));
        let mut side = || {
            let mut volume = Volume::default();
            let slices: Vec<Value> = (0..4)
                .map(|_| {
                    let text = format!("{} {}", 1 + random.below(shape.0 * shape.1), 1 + random.below(6));
                    let mask = Mask::parse(&text, shape.0 * shape.1).unwrap();
                    // Pixels run down the columns.
                    let is_set = |row: u64, column: u64| {
                        mask.runs().iter().any(|(from, to)| (*from..*to).contains(&(column * shape.0 + row)))
                    };
                    let rows: Vec<Vec<bool>> = (0..shape.0)
                        .map(|row| (0..shape.1).map(|column| is_set(row, column)).collect())
                        .collect();
                    volume.push(shape, [mask].into_iter());
                    json!(rows)
                })
                .collect();
            (volume, slices)
        };
        let ((truth, true_slices), (predicted, our_slices)) = (side(), side());
        let request = json!({"kind": "hausdorff", "truth": true_slices, "predicted": our_slices});
        assert!(close(hausdorff(&predicted, &truth).unwrap(), libraries.number(&request).unwrap()));
    }
}

#[test]
fn files_are_read_as_pandas_reads_them() {
    let mut libraries = Libraries::start();
    let mut random = Random(41);
    let data = Data::new();
    let path = data.folder.path().join("table.csv");
    let cells = [
        "1",
        "-7",
        " 3 ",
        "2.5",
        "1e5",
        "1e999",
        ".5",
        "5.",
        "inf",
        "-Infinity",
        "NA",
        "",
        "nan",
        "None",
        "True",
        "FALSE",
        "true",
        "x",
        "\"a,b\"",
        "\"q\"\"q\"",
        "\"\"",
        "\"5\"",
        "007",
        "1_0",
        "0x1",
        "9223372036854775807",
        "+4",
        "é",
        "N/A",
        "1 2",
        "\"l\nl\"",
    ];
    let mut refused = 0;
    for _ in 0..400 {
        let width = 1 + random.below(4) as usize;
        let line_end = *random.pick(&["\n", "\r\n", "\r"]);
        let mut text = if random.below(5) == 0 { "\u{feff}".to_owned() } else { String::new() };
        let names = ["id", "a", "\"b c\"", "a", ""];
        text.push_str(&(0..width).map(|column| names[column]).collect::<Vec<&str>>().join(","));
        text.push_str(line_end);
        // Few kinds of cells a column, so that all types come up.
        let kinds: Vec<Vec<&str>> =
            (0..width).map(|_| (0..1 + random.below(3)).map(|_| *random.pick(&cells)).collect()).collect();
        for _ in 0..random.below(7) {
            let extra = usize::from(random.below(25) == 0);
            let row: Vec<&str> =
                (0..width + extra).map(|column| *random.pick(&kinds[column.min(width - 1)])).collect();
            write!(text, "{}{line_end}", row.join(",")).unwrap();
        }
        fs::write(&path, &text).unwrap();
        let theirs = libraries.ask(&json!({"kind": "columns", "path": path}));
        let ours = Table::read(&path, DEFAULT_MAX_BYTES).map(|table| {
            let columns = (0..table.names().len()).map(|index| {
                let column = table.column_at(index);
                let cells: Vec<String> =
                    (0..table.rows()).map(|row| column.printed(row).into_owned()).collect();
                json!([table.names()[index], column.kind(), cells])
            });
            columns.collect::<Vec<Value>>()
        });
        match (ours, theirs.get("value")) {
            (Ok(ours), Some(theirs)) => {
                for (ours, theirs) in ours.iter().zip(theirs.as_array().unwrap()) {
                    let is_word = |word: &str, cell: &Value| {
                        cell.as_str().is_some_and(|cell| cell.eq_ignore_ascii_case(word))
                    };
                    let cells = theirs[2].as_array().unwrap();
                    let booleans_with_gaps = cells
                        .iter()
                        .all(|cell| ["true", "false", "nan"].iter().any(|word| is_word(word, cell)));
                    if booleans_with_gaps && theirs[1] == "text" {
                        // pandas makes objects of such a column; here its cells stay text.
                        assert_eq!(ours.to_string().to_lowercase(), theirs.to_string().to_lowercase());
                        continue;
                    }
                    assert_eq!(ours, theirs, "{text:?}");
                }
            }
            (Err(_), None) => refused += 1,
            (ours, theirs) => panic!("{text:?}: ours {ours:?}, theirs {theirs:?}"),
        }
    }
    assert!(refused > 0, "no file was refused");
}
