//! Failures that nothing helps, and what can still be repaired beside them: every cell that needs nothing of what a
//! dead end should have made.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use mlem_python::{Flow, Program, Ranged, Unit};

use crate::session::{Cause, Failure};
use crate::sources::Sources;

/// Why a cell was not run, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// The failing cell that it waits for.
    pub(crate) root: usize,
    /// The names that the cell needs and that are lacking; none when the repair ended before it.
    pub(crate) names: Vec<String>,
}

/// All dead ends of one notebook, and what depends on them.
#[derive(Debug, Default)]
pub(crate) struct DeadEnds {
    ends: Vec<Failure>,
    waiting: BTreeMap<usize, Waiting>,
    /// Names without the value that a dead end should have given them, by the cell of that dead end.
    lacking: BTreeMap<String, usize>,
    /// As `lacking`, but kept when a later cell binds the name, which it may do in a branch only.
    ever_lacking: BTreeMap<String, usize>,
    /// A cell whose star import failed: what it would have bound is not known.
    star: Option<usize>,
}

impl DeadEnds {
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Dead ends in the order of their cells.
    pub(crate) fn ends(&self) -> &[Failure] {
        &self.ends
    }

    /// Cells that were not run to their end because of a dead end elsewhere.
    pub(crate) fn waiting(&self) -> &BTreeMap<usize, Waiting> {
        &self.waiting
    }

    /// Whether `cell` is a dead end itself.
    pub(crate) fn has(&self, cell: usize) -> bool {
        self.ends.iter().any(|end| end.cell == cell)
    }

    /// Whether this very failure is known.
    pub(crate) fn is_known(&self, failure: &Failure) -> bool {
        self.ends.iter().any(|end| end.cell == failure.cell && end.signature() == failure.signature())
    }

    /// Takes the dead ends of one cell; from the first of their statements on it made nothing.
    pub(crate) fn add(&mut self, failures: Vec<Failure>, sources: &Sources) {
        let Some(cell) = failures.first().map(|failure| failure.cell) else { return };
        let line = failures.iter().filter_map(line_in_cell).min();
        let program = unfinished(sources, cell, line);
        // The last unit of that program is what did not run.
        let tail = program.units().len() - 1;
        if program.imports().iter().any(|import| import.unit == tail && import.is_star) {
            self.star.get_or_insert(cell);
        }
        self.lack(&program, tail, cell);
        self.ends.extend(failures);
        self.ends.sort_by_key(|end| end.cell);
    }

    /// Nothing after `cell` can be run any more.
    pub(crate) fn end_all(&mut self, failure: Failure, cells: usize) {
        let root = failure.cell;
        for cell in root + 1..cells {
            self.waiting.entry(cell).or_insert(Waiting { root, names: Vec::new() });
        }
        self.ends.push(failure);
        self.ends.sort_by_key(|end| end.cell);
    }

    /// Whether `cell` needs what is lacking; then it waits, and what it would have made is lacking, too.
    pub(crate) fn waits(&mut self, program: &Program, cell: usize) -> bool {
        let flow = program.flow(cell);
        let needed = flow.reads.union(&flow.mutates);
        let names: Vec<String> = needed.filter(|name| self.lacking.contains_key(*name)).cloned().collect();
        let Some(root) = names.iter().filter_map(|name| self.lacking.get(name)).min().copied() else {
            return false;
        };
        self.waiting.insert(cell, Waiting { root, names });
        self.lack(program, cell, root);
        true
    }

    /// A cell ran to its end: what it binds has a value again.
    pub(crate) fn passed(&mut self, flow: &Flow) {
        for name in &flow.binds {
            self.lacking.remove(name);
        }
    }

    /// The name for whose lack `failure` stands, when it is but the consequence of a dead end before it.
    pub(crate) fn consequence(&self, failure: &Failure, sources: &Sources) -> Option<(String, usize)> {
        let name = missing_name(failure)?;
        let own = |root: usize| (root < failure.cell).then(|| (name.to_owned(), root));
        if let Some(root) = self.ever_lacking.get(name) {
            return own(*root);
        }
        let root = self.star?;
        // A star import binds what nothing else in the notebook binds.
        if sources.program().name_is_bound(name) { None } else { own(root) }
    }

    /// A cell that stopped for the lack of `name`.
    pub(crate) fn stopped(&mut self, failure: &Failure, (name, root): (String, usize), sources: &Sources) {
        let program = unfinished(sources, failure.cell, line_in_cell(failure));
        self.lack(&program, program.units().len() - 1, root);
        self.waiting.insert(failure.cell, Waiting { root, names: vec![name] });
    }

    fn lack(&mut self, program: &Program, unit: usize, root: usize) {
        // Calling something of an imported module changes no value that another cell needs.
        let modules: HashSet<&str> = program
            .imports()
            .iter()
            .filter(|import| import.unit != unit)
            .map(|import| import.bound.as_str())
            .collect();
        let flow = program.flow(unit);
        let changed = flow.mutates.iter().filter(|name| !modules.contains(name.as_str()));
        let names: BTreeSet<&String> = flow.binds.iter().chain(changed).collect();
        for name in names {
            self.lacking.entry(name.clone()).or_insert(root);
            self.ever_lacking.entry(name.clone()).or_insert(root);
        }
    }
}

/// The name of `NameError: name 'x' is not defined`.
pub(crate) fn missing_name(failure: &Failure) -> Option<&str> {
    let Cause::Exception { exception, .. } = &failure.cause else { return None };
    if !matches!(exception.ename.as_str(), "NameError" | "UnboundLocalError") {
        return None;
    }
    exception.evalue.split('\'').nth(1)
}

/// The line of the failing cell itself that led to the failure.
fn line_in_cell(failure: &Failure) -> Option<usize> {
    let Cause::Exception { user_lines, .. } = &failure.cause else { return None };
    user_lines.iter().find(|(piece, _)| *piece == failure.cell).map(|(_, line)| *line)
}

/// The cells up to `cell`, which is cut in two at the statement on `line`: the last unit holds what did not run.
fn unfinished(sources: &Sources, cell: usize, line: Option<usize>) -> Program {
    let mut units: Vec<Unit> =
        sources.cells()[..cell].iter().map(|piece| Unit::cell(&piece.current)).collect();
    let text = &sources.cells()[cell].current;
    let unit = Unit::cell(text);
    let failing = line.and_then(|line| {
        unit.body().iter().find(|statement| {
            let (first, last) = unit.lines(statement.range());
            (first..=last).contains(&line)
        })
    });
    let start = failing.map_or(0, |statement| statement.start().to_usize());
    units.push(Unit::cell(&text[..start]));
    units.push(Unit::cell(&text[start..]));
    Program::new(units)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mlem_notebook::Notebook;

    use super::*;
    use crate::diagnose::Exception;

    fn sources(cells: &[&str]) -> Sources {
        let script = cells.iter().map(|cell| format!("# %%\n{cell}\n")).collect::<String>();
        Sources::new(&Notebook::from_script(&script, Path::new("a.py")))
    }

    fn failure(cell: usize, ename: &str, evalue: &str, line: usize) -> Failure {
        let exception = Exception { ename: ename.into(), evalue: evalue.into(), frames: Vec::new() };
        Failure { cell, cause: Cause::Exception { exception, user_lines: vec![(cell, line)] } }
    }

    #[test]
    fn only_cells_that_need_what_a_dead_end_should_have_made_wait() {
        let sources = sources(&[
            "import os\nbefore = 1\nbad = nothing.here\nafter = 2",
            "print(before)",
            "made = after + 1",
            "print(made)",
            "after = 3",
            "print(after)",
            "print(os.sep)",
        ]);
        let mut ends = DeadEnds::default();
        ends.add(vec![failure(0, "AttributeError", "m", 3)], &sources);
        let program = sources.program();
        let mut waiting = Vec::new();
        for cell in 1..7 {
            if ends.waits(&program, cell) {
                waiting.push(cell);
            } else {
                ends.passed(program.flow(cell));
            }
        }
        assert_eq!(waiting, [2, 3]);
        assert_eq!(ends.waiting()[&3], Waiting { root: 0, names: vec!["made".into()] });
    }

    #[test]
    fn a_name_error_belongs_to_the_cell_that_should_have_bound_the_name() {
        let sources = sources(&["from gone import *", "helper(1)", "x = 1\nprint(y)"]);
        let mut ends = DeadEnds::default();
        ends.add(vec![failure(0, "ModuleNotFoundError", "No module named 'gone'", 1)], &sources);
        let error =
            |cell, name: &str| failure(cell, "NameError", &format!("name '{name}' is not defined"), 1);
        assert_eq!(ends.consequence(&error(1, "helper"), &sources), Some(("helper".into(), 0)));
        assert_eq!(ends.consequence(&error(2, "x"), &sources), None, "the notebook binds it itself");
        assert_eq!(ends.consequence(&failure(1, "KeyError", "'helper'", 1), &sources), None);
    }
}
