//! Arguments inside the grids of searches: what the catalogue knows of an estimator's arguments
//! holds for `{'criterion': ['mse']}` handed to `GridSearchCV` too, and for `clf__criterion` where
//! the estimator is a step of a pipeline (scikit-learn user guide, "Tuning the hyper-parameters of
//! an estimator" and "Accessing nested parameters").

use mlem_python::ast::{Expr, ExprCall, ExprDict};
use mlem_python::{Edit, Program, Ranged, TextRange};

use super::Context;
use super::walk::{assignments, each_expr, in_force, is_name};
use crate::call::{Arguments, Callable, ItemList, in_quotes_of};
use crate::condition::{Condition, Verdict};
use crate::finding::{Finding, Fix};
use crate::judge::finding;
use crate::rule::Matcher;
use crate::schema::{Safety, ScoreEffect};

const SEARCHES: &[&str] =
    &["GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"];

pub(crate) const TRIGGERS: &[&str] = SEARCHES;

/// How deep estimators are looked for in one another; a name that is set from itself has no end.
const MAX_DEPTH: usize = 4;

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let program = context.question.program;
    let mut searches = Vec::new();
    each_expr(program, |unit, expr| {
        if let Expr::Call(call) = expr
            && is_search(program, unit, call)
        {
            searches.push((unit, call));
        }
    });
    let mut findings = Vec::new();
    for (unit, call) in &searches {
        let (Some(estimator), Some(grid)) =
            (argument(call, 0, &["estimator"]), argument(call, 1, &["param_grid", "param_distributions"]))
        else {
            continue;
        };
        let mut classes = Vec::new();
        estimators(program, *unit, estimator, "", 0, &mut classes);
        let shared = is_shared(program, &searches, call, grid);
        for (home, dict) in dicts(program, *unit, grid) {
            findings.extend(changes(context, home, dict, &classes, shared));
        }
    }
    findings
}

fn is_search(program: &Program, unit: usize, call: &ExprCall) -> bool {
    let Some((module, name)) =
        program.qualified_name(unit, &call.func).and_then(|full| full.rsplit_once('.'))
    else {
        return false;
    };
    matches!(module, "sklearn.model_selection" | "sklearn.grid_search") && SEARCHES.contains(&name)
}

fn argument<'a>(call: &'a ExprCall, position: usize, names: &[&str]) -> Option<&'a Expr> {
    let by_name = call
        .arguments
        .keywords
        .iter()
        .find(|keyword| keyword.arg.as_ref().is_some_and(|name| names.contains(&name.as_str())));
    match by_name {
        Some(keyword) => Some(&keyword.value),
        None if call.arguments.args.iter().any(|a| matches!(a, Expr::Starred(_))) => None,
        None => call.arguments.args.get(position),
    }
}

/// Whether another search takes the same grid by its name: what is right for one estimator may be
/// wrong for the other.
fn is_shared(program: &Program, searches: &[(usize, &ExprCall)], call: &ExprCall, grid: &Expr) -> bool {
    let Expr::Name(name) = grid else {
        return false;
    };
    let class = |unit: usize, call: &ExprCall| {
        let estimator = argument(call, 0, &["estimator"])?;
        program.type_of(unit, estimator).map(str::to_string)
    };
    let takers: Vec<_> = searches
        .iter()
        .filter(|(_, other)| {
            argument(other, 1, &["param_grid", "param_distributions"])
                .is_some_and(|other| is_name(other, name.id.as_str()))
        })
        .collect();
    let own = takers.iter().find(|(_, other)| other.range() == call.range()).and_then(|(u, c)| class(*u, c));
    takers.len() > 1 && (own.is_none() || takers.iter().any(|(unit, other)| class(*unit, other) != own))
}

/// The value an expression stands for: itself, or what the name was last set to.
fn resolve<'a>(program: &'a Program, unit: usize, expr: &'a Expr) -> (usize, &'a Expr) {
    let Expr::Name(name) = expr else {
        return (unit, expr);
    };
    match in_force(&assignments(program, name.id.as_str()), unit, expr.start()) {
        Some(from) => (from.unit, from.value),
        None => (unit, expr),
    }
}

/// The classes whose parameters a grid can name, each with the prefix of those names.
fn estimators(
    program: &Program,
    unit: usize,
    expr: &Expr,
    prefix: &str,
    depth: usize,
    found: &mut Vec<(String, String)>,
) {
    if depth > MAX_DEPTH {
        return;
    }
    let known = program.type_of(unit, expr).map(str::to_string);
    let (home, value) = resolve(program, unit, expr);
    let call = match value {
        Expr::Call(call) => Some(call),
        _ => None,
    };
    let made = call.and_then(|call| program.qualified_name(home, &call.func));
    // What flows here decides; the assignment found by its name has to agree with it.
    let class = match (known.as_deref(), made) {
        (Some(known), _) => known.to_string(),
        (None, Some(made)) if matches!(expr, Expr::Call(_)) || made.ends_with("make_pipeline") => {
            made.to_string()
        }
        _ => return,
    };
    found.push((prefix.to_string(), class.clone()));
    let Some(call) = call.filter(|_| made.is_some_and(|made| agrees(made, &class))) else {
        return;
    };
    let last = made.and_then(|made| made.rsplit('.').next()).unwrap_or_default();
    match last {
        "Pipeline" => {
            let Some((home, Expr::List(steps))) =
                argument(call, 0, &["steps"]).map(|steps| resolve(program, home, steps))
            else {
                return;
            };
            for step in &steps.elts {
                if let Expr::Tuple(pair) = step
                    && let [Expr::StringLiteral(name), step] = pair.elts.as_slice()
                {
                    let prefix = format!("{prefix}{}__", name.value.to_str());
                    estimators(program, home, step, &prefix, depth + 1, found);
                }
            }
        }
        "make_pipeline" => {
            for step in &call.arguments.args {
                let mut inner = Vec::new();
                estimators(program, home, step, "", depth + 1, &mut inner);
                // Steps are called by their classes in lower case.
                let Some(name) = inner.first().and_then(|(_, class)| class.rsplit('.').next()) else {
                    continue;
                };
                let step_prefix = format!("{prefix}{}__", name.to_lowercase());
                found.extend(
                    inner.iter().map(|(inner, class)| (format!("{step_prefix}{inner}"), class.clone())),
                );
            }
        }
        _ => {
            // AdaBoostClassifier(DecisionTreeClassifier()), OneVsRestClassifier(SVC()) …
            if let Some(inner) = argument(call, 0, &["estimator", "base_estimator"])
                && matches!(resolve(program, home, inner).1, Expr::Call(_))
            {
                for name in ["estimator__", "base_estimator__"] {
                    let prefix = format!("{prefix}{name}");
                    estimators(program, home, inner, &prefix, depth + 1, found);
                }
            }
        }
    }
}

/// Whether a constructor makes values of a class: package and last name decide.
fn agrees(made: &str, class: &str) -> bool {
    let ends = |name: &str| {
        let (package, _) = name.split_once('.').unwrap_or((name, ""));
        (package.to_string(), name.rsplit('.').next().unwrap_or(name).to_string())
    };
    made.ends_with("make_pipeline") || ends(made) == ends(class)
}

/// The dict literals a grid consists of.
fn dicts<'a>(program: &'a Program, unit: usize, grid: &'a Expr) -> Vec<(usize, &'a ExprDict)> {
    let (home, value) = resolve(program, unit, grid);
    match value {
        Expr::Dict(dict) => vec![(home, dict)],
        Expr::List(list) => {
            let parts = list.elts.iter().map(|part| resolve(program, home, part));
            let dict = |(home, part): (usize, &'a Expr)| match part {
                Expr::Dict(dict) => Some((home, dict)),
                _ => None,
            };
            parts.filter_map(dict).collect()
        }
        _ => Vec::new(),
    }
}

/// One finding for each key of a grid that a rule is about.
fn changes(
    context: &Context,
    unit: usize,
    dict: &ExprDict,
    classes: &[(String, String)],
    shared: bool,
) -> Vec<Finding> {
    let source = context.question.program.units()[unit].source();
    let mut findings = Vec::new();
    for item in &dict.items {
        let Some(Expr::StringLiteral(key)) = &item.key else {
            continue;
        };
        let values: &[Expr] = match &item.value {
            Expr::List(list) => &list.elts,
            Expr::Tuple(tuple) => &tuple.elts,
            _ => &[],
        };
        let path = key.value.to_str();
        for (prefix, class) in classes {
            let Some(parameter) = path.strip_prefix(prefix.as_str()).filter(|p| !p.contains("__")) else {
                continue;
            };
            let range = TextRange::new(key.range.start(), item.value.end());
            let mut list = ItemList::of_dict(source, dict);
            let mut any = false;
            for arguments in rules_about(context, unit, class, parameter, values) {
                if arguments.drops(parameter) {
                    list.remove(range);
                    any = true;
                }
                if let Some(new) = arguments.renamed(parameter) {
                    let text = in_quotes_of(&source[key.range], &format!("'{prefix}{new}'"));
                    list.replace(key.range, text);
                    any = true;
                }
                for value in values {
                    // A value that stands for leaving the argument out has no place in a grid.
                    if let Some(new) = arguments.replacement(parameter, value).filter(|new| !new.is_empty()) {
                        list.replace(value.range(), in_quotes_of(&source[value.range()], new));
                        any = true;
                    }
                }
            }
            if !any {
                continue;
            }
            let edits: Vec<(usize, Edit)> = list.into_edits().into_iter().map(|edit| (unit, edit)).collect();
            let fix = if shared {
                Err("searches over different estimators share this grid".to_string())
            } else {
                Ok(Some(Fix { edits }))
            };
            findings.extend(finding(context.question, context.rule, unit, range, None, false, fix));
            break;
        }
    }
    findings
}

/// The argument rules about one parameter of a class that hold for every value of a list and mean
/// nothing but this parameter.
fn rules_about<'a>(
    context: &'a Context,
    unit: usize,
    class: &'a str,
    parameter: &'a str,
    values: &'a [Expr],
) -> impl Iterator<Item = &'static Arguments> + 'a {
    let last = class.rsplit('.').next().unwrap_or(class);
    let callables = context.catalogue.index.entries.get(last).map_or(&[][..], |entry| &entry.callables);
    callables.iter().filter_map(move |(rule, callable)| {
        let rule = &context.catalogue.rules()[*rule];
        let Matcher::Call { callables, arguments, conditions, .. } = &rule.matcher else {
            return None;
        };
        let Callable::Qualified(full) = &callables[*callable] else {
            return None;
        };
        let is_meant = |(name, condition): (&String, &Condition)| {
            name == parameter
                && !values.is_empty()
                && values.iter().all(|v| condition.decide(context.question, unit, v) == Verdict::Proven)
        };
        let applies = agrees(full, class)
            && rule.safety == Safety::Safe
            && rule.score == ScoreEffect::Neutral
            && rule.applies_to(context.question.target)
            && arguments.concerns_single_arguments()
            && conditions.iter().all(is_meant);
        applies.then_some(arguments)
    })
}
