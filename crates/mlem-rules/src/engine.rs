//! One walk over each unit, with the rules looked up by the names that occur.

mod calls;
mod moves;

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_keyword, walk_stmt};
use mlem_python::ast::{Expr, Keyword, Stmt};
use mlem_python::{Program, Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::catalogue::Catalogue;
use crate::condition::{Condition, Verdict};
use crate::definitions::defined_names;
use crate::finding::{Finding, Fix};
use crate::functions::Context;
use crate::guards::Guards;
use crate::ignore::Ignores;
use crate::index::Entry;
use crate::judge::{Judgement, finding, is_confirmed, may_be_meant, undecided};
use crate::pattern::{Bindings, Pattern, head};
use crate::receiver;
use crate::rule::{Matcher, Rule, version_of};
use crate::schema::Safety;
use crate::target::Question;

impl Catalogue {
    /// Everything in a program that does not fit the target, in the order of the source, less what its `# mlem: ignore`
    /// comments silence.
    pub fn check(&'static self, question: &Question) -> Vec<Finding> {
        let mut findings = self.check_regardless(question);
        if !findings.is_empty() {
            let units = question.program.units();
            let ignores = Ignores::of(self, units);
            findings.retain(|finding| {
                !ignores.silence(&finding.rule.id, finding.unit, units[finding.unit].lines(finding.range))
            });
        }
        findings
    }

    /// The same with what comments silence.
    pub fn check_regardless(&'static self, question: &Question) -> Vec<Finding> {
        let mut applicable = vec![false; self.rules().len()];
        for (library, rules) in &self.index.libraries {
            let Some(version) = version_of(question.target, library) else {
                continue;
            };
            for at in rules {
                let rule = &self.rules()[*at];
                applicable[*at] = rule.is_about(&version) && may_be_meant(question, rule);
            }
        }
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
            defined: defined_names(question.program),
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
                let context = Context { question, rule, catalogue: self };
                checker.findings.extend((function.check)(&context));
            }
        }
        let mut findings = checker.findings;
        if !findings.is_empty() {
            let guards = Guards::new(question.program, question.target.python());
            findings.retain(|found| {
                let copes = guards.cope(question.program, found.unit, found.range, found.rule.failures());
                !copes || is_confirmed(question, found.rule, found.unit, found.range)
            });
        }
        findings.sort_by(|a, b| {
            (a.unit, a.range.start(), a.range.end(), &a.rule.id).cmp(&(
                b.unit,
                b.range.start(),
                b.range.end(),
                &b.rule.id,
            ))
        });
        findings.dedup_by(|a, b| a.unit == b.unit && a.range == b.range && std::ptr::eq(a.rule, b.rule));
        findings
    }
}

/// The last name of a method call, an attribute, or an item of one.
fn member(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Call(call) => member(&call.func),
        Expr::Subscript(subscript) => member(&subscript.value),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

pub(crate) struct Checker<'q> {
    catalogue: &'static Catalogue,
    question: &'q Question<'q>,
    applicable: Vec<bool>,
    /// Bound names whose import ends in another name (`from numpy import float as f`).
    aliases: FxHashMap<&'q str, &'q str>,
    pub(crate) unit: usize,
    /// Names of the program's own functions, methods and attributes.
    defined: FxHashSet<&'q str>,
    /// The expressions around the one at hand, outermost first.
    pub(crate) parents: Vec<&'q Expr>,
    functions: FxHashSet<usize>,
    findings: Vec<Finding>,
}

impl<'q> Checker<'q> {
    pub(crate) fn program(&self) -> &'q Program {
        self.question.program
    }

    pub(crate) fn source(&self) -> &'q str {
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
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                self.import(statement);
                self.unused_import(statement, is_alone);
            }
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
        let entry = self.entry(key);
        let named = entry.map_or(&[] as &[_], |entry| &entry.statements);
        for (rule, pattern) in named.iter().chain(&self.catalogue.index.statements) {
            if !self.applicable[*rule] {
                continue;
            }
            let rule = &self.catalogue.rules()[*rule];
            let Matcher::Patterns { patterns, conditions, needs } = &rule.matcher else {
                continue;
            };
            let (pattern, template) = &patterns[*pattern];
            let Some(bindings) = pattern.match_stmt(self.program(), self.unit, statement) else {
                continue;
            };
            if template.as_ref().is_some_and(|t| t.repeats_keyword(&bindings)) {
                continue;
            }
            let Some(judgement) = self.judge(rule, conditions, pattern, &bindings, None) else {
                continue;
            };
            let fix = match template {
                Some(template) => {
                    self.replace_statement(statement, template, &bindings, needs, is_alone).map(Some)
                }
                None => Ok(None),
            };
            self.report(rule, statement.range(), judgement, fix);
        }
    }

    /// The rules known for the name by which an expression is looked up.
    fn entry(&self, key: &'q Expr) -> Option<&'static Entry> {
        let mut part = key;
        loop {
            if let Some(name) = self.name_of(part) {
                return self.catalogue.index.entries.get(name);
            }
            part = head(part)?;
        }
    }

    /// The patterns worth trying on an expression.
    fn candidates(&self, key: &'q Expr, entry: Option<&Entry>) -> Vec<(usize, usize)> {
        let index = &self.catalogue.index;
        let mut found = Vec::new();
        let is_name = matches!(key, Expr::Name(_) | Expr::Attribute(_));
        match entry {
            Some(entry) if is_name => found.extend_from_slice(&entry.names),
            Some(entry) => {
                let kind = std::mem::discriminant(key);
                let of_kind = entry.nodes.iter().filter(|(of, ..)| *of == kind);
                found.extend(of_kind.map(|(_, rule, pattern)| (*rule, *pattern)));
            }
            None => {}
        }
        if !is_name {
            if let Some(shaped) = index.shapes.get(&std::mem::discriminant(key)) {
                found.extend_from_slice(shaped);
            }
            if let Expr::StringLiteral(literal) = key
                && let Some(texts) = index.texts.get(literal.value.to_str())
            {
                found.extend_from_slice(texts);
            }
        }
        found.retain(|(rule, _)| self.applicable[*rule]);
        found
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
            let Matcher::Patterns { patterns, conditions, needs } = &rule.matcher else {
                continue;
            };
            let (pattern, template) = &patterns[pattern];
            let is_target = matches!(expr, Expr::Subscript(s) if !s.ctx.is_load());
            if is_target && template.as_ref().is_some_and(|t| !t.is_target()) {
                continue;
            }
            let Some(bindings) = pattern.match_expr(self.program(), self.unit, expr) else {
                continue;
            };
            // The import that brings the name under this name is rewritten instead.
            if let (Expr::Name(name), Some(full)) = (expr, pattern.bare())
                && template.as_ref().is_some_and(|t| t.bare().is_some())
                && self.program().imports().iter().any(|import| {
                    !import.is_star && import.bound == name.id.as_str() && import.qualified == full
                })
            {
                continue;
            }
            if template.as_ref().is_some_and(|t| t.repeats_keyword(&bindings)) {
                continue;
            }
            let Some(judgement) = self.judge(rule, conditions, pattern, &bindings, member(expr)) else {
                continue;
            };
            let fix = match template {
                Some(template) => self.replace_expression(expr, template, &bindings, needs).map(Some),
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
            // What an import binds by name is changed at the import.
            Expr::Name(name) => {
                self.trigger(entry);
                if !self.program().name_is_bound(name.id.as_str()) {
                    self.try_use(expr, &entry.uses);
                }
            }
            _ => {}
        }
    }

    /// What the conditions say; nothing when one is refuted.
    fn judge(
        &self,
        rule: &Rule,
        conditions: &FxHashMap<String, Condition>,
        pattern: &Pattern,
        bindings: &Bindings<'q>,
        member: Option<&str>,
    ) -> Option<Judgement> {
        let anchored = pattern.is_anchored();
        let mut judgement = Judgement::default();
        let mut decided = false;
        for (name, condition) in conditions {
            let Some(expr) = bindings.expr(name) else {
                continue;
            };
            decided |= condition.is_about_type();
            let verdict = condition.decide(self.question, self.unit, expr);
            if let Verdict::Unknown(reason) = &verdict
                && rule.known.contains(name)
            {
                judgement.undecided = Some(reason.clone());
            }
            if !judgement.take(verdict) {
                return None;
            }
        }
        let typed =
            pattern.receiver().is_some_and(|name| conditions.get(name).is_some_and(Condition::is_about_type));
        if !anchored && !typed {
            let receiver = pattern.receiver().and_then(|name| bindings.expr(name));
            if !judgement.take(receiver::decide(self.question, rule, self.unit, receiver)) {
                return None;
            }
        }
        if !decided && !anchored && rule.safety == Safety::SafeWithEvidence {
            judgement.unknown = Some("only an error shows whether this is what fails".to_string());
        }
        // A name that is distinctive elsewhere is not where the notebook has a method of its own called so.
        if let Some(member) = member.filter(|member| !decided && !anchored && self.defined.contains(member)) {
            judgement.unknown = Some(format!("the notebook defines a `{member}` of its own"));
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
        let found = finding(self.question, rule, self.unit, range, judgement.unknown, judgement.is_live, fix);
        if let Some(mut found) = found {
            if let Some(message) = message {
                found.message = message;
            }
            if let Some(reason) = judgement.undecided {
                undecided(&mut found, reason);
            }
            self.findings.push(found);
        }
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
                // A star import does not name what it brings.
                let package = import.module.as_ref().and_then(|module| module.as_str().split('.').next());
                if let Some(package) = package {
                    self.trigger_functions(package);
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
