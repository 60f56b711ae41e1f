//! Code that copes by itself with what a rule is about: it never runs on the target, it asks for the
//! version or the attribute first, or it catches the failure. Changing one side of such code would
//! make the other one dead, or break the older version that it is there for.

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_stmt};
use mlem_python::ast::{
    self, BoolOp, CmpOp, ExceptHandler, Expr, ExprCompare, Number, Stmt, StmtTry, UnaryOp,
};
use mlem_python::{Program, Ranged, TextRange};

/// How code that eroded fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A builtin is gone.
    Name,
    /// An attribute of a module or a value is gone.
    Attribute,
    /// A call refuses an argument.
    Argument,
    /// A module or a name in it cannot be imported.
    Import,
    /// A key is gone.
    Key,
}

impl Failure {
    /// Whether an `except` clause of this class catches it. Clauses that catch everything are there
    /// for other failures, too, so they say nothing about this one.
    fn is_caught_by(self, class: &str) -> bool {
        match self {
            Failure::Name => class == "NameError",
            Failure::Attribute => class == "AttributeError",
            // matplotlib raises an AttributeError for a keyword argument that it does not know.
            Failure::Argument => matches!(class, "TypeError" | "AttributeError"),
            Failure::Import => matches!(class, "ImportError" | "ModuleNotFoundError"),
            Failure::Key => class == "KeyError",
        }
    }
}

const FAILURES: [Failure; 5] =
    [Failure::Name, Failure::Attribute, Failure::Argument, Failure::Import, Failure::Key];

#[derive(Debug)]
struct Place {
    unit: usize,
    range: TextRange,
    /// The failures that are coped with there.
    failures: Vec<Failure>,
    /// Only code with this text in it is guarded.
    mention: Option<String>,
}

/// The guarded places of a program.
#[derive(Debug, Default)]
pub(crate) struct Guards {
    places: Vec<Place>,
}

impl Guards {
    pub(crate) fn new(program: &Program, python: (u8, u8)) -> Guards {
        let mut finder = Finder { program, python, unit: 0, guards: Guards::default() };
        for (unit, parsed) in program.units().iter().enumerate() {
            finder.unit = unit;
            parsed.body().iter().for_each(|statement| finder.visit_stmt(statement));
        }
        finder.guards
    }

    /// Whether the code at a place copes with one of these failures there.
    pub(crate) fn cope(
        &self,
        program: &Program,
        unit: usize,
        range: TextRange,
        failures: &[Failure],
    ) -> bool {
        self.places.iter().any(|place| {
            let mentions = |text: &String| program.units()[unit].source()[range].contains(text.as_str());
            place.unit == unit
                && place.range.contains_range(range)
                && failures.iter().any(|failure| place.failures.contains(failure))
                && place.mention.as_ref().is_none_or(mentions)
        })
    }
}

/// What a condition says about the target.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Holds,
    Fails,
    /// It asks for a version that is not known here.
    Version,
    /// It asks whether something has an attribute, or (negated) has none.
    Attribute {
        owner: String,
        name: Option<String>,
        negated: bool,
    },
}

struct Finder<'a> {
    program: &'a Program,
    python: (u8, u8),
    unit: usize,
    guards: Guards,
}

impl Finder<'_> {
    fn guard(&mut self, range: TextRange, failures: &[Failure], mention: Option<String>) {
        self.guards.places.push(Place { unit: self.unit, range, failures: failures.to_vec(), mention });
    }

    fn guard_body(&mut self, body: &[Stmt], failures: &[Failure]) {
        if let (Some(first), Some(last)) = (body.first(), body.last()) {
            self.guard(TextRange::new(first.start(), last.end()), failures, None);
        }
    }

    /// Notes which sides of a condition are guarded: `then` where it holds, `otherwise` where not.
    fn branch(&mut self, test: &Expr, then: Option<TextRange>, otherwise: Option<TextRange>) {
        let Some(test) = self.test(test) else { return };
        let guarded = match &test {
            Test::Holds => [None, otherwise],
            Test::Fails => [then, None],
            Test::Version | Test::Attribute { .. } => [then, otherwise],
        };
        for (at, range) in guarded.into_iter().enumerate() {
            let Some(range) = range else { continue };
            match &test {
                // Where the attribute is there it is what is guarded, elsewhere its owner's substitute for it.
                Test::Attribute { owner, name, negated } => {
                    let is_there = (at == 0) != *negated;
                    let mention = if is_there { name.clone() } else { Some(owner.clone()) };
                    self.guard(range, &[Failure::Attribute, Failure::Argument], mention);
                }
                _ => self.guard(range, &FAILURES, None),
            }
        }
    }

    fn test(&self, test: &Expr) -> Option<Test> {
        match test {
            Expr::UnaryOp(unary) if unary.op == UnaryOp::Not => Some(match self.test(&unary.operand)? {
                Test::Holds => Test::Fails,
                Test::Fails => Test::Holds,
                Test::Version => Test::Version,
                Test::Attribute { owner, name, negated } => {
                    Test::Attribute { owner, name, negated: !negated }
                }
            }),
            Expr::BoolOp(operation) => {
                let tests: Vec<Option<Test>> =
                    operation.values.iter().map(|value| self.test(value)).collect();
                let (decides, leaves) = match operation.op {
                    BoolOp::And => (Test::Fails, Test::Holds),
                    BoolOp::Or => (Test::Holds, Test::Fails),
                };
                if tests.iter().any(|test| test.as_ref() == Some(&decides)) {
                    return Some(decides);
                }
                // What stays undecided decides: `PY3 and x`.
                let mut rest = tests.into_iter().filter(|test| test.as_ref() != Some(&leaves));
                match rest.next() {
                    None => Some(leaves),
                    Some(first) => rest.fold(first, Option::or),
                }
            }
            Expr::Compare(compare) => self.comparison(compare).or_else(|| self.mentioned(test)),
            Expr::Name(name) => self.named_test(name.id.as_str()),
            Expr::Attribute(attribute) => self.named_test(attribute.attr.as_str()),
            Expr::Call(call) => {
                if let (true, [owner, name]) = (self.is(&call.func, "hasattr"), &*call.arguments.args) {
                    let owner = self.program.units()[self.unit].source()[owner.range()].to_string();
                    let name = name.as_string_literal_expr().map(|name| name.value.to_str().to_string());
                    return Some(Test::Attribute { owner, name, negated: false });
                }
                // `sys.version.startswith('2')`
                if let Expr::Attribute(method) = &*call.func
                    && method.attr.as_str() == "startswith"
                    && self.is(&method.value, "sys.version")
                    && let [Expr::StringLiteral(prefix)] = &*call.arguments.args
                {
                    let major = self.python.0.to_string();
                    return Some(self.decided(prefix.value.to_str().starts_with(&major)));
                }
                self.mentioned(test)
            }
            _ => None,
        }
    }

    fn decided(&self, holds: bool) -> Test {
        if holds { Test::Holds } else { Test::Fails }
    }

    fn is(&self, expr: &Expr, qualified: &str) -> bool {
        self.program.qualified_name(self.unit, expr) == Some(qualified)
    }

    /// `PY2`, `six.PY3` and the like, by the name that is customary for them.
    fn named_test(&self, name: &str) -> Option<Test> {
        let name = name.trim_start_matches('_').to_ascii_uppercase();
        let rest = name.strip_prefix("IS_").unwrap_or(&name);
        let rest = rest.strip_prefix("PYTHON").or_else(|| rest.strip_prefix("PY"))?;
        match rest.trim_start_matches('_') {
            "2" => Some(self.decided(self.python.0 == 2)),
            "3" => Some(self.decided(self.python.0 == 3)),
            _ => None,
        }
    }

    /// A comparison of the interpreter's version with a constant.
    fn comparison(&self, compare: &ExprCompare) -> Option<Test> {
        let ([op], [right]) = (&*compare.ops, &*compare.comparators) else {
            return None;
        };
        let constant = version_constant(right)?;
        let (major, minor) = (u64::from(self.python.0), u64::from(self.python.1));
        // The target's patch version is not known.
        if constant.len() > 2 && constant[..2] == [major, minor] {
            return Some(Test::Version);
        }
        let ours: Vec<u64> = match &*compare.left {
            // `sys.version_info`, longer than any constant it is compared with.
            whole if self.is(whole, "sys.version_info") => vec![major, minor, 0, 0, 0],
            Expr::Attribute(part)
                if self.is(&part.value, "sys.version_info") && part.attr.as_str() == "major" =>
            {
                vec![major]
            }
            Expr::Subscript(part) if self.is(&part.value, "sys.version_info") => match &*part.slice {
                Expr::Slice(slice) if slice.lower.is_none() && slice.step.is_none() => {
                    let length = slice.upper.as_deref().and_then(integer)?;
                    [major, minor].into_iter().take(usize::try_from(length).ok()?).collect()
                }
                index if integer(index) == Some(0) => vec![major],
                _ => return None,
            },
            // Text: its first character is the major version.
            Expr::Subscript(part)
                if self.is(&part.value, "sys.version") && integer(&part.slice) == Some(0) =>
            {
                vec![major]
            }
            text if self.is(text, "sys.version") => vec![major, minor, 0],
            number if self.is(number, "sys.hexversion") => {
                return compare_versions(&[(major << 24) + (minor << 16)], *op, &constant)
                    .map(|h| self.decided(h));
            }
            _ => return None,
        };
        compare_versions(&ours, *op, &constant).map(|holds| self.decided(holds))
    }

    /// A condition that reads some `__version__`, or compares parsed versions.
    fn mentioned(&self, test: &Expr) -> Option<Test> {
        struct Mentions(bool);
        impl<'a> Visitor<'a> for Mentions {
            fn visit_expr(&mut self, expr: &'a Expr) {
                let name = match expr {
                    Expr::Name(name) => name.id.as_str(),
                    Expr::Attribute(attribute) => attribute.attr.as_str(),
                    _ => "",
                };
                // `_version_predates(np, "2.0")`
                if let Expr::Call(call) = expr
                    && let Expr::Name(ast::ExprName { id: name, .. })
                    | Expr::Attribute(ast::ExprAttribute {
                        attr: ast::Identifier { id: name, .. }, ..
                    }) = &*call.func
                {
                    self.0 |= name.split('_').any(|word| word == "version");
                }
                let is_interpreter = matches!(expr, Expr::Attribute(attribute)
                    if attribute.attr.as_str() == "version"
                        && matches!(&*attribute.value, Expr::Name(module) if module.id.as_str() == "sys"));
                self.0 |= is_interpreter
                    || matches!(
                        name,
                        "__version__"
                            | "__version_tuple__"
                            | "version_info"
                            | "hexversion"
                            | "Version"
                            | "LooseVersion"
                            | "StrictVersion"
                            | "parse_version"
                            | "python_version"
                            | "python_version_tuple"
                    );
                walk_expr(self, expr);
            }
        }
        let mut mentions = Mentions(false);
        mentions.visit_expr(test);
        mentions.0.then_some(Test::Version)
    }

    fn try_statement(&mut self, statement: &StmtTry) {
        let mut classes = Vec::new();
        for handler in &statement.handlers {
            let ExceptHandler::ExceptHandler(handler) = handler;
            handler.type_.as_deref().into_iter().for_each(|class| class_names(class, &mut classes));
        }
        let caught = |failure: &Failure| classes.iter().any(|class| failure.is_caught_by(class));
        let failures: Vec<Failure> = FAILURES.into_iter().filter(caught).collect();
        if failures.is_empty() {
            return;
        }
        self.guard_body(&statement.body, &failures);
        // What is done instead is there for the versions that fail, whatever it is itself.
        let missing = |failure: &Failure| !matches!(failure, Failure::Argument | Failure::Key);
        let instead = if failures.iter().any(missing) { &FAILURES[..] } else { &failures };
        for handler in &statement.handlers {
            let ExceptHandler::ExceptHandler(handler) = handler;
            self.guard_body(&handler.body, instead);
        }
    }
}

impl<'a> Visitor<'a> for Finder<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::If(conditional) => {
                let range = |body: &[Stmt]| Some(TextRange::new(body.first()?.start(), body.last()?.end()));
                let clauses = &conditional.elif_else_clauses;
                let rest = |from: usize| {
                    let bodies = clauses.get(from..)?;
                    Some(TextRange::new(bodies.first()?.start(), bodies.last()?.end()))
                };
                self.branch(&conditional.test, range(&conditional.body), rest(0));
                for (at, clause) in clauses.iter().enumerate() {
                    if let Some(test) = &clause.test {
                        self.branch(test, range(&clause.body), rest(at + 1));
                    }
                }
            }
            Stmt::Try(statement) => self.try_statement(statement),
            // `with pytest.raises(TypeError):` waits for the failure.
            Stmt::With(with) => {
                let waits = with.items.iter().any(|item| {
                    let Expr::Call(call) = &item.context_expr else { return false };
                    let name = match &*call.func {
                        Expr::Attribute(attribute) => attribute.attr.as_str(),
                        Expr::Name(name) => name.id.as_str(),
                        _ => "",
                    };
                    matches!(name, "raises" | "assertRaises" | "assertRaisesRegex" | "suppress")
                });
                if waits {
                    self.guard_body(&with.body, &FAILURES);
                }
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::If(conditional) => {
                let (then, otherwise) = (conditional.body.range(), conditional.orelse.range());
                self.branch(&conditional.test, Some(then), Some(otherwise));
            }
            // `hasattr(f, 'func_code') and f.func_code`
            Expr::BoolOp(operation) => {
                for value in &operation.values {
                    if let Some(Test::Attribute { name, .. }) = self.test(value) {
                        self.guard(operation.range, &[Failure::Attribute], name);
                    }
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// The names of the classes that an `except` clause catches, without their modules.
fn class_names<'a>(class: &'a Expr, names: &mut Vec<&'a str>) {
    match class {
        Expr::Name(name) => names.push(name.id.as_str()),
        Expr::Attribute(attribute) => names.push(attribute.attr.as_str()),
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| class_names(element, names)),
        _ => {}
    }
}

fn integer(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(value) => value.as_u64(),
            _ => None,
        },
        _ => None,
    }
}

/// `3`, `(3, 0)`, `'3'`, `'2.7'`.
fn version_constant(expr: &Expr) -> Option<Vec<u64>> {
    match expr {
        Expr::Tuple(tuple) => tuple.elts.iter().map(integer).collect(),
        Expr::StringLiteral(text) => text.value.to_str().split('.').map(|part| part.parse().ok()).collect(),
        _ => integer(expr).map(|value| vec![value]),
    }
}

/// Compares as Python compares tuples.
fn compare_versions(left: &[u64], op: CmpOp, right: &[u64]) -> Option<bool> {
    let order = left.cmp(right);
    Some(match op {
        CmpOp::Lt => order.is_lt(),
        CmpOp::LtE => order.is_le(),
        CmpOp::Gt => order.is_gt(),
        CmpOp::GtE => order.is_ge(),
        CmpOp::Eq => order.is_eq(),
        CmpOp::NotEq => order.is_ne(),
        _ => return None,
    })
}
