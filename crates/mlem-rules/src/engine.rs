//! One walk over each unit, with the rules looked up by the names that occur.

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_keyword, walk_stmt};
use mlem_python::ast::{Expr, ExprCall, Keyword, Stmt};
use mlem_python::{Edit, Program, Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::call::{Arguments, Callable};
use crate::catalogue::Catalogue;
use crate::condition::{Condition, Verdict, has_type};
use crate::finding::{Finding, Fix};
use crate::functions::{Context, assignments};
use crate::guards::Guards;
use crate::ignore::Ignores;
use crate::index::Entry;
use crate::judge::{Judgement, finding, is_confirmed, may_be_meant, undecided};
use crate::moved::{self, MovedAlias, imported_names};
use crate::pattern::{Bindings, Pattern, head, names};
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
            guards: Guards::new(question.program, question.target.python()),
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
        let guards = checker.guards;
        let mut findings = checker.findings;
        findings.retain(|found| {
            let copes = guards.cope(question.program, found.unit, found.range, found.rule.failures());
            !copes || is_confirmed(question, found.rule, found.unit, found.range)
        });
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

/// The last name of a method call, an attribute, or an item of one.
fn member(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Call(call) => member(&call.func),
        Expr::Subscript(subscript) => member(&subscript.value),
        Expr::Attribute(attribute) => Some(attribute.attr.as_str()),
        _ => None,
    }
}

/// Names of the functions, methods and attributes that the program defines itself.
fn defined_names(program: &Program) -> FxHashSet<&str> {
    struct Names<'a> {
        names: FxHashSet<&'a str>,
        in_class: bool,
    }
    impl<'a> Visitor<'a> for Names<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            let outer = self.in_class;
            match statement {
                Stmt::FunctionDef(function) => {
                    self.names.insert(function.name.as_str());
                }
                Stmt::ClassDef(class) => {
                    self.in_class = true;
                    self.names.extend(class.body.iter().filter_map(class_attribute));
                }
                // `self.name = …` in a method.
                Stmt::Assign(assign) if self.in_class => {
                    self.names.extend(assign.targets.iter().filter_map(own_attribute));
                }
                Stmt::AnnAssign(assign) if self.in_class => {
                    self.names.extend(own_attribute(&assign.target));
                }
                _ => {}
            }
            walk_stmt(self, statement);
            self.in_class = outer;
        }
        // Expressions define nothing.
        fn visit_expr(&mut self, _: &'a Expr) {}
    }
    let mut names = Names { names: FxHashSet::default(), in_class: false };
    for unit in program.units() {
        unit.body().iter().for_each(|statement| names.visit_stmt(statement));
    }
    names.names
}

/// The attribute that a statement of a class's body makes.
fn class_attribute(statement: &Stmt) -> Option<&str> {
    let target = match statement {
        Stmt::Assign(assign) => assign.targets.first()?,
        Stmt::AnnAssign(assign) => &*assign.target,
        _ => return None,
    };
    Some(target.as_name_expr()?.id.as_str())
}

/// `name` of `self.name`.
fn own_attribute(target: &Expr) -> Option<&str> {
    let attribute = target.as_attribute_expr()?;
    let owner = attribute.value.as_name_expr()?;
    (owner.id.as_str() == "self").then(|| attribute.attr.as_str())
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
    /// Code that copes with what eroded by itself.
    guards: Guards,
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

    fn try_call(&mut self, expr: &'q Expr, call: &'q ExprCall, rules: &[(usize, usize)]) {
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

    /// A dotted use of something that moved.
    fn try_use(&mut self, expr: &'q Expr, rules: &[(usize, usize)]) {
        if rules.is_empty() {
            return;
        }
        let program = self.program();
        for (rule, step) in rules {
            if !self.applicable[*rule] {
                continue;
            }
            let rule = &self.catalogue.rules()[*rule];
            let Matcher::Moved { moves, needs } = &rule.matcher else {
                continue;
            };
            let step = &moves[*step];
            // A name that nothing binds is a builtin (`repr`), not the module called so.
            let is_builtin = expr.is_name_expr() && !step.old.contains('.');
            if is_builtin || !names(program, self.unit, expr, &step.old) {
                continue;
            }
            let edits = moved::edit_use(program, self.unit, expr, step, needs);
            let judgement = Judgement::default();
            let message = format!("`{}` is `{}` now", step.old, step.new);
            let fix = edits.map(|edits| Some(Fix { edits }));
            self.report_as(rule, expr.range(), judgement, fix, Some(message));
        }
    }

    /// A name that a rule says cannot be imported any more, and that nothing uses (any longer, since
    /// the rule rewrote its uses), leaves the import statement.
    fn unused_import(&mut self, statement: &'q Stmt, is_alone: bool) {
        let Stmt::ImportFrom(from) = statement else {
            return;
        };
        let is_cell = self.program().units()[self.unit].is_cell();
        let Some(module) = from.module.as_ref().filter(|_| from.level == 0 && is_cell) else {
            return;
        };
        let mut removed = Vec::new();
        let mut by = None;
        for alias in &from.names {
            let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            if self.program().is_name_used(bound, (self.unit, alias.range)) {
                continue;
            }
            let name = alias.name.as_str();
            let message = format!("cannot import name '{name}' from '{module}'");
            let rules = self.catalogue.index.gone.get(&format!("{module}.{name}"));
            let rule = rules.into_iter().flatten().find(|rule| {
                self.applicable[**rule] && self.catalogue.rules()[**rule].is_evidence("ImportError", &message)
            });
            if let Some(rule) = rule {
                by.get_or_insert(*rule);
                removed.push(alias);
            }
        }
        let Some(rule) = by.map(|at| &self.catalogue.rules()[at]) else {
            return;
        };
        if self.is_guarded(statement) && !is_confirmed(self.question, rule, self.unit, statement.range()) {
            return;
        }
        let edits = moved::remove_names(self.source(), from, &removed, is_alone);
        let fix = Fix { edits: edits.into_iter().map(|edit| (self.unit, edit)).collect() };
        let names: Vec<String> = removed.iter().map(|alias| format!("`{}`", alias.name)).collect();
        let message = format!("{} cannot be imported any more, and nothing uses it", names.join(", "));
        self.report_as(rule, statement.range(), Judgement::default(), Ok(Some(fix)), Some(message));
        if let Some(found) = self.findings.last_mut() {
            // Nothing is lost with a name that nobody uses.
            found.safety = Safety::Safe;
        }
    }

    /// Names that are gone or renamed fail where they are imported: the import is the finding, and
    /// of a renamed one it is rewritten.
    fn import_of_names(&mut self, statement: &'q Stmt) {
        let Stmt::ImportFrom(from) = statement else {
            return;
        };
        let Some(module) = from.module.as_ref().filter(|_| from.level == 0) else {
            return;
        };
        for alias in &from.names {
            let full = format!("{module}.{}", alias.name);
            let Some(rules) = self.catalogue.index.bare.get(&full) else {
                continue;
            };
            for (rule, new) in rules {
                if !self.applicable[*rule] {
                    continue;
                }
                let rule = &self.catalogue.rules()[*rule];
                if self.is_guarded(statement)
                    && !is_confirmed(self.question, rule, self.unit, statement.range())
                {
                    continue;
                }
                let fix = new.as_ref().map(|new| {
                    let moved = MovedAlias { alias, new: new.clone(), full: full.clone() };
                    let edits = moved::edit_import_from(self.source(), from, &[moved]);
                    Fix { edits: edits.into_iter().map(|edit| (self.unit, edit)).collect() }
                });
                self.report(rule, alias.range, Judgement::default(), Ok(fix));
            }
        }
    }

    fn is_guarded(&self, statement: &Stmt) -> bool {
        self.program()
            .imports()
            .iter()
            .any(|import| import.unit == self.unit && import.range == statement.range() && import.guarded)
    }

    fn import(&mut self, statement: &'q Stmt) {
        self.import_of_names(statement);
        let mut by_rule: Vec<(usize, Vec<MovedAlias>)> = Vec::new();
        for (alias, full) in imported_names(statement) {
            let Some((at, new)) = self.closest_move(&full) else {
                continue;
            };
            // A module cannot be imported from a builtin.
            if matches!(statement, Stmt::Import(_)) && new.starts_with("builtins.") {
                continue;
            }
            let item = MovedAlias { alias, new, full };
            match by_rule.iter_mut().find(|(rule, _)| *rule == at) {
                Some((_, items)) => items.push(item),
                None => by_rule.push((at, vec![item])),
            }
        }
        for (at, aliases) in by_rule {
            let rule = &self.catalogue.rules()[at];
            // `try: import new / except ImportError: import old` already copes.
            if self.is_guarded(statement) && !is_confirmed(self.question, rule, self.unit, statement.range())
            {
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
            let fix = Fix { edits: edits.into_iter().map(|edit| (unit, edit)).collect() };
            let judgement = Judgement::default();
            self.report_as(rule, statement.range(), judgement, Ok(Some(fix)), Some(message));
        }
    }

    /// The rule with the longest old name that a dotted name is or lies below, and the new name.
    fn closest_move(&self, full: &str) -> Option<(usize, String)> {
        let mut old = full;
        loop {
            if let Some(moves) = self.catalogue.index.moves.get(old) {
                let mut applicable = moves.iter().filter(|(rule, _)| self.applicable[*rule]);
                if let Some((at, step)) = applicable.next()
                    && let Matcher::Moved { moves, .. } = &self.catalogue.rules()[*at].matcher
                {
                    return Some((*at, moves[*step].apply(full)?));
                }
            }
            old = old.rsplit_once('.')?.0;
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
