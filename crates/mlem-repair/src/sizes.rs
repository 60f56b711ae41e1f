//! Literal sizes of the data that a notebook was written for, where other data lies today. Only a live error tells
//! that one is wrong.

use mlem_python::ast::visitor::{Visitor, walk_expr};
use mlem_python::ast::{Expr, Number};
use mlem_python::{Edit, Ranged, Unit};

/// The edits that let a reshape on `lines` take as many rows as there are: its literal first dimension becomes -1.
/// `message` is numpy's: `cannot reshape array of size 8 into shape (3,4)`.
pub(crate) fn reshape(unit: &Unit, lines: (usize, usize), message: &str) -> Option<(Vec<Edit>, String)> {
    let rest = message.strip_prefix("cannot reshape array of size ")?;
    let (size, shape) = rest.split_once(" into shape ")?;
    let size: u64 = size.trim().parse().ok()?;
    let shape: Vec<u64> = shape
        .trim_matches(['(', ')', '[', ']', ' '])
        .split([',', ' '])
        .filter(|part| !part.is_empty())
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let (first, others) = shape.split_first()?;
    let row: u64 = others.iter().product();
    // -1 needs whole rows, and at least one other dimension to tell what a row is.
    if others.is_empty() || row == 0 || !size.is_multiple_of(row) {
        return None;
    }
    let mut finder = Reshapes { unit, lines, first: *first, dimensions: shape.len(), found: Vec::new() };
    for statement in unit.body() {
        finder.visit_stmt(statement);
    }
    let [only] = finder.found.as_slice() else { return None };
    let reason = format!("the data has {} rows today, not {first}", size / row);
    Some((vec![only.clone()], reason))
}

struct Reshapes<'a> {
    unit: &'a Unit,
    lines: (usize, usize),
    first: u64,
    dimensions: usize,
    found: Vec<Edit>,
}

impl<'a> Visitor<'a> for Reshapes<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && let Expr::Attribute(attribute) = &*call.func
            && attribute.attr.as_str() == "reshape"
        {
            let (first, last) = self.unit.lines(call.range());
            let here = first <= self.lines.1 && last >= self.lines.0;
            let shape = match &*call.arguments.args {
                [.., Expr::Tuple(shape)] => shape.elts.as_slice(),
                [.., Expr::List(shape)] => shape.elts.as_slice(),
                dimensions => dimensions,
            };
            if here
                && shape.len() == self.dimensions
                && let Some(literal @ Expr::NumberLiteral(number)) = shape.first()
                && matches!(&number.value, Number::Int(value) if value.as_u64() == Some(self.first))
            {
                self.found.push(Edit::replacement(literal.range(), "-1"));
            }
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reshaped(cell: &str, message: &str) -> Option<String> {
        let (edits, _) = reshape(&Unit::cell(cell), (1, 1), message)?;
        let mut set = mlem_python::EditSet::new();
        set.add_all(edits).unwrap();
        Some(set.apply(cell).unwrap())
    }

    #[test]
    fn only_the_literal_number_of_rows_gives_way() {
        let message = "cannot reshape array of size 12 into shape (9,2,2)";
        assert_eq!(reshaped("x.reshape(9, 2, 2)", message).as_deref(), Some("x.reshape(-1, 2, 2)"));
        assert_eq!(
            reshaped("np.reshape(x, (9, n, n))", message).as_deref(),
            Some("np.reshape(x, (-1, n, n))")
        );
        assert_eq!(reshaped("x.reshape(rows, 2, 2)", message), None);
        assert_eq!(reshaped("x.reshape(9, 4)", message), None, "not the reshape that failed");
        let uneven = "cannot reshape array of size 13 into shape (9,2,2)";
        assert_eq!(reshaped("x.reshape(9, 2, 2)", uneven), None, "no whole rows");
        assert_eq!(reshaped("x.reshape(9)", "cannot reshape array of size 12 into shape (9,)"), None);
    }
}
