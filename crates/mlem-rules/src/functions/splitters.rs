//! The splitters of `sklearn.cross_validation`: their constructors took the size of the data or the
//! labels, and they were iterated themselves. In `sklearn.model_selection` they are told the data
//! by `split`, so the call and every loop over it change together
//! (scikit-learn 0.18 release notes, "Model selection enhancements and API changes").

use std::collections::HashMap;

use mlem_python::ast::{Comprehension, Expr, ExprCall, Stmt};
use mlem_python::{Edit, Program, Ranged, TextRange, TextSize};

use super::Context;
use super::walk::{Assignment, Parameters, assignments, each_expr, each_stmt, in_force, is_bool, is_name};
use crate::call::ArgumentList;
use crate::finding::{Finding, Fix};
use crate::judge::finding;

/// The old signature of one splitter.
struct Splitter {
    name: &'static str,
    /// Old positional parameters, the data first.
    parameters: &'static [&'static str],
    /// The old default of `n_folds`, where the new one differs.
    default_folds: Option<&'static str>,
    /// Whether `split` needs the labels.
    stratified: bool,
}

const SPLITTERS: &[Splitter] = &[
    Splitter {
        name: "KFold",
        parameters: &["n", "n_folds", "shuffle", "random_state"],
        default_folds: Some("3"),
        stratified: false,
    },
    Splitter {
        name: "StratifiedKFold",
        parameters: &["y", "n_folds", "shuffle", "random_state"],
        default_folds: Some("3"),
        stratified: true,
    },
    Splitter {
        name: "ShuffleSplit",
        parameters: &["n", "n_iter", "test_size", "train_size", "random_state"],
        default_folds: None,
        stratified: false,
    },
    Splitter {
        name: "StratifiedShuffleSplit",
        parameters: &["y", "n_iter", "test_size", "train_size", "random_state"],
        default_folds: None,
        stratified: true,
    },
    Splitter { name: "LeaveOneOut", parameters: &["n"], default_folds: None, stratified: false },
    Splitter { name: "LeavePOut", parameters: &["n", "p"], default_folds: None, stratified: false },
];

pub(crate) const TRIGGERS: &[&str] =
    &["KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "LeaveOneOut", "LeavePOut"];

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let program = context.question.program;
    let mut calls = Vec::new();
    each_expr(program, |unit, expr| {
        if let Expr::Call(call) = expr
            && let Some(splitter) = old_call(program, unit, call)
        {
            calls.push((unit, expr, call, splitter));
        }
    });
    let uses = Uses::collect(program);
    let mut findings = Vec::new();
    for (unit, expr, call, splitter) in calls {
        let fix = rewrite(program, &uses, unit, expr, call, splitter).map(Some);
        findings.extend(finding(context.question, context.rule, unit, expr.range(), None, false, fix));
    }
    findings
}

/// The splitter, when a call has the old form.
fn old_call(program: &Program, unit: usize, call: &ExprCall) -> Option<&'static Splitter> {
    let full = program.qualified_name(unit, &call.func)?;
    let (module, name) = full.rsplit_once('.')?;
    let splitter = SPLITTERS.iter().find(|s| s.name == name)?;
    let arguments = &call.arguments;
    if arguments.args.iter().any(|a| matches!(a, Expr::Starred(_))) {
        return None;
    }
    let has = |name: &str| {
        arguments.keywords.iter().any(|k| k.arg.as_ref().is_some_and(|arg| arg.as_str() == name))
    };
    // `KFold(5, True)` and `ShuffleSplit(5, 0.2)` are of the new module's own first releases, where
    // `shuffle` and `test_size` came second (scikit-learn 0.18 to 0.22).
    let is_new = || match (arguments.args.get(1), splitter.parameters.get(2)) {
        (Some(second), Some(&"shuffle")) => second.is_boolean_literal_expr(),
        (Some(Expr::NumberLiteral(second)), Some(_)) => second.value.is_float(),
        (Some(second), _) => second.is_none_literal_expr(),
        _ => false,
    };
    // `KFold(10)` of the new module means ten splits; the rest cannot be written in the new form.
    let is_old = match module {
        "sklearn.cross_validation" => !arguments.args.is_empty() || has(splitter.parameters[0]),
        "sklearn.model_selection" => {
            has("n_folds")
                || has("n_iter")
                || has(splitter.parameters[0])
                || (arguments.args.len() >= 2 && !is_new())
                || (splitter.name == "LeaveOneOut" && !arguments.args.is_empty())
        }
        _ => false,
    };
    is_old.then_some(splitter)
}

fn rewrite(
    program: &Program,
    uses: &Uses,
    unit: usize,
    expr: &Expr,
    call: &ExprCall,
    splitter: &Splitter,
) -> Result<Fix, String> {
    let source = program.units()[unit].source();
    let mut list = ArgumentList::new(source, call);
    let positional = &call.arguments.args;
    if positional.len() > splitter.parameters.len() {
        return Err("there are more arguments than the old call took".to_string());
    }
    let data = match positional.first() {
        Some(first) => {
            list.remove(first.range());
            first
        }
        None => {
            let keyword = list.keyword(splitter.parameters[0]).ok_or("the size of the data is not given")?;
            list.remove(keyword.range);
            &keyword.value
        }
    };
    let new_name = |old: &str| match old {
        "n_folds" | "n_iter" => "n_splits",
        other => match other {
            "shuffle" => "shuffle",
            "test_size" => "test_size",
            "train_size" => "train_size",
            "p" => "p",
            _ => "random_state",
        },
    };
    let given = |name: &str| -> Option<&Expr> {
        let position = splitter.parameters.iter().position(|p| *p == name)?;
        positional.get(position).or_else(|| list.keyword(name).map(|k| &k.value))
    };
    // Without shuffling a seed had no effect, and is an error since 0.24.
    let drops_seed = splitter.parameters.contains(&"shuffle")
        && given("shuffle").is_none_or(|value| is_bool(value, false));
    let folds_given = given("n_folds").is_some();
    for (index, argument) in positional.iter().enumerate().skip(1) {
        let old = splitter.parameters[index];
        if old == "random_state" && drops_seed {
            list.remove(argument.range());
        } else {
            list.insert(argument.start(), format!("{}=", new_name(old)));
        }
    }
    for keyword in &call.arguments.keywords {
        match keyword.arg.as_ref().map(|name| name.as_str()) {
            Some("random_state") if drops_seed => list.remove(keyword.range),
            Some("n_folds" | "n_iter") => {
                let name = keyword.arg.as_ref().map_or(keyword.range, |arg| arg.range);
                list.replace(name, "n_splits".to_string());
            }
            _ => {}
        }
    }
    if let Some(default) = splitter.default_folds
        && !folds_given
    {
        list.append(format!("n_splits={default}"));
    }
    let mut edits: Vec<(usize, Edit)> = list.into_edits().into_iter().map(|e| (unit, e)).collect();

    let split = split_arguments(source, data, splitter);
    if uses.is_iterated(unit, expr.range()) {
        edits.push((unit, insertion(expr.end(), format!(".split({split})"))));
    }
    if let Some(name) = uses.name_of(unit, expr.range()) {
        for (other_unit, used) in uses.of(name) {
            let Some(assigned) = in_force(&uses.assigned[name], *other_unit, used.range.start()) else {
                continue;
            };
            if assigned.unit != unit || assigned.value.range() != expr.range() {
                continue;
            }
            let edit = if used.is_length {
                Edit { range: used.call, text: format!("{name}.get_n_splits({split})") }
            } else {
                insertion(used.range.end(), format!(".split({split})"))
            };
            edits.push((*other_unit, edit));
        }
    }
    Ok(Fix { edits })
}

fn insertion(at: TextSize, text: String) -> Edit {
    Edit { range: TextRange::empty(at), text }
}

/// What `split` is called with: the thing whose size or labels the constructor was given.
fn split_arguments(source: &str, data: &Expr, splitter: &Splitter) -> String {
    let text = &source[data.range()];
    if splitter.stratified {
        // Only the length of the first argument counts.
        return format!("{text}, {text}");
    }
    let measured = match data {
        // len(x)
        Expr::Call(call) if is_name(&call.func, "len") => match &*call.arguments.args {
            [Expr::Attribute(attribute)] if attribute.attr.as_str() == "index" => Some(&*attribute.value),
            [only] => Some(only),
            _ => None,
        },
        // x.shape[0]
        Expr::Subscript(subscript) => match &*subscript.value {
            Expr::Attribute(attribute)
                if attribute.attr.as_str() == "shape"
                    && super::walk::integer(&subscript.slice) == Some(0) =>
            {
                Some(&*attribute.value)
            }
            _ => None,
        },
        // y.size
        Expr::Attribute(attribute) if attribute.attr.as_str() == "size" => Some(&*attribute.value),
        _ => None,
    };
    match measured {
        Some(expr) => source[expr.range()].to_string(),
        None => format!("range({text})"),
    }
}

/// One iteration over a name.
struct Use {
    range: TextRange,
    /// `len(name)` rather than a loop.
    is_length: bool,
    /// The whole call, for a length.
    call: TextRange,
}

/// Where things are iterated, and where splitters are bound to names.
struct Uses<'a> {
    iterated: Vec<(usize, TextRange)>,
    by_name: Vec<(String, usize, Use)>,
    bound: Vec<(usize, TextRange, String)>,
    assigned: HashMap<String, Vec<Assignment<'a>>>,
    /// Uses grouped by name, built once.
    grouped: HashMap<String, Vec<(usize, Use)>>,
}

impl<'a> Uses<'a> {
    fn collect(program: &'a Program) -> Uses<'a> {
        let mut uses = Uses {
            iterated: Vec::new(),
            by_name: Vec::new(),
            bound: Vec::new(),
            assigned: HashMap::new(),
            grouped: HashMap::new(),
        };
        each_stmt(program, |unit, statement| match statement {
            Stmt::For(statement) => uses.iterate(unit, &statement.iter),
            Stmt::Assign(assign) => {
                if let [Expr::Name(name)] = assign.targets.as_slice() {
                    let bound = (unit, assign.value.range(), name.id.to_string());
                    uses.bound.push(bound);
                }
            }
            _ => {}
        });
        each_expr(program, |unit, expr| {
            let generators: &[Comprehension] = match expr {
                Expr::ListComp(comprehension) => &comprehension.generators,
                Expr::SetComp(comprehension) => &comprehension.generators,
                Expr::DictComp(comprehension) => &comprehension.generators,
                Expr::Generator(generator) => &generator.generators,
                _ => &[],
            };
            for generator in generators {
                uses.iterate(unit, &generator.iter);
            }
            if let Expr::Call(call) = expr {
                uses.call(unit, call);
            }
        });
        let names: Vec<String> = uses.bound.iter().map(|(_, _, name)| name.clone()).collect();
        let parameters = Parameters::collect(program);
        for (name, unit, used) in uses.by_name.drain(..) {
            if parameters.hide(unit, used.range, &name) {
                continue;
            }
            uses.grouped.entry(name).or_default().push((unit, used));
        }
        for name in names {
            if !uses.assigned.contains_key(&name) && uses.grouped.contains_key(&name) {
                let found = assignments(program, &name);
                uses.assigned.insert(name, found);
            }
        }
        uses
    }

    fn iterate(&mut self, unit: usize, iter: &Expr) {
        self.iterated.push((unit, iter.range()));
        if let Expr::Name(name) = iter {
            let used = Use { range: iter.range(), is_length: false, call: iter.range() };
            self.by_name.push((name.id.to_string(), unit, used));
        }
    }

    /// `enumerate(folds)`, `list(folds)`, `len(folds)`.
    fn call(&mut self, unit: usize, call: &ExprCall) {
        let Expr::Name(function) = &*call.func else {
            return;
        };
        match function.id.as_str() {
            "enumerate" | "list" | "tuple" | "iter" | "zip" => {
                for argument in &call.arguments.args {
                    self.iterate(unit, argument);
                }
            }
            "len" => {
                if let [Expr::Name(name)] = &*call.arguments.args {
                    let used = Use { range: name.range, is_length: true, call: call.range() };
                    self.by_name.push((name.id.to_string(), unit, used));
                }
            }
            _ => {}
        }
    }

    fn is_iterated(&self, unit: usize, range: TextRange) -> bool {
        self.iterated.contains(&(unit, range))
    }

    /// The name an expression is assigned to, when that name is iterated somewhere.
    fn name_of(&self, unit: usize, range: TextRange) -> Option<&str> {
        self.bound
            .iter()
            .find(|(u, r, name)| *u == unit && *r == range && self.assigned.contains_key(name))
            .map(|(_, _, name)| name.as_str())
    }

    fn of(&self, name: &str) -> &[(usize, Use)] {
        self.grouped.get(name).map_or(&[], Vec::as_slice)
    }
}
