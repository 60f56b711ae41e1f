//! What can be fixed before anything runs: the Python 2 lift, then every rule whose conditions are proven.

use mlem_python::{Edit, Syntax, Unit, is_python2, lift_program, lift_python2};
use mlem_rules::checks::PYTHON2;
use mlem_rules::{
    Demonstration, Finding, Ignores, Pins, Proof, Question, Rule, Safety, fix_until_stable, one_a_place,
};

use crate::python2::{self, Meaning};
use crate::report::{EditRecord, EditSource, PreventedRecord};
use crate::sources::{LineChange, Place, Sources};
use crate::wanted::Wanted;

/// Which fixes may be applied without a live error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Safe rules, and those whose types are proven.
    Safe,
    /// Every rule that has a fix.
    Unsafe,
}

/// The result of the static stage.
#[derive(Debug, Default)]
pub struct StaticFixes {
    /// What was changed, in order.
    pub edits: Vec<EditRecord>,
    /// The errors that these changes prevented, in the order of the cells.
    pub prevented: Vec<PreventedRecord>,
    /// What could not be changed, in words; for findings of rules see [`remaining`].
    pub left_alone: Vec<String>,
}

/// Applies what `permission` allows to `sources`; `notebook` names the cells' file in the records.
pub fn fix(
    sources: &mut Sources,
    notebook: &str,
    wanted: &Wanted,
    target: &Pins,
    permission: Permission,
) -> StaticFixes {
    let mut fixes = StaticFixes::default();
    lift(sources, notebook, wanted, target, &mut fixes);
    let before = sources.program();
    // The notebook's cells are one program; each helper module is one of its own.
    let modules = sources.cells().len()..sources.pieces().len();
    fix_program(sources, None, notebook, wanted, target, permission, &mut fixes);
    if !fixes.edits.is_empty() {
        let gone = crate::leftover::remove(sources, &before, notebook, &fixes.edits);
        fixes.edits.extend(gone);
    }
    for module in modules {
        fix_program(sources, Some(module), notebook, wanted, target, permission, &mut fixes);
    }
    // Cells before modules, which are imported by one of them.
    fixes.prevented.sort_by_key(|each| (each.cell.is_none(), each.cell, each.path.clone(), each.line));
    fixes
}

/// Takes Colab's own idioms out; `data` is the data folder as the notebook writes it.
pub fn leave_colab(sources: &mut Sources, notebook: &str, data: Option<&str>) -> Vec<EditRecord> {
    let mut records = Vec::new();
    for (piece, edits) in crate::colab::edits(&sources.program(), data) {
        let place = record_place(sources, piece, notebook);
        if let Ok(change) = sources.apply(piece, &edits) {
            let reason = "what Colab mounts or uploads lies in the data folder";
            records.push(environment_record(place, change, "google.colab exists only on Colab", reason));
        }
    }
    records
}

/// Comments out the notebook's own install lines: its environment was built before the kernel started, and an
/// install in the middle of a session changes libraries that are already loaded.
pub fn guard_installs(sources: &mut Sources, notebook: &str) -> Vec<EditRecord> {
    let mut records = Vec::new();
    for piece in 0..sources.cells().len() {
        let unit = Unit::cell(&sources.cells()[piece].current);
        let source = unit.source();
        let edits: Vec<Edit> = unit
            .magics()
            .iter()
            .filter(|magic| installs(&source[magic.range.start().to_usize()..magic.range.end().to_usize()]))
            .filter_map(|magic| {
                let start = magic.range.start().to_usize();
                let line = source[..start].rfind('\n').map_or(0, |at| at + 1);
                let indent = &source[line..start];
                // In a block something has to stand in its place; behind other code it is left alone.
                let mark = if indent.is_empty() { "# " } else { "pass  # " };
                indent.trim().is_empty().then(|| Edit::insertion(magic.range.start(), mark))
            })
            .collect();
        if edits.is_empty() {
            continue;
        }
        let place = record_place(sources, piece, notebook);
        if let Ok(change) = sources.apply(piece, &edits) {
            let evidence = "the environment was built from the notebook's imports and install lines";
            let reason = "installing is done before the kernel starts";
            records.push(environment_record(place, change, evidence, reason));
        }
    }
    records
}

/// `!pip install …`, `%pip install …`, `!conda install …`, `!{sys.executable} -m pip install …`.
fn installs(magic: &str) -> bool {
    let words: Vec<&str> = magic.trim_start_matches(['!', '%']).split_whitespace().collect();
    words.iter().position(|word| *word == "install").is_some_and(|at| {
        words[..at].iter().any(|word| ["pip", "pip2", "pip3", "conda", "mamba", "uv"].contains(word))
    })
}

/// Where a piece's record says that it lies.
pub fn record_place(sources: &Sources, piece: usize, notebook: &str) -> (String, Option<usize>) {
    match &sources.pieces()[piece].place {
        Place::Cell(cell) => (notebook.to_owned(), Some(cell.0)),
        Place::Module(path) => (path.to_string_lossy().replace('\\', "/"), None),
    }
}

fn lift(sources: &mut Sources, notebook: &str, wanted: &Wanted, target: &Pins, fixes: &mut StaticFixes) {
    if target.python.0 < 3 {
        return;
    }
    let cells: Vec<Unit> = sources.cells().iter().map(|piece| Unit::cell(&piece.current)).collect();
    let modules: Vec<Unit> = sources.modules().iter().map(|piece| Unit::module(&piece.current)).collect();
    // `print (a, b)` is legal in both languages and means different things: the notebook as a whole decides.
    let python2 = is_python2(&cells);
    let count = cells.len();
    let lifts = lift_program(&cells).into_iter().zip(cells);
    let lifts = lifts.chain(modules.into_iter().map(|unit| (lift_python2(&unit), unit)));
    for (piece, (lift, unit)) in lifts.enumerate() {
        let own = matches!(unit.syntax(), Syntax::Python2 { .. });
        if !(own || python2 && piece < count) {
            continue;
        }
        let (path, cell) = record_place(sources, piece, notebook);
        let place = cell.map_or(path.clone(), |cell| format!("cell {cell}"));
        let edits = match lift {
            Ok(edits) if edits.is_empty() => continue,
            Ok(edits) => edits,
            Err(error) => {
                fixes.left_alone.push(format!("{place}: Python 2 source could not be lifted: {error}"));
                continue;
            }
        };
        // The finding stands where the first change would be made.
        let line = edits.iter().map(|edit| unit.position(edit.range.start()).0).min().unwrap_or(1);
        let is_wanted = wanted.has(&sources.pieces()[piece].place, PYTHON2.id);
        if !is_wanted || is_silenced(wanted, &unit, PYTHON2.id, line) {
            continue;
        }
        match sources.apply(piece, &edits) {
            Ok(change) => {
                // The compiler looks at a cell as a whole: one error, wherever its tokens stand. Of code that is legal
                // in both languages it sees none.
                if own {
                    fixes.prevented.push(PreventedRecord {
                        path: path.clone(),
                        cell,
                        line: change.lines.0,
                        rule: PYTHON2.id.to_owned(),
                        error: Some("^(SyntaxError|TabError|IndentationError): ".into()),
                        summary: "Python 2 syntax".into(),
                    });
                }
                fixes.edits.push(record(
                    (path, cell),
                    change,
                    Some(PYTHON2.id.into()),
                    "tokens that Python 3 does not have".into(),
                    Safety::Safe.as_str(),
                    "Python 2 syntax was written in Python 3's".into(),
                ));
            }
            Err(error) => fixes.left_alone.push(format!("{place}: Python 2 lift refused: {error}")),
        }
    }
    if python2 {
        keep_meaning(sources, notebook, wanted, fixes);
    }
}

/// Whether a comment silences a rule or check on a line.
pub(crate) fn is_silenced(wanted: &Wanted, unit: &Unit, id: &str, line: usize) -> bool {
    Ignores::of(wanted.catalogue(), std::slice::from_ref(unit)).silence(id, 0, (line, line))
}

/// Keeps what code that both languages read meant in Python 2.
fn keep_meaning(sources: &mut Sources, notebook: &str, wanted: &Wanted, fixes: &mut StaticFixes) {
    let program = sources.program();
    for (piece, unit) in program.units().iter().enumerate() {
        let Meaning { divisions, lists, unknown } = python2::meaning(&program, piece);
        let is_wanted = wanted.has(&sources.pieces()[piece].place, PYTHON2.id);
        let (path, cell) = record_place(sources, piece, notebook);
        for line in unknown {
            let place = cell.map_or(path.clone(), |cell| format!("cell {cell}"));
            fixes.left_alone.push(format!(
                "{place}, line {line}: `/` divided integers as integers in Python 2; whether these are integers is not known"
            ));
        }
        let evidence = match (divisions.is_empty(), lists.is_empty()) {
            (true, true) => continue,
            (false, true) => "both sides are integers; PEP 238",
            (true, false) => "a list in Python 2; What's New In Python 3.0",
            (false, false) => "both sides are integers, and lists; PEP 238, What's New In Python 3.0",
        };
        let reason = match (divisions.is_empty(), lists.is_empty()) {
            (false, _) => "division of integers gives an integer in Python 2",
            (true, _) => "map, filter, zip, range and the views of a dict are lists in Python 2",
        };
        let may = |edit: &Edit| {
            is_wanted && !is_silenced(wanted, unit, PYTHON2.id, unit.position(edit.range.start()).0)
        };
        let mut edits: Vec<Edit> = divisions.into_iter().filter(may).collect();
        edits.extend(lists.into_iter().filter(|[open, _]| may(open)).flatten());
        if edits.is_empty() {
            continue;
        }
        if let Ok(change) = sources.apply(piece, &edits) {
            fixes.edits.push(record(
                (path, cell),
                change,
                Some(PYTHON2.id.into()),
                evidence.into(),
                Safety::Safe.as_str(),
                reason.into(),
            ));
        }
    }
}

/// A change that the environment asks for.
fn environment_record(
    place: (String, Option<usize>),
    change: LineChange,
    evidence: &str,
    reason: &str,
) -> EditRecord {
    let safety = Safety::Safe.as_str();
    let made = record(place, change, None, evidence.to_owned(), safety, reason.to_owned());
    EditRecord { source: EditSource::Environment, ..made }
}

pub(crate) fn record(
    (path, cell): (String, Option<usize>),
    change: LineChange,
    rule: Option<String>,
    evidence: String,
    safety: &str,
    reason: String,
) -> EditRecord {
    EditRecord {
        path,
        cell,
        lines: change.lines,
        source: EditSource::Rule,
        rule,
        before: change.before,
        after: change.after,
        evidence,
        safety: safety.to_owned(),
        reason,
    }
}

fn allowed(finding: &Finding, permission: Permission) -> bool {
    match permission {
        Permission::Safe => finding.proof == Proof::Proven && finding.safety != Safety::Unsafe,
        Permission::Unsafe => true,
    }
}

fn fix_program(
    sources: &mut Sources,
    module: Option<usize>,
    notebook: &str,
    wanted: &Wanted,
    target: &Pins,
    permission: Permission,
    fixes: &mut StaticFixes,
) {
    let base = module.unwrap_or(0);
    let pieces = sources.pieces();
    let program = module.map_or_else(|| sources.program(), |module| sources.program_of(module).0);
    let place = |unit: usize| &pieces[base + unit].place;
    let fixed = fix_until_stable(wanted.catalogue(), &program, target, (None, None), &|finding| {
        allowed(finding, permission) && wanted.has(place(finding.unit), &finding.rule.id)
    });
    for unit in &fixed.changed {
        sources.set(base + unit, fixed.program.units()[*unit].source().to_owned());
    }
    for applied in fixed.applied {
        let (path, cell) = record_place(sources, base + applied.unit, notebook);
        if let Some(prevented) = prevented(applied.rule, path, cell, applied.lines.0)
            && !fixes.prevented.contains(&prevented)
        {
            fixes.prevented.push(prevented);
        }
        let change = LineChange { lines: applied.lines, before: applied.before, after: applied.after };
        fixes.edits.push(record(
            record_place(sources, base + applied.unit, notebook),
            change,
            Some(applied.rule.id.clone()),
            format!("{}; {}", applied.proof, applied.rule.source),
            applied.rule.safety.as_str(),
            applied.message,
        ));
    }
}

/// The error that the old form of a rule raises; `None` of a rule about a warning or another result.
fn prevented(rule: &Rule, path: String, cell: Option<usize>, line: usize) -> Option<PreventedRecord> {
    let raises = match rule.proof {
        Demonstration::Fails => true,
        Demonstration::NotRun(_) => rule.evidence.is_some(),
        Demonstration::Differs | Demonstration::Warns => false,
    };
    raises.then(|| PreventedRecord {
        path,
        cell,
        line,
        rule: rule.id.clone(),
        error: rule.evidence.clone(),
        summary: rule.summary.clone(),
    })
}

/// Findings that `sources` still holds, in words.
pub fn remaining(sources: &Sources, notebook: &str, wanted: &Wanted, target: &Pins) -> Vec<String> {
    let cells = sources.cells().len();
    let programs = std::iter::once((0, sources.program()))
        .chain((cells..sources.pieces().len()).map(|module| (module, sources.program_of(module).0)));
    let mut left = Vec::new();
    for (base, program) in programs {
        let mut findings = wanted.catalogue().check(&Question::without_kernel(&program, target));
        findings.retain(|finding| wanted.has(&sources.pieces()[base + finding.unit].place, &finding.rule.id));
        for finding in one_a_place(findings) {
            let (path, cell) = record_place(sources, base + finding.unit, notebook);
            let place = cell.map_or(path, |cell| format!("cell {cell}"));
            let line = program.units()[finding.unit].position(finding.range.start()).0;
            left.push(format!("{place}, line {line}: {} ({})", finding.message, finding.rule.id));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mlem_configuration::Settings;
    use mlem_notebook::Notebook;

    use super::*;

    fn wanted() -> Wanted {
        Wanted::new(&Settings::of_target(pins()), Path::new("a.ipynb"), Path::new(""), &Sources::default())
    }

    fn pins() -> Pins {
        Pins { python: (3, 13), packages: Default::default() }
    }

    fn sources(cell: &str) -> Sources {
        Sources::new(&Notebook::from_script(cell, Path::new("a.py")))
    }

    #[test]
    fn install_lines_become_comments() {
        let guarded = |cell: &str| {
            let mut sources = sources(cell);
            guard_installs(&mut sources, "a.ipynb");
            sources.cells()[0].current.clone()
        };
        assert_eq!(guarded("!pip install -q x==1\nimport x"), "# !pip install -q x==1\nimport x");
        assert_eq!(guarded("%pip install x"), "# %pip install x");
        assert_eq!(guarded("if True:\n    !pip3 install x"), "if True:\n    pass  # !pip3 install x");
        assert_eq!(guarded("!ls install"), "!ls install");
    }

    #[test]
    fn integers_of_python_2_are_divided_as_integers() {
        let mut sources = sources("n = 7\nprint n / 2\nprint n / 2.0");
        fix(&mut sources, "a.ipynb", &wanted(), &pins(), Permission::Safe);
        assert_eq!(sources.cells()[0].current, "n = 7\nprint(n // 2)\nprint(n / 2.0)");

        let mut sources = self::sources("n = 7\nprint n\nn /= 2\ndef f(a):\n    return a / n");
        let fixes = fix(&mut sources, "a.ipynb", &wanted(), &pins(), Permission::Safe);
        assert!(sources.cells()[0].current.contains("n //= 2"), "{}", sources.cells()[0].current);
        assert_eq!(fixes.left_alone.len(), 1, "{:?}", fixes.left_alone);
    }

    #[test]
    fn lists_of_python_2_stay_lists() {
        let lifted = |cell: &str| {
            let mut sources = sources(cell);
            fix(&mut sources, "a.ipynb", &wanted(), &pins(), Permission::Safe);
            sources.cells()[0].current.clone()
        };
        assert_eq!(
            lifted("print map(int, x)\nd = {}\nprint d.keys(), len(d.keys())"),
            "print(list(map(int, x)))\nd = {}\nprint(list(d.keys()), len(d.keys()))"
        );
        assert_eq!(
            lifted(
                "print 1\npairs = zip(a, map(f, b))\nfor p in zip(a, b): pass\nr = range(3) + [4]\nplot(range(3))"
            ),
            "print(1)\npairs = list(zip(a, map(f, b)))\nfor p in zip(a, b): pass\nr = list(range(3)) + [4]\nplot(range(3))"
        );
        // In Python 3 the author saw what it gives there.
        assert_eq!(lifted("print(map(int, x))"), "print(map(int, x))");
    }
}
