//! One walk over each unit, with the rules looked up by the names that occur.

use std::mem::Discriminant;

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_keyword, walk_stmt};
use mlem_python::ast::{Expr, ExprCall, Keyword, Stmt};
use mlem_python::{Edit, Program, Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::call::Callable;
use crate::catalogue::Catalogue;
use crate::condition::{Condition, Verdict, has_type};
use crate::finding::{Finding, Fix, Proof};
use crate::functions::Context;
use crate::imports::{Needs, Reach};
use crate::moved;
use crate::pattern::{Bindings, Trigger, names};
use crate::rule::{Matcher, Rule};
use crate::schema::{Safety, UnknownType};
use crate::target::Question;
use crate::template::{Place, Template, is_atom};
use crate::tokens::{breaks_line, minimal_edits};

/// Rules worth trying where one name occurs: rule index with pattern, callable or move index.
#[derive(Debug, Default)]
struct Entry {
    calls: Vec<(usize, usize)>,
    names: Vec<(usize, usize)>,
    subscripts: Vec<(usize, usize)>,
    /// `call` rules by the last segment of the callable.
    callables: Vec<(usize, usize)>,
    /// Moves by the last segment of the old name, for dotted uses.
    uses: Vec<(usize, usize)>,
    /// Function rules by trigger name.
    functions: Vec<usize>,
}

/// Rules by the names that make them worth trying.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: FxHashMap<String, Entry>,
    /// Patterns without a name to look them up by, by the kind of their expression.
    shapes: FxHashMap<Discriminant<Expr>, Vec<(usize, usize)>>,
    /// Rules with moves by the first segment of the old name, for imports.
    imports: FxHashMap<String, Vec<usize>>,
}

impl Index {
    pub(crate) fn new(rules: &[Rule]) -> Index {
        let mut index = Index::default();
        for (at, rule) in rules.iter().enumerate() {
            match &rule.matcher {
                Matcher::Moved { moves, .. } => {
                    for (m, step) in moves.iter().enumerate() {
                        index.entry(step.last_segment()).uses.push((at, m));
                        let top = step.old.split('.').next().unwrap_or_default();
                        let imports = index.imports.entry(top.to_string()).or_default();
                        if imports.last() != Some(&at) {
                            imports.push(at);
                        }
                    }
                }
                Matcher::Patterns { patterns, .. } => {
                    for (p, (pattern, _)) in patterns.iter().enumerate() {
                        match pattern.trigger() {
                            None => {}
                            Some(Trigger::Call(name)) => index.entry(&name).calls.push((at, p)),
                            Some(Trigger::Name(name)) => index.entry(&name).names.push((at, p)),
                            Some(Trigger::Subscript(name)) => {
                                index.entry(&name).subscripts.push((at, p));
                            }
                            Some(Trigger::Shape(shape)) => {
                                index.shapes.entry(shape).or_default().push((at, p));
                            }
                        }
                    }
                }
                Matcher::Call { callables, .. } => {
                    for (c, callable) in callables.iter().enumerate() {
                        index.entry(callable.last_segment()).callables.push((at, c));
                    }
                }
                Matcher::Function(function) => {
                    for trigger in function.triggers {
                        index.entry(trigger).functions.push(at);
                    }
                }
            }
        }
        index
    }

    fn entry(&mut self, name: &str) -> &mut Entry {
        self.entries.entry(name.to_string()).or_default()
    }
}

impl Catalogue {
    /// Everything in a program that does not fit the target, in the order of the source.
    pub fn check(&'static self, question: &Question) -> Vec<Finding> {
        let applicable: Vec<bool> = self
            .rules()
            .iter()
            .map(|rule| rule.applies_to(question.target) && may_be_meant(question, rule))
            .collect();
        let aliases = question
            .program
            .imports()
            .iter()
            .filter(|import| !import.is_star)
            .filter_map(|import| {
                let last = import.qualified.rsplit('.').next()?;
                (last != import.bound).then_some((import.bound.as_str(), last))
            })
            .collect();
        let mut checker = Checker {
            catalogue: self,
            question,
            applicable,
            aliases,
            unit: 0,
            parents: Vec::new(),
            functions: FxHashSet::default(),
            findings: Vec::new(),
        };
        for (unit, parsed) in question.program.units().iter().enumerate() {
            checker.unit = unit;
            checker.body(parsed.body(), true);
        }
        let mut functions: Vec<usize> = checker.functions.iter().copied().collect();
        functions.sort_unstable();
        for at in functions {
            let rule = &self.rules()[at];
            if let Matcher::Function(function) = &rule.matcher {
                let context = Context { question, rule };
                checker.findings.extend((function.check)(&context));
            }
        }
        let mut findings = checker.findings;
        findings.sort_by(|a, b| {
            (a.unit, a.range.start(), a.range.end(), &a.rule.id).cmp(&(
                b.unit,
                b.range.start(),
                b.range.end(),
                &b.rule.id,
            ))
        });
        findings.dedup_by(|a, b| {
            a.unit == b.unit && a.range == b.range && std::ptr::eq(a.rule, b.rule)
        });
        findings
    }
}

/// A rule that waits for its error has nothing to say without it.
fn may_be_meant(question: &Question, rule: &Rule) -> bool {
    rule.unknown != UnknownType::Error
        || question
            .error
            .is_some_and(|error| rule.is_evidence(&error.ename, &error.evalue))
}

/// Whether a live error is what this rule is about, and lies at this place.
pub(crate) fn is_confirmed(question: &Question, rule: &Rule, unit: usize, range: TextRange) -> bool {
    let Some(error) = question.error else {
        return false;
    };
    if error.unit != unit || !rule.is_evidence(&error.ename, &error.evalue) {
        return false;
    }
    let Some((first, last)) = error.lines else {
        return true;
    };
    let (start, end) = question.program.units()[unit].lines(range);
    start <= last && end >= first
}

/// Builds a finding from what is known about it.
pub(crate) fn finding(
    question: &Question,
    rule: &'static Rule,
    unit: usize,
    range: TextRange,
    unknown: Option<String>,
    is_live: bool,
    fix: Result<Option<Fix>, String>,
) -> Option<Finding> {
    let proof = if is_confirmed(question, rule, unit, range) {
        Proof::Live
    } else if rule.unknown == UnknownType::Error {
        return None;
    } else if let Some(reason) = unknown {
        if rule.unknown == UnknownType::Silent {
            return None;
        }
        Proof::Unproven(reason)
    } else if is_live {
        Proof::Live
    } else {
        Proof::Proven
    };
    let (fix, blocked) = match fix {
        Ok(fix) => (fix, None),
        Err(reason) => (None, Some(reason)),
    };
    let (fix, tentative) = match proof {
        Proof::Unproven(_) => (None, fix),
        Proof::Proven | Proof::Live => (fix, None),
    };
    let message = match blocked {
        Some(reason) => format!("{} (no fix: {reason})", rule.summary),
        None => rule.summary.clone(),
    };
    Some(Finding {
        rule,
        unit,
        range,
        message,
        safety: rule.safety,
        proof,
        fix,
        tentative,
    })
}

struct Checker<'q> {
    catalogue: &'static Catalogue,
    question: &'q Question<'q>,
    applicable: Vec<bool>,
    /// Bound names whose import ends in another name (`from numpy import float as f`).
    aliases: FxHashMap<&'q str, &'q str>,
    unit: usize,
    /// The expressions around the one at hand, outermost first.
    parents: Vec<&'q Expr>,
    functions: FxHashSet<usize>,
    findings: Vec<Finding>,
}

/// What the conditions of a match came to.
struct Judgement {
    unknown: Option<String>,
    is_live: bool,
}

impl<'q> Checker<'q> {
    fn program(&self) -> &'q Program {
        self.question.program
    }

    fn source(&self) -> &'q str {
        self.program().units()[self.unit].source()
    }

    fn body(&mut self, body: &'q [Stmt], is_top: bool) {
        for statement in body {
            self.statement(statement, body.len() == 1 && !is_top);
            self.visit_stmt(statement);
        }
    }

    fn trigger_functions(&mut self, name: &str) {
        if let Some(entry) = self.catalogue.index.entries.get(name) {
            self.trigger(entry);
        }
    }

    fn trigger(&mut self, entry: &Entry) {
        for rule in &entry.functions {
            if self.applicable[*rule] {
                self.functions.insert(*rule);
            }
        }
    }

    /// The last segment of what an expression is called by, through import aliases.
    fn name_of<'e>(&self, expr: &'e Expr) -> Option<&'e str>
    where
        'q: 'e,
    {
        match expr {
            Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
            Expr::Name(name) => {
                let id = name.id.as_str();
                Some(self.aliases.get(id).copied().unwrap_or(id))
            }
            _ => None,
        }
    }

    fn statement(&mut self, statement: &'q Stmt, is_alone: bool) {
        match statement {
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.import(statement),
            Stmt::Expr(expression) => {
                self.try_statement(statement, &expression.value, is_alone);
            }
            Stmt::Assign(assign) if assign.targets.len() == 1 => {
                self.try_statement(statement, &assign.value, is_alone);
                self.try_statement(statement, &assign.targets[0], is_alone);
            }
            _ => {}
        }
    }

    fn try_statement(&mut self, statement: &'q Stmt, key: &'q Expr, is_alone: bool) {
        for (rule, pattern) in self.candidates(key, self.entry(key)) {
            let rule = &self.catalogue.rules()[rule];
            let Matcher::Patterns {
                patterns,
                conditions,
                needs,
            } = &rule.matcher
            else {
                continue;
            };
            let (pattern, template) = &patterns[pattern];
            if !pattern.statement {
                continue;
            }
            let Some(bindings) = pattern.match_stmt(self.program(), self.unit, statement) else {
                continue;
            };
            if template.as_ref().is_some_and(|t| t.repeats_keyword(&bindings)) {
                continue;
            }
            let anchored = pattern.is_anchored();
            let Some(judgement) = self.judge(rule, conditions, &bindings, anchored) else {
                continue;
            };
            let fix = match template {
                Some(template) => self
                    .replace_statement(statement, template, &bindings, needs, is_alone)
                    .map(Some),
                None => Ok(None),
            };
            self.report(rule, statement.range(), judgement, fix);
        }
    }

    /// The rules known for the name by which an expression is looked up.
    fn entry(&self, key: &'q Expr) -> Option<&'static Entry> {
        let named = match key {
            Expr::Call(call) => &call.func,
            Expr::Subscript(subscript) => &subscript.value,
            other => other,
        };
        self.catalogue.index.entries.get(self.name_of(named)?)
    }

    fn candidates(&self, key: &'q Expr, entry: Option<&Entry>) -> Vec<(usize, usize)> {
        let bucket = entry.map_or(&[] as &[_], |entry| match key {
            Expr::Call(_) => &entry.calls,
            Expr::Subscript(_) => &entry.subscripts,
            _ => &entry.names,
        });
        let shapes = &self.catalogue.index.shapes;
        let shaped = shapes.get(&std::mem::discriminant(key));
        let all = bucket.iter().chain(shaped.into_iter().flatten());
        all.filter(|(rule, _)| self.applicable[*rule]).copied().collect()
    }

    fn try_expression(&mut self, expr: &'q Expr) {
        let is_read = match expr {
            Expr::Name(name) => name.ctx.is_load(),
            Expr::Attribute(attribute) => attribute.ctx.is_load(),
            _ => true,
        };
        if !is_read {
            return;
        }
        let entry = self.entry(expr);
        for (rule, pattern) in self.candidates(expr, entry) {
            let rule = &self.catalogue.rules()[rule];
            let Matcher::Patterns {
                patterns,
                conditions,
                needs,
            } = &rule.matcher
            else {
                continue;
            };
            let (pattern, template) = &patterns[pattern];
            if pattern.statement {
                continue;
            }
            let Some(bindings) = pattern.match_expr(self.program(), self.unit, expr) else {
                continue;
            };
            if template.as_ref().is_some_and(|t| t.repeats_keyword(&bindings)) {
                continue;
            }
            let anchored = pattern.is_anchored();
            let Some(judgement) = self.judge(rule, conditions, &bindings, anchored) else {
                continue;
            };
            let fix = match template {
                Some(template) => self
                    .replace_expression(expr, template, &bindings, needs)
                    .map(Some),
                None => Ok(None),
            };
            self.report(rule, expr.range(), judgement, fix);
        }
        let Some(entry) = entry else {
            return;
        };
        match expr {
            Expr::Call(call) => self.try_call(expr, call, &entry.callables),
            Expr::Attribute(_) => {
                self.trigger(entry);
                self.try_use(expr, &entry.uses);
            }
            Expr::Name(_) => self.trigger(entry),
            _ => {}
        }
    }

    fn try_call(&mut self, expr: &'q Expr, call: &'q ExprCall, rules: &[(usize, usize)]) {
        for (rule, callable) in rules {
            if !self.applicable[*rule] {
                continue;
            }
            let rule = &self.catalogue.rules()[*rule];
            let Matcher::Call {
                callables,
                arguments,
                needs,
                conditions,
            } = &rule.matcher
            else {
                continue;
            };
            let mut judgement = Judgement {
                unknown: None,
                is_live: false,
            };
            match &callables[*callable] {
                Callable::Qualified(qualified) => {
                    if !names(self.program(), self.unit, &call.func, qualified) {
                        continue;
                    }
                }
                Callable::Method { receiver, .. } => {
                    let Expr::Attribute(attribute) = &*call.func else {
                        continue;
                    };
                    // A function of a module (`np.where`) is no method.
                    if self.program().qualified_name(self.unit, &call.func).is_some() {
                        continue;
                    }
                    // Whether the arguments concern the rule is cheaper to know than the type.
                    if arguments.plan(self.source(), call).is_none() {
                        continue;
                    }
                    if receiver != "*"
                        && !judgement.take(has_type(
                            self.question,
                            self.unit,
                            &attribute.value,
                            receiver,
                        ))
                    {
                        continue;
                    }
                }
            }
            let Some(edits) = arguments.plan(self.source(), call) else {
                continue;
            };
            if !self.keyword_conditions(call, conditions, &mut judgement) {
                continue;
            }
            let fix = edits.and_then(|edits| {
                let mut edits: Vec<_> = edits.into_iter().map(|edit| (self.unit, edit)).collect();
                if let Some(callee) = &arguments.callee {
                    edits.extend(self.rename_callee(&call.func, callee, needs)?);
                }
                Ok((!edits.is_empty()).then_some(Fix { edits }))
            });
            self.report(rule, expr.range(), judgement, fix);
        }
    }

    /// The edits that call something else: a method by its new name, a function by its full name.
    fn rename_callee(
        &self,
        function: &'q Expr,
        callee: &str,
        needs: &'static [crate::imports::Need],
    ) -> Result<Vec<(usize, Edit)>, String> {
        if let Expr::Attribute(attribute) = function
            && !callee.contains('.')
        {
            let edit = Edit {
                range: attribute.attr.range,
                text: callee.to_string(),
            };
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

    /// The conditions of a `call` rule are about keyword arguments, or about `self`.
    fn keyword_conditions(
        &self,
        call: &'q ExprCall,
        conditions: &FxHashMap<String, Condition>,
        judgement: &mut Judgement,
    ) -> bool {
        conditions.iter().all(|(name, condition)| {
            let value = if name == "self" {
                match &*call.func {
                    Expr::Attribute(attribute) => Some(&*attribute.value),
                    _ => None,
                }
            } else {
                let keywords = &call.arguments.keywords;
                keywords
                    .iter()
                    .find(|k| k.arg.as_ref().is_some_and(|arg| arg.as_str() == name))
                    .map(|k| &k.value)
            };
            value.is_some_and(|value| {
                judgement.take(condition.decide(self.question, self.unit, value))
            })
        })
    }

    /// A dotted use of something that moved.
    fn try_use(&mut self, expr: &'q Expr, rules: &[(usize, usize)]) {
        if rules.is_empty() {
            return;
        }
        let Some(full) = self.program().qualified_name(self.unit, expr) else {
            return;
        };
        for (rule, step) in rules {
            if !self.applicable[*rule] {
                continue;
            }
            let rule = &self.catalogue.rules()[*rule];
            let Matcher::Moved { moves, needs } = &rule.matcher else {
                continue;
            };
            let step = &moves[*step];
            if step.old != full {
                continue;
            }
            let edits = moved::edit_use(self.program(), self.unit, expr, step, needs);
            let judgement = Judgement {
                unknown: None,
                is_live: false,
            };
            let message = format!("`{}` is `{}` now", step.old, step.new);
            let fix = edits.map(|edits| Some(Fix { edits }));
            self.report_as(rule, expr.range(), judgement, fix, Some(message));
        }
    }

    fn import(&mut self, statement: &'q Stmt) {
        let tops: Vec<&str> = match statement {
            Stmt::Import(import) => import
                .names
                .iter()
                .map(|alias| alias.name.as_str())
                .collect(),
            Stmt::ImportFrom(import) => import.module.iter().map(|m| m.as_str()).collect(),
            _ => return,
        };
        let mut rules: Vec<usize> = Vec::new();
        for name in tops {
            let top = name.split('.').next().unwrap_or(name);
            if let Some(found) = self.catalogue.index.imports.get(top) {
                rules.extend(found.iter().filter(|rule| self.applicable[**rule]));
            }
        }
        rules.sort_unstable();
        rules.dedup();
        for at in rules {
            let rule = &self.catalogue.rules()[at];
            let Matcher::Moved { moves, .. } = &rule.matcher else {
                continue;
            };
            let mut aliases = moved::moved_aliases(statement, moves);
            // A more specific move of another rule has the name.
            aliases.retain(|alias| !self.has_closer_move(at, moves, &alias.full));
            if aliases.is_empty() {
                continue;
            }
            let guarded = self.program().imports().iter().any(|import| {
                import.unit == self.unit && import.range == statement.range() && import.guarded
            });
            // `try: import new / except ImportError: import old` already copes.
            if guarded && !is_confirmed(self.question, rule, self.unit, statement.range()) {
                continue;
            }
            let edits = match statement {
                Stmt::ImportFrom(from) => moved::edit_import_from(self.source(), from, &aliases),
                _ => moved::edit_import(&aliases),
            };
            let first = &aliases[0];
            let message = if aliases.len() == 1 {
                format!("`{}` is `{}` now", first.full, first.new)
            } else {
                rule.summary.clone()
            };
            let unit = self.unit;
            let fix = Fix {
                edits: edits.into_iter().map(|edit| (unit, edit)).collect(),
            };
            let judgement = Judgement {
                unknown: None,
                is_live: false,
            };
            self.report_as(
                rule,
                statement.range(),
                judgement,
                Ok(Some(fix)),
                Some(message),
            );
        }
    }

    fn has_closer_move(&self, own: usize, own_moves: &[moved::Move], full: &str) -> bool {
        let length = moved::best(own_moves.iter(), full).map_or(0, |(step, _)| step.old.len());
        let top = full.split('.').next().unwrap_or(full);
        let Some(rules) = self.catalogue.index.imports.get(top) else {
            return false;
        };
        rules.iter().any(|at| {
            *at != own
                && self.applicable[*at]
                && match &self.catalogue.rules()[*at].matcher {
                    Matcher::Moved { moves, .. } => moved::best(moves.iter(), full)
                        .is_some_and(|(step, _)| step.old.len() > length),
                    _ => false,
                }
        })
    }

    /// What the conditions say; nothing when one is refuted.
    fn judge(
        &self,
        rule: &Rule,
        conditions: &FxHashMap<String, Condition>,
        bindings: &Bindings<'q>,
        anchored: bool,
    ) -> Option<Judgement> {
        let mut judgement = Judgement {
            unknown: None,
            is_live: false,
        };
        let mut decided = false;
        for (name, condition) in conditions {
            let Some(expr) = bindings.expr(name) else {
                continue;
            };
            decided = true;
            if !judgement.take(condition.decide(self.question, self.unit, expr)) {
                return None;
            }
        }
        if !decided && !anchored && rule.safety == Safety::SafeWithEvidence {
            judgement.unknown = Some("only an error shows whether this is what fails".to_string());
        }
        Some(judgement)
    }

    fn report(
        &mut self,
        rule: &'static Rule,
        range: TextRange,
        judgement: Judgement,
        fix: Result<Option<Fix>, String>,
    ) {
        self.report_as(rule, range, judgement, fix, None);
    }

    fn report_as(
        &mut self,
        rule: &'static Rule,
        range: TextRange,
        judgement: Judgement,
        fix: Result<Option<Fix>, String>,
        message: Option<String>,
    ) {
        let found = finding(
            self.question,
            rule,
            self.unit,
            range,
            judgement.unknown,
            judgement.is_live,
            fix,
        );
        if let Some(mut found) = found {
            if let Some(message) = message {
                found.message = message;
            }
            self.findings.push(found);
        }
    }

    fn render(
        &self,
        range: TextRange,
        template: &Template,
        bindings: &Bindings<'q>,
        needs: &'static [crate::imports::Need],
    ) -> Result<(String, Vec<(usize, Edit)>), String> {
        let mut place = Place {
            needs: Needs::new(self.program(), self.unit, needs),
            source: self.source(),
            at: range.start(),
        };
        let text = template.render(&mut place, bindings)?;
        Ok((text, place.needs.into_edits()))
    }

    fn replace_expression(
        &self,
        expr: &'q Expr,
        template: &Template,
        bindings: &Bindings<'q>,
        needs: &'static [crate::imports::Need],
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

    fn replace_statement(
        &self,
        statement: &'q Stmt,
        template: &Template,
        bindings: &Bindings<'q>,
        needs: &'static [crate::imports::Need],
        is_alone: bool,
    ) -> Result<Fix, String> {
        let source = self.source();
        if template.is_empty() {
            let edit = if is_alone {
                Edit {
                    range: statement.range(),
                    text: "pass".to_string(),
                }
            } else {
                remove_statement(source, statement.range())
            };
            return Ok(Fix {
                edits: vec![(self.unit, edit)],
            });
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
            edits.push((
                self.unit,
                Edit {
                    range: statement.range(),
                    text,
                },
            ));
        } else {
            for edit in minimal_edits(old, statement.start(), &text) {
                edits.push((self.unit, edit));
            }
        }
        Ok(Fix { edits })
    }
}

impl Judgement {
    /// Takes a verdict in; false when it refutes the match.
    fn take(&mut self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Proven => {}
            Verdict::Live => self.is_live = true,
            Verdict::Unknown(reason) => {
                self.unknown.get_or_insert(reason);
            }
            Verdict::Refuted => return false,
        }
        true
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
    Edit {
        range: TextRange::new(crate::tokens::offset(from), crate::tokens::offset(to)),
        text: String::new(),
    }
}

impl<'q> Visitor<'q> for Checker<'q> {
    fn visit_body(&mut self, body: &'q [Stmt]) {
        self.body(body, false);
    }

    fn visit_stmt(&mut self, statement: &'q Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.trigger_functions(alias.name.as_str());
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.trigger_functions(alias.name.as_str());
                }
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'q Expr) {
        self.try_expression(expr);
        self.parents.push(expr);
        walk_expr(self, expr);
        self.parents.pop();
    }

    fn visit_keyword(&mut self, keyword: &'q Keyword) {
        if let Some(name) = &keyword.arg {
            self.trigger_functions(name.as_str());
        }
        walk_keyword(self, keyword);
    }
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
