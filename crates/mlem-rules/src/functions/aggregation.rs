//! Named aggregations of one column: `frame.groupby(k)['c'].agg(best=('c', 'max'))` takes the function
//! alone, since the column is chosen already; pairs are for the groups of a whole frame (pandas user
//! guide, "Named aggregation").

use mlem_python::ast::Expr;
use mlem_python::{Edit, Ranged};

use super::Context;
use super::walk::each_expr;
use crate::finding::{Finding, Fix};
use crate::judge::finding;

pub(crate) const TRIGGERS: &[&str] = &["agg", "aggregate"];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let program = context.question.program;
    let mut findings = Vec::new();
    each_expr(program, |unit, expr| {
        let Expr::Call(call) = expr else {
            return;
        };
        let Expr::Attribute(method) = &*call.func else {
            return;
        };
        if !matches!(method.attr.as_str(), "agg" | "aggregate") || !call.arguments.args.is_empty() {
            return;
        }
        let source = program.units()[unit].source();
        let edits: Vec<(usize, Edit)> = call
            .arguments
            .keywords
            .iter()
            .filter_map(|keyword| match &keyword.value {
                Expr::Tuple(pair) => match pair.elts.as_slice() {
                    [Expr::StringLiteral(_), function] => {
                        let text = source[function.range()].to_string();
                        Some((unit, Edit { range: pair.range, text }))
                    }
                    _ => None,
                },
                _ => None,
            })
            .collect();
        if !edits.is_empty() {
            let fix = Ok(Some(Fix { edits }));
            findings.extend(finding(context.question, context.rule, unit, expr.range(), None, false, fix));
        }
    });
    findings
}
