//! Says what will break in a notebook or module, without running or changing anything.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use mlem_configuration::Settings;
use mlem_environment::{Clue, Detector, Probe};
use mlem_notebook::{CellKind, Notebook};
use mlem_python::{EditSet, Program, Syntax, TextRange, TextSize, Unit, is_python2, lift_python2};
use mlem_rules::checks::{Check, PYTHON2, SYNTAX, UNUSED, VANISHED};
use mlem_rules::{DefaultPin, Finding, Ignores, Pins, Proof, Question, Safety, one_a_place};
use serde::Serialize;

use crate::clues::{self, Stored};
use crate::defaults::{self, Dating, Time};

/// One thing that does not fit the target environment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Located {
    /// The file, as it was named.
    pub path: String,
    /// Index among all cells from 0; `None` for a `.py` file.
    pub cell: Option<usize>,
    /// Line in the cell or file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The rule's id.
    pub rule: String,
    /// What is wrong, in a line.
    pub message: String,
    /// Whether `mlem fix` (with `--unsafe` where the safety says so) changes it.
    pub fixable: bool,
    /// `safe`, `safe-with-evidence` or `unsafe`.
    pub safety: &'static str,
    /// The line where it begins, trimmed: by it a finding is known again after lines have moved.
    #[serde(skip)]
    pub code: String,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The rules, the versions and the files.
    pub settings: &'a Settings,
    /// Whether `# mlem: ignore` comments that silence nothing are findings.
    pub unused_ignores: bool,
    /// What is said about the time of what is inspected.
    pub dating: Dating,
    /// Looks around each folder once.
    pub detector: &'a Detector,
}

/// What was found in a notebook or module.
#[derive(Debug)]
pub struct Inspected {
    /// The file.
    pub path: PathBuf,
    /// What does not fit the target, less what comments and settings silence.
    pub findings: Vec<Located>,
    /// Comments that cannot be understood, in words, with their places.
    pub warnings: Vec<String>,
    /// The program, for its imports.
    pub program: Program,
}

/// Inspects the code cells of a notebook.
///
/// With a probe, names and arguments that the interpreter lacks are found as well, where no rule has spoken.
pub fn notebook(notebook: &Notebook, path: &Path, asked: Asked<'_>, probe: Option<&mut Probe>) -> Inspected {
    let cells: Vec<(usize, Unit)> = notebook
        .cells()
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.kind == CellKind::Code)
        .map(|(index, cell)| (index, Unit::cell(&cell.source)))
        .collect();
    let numbers: Vec<usize> = cells.iter().map(|(index, _)| *index).collect();
    let places = numbers.iter().copied().map(Some).collect();
    let folder = path.parent().unwrap_or(Path::new(""));
    let told = |program: &Program| {
        let stored = Stored { notebook, program, cells: &numbers, folder, detector: asked.detector };
        clues::of_notebook(stored, asked.dating.as_of)
    };
    let may_fail = |cell: Option<usize>| cell.is_some_and(|cell| notebook.cells()[cell].may_fail());
    let time = Telling { told: &told, may_fail: &may_fail };
    inspect(cells.into_iter().map(|(_, unit)| unit).collect(), places, path, asked, time, probe)
}

/// How the time of what is inspected is found out, should it matter.
struct Telling<'a> {
    told: &'a dyn Fn(&Program) -> Vec<Clue>,
    may_fail: &'a dyn Fn(Option<usize>) -> bool,
}

/// Inspects one `.py` file.
pub fn module(source: &str, path: &Path, asked: Asked<'_>, probe: Option<&mut Probe>) -> Inspected {
    let told = |_: &Program| asked.dating.as_of.map(clues::of_day).into_iter().collect();
    let time = Telling { told: &told, may_fail: &|_| false };
    inspect(vec![Unit::module(source)], vec![None], path, asked, time, probe)
}

/// A finding before its place is put in words.
struct Raw<'a> {
    unit: usize,
    /// Where it begins.
    line: usize,
    column: usize,
    rule: &'a str,
    message: String,
    fixable: bool,
    safety: Safety,
}

impl<'a> Raw<'a> {
    /// What a check without a rule finds at a position.
    fn of_check(unit: usize, (line, column): (usize, usize), check: &'a Check, message: String) -> Raw<'a> {
        Raw { unit, line, column, rule: check.id, message, fixable: false, safety: Safety::Unsafe }
    }

    fn of_finding(unit: &Unit, finding: &Finding) -> Raw<'a> {
        let message = match &finding.proof {
            Proof::Unproven(reason) if !finding.message.contains(reason.as_str()) => {
                format!("{}: {reason}", finding.message)
            }
            _ => finding.message.clone(),
        };
        let (line, column) = unit.position(finding.range.start());
        Raw {
            unit: finding.unit,
            line,
            column,
            rule: &finding.rule.id,
            message,
            fixable: finding.any_fix().is_some(),
            safety: finding.safety,
        }
    }
}

fn inspect(
    units: Vec<Unit>,
    cells: Vec<Option<usize>>,
    path: &Path,
    asked: Asked<'_>,
    time: Telling<'_>,
    probe: Option<&mut Probe>,
) -> Inspected {
    let (catalogue, target) = (asked.settings.catalogue(), asked.settings.target());
    let selection = asked.settings.selection(path);
    let (program, originals, mut raw) = lift(units, target);
    let units = program.units();
    let mut ignores = Ignores::of(catalogue, units);
    raw.retain(|raw| !ignores.take(raw.rule, raw.unit, (raw.line, raw.line)));

    let mut findings = catalogue.check_regardless(&Question::without_kernel(&program, target));
    if !asked.dating.no_pins && defaults::matters(&program, catalogue, target) {
        let mut clues = (time.told)(&program);
        // Lifted units are there only where the notebook is Python 2.
        if let Some(unit) = originals.iter().position(Option::is_some) {
            clues.push(clues::of_python2(&seen_in(cells[unit], path)));
        }
        let proven = findings.iter().filter(|finding| finding.proof == Proof::Proven);
        let trusted = proven.filter(|finding| !(time.may_fail)(cells[finding.unit]));
        clues.extend(
            trusted.filter_map(|finding| clues::of_rule(finding.rule, &seen_in(cells[finding.unit], path))),
        );
        let pins = catalogue.default_pins(&program, target, &Time::of(&clues));
        findings.extend(pins.into_iter().map(|DefaultPin { mut finding, evidence }| {
            finding.message = format!("{}; {evidence}", finding.message);
            finding
        }));
    }
    let ruled: Vec<(usize, TextRange)> =
        findings.iter().map(|finding| (finding.unit, finding.range)).collect();
    findings.retain(|finding| {
        let lines = units[finding.unit].lines(finding.range);
        !ignores.take(&finding.rule.id, finding.unit, lines) && selection.wants(&finding.rule.id)
    });
    raw.extend(one_a_place(findings).iter().map(|finding| Raw::of_finding(&units[finding.unit], finding)));

    let is_probed = probe.is_some();
    if let Some(probe) = probe {
        for vanished in crate::vanished::find(&program, probe, path.parent().unwrap_or(Path::new(""))) {
            let spoken = |(unit, range): &(usize, TextRange)| {
                *unit == vanished.unit && range.contains_inclusive(vanished.at)
            };
            let position = units[vanished.unit].position(vanished.at);
            let is_silenced = ignores.take(VANISHED.id, vanished.unit, (position.0, position.0));
            if !is_silenced && !ruled.iter().any(spoken) {
                let found = Raw::of_check(vanished.unit, position, &VANISHED, vanished.message);
                raw.push(Raw { safety: Safety::SafeWithEvidence, ..found });
            }
        }
    }
    if asked.unused_ignores {
        raw.extend(ignores.unused(catalogue, is_probed).into_iter().map(|remark| {
            let position = units[remark.unit].position(remark.range.start());
            Raw::of_check(remark.unit, position, &UNUSED, remark.message)
        }));
    }
    raw.retain(|raw| selection.wants(raw.rule));

    let shown = path.display().to_string();
    // Lines are told as they stand in the file, also where they had to be lifted.
    let original = |unit: usize| originals[unit].as_ref().unwrap_or(&units[unit]);
    let mut findings: Vec<Located> = raw
        .into_iter()
        .map(|raw| Located {
            path: shown.clone(),
            cell: cells[raw.unit],
            line: raw.line,
            column: raw.column,
            rule: raw.rule.to_owned(),
            message: raw.message,
            fixable: raw.fixable,
            safety: raw.safety.as_str(),
            code: original(raw.unit).line_text(raw.line).trim().to_owned(),
        })
        .collect();
    findings.sort();
    findings.dedup();
    let warnings = ignores
        .problems()
        .iter()
        .map(|problem| {
            let line = units[problem.unit].position(problem.range.start()).0;
            let cell = cells[problem.unit].map_or(String::new(), |cell| format!("cell {cell}:"));
            format!("{shown}:{cell}{line}: {}", problem.message)
        })
        .collect();
    Inspected { path: path.to_owned(), findings, warnings, program }
}

fn seen_in(cell: Option<usize>, path: &Path) -> String {
    cell.map_or_else(|| path.display().to_string(), |cell| format!("cell {cell}"))
}

/// The program in the target's syntax, for each unit that had to be lifted what it was, and what is found by that.
fn lift(units: Vec<Unit>, target: &Pins) -> (Program, Vec<Option<Unit>>, Vec<Raw<'static>>) {
    let mut raw = Vec::new();
    let is_python3 = target.python.0 >= 3;
    let python2 = is_python3 && is_python2(&units);
    let mut originals = Vec::with_capacity(units.len());
    let mut program = Vec::with_capacity(units.len());
    for (index, unit) in units.into_iter().enumerate() {
        let own = matches!(unit.syntax(), Syntax::Python2 { .. });
        let lifted = if is_python3 && (python2 || own) { lifted(&unit) } else { None };
        match (unit.syntax(), &lifted) {
            (Syntax::Python2 { reasons }, Some((_, start))) => {
                let message = format!("Python 2 syntax: {}", reasons.join(", "));
                let found = Raw::of_check(index, unit.position(*start), &PYTHON2, message);
                raw.push(Raw { fixable: true, safety: Safety::Safe, ..found });
            }
            (Syntax::Python2 { .. }, None) if is_python3 => {
                let message = "Python 2 syntax that cannot be lifted to Python 3".to_owned();
                raw.push(Raw::of_check(index, (1, 1), &PYTHON2, message));
            }
            (Syntax::Broken { line, column, message }, _) => {
                let message = format!("not valid Python: {message}");
                raw.push(Raw::of_check(index, (*line, *column), &SYNTAX, message));
            }
            _ => {}
        }
        match lifted {
            Some((lifted, _)) => {
                originals.push(Some(unit));
                program.push(lifted);
            }
            None => {
                originals.push(None);
                program.push(unit);
            }
        }
    }
    (Program::new(program), originals, raw)
}

/// The unit in Python 3's syntax, and where the first change is; lines keep their numbers.
fn lifted(unit: &Unit) -> Option<(Unit, TextSize)> {
    let edits = lift_python2(unit).ok()?;
    let start = edits.iter().map(|edit| edit.range.start()).min()?;
    let mut set = EditSet::new();
    set.add_all(edits).ok()?;
    Some((set.apply_checked(unit).ok()?, start))
}

/// Reads helper modules once for many notebooks of a tree.
#[derive(Debug, Default)]
pub struct Seen {
    /// Path, and which settings the notebook has that imports the module.
    modules: HashSet<(PathBuf, usize)>,
}

impl Seen {
    /// What is found in the modules that a notebook's program imports from beside it, of those not reported before.
    pub fn modules(
        &mut self,
        program: &Program,
        notebook: &Path,
        asked: Asked<'_>,
        mut probe: Option<&mut Probe>,
    ) -> Vec<Inspected> {
        let folder =
            notebook.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let root = crate::scratch::repository_root(notebook);
        let root = if folder.starts_with(root) { root } else { folder };
        let settings = std::ptr::from_ref(asked.settings).addr();
        let mut found = Vec::new();
        for (path, text) in crate::modules::find(program, folder, root) {
            let path = root.join(path);
            if self.modules.insert((path.clone(), settings)) && !asked.settings.excludes(&path) {
                found.push(module(&text, &path, asked, probe.as_deref_mut()));
            }
        }
        found
    }
}
