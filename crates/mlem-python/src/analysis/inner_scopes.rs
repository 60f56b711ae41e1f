//! Comprehensions and lambdas: expressions with names of their own.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use super::names::TypeId;
use super::scope::{Scope, ScopeKind};
use super::{Pass, Value};

impl<'a> Pass<'a> {
    /// Reads a comprehension and gives the type of its last part.
    pub(super) fn comprehension(
        &mut self,
        generators: &'a [ast::Comprehension],
        parts: &[&'a Expr],
    ) -> Option<TypeId> {
        let mut opened = false;
        for generator in generators {
            // The first iterable is evaluated outside of the comprehension.
            let iterable = self.expression(&generator.iter);
            if !opened {
                self.scopes.stack.push(Scope::new(ScopeKind::Comprehension));
                opened = true;
            }
            let item = iterable.ty.and_then(|ty| self.item_type(ty));
            self.assign_inside(&generator.target, item);
            for condition in &generator.ifs {
                self.expression(condition);
            }
        }
        let mut last = None;
        for part in parts {
            last = self.expression(part).ty;
        }
        if opened && let Some(scope) = self.scopes.stack.pop() {
            let ends = parts.first().zip(generators.last());
            if let Some((first, last)) = ends {
                let range = TextRange::new(first.start(), last.end());
                self.note_local_names(range, scope.names.into_keys().collect());
            }
        }
        last
    }

    /// Binds the variables of a comprehension or a lambda in the innermost scope.
    fn assign_inside(&mut self, target: &'a Expr, ty: Option<TypeId>) {
        match target {
            Expr::Name(name) => {
                let symbol = self.names.intern(&name.id);
                self.bound.insert(symbol);
                self.record(name.range, Value::of(ty));
                let scope = self.scopes.stack.len() - 1;
                self.scopes.set(scope, symbol, Some(Value::of(ty)));
            }
            Expr::Tuple(tuple) => {
                let parts = ty.filter(|ty| self.names.type_name(*ty) == "tuple");
                let parts = parts.map(|ty| self.names.arguments(ty).to_vec()).unwrap_or_default();
                let fits = parts.len() == tuple.elts.len();
                for (index, element) in tuple.elts.iter().enumerate() {
                    let ty = if fits { parts[index] } else { None };
                    self.assign_inside(element, ty);
                }
            }
            Expr::List(list) => list.elts.iter().for_each(|element| self.assign_inside(element, None)),
            Expr::Starred(starred) => self.assign_inside(&starred.value, None),
            _ => {
                self.expression(target);
            }
        }
    }

    pub(super) fn lambda(&mut self, lambda: &'a ast::ExprLambda) {
        let mut scope = Scope::new(ScopeKind::Comprehension);
        if let Some(parameters) = &lambda.parameters {
            for parameter in parameters.iter() {
                if let Some(default) = parameter.default() {
                    self.expression(default);
                }
                let name = self.names.intern(parameter.name());
                self.bound.insert(name);
                scope.names.insert(name, Value::UNKNOWN);
            }
        }
        self.note_local_names(lambda.body.range(), scope.names.keys().copied().collect());
        self.scopes.stack.push(scope);
        self.expression(&lambda.body);
        self.scopes.stack.pop();
    }
}
