//! `mlem modernize`: the main job.

use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

use mlem_configuration::Settings;
use mlem_ledger::Ledger;
use mlem_repair::{Job, Modernized, Options, in_place, results};
use mlem_verdict::{Class, Verdict};

use crate::arguments::{Execution, Format, Modernize, Strategy, Verify};
use crate::commands::run::until_interrupted;
use crate::commands::verify::verified;
use crate::configuration::{self, Chosen};
use crate::console;
use crate::failure::Failure;
use crate::inputs::collect;
use crate::progress::Progress;
use crate::scoring::ScoreWanted;
use crate::target;

pub(crate) fn run(arguments: &Modernize) -> Result<ExitCode, Failure> {
    let inputs = collect(&arguments.paths);
    // What cannot be scored is refused before anything runs.
    let scored = ScoreWanted::new(&arguments.scoring)?.is_some();
    if let Some(data) = &arguments.data
        && !data.is_dir()
    {
        return Err(Failure::path(data, "--data wants a folder that exists"));
    }
    if inputs.files.is_empty() {
        return inputs.finish(0, 0);
    }
    let mut configuration = configuration::against_releases(configuration::selecting(&arguments.selected));
    let chosen =
        configuration::configure(&inputs, &arguments.paths, &arguments.selected, &mut configuration)?;
    let ledger = target::ledger(&arguments.execution)?;
    let several = inputs.are_several();
    let mut code = 0;
    let mut broken = 0;
    let mut reports = Vec::new();
    for Chosen { file, settings } in &chosen {
        match one(file, settings, (arguments, scored), &ledger, several) {
            Ok(finished) => {
                // The verdict was written by the same enum that reads it here.
                let verdict = Verdict::from_str(&finished.report.verdict).unwrap_or(Verdict::HarnessFailure);
                code = code.max(verdict.exit_code(arguments.strict));
                reports.push(finished.report);
            }
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                console::error(&failure.to_string());
                broken += 1;
            }
        }
    }
    if let Some(out) = arguments.execution.out.as_ref().filter(|_| several) {
        let summary = serde_json::json!({"schema": 1, "reports": reports});
        results::write_summary(out, &summary)?;
    }
    if arguments.execution.format == Format::Json {
        match &reports[..] {
            [only] if !several => console::json(only),
            all => console::json(&serde_json::json!({"schema": 1, "reports": all})),
        }
    }
    inputs.finish(broken, code)
}

fn one(
    file: &Path,
    settings: &Settings,
    (arguments, scored): (&Modernize, bool),
    ledger: &Ledger,
    several: bool,
) -> Result<Modernized, Failure> {
    let started = Instant::now();
    let execution = &arguments.execution;
    // Refuse what cannot be run before an environment is built for it, and a folder before work is lost.
    let notebook = mlem_repair::read_runnable(file)?;
    let folder = target::results(execution.out.as_deref(), file, several);
    if results::is_own_folder(file, &folder) {
        return Err(Failure::path(
            &folder,
            "--out is the notebook's own folder, and the result would replace it; name another",
        ));
    }
    results::prepare(&folder)?;
    let progress = Progress::new(&file.display().to_string());
    let (environment, notes) = target::environment(execution, || target::needs(&notebook, file), &progress)?;
    progress.say(&format!(
        "Python {} with {} distributions",
        target::version(&environment),
        environment.packages.len()
    ));
    let options = Options {
        session: target::session(execution),
        notebook_timeout: execution.timeout.map(Duration::from_secs_f64),
        cache: target::cache()?,
        strategy: match arguments.strategy {
            Strategy::Live => mlem_repair::Strategy::Live,
            Strategy::Rerun => mlem_repair::Strategy::Rerun,
        },
        resume: !arguments.no_resume,
        dating: (&arguments.dating).into(),
    };
    let mut tell = |event| progress.event(event);
    let job = Job {
        notebook: file,
        probe: mlem_environment::Probe::start(&environment)
            .ok()
            .map(|probe| probe.with_cache(&options.cache)),
        environment: &environment,
        settings,
        data: arguments.data.as_deref(),
        options: &options,
        ledger: Some(ledger),
        progress: &mut tell,
        notes,
        started,
    };
    let mut finished = until_interrupted(ledger, async { Ok(mlem_repair::modernize(job).await?) })?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    results::write_modernized(&finished, &name, &folder)?;
    let ran = finished.report.remaining_error.is_none();
    if ran && (scored || arguments.runs.is_some()) {
        let verify = Verify {
            notebook: folder.join(&name),
            runs: arguments.runs.unwrap_or(5),
            reference_outputs: arguments.reference_outputs.clone(),
            scoring: arguments.scoring.clone(),
            as_paper: false,
            data: arguments.data.clone(),
            against_past: false,
            past_requirements: None,
            past_python: None,
            execution: Execution { out: Some(folder.clone()), ..execution.clone() },
        };
        let (verified, _) = verified(&verify, ledger, &progress)?;
        finished.report.add_verification(&verified.report);
        results::write_report(&finished.report, &folder)?;
    }
    if arguments.in_place && ran {
        in_place::replace(&finished, file, &folder)?;
    }
    drop(progress);
    if arguments.diff {
        console::data(&finished.diff);
    }
    if execution.format == Format::Text {
        let report = &finished.report;
        console::line(&format!("{}: {} — {}", file.display(), report.verdict, report.reason));
        for class in [Class::Drift, Class::Unclear] {
            for placed in report.fidelity.of(class) {
                console::line(&format!("  {class}: {}: {}", placed.place(), placed.change.reason));
            }
        }
        console::line(&format!(
            "  {}, {}, {} run live and {} in the proof, {:.1} s",
            console::counted(report.edits.len(), "change"),
            console::counted(report.attempts.len(), "attempt"),
            console::counted(report.cells_executed.live, "cell"),
            report.cells_executed.proof,
            report.seconds.total
        ));
        if let Some(error) = &report.remaining_error {
            let cell = error.cell.map_or(String::new(), |cell| format!(" in cell {cell}"));
            let message = error.evalue.lines().next().unwrap_or_default();
            console::line(&format!("  remaining error{cell}: {}: {message}", error.ename));
        }
        for end in report.dead_ends.iter().skip(1) {
            let cell = end.error.cell.map_or(String::new(), |cell| format!(" in cell {cell}"));
            let message = end.error.evalue.lines().next().unwrap_or_default();
            console::line(&format!("  also{cell}: {}: {message}", end.error.ename));
        }
        if !report.not_run.is_empty() {
            let cells: Vec<String> = report.not_run.iter().map(|each| each.cell.to_string()).collect();
            console::line(&format!("  not run, since they need what fails: cells {}", cells.join(", ")));
        }
        let place = if arguments.in_place && ran { file } else { &folder };
        console::line(&format!("  results in {}", place.display()));
    }
    Ok(finished)
}
