//! LightGBM 4 took early stopping and printing out of `train`, `cv` and `fit`; they are callbacks
//! (LightGBM 4.0.0 release notes). Several of them go into one list.

use mlem_python::ast::{Expr, ExprCall, Keyword};
use mlem_python::{Edit, Program, Ranged, TextRange};

use super::Context;
use super::walk::{assignments, each_expr, in_force, integer, is_bool, is_name};
use crate::call::ArgumentList;
use crate::condition::{Verdict, has_type};
use crate::finding::{Finding, Fix};
use crate::imports::{Need, Needs, Reach};
use crate::judge::finding;
use crate::pattern::names;

pub(crate) const TRIGGERS: &[&str] = &[
    "early_stopping_rounds",
    "verbose_eval",
    "evals_result",
    "learning_rates",
    "LGBMClassifier",
    "LGBMRegressor",
    "LGBMRanker",
    "LGBMModel",
    "lightgbm",
];

const MODELS: &[&str] =
    &["lightgbm.LGBMClassifier", "lightgbm.LGBMRegressor", "lightgbm.LGBMRanker", "lightgbm.LGBMModel"];

/// What is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Train,
    CrossValidation,
    Fit,
}

impl Form {
    /// The arguments that went.
    fn gone(self) -> &'static [&'static str] {
        match self {
            Form::Train => &["early_stopping_rounds", "verbose_eval", "evals_result", "learning_rates"],
            Form::CrossValidation => &["early_stopping_rounds", "verbose_eval", "show_stdv"],
            Form::Fit => &["early_stopping_rounds", "verbose"],
        }
    }
}

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let question = context.question;
    let program = question.program;
    let mut findings = Vec::new();
    each_expr(program, |unit, expr| {
        let Expr::Call(call) = expr else {
            return;
        };
        let gone = |form: Form| {
            call.arguments
                .keywords
                .iter()
                .any(|keyword| keyword.arg.as_ref().is_some_and(|arg| form.gone().contains(&arg.as_str())))
        };
        let mut unknown = None;
        let mut is_live = false;
        let form = if names(program, unit, &call.func, "lightgbm.train") {
            Form::Train
        } else if names(program, unit, &call.func, "lightgbm.cv") {
            Form::CrossValidation
        } else {
            let Expr::Attribute(attribute) = &*call.func else {
                return;
            };
            if attribute.attr.as_str() != "fit" || !gone(Form::Fit) {
                return;
            }
            let verdicts = MODELS.iter().map(|model| has_type(question, unit, &attribute.value, model));
            let mut best = Verdict::Refuted;
            for verdict in verdicts {
                match verdict {
                    Verdict::Proven | Verdict::Live => {
                        best = verdict;
                        break;
                    }
                    Verdict::Unknown(_) => best = verdict,
                    Verdict::Refuted => {}
                }
            }
            match best {
                Verdict::Refuted => return,
                // `fit(verbose=…)` is what half of all libraries take.
                Verdict::Unknown(_) if !gone(Form::Train) => return,
                Verdict::Unknown(reason) => unknown = Some(reason),
                Verdict::Live => is_live = true,
                Verdict::Proven => {}
            }
            Form::Fit
        };
        if !gone(form) {
            return;
        }
        let fix = rewrite(program, unit, expr, call, form).map(Some);
        findings.extend(finding(question, context.rule, unit, expr.range(), unknown, is_live, fix));
    });
    findings
}

fn rewrite(program: &Program, unit: usize, expr: &Expr, call: &ExprCall, form: Form) -> Result<Fix, String> {
    let source = program.units()[unit].source();
    let offered = [Need::parse("import lightgbm as lgb")?];
    let mut needs = Needs::new(program, unit, &offered);
    let mut list = ArgumentList::new(source, call);
    let text = |keyword: &Keyword| &source[keyword.value.range()];
    let mut callbacks = Vec::new();
    let mut name_of = |function: &str| match needs.reach(expr.start(), &format!("lightgbm.{function}")) {
        Reach::Text(text) => Ok(text),
        Reach::Blocked(reason) => Err(reason),
    };
    let printing = match form {
        Form::Fit => list.keyword("verbose"),
        _ => list.keyword("verbose_eval"),
    };
    let is_silent = printing.is_some_and(|keyword| is_off(&keyword.value));
    if let Some(keyword) = list.keyword("early_stopping_rounds")
        && !matches!(keyword.value, Expr::NoneLiteral(_))
    {
        let quiet = if is_silent { ", verbose=False" } else { "" };
        let name = name_of("early_stopping")?;
        callbacks.push(format!("{name}({}{quiet})", text(keyword)));
    }
    if let Some(keyword) = printing
        && !is_silent
    {
        let period = if is_bool(&keyword.value, true) { "1" } else { text(keyword) };
        callbacks.push(format!("{}({period})", name_of("log_evaluation")?));
    }
    if form == Form::Train {
        if let Some(keyword) = list.keyword("evals_result")
            && !matches!(keyword.value, Expr::NoneLiteral(_))
        {
            let name = name_of("record_evaluation")?;
            callbacks.push(format!("{name}({})", text(keyword)));
        }
        if let Some(keyword) = list.keyword("learning_rates")
            && !matches!(keyword.value, Expr::NoneLiteral(_))
        {
            let name = name_of("reset_parameter")?;
            callbacks.push(format!("{name}(learning_rate={})", text(keyword)));
        }
    }
    for name in form.gone() {
        if let Some(keyword) = list.keyword(name) {
            list.remove(keyword.range);
        }
    }
    let joined = callbacks.join(", ");
    match list.keyword("callbacks") {
        _ if callbacks.is_empty() => {}
        None => list.append(format!("callbacks=[{joined}]")),
        Some(keyword) => match &keyword.value {
            Expr::NoneLiteral(_) => list.replace(keyword.value.range(), format!("[{joined}]")),
            Expr::List(existing) => match existing.elts.last() {
                Some(last) => list.insert(last.end(), format!(", {joined}")),
                None => list.replace(existing.range, format!("[{joined}]")),
            },
            other => list.insert(other.end(), format!(" + [{joined}]")),
        },
    }
    let mut edits: Vec<(usize, Edit)> = list.into_edits().into_iter().map(|e| (unit, e)).collect();
    edits.extend(needs.into_edits());
    if form == Form::CrossValidation {
        edits.extend(result_keys(program, unit, expr));
    }
    Ok(Fix { edits })
}

/// Printing that is switched off.
fn is_off(value: &Expr) -> bool {
    is_bool(value, false) || matches!(value, Expr::NoneLiteral(_)) || integer(value) == Some(0)
}

/// The keys of the result of `cv` begin with `valid ` now: `result['valid l2-mean']`.
fn result_keys(program: &Program, unit: usize, call: &Expr) -> Vec<(usize, Edit)> {
    let mut name = None;
    super::walk::each_stmt(program, |at, statement| {
        if at == unit
            && let mlem_python::ast::Stmt::Assign(assign) = statement
            && assign.value.range() == call.range()
            && let [Expr::Name(target)] = assign.targets.as_slice()
        {
            name = Some(target.id.to_string());
        }
    });
    let Some(name) = name else {
        return Vec::new();
    };
    let assigned = assignments(program, &name);
    let mut edits = Vec::new();
    each_expr(program, |at, expr| {
        let Expr::Subscript(subscript) = expr else {
            return;
        };
        let Expr::StringLiteral(key) = &*subscript.slice else {
            return;
        };
        let text = key.value.to_str();
        let is_old = (text.ends_with("-mean") || text.ends_with("-stdv")) && !text.starts_with("valid ");
        if !is_name(&subscript.value, &name) || !is_old {
            return;
        }
        let from_here = in_force(&assigned, at, expr.start())
            .is_some_and(|a| a.unit == unit && a.value.range() == call.range());
        let source = program.units()[at].source();
        let literal = &source[key.range];
        let quoted = literal.find(['\'', '"']).unwrap_or(0) + 1;
        if from_here && !literal.starts_with("'''") && !literal.starts_with("\"\"\"") {
            let place = key.range.start() + crate::tokens::offset(quoted);
            let edit = Edit { range: TextRange::empty(place), text: "valid ".to_string() };
            edits.push((at, edit));
        }
    });
    edits
}
