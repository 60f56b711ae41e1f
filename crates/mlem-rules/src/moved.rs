//! Rules that say where a module or symbol lives now: import statements and dotted uses.
//!
//! The name an import binds is kept, so that the rest of the notebook stays as it is.

use mlem_python::ast::{Alias, Expr, Stmt, StmtImport, StmtImportFrom};
use mlem_python::{Edit, Program, Ranged, TextRange};

use crate::call::ItemList;
use crate::imports::{Need, Needs, Reach, module_reference};
use crate::rewrite::remove_statement;
use crate::tokens::{minimal_edits, offset};

/// The old place of a module or symbol, and the new one.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    pub(crate) old: String,
    pub(crate) new: String,
}

impl Move {
    pub(crate) fn parse(old: &str, new: &str) -> Result<Move, String> {
        let is_dotted = |name: &str| {
            name.split('.').all(|part| {
                part.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
                    && part.chars().all(|c| c.is_alphanumeric() || c == '_')
            })
        };
        if !is_dotted(old) || !is_dotted(new) {
            return Err("both sides have to be dotted names".to_string());
        }
        if old == new {
            return Err("moves to where it is".to_string());
        }
        Ok(Move { old: old.to_string(), new: new.to_string() })
    }

    /// The new dotted name of `full`, if it is the old place or lies below it.
    pub(crate) fn apply(&self, full: &str) -> Option<String> {
        let rest = full.strip_prefix(self.old.as_str())?;
        (rest.is_empty() || rest.starts_with('.')).then(|| format!("{}{rest}", self.new))
    }

    pub(crate) fn last_segment(&self) -> &str {
        self.old.rsplit('.').next().unwrap_or(&self.old)
    }
}

/// The most specific move for a dotted name.
pub(crate) fn best<'m>(moves: impl Iterator<Item = &'m Move>, full: &str) -> Option<(&'m Move, String)> {
    moves.filter_map(|m| m.apply(full).map(|new| (m, new))).max_by_key(|(m, _)| m.old.len())
}

/// One imported name that lives elsewhere now.
pub(crate) struct MovedAlias<'a> {
    pub(crate) alias: &'a Alias,
    pub(crate) new: String,
    /// The old dotted name, in full.
    pub(crate) full: String,
}

fn parent(dotted: &str) -> Option<(&str, &str)> {
    dotted.rsplit_once('.')
}

/// The name a builtin has, for moves to `builtins.NAME`.
fn builtin(new: &str) -> Option<&str> {
    new.strip_prefix("builtins.")
}

/// `import a.b` and `import a.b as c`.
pub(crate) fn edit_import(moved: &[MovedAlias]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for item in moved {
        let name = &item.alias.name;
        // `import cPickle as pickle` needs no alias any more.
        if item.alias.asname.as_ref().is_some_and(|bound| bound.as_str() == item.new) {
            edits.push(Edit { range: item.alias.range, text: item.new.clone() });
            continue;
        }
        let keeps_name = item.alias.asname.is_some() || name.contains('.');
        let text = if keeps_name { item.new.clone() } else { format!("{} as {name}", item.new) };
        edits.extend(minimal_edits(name.as_str(), name.start(), &text));
    }
    edits
}

/// `from a.b import x, y as z`.
pub(crate) fn edit_import_from(source: &str, statement: &StmtImportFrom, moved: &[MovedAlias]) -> Vec<Edit> {
    let Some(module) = &statement.module else {
        return Vec::new();
    };
    if let [only] = statement.names.as_slice()
        && only.name.as_str() == "*"
    {
        let new = &moved[0].new;
        return minimal_edits(module.as_str(), module.start(), new);
    }
    // All names go to one module: only the module and renamed aliases change.
    let homes: Vec<Option<&str>> = moved.iter().map(|item| parent(&item.new).map(|(home, _)| home)).collect();
    let same_home = match homes.first() {
        Some(Some(first)) if *first != "builtins" && homes.iter().all(|h| *h == Some(*first)) => Some(*first),
        _ => None,
    };
    if let Some(home) = same_home
        && (moved.len() == statement.names.len() || home == module.as_str())
    {
        let mut edits = minimal_edits(module.as_str(), module.start(), home);
        for item in moved {
            let (_, name) = parent(&item.new).unwrap_or(("", &item.new));
            if name == item.alias.name.as_str() {
                continue;
            }
            let bound = item.alias.asname.as_ref().unwrap_or(&item.alias.name);
            edits.push(Edit { range: item.alias.range, text: with_alias(name, bound.as_str()) });
        }
        return edits;
    }
    split(source, statement, moved)
}

/// Takes names out of the statement, and the statement itself with the last of them.
pub(crate) fn remove_names(
    source: &str,
    statement: &StmtImportFrom,
    removed: &[&Alias],
    is_alone: bool,
) -> Vec<Edit> {
    if removed.len() < statement.names.len() {
        let ranges = statement.names.iter().map(|alias| alias.range).collect();
        let mut list = ItemList::new(source, statement.range, ranges);
        for alias in removed {
            list.remove(alias.range);
        }
        return list.into_edits();
    }
    if is_alone {
        return vec![Edit { range: statement.range, text: "pass".to_string() }];
    }
    vec![remove_statement(source, statement.range)]
}

fn with_alias(name: &str, bound: &str) -> String {
    if name == bound { name.to_string() } else { format!("{name} as {bound}") }
}

/// Takes the moved names out of the statement and imports them in statements of their own.
fn split(source: &str, statement: &StmtImportFrom, moved: &[MovedAlias]) -> Vec<Edit> {
    let mut by_home: Vec<(Option<String>, Vec<String>)> = Vec::new();
    let mut lines = Vec::new();
    for item in moved {
        let bound = item.alias.asname.as_ref().unwrap_or(&item.alias.name);
        if let Some(name) = builtin(&item.new) {
            if name != bound.as_str() {
                lines.push(format!("{bound} = {name}"));
            }
            continue;
        }
        match parent(&item.new) {
            Some((home, name)) => {
                let text = with_alias(name, bound.as_str());
                match by_home.iter_mut().find(|(known, _)| known.as_deref() == Some(home)) {
                    Some((_, names)) => names.push(text),
                    None => by_home.push((Some(home.to_string()), vec![text])),
                }
            }
            None => by_home.push((None, vec![with_alias(&item.new, bound.as_str())])),
        }
    }
    lines.splice(
        0..0,
        by_home.into_iter().map(|(home, names)| match home {
            Some(home) => format!("from {home} import {}", names.join(", ")),
            None => format!("import {}", names.join(", ")),
        }),
    );
    let start = statement.start().to_usize();
    let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &source[line_start..start];
    let after = source[statement.end().to_usize()..].lines().next().unwrap_or("").trim_start();
    let alone = before.trim().is_empty() && !after.starts_with(';');
    let separator = if alone { format!("\n{before}") } else { "; ".to_string() };
    let is_moved = |alias: &Alias| moved.iter().any(|item| item.alias.range == alias.range);
    let kept: Vec<&Alias> = statement.names.iter().filter(|a| !is_moved(a)).collect();
    if kept.is_empty() {
        let text = if lines.is_empty() { "pass".to_string() } else { lines.join(&separator) };
        return vec![Edit { range: statement.range, text }];
    }
    let mut edits = Vec::new();
    let names = &statement.names;
    let mut index = 0;
    while index < names.len() {
        if !is_moved(&names[index]) {
            index += 1;
            continue;
        }
        let first = index;
        while index < names.len() && is_moved(&names[index]) {
            index += 1;
        }
        // A run of names goes with the comma before it, or with the one behind it at the front.
        let last = names[index - 1].end();
        let range = if first == 0 {
            TextRange::new(names[0].start(), names[index].start())
        } else {
            let before = names[first - 1].end();
            let between = &source[TextRange::new(before, names[first].start())];
            match between.rfind('\n') {
                // On lines of their own they go with their comma, and comments above stay.
                Some(at) => {
                    let behind = &source[last.to_usize()..];
                    let comma = behind.len() - behind.trim_start().len();
                    let end = match behind[comma..].strip_prefix(',') {
                        Some(_) => last + offset(comma + 1),
                        None => last,
                    };
                    TextRange::new(before + offset(at), end)
                }
                None => TextRange::new(before, last),
            }
        };
        edits.push(Edit { range, text: String::new() });
    }
    if !lines.is_empty() {
        edits.push(Edit {
            range: TextRange::empty(statement.end()),
            text: format!("{separator}{}", lines.join(&separator)),
        });
    }
    edits
}

/// The names an import statement imports, in full; of a star import the module.
pub(crate) fn imported_names(statement: &Stmt) -> Vec<(&Alias, String)> {
    match statement {
        Stmt::Import(StmtImport { names, .. }) => {
            names.iter().map(|alias| (alias, alias.name.to_string())).collect()
        }
        Stmt::ImportFrom(from) if from.level == 0 => {
            let Some(module) = &from.module else {
                return Vec::new();
            };
            let full = |alias: &Alias| match alias.name.as_str() {
                "*" => module.to_string(),
                name => format!("{module}.{name}"),
            };
            from.names.iter().map(|alias| (alias, full(alias))).collect()
        }
        _ => Vec::new(),
    }
}

/// The moved names of an import statement.
pub(crate) fn moved_aliases<'a>(statement: &'a Stmt, moves: &[Move]) -> Vec<MovedAlias<'a>> {
    let names = imported_names(statement).into_iter();
    let moved = names.filter_map(|(alias, full)| {
        let (_, new) = best(moves.iter(), &full)?;
        Some(MovedAlias { alias, new, full })
    });
    let is_plain = matches!(statement, Stmt::Import(_));
    moved.filter(|item| !(is_plain && builtin(&item.new).is_some())).collect()
}

/// The edits for a dotted use (`sklearn.cross_validation.KFold`) whose part `expr` is what moved.
pub(crate) fn edit_use(
    program: &Program,
    unit: usize,
    expr: &Expr,
    step: &Move,
    needs: &[Need],
) -> Result<Vec<(usize, Edit)>, String> {
    let source = program.units()[unit].source();
    // Another name in the same place: what it is taken from is reached as it was.
    if let (Expr::Attribute(attribute), Some((old, _)), Some((new, name))) =
        (expr, parent(&step.old), parent(&step.new))
        && old == new
    {
        let edit = Edit { range: attribute.attr.range, text: name.to_string() };
        return Ok(vec![(unit, edit)]);
    }
    // Of a star import: the same one brings the new name.
    if let (Expr::Name(old_name), Some((old, _)), Some((new, name))) =
        (expr, parent(&step.old), parent(&step.new))
        && old == new
        && !program.name_is_bound(name)
    {
        let edit = Edit { range: old_name.range, text: name.to_string() };
        return Ok(vec![(unit, edit)]);
    }
    let mut reached = Needs::new(program, unit, needs);
    let text = if let Some(name) = builtin(&step.new) {
        name.to_string()
    } else if program
        .imports()
        .iter()
        .any(|import| !import.is_from && import.qualified == step.old && step.old.contains('.'))
    {
        // That plain import is changed by the same rule, so the new dotted name is reached.
        step.new.clone()
    } else if let Some(text) = program.reference(unit, expr.start(), &step.new) {
        text
    } else if needs.iter().any(|need| need.reach(&step.new).is_some()) {
        match reached.reach(expr.start(), &step.new) {
            Reach::Text(text) => text,
            Reach::Blocked(reason) => return Err(reason),
        }
    } else {
        let (home, name) = parent(&step.new).unwrap_or((step.new.as_str(), ""));
        match module_reference(program, unit, expr.start(), home) {
            Some(text) if !name.is_empty() => format!("{text}.{name}"),
            _ => {
                reached.require(&format!("import {home}"));
                step.new.clone()
            }
        }
    };
    let mut edits = reached.into_edits();
    for edit in minimal_edits(&source[expr.range()], expr.start(), &text) {
        edits.push((unit, edit));
    }
    Ok(edits)
}
