//! `mlem diff`: what changed between two versions of a notebook, or of a folder of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mlem_configuration::Overrides;
use mlem_notebook::{Language, Notebook};
use mlem_rules::Pins;
use mlem_verdict::{
    Change, Class, Location, NotebookDiff, OutputDiff, OutputStatus, Tolerance, Verdict, diff_notebooks,
};
use rayon::prelude::*;
use serde::Serialize;

use crate::arguments::{Diff, Format};
use crate::configuration;
use crate::console;
use crate::failure::Failure;
use crate::inputs::{extension, sources_below};

/// Two versions of one file, compared.
#[derive(Debug, Serialize)]
struct FileDiff {
    /// The old version; `null` where the file is new.
    old: Option<String>,
    /// The new version; `null` where the file is gone.
    new: Option<String>,
    #[serde(flatten)]
    diff: NotebookDiff,
}

pub(crate) fn run(arguments: &Diff) -> Result<ExitCode, Failure> {
    let pairs = pairs(&arguments.old, &arguments.new)?;
    let mut configuration = configuration::against(&arguments.target, Overrides::default())?;
    let settings = configuration.settings(&arguments.old)?;
    let pins = settings.target();
    let results: Vec<Result<FileDiff, Failure>> = pairs.par_iter().map(|pair| one(pair, pins)).collect();
    let mut files = Vec::new();
    let mut broken = 0;
    for result in results {
        match result {
            Ok(diff) => files.push(diff),
            // A single pair has one message, which ends the command.
            Err(failure) if pairs.len() == 1 => return Err(failure),
            Err(failure) => {
                console::error(&failure.to_string());
                broken += 1;
            }
        }
    }
    let verdict = files.iter().map(|file| file.diff.verdict).fold(Verdict::Equivalent, Verdict::combine);
    match arguments.format {
        Format::Json => console::json(&serde_json::json!({"schema": 1, "verdict": verdict, "files": files})),
        Format::Text => files.iter().for_each(print),
    }
    if broken > 0 {
        return Err(Failure::Inputs(broken));
    }
    Ok(ExitCode::from(u8::from(verdict != Verdict::Equivalent)))
}

/// The two versions of a file; one may not be there.
type Pair = (Option<PathBuf>, Option<PathBuf>);

/// Two files, or all files of two folders by their paths in them.
fn pairs(old: &Path, new: &Path) -> Result<Vec<Pair>, Failure> {
    match (is_folder(old)?, is_folder(new)?) {
        (false, false) => Ok(vec![(Some(old.to_owned()), Some(new.to_owned()))]),
        (true, true) => {
            let (before, after) = (sources_below(old)?, sources_below(new)?);
            let all: BTreeSet<&PathBuf> = before.iter().chain(&after).collect();
            let there = |folder: &Path, list: &BTreeSet<PathBuf>, path: &PathBuf| {
                list.contains(path).then(|| folder.join(path))
            };
            Ok(all.into_iter().map(|path| (there(old, &before, path), there(new, &after, path))).collect())
        }
        (true, false) => {
            Err(Failure::path(new, format!("a folder is wanted, since {} is one", old.display())))
        }
        (false, true) => Err(Failure::path(new, format!("a file is wanted, since {} is one", old.display()))),
    }
}

fn is_folder(path: &Path) -> Result<bool, Failure> {
    match std::fs::metadata(path) {
        Ok(kind) => Ok(kind.is_dir()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::path(path, "no such file or folder"))
        }
        Err(error) => Err(Failure::path(path, error.to_string())),
    }
}

fn one((old, new): &Pair, pins: &Pins) -> Result<FileDiff, Failure> {
    let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let before = old.as_deref().map(read).transpose()?;
    let after = new.as_deref().map(read).transpose()?;
    let diff = match (before, after) {
        (Some(before), Some(after)) => diff_notebooks(&before, &after, pins, &Tolerance::default()),
        (before, _) => NotebookDiff {
            verdict: Verdict::Drifted,
            class: Class::Drift,
            changes: vec![Change {
                class: Class::Drift,
                topic: "file".to_owned(),
                reason: if before.is_some() { "the file is gone" } else { "the file is new" }.to_owned(),
                old: None,
                new: None,
                before: String::new(),
                after: String::new(),
                rule: None,
            }],
            outputs: Vec::new(),
        },
    };
    Ok(FileDiff { old: shown(old), new: shown(new), diff })
}

fn read(path: &Path) -> Result<Notebook, Failure> {
    match extension(path).as_str() {
        "py" => {
            let text =
                std::fs::read_to_string(path).map_err(|error| Failure::path(path, error.to_string()))?;
            Ok(Notebook::from_script(&text, path))
        }
        _ => {
            let notebook = Notebook::read(path)?;
            match notebook.language() {
                Language::Other(language) => Err(Failure::path(
                    path,
                    format!("the notebook's language is {language}; only Python notebooks are compared"),
                )),
                _ => Ok(notebook),
            }
        }
    }
}

fn print(file: &FileDiff) {
    let name = match (&file.old, &file.new) {
        (Some(old), Some(new)) => format!("{old} → {new}"),
        (Some(only), None) | (None, Some(only)) => only.clone(),
        (None, None) => String::new(),
    };
    let count = |class: Class| file.diff.changes.iter().filter(|change| change.class == class).count();
    console::line(&format!(
        "{name}: {} ({} drift, {} unclear, {} neutral)",
        file.diff.verdict,
        count(Class::Drift),
        count(Class::Unclear),
        count(Class::Neutral)
    ));
    // What matters most comes first.
    for class in [Class::Drift, Class::Unclear, Class::Neutral] {
        for change in file.diff.changes.iter().filter(|change| change.class == class) {
            console::line(&format!("  {class}: {}{}", place(change), change.reason));
        }
    }
    for output in &file.diff.outputs {
        console::line(&format!("  output of cell {}: {}", output.cell, outcome(output)));
    }
}

fn place(change: &Change) -> String {
    let at = |location: Location| match location.cell {
        Some(cell) => format!("cell {cell}, line {}", location.lines.0),
        None => format!("line {}", location.lines.0),
    };
    match (change.old, change.new) {
        (Some(old), Some(new)) if old != new && old.cell != new.cell => {
            format!("{} (now {}): ", at(old), at(new))
        }
        (Some(old), _) => format!("{}: ", at(old)),
        (None, Some(new)) => format!("new {}: ", at(new)),
        (None, None) => String::new(),
    }
}

fn outcome(output: &OutputDiff) -> String {
    match &output.status {
        OutputStatus::Same => "same".to_owned(),
        OutputStatus::Close { largest_relative_difference } => {
            format!("close (largest relative difference {largest_relative_difference:.1e})")
        }
        OutputStatus::Different { expected, actual } => format!("different: `{expected}` → `{actual}`"),
        OutputStatus::NotComparable { reason } => format!("not comparable: {reason}"),
        OutputStatus::Missing => "missing".to_owned(),
        OutputStatus::Empty => "empty".to_owned(),
    }
}
