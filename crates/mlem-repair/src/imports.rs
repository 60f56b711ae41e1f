//! Imports that fail: which statement is to blame, whether anybody uses what it binds, and how the rest of its cell
//! can go on without it.

use mlem_python::ast::Stmt;
use mlem_python::{Edit, Import, Program, Ranged, TextRange, Unit};

use crate::comment::comment_out;

/// The edit that takes a failing import out, when nothing that it binds is used: the statement becomes a
/// comment, or loses only the name that is to blame. `None` when it is used or binds names unseen (a star).
pub(crate) fn prune_unused(
    program: &Program,
    unit: usize,
    line: usize,
    message: &str,
) -> Option<(Edit, String)> {
    let source = &program.units()[unit];
    let (statement, blamed) = blame(program, unit, line, message);
    let unused =
        |import: &&Import| !import.is_star && !program.is_name_used(&import.bound, (unit, import.range));
    if blamed.is_empty() || !blamed.iter().all(unused) {
        return None;
    }
    let names: Vec<&str> = blamed.iter().map(|import| import.qualified.as_str()).collect();
    let reason = format!("`{}` cannot be imported and is not used", names.join("`, `"));
    if blamed.len() == statement.len() {
        return Some((comment_out(source.source(), blamed[0].range)?, reason));
    }
    let [only] = blamed[..] else { return None };
    Some((without_alias(source, &statement, only), reason))
}

/// The names that the import statement on `line` brings, and those of them that the message is about.
fn blame<'p>(
    program: &'p Program,
    unit: usize,
    line: usize,
    message: &str,
) -> (Vec<&'p Import>, Vec<&'p Import>) {
    let source = &program.units()[unit];
    let statement: Vec<&Import> = program
        .imports()
        .iter()
        .filter(|import| import.unit == unit && covers(source, import.range, line))
        .collect();
    let quoted = |rest: &str| rest.split(['\'', '"']).nth(1).map(str::to_owned);
    let named: Vec<&Import> = if let Some(name) = message.strip_prefix("cannot import name ").and_then(quoted)
    {
        statement.iter().copied().filter(|import| last(&import.qualified) == name).collect()
    } else if let Some(module) = message.strip_prefix("No module named ").and_then(quoted) {
        let below = format!("{module}.");
        let is_it = |import: &&Import| import.module == module || import.module.starts_with(&below);
        statement.iter().copied().filter(is_it).collect()
    } else {
        Vec::new()
    };
    if named.is_empty() || statement.len() == 1 { (statement.clone(), statement) } else { (statement, named) }
}

/// An import put behind the statements of its cell that do not need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetAside {
    /// The edits that move it.
    pub(crate) edits: Vec<Edit>,
    /// The statement as it stands afterwards.
    pub(crate) statement: String,
    /// What it should have bound.
    pub(crate) names: Vec<String>,
}

/// Moves a failing import below everything in its cell that does not need it, so that the rest is bound; of a
/// statement that brings several names only those to blame are moved. `aside` are imports that were moved before:
/// they stay below. `None` when nothing stands between the import and the first statement that needs it.
pub(crate) fn set_aside(
    program: &Program,
    unit: usize,
    line: usize,
    message: &str,
    aside: &[&str],
) -> Option<SetAside> {
    let parsed = &program.units()[unit];
    let source = parsed.source();
    let (statement, blamed) = blame(program, unit, line, message);
    if blamed.is_empty() || blamed.iter().any(|import| import.is_star) {
        return None;
    }
    let body = parsed.body();
    let index = body.iter().position(|each| each.range() == blamed[0].range)?;
    let names: Vec<String> = blamed.iter().map(|import| import.bound.clone()).collect();
    let target = index + 1 + stays_above(program, unit, &body[index + 1..], &names, aside);
    if target == index + 1 {
        return None;
    }
    let (start, end) = (body[index].start().to_usize(), body[index].end().to_usize());
    let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = source[end..].find('\n').map_or(source.len(), |at| end + at + 1);
    let behind = source[end..line_end].trim();
    if line_start != start || !(behind.is_empty() || behind.starts_with('#')) {
        return None;
    }
    let (removed, text, comment) = if blamed.len() == statement.len() {
        let comment = if behind.is_empty() { String::new() } else { format!("  {behind}") };
        (Edit::deletion(range(line_start, line_end)?), source[start..end].to_owned(), comment)
    } else {
        let [only] = blamed[..] else { return None };
        let alias = &source[only.alias_range];
        let text = if only.is_from {
            format!("from {} import {alias}", only.module)
        } else {
            format!("import {alias}")
        };
        (without_alias(parsed, &statement, only), text, String::new())
    };
    let insertion = match body.get(target) {
        Some(next) => {
            let at = source[..next.start().to_usize()].rfind('\n').map_or(0, |at| at + 1);
            Edit::insertion(range(at, at)?.start(), format!("{text}{comment}\n"))
        }
        None => {
            let line_feed = if source.ends_with('\n') { "" } else { "\n" };
            Edit::insertion(range(source.len(), source.len())?.start(), format!("{line_feed}{text}{comment}"))
        }
    };
    Some(SetAside { edits: vec![removed, insertion], statement: text, names })
}

/// How many of `rest`, the statements behind an import in its cell, run without it.
fn stays_above(program: &Program, unit: usize, rest: &[Stmt], names: &[String], aside: &[&str]) -> usize {
    let parsed = &program.units()[unit];
    let source = parsed.source();
    // Each statement as a unit of its own, after the cells before it, whose functions it may call.
    let before = program.units()[..unit].iter().cloned();
    let singles = rest.iter().map(|statement| Unit::cell(&source[statement.range()]));
    let apart = Program::new(before.chain(std::iter::once(bindings(names))).chain(singles).collect());
    let count = rest
        .iter()
        .enumerate()
        .position(|(at, statement)| {
            let flow = apart.flow(unit + 1 + at);
            aside.contains(&&source[statement.range()])
                || names.iter().any(|name| flow.reads.contains(name) || flow.mutates.contains(name))
        })
        .unwrap_or(rest.len());
    // What the last expression of a cell displays would be lost behind another statement.
    let displays =
        count == rest.len() && matches!(rest.last(), Some(Stmt::Expr(_) | Stmt::IpyEscapeCommand(_)));
    count - usize::from(displays)
}

/// A unit that binds `names`, so that reads of them are known as such.
fn bindings(names: &[String]) -> Unit {
    Unit::cell(&names.iter().map(|name| format!("{name} = None\n")).collect::<String>())
}

fn range(start: usize, end: usize) -> Option<TextRange> {
    let at = |offset: usize| mlem_python::TextSize::try_from(offset).ok();
    Some(TextRange::new(at(start)?, at(end)?))
}

fn last(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}

fn covers(unit: &Unit, range: TextRange, line: usize) -> bool {
    let (first, last) = unit.lines(range);
    (first..=last).contains(&line)
}

/// The edit that takes one name out of a statement that brings several.
pub(crate) fn without_alias(unit: &Unit, statement: &[&Import], blamed: &Import) -> Edit {
    let source = unit.source();
    let position =
        statement.iter().position(|import| import.alias_range == blamed.alias_range).unwrap_or_default();
    // The comma goes with the alias: the one after it, or for the last alias the one before it.
    let range = match statement.get(position + 1) {
        Some(next) => TextRange::new(blamed.alias_range.start(), next.alias_range.start()),
        None => TextRange::new(statement[position - 1].alias_range.end(), blamed.alias_range.end()),
    };
    debug_assert!(range.end().to_usize() <= source.len());
    Edit { range, text: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pruned(cells: &[&str], line: usize, message: &str) -> Option<String> {
        let program = Program::new(cells.iter().map(|cell| Unit::cell(cell)).collect());
        let (edit, _) = prune_unused(&program, 0, line, message)?;
        let mut text = cells[0].to_owned();
        text.replace_range(edit.range.start().to_usize()..edit.range.end().to_usize(), &edit.text);
        Some(text)
    }

    #[test]
    fn an_unused_import_becomes_a_comment() {
        let message = "No module named 'imblearn'";
        assert_eq!(
            pruned(&["import os\nfrom imblearn import SMOTE\nos.x"], 2, message).as_deref(),
            Some("import os\n# from imblearn import SMOTE\nos.x")
        );
        assert_eq!(pruned(&["from imblearn import SMOTE", "SMOTE()"], 1, message), None);
        assert_eq!(pruned(&["from imblearn import *"], 1, message), None);
    }

    #[test]
    fn only_the_blamed_name_goes() {
        let message = "cannot import name 'load_boston' from 'sklearn.datasets'";
        assert_eq!(
            pruned(&["from sklearn.datasets import load_boston, load_iris\nload_iris()"], 1, message)
                .as_deref(),
            Some("from sklearn.datasets import load_iris\nload_iris()")
        );
        assert_eq!(
            pruned(&["from sklearn.datasets import load_iris, load_boston\nload_iris()"], 1, message)
                .as_deref(),
            Some("from sklearn.datasets import load_iris\nload_iris()")
        );
    }

    fn moved(cell: &str, line: usize, message: &str) -> Option<String> {
        let program = Program::new(vec![Unit::cell(cell)]);
        let aside = set_aside(&program, 0, line, message, &["import earlier"])?;
        let mut set = mlem_python::EditSet::new();
        set.add_all(aside.edits).unwrap();
        Some(set.apply(cell).unwrap())
    }

    #[test]
    fn a_failing_import_goes_below_what_does_not_need_it() {
        let message = "No module named 'gone'";
        assert_eq!(
            moved("import gone  # why\nimport os\nx = 1", 1, message).as_deref(),
            Some("import os\nx = 1\nimport gone  # why")
        );
        assert_eq!(
            moved("import gone\nimport os\ngone.go()\nx = 1", 1, message).as_deref(),
            Some("import os\nimport gone\ngone.go()\nx = 1")
        );
        assert_eq!(moved("import gone\ngone.go()", 1, message), None, "the next statement needs it");
        assert_eq!(moved("import gone", 1, message), None);
        assert_eq!(
            moved("import gone\nimport os\nimport earlier", 1, message).as_deref(),
            Some("import os\nimport gone\nimport earlier"),
            "what was set aside before stays below"
        );
        assert_eq!(
            moved("import gone\nimport os\nos.sep", 1, message).as_deref(),
            Some("import os\nimport gone\nos.sep"),
            "what the cell displays stays last"
        );
    }

    #[test]
    fn only_the_blamed_name_is_set_aside() {
        let message = "cannot import name 'b' from 'm'";
        assert_eq!(
            moved("from m import a, b\nx = a", 1, message).as_deref(),
            Some("from m import a\nx = a\nfrom m import b")
        );
        assert_eq!(
            moved("import os, gone\nx = os", 1, "No module named 'gone'").as_deref(),
            Some("import os\nx = os\nimport gone")
        );
    }
}
