//! `mlem check`: findings, printed in the format of their reader.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use mlem_environment::Probe;
use mlem_notebook::{Language, Notebook};
use mlem_repair::inspect::{self, Located, Seen};
use mlem_rules::checks::CHECKS;
use mlem_rules::{Catalogue, Pins};
use rayon::prelude::*;
use serde_json::json;

use crate::arguments::{Check, FindingsFormat};
use crate::console;
use crate::failure::Failure;
use crate::inputs::{collect, extension};
use crate::target;

pub(crate) fn run(check: &Check) -> Result<ExitCode, Failure> {
    let pins = target::pins(&check.target)?;
    let inputs = collect(&check.paths);
    let seen = Mutex::new(Seen::default());
    let probe = match &check.target.python {
        Some(python) => {
            let environment = mlem_environment::existing(python)?;
            Some(Mutex::new(Probe::start(&environment)?.with_cache(&target::cache()?)))
        }
        None => None,
    };
    let results: Vec<Result<Vec<Located>, Failure>> =
        inputs.files.par_iter().map(|file| one(file, &pins, &seen, probe.as_ref())).collect();
    let mut broken = 0;
    let mut findings = Vec::new();
    for result in results {
        match result {
            Ok(found) => findings.extend(found),
            Err(failure) => {
                console::error(&failure.to_string());
                broken += 1;
            }
        }
    }
    findings.sort();
    findings.dedup();
    if !(findings.is_empty() && broken + inputs.broken > 0 && check.format == FindingsFormat::Text) {
        print(&findings, check.format);
    }
    inputs.finish(broken, u8::from(!findings.is_empty()))
}

fn one(
    file: &Path,
    pins: &Pins,
    seen: &Mutex<Seen>,
    probe: Option<&Mutex<Probe>>,
) -> Result<Vec<Located>, Failure> {
    // A poisoned lock only means that another file's check panicked; what it guards is still whole.
    let mut probe = probe.map(|probe| probe.lock().unwrap_or_else(PoisonError::into_inner));
    let mut probe = probe.as_deref_mut();
    if extension(file) == "py" {
        let text = std::fs::read_to_string(file).map_err(|error| Failure::path(file, error.to_string()))?;
        return Ok(inspect::module(&text, file, pins, probe));
    }
    let notebook = Notebook::read(file)?;
    if let Language::Other(language) = notebook.language() {
        return Err(Failure::path(
            file,
            format!("the notebook's language is {language}; only Python is checked"),
        ));
    }
    let (mut found, program) = inspect::notebook(&notebook, file, pins, probe.as_deref_mut());
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    found.extend(seen.modules(&program, file, pins, probe));
    Ok(found)
}

fn print(findings: &[Located], format: FindingsFormat) {
    match format {
        FindingsFormat::Text => {
            let mut text = String::new();
            for finding in findings {
                let cell = finding.cell.map_or(String::new(), |cell| format!("cell {cell}:"));
                let fix = if finding.fixable { " [fix]" } else { "" };
                text.push_str(&format!(
                    "{}:{cell}{}:{}: {} {}{fix}\n",
                    finding.path, finding.line, finding.column, finding.rule, finding.message
                ));
            }
            console::data(&text);
            let fixable = findings.iter().filter(|finding| finding.fixable).count();
            console::note(&match findings.len() {
                0 => "nothing found".to_owned(),
                1 => format!("1 finding, {fixable} with a fix"),
                count => format!("{count} findings, {fixable} with a fix"),
            });
        }
        FindingsFormat::Json => console::json(&json!({"schema": 1, "findings": findings})),
        FindingsFormat::Github => {
            let mut text = String::new();
            for finding in findings {
                let cell = finding.cell.map_or(String::new(), |cell| format!("cell {cell}, "));
                text.push_str(&format!(
                    "::warning file={},title={}::{cell}line {}: {}\n",
                    finding.path,
                    finding.rule,
                    finding.line,
                    finding.message.replace('%', "%25").replace('\n', "%0A")
                ));
            }
            console::data(&text);
        }
        FindingsFormat::Sarif => console::json(&sarif(findings)),
    }
}

fn sarif(findings: &[Located]) -> serde_json::Value {
    let rules: Vec<serde_json::Value> = Catalogue::shipped()
        .rules()
        .iter()
        .map(|rule| json!({"id": rule.id, "name": rule.name, "shortDescription": {"text": rule.summary}}))
        .collect();
    let own = CHECKS.map(
        |check| json!({"id": check.id, "name": check.name, "shortDescription": {"text": check.summary}}),
    );
    let rules: Vec<serde_json::Value> = own.into_iter().chain(rules).collect();
    let results: Vec<serde_json::Value> = findings
        .iter()
        .map(|finding| {
            // SARIF has no notion of cells: the region is the line in the cell, the cell goes to the message.
            let cell = finding.cell.map_or(String::new(), |cell| format!("cell {cell}: "));
            json!({
                "ruleId": finding.rule,
                "level": "warning",
                "message": {"text": format!("{cell}{}", finding.message)},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": finding.path.strip_prefix("./").unwrap_or(&finding.path)},
                    "region": {"startLine": finding.line, "startColumn": finding.column},
                }}],
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "mlem", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "results": results,
        }],
    })
}
