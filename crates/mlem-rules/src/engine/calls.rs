//! Rules about the arguments of calls.

use mlem_python::ast::{Expr, ExprCall};
use mlem_python::{Edit, Ranged};
use rustc_hash::FxHashMap;

use super::Checker;
use crate::call::{Arguments, Callable};
use crate::condition::{Condition, has_type};
use crate::finding::Fix;
use crate::functions::assignments;
use crate::judge::Judgement;
use crate::pattern::names;
use crate::receiver;
use crate::rule::{Matcher, Rule};

impl<'q> Checker<'q> {
    pub(super) fn try_call(&mut self, expr: &'q Expr, call: &'q ExprCall, rules: &[(usize, usize)]) {
        for (rule, callable) in rules {
            if !self.applicable[*rule] {
                continue;
            }
            let rule = &self.catalogue.rules()[*rule];
            let Matcher::Call { callables, arguments, needs, conditions } = &rule.matcher else {
                continue;
            };
            let dicts = self.argument_dicts(call, arguments);
            let spread = self.dict_edits(&dicts, arguments);
            let edits = match arguments.plan(self.source(), call) {
                Some(edits) => edits,
                None if !spread.is_empty() => Ok(Vec::new()),
                None => continue,
            };
            let mut judgement = Judgement::default();
            if !self.is_called(rule, call, &callables[*callable], &mut judgement)
                || !self.keyword_conditions(call, &dicts, conditions, &mut judgement)
            {
                continue;
            }
            let fix = edits.and_then(|edits| {
                let mut edits: Vec<_> = edits.into_iter().map(|edit| (self.unit, edit)).collect();
                edits.extend(spread);
                if let Some(callee) = &arguments.callee {
                    edits.extend(self.rename_callee(&call.func, callee, needs)?);
                }
                Ok((!edits.is_empty()).then_some(Fix { edits }))
            });
            self.report(rule, expr.range(), judgement, fix);
        }
    }

    /// Whether a call is of this callable.
    fn is_called(
        &self,
        rule: &Rule,
        call: &'q ExprCall,
        callable: &Callable,
        judgement: &mut Judgement,
    ) -> bool {
        match callable {
            Callable::Qualified(qualified) => names(self.program(), self.unit, &call.func, qualified),
            Callable::Method { receiver, .. } => {
                let Expr::Attribute(attribute) = &*call.func else {
                    return false;
                };
                // A function of a module (`np.where`) is no method.
                if self.program().qualified_name(self.unit, &call.func).is_some() {
                    return false;
                }
                let value = &*attribute.value;
                if receiver == "*" {
                    return !self.defined.contains(attribute.attr.as_str())
                        && judgement.take(receiver::decide(self.question, rule, self.unit, Some(value)));
                }
                judgement.take(has_type(self.question, self.unit, value, receiver))
            }
        }
    }

    /// The dicts that hold arguments of a call, with the unit they are written in: those spread into
    /// it, if nothing else uses them, and the one that is handed over as such.
    fn argument_dicts(&self, call: &'q ExprCall, arguments: &Arguments) -> Vec<(usize, &'q Expr)> {
        let mut found = Vec::new();
        let mut take = |value: &'q Expr, may_be_shared: bool| match value {
            Expr::Dict(_) => found.push((self.unit, value)),
            Expr::Name(name) => {
                let here = (self.unit, name.range);
                if !may_be_shared && self.program().is_name_used(name.id.as_str(), here) {
                    return;
                }
                if let [only] = assignments(self.program(), name.id.as_str()).as_slice()
                    && matches!(only.value, Expr::Dict(_) | Expr::Call(_))
                {
                    found.push((only.unit, only.value));
                }
            }
            _ => {}
        };
        for keyword in &call.arguments.keywords {
            if keyword.arg.is_none() {
                take(&keyword.value, false);
            }
        }
        if let Some(handed) = arguments.handed_dict(call) {
            take(handed, true);
        }
        found
    }

    /// The edits in the dicts that hold arguments of a call.
    fn dict_edits(&self, dicts: &[(usize, &'q Expr)], arguments: &Arguments) -> Vec<(usize, Edit)> {
        let mut edits = Vec::new();
        for (unit, dict) in dicts {
            let source = self.program().units()[*unit].source();
            let planned = match dict {
                Expr::Dict(dict) => arguments.plan_dict(source, dict),
                Expr::Call(call) if names(self.program(), *unit, &call.func, "dict") => {
                    match arguments.plan(source, call) {
                        Some(Ok(planned)) => planned,
                        _ => continue,
                    }
                }
                _ => continue,
            };
            edits.extend(planned.into_iter().map(|edit| (*unit, edit)));
        }
        edits
    }

    /// The conditions of a `call` rule are about keyword arguments, or about `self`.
    fn keyword_conditions(
        &self,
        call: &'q ExprCall,
        dicts: &[(usize, &'q Expr)],
        conditions: &FxHashMap<String, Condition>,
        judgement: &mut Judgement,
    ) -> bool {
        conditions.iter().all(|(name, condition)| {
            let value = if name == "self" {
                match &*call.func {
                    Expr::Attribute(attribute) => Some((self.unit, &*attribute.value)),
                    _ => None,
                }
            } else {
                let given = keyword_value(call, name).map(|value| (self.unit, value));
                given.or_else(|| dicts.iter().find_map(|(unit, dict)| Some((*unit, item_value(dict, name)?))))
            };
            value.is_some_and(|(unit, value)| judgement.take(condition.decide(self.question, unit, value)))
        })
    }
}

/// What a call gives a keyword argument.
fn keyword_value<'q>(call: &'q ExprCall, name: &str) -> Option<&'q Expr> {
    let keywords = &call.arguments.keywords;
    keywords.iter().find(|k| k.arg.as_ref().is_some_and(|arg| arg.as_str() == name)).map(|k| &k.value)
}

/// What a dict literal or a call of `dict` holds under a name.
fn item_value<'q>(dict: &'q Expr, name: &str) -> Option<&'q Expr> {
    match dict {
        Expr::Dict(dict) => dict.items.iter().find_map(|item| match &item.key {
            Some(Expr::StringLiteral(key)) if key.value.to_str() == name => Some(&item.value),
            _ => None,
        }),
        Expr::Call(call) => keyword_value(call, name),
        _ => None,
    }
}
