//! Imports that fail: which statement is to blame, and whether anybody uses what it binds.

use mlem_python::{Edit, Import, Program, TextRange, Unit};

/// The edit that takes a failing import out, when nothing that it binds is used: the statement becomes a
/// comment, or loses only the name that is to blame. `None` when it is used or binds names unseen (a star).
pub(crate) fn prune_unused(
    program: &Program,
    unit: usize,
    line: usize,
    message: &str,
) -> Option<(Edit, String)> {
    let source = &program.units()[unit];
    let statement: Vec<&Import> = program
        .imports()
        .iter()
        .filter(|import| import.unit == unit && covers(source, import.range, line))
        .collect();
    let blamed: Vec<&Import> = {
        let named = message
            .strip_prefix("cannot import name ")
            .and_then(|rest| rest.split(['\'', '"']).nth(1))
            .map(|name| statement.iter().copied().filter(|import| last(&import.qualified) == name).collect());
        match named {
            Some(named) if statement.len() > 1 => named,
            _ => statement.clone(),
        }
    };
    let unused =
        |import: &&Import| !import.is_star && !program.is_name_used(&import.bound, (unit, import.range));
    if blamed.is_empty() || !blamed.iter().all(unused) {
        return None;
    }
    let names: Vec<&str> = blamed.iter().map(|import| import.qualified.as_str()).collect();
    let reason = format!("`{}` cannot be imported and is not used", names.join("`, `"));
    if blamed.len() == statement.len() {
        return Some((comment_out(source, blamed[0].range)?, reason));
    }
    let [only] = blamed[..] else { return None };
    Some((without_alias(source, &statement, only), reason))
}

fn last(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}

fn covers(unit: &Unit, range: TextRange, line: usize) -> bool {
    let (first, last) = unit.lines(range);
    (first..=last).contains(&line)
}

/// Puts `# ` before each line of a statement that has its lines to itself; inside a block `pass` takes its place.
fn comment_out(unit: &Unit, range: TextRange) -> Option<Edit> {
    let source = unit.source();
    let (start, end) = (range.start().to_usize(), range.end().to_usize());
    let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &source[line_start..start];
    let rest = source[end..].split('\n').next().unwrap_or_default().trim();
    if !indent.trim().is_empty() || !(rest.is_empty() || rest.starts_with('#')) {
        return None;
    }
    let mut text = source[start..end]
        .split('\n')
        .enumerate()
        .map(
            |(number, line)| {
                if number == 0 { format!("# {line}") } else { format!("{indent}# {}", line.trim_start()) }
            },
        )
        .collect::<Vec<_>>()
        .join("\n");
    if !indent.is_empty() {
        text = format!("pass  {text}");
        if text.contains('\n') {
            return None;
        }
    }
    Some(Edit { range, text })
}

fn without_alias(unit: &Unit, statement: &[&Import], blamed: &Import) -> Edit {
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
}
