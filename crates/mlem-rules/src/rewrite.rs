//! A match turned into edits.

use mlem_python::ast::{Expr, Stmt};
use mlem_python::{Edit, Ranged, TextRange};

use crate::engine::Checker;
use crate::finding::Fix;
use crate::imports::{Need, Needs, Reach};
use crate::pattern::Bindings;
use crate::template::{Place, Template, is_atom};
use crate::tokens::{breaks_line, minimal_edits, offset};

impl<'q> Checker<'q> {
    /// The edits that call something else: a method by its new name, a function by its full name.
    pub(crate) fn rename_callee(
        &self,
        function: &'q Expr,
        callee: &str,
        needs: &'static [Need],
    ) -> Result<Vec<(usize, Edit)>, String> {
        if let Expr::Attribute(attribute) = function
            && !callee.contains('.')
        {
            let edit = Edit { range: attribute.attr.range, text: callee.to_string() };
            return Ok(vec![(self.unit, edit)]);
        }
        let mut reached = Needs::new(self.program(), self.unit, needs);
        let text = match reached.reach(function.start(), callee) {
            Reach::Text(text) => text,
            Reach::Blocked(reason) => return Err(reason),
        };
        let old = &self.source()[function.range()];
        let mut edits = reached.into_edits();
        let renamed = minimal_edits(old, function.start(), &text);
        edits.extend(renamed.into_iter().map(|edit| (self.unit, edit)));
        Ok(edits)
    }

    fn render(
        &self,
        range: TextRange,
        template: &Template,
        bindings: &Bindings<'q>,
        needs: &'static [Need],
    ) -> Result<(String, Vec<(usize, Edit)>), String> {
        let mut place = Place {
            needs: Needs::new(self.program(), self.unit, needs),
            source: self.source(),
            at: range.start(),
        };
        let text = template.render(&mut place, bindings)?;
        Ok((text, place.needs.into_edits()))
    }

    pub(crate) fn replace_expression(
        &self,
        expr: &'q Expr,
        template: &Template,
        bindings: &Bindings<'q>,
        needs: &'static [Need],
    ) -> Result<Fix, String> {
        let (mut text, mut edits) = self.render(expr.range(), template, bindings, needs)?;
        let old = &self.source()[expr.range()];
        let operator = !template.is_atom() && is_atom(expr);
        if (operator && self.parents.last().is_some_and(|parent| binds(parent, expr)))
            || (breaks_line(&text) && !breaks_line(old))
        {
            text = format!("({text})");
        }
        for edit in minimal_edits(old, expr.start(), &text) {
            edits.push((self.unit, edit));
        }
        Ok(Fix { edits })
    }

    pub(crate) fn replace_statement(
        &self,
        statement: &'q Stmt,
        template: &Template,
        bindings: &Bindings<'q>,
        needs: &'static [Need],
        is_alone: bool,
    ) -> Result<Fix, String> {
        let source = self.source();
        if template.is_empty() {
            let edit = if is_alone {
                Edit { range: statement.range(), text: "pass".to_string() }
            } else {
                remove_statement(source, statement.range())
            };
            return Ok(Fix { edits: vec![(self.unit, edit)] });
        }
        let (text, mut edits) = self.render(statement.range(), template, bindings, needs)?;
        let start = statement.start().to_usize();
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let indent = &source[line_start..start];
        if template.is_statement() && text.contains('\n') && !indent.trim().is_empty() {
            return Err("the statement shares its line with another".to_string());
        }
        let text = if indent.is_empty() || !template.is_multiline() {
            text
        } else {
            text.replace('\n', &format!("\n{indent}"))
        };
        let old = &source[statement.range()];
        if template.is_multiline() {
            edits.push((self.unit, Edit { range: statement.range(), text }));
        } else {
            for edit in minimal_edits(old, statement.start(), &text) {
                edits.push((self.unit, edit));
            }
        }
        Ok(Fix { edits })
    }
}

/// Removes a statement, with its line when nothing else is on it.
pub(crate) fn remove_statement(source: &str, range: TextRange) -> Edit {
    let (start, end) = (range.start().to_usize(), range.end().to_usize());
    let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = source[end..].find('\n').map_or(source.len(), |at| end + at + 1);
    let alone_before = source[line_start..start].trim().is_empty();
    let behind = source[end..line_end].trim();
    let (from, to) = if alone_before && behind.is_empty() {
        (line_start, line_end)
    } else if let Some(rest) = source[end..line_end].trim_start().strip_prefix(';') {
        (start, line_end - rest.trim_start().len())
    } else if !alone_before {
        let before = source[line_start..start].trim_end();
        let before = before.strip_suffix(';').unwrap_or(before).trim_end();
        (line_start + before.len(), end)
    } else {
        (start, line_end - source[end..line_end].trim_start().len())
    };
    Edit { range: TextRange::new(offset(from), offset(to)), text: String::new() }
}

/// Whether an operator in the place of `child` would need parentheses.
fn binds(parent: &Expr, child: &Expr) -> bool {
    match parent {
        Expr::Attribute(_)
        | Expr::BinOp(_)
        | Expr::UnaryOp(_)
        | Expr::BoolOp(_)
        | Expr::Compare(_)
        | Expr::If(_)
        | Expr::Await(_)
        | Expr::Starred(_) => true,
        Expr::Subscript(subscript) => subscript.value.range() == child.range(),
        Expr::Call(call) => call.func.range() == child.range(),
        _ => false,
    }
}
