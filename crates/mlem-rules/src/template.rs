//! Replacements: pattern text rendered with what the metavariables stand for and with the
//! notebook's own names for what the template calls by qualified names.

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_keyword, walk_stmt};
use mlem_python::ast::{self, Expr, Stmt};
use mlem_python::{Ranged, TextRange, TextSize, Unit};

use crate::imports::{Needs, Reach};
use crate::pattern::{
    self, Binding, Bindings, dotted, metavariable, rest_metavariable, starred_metavariable,
};

/// A parsed replacement.
#[derive(Debug)]
pub(crate) struct Template {
    unit: Unit,
    /// Names a lambda or comprehension of the template binds itself.
    own_names: Vec<String>,
    /// Keywords written beside each `**$rest`.
    beside_rest: Vec<(String, Vec<String>)>,
}

/// Where a replacement is rendered.
pub(crate) struct Place<'a> {
    pub(crate) needs: Needs<'a>,
    /// Source of the unit the bindings come from.
    pub(crate) source: &'a str,
    pub(crate) at: TextSize,
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Template, String> {
        let unit = pattern::parse(text)?;
        let mut own_names = Vec::new();
        collect_own_names(&unit, &mut own_names);
        let mut beside = BesideRest(Vec::new());
        for statement in unit.body() {
            beside.visit_stmt(statement);
        }
        Ok(Template { unit, own_names, beside_rest: beside.0 })
    }

    /// Whether a keyword of the template is given already, so that the code has the new form.
    pub(crate) fn repeats_keyword(&self, bindings: &Bindings) -> bool {
        self.beside_rest.iter().any(|(rest, names)| {
            let Some(Binding::Keywords(given)) = bindings.get(rest) else {
                return false;
            };
            given.iter().any(|keyword| {
                keyword.arg.as_ref().is_some_and(|arg| names.iter().any(|name| name == arg.as_str()))
            })
        })
    }

    /// Nothing takes the place of the match.
    pub(crate) fn is_empty(&self) -> bool {
        self.unit.body().is_empty()
    }

    /// Whether this is a statement rather than an expression.
    pub(crate) fn is_statement(&self) -> bool {
        !matches!(self.unit.body(), [Stmt::Expr(_)])
    }

    /// Whether the template can stand where something is assigned or deleted. A target with a call in
    /// it would change something that is thrown away.
    pub(crate) fn is_target(&self) -> bool {
        struct Calls(bool);
        impl<'a> Visitor<'a> for Calls {
            fn visit_expr(&mut self, expr: &'a Expr) {
                self.0 |= expr.is_call_expr();
                walk_expr(self, expr);
            }
        }
        let [Stmt::Expr(statement)] = self.unit.body() else {
            return false;
        };
        let mut calls = Calls(false);
        calls.visit_expr(&statement.value);
        let is_place = matches!(*statement.value, Expr::Subscript(_) | Expr::Attribute(_) | Expr::Name(_));
        is_place && !calls.0
    }

    /// The dotted name, if the template is nothing else.
    pub(crate) fn bare(&self) -> Option<String> {
        match self.unit.body() {
            [Stmt::Expr(statement)] => dotted(&statement.value),
            _ => None,
        }
    }

    /// Whether the template is written over several lines.
    pub(crate) fn is_multiline(&self) -> bool {
        self.unit.source().trim().contains('\n')
    }

    /// Whether the outermost expression binds as tightly as a name.
    pub(crate) fn is_atom(&self) -> bool {
        match self.unit.body() {
            [Stmt::Expr(statement)] => is_atom(&statement.value),
            _ => true,
        }
    }

    /// Whether a dotted name begins with a name that the template binds.
    fn is_own(&self, name: &str) -> bool {
        let root = name.split('.').next().unwrap_or(name);
        self.own_names.iter().any(|own| own == root)
    }

    pub(crate) fn metavariables(&self) -> Vec<String> {
        pattern::metavariables(&self.unit)
    }

    /// Qualified names the template calls things by.
    pub(crate) fn dotted_names(&self) -> Vec<String> {
        struct Names(Vec<String>);
        impl<'a> Visitor<'a> for Names {
            fn visit_expr(&mut self, expr: &'a Expr) {
                match dotted(expr) {
                    Some(name) => self.0.push(name),
                    None => walk_expr(self, expr),
                }
            }
        }
        let mut names = Names(Vec::new());
        for statement in self.unit.body() {
            names.visit_stmt(statement);
        }
        names.0.retain(|name| name.contains('.') && !self.is_own(name));
        names.0
    }

    /// The replacement's text.
    ///
    /// # Errors
    /// Why it cannot be written here, in words for a person.
    pub(crate) fn render(&self, place: &mut Place, bindings: &Bindings) -> Result<String, String> {
        let mut renderer = Renderer { template: self, place, bindings };
        let source = self.unit.source();
        let (Some(first), Some(last)) = (self.unit.body().first(), self.unit.body().last()) else {
            return Ok(String::new());
        };
        let range = TextRange::new(first.start(), last.end());
        let mut holes = Holes::default();
        for statement in self.unit.body() {
            holes.visit_stmt(statement);
        }
        renderer.splice(source, range, &holes.found)
    }
}

struct BesideRest(Vec<(String, Vec<String>)>);

impl<'a> Visitor<'a> for BesideRest {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let keywords = &call.arguments.keywords;
            let written = keywords.iter().filter_map(|k| k.arg.as_ref());
            let names: Vec<String> = written.map(ToString::to_string).collect();
            let rest = keywords.iter().find_map(rest_metavariable);
            if let (Some(rest), false) = (rest, names.is_empty()) {
                self.0.push((rest.to_string(), names));
            }
        }
        walk_expr(self, expr);
    }
}

fn collect_own_names(unit: &Unit, names: &mut Vec<String>) {
    struct Own<'n>(&'n mut Vec<String>);
    impl<'a> Visitor<'a> for Own<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            if let Expr::Name(name) = expr
                && !name.ctx.is_load()
            {
                self.0.push(name.id.to_string());
            }
            walk_expr(self, expr);
        }
        fn visit_parameter(&mut self, parameter: &'a ast::Parameter) {
            self.0.push(parameter.name.to_string());
        }
    }
    let mut own = Own(names);
    for statement in unit.body() {
        own.visit_stmt(statement);
    }
}

/// How tightly the place of an expression binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// The target of an attribute, subscript or call.
    Primary,
    /// An operand of an operator.
    Operand,
    /// The index of a subscript, where bare tuples and slices may stand.
    Index,
    /// An argument, an element, the side of an assignment.
    Open,
}

/// The outermost expressions of a template that have to be rendered, with their slots.
#[derive(Default)]
struct Holes<'t> {
    found: Vec<(&'t Expr, Slot)>,
    slot: Option<Slot>,
}

impl<'t> Visitor<'t> for Holes<'t> {
    fn visit_stmt(&mut self, stmt: &'t Stmt) {
        walk_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'t Expr) {
        let slot = self.slot.take().unwrap_or(Slot::Open);
        let rendered = metavariable(expr).is_some()
            || dotted(expr).is_some()
            || matches!(expr, Expr::Call(_) | Expr::List(_) | Expr::Tuple(_) | Expr::Set(_));
        if rendered {
            self.found.push((expr, slot));
            return;
        }
        self.children(expr);
    }

    fn visit_keyword(&mut self, keyword: &'t ast::Keyword) {
        walk_keyword(self, keyword);
    }
}

impl<'t> Holes<'t> {
    fn child(&mut self, expr: &'t Expr, slot: Slot) {
        self.slot = Some(slot);
        self.visit_expr(expr);
    }

    fn children(&mut self, expr: &'t Expr) {
        match expr {
            Expr::Attribute(attribute) => self.child(&attribute.value, Slot::Primary),
            Expr::Subscript(subscript) => {
                self.child(&subscript.value, Slot::Primary);
                self.child(&subscript.slice, Slot::Index);
            }
            Expr::BinOp(binary) => {
                self.child(&binary.left, Slot::Operand);
                self.child(&binary.right, Slot::Operand);
            }
            Expr::UnaryOp(unary) => self.child(&unary.operand, Slot::Operand),
            Expr::Compare(compare) => {
                self.child(&compare.left, Slot::Operand);
                for operand in &compare.comparators {
                    self.child(operand, Slot::Operand);
                }
            }
            Expr::BoolOp(boolean) => {
                for operand in &boolean.values {
                    self.child(operand, Slot::Operand);
                }
            }
            _ => walk_expr(self, expr),
        }
    }
}

struct Renderer<'r, 'p> {
    template: &'r Template,
    place: &'r mut Place<'p>,
    bindings: &'r Bindings<'r>,
}

impl Renderer<'_, '_> {
    /// The text of a range with the holes in it rendered.
    fn splice(&mut self, source: &str, range: TextRange, holes: &[(&Expr, Slot)]) -> Result<String, String> {
        let mut text = String::new();
        let mut at = range.start();
        let mut holes: Vec<_> = holes.to_vec();
        holes.sort_by_key(|(expr, _)| expr.start());
        for (expr, slot) in holes {
            text.push_str(&source[TextRange::new(at, expr.start())]);
            text.push_str(&self.expr(expr, slot)?);
            at = expr.end();
        }
        text.push_str(&source[TextRange::new(at, range.end())]);
        Ok(text)
    }

    fn expr(&mut self, expr: &Expr, slot: Slot) -> Result<String, String> {
        if let Some(name) = metavariable(expr) {
            return self.metavariable(name, slot);
        }
        if let Some(name) = dotted(expr) {
            return self.reference(&name);
        }
        match expr {
            Expr::Call(call) => {
                let mut function = self.expr(&call.func, Slot::Primary)?;
                if !is_atom(&call.func) {
                    function = format!("({function})");
                }
                let mut arguments = Vec::new();
                // A generator that is the only argument needs no parentheses of its own.
                if let ([only], true) = (&*call.arguments.args, call.arguments.keywords.is_empty())
                    && let Some(bound @ Expr::Generator(_)) =
                        metavariable(only).and_then(|name| self.bindings.expr(name))
                {
                    return Ok(format!("{function}({})", &self.place.source[bound.range()]));
                }
                for argument in &call.arguments.args {
                    arguments.extend(self.element(argument)?);
                }
                for keyword in &call.arguments.keywords {
                    arguments.extend(self.keyword(keyword)?);
                }
                Ok(format!("{function}({})", arguments.join(", ")))
            }
            Expr::List(list) => Ok(format!("[{}]", self.elements(&list.elts)?.join(", "))),
            Expr::Set(set) => Ok(format!("{{{}}}", self.elements(&set.elts)?.join(", "))),
            Expr::Tuple(tuple) => {
                let elements = self.elements(&tuple.elts)?;
                let body = match elements.as_slice() {
                    [single] => format!("{single},"),
                    several => several.join(", "),
                };
                Ok(if tuple.parenthesized { format!("({body})") } else { body })
            }
            other => {
                let mut holes = Holes::default();
                holes.children(other);
                let template = self.template;
                self.splice(template.unit.source(), other.range(), &holes.found)
            }
        }
    }

    fn elements(&mut self, elements: &[Expr]) -> Result<Vec<String>, String> {
        let mut texts = Vec::new();
        for element in elements {
            texts.extend(self.element(element)?);
        }
        Ok(texts)
    }

    /// One element or argument; nothing when it is a metavariable that bound nothing.
    fn element(&mut self, element: &Expr) -> Result<Option<String>, String> {
        if let Some(name) = starred_metavariable(element) {
            return Ok(self.group(name));
        }
        self.expr(element, Slot::Open).map(Some)
    }

    fn keyword(&mut self, keyword: &ast::Keyword) -> Result<Option<String>, String> {
        if let Some(name) = rest_metavariable(keyword) {
            return Ok(self.group(name));
        }
        let value = self.expr(&keyword.value, Slot::Open)?;
        Ok(Some(match &keyword.arg {
            Some(name) => format!("{name}={value}"),
            None => format!("**{value}"),
        }))
    }

    /// The text of a `*$xs` or `**$rest`; verbatim with what stands between when contiguous.
    fn group(&self, name: &str) -> Option<String> {
        let binding = self.bindings.get(name)?;
        let ranges: Vec<TextRange> = match binding {
            Binding::Expr(expr) => {
                return Some(format!("*{}", &self.place.source[expr.range()]));
            }
            Binding::Positional(items) => items.iter().map(Ranged::range).collect(),
            Binding::Keywords(items) => items.iter().map(|k| k.range()).collect(),
        };
        let range = binding.range()?;
        let text = &self.place.source[range];
        let contiguous = ranges.windows(2).all(|pair| {
            let between = &self.place.source[TextRange::new(pair[0].end(), pair[1].start())];
            crate::tokens::lex(between).iter().all(|token| matches!(&between[token.clone()], "," | "(" | ")"))
        });
        if contiguous && !text.contains('#') {
            return Some(text.to_string());
        }
        let parts: Vec<&str> = ranges.iter().map(|r| &self.place.source[*r]).collect();
        Some(parts.join(", "))
    }

    fn metavariable(&self, name: &str, slot: Slot) -> Result<String, String> {
        let Some(expr) = self.bindings.expr(name) else {
            return Err(format!("`${name}` is not an expression here"));
        };
        let text = &self.place.source[expr.range()];
        let parenthesise = match (slot, expr) {
            (Slot::Index, Expr::Tuple(_) | Expr::Slice(_)) => false,
            (_, Expr::Slice(_)) => {
                return Err("a slice cannot stand outside of an index".to_string());
            }
            (Slot::Primary, Expr::NumberLiteral(_)) => true,
            (Slot::Primary | Slot::Operand, _) => !is_atom(expr),
            (Slot::Open | Slot::Index, _) => is_loose(expr),
        };
        Ok(if parenthesise { format!("({text})") } else { text.to_string() })
    }

    fn reference(&mut self, name: &str) -> Result<String, String> {
        if self.template.is_own(name) {
            return Ok(name.to_string());
        }
        match self.place.needs.reach(self.place.at, name) {
            Reach::Text(text) => Ok(text),
            Reach::Blocked(reason) => Err(reason),
        }
    }
}

/// Whether an expression can stand before a dot or bracket without parentheses.
pub(crate) fn is_atom(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_)
        | Expr::Attribute(_)
        | Expr::Call(_)
        | Expr::Subscript(_)
        | Expr::List(_)
        | Expr::ListComp(_)
        | Expr::Dict(_)
        | Expr::DictComp(_)
        | Expr::Set(_)
        | Expr::SetComp(_)
        | Expr::NumberLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_)
        | Expr::EllipsisLiteral(_) => true,
        // Implicit concatenation binds looser than a dot only in the reader's eye, but stays legal.
        Expr::StringLiteral(_) | Expr::BytesLiteral(_) | Expr::FString(_) => true,
        Expr::Tuple(tuple) => tuple.parenthesized,
        Expr::Generator(generator) => generator.parenthesized,
        _ => false,
    }
}

/// Whether an expression needs parentheses even as an argument.
fn is_loose(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(tuple) => !tuple.parenthesized,
        Expr::Generator(generator) => !generator.parenthesized,
        Expr::Named(_) | Expr::Yield(_) | Expr::YieldFrom(_) => true,
        _ => false,
    }
}
