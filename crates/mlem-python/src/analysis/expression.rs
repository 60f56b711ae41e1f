//! The value of an expression.

use std::borrow::Cow;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Operator, Stmt, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use super::effects::Access;
use super::names::{Symbol, TypeId};
use super::scope::{Scope, ScopeKind};
use super::{Pass, Value};
use crate::types::Spec;

/// Attributes that a DataFrame has whatever its columns are, so `df.name` is no column.
const FRAME_ATTRIBUTES: &[&str] = &[
    "T", "at", "axes", "columns", "dt", "dtype", "dtypes", "empty", "iat", "iloc", "index", "ix", "loc",
    "ndim", "plot", "shape", "size", "str", "style", "values",
];

/// Types nest no deeper than this: `[[[…]]]` in a loop would never end.
const TYPE_DEPTH: usize = 3;

impl<'a> Visitor<'a> for Pass<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.statement(stmt);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.expression(expr);
    }
}

impl<'a> Pass<'a> {
    /// Reads an expression: records what is known of it and of all in it.
    pub(super) fn expression(&mut self, expr: &'a Expr) -> Value {
        let value = self.value(expr);
        let shown = if value.indirect && expr.is_name_expr() { Value::of(value.ty) } else { value };
        self.record(expr.range(), shown);
        value
    }

    /// As `expression`, for a place that is stored to rather than read.
    pub(super) fn record_expression(&mut self, expr: &'a Expr) {
        let events =
            self.bodies.last().map_or(self.effects[self.unit].events.len(), |body| body.events.len());
        self.expression(expr);
        match self.bodies.last_mut() {
            Some(body) => body.events.truncate(events),
            None => self.effects[self.unit].events.truncate(events),
        }
    }

    fn named_type(&mut self, name: &str) -> Value {
        Value::of(Some(self.names.type_of(name, Vec::new())))
    }

    fn holding(&mut self, name: &str, item: Option<TypeId>) -> Value {
        let item = item.filter(|item| self.names.depth(*item) < TYPE_DEPTH);
        let arguments = if item.is_some() { vec![item] } else { Vec::new() };
        Value::of(Some(self.names.type_of(name, arguments)))
    }

    fn type_name(&self, value: Value) -> Option<&str> {
        value.ty.map(|ty| self.names.type_name(ty))
    }

    fn value(&mut self, expr: &'a Expr) -> Value {
        match expr {
            Expr::Name(name) => self.name_value(name, true),
            Expr::Attribute(attribute) => self.attribute(attribute, false),
            Expr::Call(call) => self.call(call),
            Expr::Subscript(subscript) => self.subscript(subscript),
            Expr::StringLiteral(_) | Expr::FString(_) => {
                visitor::walk_expr(self, expr);
                self.named_type("str")
            }
            Expr::BytesLiteral(_) => self.named_type("bytes"),
            Expr::NumberLiteral(number) => self.named_type(match number.value {
                ast::Number::Int(_) => "int",
                ast::Number::Float(_) => "float",
                ast::Number::Complex { .. } => "complex",
            }),
            Expr::BooleanLiteral(_) => self.named_type("bool"),
            Expr::NoneLiteral(_) => self.named_type("NoneType"),
            Expr::List(list) => {
                let item = self.common_type(&list.elts);
                self.holding("list", item)
            }
            Expr::Set(set) => {
                let item = self.common_type(&set.elts);
                self.holding("set", item)
            }
            Expr::Tuple(tuple) => {
                let elements: Vec<Option<TypeId>> =
                    tuple.elts.iter().map(|e| self.expression(e).ty).collect();
                let shallow = elements.iter().flatten().all(|ty| self.names.depth(*ty) < TYPE_DEPTH);
                // Long literals are data, not structure.
                let elements = if shallow && elements.len() <= 8 { elements } else { Vec::new() };
                Value::of(Some(self.names.type_of("tuple", elements)))
            }
            Expr::Dict(dict) => self.dict(dict),
            Expr::ListComp(comp) => {
                let item = self.comprehension(&comp.generators, &[&comp.elt]);
                self.holding("list", item)
            }
            Expr::SetComp(comp) => {
                let item = self.comprehension(&comp.generators, &[&comp.elt]);
                self.holding("set", item)
            }
            Expr::DictComp(comp) => {
                let parts: Vec<&Expr> =
                    comp.key.as_deref().into_iter().chain([comp.value.as_ref()]).collect();
                self.comprehension(&comp.generators, &parts);
                self.named_type("dict")
            }
            Expr::Generator(comp) => {
                let item = self.comprehension(&comp.generators, &[&comp.elt]);
                self.holding("generator", item)
            }
            Expr::BinOp(binary) => {
                let left = self.expression(&binary.left);
                let right = self.expression(&binary.right);
                let ty = self.arithmetic(left.ty, binary.op, right.ty);
                Value::of(ty)
            }
            Expr::UnaryOp(unary) => {
                let operand = self.expression(&unary.operand);
                if unary.op == UnaryOp::Not { self.named_type("bool") } else { Value::of(operand.ty) }
            }
            Expr::BoolOp(operation) => {
                let ty = self.common_type(&operation.values);
                Value::of(ty)
            }
            Expr::Compare(compare) => self.compare(compare),
            Expr::If(conditional) => {
                self.expression(&conditional.test);
                let body = self.expression(&conditional.body);
                let orelse = self.expression(&conditional.orelse);
                body.join(orelse)
            }
            Expr::Named(named) => {
                let value = self.expression(&named.value);
                self.assign(&named.target, value);
                value
            }
            Expr::Lambda(lambda) => {
                self.lambda(lambda);
                self.named_type("function")
            }
            Expr::Starred(starred) => {
                self.expression(&starred.value);
                Value::UNKNOWN
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                visitor::walk_expr(self, expr);
                if let Some(body) = self.bodies.last_mut() {
                    body.wrapped = true;
                }
                Value::UNKNOWN
            }
            Expr::IpyEscapeCommand(escape) => match escape.kind {
                // IPython.core.interactiveshell: `x = !command` gives an SList.
                ast::IpyEscapeKind::Shell | ast::IpyEscapeKind::ShCap => {
                    self.named_type("IPython.utils.text.SList")
                }
                _ => Value::UNKNOWN,
            },
            _ => {
                visitor::walk_expr(self, expr);
                Value::UNKNOWN
            }
        }
    }

    /// The type of all of these, if it is one.
    fn common_type(&mut self, elements: &'a [Expr]) -> Option<TypeId> {
        let mut common: Option<Option<TypeId>> = None;
        for element in elements {
            let ty = self.expression(element).ty;
            common = Some(match common {
                None => ty,
                Some(before) => before.filter(|before| ty == Some(*before)),
            });
        }
        common.flatten()
    }

    fn dict(&mut self, dict: &'a ast::ExprDict) -> Value {
        let (mut key_type, mut value_type) = (None, None);
        for (index, item) in dict.items.iter().enumerate() {
            let key = item.key.as_ref().and_then(|key| self.expression(key).ty);
            let value = self.expression(&item.value).ty;
            let first = index == 0;
            key_type = if first { key } else { key_type.filter(|ty| key == Some(*ty)) };
            value_type = if first { value } else { value_type.filter(|ty| value == Some(*ty)) };
        }
        let shallow = |pass: &Self, ty: Option<TypeId>| ty.filter(|ty| pass.names.depth(*ty) < TYPE_DEPTH);
        let arguments = match (shallow(self, key_type), shallow(self, value_type)) {
            (None, None) => Vec::new(),
            (key, value) => vec![key, value],
        };
        Value::of(Some(self.names.type_of("dict", arguments)))
    }

    // --- names and attributes ------------------------------------------------------------

    /// The value of a name; notes the read of the whole object if asked.
    pub(super) fn name_value(&mut self, name: &'a ast::ExprName, whole: bool) -> Value {
        let symbol = self.names.intern(&name.id);
        if !self.rereading {
            self.used.push((symbol, self.unit, name.range));
        }
        if whole {
            self.touch(symbol, None, Access::Read, name.range.start());
        }
        if let Some((value, _)) = self.scopes.lookup(symbol) {
            return value;
        }
        self.free_name(symbol)
    }

    /// A name that nothing binds: of a star import, or a builtin.
    fn free_name(&mut self, symbol: Symbol) -> Value {
        let name = self.names.text(symbol);
        let mut candidate = None;
        for star in self.stars.iter().rev() {
            let module = self.names.text(*star);
            match self.table.star(module, name) {
                Some(Some(qualified)) => return Value::named(self.names.intern(&qualified)),
                Some(None) => {}
                None => {
                    // Of a module without a table the name may come, unless another one may bring it.
                    if candidate.is_some() {
                        return Value::UNKNOWN;
                    }
                    candidate = Some(format!("{module}.{name}"));
                }
            }
        }
        if self.table.is_builtin(name) {
            return Value::named(symbol);
        }
        candidate.map_or(Value::UNKNOWN, |qualified| Value::named(self.names.intern(&qualified)))
    }

    fn attribute(&mut self, attribute: &'a ast::ExprAttribute, called: bool) -> Value {
        let name = attribute.attr.as_str();
        let base = match attribute.value.as_ref() {
            // `df.a` that is not called reads column a, or an attribute of the whole.
            Expr::Name(base) if !called && !FRAME_ATTRIBUTES.contains(&name) => {
                let value = self.name_value(base, false);
                let symbol = self.names.intern(&base.id);
                let part = if value.qualified.is_some() { None } else { Some(self.names.intern(name)) };
                self.touch(symbol, part, Access::Read, base.range.start());
                let shown = if value.indirect { Value::of(value.ty) } else { value };
                self.record(base.range, shown);
                value
            }
            base => self.expression(base),
        };
        if let Some(qualified) = base.qualified {
            let mut text = std::mem::take(&mut self.dotted);
            text.clear();
            text.push_str(self.names.text(qualified));
            text.push('.');
            text.push_str(name);
            if let Some(module) = self.modules.get(&qualified)
                && let Some(own) = self.names.find(name).and_then(|name| module.get(&name).copied())
                && own != Value::UNKNOWN
            {
                return Value { indirect: false, ..own };
            }
            let ty = self.table.value(&text).and_then(|spec| self.instance(spec, None, &[]));
            let full = self.names.intern(&text);
            self.dotted = text;
            return Value { qualified: Some(full), ty, indirect: false };
        }
        let Some(ty) = base.ty.filter(|_| !called) else { return Value::UNKNOWN };
        let spec = self.table.attribute(self.names.type_name(ty), name);
        Value::of(spec.and_then(|spec| self.instance(spec, Some(ty), &[])))
    }

    fn subscript(&mut self, subscript: &'a ast::ExprSubscript) -> Value {
        let parts = self.constant_part(&subscript.slice);
        let base = match subscript.value.as_ref() {
            Expr::Name(name) if !parts.is_empty() => {
                let value = self.name_value(name, false);
                let symbol = self.names.intern(&name.id);
                for part in parts {
                    self.touch(symbol, Some(part), Access::Read, name.range.start());
                }
                self.record(name.range, Value::of(value.ty));
                value
            }
            base => self.expression(base),
        };
        let key = self.expression(&subscript.slice);
        let Some(ty) = base.ty else { return Value::UNKNOWN };
        if self.names.type_name(ty) == "tuple" {
            let index = match subscript.slice.as_ref() {
                Expr::NumberLiteral(ast::ExprNumberLiteral { value: ast::Number::Int(index), .. }) => {
                    index.as_usize()
                }
                _ => None,
            };
            return Value::of(index.and_then(|index| self.names.arguments(ty).get(index).copied().flatten()));
        }
        let kind = self.key_kind(&subscript.slice, key);
        let spec = self.table.subscript(self.names.type_name(ty), &kind);
        Value::of(spec.and_then(|spec| self.instance(spec, Some(ty), &[])))
    }

    /// The kind of a subscript's key in the words of the table.
    fn key_kind(&self, key: &Expr, value: Value) -> Cow<'_, str> {
        match key {
            Expr::Slice(_) => Cow::Borrowed("slice"),
            Expr::Tuple(tuple) => {
                let kinds: Vec<Cow<'_, str>> = tuple
                    .elts
                    .iter()
                    .map(|element| {
                        let known = self.facts[self.unit].get(&element.range()).copied();
                        self.key_kind(element, known.unwrap_or_default())
                    })
                    .collect();
                Cow::Owned(kinds.join(","))
            }
            _ => match self.type_name(value) {
                Some("pandas.Series" | "numpy.ndarray" | "pandas.Index") => Cow::Borrowed("array"),
                Some("pandas.DataFrame") => Cow::Borrowed("frame"),
                Some(name) => Cow::Borrowed(name),
                None => Cow::Borrowed(""),
            },
        }
    }

    // --- calls ---------------------------------------------------------------------------

    fn call(&mut self, call: &'a ast::ExprCall) -> Value {
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

    // --- operators -----------------------------------------------------------------------

    pub(super) fn arithmetic(
        &mut self,
        left: Option<TypeId>,
        op: Operator,
        right: Option<TypeId>,
    ) -> Option<TypeId> {
        let left_name = left.map(|ty| self.names.type_name(ty));
        let right_name = right.map(|ty| self.names.type_name(ty));
        if op == Operator::Mod && left_name == Some("str") {
            return left;
        }
        // pandas answers for both sides, numpy for arrays and scalars.
        for owner in ["pandas.DataFrame", "pandas.Series"] {
            if left_name == Some(owner) {
                return left;
            }
            if right_name == Some(owner) && left_name.is_some() {
                return right;
            }
        }
        let (left_name, right_name) = (left_name?, right_name?);
        let number = |name: &str| matches!(name, "int" | "float" | "bool");
        let result = match (left_name, right_name) {
            ("numpy.ndarray", other) if number(other) || other == "numpy.ndarray" => "numpy.ndarray",
            (other, "numpy.ndarray") if number(other) => "numpy.ndarray",
            ("int" | "bool", "int" | "bool") => match op {
                Operator::Div => "float",
                // A negative exponent gives a float.
                Operator::Pow => return None,
                _ => "int",
            },
            (a, b) if number(a) && number(b) => "float",
            ("str", "str") if op == Operator::Add => "str",
            ("str", "int") | ("int", "str") if op == Operator::Mult => "str",
            ("list", "list") if op == Operator::Add => {
                return if left == right { left } else { self.named_type("list").ty };
            }
            ("list", "int") if op == Operator::Mult => return left,
            ("int", "list") if op == Operator::Mult => return right,
            ("set", "set") => return left,
            ("datetime.datetime", "datetime.datetime") if op == Operator::Sub => "datetime.timedelta",
            ("datetime.datetime", "datetime.timedelta") => "datetime.datetime",
            _ => return None,
        };
        self.named_type(result).ty
    }

    fn compare(&mut self, compare: &'a ast::ExprCompare) -> Value {
        let left = self.expression(&compare.left);
        let right: Vec<Value> = compare.comparators.iter().map(|e| self.expression(e)).collect();
        let identity = compare
            .ops
            .iter()
            .all(|op| matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot | ast::CmpOp::In | ast::CmpOp::NotIn));
        if identity {
            return self.named_type("bool");
        }
        let sides: Vec<Option<&str>> =
            std::iter::once(&left).chain(&right).map(|value| self.type_name(*value)).collect();
        for owner in ["pandas.DataFrame", "pandas.Series", "numpy.ndarray"] {
            if sides[0] == Some(owner) {
                return left;
            }
        }
        let plain = |ty: &Option<&str>| {
            matches!(ty, Some("int" | "float" | "str" | "bool" | "NoneType" | "list" | "tuple"))
        };
        if sides.iter().all(plain) { self.named_type("bool") } else { Value::UNKNOWN }
    }

    // --- scopes inside expressions -------------------------------------------------------

    /// Reads a comprehension and gives the type of its last part.
    fn comprehension(&mut self, generators: &'a [ast::Comprehension], parts: &[&'a Expr]) -> Option<TypeId> {
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

    fn lambda(&mut self, lambda: &'a ast::ExprLambda) {
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
