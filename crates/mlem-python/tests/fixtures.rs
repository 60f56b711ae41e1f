//! Behaviours as plain files under `tests/fixtures`: see each folder's README for its form.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_stmt};
use mlem_python::ast::{Expr, Stmt};
use mlem_python::{EditSet, Program, Ranged, Unit, lift_program};

fn fixtures(folder: &str, extension: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    assert!(!files.is_empty(), "no .{extension} files in {}", folder.display());
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// Cells of a file, split at lines `# %%`.
fn cells(text: &str) -> Vec<Unit> {
    let mut cells = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "# %%" {
            cells.push(String::new());
        } else {
            cells.last_mut().unwrap().push_str(line);
        }
    }
    cells.retain(|cell| !cell.trim().is_empty());
    cells.iter().map(|cell| Unit::cell(cell)).collect()
}

/// The widest expressions of a statement: the value of an assignment, the expression itself.
fn values(unit: &Unit) -> Vec<&Expr> {
    struct Values<'a>(Vec<&'a Expr>);
    impl<'a> Visitor<'a> for Values<'a> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            match stmt {
                Stmt::Expr(statement) => self.0.push(&statement.value),
                Stmt::Assign(assign) => self.0.push(&assign.value),
                Stmt::Return(result) => self.0.extend(result.value.as_deref()),
                _ => {}
            }
            walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            walk_expr(self, expr);
        }
    }
    let mut values = Values(Vec::new());
    unit.body().iter().for_each(|stmt| values.visit_stmt(stmt));
    values.0
}

#[test]
fn names_and_types() {
    let mut wrong = String::new();
    let mut checked = 0;
    for (path, text) in fixtures("names", "py") {
        let program = Program::new(cells(&text));
        for (index, unit) in program.units().iter().enumerate() {
            let values = values(unit);
            for (line, content) in unit.source().lines().enumerate() {
                let Some((_, wanted)) = content.split_once("#: ") else { continue };
                let value = values.iter().find(|value| unit.position(value.start()).0 == line + 1);
                let Some(value) = value else {
                    writeln!(wrong, "{}: no value in: {content}", path.display()).unwrap();
                    continue;
                };
                for want in wanted.split(", ") {
                    let (kind, want) = want.trim().split_once(' ').unwrap();
                    let found = match kind {
                        "name" => program.qualified_name(index, value).map(str::to_owned),
                        "type" => program.type_of(index, value).map(str::to_owned),
                        "reach" => program.reference(index, value.start(), want.split('=').next().unwrap()),
                        _ => panic!("unknown kind in: {content}"),
                    };
                    let found = found.unwrap_or_else(|| "-".to_owned());
                    let want = want.split_once('=').map_or(want, |(_, text)| text);
                    checked += 1;
                    if found != want {
                        writeln!(wrong, "{}: found {kind} {found} in: {content}", path.display()).unwrap();
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(checked > 100, "only {checked} expectations were read");
}

#[test]
fn flow_and_dependents() {
    let mut wrong = String::new();
    for (path, text) in fixtures("flow", "py") {
        let program = Program::new(cells(&text));
        let show =
            |set: &std::collections::BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        for (index, unit) in program.units().iter().enumerate() {
            let flow = program.flow(index);
            for line in unit.source().lines() {
                let Some((key, want)) = line.strip_prefix("# ").and_then(|line| line.split_once(':')) else {
                    continue;
                };
                let found = match key {
                    "binds" => show(&flow.binds),
                    "mutates" => show(&flow.mutates),
                    "reads" => show(&flow.reads),
                    _ if key.starts_with("rerun ") => {
                        let numbers: Vec<usize> =
                            key.split_whitespace().filter_map(|word| word.parse().ok()).collect();
                        let (upto, edited) = numbers.split_last().unwrap();
                        let units = program.dependents(edited, *upto);
                        units.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
                    }
                    _ => continue,
                };
                if found != want.trim() {
                    writeln!(wrong, "{} cell {index}: {key}: found {found:?}, want {want:?}", path.display())
                        .unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn python2_is_lifted() {
    for (path, text) in fixtures("python2", "py2") {
        let units = cells(&text);
        assert!(mlem_python::is_python2(&units), "{} is not recognised", path.display());
        let mut lifted = Vec::new();
        for (unit, edits) in units.iter().zip(lift_program(&units)) {
            let mut set = EditSet::new();
            set.add_all(edits.unwrap_or_else(|error| panic!("{}: {error}", path.display()))).unwrap();
            let after = set.apply_checked(unit).unwrap();
            assert_eq!(after.error_count(), 0);
            lifted.push(after.source().to_owned());
        }
        let found = lifted.join("# %%\n");
        let wanted = fs::read_to_string(path.with_extension("py")).unwrap_or_default();
        assert!(found == wanted, "{}:\n--- found\n{found}--- wanted\n{wanted}", path.display());
    }
}
