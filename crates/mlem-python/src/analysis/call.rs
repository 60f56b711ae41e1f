//! What calls give.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::names::{Symbol, TypeId};
use super::{Pass, Value};
use crate::types::Spec;

impl<'a> Pass<'a> {
    pub(super) fn call(&mut self, call: &'a ast::ExprCall) -> Value {
        let at = call.range_start;
        let mut receiver = None;
        let function = match call.func.as_ref() {
            Expr::Attribute(attribute) => {
                let value = self.attribute(attribute, true);
                self.record(attribute.range, value);
                let base = self.facts[self.unit].get(&attribute.value.range()).copied();
                receiver = Some((attribute, base.unwrap_or_default()));
                value
            }
            other => self.expression(other),
        };
        let arguments: Vec<Option<TypeId>> =
            call.arguments.args.iter().map(|e| self.expression(e).ty).collect();
        let mut in_place = false;
        for keyword in &call.arguments.keywords {
            self.expression(&keyword.value);
            let is = |name: &str| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == name);
            let is_true = matches!(&keyword.value, Expr::BooleanLiteral(literal) if literal.value);
            in_place |= is("inplace") && is_true;
        }
        self.note_call(call);
        if let Some((attribute, base)) = receiver
            && base.qualified.is_none()
        {
            let ty = base.ty.map(|ty| self.names.type_name(ty));
            if in_place || self.table.is_mutator(ty, &attribute.attr) {
                self.change_receiver(&attribute.value, at);
            }
        }
        if in_place {
            return self.named_type("NoneType");
        }
        if let Some(qualified) = function.qualified {
            return self.call_qualified(call, qualified, &arguments);
        }
        if let Expr::Name(name) = call.func.as_ref()
            && let Some(symbol) = self.names.find(&name.id)
            && matches!(self.scopes.lookup(symbol), Some((Value::UNKNOWN, 0)))
        {
            let returned = self.returns.get(&symbol).copied();
            return Value::of(returned.or_else(|| self.own_type(symbol)));
        }
        let Some((attribute, Value { ty: Some(ty), .. })) = receiver else { return Value::UNKNOWN };
        let spec = self.table.method(self.names.type_name(ty), &attribute.attr);
        if self.gives_dict_copy(attribute, call) {
            return Value::UNKNOWN;
        }
        Value::of(spec.and_then(|spec| self.instance(spec, Some(ty), &arguments)))
    }

    /// `to_dict(orient)` and the like: an argument decides the type.
    fn gives_dict_copy(&self, attribute: &ast::ExprAttribute, call: &ast::ExprCall) -> bool {
        attribute.attr.as_str() == "drop"
            && call.arguments.find_keyword("inplace").is_some_and(|keyword| {
                // `inplace=flag`: nothing or a frame.
                !keyword.value.is_boolean_literal_expr()
            })
    }

    fn call_qualified(
        &mut self,
        call: &'a ast::ExprCall,
        qualified: Symbol,
        arguments: &[Option<TypeId>],
    ) -> Value {
        let name = self.names.text(qualified);
        let table = self.table;
        if let Some(index) = table.changed_argument(name)
            && let Some(argument) = call.arguments.args.get(index)
        {
            self.change_receiver(argument, call.range_start);
            return Value::UNKNOWN;
        }
        if name == "pandas.concat" {
            return self.concat(call);
        }
        let decides = |keyword: &str| call.arguments.find_keyword(keyword).is_some();
        let reader =
            matches!(name, "pandas.read_csv" | "pandas.read_table" | "pandas.read_json" | "pandas.read_fwf");
        if reader && (decides("chunksize") || decides("iterator") || decides("squeeze") || decides("typ")) {
            return Value::UNKNOWN;
        }
        if let Some(spec) = table.function(name) {
            let elementwise = name.starts_with("numpy.") && matches!(spec, Spec::Argument(_));
            let ty = self.instance(spec, None, arguments);
            // A scalar becomes a numpy scalar, a list an array.
            let kept = |ty: &TypeId| {
                let name = self.names.type_name(*ty);
                !elementwise || name.starts_with("pandas.") || name.starts_with("numpy.")
            };
            return Value::of(ty.filter(kept));
        }
        let Some((owner, last)) = name.rsplit_once('.') else { return Value::UNKNOWN };
        // `pandas.DataFrame.from_dict`: a method of a class the table knows.
        if table.has_type(table.canonical(owner))
            && let Some(spec) = table.method(table.canonical(owner), last)
        {
            let owner = table.canonical(owner).to_owned();
            let ty = self.names.type_of(&owner, Vec::new());
            return Value::of(self.instance(spec, Some(ty), arguments));
        }
        // By PEP 8 a capitalised name in a lower-case module is a class.
        let is_class = last.starts_with(char::is_uppercase);
        let in_module =
            !owner.rsplit('.').next().is_some_and(|module| module.starts_with(char::is_uppercase));
        if is_class && in_module {
            let name = table.canonical(name).to_owned();
            return self.named_type(&name);
        }
        Value::UNKNOWN
    }

    /// `pandas.concat` gives a DataFrame if any part is one, and a Series if all are and they
    /// are put one below the other.
    fn concat(&mut self, call: &'a ast::ExprCall) -> Value {
        let Some(Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. })) =
            call.arguments.find_argument_value("objs", 0)
        else {
            let parts = call.arguments.find_argument_value("objs", 0);
            let known =
                parts.and_then(|parts| self.facts[self.unit].get(&parts.range())).and_then(|value| value.ty);
            let item = known.and_then(|ty| self.item_type(ty));
            return match item.map(|item| self.names.type_name(item)) {
                Some("pandas.DataFrame") => self.named_type("pandas.DataFrame"),
                _ => Value::UNKNOWN,
            };
        };
        let types: Vec<Option<&str>> = elts
            .iter()
            .map(|part| self.type_name(self.facts[self.unit].get(&part.range()).copied().unwrap_or_default()))
            .collect();
        let below = call.arguments.find_argument("axis", 1).is_none();
        if types.contains(&Some("pandas.DataFrame")) {
            self.named_type("pandas.DataFrame")
        } else if below && !types.is_empty() && types.iter().all(|ty| *ty == Some("pandas.Series")) {
            self.named_type("pandas.Series")
        } else {
            Value::UNKNOWN
        }
    }

    /// The type that a table entry means for a receiver and arguments.
    pub(super) fn instance(
        &mut self,
        spec: &Spec,
        receiver: Option<TypeId>,
        arguments: &[Option<TypeId>],
    ) -> Option<TypeId> {
        match spec {
            Spec::Unknown => None,
            Spec::Receiver => receiver,
            Spec::Argument(index) => arguments.get(*index).copied().flatten(),
            Spec::InputsTwice => {
                let twice = arguments.iter().flat_map(|ty| [*ty, *ty]).collect();
                Some(self.names.type_of("tuple", twice))
            }
            Spec::Item => {
                let receiver = receiver?;
                let inner = self.names.arguments(receiver);
                let is_mapping = matches!(self.names.type_name(receiver), "dict") && inner.len() == 2;
                inner.get(usize::from(is_mapping)).copied().flatten()
            }
            Spec::Key => self.names.arguments(receiver?).first().copied().flatten(),
            Spec::Named(name, inner) => {
                let inner = inner.iter().map(|spec| self.instance(spec, receiver, arguments)).collect();
                Some(self.names.type_of(name, inner))
            }
        }
    }

    /// What iterating over a value gives.
    pub(super) fn item_type(&mut self, ty: TypeId) -> Option<TypeId> {
        let name = self.names.type_name(ty);
        if name == "tuple" {
            let elements = self.names.arguments(ty);
            let first = elements.first().copied().flatten()?;
            return elements.iter().all(|element| *element == Some(first)).then_some(first);
        }
        if name == "generator" {
            return self.names.arguments(ty).first().copied().flatten();
        }
        let spec = self.table.item(name)?;
        self.instance(spec, Some(ty), &[])
    }
}
