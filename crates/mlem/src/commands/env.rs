//! `mlem env`: what notebooks need, and what an interpreter has.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mlem_environment::{Detected, Detector, Distribution, Evidence, NeedKind, Why, newest_releases};
use mlem_notebook::{CellKind, Language, Notebook};
use mlem_python::Unit;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::json;

use crate::arguments::{Detect, Env, EnvCommand, Format, Probe};
use crate::console;
use crate::failure::Failure;
use crate::inputs::{collect, extension};

pub(crate) fn run(env: &Env) -> Result<ExitCode, Failure> {
    match &env.command {
        EnvCommand::Detect(arguments) => detect(arguments),
        EnvCommand::Probe(arguments) => probe(arguments),
    }
}

fn detect(arguments: &Detect) -> Result<ExitCode, Failure> {
    let inputs = collect(&arguments.paths);
    let detector = Detector::new(newest_releases().python());
    type Needs = Result<(Detected, Vec<Option<usize>>), Failure>;
    let results: Vec<(&PathBuf, Needs)> =
        inputs.files.par_iter().map(|file| (file, one(file, &detector))).collect();
    let mut broken = 0;
    let mut documents = Vec::new();
    for (file, result) in results {
        match result {
            Ok((detected, cells)) => documents.push((file, detected, cells)),
            Err(failure) => {
                console::error(&failure.to_string());
                broken += 1;
            }
        }
    }
    match arguments.format {
        Format::Json => {
            let notebooks: Vec<Document<'_>> =
                documents.iter().map(|(file, detected, cells)| document(file, detected, cells)).collect();
            console::json(&Documents { schema: 1, notebooks });
        }
        Format::Text => {
            for (file, detected, _) in &documents {
                console::line(&format!("{}:", file.display()));
                for need in detected.needs.iter().filter(|need| need.kind != NeedKind::StandardLibrary) {
                    let what = match (&need.distribution, need.kind) {
                        (Some(distribution), NeedKind::Guessed) => {
                            format!("{} (a guess)", distribution.as_str())
                        }
                        (Some(distribution), _) => format!("{}{}", distribution.as_str(), need.specifier),
                        (None, NeedKind::Local) => "own module".to_owned(),
                        (None, NeedKind::Platform) => "only on the hosted platform".to_owned(),
                        (None, _) => "no distribution known".to_owned(),
                    };
                    let import = need.import.as_deref().unwrap_or("install line");
                    let optional = if need.optional { ", optional" } else { "" };
                    console::line(&format!("  {import}: {what}{optional}"));
                }
            }
        }
    }
    inputs.finish(broken, 0)
}

/// The needs of one file, and the cell of each unit.
fn one(file: &Path, detector: &Detector) -> Result<(Detected, Vec<Option<usize>>), Failure> {
    let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if extension(file) == "py" {
        let text = std::fs::read_to_string(file).map_err(|error| Failure::path(file, error.to_string()))?;
        return Ok((detector.detect(&[Unit::module(&text)], folder), vec![None]));
    }
    let notebook = Notebook::read(file)?;
    if let Language::Other(language) = notebook.language() {
        return Err(Failure::path(
            file,
            format!("the notebook's language is {language}; only Python has distributions"),
        ));
    }
    let (cells, sources): (Vec<Option<usize>>, Vec<&str>) = notebook
        .cells()
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.kind == CellKind::Code)
        .map(|(index, cell)| (Some(index), cell.source.as_str()))
        .unzip();
    Ok((detector.detect_sources(&sources, folder), cells))
}

/// `env detect --format json`.
#[derive(Serialize)]
struct Documents<'a> {
    schema: u32,
    notebooks: Vec<Document<'a>>,
}

/// One file of `env detect --format json`.
#[derive(Serialize)]
struct Document<'a> {
    path: String,
    needs: Vec<NeedDocument<'a>>,
    evidence: &'a [Evidence],
    notes: &'a [String],
}

/// A need with the cell that says so, counted among all cells.
#[derive(Serialize)]
struct NeedDocument<'a> {
    import: Option<&'a str>,
    distribution: Option<&'a Distribution>,
    alternatives: &'a [Distribution],
    specifier: &'a str,
    kind: NeedKind,
    why: Why,
    optional: bool,
    cell: Option<usize>,
    line: usize,
    file: Option<&'a Path>,
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
}

fn document<'a>(file: &'a Path, detected: &'a Detected, cells: &[Option<usize>]) -> Document<'a> {
    let needs = detected.needs.iter().map(|need| NeedDocument {
        import: need.import.as_deref(),
        distribution: need.distribution.as_ref(),
        alternatives: &need.alternatives,
        specifier: &need.specifier,
        kind: need.kind,
        why: need.why,
        optional: need.optional,
        cell: need.unit.and_then(|unit| cells.get(unit).copied().flatten()),
        line: need.line,
        file: need.file.as_deref(),
        note: need.note.as_deref(),
        url: need.url.as_deref(),
    });
    Document {
        path: file.display().to_string(),
        needs: needs.collect(),
        evidence: &detected.evidence,
        notes: &detected.notes,
    }
}

fn probe(arguments: &Probe) -> Result<ExitCode, Failure> {
    let environment = mlem_environment::existing(&arguments.python)?;
    let mut probe = mlem_environment::Probe::start(&environment)?.with_cache(&crate::target::cache()?);
    let mut missing = false;
    let mut answers = Vec::new();
    for name in &arguments.names {
        let answer = probe.lookup(name);
        let homes = if answer.exists != Some(false) {
            Vec::new()
        } else {
            missing = true;
            let last = name.rsplit('.').next().unwrap_or(name);
            probe.where_now(last, name.split('.').next())
        };
        if arguments.format == Format::Text {
            console::line(&describe(name, &answer));
            for home in &homes {
                console::line(&format!("  now {} ({})", home.qualified, home.distribution));
            }
        }
        answers.push(json!({"name": name, "answer": answer, "where_now": homes}));
    }
    if arguments.format == Format::Json {
        console::json(&json!({"schema": 1, "python": arguments.python, "answers": answers}));
    }
    Ok(ExitCode::from(u8::from(missing)))
}

fn describe(name: &str, answer: &mlem_environment::Answer) -> String {
    let of = match (&answer.distribution, &answer.version) {
        (Some(distribution), Some(version)) => format!(" ({distribution} {version})"),
        _ => String::new(),
    };
    let why = || {
        answer.error.as_ref().map_or(String::new(), |error| format!(": {}: {}", error.kind, error.message))
    };
    match answer.exists {
        Some(true) => {}
        Some(false) => return format!("{name}: not there{of}{}", why()),
        None => return format!("{name}: could not be found out{of}{}", why()),
    }
    let kind = answer.kind.map_or(String::new(), |kind| format!("{kind:?} ").to_lowercase());
    let signature = answer.signature.as_ref().map_or(String::new(), |parameters| {
        let list: Vec<String> = parameters
            .iter()
            .map(|parameter| match &parameter.default {
                Some(default) => format!("{}={default}", parameter.name),
                None => parameter.name.clone(),
            })
            .collect();
        format!("({}) ", list.join(", "))
    });
    format!("{name}: {kind}{signature}{}", of.trim_start())
}
