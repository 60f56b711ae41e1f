//! Lists of a folder's names that hold more today than the files the notebook reads: folders beside the files, or files
//! of another kind. Only a live error tells.

use mlem_python::ast::visitor::{Visitor, walk_expr};
use mlem_python::ast::{Expr, ExprCall};
use mlem_python::{Edit, Program, Ranged};

/// What the names of a list are narrowed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrow {
    /// Files, not folders.
    Files,
    /// Files that are images by their suffix.
    Images,
}

/// What an error says about a list of names; `None` when it says nothing.
pub(crate) fn narrow(ename: &str, evalue: &str) -> Option<Narrow> {
    match ename {
        "IsADirectoryError" => Some(Narrow::Files),
        // OpenCV gives None for what it cannot read, and complains of an empty image later.
        "error" if evalue.contains("!_src.empty()") || evalue.contains("!ssize.empty()") => {
            Some(Narrow::Images)
        }
        "AttributeError" if evalue.starts_with("'NoneType' object has no attribute 'shape'") => {
            Some(Narrow::Images)
        }
        "UnidentifiedImageError" => Some(Narrow::Images),
        "ValueError" if evalue.contains("inhomogeneous shape") => Some(Narrow::Images),
        _ => None,
    }
}

/// A call of `os.listdir` whose names a program reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    /// The unit that it stands in.
    pub(crate) unit: usize,
    /// The folder as it is written: an expression without calls.
    pub(crate) folder: String,
    call: mlem_python::TextRange,
    function: String,
}

/// The listings up to `unit`, the nearest to it first.
pub(crate) fn listings(program: &Program, unit: usize) -> Vec<Listing> {
    let mut found = Vec::new();
    for (at, parsed) in program.units().iter().enumerate().take(unit + 1) {
        let mut calls = Calls { program, unit: at, source: parsed.source(), found: Vec::new() };
        for statement in parsed.body() {
            calls.visit_stmt(statement);
        }
        found.extend(calls.found);
    }
    found.reverse();
    found
}

struct Calls<'a> {
    program: &'a Program,
    unit: usize,
    source: &'a str,
    found: Vec<Listing>,
}

impl<'a> Visitor<'a> for Calls<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        // A list that is narrowed already stays as it is.
        if matches!(expr, Expr::ListComp(_)) {
            return;
        }
        if let Expr::Call(call) = expr
            && self.program.qualified_name(self.unit, &call.func) == Some("os.listdir")
            && let Some(listing) = self.listing(call)
        {
            self.found.push(listing);
        }
        walk_expr(self, expr);
    }
}

impl Calls<'_> {
    fn listing(&self, call: &ExprCall) -> Option<Listing> {
        let [folder] = &*call.arguments.args else { return None };
        if !call.arguments.keywords.is_empty() || !is_free_of_calls(folder) {
            return None;
        }
        Some(Listing {
            unit: self.unit,
            folder: self.source[folder.range()].to_owned(),
            call: call.range(),
            function: self.source[call.func.range()].to_owned(),
        })
    }
}

fn is_free_of_calls(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_) | Expr::StringLiteral(_) => true,
        Expr::Attribute(attribute) => is_free_of_calls(&attribute.value),
        Expr::BinOp(sum) => is_free_of_calls(&sum.left) && is_free_of_calls(&sum.right),
        Expr::Subscript(subscript) => is_free_of_calls(&subscript.value),
        _ => false,
    }
}

impl Listing {
    /// The edit that narrows the list; `None` where `os` itself is not at hand (`from os import listdir`).
    pub(crate) fn narrowed(&self, to: Narrow) -> Option<Edit> {
        let os = self.function.strip_suffix(".listdir")?;
        let (folder, call) = (&self.folder, &self.function);
        let test = match to {
            Narrow::Files => format!("{os}.path.isfile({os}.path.join({folder}, name))"),
            Narrow::Images => {
                "name.lower().endswith(('.jpg', '.jpeg', '.png', '.bmp', '.gif', '.tif', '.tiff'))".to_owned()
            }
        };
        Some(Edit::replacement(self.call, format!("[name for name in {call}({folder}) if {test}]")))
    }
}

#[cfg(test)]
mod tests {
    use mlem_python::Unit;

    use super::*;

    #[test]
    fn the_nearest_list_comes_first_and_narrowed_ones_stay() {
        let cells =
            ["import os\nnames = os.listdir(base + 'a')", "for f in sorted(os.listdir('b')):\n    open(f)"];
        let program = Program::new(cells.iter().map(|cell| Unit::cell(cell)).collect());
        let found = listings(&program, 1);
        let folders: Vec<&str> = found.iter().map(|listing| listing.folder.as_str()).collect();
        assert_eq!(folders, ["'b'", "base + 'a'"]);
        assert_eq!(
            found[0].narrowed(Narrow::Files).unwrap().text,
            "[name for name in os.listdir('b') if os.path.isfile(os.path.join('b', name))]"
        );
        let narrowed = Program::new(vec![Unit::cell("import os\n[f for f in os.listdir('a') if '.' in f]")]);
        assert!(listings(&narrowed, 0).is_empty());
    }
}
