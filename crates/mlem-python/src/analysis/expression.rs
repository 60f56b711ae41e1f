//! The value of an expression.

use std::borrow::Cow;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{self as ast, Expr, Stmt, UnaryOp};
use ruff_text_size::Ranged;

use super::effects::Access;
use super::names::{Symbol, TypeId};
use super::{Pass, Value};

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

    pub(super) fn named_type(&mut self, name: &str) -> Value {
        Value::of(Some(self.names.type_of(name, Vec::new())))
    }

    fn holding(&mut self, name: &str, item: Option<TypeId>) -> Value {
        let item = item.filter(|item| self.names.depth(*item) < TYPE_DEPTH);
        let arguments = if item.is_some() { vec![item] } else { Vec::new() };
        Value::of(Some(self.names.type_of(name, arguments)))
    }

    pub(super) fn type_name(&self, value: Value) -> Option<&str> {
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

    pub(super) fn attribute(&mut self, attribute: &'a ast::ExprAttribute, called: bool) -> Value {
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
}
