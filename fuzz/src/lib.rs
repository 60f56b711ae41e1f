//! What has to hold of any input. Each function is one fuzz target and panics where something does not hold.

use std::collections::BTreeMap;
use std::path::Path;

use mlem_notebook::{CellIndex, Notebook};
use mlem_python::ast::visitor::{Visitor, walk_expr, walk_stmt};
use mlem_python::ast::{Expr, Stmt};
use mlem_python::{
    EditSet, Program, Ranged, Syntax, TextRange, TextSize, Unit, is_python2, lift_program, lift_python2,
};
use mlem_rules::{Catalogue, Finding, Fixed, Pins, Question, fix_until_stable, plan};

/// libFuzzer's binding aborts in the panic hook; the reader catches the panics of the parser it
/// leans on, so the hook has to be the usual one. A panic that nobody catches still aborts.
pub fn keep_caught_panics() {
    drop(std::panic::take_hook());
}

/// Cells of a text, split where the repository's fixtures split them.
fn cells(source: &str) -> Vec<Unit> {
    source.split("# %%\n").map(Unit::cell).collect()
}

/// The reader: units with magics, and the analysis of a program.
pub fn unit(source: &str) {
    for unit in [Unit::cell(source), Unit::module(source)] {
        assert_eq!(unit.source(), source);
        check_ranges(&unit);
        assert_eq!(unit.syntax() == &Syntax::Clean, unit.error_count() == 0 && !is_lifted(&unit));
    }
    let program = Program::new(cells(source));
    let last = program.units().len() - 1;
    for unit in 0..=last {
        program.flow(unit);
        program.dependents(&[unit], last);
        program.reference(unit, TextSize::new(0), "numpy.random.rand");
    }
}

fn is_lifted(unit: &Unit) -> bool {
    !matches!(unit.syntax(), Syntax::Clean | Syntax::Broken { .. })
}

fn check_ranges(unit: &Unit) {
    struct Ranges<'a>(&'a Unit);
    impl<'a> Visitor<'a> for Ranges<'a> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            check_range(self.0, stmt.range());
            walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            check_range(self.0, expr.range());
            walk_expr(self, expr);
        }
    }
    let mut ranges = Ranges(unit);
    unit.body().iter().for_each(|stmt| ranges.visit_stmt(stmt));
    unit.magics().iter().for_each(|magic| check_range(unit, magic.range));
}

fn check_range(unit: &Unit, range: TextRange) {
    assert!(unit.source().get(range.start().to_usize()..range.end().to_usize()).is_some(), "{range:?}");
    unit.lines(range);
}

/// The lift of Python 2: what it gives parses, keeps the line breaks and has nothing more to lift.
pub fn python2(source: &str) {
    let units = cells(source);
    is_python2(&units);
    let mut lifted = Vec::new();
    for (unit, edits) in units.iter().zip(lift_program(&units)) {
        let Ok(edits) = edits else { return };
        let mut set = EditSet::new();
        set.add_all(edits).expect("the lift's edits do not overlap");
        let after = set.apply_checked(unit).expect("the lift's result parses");
        assert_eq!(after.error_count(), 0);
        lifted.push(after);
    }
    for unit in &lifted {
        // `print (a, b)` means something else after the lift, but no token of Python 2 is left.
        assert!(!matches!(unit.syntax(), Syntax::Python2 { .. }), "{:?}", unit.source());
    }
    let module = Unit::module(source);
    if let Ok(edits) = lift_python2(&module) {
        let mut set = EditSet::new();
        set.add_all(edits).expect("the lift's edits do not overlap");
        set.apply_checked(&module).expect("the lift's result parses");
    }
}

/// The notebook reader: what is read is written as it was, and an edit changes its cell alone.
pub fn notebook(text: &str) {
    let name = Path::new("fuzz.ipynb");
    let script = Notebook::from_script(text, name);
    Notebook::parse(script.to_text(), name).expect("a notebook of our own making is read");
    let Ok(mut notebook) = Notebook::parse(text.to_owned(), name) else { return };
    assert_eq!(notebook.to_text(), text);
    notebook.to_percent();
    notebook.to_nbconvert();
    let sources: Vec<String> = notebook.cells().iter().map(|cell| cell.source.clone()).collect();
    for cell in notebook.cells() {
        cell.outputs();
    }
    for (index, source) in sources.iter().enumerate() {
        notebook.set_source(CellIndex(index), &format!("{source}\n# “edited”\t"));
    }
    let edited = Notebook::parse(notebook.to_text(), name).expect("an edited notebook is read");
    for (cell, source) in edited.cells().iter().zip(&sources) {
        assert_eq!(cell.source, format!("{source}\n# “edited”\t"));
    }
    for (index, source) in sources.iter().enumerate() {
        notebook.set_source(CellIndex(index), source);
    }
    assert_eq!(notebook.to_text(), text, "an edit that is taken back leaves something behind");
    for index in 0..sources.len() {
        notebook.set_outputs(CellIndex(index), Some(1), &[]);
    }
    Notebook::parse(notebook.to_text(), name).expect("a notebook without outputs is read");
    if notebook.upgrade() {
        Notebook::parse(notebook.to_text(), name).expect("an upgraded notebook is read");
    }
}

/// Every library of the catalogue in its newest version.
fn newest() -> Pins {
    let version: mlem_rules::Version = "9999".parse().expect("a version");
    let libraries = Catalogue::shipped().rules().iter().map(|rule| (rule.library.clone(), version.clone()));
    Pins { python: (3, 13), packages: BTreeMap::from_iter(libraries) }
}

/// Matcher and rewriter: edits stay within what was found, the result parses as well as the
/// source did, and a second fix finds nothing to do.
pub fn fix(source: &str) {
    let program = Program::new(cells(source));
    let target = newest();
    let findings = Catalogue::shipped().check(&Question::without_kernel(&program, &target));
    for finding in &findings {
        check_range(&program.units()[finding.unit], finding.range);
    }
    plan(&findings, &|_| true);
    for filter in [&Finding::is_applicable as &dyn Fn(&Finding) -> bool, &|_: &Finding| true] {
        let fixed = fix_all(&program, &target, filter);
        for (new, old) in fixed.program.units().iter().zip(program.units()) {
            assert!(new.error_count() <= old.error_count(), "{:?} became {:?}", old.source(), new.source());
        }
        let again = fix_all(&fixed.program, &target, filter);
        assert!(again.applied.is_empty(), "{} after {:?}", again.applied[0].rule.id, fixed.sources());
    }
}

fn fix_all(program: &Program, target: &Pins, filter: &dyn Fn(&Finding) -> bool) -> Fixed {
    fix_until_stable(Catalogue::shipped(), program, target, (None, None), filter)
}

/// The loader of rule files: refused with reasons, or a catalogue.
pub fn rules(text: &str) {
    match Catalogue::parse("fuzz.toml", text) {
        Ok(catalogue) => {
            for rule in catalogue.rules() {
                rule.is_evidence("KeyError", "0");
            }
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.iter().for_each(|error| assert!(!error.to_string().is_empty()));
        }
    }
}
