//! Targets of assignments, and the names that a function makes its own.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_pattern, walk_stmt};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::FxHashSet;

use super::effects::Access;
use super::names::{Names, Symbol, TypeId};
use super::{Pass, Value};

impl<'a> Pass<'a> {
    /// Binds the names of a target and notes what it changes.
    pub(super) fn assign(&mut self, target: &'a Expr, value: Value) {
        match target {
            Expr::Name(name) => {
                let symbol = self.names.intern(&name.id);
                self.record(name.range, Value::of(value.ty));
                let value = Value { indirect: value.qualified.is_some(), ..value };
                self.bind(symbol, value, name.range.start(), false);
            }
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                let parts = self.unpack(value.ty, elts.len());
                let starred = elts.iter().any(Expr::is_starred_expr);
                for (index, element) in elts.iter().enumerate() {
                    let ty = if starred { None } else { parts.get(index).copied().flatten() };
                    self.assign(element, Value::of(ty));
                }
            }
            Expr::Starred(starred) => {
                let list = self.names.type_of("list", Vec::new());
                self.assign(&starred.value, Value::of(Some(list)));
            }
            Expr::Subscript(_) | Expr::Attribute(_) => self.change(target),
            _ => {
                self.expression(target);
            }
        }
    }

    /// The names whose objects an expression may give, to be asked before its targets are bound.
    pub(super) fn sources_of(&mut self, value: &'a Expr) -> Vec<Symbol> {
        let mut sources = Vec::new();
        self.sources(value, &mut sources);
        if self.bodies.is_empty() {
            self.effects[self.unit].shares.extend(&sources);
        }
        self.same_object(sources)
    }

    /// Notes that the names of a target may stand for the objects of others.
    pub(super) fn share(&mut self, target: &'a Expr, sources: &[Symbol]) {
        if sources.is_empty() {
            return;
        }
        let targets = match target {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            target => std::slice::from_ref(target),
        };
        for target in targets {
            if let Expr::Name(name) = target {
                let symbol = self.names.intern(&name.id);
                let shared = self.shared.entry(symbol).or_default();
                shared.extend(sources.iter().filter(|source| **source != symbol));
                shared.sort_unstable();
                shared.dedup();
            }
        }
    }

    /// The names whose objects the value of an expression may be or hold.
    pub(super) fn sources(&mut self, value: &Expr, sources: &mut Vec<Symbol>) {
        match value {
            Expr::Name(name) => {
                let symbol = self.names.intern(&name.id);
                let value = self.scopes.lookup(symbol).map(|(value, _)| value).unwrap_or_default();
                let ty = value.ty.map(|ty| self.names.type_name(ty));
                let immutable = matches!(ty, Some("int" | "float" | "str" | "bool" | "bytes" | "NoneType"));
                if !immutable && value.qualified.is_none() {
                    sources.push(symbol);
                }
            }
            Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
                // Long literals are data.
                elts.iter().take(16).for_each(|element| self.sources(element, sources));
            }
            Expr::Dict(dict) => {
                dict.items.iter().take(16).for_each(|item| self.sources(&item.value, sources))
            }
            Expr::Starred(starred) => self.sources(&starred.value, sources),
            Expr::If(conditional) => {
                self.sources(&conditional.body, sources);
                self.sources(&conditional.orelse, sources);
            }
            // An item of a list that holds objects with names of their own.
            Expr::Subscript(subscript) => {
                if let Expr::Name(name) = subscript.value.as_ref()
                    && let Some(held) = self.names.find(&name.id).and_then(|name| self.shared.get(&name))
                {
                    sources.extend(held);
                }
            }
            Expr::Call(call) => {
                if let Expr::Name(function) = call.func.as_ref() {
                    let symbol = self.names.intern(&function.id);
                    let passes_on =
                        matches!(function.id.as_str(), "enumerate" | "zip" | "list" | "tuple" | "reversed");
                    // A function of the program may return what it was given.
                    if passes_on || self.defined.contains(&symbol) {
                        call.arguments.args.iter().for_each(|argument| self.sources(argument, sources));
                    }
                }
            }
            _ => {}
        }
    }

    /// The types of `count` values that a value of this type unpacks into.
    fn unpack(&mut self, ty: Option<TypeId>, count: usize) -> Vec<Option<TypeId>> {
        let Some(ty) = ty else { return vec![None; count] };
        if self.names.type_name(ty) == "tuple" && self.names.arguments(ty).len() == count {
            return self.names.arguments(ty).to_vec();
        }
        if matches!(self.names.type_name(ty), "list" | "str" | "range") {
            let item = self.item_type(ty);
            return vec![item; count];
        }
        vec![None; count]
    }

    /// Notes a store into a part of an object, or its deletion.
    pub(super) fn change(&mut self, target: &'a Expr) {
        let at = target.start();
        match target {
            Expr::Subscript(subscript) => {
                self.expression(&subscript.slice);
                let part = self.constant_part(&subscript.slice);
                self.change_of(&subscript.value, part, at);
            }
            Expr::Attribute(attribute) => {
                let part = self.names.intern(&attribute.attr);
                self.change_of(&attribute.value, vec![part], at);
            }
            _ => {}
        }
    }

    /// Notes a change of some parts (of all when empty) of the object that `base` gives.
    fn change_of(&mut self, base: &'a Expr, parts: Vec<Symbol>, at: TextSize) {
        match base {
            Expr::Name(name) => {
                let symbol = self.names.intern(&name.id);
                self.name_value(name, false);
                if parts.is_empty() {
                    // The value of the key decides what is changed, so nothing is known to stay.
                    self.touch(symbol, None, Access::Read, at);
                    self.touch(symbol, None, Access::Mutate, at);
                } else {
                    for part in parts {
                        self.touch(symbol, Some(part), Access::Mutate, at);
                    }
                }
            }
            // `df.loc[rows, 'a'] = x` changes column a; `df.values[0] = x` all of df.
            Expr::Attribute(attribute) => {
                if matches!(attribute.attr.as_str(), "loc" | "at" | "ix") {
                    self.record_expression(base);
                    self.change_of(&attribute.value, parts, at);
                } else if let Some(root) = root_name(base) {
                    self.expression(base);
                    let symbol = self.names.intern(&root.id);
                    self.touch(symbol, None, Access::Mutate, at);
                } else {
                    self.expression(base);
                }
            }
            // `df['a'][mask] = x` changes column a.
            Expr::Subscript(subscript) => {
                let parts = self.constant_part(&subscript.slice);
                self.expression(base);
                self.change_of(&subscript.value, parts, at);
            }
            _ => {
                self.expression(base);
            }
        }
    }

    /// Notes that a method changes its receiver: a read and a change of the object behind it.
    pub(super) fn change_receiver(&mut self, receiver: &'a Expr, at: TextSize) {
        let Some(root) = root_name(receiver) else { return };
        let symbol = self.names.intern(&root.id);
        let part = match receiver {
            // `df['a'].fillna(0, inplace=True)`
            Expr::Subscript(subscript) if subscript.value.is_name_expr() => {
                self.constant_part(&subscript.slice)
            }
            Expr::Attribute(attribute) if attribute.value.is_name_expr() => {
                vec![self.names.intern(&attribute.attr)]
            }
            _ => Vec::new(),
        };
        if part.is_empty() {
            self.touch(symbol, None, Access::Read, at);
            self.touch(symbol, None, Access::Mutate, at);
        }
        for part in part {
            self.touch(symbol, Some(part), Access::Read, at);
            self.touch(symbol, Some(part), Access::Mutate, at);
        }
    }

    /// The parts that a constant key names: one for `'a'` and for the last of `[rows, 'a']`,
    /// several for `['a', 'b']`, none if a value decides.
    pub(super) fn constant_part(&mut self, key: &Expr) -> Vec<Symbol> {
        match key {
            Expr::StringLiteral(literal) => vec![self.names.intern(literal.value.to_str())],
            Expr::NumberLiteral(ast::ExprNumberLiteral { value: ast::Number::Int(number), .. }) => {
                vec![self.names.intern(&number.to_string())]
            }
            Expr::List(list) => {
                let parts: Vec<Symbol> =
                    list.elts.iter().flat_map(|element| self.string_part(element)).collect();
                if parts.len() == list.elts.len() { parts } else { Vec::new() }
            }
            Expr::Tuple(tuple) if tuple.elts.len() == 2 => {
                let column = self.string_part(&tuple.elts[1]);
                if column.is_some() { column.into_iter().collect() } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    fn string_part(&mut self, key: &Expr) -> Option<Symbol> {
        match key {
            Expr::StringLiteral(literal) => Some(self.names.intern(literal.value.to_str())),
            _ => None,
        }
    }
}

/// The name at the root of `name.a['b'].c`.
pub(super) fn root_name(expr: &Expr) -> Option<&ast::ExprName> {
    match expr {
        Expr::Name(name) => Some(name),
        Expr::Attribute(attribute) => root_name(&attribute.value),
        Expr::Subscript(subscript) => root_name(&subscript.value),
        _ => None,
    }
}

/// The names that a body binds, which are local in all of it.
pub(super) struct Locals<'n> {
    interner: &'n mut Names,
    pub(super) names: FxHashSet<Symbol>,
    pub(super) globals: FxHashSet<Symbol>,
}

impl<'n> Locals<'n> {
    pub(super) fn new(interner: &'n mut Names) -> Self {
        Self { interner, names: FxHashSet::default(), globals: FxHashSet::default() }
    }

    pub(super) fn read(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.visit_stmt(stmt);
        }
    }

    fn add(&mut self, name: &str) {
        let symbol = self.interner.intern(name);
        self.names.insert(symbol);
    }
}

impl<'a> Visitor<'a> for Locals<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.add(&function.name),
            Stmt::ClassDef(class) => self.add(&class.name),
            Stmt::Global(global) => {
                for name in &global.names {
                    let symbol = self.interner.intern(name);
                    self.globals.insert(symbol);
                }
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.add(name.split('.').next().unwrap_or(name));
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.add(alias.asname.as_ref().unwrap_or(&alias.name));
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) if name.ctx.is_store() || name.ctx.is_del() => self.add(&name.id),
            // Their variables are their own.
            Expr::Lambda(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_)
            | Expr::Generator(_) => {}
            _ => walk_expr(self, expr),
        }
    }

    fn visit_except_handler(&mut self, handler: &'a ast::ExceptHandler) {
        let ast::ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.add(name);
        }
        ast::visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a ast::Pattern) {
        match pattern {
            ast::Pattern::MatchAs(capture) => {
                if let Some(name) = &capture.name {
                    self.add(name);
                }
            }
            ast::Pattern::MatchStar(star) => {
                if let Some(name) = &star.name {
                    self.add(name);
                }
            }
            _ => {}
        }
        walk_pattern(self, pattern);
    }
}
