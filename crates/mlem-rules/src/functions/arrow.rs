//! The well-known recipe of an arrow in three dimensions: a subclass of `FancyArrowPatch` that
//! projects its ends in `draw` with `renderer.M`. The renderer has no matrix since matplotlib 3.5
//! (3.4.0 API changes), the axes have it; and the axes ask every patch for its depth by
//! `do_3d_projection` (3.5.0 API changes), a method the recipe lacked.

use mlem_python::ast::{Expr, Stmt, StmtClassDef, StmtFunctionDef};
use mlem_python::{Edit, Program, Ranged, TextRange};

use super::Context;
use super::walk::each_stmt;
use crate::finding::{Finding, Fix};
use crate::judge::finding;
use crate::pattern::names;

pub(crate) const TRIGGERS: &[&str] = &["proj_transform"];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let program = context.question.program;
    let mut findings = Vec::new();
    each_stmt(program, |unit, statement| {
        if let Stmt::ClassDef(class) = statement
            && let Some(draw) = method(class, "draw")
            && let Some(projection) = projection(program, unit, draw)
        {
            let fix = rewrite(program, unit, class, draw, &projection);
            let range = projection.matrix;
            findings.extend(finding(context.question, context.rule, unit, range, None, false, Ok(Some(fix))));
        }
    });
    findings
}

fn method<'a>(class: &'a StmtClassDef, name: &str) -> Option<&'a StmtFunctionDef> {
    class.body.iter().find_map(|statement| match statement {
        Stmt::FunctionDef(function) if function.name.as_str() == name => Some(function),
        _ => None,
    })
}

/// `xs, ys, zs = proj3d.proj_transform(x, y, z, renderer.M)` in the body of `draw`.
struct Projection<'a> {
    /// The statement's place in the body.
    at: usize,
    matrix: TextRange,
    depths: &'a str,
    own: &'a str,
}

fn projection<'a>(program: &Program, unit: usize, draw: &'a StmtFunctionDef) -> Option<Projection<'a>> {
    let own = draw.parameters.iter().next()?.name().as_str();
    draw.body.iter().enumerate().find_map(|(at, statement)| {
        let Stmt::Assign(assign) = statement else {
            return None;
        };
        let ([Expr::Tuple(ends)], Expr::Call(call)) = (assign.targets.as_slice(), &*assign.value) else {
            return None;
        };
        let ([_, _, Expr::Name(depths)], [_, _, _, Expr::Attribute(matrix)]) =
            (ends.elts.as_slice(), &*call.arguments.args)
        else {
            return None;
        };
        let is_meant = matrix.attr.as_str() == "M"
            && matches!(&*matrix.value, Expr::Name(_))
            && names(program, unit, &call.func, "mpl_toolkits.mplot3d.proj3d.proj_transform");
        is_meant.then(|| Projection { at, matrix: matrix.range, depths: depths.id.as_str(), own })
    })
}

fn rewrite(
    program: &Program,
    unit: usize,
    class: &StmtClassDef,
    draw: &StmtFunctionDef,
    projection: &Projection,
) -> Fix {
    let source = program.units()[unit].source();
    let matrix = format!("{}.axes.M", projection.own);
    let mut edits = vec![(unit, Edit { range: projection.matrix, text: matrix.clone() })];
    if method(class, "do_3d_projection").is_none() {
        let indent = |at: usize| {
            let line = source[..at].rfind('\n').map_or(0, |found| found + 1);
            &source[line..at]
        };
        let first = draw.body.iter().position(|statement| !is_docstring(statement)).unwrap_or(0);
        let (from, to) = (draw.body[first].start(), draw.body[projection.at].end());
        let body = [
            &source[from.to_usize()..projection.matrix.start().to_usize()],
            &matrix,
            &source[projection.matrix.end().to_usize()..to.to_usize()],
        ]
        .concat();
        let (outer, inner) = (indent(draw.start().to_usize()), indent(from.to_usize()));
        let own = projection.own;
        let text = format!(
            "\n\n{outer}def do_3d_projection({own}, renderer=None):\n{inner}{body}\n{inner}return min({})",
            projection.depths
        );
        edits.push((unit, Edit { range: TextRange::empty(draw.end()), text }));
    }
    Fix { edits }
}

fn is_docstring(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Expr(expression) if expression.value.is_string_literal_expr())
}
