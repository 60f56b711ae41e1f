//! Writes old default values out where the notebook's time proves that it relied on them.
//!
//! Pins are a layer of their own on top of the repaired sources: they never add or remove a line, and one that makes a
//! cell fail is left out when the layer is made again.

use std::collections::{BTreeSet, HashSet};

use mlem_environment::{Age, Clue, Date};
use mlem_notebook::CellIndex;
use mlem_python::{Edit, Program};
use mlem_rules::{Catalogue, DefaultPin, Finding, Ignores, Kind, Past, Pins, Question, Rule};
use pep440_rs::Version;

use crate::clues;
use crate::report::{EditRecord, EditSource, VersionsRecord};
use crate::session::{Cause, Failure};
use crate::sources::{Place, Sources};
use crate::statics::record_place;
use crate::wanted::Wanted;

/// What the user says about a notebook's time, and whether defaults are pinned at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dating {
    /// The day on which the notebook was last run at the latest.
    pub as_of: Option<Date>,
    /// Leave defaults alone.
    pub no_pins: bool,
}

/// A notebook's time, as the rules about defaults ask for it.
#[derive(Debug, Clone)]
pub struct Time(pub Age);

impl Past for Time {
    fn proves(&self, distribution: &str, from: Option<&Version>, before: &Version) -> Option<String> {
        self.0.proves(distribution, from, before)
    }
}

impl Time {
    /// The time of which clues tell.
    pub fn of(clues: &[Clue]) -> Time {
        Time(Age::of(clues))
    }

    /// What is known of the versions of some distributions, for the report.
    pub fn records(&self, target: &Pins) -> Vec<VersionsRecord> {
        let installed = self.0.all_versions().filter(|(name, _)| target.packages.contains_key(*name));
        installed
            .map(|(name, interval)| VersionsRecord {
                library: name.to_owned(),
                from: interval.from.as_ref().map(|bound| bound.at.to_string()),
                from_evidence: interval.from.as_ref().map(|bound| bound.evidence.clone()),
                to: interval.to.as_ref().map(|bound| bound.at.to_string()),
                to_inclusive: interval.to.as_ref().is_some_and(|bound| bound.inclusive),
                to_evidence: interval.to.as_ref().map(|bound| bound.evidence.clone()),
            })
            .collect()
    }
}

/// A past that proves everything: it tells whether a notebook's time matters at all.
struct Always;

impl Past for Always {
    fn proves(&self, _: &str, _: Option<&Version>, _: &Version) -> Option<String> {
        Some(String::new())
    }
}

/// Whether a program has calls that would be pinned if its time were known. Most have none, and finding out their
/// time would cost more than all the rest of a check.
pub(crate) fn matters(program: &Program, catalogue: &'static Catalogue, target: &Pins) -> bool {
    !catalogue.default_pins(program, target, &Always).is_empty()
}

/// Which pin: the piece, the rule, and the how-manieth of that rule in the piece.
pub(crate) type PinKey = (usize, String, usize);

/// One default that was written out.
#[derive(Debug, Clone)]
pub(crate) struct Pinned {
    pub(crate) key: PinKey,
    /// The word that an error about it would hold.
    parameter: Option<String>,
    pub(crate) record: EditRecord,
}

/// Where a pin goes, and what it writes.
struct Found {
    key: PinKey,
    rule: &'static Rule,
    evidence: String,
    reason: String,
    /// In the piece; nothing where no argument gives the old behaviour.
    edit: Option<Edit>,
}

/// The programs of the sources with the position of their first piece: the cells are one, each module one of its own.
fn programs(sources: &Sources) -> Vec<(usize, Program)> {
    let cells = sources.cells().len();
    let modules = (cells..sources.pieces().len()).map(|module| (module, sources.program_of(module).0));
    std::iter::once((0, sources.program())).chain(modules).collect()
}

fn find(sources: &Sources, wanted: &Wanted, target: &Pins, past: &dyn Past) -> Vec<Found> {
    let catalogue = wanted.catalogue();
    let mut found: Vec<Found> = Vec::new();
    for (base, program) in programs(sources) {
        let pins = catalogue.default_pins(&program, target, past);
        let ignores = Ignores::of(catalogue, program.units());
        for DefaultPin { finding, evidence } in pins {
            let lines = program.units()[finding.unit].lines(finding.range);
            let place = &sources.pieces()[base + finding.unit].place;
            if ignores.silence(&finding.rule.id, finding.unit, lines) || !wanted.has(place, &finding.rule.id)
            {
                continue;
            }
            let place = finding.fix.as_ref().and_then(|fix| fix.edits.first()).cloned();
            let (unit, edit) = match place {
                Some((unit, edit)) => (unit, Some(edit)),
                None => (finding.unit, None),
            };
            let piece = base + unit;
            let count = found.iter().filter(|it| it.key.0 == piece && it.key.1 == finding.rule.id).count();
            found.push(Found {
                key: (piece, finding.rule.id.clone(), count),
                rule: finding.rule,
                evidence,
                reason: finding.message,
                edit,
            });
        }
    }
    found
}

/// Writes out every default that the notebook relied on for certain, but for those that were rejected.
pub(crate) fn pin(
    sources: &mut Sources,
    notebook: &str,
    wanted: &Wanted,
    target: &Pins,
    past: &dyn Past,
    rejected: &HashSet<PinKey>,
) -> Vec<Pinned> {
    let mut found = find(sources, wanted, target, past);
    // From the end of each piece to its start, so that the places before stay where they are; of several at one place
    // the last goes in first.
    found.reverse();
    found.sort_by_key(|it| std::cmp::Reverse((it.key.0, it.edit.as_ref().map(|edit| edit.range.start()))));
    let mut pinned = Vec::new();
    let mut behind = None;
    for Found { key, rule, evidence, reason, edit } in found {
        let Some(mut edit) = edit.filter(|_| !rejected.contains(&key)) else { continue };
        let here = (key.0, edit.range.start());
        // Between empty parentheses the first pin needs no comma before it, but one to the pin behind it.
        if behind.replace(here) == Some(here) && !edit.text.starts_with(',') {
            edit.text.push_str(", ");
        }
        // An edit that would not parse is left out, like everywhere.
        if let Ok(change) = sources.apply(key.0, &[edit]) {
            let parameter = rule.default_change().map(|change| change.parameter.clone());
            let record = record(sources, key.0, notebook, rule, change, evidence, reason);
            pinned.push(Pinned { key, parameter, record });
        }
    }
    pinned.reverse();
    pinned.extend(by_rules(sources, notebook, wanted, target, past, rejected));
    pinned
}

/// Rules of the catalogue about defaults, whose fix waits for just this proof.
fn by_rules(
    sources: &mut Sources,
    notebook: &str,
    wanted: &Wanted,
    target: &Pins,
    past: &dyn Past,
    rejected: &HashSet<PinKey>,
) -> Vec<Pinned> {
    let catalogue = wanted.catalogue();
    let is_about_default = |rule: &Rule| rule.kind == Kind::Default && rule.default_change().is_none();
    let waits = catalogue.rules().iter().any(|rule| {
        is_about_default(rule)
            && rule.applies_to(target)
            && past.proves(&rule.library, None, &rule.since).is_some()
    });
    let mut pinned: Vec<Pinned> = Vec::new();
    if !waits {
        return pinned;
    }
    for base in 0..sources.pieces().len() {
        if base > 0 && base < sources.cells().len() {
            continue;
        }
        let mut skip = 0;
        loop {
            let (program, _) = sources.program_of(base);
            let findings = catalogue.check(&Question::without_kernel(&program, target));
            let mut proven = findings.into_iter().filter_map(|finding| {
                let evidence = past.proves(&finding.rule.library, None, &finding.rule.since)?;
                let is_wanted = wanted.has(&sources.pieces()[base + finding.unit].place, &finding.rule.id);
                let is_meant = is_wanted && is_about_default(finding.rule) && finding.fix.is_some();
                is_meant.then_some((finding, evidence))
            });
            let Some((finding, evidence)) = proven.nth(skip) else { break };
            let piece = base + finding.unit;
            let count = pinned.iter().filter(|it| it.key.0 == piece && it.key.1 == finding.rule.id).count();
            let key = (piece, finding.rule.id.clone(), count + skip);
            let made = (!rejected.contains(&key)).then(|| apply(sources, base, &finding)).flatten();
            let Some(change) = made else {
                skip += 1;
                continue;
            };
            let record =
                record(sources, piece, notebook, finding.rule, change, evidence, finding.message.clone());
            pinned.push(Pinned { key, parameter: None, record });
        }
    }
    pinned
}

/// Makes a finding's fix, if it touches no other piece and the result parses.
fn apply(sources: &mut Sources, base: usize, finding: &Finding) -> Option<crate::sources::LineChange> {
    let fix = finding.fix.as_ref()?;
    let edits: Vec<Edit> =
        fix.edits.iter().filter(|(unit, _)| *unit == finding.unit).map(|(_, edit)| edit.clone()).collect();
    (edits.len() == fix.edits.len()).then(|| sources.apply(base + finding.unit, &edits).ok()).flatten()
}

fn record(
    sources: &Sources,
    piece: usize,
    notebook: &str,
    rule: &Rule,
    change: crate::sources::LineChange,
    evidence: String,
    reason: String,
) -> EditRecord {
    let (path, cell) = record_place(sources, piece, notebook);
    EditRecord {
        path,
        cell,
        lines: change.lines,
        source: EditSource::Rule,
        rule: Some(rule.id.clone()),
        before: change.before,
        after: change.after,
        evidence,
        safety: rule.safety.as_str().to_owned(),
        reason,
    }
}

/// Pins defaults in sources that are not going to be run: what `mlem fix` does.
pub fn fix(
    sources: &mut Sources,
    notebook: &str,
    wanted: &Wanted,
    target: &Pins,
    time: &Time,
) -> Vec<EditRecord> {
    let pinned = pin(sources, notebook, wanted, target, time, &HashSet::new());
    pinned.into_iter().map(|pinned| pinned.record).collect()
}

/// The time of sources that were fixed by `edits`, as their stored state and those edits tell it.
pub fn time_of(stored: &[Clue], edits: &[EditRecord], sources: &Sources, catalogue: &Catalogue) -> Time {
    let may_fail = |cell: usize| {
        let place = Place::Cell(CellIndex(cell));
        sources.position(&place).is_some_and(|piece| sources.pieces()[piece].may_fail)
    };
    let mut all = stored.to_vec();
    all.extend(clues::of_edits(edits, catalogue, &may_fail));
    Time::of(&all)
}

/// Calls that relied on a default which no argument gives any more, in words.
pub fn not_pinned(
    sources: &Sources,
    notebook: &str,
    wanted: &Wanted,
    target: &Pins,
    time: &Time,
) -> Vec<String> {
    find(sources, wanted, target, time)
        .into_iter()
        .filter(|found| found.edit.is_none())
        .map(|found| {
            let (path, cell) = record_place(sources, found.key.0, notebook);
            let place = cell.map_or(path, |cell| format!("cell {cell}"));
            format!("{place}: {} ({}); {}", found.reason, found.key.1, found.evidence)
        })
        .collect()
}

/// The pins of one notebook under repair.
#[derive(Debug, Default)]
pub(crate) struct Defaults {
    /// What the notebook as stored tells about its time; nothing when no default is to be pinned.
    pub(crate) clues: Option<Vec<Clue>>,
    pub(crate) rejected: HashSet<PinKey>,
    /// What a person wants to know: conflicts, and pins that were taken back.
    pub(crate) notes: Vec<String>,
}

impl Defaults {
    /// The time that follows from the stored notebook and the changes made so far.
    pub(crate) fn time(
        &self,
        edits: &[EditRecord],
        catalogue: &Catalogue,
        sources: &Sources,
    ) -> Option<Time> {
        Some(time_of(self.clues.as_ref()?, edits, sources, catalogue))
    }
}

/// The sources with pins in them, and what they were before.
pub(crate) struct Layer {
    pub(crate) unpinned: Sources,
    /// How many edits there were before.
    pub(crate) edits: usize,
    pub(crate) pinned: Vec<Pinned>,
}

impl Layer {
    /// The pins that a failure can come from: those of which the error speaks, else those in the failing cell or the
    /// failing module, else all whose effects reach the failing cell.
    pub(crate) fn blamed(&self, program: &Program, failure: &Failure) -> Vec<PinKey> {
        let cells = program.units().len();
        let reaching: Vec<&Pinned> = self
            .pinned
            .iter()
            .filter(|pinned| pinned.key.0 >= cells || reaches(program, pinned.key.0, failure.cell))
            .collect();
        let text = match &failure.cause {
            Cause::Exception { exception, .. } => exception.signature(),
            _ => String::new(),
        };
        let culprit = failure.culprit().map_or(failure.cell, |(piece, _)| piece);
        let is_named =
            |pinned: &&&Pinned| pinned.parameter.as_ref().is_some_and(|parameter| is_word(&text, parameter));
        let is_there = |pinned: &&&Pinned| pinned.key.0 == culprit || pinned.key.0 == failure.cell;
        let keys = |chosen: Vec<&&Pinned>| chosen.into_iter().map(|pinned| pinned.key.clone()).collect();
        let named: Vec<&&Pinned> = reaching.iter().filter(is_named).collect();
        if !named.is_empty() {
            return keys(named);
        }
        let there: Vec<&&Pinned> = reaching.iter().filter(is_there).collect();
        if there.is_empty() { keys(reaching.iter().collect()) } else { keys(there) }
    }
}

/// Whether a text holds a word that is no part of a longer one.
fn is_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// Whether what a unit binds or changes is read by a later one, directly or through others.
fn reaches(program: &Program, from: usize, to: usize) -> bool {
    if from >= to {
        return from == to;
    }
    let flow = program.flow(from);
    let mut names: BTreeSet<&String> = flow.binds.iter().chain(&flow.mutates).collect();
    for unit in from + 1..=to {
        let flow = program.flow(unit);
        if flow.reads.iter().any(|name| names.contains(name)) {
            if unit == to {
                return true;
            }
            names.extend(flow.binds.iter().chain(&flow.mutates));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use mlem_configuration::Settings;
    use mlem_environment::Says;
    use mlem_notebook::Notebook;

    use super::*;
    use crate::diagnose::Exception;

    fn target() -> Pins {
        let version = |text: &str| text.parse().expect("a version");
        let packages = [("scikit-learn", "1.9.1"), ("pandas", "3.1.1")];
        let packages = packages.map(|(name, text)| (name.to_owned(), version(text)));
        Pins { python: (3, 13), packages: BTreeMap::from(packages) }
    }

    fn wanted() -> Wanted {
        let settings = Settings::of_target(target());
        Wanted::new(&settings, Path::new("a.ipynb"), Path::new(""), &Sources::default())
    }

    fn below(library: &str, version: &str) -> Time {
        let version = version.parse().expect("a version");
        let says = Says::Between(library.to_owned(), None, Some(version));
        Time::of(&[Clue { says, evidence: "seen".to_owned() }])
    }

    fn sources(script: &str) -> Sources {
        Sources::new(&Notebook::from_script(script, Path::new("a.py")))
    }

    const FOREST: &str = "# %%\nfrom sklearn.ensemble import RandomForestClassifier\nfrom sklearn.svm import SVC\n\
                          models = [RandomForestClassifier(), SVC()]\n# %%\nscores = fit(models)\n";

    fn pinned(script: &str, rejected: &HashSet<PinKey>) -> (Sources, Vec<Pinned>) {
        let mut sources = sources(script);
        let time = below("scikit-learn", "0.20");
        let pins = pin(&mut sources, "a.ipynb", &wanted(), &target(), &time, rejected);
        (sources, pins)
    }

    #[test]
    fn pins_are_written_with_their_evidence_and_left_out_when_rejected() {
        let (sources, pins) = pinned(FOREST, &HashSet::new());
        let text = &sources.cells()[0].current;
        assert!(text.contains("[RandomForestClassifier(n_estimators=10), SVC(gamma='auto')]"), "{text}");
        assert_eq!(pins.len(), 2);
        assert_eq!(pins[0].record.evidence, "seen");
        assert_eq!(pins[0].record.rule.as_deref(), Some("SKD001"));
        let (sources, _) = pinned(FOREST, &HashSet::from([pins[0].key.clone()]));
        let text = &sources.cells()[0].current;
        assert!(text.contains("[RandomForestClassifier(), SVC(gamma='auto')]"), "{text}");
    }

    #[test]
    fn several_pins_of_one_call_stand_in_one_call() {
        let (sources, pins) =
            pinned("from sklearn.linear_model import SGDClassifier as S\ns = S()\n", &HashSet::new());
        assert_eq!(pins.len(), 2);
        let text = &sources.cells()[0].current;
        assert!(
            text.contains("S(max_iter=5, tol=None)") || text.contains("S(tol=None, max_iter=5)"),
            "{text}"
        );
    }

    #[test]
    fn rules_about_defaults_are_applied_when_the_time_proves_them() {
        let script = "import pandas as pd\ns = pd.Series(['a.b'])\nprint(s.str.replace('a.', 'c'))\n";
        let pins = |time: &Time| {
            let mut sources = sources(script);
            fix(&mut sources, "a.ipynb", &wanted(), &target(), time);
            sources.cells()[0].current.clone()
        };
        assert!(pins(&below("pandas", "1.2")).contains("s.str.replace('a.', 'c', regex=True)"));
        assert!(!pins(&Time::of(&[])).contains("regex"));
    }

    fn failure(cell: usize, evalue: &str) -> Failure {
        let exception = Exception { ename: "ValueError".into(), evalue: evalue.into(), frames: Vec::new() };
        Failure { cell, cause: Cause::Exception { exception, user_lines: Vec::new() } }
    }

    #[test]
    fn the_pin_of_which_the_error_speaks_is_blamed_else_all_that_reach_it() {
        let (sources, pins) = pinned(FOREST, &HashSet::new());
        let layer = Layer { unpinned: sources.clone(), edits: 0, pinned: pins };
        let program = sources.program();
        let ids = |failure: &Failure| {
            let keys = layer.blamed(&program, failure);
            keys.into_iter().map(|(_, id, _)| id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&failure(1, "the 'gamma' parameter of SVC")), ["SKD010"]);
        assert_eq!(ids(&failure(1, "something else")), ["SKD001", "SKD010"]);
        let other = sources.clone();
        let apart = self::sources(&FOREST.replace("fit(models)", "1"));
        assert_eq!(layer.blamed(&apart.program(), &failure(1, "something else")), []);
        drop(other);
    }
}
