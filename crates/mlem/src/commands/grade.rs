//! `mlem grade`: one submission or many, with medals where a leaderboard is given.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use mlem_grading::table::{HIGHEST_MAX_BYTES, Table};
use mlem_grading::{
    Aggregate, Competition, Direction, Entry, External, Grader, Judge, Leaderboards, Metric, Mode, Prepared,
    Report, Sample, Thresholds, csv_score, entries_of_folder, entries_of_list, grade_all,
};

use crate::arguments::{Format, Grade};
use crate::console;
use crate::failure::Failure;
use crate::inputs::extension;

/// With what a submission is graded.
enum Way {
    /// The one competition, metric or grader that was named with its answers.
    Named(Box<Judge>),
    /// Prepared competitions, and the one that was named, if one was.
    Prepared(Prepared, Option<String>),
}

pub(crate) fn run(arguments: &Grade) -> Result<ExitCode, Failure> {
    let way = way(arguments)?;
    let is_list = extension(&arguments.submission) == "jsonl";
    if arguments.out.is_none() && !is_list {
        let report = match &way {
            Way::Named(judge) => judge.grade(&arguments.submission),
            Way::Prepared(prepared, Some(competition)) => {
                prepared.grade(competition, Some(&arguments.submission))
            }
            Way::Prepared(_, None) => {
                return Err(Failure::Usage("name the competition with --competition".to_owned()));
            }
        };
        match arguments.format {
            Format::Json => console::json(&report),
            Format::Text => print(&report),
        }
        return Ok(ExitCode::from(u8::from(!report.valid_submission)));
    }
    let mut entries = if is_list {
        entries_of_list(&arguments.submission)?
    } else {
        entries_of_folder(&arguments.submission)?
    };
    assign(&mut entries, &way)?;
    let reports = grade_all(&entries, arguments.jobs, |entry| match (&way, &entry.path) {
        (Way::Named(judge), Some(path)) => judge.grade(path),
        (Way::Named(judge), None) => judge.grade(Path::new("")),
        (Way::Prepared(prepared, _), path) => {
            prepared.grade(entry.competition.as_deref().unwrap_or_default(), path.as_deref())
        }
    })?;
    let lacking = reports.iter().filter(|report| !report.valid_submission).count();
    let scores = csv_score(&entries, &reports);
    if arguments.format == Format::Text {
        for (entry, report) in entries.iter().zip(&reports) {
            console::line(&format!("{}: {}", entry.name, summary(report)));
        }
        console::note(&format!("{} submissions, {lacking} without a score", reports.len()));
    }
    let aggregate = Aggregate::new(reports);
    if let Some(folder) = &arguments.out {
        std::fs::create_dir_all(folder).map_err(|error| Failure::path(folder, error.to_string()))?;
        write(&folder.join("grades.json"), &aggregate)?;
        write(&folder.join("csv_score.json"), &scores)?;
    }
    if arguments.format == Format::Json {
        console::json(&aggregate);
    }
    Ok(ExitCode::from(u8::from(lacking > 0)))
}

fn way(arguments: &Grade) -> Result<Way, Failure> {
    let mode = if arguments.strict { Mode::Strict } else { Mode::Mlebench };
    let max_bytes = arguments.max_size.saturating_mul(1 << 20).min(HIGHEST_MAX_BYTES);
    let known = arguments.competition.as_deref().map(competition).transpose()?;
    let direction = known.map_or(Direction::Higher, |known| known.direction);
    if let Some(data) = &arguments.data {
        let leaderboards = leaderboards(arguments, direction, max_bytes)?;
        let prepared = Prepared::new(data, leaderboards, mode, max_bytes);
        return Ok(Way::Prepared(prepared, arguments.competition.clone()));
    }
    let Some(answers) = &arguments.answers else {
        return Err(Failure::Usage(
            "name the answers with --answers, or prepared data with --data".to_owned(),
        ));
    };
    let (name, metric, direction, grader) = if let Some(grader) = &arguments.grader {
        let memory = arguments.memory.map(|mebibytes| mebibytes << 20);
        let timeout = Duration::from_secs_f64(arguments.timeout);
        let external = External::new(grader, answers, &arguments.python, timeout, memory)?;
        let direction = if arguments.lower_is_better { Direction::Lower } else { Direction::Higher };
        (String::new(), "grader".to_owned(), direction, Grader::external(external, max_bytes))
    } else if let Some(name) = &arguments.metric {
        let metric = metric(name)?;
        let id = match &arguments.id {
            Some(id) => id.clone(),
            None => first_column(answers, max_bytes)?,
        };
        let competition = Competition::of_metric(metric, &id, arguments.target.clone(), arguments.k);
        let grader = Grader::new(&competition, answers, mode, max_bytes)?;
        (String::new(), name.clone(), metric.direction(), grader)
    } else if let Some(competition) = known {
        let grader = Grader::new(competition, answers, mode, max_bytes)?;
        (competition.id.clone(), competition.metric.name().to_owned(), competition.direction, grader)
    } else {
        return Err(Failure::Usage(
            "say how to grade: --competition ID, --metric NAME, or --grader grade.py".to_owned(),
        ));
    };
    let sample = arguments.sample.as_ref().map(|path| read(path, max_bytes)).transpose()?;
    let thresholds = match leaderboards(arguments, direction, max_bytes)? {
        Leaderboards::Of(thresholds) => Some(thresholds),
        Leaderboards::None => None,
        Leaderboards::Folder(folder) => {
            let file = folder.join(&name).join("leaderboard.csv");
            Some(read_leaderboard(&file, max_bytes)?)
        }
    };
    Ok(Way::Named(Box::new(Judge {
        competition: name,
        metric,
        direction,
        mode,
        grader,
        sample: sample.map(Sample::new),
        thresholds,
        max_bytes,
    })))
}

pub(crate) fn competition(id: &str) -> Result<&'static Competition, Failure> {
    Competition::find(id).ok_or_else(|| {
        let near =
            Competition::all().iter().map(|known| known.id.as_str()).filter(|known| known.contains(id));
        let near: Vec<&str> = near.take(3).collect();
        let hint = if near.is_empty() {
            "docs/grading.md lists the known ones; --metric and --grader grade any other data".to_owned()
        } else {
            format!("is it {}?", near.join(", or "))
        };
        Failure::Usage(format!("no competition is called `{id}`; {hint}"))
    })
}

pub(crate) fn metric(name: &str) -> Result<Metric, Failure> {
    let general: Vec<&str> =
        Metric::ALL.iter().filter(|metric| metric.is_general()).map(|metric| metric.name()).collect();
    match Metric::find(name) {
        Some(metric) if metric.is_general() => Ok(metric),
        Some(_) => {
            Err(Failure::Usage(format!("`{name}` needs its competition's own columns; use --competition")))
        }
        None => {
            Err(Failure::Usage(format!("no metric is called `{name}`; there are {}", general.join(", "))))
        }
    }
}

fn read(path: &Path, max_bytes: u64) -> Result<Table, Failure> {
    Table::read(path, max_bytes).map_err(|error| Failure::path(path, error.to_string()))
}

pub(crate) fn first_column(answers: &Path, max_bytes: u64) -> Result<String, Failure> {
    // A table that was read has a header of at least one column.
    Ok(read(answers, max_bytes)?.names().first().cloned().unwrap_or_default())
}

fn read_leaderboard(path: &Path, max_bytes: u64) -> Result<Thresholds, Failure> {
    Thresholds::read(path, max_bytes).map_err(|error| Failure::path(path, error.to_string()))
}

fn leaderboards(arguments: &Grade, direction: Direction, max_bytes: u64) -> Result<Leaderboards, Failure> {
    if let Some([gold, silver, bronze, median]) = arguments.thresholds {
        let is_lower_better = direction == Direction::Lower;
        return Ok(Leaderboards::Of(Thresholds { gold, silver, bronze, median, is_lower_better }));
    }
    match &arguments.leaderboard {
        None => Ok(Leaderboards::None),
        Some(path) if path.is_dir() => Ok(Leaderboards::Folder(path.clone())),
        Some(path) => Ok(Leaderboards::Of(read_leaderboard(path, max_bytes)?)),
    }
}

/// Gives every entry its competition.
fn assign(entries: &mut [Entry], way: &Way) -> Result<(), Failure> {
    let Way::Prepared(_, named) = way else { return Ok(()) };
    for entry in entries {
        if entry.competition.is_none() {
            entry.competition = named.clone();
        }
        if entry.competition.is_none() {
            return Err(Failure::Usage(format!(
                "{}: of which competition? Put it into a folder called like it, or name it with --competition",
                entry.name
            )));
        }
    }
    Ok(())
}

fn write<T: serde::Serialize>(path: &Path, value: &T) -> Result<(), Failure> {
    // Reports are structs of strings, numbers and lists, which always serialise.
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    mlem_notebook::write_atomic(path, text.as_bytes()).map_err(|error| Failure::path(path, error.to_string()))
}

fn print(report: &Report) {
    console::line(&format!("{}: {}", report.submission_path, summary(report)));
    if let Some(chosen) = &report.chosen {
        console::line(&format!("  graded since {}", chosen.why));
        for candidate in &chosen.candidates {
            console::line(&format!("  {}: {}", candidate.path, candidate.agreement));
        }
    }
}

fn summary(report: &Report) -> String {
    if !report.valid_submission {
        let kind = report.reason_kind.map_or(String::new(), |kind| {
            serde_json::to_value(kind)
                .ok()
                .and_then(|kind| kind.as_str().map(str::to_owned))
                .unwrap_or_default()
        });
        return format!("no score ({kind}): {}", report.reason.as_deref().unwrap_or_default());
    }
    let score = report.score.map_or("NaN".to_owned(), |score| score.to_string());
    let better = if report.is_lower_better { "lower" } else { "higher" };
    let rows = report.rows.map_or(String::new(), |rows| format!(", {rows} rows"));
    let medal = match (report.gold_medal, report.silver_medal, report.bronze_medal, report.above_median) {
        (true, ..) => "; gold medal",
        (_, true, ..) => "; silver medal",
        (_, _, true, _) => "; bronze medal",
        (.., true) => "; above the median",
        _ if report.gold_threshold.is_some() => "; no medal",
        _ => "",
    };
    format!("{score} ({}, {better} is better{rows}){medal}", report.metric)
}
