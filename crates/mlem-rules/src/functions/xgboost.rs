//! XGBoost 2.1 took `early_stopping_rounds`, `eval_metric` and `callbacks` out of the `fit` of its
//! scikit-learn classes; they are parameters of the model
//! (XGBoost 1.6 deprecation, 2.1.0 release notes, "Removed deprecated features").

use mlem_python::ast::{Expr, ExprCall, Keyword};
use mlem_python::{Edit, Program, Ranged, TextRange, TextSize};

use super::Context;
use super::walk::{assignments, each_expr, in_force};
use crate::call::ArgumentList;
use crate::condition::{Verdict, has_type};
use crate::finding::{Finding, Fix};
use crate::judge::finding;

pub(crate) const TRIGGERS: &[&str] = &["early_stopping_rounds", "eval_metric", "callbacks"];

const GONE: &[&str] = &["early_stopping_rounds", "eval_metric", "callbacks"];

const MODELS: &[&str] = &[
    "xgboost.XGBClassifier",
    "xgboost.XGBRegressor",
    "xgboost.XGBRanker",
    "xgboost.XGBModel",
    "xgboost.XGBRFClassifier",
    "xgboost.XGBRFRegressor",
];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let question = context.question;
    let program = question.program;
    let mut findings = Vec::new();
    each_expr(program, |unit, expr| {
        let Expr::Call(call) = expr else {
            return;
        };
        let Expr::Attribute(attribute) = &*call.func else {
            return;
        };
        let gone = gone_keywords(call);
        if attribute.attr.as_str() != "fit" || gone.is_empty() {
            return;
        }
        let mut best = Verdict::Refuted;
        for model in MODELS {
            match has_type(question, unit, &attribute.value, model) {
                verdict @ (Verdict::Proven | Verdict::Live) => {
                    best = verdict;
                    break;
                }
                verdict @ Verdict::Unknown(_) => best = verdict,
                Verdict::Refuted => {}
            }
        }
        let (unknown, is_live) = match best {
            Verdict::Refuted => return,
            Verdict::Unknown(reason) => (Some(reason), false),
            other => (None, other == Verdict::Live),
        };
        let fix = rewrite(program, unit, call, &attribute.value, &gone);
        findings.extend(finding(question, context.rule, unit, expr.range(), unknown, is_live, Ok(Some(fix))));
    });
    findings
}

fn gone_keywords(call: &ExprCall) -> Vec<&Keyword> {
    let keywords = call.arguments.keywords.iter();
    keywords.filter(|keyword| keyword.arg.as_ref().is_some_and(|arg| GONE.contains(&arg.as_str()))).collect()
}

fn rewrite(program: &Program, unit: usize, call: &ExprCall, model: &Expr, gone: &[&Keyword]) -> Fix {
    let source = program.units()[unit].source();
    let mut fit = ArgumentList::new(source, call);
    for keyword in gone {
        fit.remove(keyword.range);
    }
    let mut edits: Vec<(usize, Edit)> = fit.into_edits().into_iter().map(|e| (unit, e)).collect();
    // `None` is what the model has anyway.
    let texts: Vec<(&str, &str)> = gone
        .iter()
        .filter(|keyword| !matches!(keyword.value, Expr::NoneLiteral(_)))
        .filter_map(|keyword| {
            let name = keyword.arg.as_ref()?.as_str();
            Some((name, &source[keyword.value.range()]))
        })
        .collect();
    if texts.is_empty() {
        return Fix { edits };
    }
    if let Some((home, constructor)) = constructor(program, unit, call, model, gone) {
        let other = program.units()[home].source();
        let mut list = ArgumentList::new(other, constructor);
        for (name, value) in texts {
            match list.keyword(name) {
                Some(present) => list.replace(present.value.range(), value.to_string()),
                None => list.append(format!("{name}={value}")),
            }
        }
        edits.extend(list.into_edits().into_iter().map(|edit| (home, edit)));
    } else {
        let arguments: Vec<String> = texts.iter().map(|(name, value)| format!("{name}={value}")).collect();
        edits.push((
            unit,
            Edit {
                range: TextRange::empty(model.end()),
                text: format!(".set_params({})", arguments.join(", ")),
            },
        ));
    }
    Fix { edits }
}

/// The call that makes the model, if the arguments can be written there: it is found, this is the
/// only `fit` of that name with such arguments, and the values do not depend on where they stand.
fn constructor<'a>(
    program: &'a Program,
    unit: usize,
    fit: &ExprCall,
    model: &'a Expr,
    gone: &[&Keyword],
) -> Option<(usize, &'a ExprCall)> {
    let is_model = |unit: usize, call: &ExprCall| {
        program.qualified_name(unit, &call.func).is_some_and(is_one_of_the_models)
    };
    if let Expr::Call(call) = model {
        return is_model(unit, call).then_some((unit, call));
    }
    let Expr::Name(name) = model else {
        return None;
    };
    if !gone.iter().all(|keyword| is_constant(&keyword.value)) {
        return None;
    }
    let mut fits = 0;
    each_expr(program, |_, expr| {
        if let Expr::Call(call) = expr
            && let Expr::Attribute(attribute) = &*call.func
            && attribute.attr.as_str() == "fit"
            && super::walk::is_name(&attribute.value, name.id.as_str())
        {
            fits += 1;
        }
    });
    let assigned = assignments(program, name.id.as_str());
    let from = in_force(&assigned, unit, fit.func.start())?;
    let Expr::Call(call) = from.value else {
        return None;
    };
    let is_before = (from.unit, from.at) < (unit, TextSize::from(u32::from(fit.func.start())));
    (fits == 1 && is_before && is_model(from.unit, call)).then_some((from.unit, call))
}

fn is_one_of_the_models(name: &str) -> bool {
    let Some((package, _)) = name.split_once('.') else {
        return false;
    };
    let last = name.rsplit('.').next().unwrap_or(name);
    package == "xgboost" && MODELS.iter().any(|model| model.ends_with(&format!(".{last}")))
}

/// Literals, which mean the same everywhere.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => {
            true
        }
        Expr::List(list) => list.elts.iter().all(is_constant),
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_constant),
        _ => false,
    }
}
