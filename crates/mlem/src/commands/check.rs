//! `mlem check`: findings, printed in the format of their reader.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use mlem_configuration::{Baseline, Fingerprint, Settings};
use mlem_environment::{Detector, Probe, newest_releases};
use mlem_notebook::{Language, Notebook, write_atomic};
use mlem_repair::inspect::{self, Asked, Inspected, Located, Seen};
use mlem_rules::Catalogue;
use mlem_rules::checks::{UNUSED, VANISHED};
use rayon::prelude::*;
use serde_json::json;

use crate::arguments::{Check, FindingsFormat};
use crate::configuration::{self, Chosen};
use crate::console;
use crate::failure::Failure;
use crate::findings;
use crate::inputs::{collect, extension};
use crate::target;

pub(crate) fn run(check: &Check) -> Result<ExitCode, Failure> {
    if check.statistics && !matches!(check.format, FindingsFormat::Text | FindingsFormat::Json) {
        return Err(Failure::Usage("--statistics is printed as text or json".into()));
    }
    let mut configuration = configuration::against(&check.target, configuration::selecting(&check.selected))?;
    let mut baseline = check.baseline.as_deref().map(Baseline::read).transpose()?;
    let inputs = collect(&check.paths);
    let chosen = configuration::configure(&inputs, &check.paths, &check.selected, &mut configuration)?;
    let seen = Mutex::new(Seen::default());
    let detector = Detector::new(newest_releases().python());
    let probe = match &check.target.python {
        Some(python) => {
            let environment = mlem_environment::existing(python)?;
            Some(Mutex::new(Probe::start(&environment)?.with_cache(&target::cache()?)))
        }
        None => None,
    };
    let results: Vec<(&Chosen, Result<Vec<Inspected>, Failure>)> = chosen
        .par_iter()
        .map(|chosen| {
            let asked = Asked {
                settings: &chosen.settings,
                unused_ignores: check.report_unused_ignores,
                dating: (&check.dating).into(),
                detector: &detector,
            };
            (chosen, one(&chosen.file, asked, &seen, probe.as_ref()))
        })
        .collect();
    let mut broken = 0;
    let mut found = Vec::new();
    let mut warnings = Vec::new();
    let mut checked = Vec::new();
    for (chosen, result) in results {
        match result {
            Ok(inspected) => {
                for each in inspected {
                    found.extend(each.findings);
                    warnings.extend(each.warnings);
                    checked.push((each.path, &*chosen.settings));
                }
            }
            Err(failure) => {
                console::error(&failure.to_string());
                broken += 1;
            }
        }
    }
    found.sort();
    found.dedup();
    warnings.sort();
    warnings.dedup();
    for warning in &warnings {
        console::warning(warning);
    }
    if let Some(file) = &check.write_baseline {
        write_baseline(file, &found)?;
        return inputs.finish(broken, 0);
    }
    let before = found.len();
    if let Some(baseline) = &mut baseline {
        found.retain(|finding| !baseline.accepts(&fingerprint(baseline, finding)));
    }
    let accepted = before - found.len();
    let stale = match (&baseline, &check.baseline) {
        (Some(baseline), Some(file)) => stale(baseline, file, &checked, check),
        _ => Vec::new(),
    };
    if !(found.is_empty() && broken + inputs.broken > 0 && check.format == FindingsFormat::Text) {
        let accounts = baseline.as_ref().map(|_| Accounts { accepted, stale: &stale });
        print(check, &found, accounts, &catalogues(&chosen));
    }
    inputs.finish(broken, u8::from(!found.is_empty() && !check.exit_zero))
}

fn one(
    file: &Path,
    asked: Asked<'_>,
    seen: &Mutex<Seen>,
    probe: Option<&Mutex<Probe>>,
) -> Result<Vec<Inspected>, Failure> {
    // A poisoned lock only means that another file's check panicked; what it guards is still whole.
    let mut probe = probe.map(|probe| probe.lock().unwrap_or_else(PoisonError::into_inner));
    let mut probe = probe.as_deref_mut();
    if extension(file) == "py" {
        let text = std::fs::read_to_string(file).map_err(|error| Failure::path(file, error.to_string()))?;
        return Ok(vec![inspect::module(&text, file, asked, probe)]);
    }
    let notebook = Notebook::read(file)?;
    if let Language::Other(language) = notebook.language() {
        return Err(Failure::path(
            file,
            format!("the notebook's language is {language}; only Python is checked"),
        ));
    }
    let own = inspect::notebook(&notebook, file, asked, probe.as_deref_mut());
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = seen.modules(&own.program, file, asked, probe);
    found.push(own);
    Ok(found)
}

fn fingerprint(baseline: &Baseline, finding: &Located) -> Fingerprint {
    baseline.fingerprint(Path::new(&finding.path), &finding.rule, &finding.code)
}

fn write_baseline(file: &Path, found: &[Located]) -> Result<(), Failure> {
    let mut baseline = Baseline::new(file);
    for finding in found {
        baseline.add(fingerprint(&baseline, finding));
    }
    write_atomic(file, baseline.to_text().as_bytes())
        .map_err(|error| Failure::path(file, error.to_string()))?;
    console::note(&format!("{} accepted in {}", console::counted(found.len(), "finding"), file.display()));
    Ok(())
}

/// What the baseline accepts and nobody finds any more; said once, so that it is taken out.
fn stale(
    baseline: &Baseline,
    file: &Path,
    checked: &[(PathBuf, &Settings)],
    check: &Check,
) -> Vec<(Fingerprint, usize)> {
    let checked: Vec<(&Path, &Settings)> =
        checked.iter().map(|(path, settings)| (path.as_path(), *settings)).collect();
    // What is only looked for on request is not gone when nobody asked.
    let was_asked = |rule: &str| match rule {
        _ if rule == VANISHED.id => check.target.python.is_some(),
        _ if rule == UNUSED.id => check.report_unused_ignores,
        _ => true,
    };
    let mut stale = baseline.stale(&checked);
    stale.retain(|(entry, _)| was_asked(&entry.rule));
    for (entry, count) in &stale {
        console::warning(&format!(
            "{}: {count} of {} `{}` in {} are accepted and not found any more; --write-baseline takes them out",
            file.display(),
            entry.rule,
            entry.code,
            entry.path
        ));
    }
    stale.into_iter().map(|(entry, count)| (entry.clone(), count)).collect()
}

/// The catalogues that were used, each once.
fn catalogues(chosen: &[Chosen]) -> Vec<&'static Catalogue> {
    let mut catalogues: Vec<&'static Catalogue> = Vec::new();
    for each in chosen {
        let catalogue = each.settings.catalogue();
        if !catalogues.iter().any(|other| std::ptr::eq(*other, catalogue)) {
            catalogues.push(catalogue);
        }
    }
    catalogues
}

/// What became of the baseline.
struct Accounts<'a> {
    accepted: usize,
    stale: &'a [(Fingerprint, usize)],
}

fn print(
    check: &Check,
    found: &[Located],
    accounts: Option<Accounts<'_>>,
    catalogues: &[&'static Catalogue],
) {
    match check.format {
        FindingsFormat::Text => {
            console::data(&match check.statistics {
                true => findings::statistics_text(&findings::statistics(found, catalogues)),
                false => findings::text(found),
            });
            let accepted =
                accounts.map_or(String::new(), |accounts| format!(", {} accepted", accounts.accepted));
            console::note(&format!("{}{accepted}", findings::count(found)));
        }
        FindingsFormat::Json => {
            let mut document = match check.statistics {
                true => json!({"schema": 1, "statistics": findings::statistics(found, catalogues)}),
                false => json!({"schema": 1, "findings": found}),
            };
            if let Some(Accounts { accepted, stale }) = accounts {
                let stale: Vec<_> = stale
                    .iter()
                    .map(|(entry, count)| json!({"path": entry.path, "rule": entry.rule, "code": entry.code, "count": count}))
                    .collect();
                document["baseline"] = json!({"accepted": accepted, "stale": stale});
            }
            console::json(&document);
        }
        FindingsFormat::Github => console::data(&findings::github(found)),
        FindingsFormat::Sarif => console::json(&findings::sarif(found, catalogues)),
    }
}
