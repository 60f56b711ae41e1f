//! Labels of `XGBClassifier`. Up to 1.5 it encoded the classes itself and gave the notebook's own
//! labels back; since 1.6 it wants 0, 1, 2, … (XGBoost 1.6.0 release notes, "label encoder removed").
//! The same encoder, of scikit-learn, goes around the model where all its uses are in sight.

use mlem_python::ast::{Expr, ExprCall};
use mlem_python::{Edit, Program, Ranged, TextRange, TextSize};

use super::Context;
use super::walk::{each_expr, is_name};
use crate::condition::{Verdict, has_type};
use crate::finding::{Finding, Fix};
use crate::imports::{Need, Needs, Reach};
use crate::judge::finding;

pub(crate) const TRIGGERS: &[&str] = &["fit"];

const MODEL: &str = "xgboost.XGBClassifier";

pub(crate) fn check(context: &Context) -> Vec<Finding> {
    let question = context.question;
    let program = question.program;
    let mut findings = Vec::new();
    each_expr(program, |unit, expr| {
        let Expr::Call(call) = expr else {
            return;
        };
        let Some(model) = receiver(call, "fit") else {
            return;
        };
        if has_type(question, unit, model, MODEL) == Verdict::Refuted {
            return;
        }
        let fix = rewrite(program, unit, call, model).map(Some);
        findings.extend(finding(question, context.rule, unit, expr.range(), None, false, fix));
    });
    findings
}

/// What a method of this name is called on.
fn receiver<'a>(call: &'a ExprCall, method: &str) -> Option<&'a Expr> {
    match &*call.func {
        Expr::Attribute(attribute) if attribute.attr.as_str() == method => Some(&attribute.value),
        _ => None,
    }
}

fn rewrite(program: &Program, unit: usize, fit: &ExprCall, model: &Expr) -> Result<Fix, String> {
    let Expr::Name(name) = model else {
        return Err("the model has no name by which its predictions are found".to_string());
    };
    let name = name.id.as_str();
    let encoder = format!("{name}_encoder");
    if program.name_is_bound(&encoder) {
        return Err(format!("the notebook uses the name `{encoder}` for its own"));
    }
    let labels = fit.arguments.find_argument_value("y", 1).ok_or("the labels are not given")?;
    let offered = [Need::parse("from sklearn.preprocessing import LabelEncoder")?];
    let mut needs = Needs::new(program, unit, &offered);
    let class = match needs.reach(fit.func.start(), "sklearn.preprocessing.LabelEncoder") {
        Reach::Text(text) => text,
        Reach::Blocked(reason) => return Err(reason),
    };
    let mut uses =
        Uses { name, encoder: &encoder, owners: 0, seen: 0, fits: 0, edits: Vec::new(), reason: None };
    each_expr(program, |at, expr| uses.look(at, expr));
    if let Some(reason) = uses.reason {
        return Err(reason.to_string());
    }
    // A use of the model other than by its methods (a search, a pipeline) hides what it is fitted to.
    if uses.seen != uses.owners {
        return Err("the model is handed on".to_string());
    }
    if uses.fits != 1 {
        return Err("the model is fitted in several places".to_string());
    }
    let mut edits = needs.into_edits();
    let wrapped = around(labels, &format!("({encoder} := {class}()).fit_transform("));
    edits.extend(wrapped.into_iter().map(|edit| (unit, edit)));
    edits.append(&mut uses.edits);
    Ok(Fix { edits })
}

fn around(expr: &Expr, open: &str) -> [Edit; 2] {
    [insertion(expr.start(), open), insertion(expr.end(), ")")]
}

fn insertion(at: TextSize, text: &str) -> Edit {
    Edit { range: TextRange::empty(at), text: text.to_string() }
}

/// What is done with the model.
struct Uses<'a> {
    name: &'a str,
    encoder: &'a str,
    /// How often its name stands before a point, and how often at all.
    owners: usize,
    seen: usize,
    fits: usize,
    edits: Vec<(usize, Edit)>,
    reason: Option<&'static str>,
}

impl Uses<'_> {
    fn look(&mut self, unit: usize, expr: &Expr) {
        match expr {
            Expr::Name(used) if used.id.as_str() == self.name && used.ctx.is_load() => self.seen += 1,
            Expr::Attribute(attribute) if is_name(&attribute.value, self.name) => {
                self.owners += 1;
                if attribute.attr.as_str() == "classes_" {
                    self.reason = Some("the classes are read from the model");
                }
            }
            Expr::Call(call) => {
                let of = |method: &str| receiver(call, method).is_some_and(|on| is_name(on, self.name));
                let encoder = self.encoder;
                if of("fit") {
                    self.fits += 1;
                    if let Some(sets) = call.arguments.find_argument_value("eval_set", usize::MAX) {
                        self.encode_sets(unit, sets);
                    }
                } else if of("predict") {
                    let [open, close] = around(expr, &format!("{encoder}.inverse_transform("));
                    self.edits.extend([(unit, open), (unit, close)]);
                } else if of("score")
                    && let Some(labels) = call.arguments.find_argument_value("y", 1)
                {
                    let [open, close] = around(labels, &format!("{encoder}.transform("));
                    self.edits.extend([(unit, open), (unit, close)]);
                }
            }
            _ => {}
        }
    }

    /// `eval_set=[(x, y)]`.
    fn encode_sets(&mut self, unit: usize, sets: &Expr) {
        let pairs = match sets {
            Expr::List(list) => list.elts.as_slice(),
            _ => {
                self.reason = Some("the labels of eval_set are not in sight");
                return;
            }
        };
        for pair in pairs {
            let Expr::Tuple(pair) = pair else {
                self.reason = Some("the labels of eval_set are not in sight");
                return;
            };
            if let [_, labels] = pair.elts.as_slice() {
                let [open, close] = around(labels, &format!("{}.transform(", self.encoder));
                self.edits.extend([(unit, open), (unit, close)]);
            }
        }
    }
}
