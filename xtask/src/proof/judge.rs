//! What the runs of a rule's examples say about the rule.

use mlem_rules::{Demonstration, Rule, ScoreEffect};
use serde::{Deserialize, Serialize};

use super::printed::{self, Printed};
use super::run::{Ended, Run};
use super::value::{Tally, Value, compare};

/// How a rule fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// The old form ran in its time and fails, warns or differs today; the new form runs today and gives the same.
    Proven,
    /// The same, and the values differ as the rule's `score` announces.
    ProvenShifting,
    /// The same, but nothing that can be compared came out.
    ProvenNoValue,
    /// The old form ran in its time and fails, warns or differs today; the rule has no fix.
    ProvenNoFix,
    /// Proven, but the old form fails with releases below `since` already.
    SinceTooLate,
    /// The new form gives other values today than the old form gave in its time.
    ValuesDiffer,
    /// The old form does not run in any environment of its time.
    OldFails,
    /// The old form gives the same today without a warning.
    BeforeStillWorks,
    /// The old form fails today with an error that the rule's evidence does not match.
    OtherError,
    /// The new form does not run today.
    AfterFails,
    /// No environment has the library on one of the two sides.
    NotInstallable,
    /// The examples cannot be run alone; the rule says why.
    CannotRun,
}

impl Outcome {
    /// All of them, as they are listed.
    pub(crate) const ALL: [Outcome; 12] = [
        Outcome::Proven,
        Outcome::ProvenShifting,
        Outcome::ProvenNoValue,
        Outcome::ProvenNoFix,
        Outcome::SinceTooLate,
        Outcome::ValuesDiffer,
        Outcome::OldFails,
        Outcome::BeforeStillWorks,
        Outcome::OtherError,
        Outcome::AfterFails,
        Outcome::NotInstallable,
        Outcome::CannotRun,
    ];

    /// As the table writes it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Outcome::Proven => "proven",
            Outcome::ProvenShifting => "proven-shifting",
            Outcome::ProvenNoValue => "proven-no-value",
            Outcome::ProvenNoFix => "proven-no-fix",
            Outcome::SinceTooLate => "since-too-late",
            Outcome::ValuesDiffer => "values-differ",
            Outcome::OldFails => "old-fails",
            Outcome::BeforeStillWorks => "before-still-works",
            Outcome::OtherError => "other-error",
            Outcome::AfterFails => "after-fails",
            Outcome::NotInstallable => "not-installable",
            Outcome::CannotRun => "cannot-run",
        }
    }

    /// Whether it speaks against the rule, or leaves its old form unshown, so that somebody has to look at it.
    pub(crate) fn is_doubt(self) -> bool {
        match self {
            Outcome::Proven
            | Outcome::ProvenShifting
            | Outcome::ProvenNoValue
            | Outcome::ProvenNoFix
            | Outcome::NotInstallable
            | Outcome::CannotRun => false,
            Outcome::SinceTooLate
            | Outcome::ValuesDiffer
            | Outcome::OldFails
            | Outcome::BeforeStillWorks
            | Outcome::OtherError
            | Outcome::AfterFails => true,
        }
    }

    /// What it means, in a line.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Outcome::Proven => {
                "*before* ran then and fails, warns or differs now; *after* runs now and gives what *before* gave"
            }
            Outcome::ProvenShifting => {
                "the same, but values differ, and the rule's `score` says that they can"
            }
            Outcome::ProvenNoValue => "the same, but nothing came out that could be compared",
            Outcome::ProvenNoFix => "*before* ran then and fails, warns or differs now; the rule has no fix",
            Outcome::SinceTooLate => "proven, but *before* fails with releases below `since` already",
            Outcome::ValuesDiffer => "*after* gives other values now than *before* gave then",
            Outcome::OldFails => "*before* runs in none of the environments below `since`",
            Outcome::BeforeStillWorks => "*before* gives the same now, without a warning",
            Outcome::OtherError => "*before* fails now, with an error that `evidence` does not match",
            Outcome::AfterFails => "*after* does not run now",
            Outcome::NotInstallable => "no environment has the library on one of the two sides",
            Outcome::CannotRun => "the examples cannot be run alone",
        }
    }
}

/// An outcome and what is to be said about it.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) outcome: Outcome,
    pub(crate) notes: Vec<String>,
}

/// The runs of a rule's examples.
#[derive(Debug)]
pub(crate) struct Runs<'a> {
    /// `before` in old environments, the nearest first; the last one ran, if any did.
    pub(crate) old: Vec<(String, &'a Run)>,
    /// `before` in the new environment.
    pub(crate) before: &'a Run,
    /// `after` in the new environment, where the rule has a fix.
    pub(crate) after: Option<&'a Run>,
}

/// Whether a snippet ran to its end.
pub(crate) fn ran(run: &Run) -> Option<&Ended> {
    match run {
        Run::Ended(ended) if ended.error.is_none() => Some(ended),
        _ => None,
    }
}

fn told(run: &Run) -> String {
    match run {
        Run::Trouble { trouble } => trouble.lines().last().unwrap_or_default().to_string(),
        Run::NotBuilt => "its environment could not be built".to_string(),
        Run::Ended(ended) => ended.error.as_ref().map_or_else(|| "runs".to_string(), |error| error.brief()),
    }
}

fn fails_in_setup(run: &Run) -> bool {
    matches!(run, Run::Ended(ended) if ended.error.as_ref().is_some_and(|error| error.in_setup))
}

/// Differences told of one rule.
const MOST_DIFFERENCES: usize = 3;

/// What has happened to the old form.
enum Erosion {
    Fails(String),
    OtherError(String),
    Warns,
    Differs,
    Nothing,
}

fn erosion(rule: &Rule, old: Option<&Ended>, runs: &Runs) -> Erosion {
    let Some(before) = ran(runs.before) else {
        let misses = match runs.before {
            Run::Ended(ended) => ended.error.as_ref().is_some_and(|error| {
                rule.evidence.is_some() && !rule.is_evidence(&error.name, &error.message)
            }),
            Run::Trouble { .. } | Run::NotBuilt => false,
        };
        return if misses {
            Erosion::OtherError(told(runs.before))
        } else {
            Erosion::Fails(told(runs.before))
        };
    };
    let kept = runs.after.and_then(ran).map(deprecations).unwrap_or_default();
    let warns = deprecations(before).iter().any(|warning| !kept.contains(warning));
    let differs = |one: &Ended, other: &Ended| !compare_runs(one, other).differences.is_empty();
    if warns {
        Erosion::Warns
    } else if old.is_some_and(|old| differs(old, before))
        // Without a run in its time, that the two forms differ today is what can be seen.
        || old.is_none() && runs.after.and_then(ran).is_some_and(|after| differs(before, after))
    {
        Erosion::Differs
    } else {
        Erosion::Nothing
    }
}

/// Warnings that announce an end.
fn deprecations(run: &Ended) -> Vec<&String> {
    let ends = ["Deprecat", "Future", "Pandas4Warning", "ChainedAssignment", "SyntaxWarning", "UserWarning"];
    let announces = |warning: &&String| {
        let category = warning.split(':').next().unwrap_or_default();
        ends.iter().any(|end| category.contains(end))
    };
    run.warnings.iter().filter(announces).collect()
}

/// Parts of a figure that the library's style sets when the code does not, and that change from release to release:
/// margins, ticks, line widths, the frame of three dimensions, the class that holds an area. Data, colours and texts are
/// compared.
const STYLE: [&str; 8] = ["frame", "limits", "ticks", "tick labels", "aspect", "class", "size", "style"];

/// Compares all that came out of two runs.
pub(crate) fn compare_runs(then: &Ended, now: &Ended) -> Tally {
    let mut tally = Tally::default();
    for name in then.changed.union(&now.changed) {
        match (then.values.get(name), now.values.get(name)) {
            (Some(one), Some(other)) => compare(name, one, other, &mut tally),
            // An import that the new form does not need is no result.
            (Some(one), None) if !matches!(one, Value::Callable { .. }) => {
                tally.differs(name, one.brief(), "not bound");
            }
            _ => {}
        }
    }
    match (&then.last, &now.last) {
        (Some(one), Some(other)) => compare("value", one, other, &mut tally),
        (Some(one), None) if !matches!(one, Value::None | Value::Opaque { .. } | Value::Callable { .. }) => {
            tally.form(&one.brief(), "not shown");
        }
        _ => {}
    }
    if then.figures.len() == now.figures.len() {
        let mut drawn = Tally::default();
        for (one, other) in then.figures.iter().zip(&now.figures) {
            compare("figure", one, other, &mut drawn);
        }
        tally.equal += drawn.equal;
        tally.opaque.append(&mut drawn.opaque);
        for difference in drawn.differences {
            match STYLE.iter().find(|part| difference.at.contains(&format!("[\"{part}\"]"))) {
                Some(part) => {
                    tally.forms.insert(format!("drawn with other {part}"));
                }
                None => tally.differences.push(difference),
            }
        }
    } else {
        tally.differs("figures", then.figures.len(), now.figures.len());
    }
    match printed::compare(&then.printed, &now.printed) {
        Printed::Same => tally.equal += usize::from(!then.printed.trim().is_empty()),
        Printed::OtherForm => {
            tally.equal += 1;
            tally.forms.insert("printed in another form".to_string());
        }
        Printed::Different => tally.differs("printed", quoted(&then.printed), quoted(&now.printed)),
    }
    tally
}

fn quoted(text: &str) -> String {
    let cut: String = text.trim().chars().take(70).collect();
    format!("{cut:?}")
}

/// Judges a rule by its runs.
pub(crate) fn judge(rule: &Rule, runs: &Runs) -> Judgement {
    let old = runs.old.last().and_then(|(_, run)| ran(run));
    let failed_before: Vec<String> = runs
        .old
        .iter()
        .filter(|(_, run)| ran(run).is_none())
        .map(|(version, run)| format!("{version}: {}", told(run)))
        .collect();
    let verdict = |outcome, notes: Vec<String>| Judgement { outcome, notes };
    let reason = match &rule.proof {
        Demonstration::NotRun(reason) => Some(reason.clone()),
        _ => None,
    };
    if let Some(reason) = &reason
        && (fails_in_setup(runs.before) || runs.after.is_some_and(|after| ran(after).is_none()))
    {
        return verdict(Outcome::CannotRun, vec![reason.clone(), told(runs.after.unwrap_or(runs.before))]);
    }
    if let Some(after) = runs.after
        && ran(after).is_none()
    {
        return verdict(Outcome::AfterFails, vec![told(after)]);
    }
    let erosion = erosion(rule, old, runs);
    let now = match &erosion {
        Erosion::Fails(error) | Erosion::OtherError(error) => format!("now {error}"),
        Erosion::Warns => "now warns".to_string(),
        Erosion::Differs => "now differs".to_string(),
        Erosion::Nothing => "now the same".to_string(),
    };
    let Some(old) = old else {
        let outcome = if runs.old.is_empty() { Outcome::NotInstallable } else { Outcome::OldFails };
        let mut notes: Vec<String> = failed_before.into_iter().take(1).collect();
        if runs.old.is_empty() {
            notes.push(format!("no environment has {} below {}", rule.library, rule.since));
        }
        notes.push(now);
        return verdict(outcome, notes);
    };
    let mut notes = Vec::new();
    if let (Some(nearest), Some((version, _))) = (failed_before.last(), runs.old.last()) {
        notes.push(format!("runs with {version} and fails with {nearest}"));
    }
    match erosion {
        // What the rule says cannot be shown here (a warning in a notebook, data from the network).
        Erosion::Nothing if reason.is_some() => {
            notes.extend(reason);
            return verdict(Outcome::CannotRun, notes);
        }
        Erosion::Nothing => return verdict(Outcome::BeforeStillWorks, notes),
        Erosion::OtherError(error) => {
            notes.push(error);
            return verdict(Outcome::OtherError, notes);
        }
        _ => {}
    }
    let proven = |outcome| if failed_before.is_empty() { outcome } else { Outcome::SinceTooLate };
    let Some(after) = runs.after.and_then(ran) else {
        return verdict(proven(Outcome::ProvenNoFix), notes);
    };
    let tally = compare_runs(old, after);
    notes.extend(tally.differences.iter().take(MOST_DIFFERENCES).map(ToString::to_string));
    notes.extend(tally.forms.iter().cloned());
    let outcome = if !tally.differences.is_empty() {
        if rule.score == ScoreEffect::Neutral {
            Outcome::ValuesDiffer
        } else {
            proven(Outcome::ProvenShifting)
        }
    } else if tally.equal > 0 {
        proven(Outcome::Proven)
    } else {
        if !tally.opaque.is_empty() {
            let classes: Vec<&str> = tally.opaque.iter().map(String::as_str).collect();
            notes.push(format!("not comparable: {}", classes.join(", ")));
        }
        proven(Outcome::ProvenNoValue)
    };
    verdict(outcome, notes)
}
