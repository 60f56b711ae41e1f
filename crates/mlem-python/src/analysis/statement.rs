//! Statements, and the ways control can take through them.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, ExceptHandler, Expr, Stmt};
use ruff_text_size::Ranged;

use super::effects::Access;
use super::scope::{Branch, Scope, ScopeKind};
use super::{Deferred, Pass, Value};

/// Loops nested deeper than this are read once.
const REREAD_LOOPS: usize = 2;

impl<'a> Pass<'a> {
    pub(super) fn body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            self.statement(stmt);
        }
    }

    pub(super) fn statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(import) => self.import(import),
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::Assign(assign) => self.assignment(assign),
            Stmt::AugAssign(assign) => self.augmented(assign),
            Stmt::AnnAssign(assign) => {
                self.expression(&assign.annotation);
                if let Some(value) = &assign.value {
                    let value = self.expression(value);
                    self.assign(&assign.target, value);
                }
            }
            Stmt::Expr(statement) => {
                self.expression(&statement.value);
            }
            Stmt::Return(statement) => {
                let ty = match &statement.value {
                    Some(value) => self.expression(value).ty,
                    None => Some(self.names.type_of("NoneType", Vec::new())),
                };
                if let Some(body) = self.bodies.last_mut() {
                    body.returns = Some(match body.returns {
                        None => ty,
                        Some(before) => before.filter(|before| ty == Some(*before)),
                    });
                }
            }
            Stmt::If(statement) => self.conditional(statement),
            Stmt::For(statement) => self.for_loop(statement),
            Stmt::While(statement) => {
                self.expression(&statement.test);
                self.repeated(|pass| {
                    pass.body(&statement.body);
                    pass.expression(&statement.test);
                });
                self.body(&statement.orelse);
            }
            Stmt::With(statement) => {
                let suppresses =
                    statement.items.iter().any(|item| self.suppresses_import_error(&item.context_expr));
                for item in &statement.items {
                    let value = self.expression(&item.context_expr);
                    if let Some(target) = &item.optional_vars {
                        self.assign(target, Value::of(value.ty));
                    }
                }
                self.guarded += usize::from(suppresses);
                self.body(&statement.body);
                self.guarded -= usize::from(suppresses);
            }
            Stmt::Try(statement) => self.try_statement(statement),
            Stmt::Match(statement) => self.match_statement(statement),
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Delete(delete) => {
                for target in &delete.targets {
                    self.delete(target);
                }
            }
            Stmt::Global(global) => {
                for name in &global.names {
                    let name = self.names.intern(name);
                    if let Some(scope) = self.scopes.stack.last_mut() {
                        scope.globals.insert(name);
                    }
                }
            }
            _ => visitor::walk_stmt(self, stmt),
        }
    }

    fn assignment(&mut self, assign: &'a ast::StmtAssign) {
        let value = self.expression(&assign.value);
        let sources = self.sources_of(&assign.value);
        for target in &assign.targets {
            // `a, b = x, y` keeps more than the type of a tuple: qualified names, too.
            if let (Expr::Tuple(targets), Expr::Tuple(values)) = (target, assign.value.as_ref())
                && targets.elts.len() == values.elts.len()
                && !targets.elts.iter().chain(&values.elts).any(Expr::is_starred_expr)
            {
                for (target, value) in targets.elts.iter().zip(&values.elts) {
                    let value = self.facts[self.unit].get(&value.range()).copied().unwrap_or_default();
                    self.assign(target, value);
                    self.share(target, &sources);
                }
                continue;
            }
            self.assign(target, value);
            self.share(target, &sources);
        }
    }

    fn augmented(&mut self, assign: &'a ast::StmtAugAssign) {
        let right = self.expression(&assign.value);
        match assign.target.as_ref() {
            Expr::Name(name) => {
                let left = self.name_value(name, true);
                let ty = self.arithmetic(left.ty, assign.op, right.ty);
                let symbol = self.names.intern(&name.id);
                self.record(name.range, Value::of(left.ty));
                // `a += b` changes a list or an array in place.
                self.touch(symbol, None, Access::Mutate, name.range.start());
                self.bind(symbol, Value::of(ty), name.range.start(), false);
            }
            target => {
                self.expression(target);
                self.change(target);
            }
        }
    }

    fn delete(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) => {
                let symbol = self.names.intern(&name.id);
                self.touch(symbol, None, Access::Read, name.range.start());
                self.unbind(symbol, name.range.start());
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                for target in elts {
                    self.delete(target);
                }
            }
            // The part has to be there, so this cannot run twice.
            _ => {
                self.expression(target);
                self.change(target);
            }
        }
    }

    // --- branches ------------------------------------------------------------------------

    fn branch(&mut self, body: &'a [Stmt]) -> Branch {
        let mark = self.scopes.begin_branch();
        self.body(body);
        let mut branch = self.scopes.end_branch(mark);
        branch.leaves = body.last().is_some_and(|last| {
            matches!(last, Stmt::Return(_) | Stmt::Raise(_) | Stmt::Continue(_) | Stmt::Break(_))
        });
        branch
    }

    fn conditional(&mut self, statement: &'a ast::StmtIf) {
        self.expression(&statement.test);
        let mut branches = vec![self.branch(&statement.body)];
        let mut exhaustive = false;
        for clause in &statement.elif_else_clauses {
            match &clause.test {
                Some(test) => {
                    self.expression(test);
                }
                None => exhaustive = true,
            }
            branches.push(self.branch(&clause.body));
        }
        self.scopes.merge(&branches, exhaustive);
    }

    fn for_loop(&mut self, statement: &'a ast::StmtFor) {
        let iterable = self.expression(&statement.iter);
        let item = iterable.ty.and_then(|ty| self.item_type(ty));
        let sources = self.sources_of(&statement.iter);
        self.assign(&statement.target, Value::of(item));
        self.share(&statement.target, &sources);
        self.repeated(|pass| pass.body(&statement.body));
        self.body(&statement.orelse);
    }

    /// A body that runs any number of times. If running it changes what is known at its start,
    /// it is read again with what holds in both cases.
    fn repeated(&mut self, read: impl Fn(&mut Self)) {
        let mark = self.scopes.begin_branch();
        self.loops += 1;
        read(self);
        let branch = self.scopes.end_branch(mark);
        let weakened = self.scopes.merge(&[branch], false);
        if weakened && self.loops <= REREAD_LOOPS {
            let rereading = std::mem::replace(&mut self.rereading, true);
            let deferred = self.deferred.len();
            let mark = self.scopes.begin_branch();
            read(self);
            let branch = self.scopes.end_branch(mark);
            self.scopes.merge(&[branch], false);
            self.deferred.truncate(deferred);
            self.rereading = rereading;
        }
        self.loops -= 1;
    }

    fn try_statement(&mut self, statement: &'a ast::StmtTry) {
        let guards = statement.handlers.iter().any(|handler| {
            let ExceptHandler::ExceptHandler(handler) = handler;
            handler.type_.as_deref().is_none_or(catches_import_error)
        });
        self.guarded += usize::from(guards);
        let mark = self.scopes.begin_branch();
        self.body(&statement.body);
        self.body(&statement.orelse);
        let mut branches = vec![self.scopes.end_branch(mark)];
        for handler in &statement.handlers {
            let ExceptHandler::ExceptHandler(handler) = handler;
            if let Some(class) = &handler.type_ {
                self.expression(class);
            }
            let mark = self.scopes.begin_branch();
            if let Some(name) = &handler.name {
                let symbol = self.names.intern(name);
                self.bind(symbol, Value::UNKNOWN, name.start(), false);
            }
            self.body(&handler.body);
            let mut branch = self.scopes.end_branch(mark);
            branch.leaves =
                matches!(handler.body.last(), Some(Stmt::Raise(_) | Stmt::Return(_) | Stmt::Continue(_)));
            branches.push(branch);
        }
        self.guarded -= usize::from(guards);
        self.scopes.merge(&branches, true);
        self.body(&statement.finalbody);
    }

    fn suppresses_import_error(&self, context: &Expr) -> bool {
        let Expr::Call(call) = context else { return false };
        let is_suppress = match call.func.as_ref() {
            Expr::Name(name) => name.id == "suppress",
            Expr::Attribute(attribute) => attribute.attr.as_str() == "suppress",
            _ => false,
        };
        is_suppress && call.arguments.args.iter().any(catches_import_error)
    }

    fn match_statement(&mut self, statement: &'a ast::StmtMatch) {
        self.expression(&statement.subject);
        let mut branches = Vec::new();
        for case in &statement.cases {
            let mark = self.scopes.begin_branch();
            self.pattern(&case.pattern);
            if let Some(guard) = &case.guard {
                self.expression(guard);
            }
            self.body(&case.body);
            branches.push(self.scopes.end_branch(mark));
        }
        self.scopes.merge(&branches, false);
    }

    fn pattern(&mut self, pattern: &'a ast::Pattern) {
        let bind = |pass: &mut Self, name: &'a ast::Identifier| {
            let symbol = pass.names.intern(name);
            pass.bind(symbol, Value::UNKNOWN, name.start(), false);
        };
        match pattern {
            ast::Pattern::MatchAs(capture) => {
                if let Some(inner) = &capture.pattern {
                    self.pattern(inner);
                }
                if let Some(name) = &capture.name {
                    bind(self, name);
                }
            }
            ast::Pattern::MatchStar(star) => {
                if let Some(name) = &star.name {
                    bind(self, name);
                }
            }
            ast::Pattern::MatchSequence(sequence) => {
                sequence.patterns.iter().for_each(|inner| self.pattern(inner))
            }
            ast::Pattern::MatchOr(or) => or.patterns.iter().for_each(|inner| self.pattern(inner)),
            ast::Pattern::MatchMapping(mapping) => {
                mapping.patterns.iter().for_each(|inner| self.pattern(inner));
                if let Some(name) = &mapping.rest {
                    bind(self, name);
                }
            }
            ast::Pattern::MatchClass(class) => {
                self.expression(&class.cls);
                class.arguments.patterns.iter().for_each(|inner| self.pattern(inner));
                class.arguments.keywords.iter().for_each(|keyword| self.pattern(&keyword.pattern));
            }
            ast::Pattern::MatchValue(value) => {
                self.expression(&value.value);
            }
            ast::Pattern::MatchSingleton(_) => {}
        }
    }

    // --- definitions ---------------------------------------------------------------------

    fn function(&mut self, function: &'a ast::StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.expression(&decorator.expression);
        }
        for parameter in function.parameters.iter() {
            if let Some(default) = parameter.default() {
                self.expression(default);
            }
        }
        let type_parameters = self.type_parameters(function.type_params.as_deref());
        let has_type_parameters = type_parameters.is_some();
        self.scopes.stack.extend(type_parameters);
        for parameter in function.parameters.iter() {
            if let Some(annotation) = parameter.annotation() {
                self.expression(annotation);
            }
        }
        if let Some(returns) = &function.returns {
            self.expression(returns);
        }
        if has_type_parameters {
            self.scopes.stack.pop();
        }
        let name = self.names.intern(&function.name);
        self.bind(name, Value::UNKNOWN, function.name.start(), false);
        if !self.rereading {
            self.defined.insert(name);
            let (owner, is_method) = self.class.map_or((name, false), |class| (class, true));
            self.deferred.push(Deferred { unit: self.unit, function, owner, is_method });
        }
    }

    fn class(&mut self, class: &'a ast::StmtClassDef) {
        for decorator in &class.decorator_list {
            self.expression(&decorator.expression);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        let name = self.names.intern(&class.name);
        self.defined.insert(name);
        let is_plain = self.is_plain_class(class);
        let outer = self.class.replace(name);
        self.scopes.stack.push(Scope::new(ScopeKind::Class));
        self.body(&class.body);
        self.scopes.stack.pop();
        self.class = outer;
        self.bind(name, Value::UNKNOWN, class.name.start(), false);
        if is_plain && self.scopes.target(name) == 0 {
            self.classes.insert(name, (self.unit, class.name.start()));
        }
    }

    /// Whether a class has no methods but those written in the program: nothing decorates it, and it
    /// derives from `object` or from classes that are so themselves.
    fn is_plain_class(&mut self, class: &ast::StmtClassDef) -> bool {
        let mut bases = class.bases().iter();
        class.decorator_list.is_empty()
            && class.keywords().is_empty()
            && bases.all(|base| match base {
                Expr::Name(base) => {
                    let base = self.names.intern(&base.id);
                    let own = self.own_type(base).is_some();
                    own || (self.names.text(base) == "object" && self.scopes.lookup(base).is_none())
                }
                _ => false,
            })
    }
}

/// `ImportError`, a tuple with it, or a class above it.
fn catches_import_error(class: &Expr) -> bool {
    match class {
        Expr::Name(name) => {
            matches!(name.id.as_str(), "ImportError" | "ModuleNotFoundError" | "Exception" | "BaseException")
        }
        Expr::Tuple(tuple) => tuple.elts.iter().any(catches_import_error),
        _ => false,
    }
}
