//! Patterns: Python with metavariables, matched against the syntax tree.
//!
//! `$x` is any expression, `$_` any expression that is not kept, `*$xs` the remaining positional
//! and `**$rest` the remaining keyword arguments. A name that does not start with `$` is matched by
//! the qualified name it stands for, so `numpy.float` finds `np.float` as well.

use std::mem::Discriminant;

use mlem_python::ast::comparable::ComparableExpr;
use mlem_python::ast::{self, Expr, Keyword, Stmt};
use mlem_python::{Program, Ranged, TextRange, Unit};
use rustc_hash::FxHashMap;

/// How a metavariable is spelled so that the Python parser reads it as a name.
const PREFIX: &str = "__mlem_";

/// Writes `$name` as an ordinary name, outside string literals.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + 16);
    let mut quote: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '$') if characters.peek().is_some_and(|c| c.is_alphabetic() || *c == '_') => {
                encoded.push_str(PREFIX);
                continue;
            }
            _ => {}
        }
        encoded.push(character);
    }
    encoded
}

/// The metavariable an expression is, if it is one.
pub(crate) fn metavariable(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(name) => name.id.as_str().strip_prefix(PREFIX),
        _ => None,
    }
}

/// The metavariable of `*$xs`.
pub(crate) fn starred_metavariable(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Starred(starred) => metavariable(&starred.value),
        _ => None,
    }
}

/// The metavariable of `**$rest`.
pub(crate) fn rest_metavariable(keyword: &Keyword) -> Option<&str> {
    if keyword.arg.is_some() {
        return None;
    }
    metavariable(&keyword.value)
}

/// The text of a dotted name whose root is not a metavariable.
pub(crate) fn dotted(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) if metavariable(expr).is_none() => Some(name.id.to_string()),
        Expr::Attribute(attribute) => {
            let mut text = dotted(&attribute.value)?;
            text.push('.');
            text.push_str(attribute.attr.as_str());
            Some(text)
        }
        _ => None,
    }
}

/// Parses pattern or replacement text; the unit has no syntax errors.
pub(crate) fn parse(text: &str) -> Result<Unit, String> {
    let unit = Unit::module(&encode(text));
    match unit.syntax() {
        mlem_python::Syntax::Clean => Ok(unit),
        other => Err(format!("`{text}` is not Python: {other:?}")),
    }
}

/// What a pattern is looked up by while walking a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// A name or attribute with this last segment.
    Name(String),
    /// An expression of this kind that begins with that name: `f(…)`, `x.f(…)[0]`, `x.f == 1`.
    Node(Discriminant<Expr>, String),
    /// A string literal.
    Text(String),
    /// Any expression of this kind.
    Shape(Discriminant<Expr>),
}

/// The part of an expression that is written first, where its name is looked for.
pub(crate) fn head(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Call(call) => Some(&call.func),
        Expr::Subscript(subscript) => Some(&subscript.value),
        Expr::Compare(compare) => Some(&compare.left),
        Expr::BinOp(binary) => Some(&binary.left),
        Expr::BoolOp(boolean) => boolean.values.first(),
        Expr::UnaryOp(unary) => Some(&unary.operand),
        _ => None,
    }
}

/// The metavariable that an expression of a pattern begins with and takes an attribute of.
fn receiver(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Attribute(attribute) => metavariable(&attribute.value).or_else(|| receiver(&attribute.value)),
        other => receiver(head(other)?),
    }
}

/// A parsed pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    unit: Unit,
    /// The outermost dotted names of the pattern, by their place in it.
    dotted: FxHashMap<TextRange, String>,
    /// The dotted name, if the pattern is nothing else.
    bare: Option<String>,
    /// The metavariable that the pattern begins with: the value its names are looked up on.
    receiver: Option<String>,
    /// Matches a whole statement rather than an expression.
    pub(crate) statement: bool,
}

impl Pattern {
    /// Parses a pattern. `statement` asks for an expression pattern to match expression
    /// statements only (because its replacement is a statement).
    pub(crate) fn parse(text: &str, statement: bool) -> Result<Pattern, String> {
        let unit = parse(text)?;
        let statement = match unit.body() {
            [Stmt::Expr(_)] => statement,
            [Stmt::Assign(assign)] if assign.targets.len() == 1 => true,
            [Stmt::Assign(_)] => return Err(format!("`{text}` has several targets")),
            [Stmt::AugAssign(_) | Stmt::For(_) | Stmt::Delete(_)] => {
                return Err(format!("`{text}`: only expressions and assignments can be patterns"));
            }
            [_] => {
                return Err(format!("`{text}`: only expressions and assignments can be patterns"));
            }
            other => {
                return Err(format!("`{text}` holds {} statements, a pattern is one", other.len()));
            }
        };
        struct Names(FxHashMap<TextRange, String>);
        impl<'a> ast::visitor::Visitor<'a> for Names {
            fn visit_expr(&mut self, expr: &'a Expr) {
                match dotted(expr) {
                    Some(name) => {
                        self.0.insert(expr.range(), name);
                    }
                    None => ast::visitor::walk_expr(self, expr),
                }
            }
        }
        let mut names = Names(FxHashMap::default());
        for statement in unit.body() {
            ast::visitor::Visitor::visit_stmt(&mut names, statement);
        }
        let bare = match unit.body() {
            [Stmt::Expr(statement)] => names.0.get(&statement.value.range()).cloned(),
            _ => None,
        };
        let mut pattern = Pattern { unit, dotted: names.0, bare, receiver: None, statement };
        pattern.receiver = pattern.key().and_then(receiver).map(str::to_string);
        if pattern.key().is_none_or(|key| metavariable(key).is_some()) {
            return Err(format!("`{text}` matches everything"));
        }
        Ok(pattern)
    }

    /// The expression that decides what the pattern is looked up by.
    fn key(&self) -> Option<&Expr> {
        match self.unit.body() {
            [Stmt::Expr(statement)] => Some(&statement.value),
            [Stmt::Assign(assign)] if metavariable(&assign.value).is_some() => assign.targets.first(),
            [Stmt::Assign(assign)] => Some(&assign.value),
            _ => None,
        }
    }

    pub(crate) fn trigger(&self) -> Option<Trigger> {
        let key = self.key()?;
        if let Expr::StringLiteral(literal) = key {
            return Some(Trigger::Text(literal.value.to_str().to_string()));
        }
        if let Some(name) = last_segment(key) {
            return Some(Trigger::Name(name));
        }
        let kind = std::mem::discriminant(key);
        let mut part = key;
        while let Some(first) = head(part) {
            if let Some(name) = last_segment(first) {
                return Some(Trigger::Node(kind, name));
            }
            part = first;
        }
        Some(Trigger::Shape(kind))
    }

    /// The dotted name, if the pattern is nothing else.
    pub(crate) fn bare(&self) -> Option<&str> {
        self.bare.as_deref()
    }

    /// Whether the pattern is a builtin, or a call of one.
    pub(crate) fn is_builtin(&self) -> bool {
        let is_name = |expr: &Expr| {
            self.dotted.get(&expr.range()).is_some_and(|name| !name.contains('.')) && expr.is_name_expr()
        };
        match self.key() {
            Some(Expr::Call(call)) => is_name(&call.func),
            Some(other) => is_name(other),
            None => false,
        }
    }

    /// Whether the pattern is an item of something: `rcParams['text.latex.unicode']`.
    pub(crate) fn is_subscript(&self) -> bool {
        self.key().is_some_and(Expr::is_subscript_expr)
    }

    /// The metavariable that the pattern begins with: `frame` of `$frame.as_matrix()`.
    pub(crate) fn receiver(&self) -> Option<&str> {
        self.receiver.as_deref()
    }

    /// The dotted name of what the pattern calls, alone or to give it a name.
    pub(crate) fn called(&self) -> Option<String> {
        let expr = match self.unit.body() {
            [Stmt::Expr(statement)] => &statement.value,
            [Stmt::Assign(assign)] => &assign.value,
            _ => return None,
        };
        let Expr::Call(call) = &**expr else {
            return None;
        };
        dotted(&call.func).filter(|name| name.contains('.'))
    }

    /// The metavariables the pattern binds.
    pub(crate) fn metavariables(&self) -> Vec<String> {
        metavariables(&self.unit)
    }

    /// Whether the pattern holds a name that is matched by what it stands for, which identifies
    /// the library without any type.
    pub(crate) fn is_anchored(&self) -> bool {
        !self.dotted.is_empty()
    }

    /// Matches an expression.
    pub(crate) fn match_expr<'a>(
        &self,
        program: &'a Program,
        unit: usize,
        code: &'a Expr,
    ) -> Option<Bindings<'a>> {
        let [Stmt::Expr(statement)] = self.unit.body() else {
            return None;
        };
        let mut matcher = Matcher::new(self, program, unit);
        matcher.expr(&statement.value, code).then_some(matcher.bindings)
    }

    /// Matches a statement.
    pub(crate) fn match_stmt<'a>(
        &self,
        program: &'a Program,
        unit: usize,
        code: &'a Stmt,
    ) -> Option<Bindings<'a>> {
        let mut matcher = Matcher::new(self, program, unit);
        let matched = match (self.unit.body(), code) {
            ([Stmt::Expr(pattern)], Stmt::Expr(code)) => matcher.expr(&pattern.value, &code.value),
            ([Stmt::Assign(pattern)], Stmt::Assign(code)) => {
                code.targets.len() == 1
                    && matcher.expr(&pattern.targets[0], &code.targets[0])
                    && matcher.expr(&pattern.value, &code.value)
            }
            _ => false,
        };
        matched.then_some(matcher.bindings)
    }
}

/// The metavariables of a parsed text, each once.
pub(crate) fn metavariables(unit: &Unit) -> Vec<String> {
    struct Collector(Vec<String>);
    impl<'a> ast::visitor::Visitor<'a> for Collector {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Some(name) = metavariable(expr)
                && name != "_"
                && !self.0.iter().any(|known| known == name)
            {
                self.0.push(name.to_string());
            }
            ast::visitor::walk_expr(self, expr);
        }
    }
    let mut collector = Collector(Vec::new());
    for statement in unit.body() {
        ast::visitor::Visitor::visit_stmt(&mut collector, statement);
    }
    collector.0
}

/// The last segment of a dotted name or attribute.
pub(crate) fn last_segment(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Name(name) if metavariable(expr).is_none() => Some(name.id.to_string()),
        Expr::Attribute(attribute) => Some(attribute.attr.to_string()),
        _ => None,
    }
}

/// What a metavariable stands for.
#[derive(Debug, Clone)]
pub(crate) enum Binding<'a> {
    /// `$x`
    Expr(&'a Expr),
    /// `*$xs`
    Positional(&'a [Expr]),
    /// `**$rest`
    Keywords(Vec<&'a Keyword>),
}

impl Binding<'_> {
    /// The bytes from the first to the last bound item, where there is one.
    pub(crate) fn range(&self) -> Option<TextRange> {
        let (first, last) = match self {
            Binding::Expr(expr) => (expr.range(), expr.range()),
            Binding::Positional(items) => (items.first()?.range(), items.last()?.range()),
            Binding::Keywords(items) => (items.first()?.range(), items.last()?.range()),
        };
        Some(TextRange::new(first.start(), last.end()))
    }
}

/// The metavariables of one match.
#[derive(Debug, Default)]
pub(crate) struct Bindings<'a>(Vec<(String, Binding<'a>)>);

impl<'a> Bindings<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&Binding<'a>> {
        self.0.iter().find_map(|(known, binding)| (known == name).then_some(binding))
    }

    pub(crate) fn expr(&self, name: &str) -> Option<&'a Expr> {
        match self.get(name) {
            Some(Binding::Expr(expr)) => Some(expr),
            _ => None,
        }
    }

    fn bind(&mut self, name: &str, binding: Binding<'a>) {
        self.0.push((name.to_string(), binding));
    }
}

struct Matcher<'p, 'a> {
    dotted: &'p FxHashMap<TextRange, String>,
    program: &'a Program,
    unit: usize,
    bindings: Bindings<'a>,
}

impl<'p, 'a> Matcher<'p, 'a> {
    fn new(pattern: &'p Pattern, program: &'a Program, unit: usize) -> Self {
        Matcher { dotted: &pattern.dotted, program, unit, bindings: Bindings::default() }
    }

    fn expr(&mut self, pattern: &Expr, code: &'a Expr) -> bool {
        if let Some(name) = metavariable(pattern) {
            return self.bind(name, code);
        }
        if let Some(name) = self.dotted.get(&pattern.range()) {
            return names(self.program, self.unit, code, name);
        }
        match (pattern, code) {
            (Expr::Attribute(pattern), Expr::Attribute(code)) => {
                pattern.attr.as_str() == code.attr.as_str() && self.expr(&pattern.value, &code.value)
            }
            (Expr::Call(pattern), Expr::Call(code)) => {
                self.expr(&pattern.func, &code.func) && self.arguments(&pattern.arguments, &code.arguments)
            }
            (Expr::Subscript(pattern), Expr::Subscript(code)) => {
                self.expr(&pattern.value, &code.value) && self.expr(&pattern.slice, &code.slice)
            }
            (Expr::Tuple(pattern), Expr::Tuple(code)) => self.exprs(&pattern.elts, &code.elts),
            (Expr::List(pattern), Expr::List(code)) => self.exprs(&pattern.elts, &code.elts),
            (Expr::Set(pattern), Expr::Set(code)) => self.exprs(&pattern.elts, &code.elts),
            (Expr::Starred(pattern), Expr::Starred(code)) => self.expr(&pattern.value, &code.value),
            (Expr::BinOp(pattern), Expr::BinOp(code)) => {
                pattern.op == code.op
                    && self.expr(&pattern.left, &code.left)
                    && self.expr(&pattern.right, &code.right)
            }
            (Expr::UnaryOp(pattern), Expr::UnaryOp(code)) => {
                pattern.op == code.op && self.expr(&pattern.operand, &code.operand)
            }
            (Expr::BoolOp(pattern), Expr::BoolOp(code)) => {
                pattern.op == code.op && self.exprs(&pattern.values, &code.values)
            }
            (Expr::Compare(pattern), Expr::Compare(code)) => {
                pattern.ops == code.ops
                    && self.expr(&pattern.left, &code.left)
                    && self.exprs(&pattern.comparators, &code.comparators)
            }
            (Expr::If(pattern), Expr::If(code)) => {
                self.expr(&pattern.test, &code.test)
                    && self.expr(&pattern.body, &code.body)
                    && self.expr(&pattern.orelse, &code.orelse)
            }
            (Expr::Slice(pattern), Expr::Slice(code)) => {
                self.optional(pattern.lower.as_deref(), code.lower.as_deref())
                    && self.optional(pattern.upper.as_deref(), code.upper.as_deref())
                    && self.optional(pattern.step.as_deref(), code.step.as_deref())
            }
            (Expr::Generator(pattern), Expr::Generator(code)) => {
                self.expr(&pattern.elt, &code.elt) && self.generators(&pattern.generators, &code.generators)
            }
            (Expr::ListComp(pattern), Expr::ListComp(code)) => {
                self.expr(&pattern.elt, &code.elt) && self.generators(&pattern.generators, &code.generators)
            }
            (Expr::Dict(pattern), Expr::Dict(code)) => {
                pattern.items.len() == code.items.len()
                    && pattern.items.iter().zip(&code.items).all(|(p, c)| {
                        self.optional(p.key.as_ref(), c.key.as_ref()) && self.expr(&p.value, &c.value)
                    })
            }
            // Making expressions comparable costs more than a look at their kinds.
            _ => {
                std::mem::discriminant(pattern) == std::mem::discriminant(code)
                    && ComparableExpr::from(pattern) == ComparableExpr::from(code)
            }
        }
    }

    fn generators(&mut self, pattern: &[ast::Comprehension], code: &'a [ast::Comprehension]) -> bool {
        pattern.len() == code.len()
            && pattern.iter().zip(code).all(|(p, c)| {
                p.is_async == c.is_async
                    && self.expr(&p.target, &c.target)
                    && self.expr(&p.iter, &c.iter)
                    && self.exprs(&p.ifs, &c.ifs)
            })
    }

    fn bind(&mut self, name: &str, code: &'a Expr) -> bool {
        if matches!(code, Expr::Starred(_)) {
            return false;
        }
        if name == "_" {
            return true;
        }
        if let Some(known) = self.bindings.get(name) {
            let Binding::Expr(known) = known else {
                return false;
            };
            return ComparableExpr::from(*known) == ComparableExpr::from(code);
        }
        self.bindings.bind(name, Binding::Expr(code));
        true
    }

    fn optional(&mut self, pattern: Option<&Expr>, code: Option<&'a Expr>) -> bool {
        match (pattern, code) {
            (None, None) => true,
            (Some(pattern), Some(code)) => self.expr(pattern, code),
            _ => false,
        }
    }

    fn exprs(&mut self, pattern: &[Expr], code: &'a [Expr]) -> bool {
        if let Some((last, before)) = pattern.split_last()
            && let Some(name) = starred_metavariable(last)
        {
            if code.len() < before.len() {
                return false;
            }
            let (head, tail) = code.split_at(before.len());
            let matched = before.iter().zip(head).all(|(p, c)| self.expr(p, c));
            if matched && name != "_" {
                self.bindings.bind(name, Binding::Positional(tail));
            }
            return matched;
        }
        pattern.len() == code.len() && pattern.iter().zip(code).all(|(p, c)| self.expr(p, c))
    }

    fn arguments(&mut self, pattern: &ast::Arguments, code: &'a ast::Arguments) -> bool {
        if !self.exprs(&pattern.args, &code.args) {
            return false;
        }
        let mut remaining: Vec<&'a Keyword> = code.keywords.iter().collect();
        let mut rest = None;
        for keyword in &pattern.keywords {
            if let Some(name) = rest_metavariable(keyword) {
                rest = Some(name);
                continue;
            }
            let Some(name) = &keyword.arg else {
                return false;
            };
            let Some(position) = remaining
                .iter()
                .position(|k| k.arg.as_ref().is_some_and(|arg| arg.as_str() == name.as_str()))
            else {
                return false;
            };
            let found = remaining.remove(position);
            if !self.expr(&keyword.value, &found.value) {
                return false;
            }
        }
        match rest {
            Some(name) => {
                if name != "_" {
                    self.bindings.bind(name, Binding::Keywords(remaining));
                }
                true
            }
            None => remaining.is_empty(),
        }
    }
}

/// Whether an expression stands for a qualified name; an undotted name stands for the builtin
/// unless the program binds it.
pub(crate) fn names(program: &Program, unit: usize, code: &Expr, qualified: &str) -> bool {
    if !matches!(code, Expr::Name(_) | Expr::Attribute(_)) {
        return false;
    }
    if let Some(found) = program.qualified_name(unit, code) {
        return found == qualified || found.strip_prefix("builtins.") == Some(qualified);
    }
    match code {
        Expr::Name(name) => {
            let id = name.id.as_str();
            (id == qualified || comes_with_a_star(program, id, qualified)) && !program.name_is_bound(id)
        }
        // What is assigned to, or belongs to what a star import brings, has no name of its own, but
        // its owner has.
        Expr::Attribute(part) => qualified.rsplit_once('.').is_some_and(|(owner, last)| {
            part.attr.as_str() == last && names(program, unit, &part.value, owner)
        }),
        _ => false,
    }
}

/// Whether a name that nothing binds is one that `from module import *` brings. Several such
/// imports leave open which of them brings a name, but a rule that speaks of `module.name` knows
/// that this one does.
fn comes_with_a_star(program: &Program, name: &str, qualified: &str) -> bool {
    let Some((module, last)) = qualified.rsplit_once('.') else {
        return false;
    };
    last == name
        && program.imports().iter().any(|import| {
            import.is_star
                && (import.qualified == module
                    // matplotlib.pylab imports all of these.
                    || matches!(import.qualified.as_str(), "pylab" | "matplotlib.pylab")
                        && matches!(module, "numpy" | "matplotlib.pyplot" | "numpy.random"))
        })
}
