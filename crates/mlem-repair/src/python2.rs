//! What Python 2 meant by code that both languages read: `/` between integers gave an integer, and `map`, `filter`,
//! `zip`, `range` and the methods `keys`, `values` and `items` of a dict gave lists.

use std::collections::HashSet;

use mlem_python::ast::visitor::{Visitor, walk_comprehension, walk_expr, walk_stmt};
use mlem_python::ast::{CmpOp, Comprehension, Expr, ExprCall, Operator, Stmt};
use mlem_python::{Edit, Program, Ranged, TextRange, TextSize};

/// What one unit of a Python 2 program needs to mean the same in Python 3.
#[derive(Default)]
pub(crate) struct Meaning {
    /// Divisions of integers (PEP 238).
    pub(crate) divisions: Vec<Edit>,
    /// Lists made of what is no list any more (What's New In Python 3.0, "Views And Iterators Instead Of Lists").
    pub(crate) lists: Vec<[Edit; 2]>,
    /// Lines with a division whose sides have no known type.
    pub(crate) unknown: Vec<usize>,
}

/// What a unit needs to mean the same in Python 3.
pub(crate) fn meaning(program: &Program, unit: usize) -> Meaning {
    let mut iterated = Iterated(HashSet::new());
    let mut reader = Reader { program, unit, iterated: HashSet::new(), found: Meaning::default() };
    for statement in program.units()[unit].body() {
        iterated.visit_stmt(statement);
    }
    reader.iterated = iterated.0;
    for statement in program.units()[unit].body() {
        reader.visit_stmt(statement);
    }
    let has = |name: &str| program.imports().iter().any(|import| import.qualified == name);
    let mut found = reader.found;
    if has("__future__.division") {
        found.divisions.clear();
        found.unknown.clear();
    }
    if program.name_is_bound("list") {
        found.lists.clear();
    }
    found
}

/// Where any iterable does: loops, and builtins that take one.
struct Iterated(HashSet<TextRange>);

impl<'a> Visitor<'a> for Iterated {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::For(statement) = statement {
            self.0.insert(statement.iter.range());
        }
        walk_stmt(self, statement);
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.0.insert(comprehension.iter.range());
        walk_comprehension(self, comprehension);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Starred(starred) => {
                self.0.insert(starred.value.range());
            }
            Expr::Compare(compare) => {
                let sides = compare.ops.iter().zip(&compare.comparators);
                let inside = sides.filter(|(op, _)| matches!(op, CmpOp::In | CmpOp::NotIn));
                self.0.extend(inside.map(|(_, side)| side.range()));
            }
            Expr::Call(call) if takes_iterables(call) => {
                self.0.extend(call.arguments.args.iter().map(Ranged::range));
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

fn takes_iterables(call: &ExprCall) -> bool {
    match &*call.func {
        Expr::Name(function) => matches!(
            function.id.as_str(),
            "list"
                | "tuple"
                | "set"
                | "frozenset"
                | "dict"
                | "sorted"
                | "sum"
                | "any"
                | "all"
                | "min"
                | "max"
                | "enumerate"
                | "iter"
                | "map"
                | "filter"
                | "zip"
                | "reduce"
        ),
        Expr::Attribute(method) => matches!(method.attr.as_str(), "join" | "extend" | "update" | "fromkeys"),
        _ => false,
    }
}

struct Reader<'a> {
    program: &'a Program,
    unit: usize,
    iterated: HashSet<TextRange>,
    found: Meaning,
}

impl Reader<'_> {
    fn divide(&mut self, left: &Expr, right: &Expr) {
        let kind = |side: &Expr| self.program.type_of(self.unit, side);
        let unit = &self.program.units()[self.unit];
        match (kind(left), kind(right)) {
            (Some("int"), Some("int")) => {
                // Between the sides stand the operator, white space, parentheses and comments.
                let (from, to) = (left.end(), right.start());
                let between = &unit.source()[from.to_usize()..to.to_usize()];
                if let Some(at) = between.find('/').filter(|_| !between.contains('#'))
                    && let Ok(offset) = TextSize::try_from(at)
                {
                    self.found.divisions.push(Edit::insertion(from + offset, "/"));
                }
            }
            // A float, a frame or an array of known type on either side is no integer division.
            (None | Some("int"), None | Some("int")) => {
                self.found.unknown.push(unit.position(left.start()).0);
            }
            _ => {}
        }
    }

    /// Whether a call gave a list.
    fn gave_list(&self, call: &ExprCall) -> bool {
        let builtin = |name: &str| {
            matches!(&*call.func, Expr::Name(function) if function.id.as_str() == name)
                && !self.program.name_is_bound(name)
        };
        if ["map", "filter", "zip", "range"].into_iter().any(builtin) {
            return true;
        }
        let Expr::Attribute(method) = &*call.func else {
            return false;
        };
        matches!(method.attr.as_str(), "keys" | "values" | "items")
            && call.arguments.is_empty()
            && matches!(
                self.program.type_of(self.unit, &method.value),
                Some("dict" | "collections.OrderedDict" | "collections.defaultdict" | "collections.Counter")
            )
    }

    /// A range does for most functions; only what shows it or changes it needs the list.
    fn takes_ranges(call: &ExprCall) -> bool {
        let name = match &*call.func {
            Expr::Name(function) => function.id.as_str(),
            Expr::Attribute(method) => method.attr.as_str(),
            _ => return false,
        };
        !matches!(name, "print" | "str" | "repr" | "shuffle" | "display" | "append")
    }
}

fn is_range(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call)
        if matches!(&*call.func, Expr::Name(function) if function.id.as_str() == "range"))
}

impl<'a> Visitor<'a> for Reader<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::AugAssign(division) = statement
            && division.op == Operator::Div
        {
            self.divide(&division.target, &division.value);
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::BinOp(division) if division.op == Operator::Div => {
                self.divide(&division.left, &division.right);
            }
            Expr::Call(call) => {
                let measures = matches!(&*call.func, Expr::Name(f) if f.id.as_str() == "len");
                let ranges = measures || Self::takes_ranges(call);
                let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
                for argument in call.arguments.args.iter().chain(keywords) {
                    let is_view = matches!(argument, Expr::Call(view) if view.func.is_attribute_expr());
                    if (ranges && is_range(argument)) || (measures && is_view) {
                        self.iterated.insert(argument.range());
                    }
                }
                if self.gave_list(call) && !self.iterated.contains(&expr.range()) {
                    let (open, close) =
                        (Edit::insertion(expr.start(), "list("), Edit::insertion(expr.end(), ")"));
                    self.found.lists.push([open, close]);
                }
            }
            // A range has positions.
            Expr::Subscript(subscript) if is_range(&subscript.value) => {
                self.iterated.insert(subscript.value.range());
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}
