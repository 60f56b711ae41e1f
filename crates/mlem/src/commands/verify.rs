//! `mlem verify`: does a notebook still give what it gave?

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use mlem_environment::{
    Distribution, Environment, EnvironmentSpec, PythonChoice, Requirement, Wanted, build_frozen,
};
use mlem_ledger::Ledger;
use mlem_repair::verify::{
    Left, Recorded, Reference, Scorer, Verified, VerifyOptions, VerifyReport, past_python, verify,
    verify_against_past,
};
use mlem_repair::{RunOptions, Subject, results};
use mlem_verdict::statistics::{Plan, paper};
use mlem_verdict::{OutputStatus, Tolerance, Verdict};

use crate::arguments::{Format, Verify};
use crate::commands::run::until_interrupted;
use crate::console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::scoring::ScoreWanted;
use crate::target;

pub(crate) fn run(arguments: &Verify) -> Result<ExitCode, Failure> {
    let ledger = target::ledger(&arguments.execution)?;
    let progress = Progress::new(&arguments.notebook.display().to_string());
    let (verified, folder) = verified(arguments, &ledger, &progress)?;
    drop(progress);
    Ok(print(&verified, &folder, arguments.execution.format))
}

/// Verifies a notebook and writes `verify.json` into the folder that is given back.
pub(crate) fn verified(
    arguments: &Verify,
    ledger: &Ledger,
    progress: &Progress,
) -> Result<(Verified, PathBuf), Failure> {
    let execution = &arguments.execution;
    let path = &arguments.notebook;
    let (path, recorded) = modernized(path, arguments.against_past)?;
    let wanted = ScoreWanted::new(&arguments.scoring)?;
    let options = options(arguments, wanted.as_ref())?;
    let folder = execution.out.clone().unwrap_or_else(|| match &recorded {
        Some(recorded) => recorded.folder.clone(),
        None => target::results(None, &path, false),
    });
    results::prepare(&folder)?;
    let subject = match &recorded {
        Some(recorded) => recorded.subject(&path)?,
        None => Subject::read(&path)?,
    };
    let environment = environment(arguments, &subject, recorded.as_ref(), progress)?;
    let tell = wanted.as_ref().map(|wanted| |left: &Left<'_>| wanted.tell(left));
    let scorer: Option<Scorer<'_>> = tell.as_ref().map(|tell| tell as Scorer<'_>);
    let target = arguments.scoring.target_score;
    let verified = if arguments.against_past {
        let original = recorded.as_ref().and_then(|recorded| recorded.original.clone());
        let Some(original) = original else {
            return Err(Failure::path(&path, "the notebook that it was made from is not there any more"));
        };
        let original = Subject::read(&original)?;
        let past = past_environment(arguments, &original, progress)?;
        until_interrupted(ledger, async {
            let sides = ((&original, &past), (&subject, &environment));
            Ok(verify_against_past(
                sides.0,
                sides.1,
                &options,
                target.as_slice(),
                recorded.as_ref(),
                scorer,
                Some(ledger),
                &mut |event| progress.event(event),
            )
            .await?)
        })?
    } else {
        let reference = reference(arguments, &subject, recorded.as_ref(), wanted.as_ref())?;
        until_interrupted(ledger, async {
            let wanted = (&options, &reference);
            Ok(verify(
                &subject,
                &environment,
                wanted,
                recorded.as_ref(),
                scorer,
                Some(ledger),
                &mut |event| {
                    progress.event(event);
                },
            )
            .await?)
        })?
    };
    results::write_verified(&verified, &folder)?;
    Ok((verified, folder))
}

/// The notebook to verify and its record: the named one, or for the proof against the past the one that was made from it.
fn modernized(path: &Path, against_past: bool) -> Result<(PathBuf, Option<Recorded>), Failure> {
    let recorded = Recorded::beside(path)?;
    if recorded.is_some() || !against_past {
        return Ok((path.to_owned(), recorded));
    }
    let result = target::results(None, path, false).join(path.file_name().unwrap_or_default());
    if result.is_file()
        && let Some(recorded) = Recorded::beside(&result)?
    {
        return Ok((result, Some(recorded)));
    }
    Err(Failure::path(
        path,
        "there is no modernized notebook to compare; run `mlem modernize` first, or name the notebook in its results",
    ))
}

fn options(arguments: &Verify, wanted: Option<&ScoreWanted>) -> Result<VerifyOptions, Failure> {
    let execution = &arguments.execution;
    Ok(VerifyOptions {
        run: RunOptions {
            session: target::session(execution),
            notebook_timeout: execution.timeout.map(Duration::from_secs_f64),
            allow_errors: false,
            data: target::data(arguments.data.as_deref())?,
        },
        // The argument parser admits 2 to 10.
        plan: Plan::new(usize::from(arguments.runs)).unwrap_or_default(),
        margin: wanted.map(|wanted| wanted.margin),
        tolerance: Tolerance::default(),
        as_paper: arguments.as_paper.then(paper::Band::default),
    })
}

fn reference(
    arguments: &Verify,
    subject: &Subject,
    recorded: Option<&Recorded>,
    wanted: Option<&ScoreWanted>,
) -> Result<Reference, Failure> {
    let outputs = match arguments.reference_outputs.as_str() {
        "none" => None,
        "stored" => match recorded.and_then(|recorded| recorded.original.as_deref()) {
            Some(original) => Some(mlem_repair::read_runnable(original)?),
            None => Some(subject.notebook.clone()),
        },
        other => Some(mlem_repair::read_runnable(Path::new(other))?),
    };
    let scores = match wanted {
        Some(wanted) => wanted.reference(arguments.scoring.target_score, outputs.as_ref())?,
        None => Vec::new(),
    };
    Ok(Reference { outputs, scores })
}

/// Today's environment: the named one, the one that the recorded run was made in, or one built for what it needs.
fn environment(
    arguments: &Verify,
    subject: &Subject,
    recorded: Option<&Recorded>,
    progress: &Progress,
) -> Result<Environment, Failure> {
    let execution = &arguments.execution;
    if execution.python.is_none()
        && execution.requirements.is_none()
        && let Some(recorded) = recorded
    {
        let mut numbers = recorded.python.split('.').filter_map(|part| part.parse::<u8>().ok());
        if let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) {
            let exactly = |(name, version): (&String, &String)| Wanted {
                requirement: Requirement::exactly(Distribution::new(name), version),
                required: true,
            };
            let wanted = recorded.packages.iter().map(exactly).collect();
            let spec = EnvironmentSpec { python: PythonChoice::Version(major, minor), wanted };
            return target::build(&spec, progress);
        }
    }
    let needs = || target::needs(&subject.notebook, &subject.place);
    let (environment, notes) = target::environment(execution, needs, progress)?;
    for note in notes {
        progress.say(&note);
    }
    Ok(environment)
}

fn past_environment(
    arguments: &Verify,
    original: &Subject,
    progress: &Progress,
) -> Result<Environment, Failure> {
    let beside = original.place.with_file_name("past-requirements.txt");
    let list = arguments.past_requirements.clone().or_else(|| beside.is_file().then_some(beside));
    let version = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        let minor = minor.split('.').next().unwrap_or(minor);
        Some(PythonChoice::Version(major.parse().ok()?, minor.parse().ok()?))
    };
    let choice = match &arguments.past_python {
        Some(text) => version(text).unwrap_or_else(|| PythonChoice::Path(PathBuf::from(text))),
        None => match past_python(&original.notebook) {
            Some((major, minor)) => PythonChoice::Version(major, minor),
            None => {
                return Err(Failure::path(
                    &original.place,
                    "it does not say which Python it was made with; name it with --past-python",
                ));
            }
        },
    };
    match (list, choice) {
        (Some(list), choice) => {
            progress.say("building the environment of the past");
            Ok(build_frozen(&choice, &list, &target::cache()?, &mut |_| ())?)
        }
        (None, PythonChoice::Path(python)) => Ok(mlem_environment::existing(&python)?),
        (None, _) => Err(Failure::path(
            &original.place,
            "what was installed in its time is not known: give --past-requirements (a `pip freeze` file), or \
             --past-python with the path of an environment's interpreter",
        )),
    }
}

fn print(verified: &Verified, folder: &Path, format: Format) -> ExitCode {
    let report = &verified.report;
    let verdict = report.verdict.parse().unwrap_or(Verdict::HarnessFailure);
    let code = match verdict {
        Verdict::Equivalent | Verdict::Runs => 0,
        _ => 1,
    };
    if format == Format::Json {
        console::json(report);
        return ExitCode::from(code);
    }
    if let Some(past) = &report.past {
        lines("then", past);
    }
    lines(if report.past.is_some() { "now" } else { "run" }, report);
    if let Some(outputs) = &report.outputs {
        console::line(&format!(
            "  outputs: {} same, {} close, {} different, {} missing, {} change from run to run, {} not comparable",
            outputs.same,
            outputs.close,
            outputs.different,
            outputs.missing,
            outputs.varying,
            outputs.not_comparable
        ));
        for cell in outputs.cells.iter().filter(|cell| !cell.varies) {
            let index = cell.first.cell;
            match &cell.first.status {
                OutputStatus::Different { expected, actual } => {
                    console::line(&format!("  cell {}: {expected} ... is now: {actual}", index.0));
                }
                OutputStatus::Missing => {
                    console::line(&format!("  cell {}: shows nothing any more", index.0))
                }
                _ => {}
            }
        }
    }
    if let Some(paper) = &report.as_paper {
        let word = if paper.reruns.reproducible { "reproducible" } else { "not reproducible" };
        let p = paper.reruns.p_value.map_or(String::new(), |p| format!(", p = {p:.4}"));
        console::line(&format!("  as the paper judges: {word}{p}"));
    }
    console::line(&format!("{}: {} — {}", report.notebook, report.verdict, report.reason));
    console::line(&format!("  report in {}", folder.join("verify.json").display()));
    ExitCode::from(code)
}

fn lines(what: &str, report: &VerifyReport) {
    for (index, run) in report.runs.iter().enumerate() {
        let seconds = run.seconds.map_or("recorded".to_owned(), |seconds| format!("{seconds:.1} s"));
        let score = match (run.score, &run.score_problem) {
            (Some(score), _) => format!(", score {score}"),
            (None, Some(problem)) => format!(", no score: {problem}"),
            (None, None) => String::new(),
        };
        let error = run.error.as_ref().map_or(String::new(), |error| {
            format!(", {}: {}", error.ename, error.evalue.lines().next().unwrap_or_default())
        });
        console::line(&format!("  {what} {}: {} ({seconds}){score}{error}", index + 1, run.verdict));
    }
}
