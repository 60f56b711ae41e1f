//! `mlem run`: notebooks and scripts as they are.

use std::future::Future;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use mlem_ledger::{Ledger, RunStatus};
use mlem_repair::{Ran, RunOptions, results, run_notebook, run_script};

use crate::arguments::{Format, Run};
use crate::console;
use crate::failure::Failure;
use crate::inputs::{collect, extension};
use crate::progress::Progress;
use crate::target;

pub(crate) fn run(arguments: &Run) -> Result<ExitCode, Failure> {
    let inputs = collect(&arguments.paths);
    if inputs.files.is_empty() {
        return inputs.finish(0, 0);
    }
    let ledger = target::ledger(&arguments.execution)?;
    let several = inputs.are_several();
    let mut failed = false;
    let mut broken = 0;
    let mut reports = Vec::new();
    for file in &inputs.files {
        match one(file, arguments, &ledger, several) {
            Ok(ran) => {
                failed |= !ran.succeeded();
                reports.push(ran.report);
            }
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                console::error(&failure.to_string());
                broken += 1;
            }
        }
    }
    if arguments.execution.format == Format::Json {
        match &reports[..] {
            [only] if !several => console::json(only),
            all => console::json(&serde_json::json!({"schema": 1, "reports": all})),
        }
    }
    inputs.finish(broken, u8::from(failed))
}

fn one(file: &Path, arguments: &Run, ledger: &Ledger, several: bool) -> Result<Ran, Failure> {
    let execution = &arguments.execution;
    let is_script = extension(file) == "py";
    let notebook = if is_script { None } else { Some(mlem_repair::read_runnable(file)?) };
    let folder = target::results(execution.out.as_deref(), file, several);
    if results::is_own_folder(file, &folder) {
        return Err(Failure::path(
            &folder,
            "--out is the notebook's own folder, and the result would replace it; name another",
        ));
    }
    results::prepare(&folder)?;
    let progress = Progress::new(&file.display().to_string());
    let needs = || match &notebook {
        Some(notebook) => target::needs(notebook, file),
        None => target::script_needs(file),
    };
    let (environment, notes) = target::environment(execution, needs, &progress)?;
    for note in notes {
        progress.say(&note);
    }
    let options = RunOptions {
        session: target::session(execution),
        notebook_timeout: execution.timeout.map(Duration::from_secs_f64),
        allow_errors: arguments.allow_errors,
        data: target::data(arguments.data.as_deref())?,
    };
    let ran = until_interrupted(ledger, async {
        Ok(if is_script {
            run_script(file, &environment, &options, Some(ledger)).await?
        } else {
            run_notebook(file, &environment, &options, Some(ledger), &mut |event| progress.event(event))
                .await?
        })
    })?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    results::write_run(&ran, &name, &folder)?;
    drop(progress);
    if execution.format == Format::Text {
        let report = &ran.report;
        console::line(&format!(
            "{}: {} — {} ({:.1} s)",
            file.display(),
            report.verdict,
            report.reason,
            report.seconds
        ));
        for error in &report.errors {
            let cell = error.cell.map_or(String::new(), |cell| format!("cell {cell}, "));
            let line = error.line.map_or(String::new(), |line| format!("line {line}: "));
            let message = error.evalue.lines().next().unwrap_or_default();
            console::line(&format!("  {cell}{line}{}: {message}", error.ename));
        }
        for table in &report.tables {
            let why = table
                .submission
                .as_ref()
                .map_or(String::new(), |why| format!(": the submission, since {why}"));
            let partial = if table.partial { " (partial)" } else { "" };
            console::line(&format!("  table {}{partial}{why}", table.path));
        }
        console::line(&format!("  results in {}", folder.display()));
    }
    Ok(ran)
}

/// Runs a job until it ends or the user interrupts it. Dropping the job ends its kernel; its run in the ledger is
/// marked, so that it can be taken up again.
pub(crate) fn until_interrupted<T>(
    ledger: &Ledger,
    job: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        tokio::select! {
            result = job => result,
            () = interrupted() => Err(Failure::Interrupted),
        }
    });
    if matches!(result, Err(Failure::Interrupted)) {
        let own = std::process::id();
        for run in ledger.runs()? {
            if run.pid == own && run.status == RunStatus::Running {
                ledger.mark_interrupted(&run.id)?;
            }
        }
    }
    result
}

#[cfg(unix)]
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
