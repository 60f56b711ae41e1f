//! The syntax tree in a neutral form: kinds, texts and children, with qualified names in it.
//!
//! Comparing two versions of a program wants what the parser's own tree does not give: names as
//! what they were imported from, literals by value, no comments, annotations, docstrings or
//! parentheses, and one node type to walk, hash and rewrite.

use std::hash::{Hash, Hasher};

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::program::Program;
use crate::unit::Syntax;

/// What a [`Node`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `def`: text is the name; children are decorators, parameters, a block.
    Function,
    /// `class`: text is the name; children are decorators, bases (with keywords), a block.
    Class,
    /// `return`, with its value.
    Return,
    /// `del`, with its targets.
    Delete,
    /// An assignment: targets, then the value. Annotations are left out.
    Assign,
    /// `+=` and its like: text is the operator; target and value.
    AugmentedAssign,
    /// `for`: target, iterable, a block, perhaps an `else` block.
    For,
    /// `while`: condition, a block, perhaps an `else` block.
    While,
    /// `if`: condition, a block, perhaps an `else` block (an `elif` is an `if` alone in it).
    If,
    /// `with`: items, a block.
    With,
    /// `with` item: the manager, perhaps a target.
    WithItem,
    /// `match`: subject, cases.
    Match,
    /// A case: text is the pattern; perhaps a guard, a block.
    Case,
    /// `raise`, with exception and cause.
    Raise,
    /// `try`: blocks (`body`, `else`, `finally`) and handlers.
    Try,
    /// `except`: perhaps the class, a block; text is the bound name.
    Handler,
    /// `assert`, with condition and message.
    Assert,
    /// An import statement: text is its source.
    Import,
    /// `global` or `nonlocal`: text is the names.
    Scope,
    /// An expression as a statement.
    Expression,
    /// `pass`.
    Pass,
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// An IPython escape: text is its source; of a cell in another language the whole cell.
    Escape,
    /// Source that does not parse: text is that source.
    Broken,
    /// Statements: text is `body`, `else` or `finally`.
    Block,
    /// `@decorator`.
    Decorator,
    /// A parameter: text is the name, with its stars; perhaps a default.
    Parameter,
    /// A name that the program binds.
    Name,
    /// What is reached by an import, or a builtin: text is the qualified name.
    Reference,
    /// `value.text`.
    Attribute,
    /// A call: what is called, then arguments.
    Call,
    /// `text=value`, or `**value` with an empty text.
    Keyword,
    /// `*value`.
    Starred,
    /// `value[index]`.
    Subscript,
    /// `lower:upper:step`, an absent part being [`Kind::Absent`].
    Slice,
    /// A part that is not there.
    Absent,
    /// A number: text is its value in one spelling.
    Number,
    /// A string: text is its value.
    Text,
    /// A byte string: text is its value, escaped.
    Bytes,
    /// `True`, `False`, `None` or `...`.
    Constant,
    /// An f-string: texts and expressions.
    Format,
    /// `[…]`.
    List,
    /// `(…)`.
    Tuple,
    /// `{…}`.
    Set,
    /// `{…: …}`.
    Dict,
    /// One item of a dict: key (absent for `**value`) and value.
    Pair,
    /// A binary operation: text is the operator.
    Binary,
    /// A unary operation: text is the operator.
    Unary,
    /// `and` or `or`.
    Boolean,
    /// A chain of comparisons: text is the operators.
    Compare,
    /// `lambda`: parameters, then the body.
    Lambda,
    /// `body if test else orelse`, in the order test, body, orelse.
    Conditional,
    /// A comprehension: text is `list`, `set`, `dict` or `generator`; element, then generators.
    Comprehension,
    /// `for … in … if …` in a comprehension: target, iterable, conditions.
    Generator,
    /// `await`.
    Await,
    /// `yield` and `yield from`.
    Yield,
    /// `name := value`.
    Walrus,
    /// Anything else: text is its source.
    Other,
}

/// A part of a program. Two nodes are equal if kind, text and children are; the place is left out.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Name, value or operator; the kinds say which.
    pub text: String,
    /// Its parts, in the order of the kinds' description.
    pub children: Vec<Node>,
    /// Index of the unit it stands in.
    pub unit: usize,
    /// Where, in bytes of the unit's source.
    pub range: TextRange,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.text == other.text && self.children == other.children
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
        self.text.hash(state);
        self.children.hash(state);
    }
}

impl Node {
    /// Calls `visit` on this node and everything below it, parents first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        visit(self);
        for child in &self.children {
            child.walk(visit);
        }
    }

    /// Whether this node or one below it satisfies `test`.
    pub fn any(&self, test: &mut dyn FnMut(&Node) -> bool) -> bool {
        test(self) || self.children.iter().any(|child| child.any(test))
    }

    /// How many nodes it has, itself included.
    pub fn size(&self) -> usize {
        1 + self.children.iter().map(Node::size).sum::<usize>()
    }

    /// The statements of its block of this name.
    pub fn block(&self, name: &str) -> Option<&[Node]> {
        let found = self.children.iter().find(|child| child.kind == Kind::Block && child.text == name);
        found.map(|block| block.children.as_slice())
    }
}

impl Program {
    /// The statements of one unit in neutral form. A cell in another language is one
    /// [`Kind::Escape`], source that does not parse one [`Kind::Broken`].
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn tree(&self, unit: usize) -> Vec<Node> {
        let parsed = &self.units()[unit];
        let whole = |kind| Node {
            kind,
            text: parsed.source().trim().to_owned(),
            children: Vec::new(),
            unit,
            range: TextRange::up_to(ruff_text_size::TextLen::text_len(parsed.source())),
        };
        match parsed.syntax() {
            Syntax::Opaque(_) => return vec![whole(Kind::Escape)],
            Syntax::Broken { .. } => return vec![whole(Kind::Broken)],
            Syntax::Clean | Syntax::Python2 { .. } => {}
        }
        let builder = Builder { program: self, unit, source: parsed.source() };
        let mut nodes = builder.statements(parsed.body());
        // Lines that only IPython's automagic can run are blanked before parsing. The code in a
        // line such as `%timeit f()` stands for it.
        for magic in parsed.magics() {
            let there = |node: &Node| {
                magic.range.contains_range(node.range)
                    || node
                        .any(&mut |part| part.kind == Kind::Escape && part.range.contains_range(magic.range))
            };
            if !nodes.iter().any(there) {
                let (start, end) = (magic.range.start().to_usize(), magic.range.end().to_usize());
                let text = parsed.source()[start..end].to_owned();
                nodes.push(Node { kind: Kind::Escape, text, children: Vec::new(), unit, range: magic.range });
            }
        }
        nodes.sort_by_key(|node| node.range.start());
        nodes
    }
}

struct Builder<'a> {
    program: &'a Program,
    unit: usize,
    source: &'a str,
}

impl Builder<'_> {
    fn node(&self, kind: Kind, text: &str, children: Vec<Node>, range: TextRange) -> Node {
        Node { kind, text: text.to_owned(), children, unit: self.unit, range }
    }

    fn text(&self, range: TextRange) -> &str {
        self.source.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default()
    }

    fn statements(&self, body: &[Stmt]) -> Vec<Node> {
        let all: Vec<Node> = body.iter().filter_map(|statement| self.statement(statement)).collect();
        if all.len() > 1 { all.into_iter().filter(|node| node.kind != Kind::Pass).collect() } else { all }
    }

    fn block(&self, name: &str, body: &[Stmt]) -> Node {
        let range = match (body.first(), body.last()) {
            (Some(first), Some(last)) => TextRange::new(first.start(), last.end()),
            _ => TextRange::default(),
        };
        let mut children = self.statements(body);
        if children.is_empty() {
            // A body of a docstring alone does what `pass` does.
            children.push(self.node(Kind::Pass, "", Vec::new(), range));
        }
        self.node(Kind::Block, name, children, range)
    }

    fn statement(&self, statement: &Stmt) -> Option<Node> {
        let range = statement.range();
        let node = |kind, text: &str, children| Some(self.node(kind, text, children, range));
        match statement {
            Stmt::FunctionDef(function) => {
                let mut children = self.decorators(&function.decorator_list);
                children.extend(self.parameters(&function.parameters));
                children.push(self.block("body", &function.body));
                node(Kind::Function, &function.name, children)
            }
            Stmt::ClassDef(class) => {
                let mut children = self.decorators(&class.decorator_list);
                if let Some(arguments) = &class.arguments {
                    children.extend(self.arguments(arguments));
                }
                children.push(self.block("body", &class.body));
                node(Kind::Class, &class.name, children)
            }
            Stmt::Return(inner) => node(Kind::Return, "", self.optional(inner.value.as_deref())),
            Stmt::Delete(inner) => node(Kind::Delete, "", self.expressions(&inner.targets)),
            Stmt::Assign(inner) => {
                let mut children = self.expressions(&inner.targets);
                children.push(self.expression(&inner.value));
                node(Kind::Assign, "", children)
            }
            Stmt::AnnAssign(inner) => {
                let value = inner.value.as_deref()?;
                node(Kind::Assign, "", vec![self.expression(&inner.target), self.expression(value)])
            }
            Stmt::AugAssign(inner) => node(
                Kind::AugmentedAssign,
                inner.op.as_str(),
                vec![self.expression(&inner.target), self.expression(&inner.value)],
            ),
            Stmt::For(inner) => {
                let mut children = vec![
                    self.expression(&inner.target),
                    self.expression(&inner.iter),
                    self.block("body", &inner.body),
                ];
                self.push_block("else", &inner.orelse, &mut children);
                node(Kind::For, "", children)
            }
            Stmt::While(inner) => {
                let mut children = vec![self.expression(&inner.test), self.block("body", &inner.body)];
                self.push_block("else", &inner.orelse, &mut children);
                node(Kind::While, "", children)
            }
            Stmt::If(inner) => {
                Some(self.conditional(range, &inner.test, &inner.body, &inner.elif_else_clauses))
            }
            Stmt::With(inner) => {
                let mut children: Vec<Node> = inner
                    .items
                    .iter()
                    .map(|item| {
                        let mut parts = vec![self.expression(&item.context_expr)];
                        parts.extend(self.optional(item.optional_vars.as_deref()));
                        self.node(Kind::WithItem, "", parts, item.range())
                    })
                    .collect();
                children.push(self.block("body", &inner.body));
                node(Kind::With, "", children)
            }
            Stmt::Match(inner) => {
                let mut children = vec![self.expression(&inner.subject)];
                for case in &inner.cases {
                    let mut parts = self.optional(case.guard.as_deref());
                    parts.push(self.block("body", &case.body));
                    children.push(self.node(
                        Kind::Case,
                        self.text(case.pattern.range()),
                        parts,
                        case.range(),
                    ));
                }
                node(Kind::Match, "", children)
            }
            Stmt::Raise(inner) => {
                let mut children = self.optional(inner.exc.as_deref());
                children.extend(self.optional(inner.cause.as_deref()));
                node(Kind::Raise, "", children)
            }
            Stmt::Try(inner) => {
                let mut children = vec![self.block("body", &inner.body)];
                for ast::ExceptHandler::ExceptHandler(handler) in &inner.handlers {
                    let mut parts = self.optional(handler.type_.as_deref());
                    parts.push(self.block("body", &handler.body));
                    let name = handler.name.as_ref().map_or("", |name| name.as_str());
                    children.push(self.node(Kind::Handler, name, parts, handler.range()));
                }
                self.push_block("else", &inner.orelse, &mut children);
                self.push_block("finally", &inner.finalbody, &mut children);
                node(Kind::Try, "", children)
            }
            Stmt::Assert(inner) => {
                let mut children = vec![self.expression(&inner.test)];
                children.extend(self.optional(inner.msg.as_deref()));
                node(Kind::Assert, "", children)
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                let text = self.text(range).split_whitespace().collect::<Vec<_>>().join(" ");
                node(Kind::Import, &text, Vec::new())
            }
            Stmt::Global(inner) => node(Kind::Scope, &joined(&inner.names), Vec::new()),
            Stmt::Nonlocal(inner) => node(Kind::Scope, &joined(&inner.names), Vec::new()),
            // A string alone is a comment or a docstring.
            Stmt::Expr(inner) if inner.value.is_string_literal_expr() => None,
            Stmt::Expr(inner) => node(Kind::Expression, "", vec![self.expression(&inner.value)]),
            Stmt::Pass(_) => node(Kind::Pass, "", Vec::new()),
            Stmt::Break(_) => node(Kind::Break, "", Vec::new()),
            Stmt::Continue(_) => node(Kind::Continue, "", Vec::new()),
            Stmt::IpyEscapeCommand(inner) => {
                let text = format!("{}{}", inner.kind.as_str(), inner.value);
                node(Kind::Escape, text.trim(), Vec::new())
            }
            Stmt::TypeAlias(_) => node(Kind::Other, self.text(range), Vec::new()),
        }
    }

    fn push_block(&self, name: &str, body: &[Stmt], children: &mut Vec<Node>) {
        if !body.is_empty() {
            children.push(self.block(name, body));
        }
    }

    fn conditional(
        &self,
        range: TextRange,
        test: &Expr,
        body: &[Stmt],
        clauses: &[ast::ElifElseClause],
    ) -> Node {
        let mut children = vec![self.expression(test), self.block("body", body)];
        if let Some((clause, rest)) = clauses.split_first() {
            match &clause.test {
                Some(test) => {
                    let inner = self.conditional(clause.range(), test, &clause.body, rest);
                    children.push(self.node(Kind::Block, "else", vec![inner], clause.range()));
                }
                None => children.push(self.block("else", &clause.body)),
            }
        }
        self.node(Kind::If, "", children, range)
    }

    fn decorators(&self, list: &[ast::Decorator]) -> Vec<Node> {
        let one = |decorator: &ast::Decorator| {
            let inner = self.expression(&decorator.expression);
            self.node(Kind::Decorator, "", vec![inner], decorator.range())
        };
        list.iter().map(one).collect()
    }

    fn parameters(&self, parameters: &ast::Parameters) -> Vec<Node> {
        let mut found = Vec::new();
        for parameter in parameters.iter() {
            let (stars, default) = match parameter {
                ast::AnyParameterRef::Variadic(_) => {
                    let is_keywords =
                        parameters.kwarg.as_ref().is_some_and(|own| own.range() == parameter.range());
                    (if is_keywords { "**" } else { "*" }, None)
                }
                ast::AnyParameterRef::NonVariadic(own) => ("", own.default.as_deref()),
            };
            let text = format!("{stars}{}", parameter.name());
            found.push(self.node(Kind::Parameter, &text, self.optional(default), parameter.range()));
        }
        found
    }

    fn arguments(&self, arguments: &ast::Arguments) -> Vec<Node> {
        let mut found = self.expressions(&arguments.args);
        // Named arguments mean the same in any order.
        let mut keywords: Vec<Node> = arguments
            .keywords
            .iter()
            .map(|keyword| {
                let name = keyword.arg.as_ref().map_or("", |name| name.as_str());
                self.node(Kind::Keyword, name, vec![self.expression(&keyword.value)], keyword.range())
            })
            .collect();
        keywords.sort_by(|a, b| a.text.cmp(&b.text));
        found.extend(keywords);
        found
    }

    fn optional(&self, expr: Option<&Expr>) -> Vec<Node> {
        expr.map(|expr| self.expression(expr)).into_iter().collect()
    }

    fn absent(&self, expr: Option<&Expr>, range: TextRange) -> Node {
        match expr {
            Some(expr) => self.expression(expr),
            None => self.node(Kind::Absent, "", Vec::new(), range),
        }
    }

    fn expressions(&self, all: &[Expr]) -> Vec<Node> {
        all.iter().map(|expr| self.expression(expr)).collect()
    }

    fn expression(&self, expr: &Expr) -> Node {
        let range = expr.range();
        let node = |kind, text: &str, children| self.node(kind, text, children, range);
        match expr {
            Expr::Name(name) => match self.program.qualified_name(self.unit, expr) {
                Some(qualified) if name.ctx.is_load() => node(Kind::Reference, qualified, Vec::new()),
                _ => node(Kind::Name, &name.id, Vec::new()),
            },
            Expr::Attribute(attribute) => match self.program.qualified_name(self.unit, expr) {
                Some(qualified) => node(Kind::Reference, qualified, Vec::new()),
                None => node(Kind::Attribute, &attribute.attr, vec![self.expression(&attribute.value)]),
            },
            Expr::Call(call) => {
                let mut children = vec![self.expression(&call.func)];
                children.extend(self.arguments(&call.arguments));
                node(Kind::Call, "", children)
            }
            Expr::Subscript(inner) => {
                let children = vec![self.expression(&inner.value), self.expression(&inner.slice)];
                node(Kind::Subscript, "", children)
            }
            Expr::Slice(inner) => node(
                Kind::Slice,
                "",
                vec![
                    self.absent(inner.lower.as_deref(), range),
                    self.absent(inner.upper.as_deref(), range),
                    self.absent(inner.step.as_deref(), range),
                ],
            ),
            Expr::Starred(inner) => node(Kind::Starred, "", vec![self.expression(&inner.value)]),
            Expr::NumberLiteral(literal) => node(Kind::Number, &number(&literal.value), Vec::new()),
            Expr::StringLiteral(literal) => node(Kind::Text, literal.value.to_str(), Vec::new()),
            Expr::BytesLiteral(literal) => {
                let bytes: Vec<u8> = literal.value.bytes().collect();
                node(Kind::Bytes, &bytes.escape_ascii().to_string(), Vec::new())
            }
            Expr::BooleanLiteral(literal) => {
                node(Kind::Constant, if literal.value { "True" } else { "False" }, Vec::new())
            }
            Expr::NoneLiteral(_) => node(Kind::Constant, "None", Vec::new()),
            Expr::EllipsisLiteral(_) => node(Kind::Constant, "...", Vec::new()),
            Expr::FString(inner) => node(Kind::Format, "", self.format(&inner.value)),
            Expr::List(inner) => node(Kind::List, "", self.expressions(&inner.elts)),
            Expr::Tuple(inner) => node(Kind::Tuple, "", self.expressions(&inner.elts)),
            Expr::Set(inner) => node(Kind::Set, "", self.expressions(&inner.elts)),
            Expr::Dict(inner) => {
                let pair = |item: &ast::DictItem| {
                    let key = self.absent(item.key.as_ref(), item.value.range());
                    self.node(Kind::Pair, "", vec![key, self.expression(&item.value)], item.range())
                };
                node(Kind::Dict, "", inner.items.iter().map(pair).collect())
            }
            Expr::BinOp(inner) => node(
                Kind::Binary,
                inner.op.as_str(),
                vec![self.expression(&inner.left), self.expression(&inner.right)],
            ),
            Expr::UnaryOp(inner) => {
                let operand = self.expression(&inner.operand);
                match inner.op {
                    ast::UnaryOp::USub if operand.kind == Kind::Number && !operand.text.starts_with('-') => {
                        node(Kind::Number, &format!("-{}", operand.text), Vec::new())
                    }
                    ast::UnaryOp::UAdd if operand.kind == Kind::Number => operand,
                    _ => node(Kind::Unary, inner.op.as_str(), vec![operand]),
                }
            }
            Expr::BoolOp(inner) => node(Kind::Boolean, inner.op.as_str(), self.expressions(&inner.values)),
            Expr::Compare(inner) => {
                let operators: Vec<&str> = inner.ops.iter().map(|op| op.as_str()).collect();
                let mut children = vec![self.expression(&inner.left)];
                children.extend(self.expressions(&inner.comparators));
                node(Kind::Compare, &operators.join(" "), children)
            }
            Expr::Lambda(inner) => {
                let mut children =
                    inner.parameters.as_deref().map(|own| self.parameters(own)).unwrap_or_default();
                children.push(self.expression(&inner.body));
                node(Kind::Lambda, "", children)
            }
            Expr::If(inner) => node(
                Kind::Conditional,
                "",
                vec![
                    self.expression(&inner.test),
                    self.expression(&inner.body),
                    self.expression(&inner.orelse),
                ],
            ),
            Expr::ListComp(inner) => {
                self.comprehension(range, "list", vec![self.expression(&inner.elt)], &inner.generators)
            }
            Expr::SetComp(inner) => {
                self.comprehension(range, "set", vec![self.expression(&inner.elt)], &inner.generators)
            }
            Expr::Generator(inner) => {
                self.comprehension(range, "generator", vec![self.expression(&inner.elt)], &inner.generators)
            }
            Expr::DictComp(inner) => {
                let key = self.absent(inner.key.as_deref(), range);
                self.comprehension(range, "dict", vec![key, self.expression(&inner.value)], &inner.generators)
            }
            Expr::Await(inner) => node(Kind::Await, "", vec![self.expression(&inner.value)]),
            Expr::Yield(inner) => node(Kind::Yield, "", self.optional(inner.value.as_deref())),
            Expr::YieldFrom(inner) => node(Kind::Yield, "from", vec![self.expression(&inner.value)]),
            Expr::Named(inner) => {
                node(Kind::Walrus, "", vec![self.expression(&inner.target), self.expression(&inner.value)])
            }
            Expr::IpyEscapeCommand(inner) => {
                let text = format!("{}{}", inner.kind.as_str(), inner.value);
                node(Kind::Escape, text.trim(), Vec::new())
            }
            Expr::TString(_) => node(Kind::Other, self.text(range), Vec::new()),
        }
    }

    fn comprehension(
        &self,
        range: TextRange,
        what: &str,
        mut children: Vec<Node>,
        generators: &[ast::Comprehension],
    ) -> Node {
        for generator in generators {
            let mut parts = vec![self.expression(&generator.target), self.expression(&generator.iter)];
            parts.extend(self.expressions(&generator.ifs));
            children.push(self.node(Kind::Generator, "", parts, generator.range()));
        }
        self.node(Kind::Comprehension, what, children, range)
    }

    fn format(&self, value: &ast::FStringValue) -> Vec<Node> {
        let mut parts = Vec::new();
        for part in value {
            match part {
                ast::FStringPart::Literal(literal) => {
                    parts.push(self.node(Kind::Text, &literal.value, Vec::new(), literal.range()));
                }
                ast::FStringPart::FString(inner) => {
                    for element in &inner.elements {
                        match element {
                            ast::InterpolatedStringElement::Literal(literal) => {
                                parts.push(self.node(
                                    Kind::Text,
                                    &literal.value,
                                    Vec::new(),
                                    literal.range(),
                                ));
                            }
                            ast::InterpolatedStringElement::Interpolation(hole) => {
                                parts.push(self.expression(&hole.expression));
                            }
                        }
                    }
                }
            }
        }
        parts
    }
}

fn joined(names: &[ast::Identifier]) -> String {
    names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A number in one spelling: `1000` for `1_000`, `0.001` for `1e-3`.
fn number(value: &ast::Number) -> String {
    match value {
        ast::Number::Int(int) => int.to_string(),
        ast::Number::Float(float) => format!("{float:?}"),
        ast::Number::Complex { real, imag } => format!("{real:?}+{imag:?}j"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;

    fn tree(source: &str) -> Vec<Node> {
        Program::new(vec![Unit::cell(source)]).tree(0)
    }

    #[test]
    fn what_means_the_same_is_equal() {
        for (one, other) in [
            ("f(1e-3, b=1, a=2)", "f( 0.001,a = 2, b=1 )  # comment"),
            ("x: int = (1_000)", "x = 1000"),
            ("def f(a: int) -> str:\n    '''doc'''\n    return a", "def f(a):\n    return a"),
            ("x = 'a' \"b\"", "x = 'ab'"),
            ("if a:\n    b()\nelif c:\n    d()", "if a:\n    b()\nelse:\n    if c:\n        d()"),
        ] {
            assert_eq!(tree(one), tree(other), "{one}");
        }
        assert_ne!(tree("f(1, 2)"), tree("f(2, 1)"));
        assert_ne!(tree("x = -1"), tree("x = 1"));
        assert_ne!(tree("x = 1"), tree("x = '1'"));
    }

    #[test]
    fn references_are_what_was_imported() {
        let one = tree("import numpy as np\nx = np.zeros(3)");
        let other = tree("from numpy import zeros as z\nx = z(3)");
        assert_eq!(one[1], other[1]);
        let own = tree("def zeros(n):\n    return n\nx = zeros(3)");
        assert_ne!(one[1], own[1]);
    }

    #[test]
    fn cells_that_are_not_python_are_one_node() {
        let cell = tree("%%bash\nls");
        assert_eq!((cell[0].kind, cell.len()), (Kind::Escape, 1));
        assert_eq!(tree("x = (")[0].kind, Kind::Broken);
        let lines = tree("%matplotlib inline\nx = 1\n!pip install a");
        let kinds: Vec<Kind> = lines.iter().map(|node| node.kind).collect();
        assert_eq!(kinds, [Kind::Escape, Kind::Assign, Kind::Escape]);
        let kinds = |source| tree(source).iter().map(|node| node.kind).collect::<Vec<_>>();
        assert_eq!(kinds("%timeit f(x)"), [Kind::Expression]);
        assert_eq!(kinds("pip install a\nx = 1"), [Kind::Escape, Kind::Assign]);
    }
}
