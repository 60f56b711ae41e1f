//! Says what will break in a notebook or module, without running or changing anything.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use mlem_environment::Probe;
use mlem_notebook::{CellKind, Notebook};
use mlem_python::{EditSet, Program, Syntax, TextRange, TextSize, Unit, is_python2, lift_python2};
use mlem_rules::checks::{PYTHON2, SYNTAX, VANISHED};
use mlem_rules::{Catalogue, Pins, Proof, Question, Safety, one_a_place};
use serde::Serialize;

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
}

/// Inspects the code cells of a notebook; the second value is its program, for its imports.
///
/// With a probe, names and arguments that the interpreter lacks are found as well, where no rule has spoken.
pub fn notebook(
    notebook: &Notebook,
    path: &Path,
    target: &Pins,
    probe: Option<&mut Probe>,
) -> (Vec<Located>, Program) {
    let cells: Vec<(usize, Unit)> = notebook
        .cells()
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.kind == CellKind::Code)
        .map(|(index, cell)| (index, Unit::cell(&cell.source)))
        .collect();
    let places = cells.iter().map(|(index, _)| Some(*index)).collect();
    inspect(cells.into_iter().map(|(_, unit)| unit).collect(), places, path, target, probe)
}

/// Inspects one `.py` file.
pub fn module(source: &str, path: &Path, target: &Pins, probe: Option<&mut Probe>) -> Vec<Located> {
    inspect(vec![Unit::module(source)], vec![None], path, target, probe).0
}

fn inspect(
    units: Vec<Unit>,
    cells: Vec<Option<usize>>,
    path: &Path,
    target: &Pins,
    probe: Option<&mut Probe>,
) -> (Vec<Located>, Program) {
    let shown = path.display().to_string();
    let mut found = Vec::new();
    let python2 = target.python.0 >= 3 && is_python2(&units);
    let at = |cell, (line, column): (usize, usize), rule: &str, message: String, fixable, safety: Safety| {
        Located {
            path: shown.clone(),
            cell,
            line,
            column,
            rule: rule.to_owned(),
            message,
            fixable,
            safety: safety.as_str(),
        }
    };
    let units: Vec<Unit> = units
        .into_iter()
        .zip(&cells)
        .map(|(unit, cell)| {
            let own = matches!(unit.syntax(), Syntax::Python2 { .. });
            let lifted = if target.python.0 >= 3 && (python2 || own) { lifted(&unit) } else { None };
            let first = (1, 1);
            match (unit.syntax(), &lifted) {
                (Syntax::Python2 { reasons }, Some((_, start))) => {
                    let message = format!("Python 2 syntax: {}", reasons.join(", "));
                    found.push(at(*cell, unit.position(*start), PYTHON2.id, message, true, Safety::Safe));
                }
                (Syntax::Python2 { .. }, None) if target.python.0 >= 3 => {
                    let message = "Python 2 syntax that cannot be lifted to Python 3".to_owned();
                    found.push(at(*cell, first, PYTHON2.id, message, false, Safety::Unsafe));
                }
                (Syntax::Broken { line, column, message }, _) => {
                    let message = format!("not valid Python: {message}");
                    found.push(at(*cell, (*line, *column), SYNTAX.id, message, false, Safety::Unsafe));
                }
                _ => {}
            }
            lifted.map_or(unit, |(unit, _)| unit)
        })
        .collect();
    let program = Program::new(units);
    let mut ruled: Vec<(usize, TextRange)> = Vec::new();
    let findings = Catalogue::shipped().check(&Question::without_kernel(&program, target));
    for finding in one_a_place(findings) {
        ruled.push((finding.unit, finding.range));
        let position = program.units()[finding.unit].position(finding.range.start());
        let message = match &finding.proof {
            Proof::Unproven(reason) if !finding.message.contains(reason.as_str()) => {
                format!("{}: {reason}", finding.message)
            }
            _ => finding.message.clone(),
        };
        let fixable = finding.any_fix().is_some();
        found.push(at(cells[finding.unit], position, &finding.rule.id, message, fixable, finding.safety));
    }
    if let Some(probe) = probe {
        for vanished in crate::vanished::find(&program, probe, path.parent().unwrap_or(Path::new(""))) {
            let cell = cells[vanished.unit];
            let position = program.units()[vanished.unit].position(vanished.at);
            let spoken = |(unit, range): &(usize, TextRange)| {
                *unit == vanished.unit && range.contains_inclusive(vanished.at)
            };
            if !ruled.iter().any(spoken) {
                found.push(at(
                    cell,
                    position,
                    VANISHED.id,
                    vanished.message,
                    false,
                    Safety::SafeWithEvidence,
                ));
            }
        }
    }
    found.sort();
    found.dedup();
    (found, program)
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
    modules: HashSet<PathBuf>,
}

impl Seen {
    /// The findings of the modules that a notebook's program imports from beside it, those not reported before.
    pub fn modules(
        &mut self,
        program: &Program,
        notebook: &Path,
        target: &Pins,
        mut probe: Option<&mut Probe>,
    ) -> Vec<Located> {
        let folder =
            notebook.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let root = crate::scratch::repository_root(notebook);
        let root = if folder.starts_with(root) { root } else { folder };
        let mut found = Vec::new();
        for (path, text) in crate::modules::find(program, folder, root) {
            let path = root.join(path);
            if self.modules.insert(path.clone()) {
                found.extend(module(&text, &path, target, probe.as_deref_mut()));
            }
        }
        found
    }
}
