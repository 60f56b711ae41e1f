//! The `where` conditions of a rule, decided statically where possible and by the live kernel
//! otherwise.

use mlem_python::Ranged;
use mlem_python::ast::{Expr, Number};

use regex::Regex;

use crate::target::Question;

/// What one metavariable has to be; several are alternatives.
#[derive(Debug, Clone)]
pub(crate) struct Condition(Vec<Alternative>);

#[derive(Debug, Clone)]
struct Alternative {
    negated: bool,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    /// A value of this type, or (ending in `.*`) of any type below this package.
    Type(String),
    /// A literal, of any kind or of one.
    Literal(Option<LiteralKind>),
    /// A bare name.
    Name,
    /// Exactly this source text.
    Text(String),
    /// Source text that a regular expression finds something in.
    Regex(Box<Regex>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LiteralKind {
    Int,
    Str,
    Float,
    Bool,
    None,
    List,
    Dict,
    Tuple,
    Generator,
}

/// What is known about a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It holds, from the source alone.
    Proven,
    /// It holds, says the running kernel.
    Live,
    /// It does not hold.
    Refuted,
    /// Nothing is known; the text says of what.
    Unknown(String),
}

impl Condition {
    pub(crate) fn parse(alternatives: &[String]) -> Result<Condition, String> {
        if alternatives.is_empty() {
            return Err("an empty list can never hold".to_string());
        }
        let parsed = alternatives.iter().map(|text| Alternative::parse(text));
        Ok(Condition(parsed.collect::<Result<_, _>>()?))
    }

    /// Whether it is about the type of the value, and not about its text alone.
    pub(crate) fn is_about_type(&self) -> bool {
        self.0.iter().any(|alternative| matches!(alternative.test, Test::Type(_)))
    }

    pub(crate) fn decide(&self, question: &Question, unit: usize, expr: &Expr) -> Verdict {
        let mut best = Verdict::Refuted;
        for alternative in &self.0 {
            let verdict = alternative.decide(question, unit, expr);
            match verdict {
                Verdict::Proven => return Verdict::Proven,
                Verdict::Live => best = Verdict::Live,
                Verdict::Unknown(_) if best == Verdict::Refuted => best = verdict,
                Verdict::Unknown(_) | Verdict::Refuted => {}
            }
        }
        best
    }
}

impl Alternative {
    fn parse(text: &str) -> Result<Alternative, String> {
        let (negated, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let test = if let Some(exact) = text.strip_prefix('=') {
            Test::Text(exact.to_string())
        } else if let Some(pattern) = text.strip_prefix('~') {
            Test::Regex(Box::new(Regex::new(pattern).map_err(|e| e.to_string())?))
        } else if text == "literal" {
            Test::Literal(None)
        } else if let Some(kind) = text.strip_prefix("literal:") {
            Test::Literal(Some(match kind {
                "int" => LiteralKind::Int,
                "str" => LiteralKind::Str,
                "float" => LiteralKind::Float,
                "bool" => LiteralKind::Bool,
                "none" => LiteralKind::None,
                "list" => LiteralKind::List,
                "dict" => LiteralKind::Dict,
                "tuple" => LiteralKind::Tuple,
                "generator" => LiteralKind::Generator,
                other => return Err(format!("unknown literal kind `{other}`")),
            }))
        } else if text == "name" {
            Test::Name
        } else {
            let name = text.strip_suffix(".*").unwrap_or(text);
            let is_word =
                |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !name.split('.').all(is_word) {
                return Err(format!("`{text}` is neither a type nor a condition"));
            }
            Test::Type(text.to_string())
        };
        Ok(Alternative { negated, test })
    }

    fn decide(&self, question: &Question, unit: usize, expr: &Expr) -> Verdict {
        let holds = match &self.test {
            Test::Type(expected) => {
                let verdict = has_type(question, unit, expr, expected);
                return match verdict {
                    Verdict::Proven if self.negated => Verdict::Refuted,
                    Verdict::Live if self.negated => Verdict::Refuted,
                    Verdict::Refuted if self.negated => Verdict::Proven,
                    other => other,
                };
            }
            Test::Literal(kind) => {
                literal_kind(expr).is_some_and(|found| kind.is_none_or(|wanted| wanted == found))
            }
            Test::Name => matches!(expr, Expr::Name(_)),
            Test::Regex(regex) => regex.is_match(source(question, unit, expr)),
            Test::Text(text) => source(question, unit, expr) == text,
        };
        if holds == self.negated { Verdict::Refuted } else { Verdict::Proven }
    }
}

/// The text of an expression.
pub(crate) fn source<'a>(question: &Question<'a>, unit: usize, expr: &Expr) -> &'a str {
    &question.program.units()[unit].source()[expr.range()]
}

fn literal_kind(expr: &Expr) -> Option<LiteralKind> {
    Some(match expr {
        Expr::NumberLiteral(number) => match number.value {
            Number::Int(_) => LiteralKind::Int,
            Number::Float(_) | Number::Complex { .. } => LiteralKind::Float,
        },
        // A signed number is a literal to a reader.
        Expr::UnaryOp(unary) if matches!(*unary.operand, Expr::NumberLiteral(_)) => {
            return literal_kind(&unary.operand);
        }
        Expr::StringLiteral(_) | Expr::FString(_) => LiteralKind::Str,
        Expr::BooleanLiteral(_) => LiteralKind::Bool,
        Expr::NoneLiteral(_) => LiteralKind::None,
        Expr::List(_) | Expr::ListComp(_) => LiteralKind::List,
        Expr::Dict(_) | Expr::DictComp(_) => LiteralKind::Dict,
        Expr::Tuple(_) => LiteralKind::Tuple,
        Expr::Generator(_) => LiteralKind::Generator,
        _ => return None,
    })
}

/// Whether an expression has a type: from the source first, then from the live kernel.
pub(crate) fn has_type(question: &Question, unit: usize, expr: &Expr, expected: &str) -> Verdict {
    if let Some(found) = question.program.type_of(unit, expr) {
        return if same_type(found, expected) { Verdict::Proven } else { Verdict::Refuted };
    }
    if is_module(question, unit, expr) {
        return Verdict::Refuted;
    }
    let text = source(question, unit, expr);
    // The kernel's state is that of the failing unit; elsewhere a name may mean something else.
    let here = question.error.is_none_or(|error| error.unit == unit);
    if let Some(types) = question.types
        && here
        && is_free_of_calls(expr)
        && let Some(order) = types.type_of(text)
    {
        return if order.iter().any(|class| same_type(class, expected)) {
            Verdict::Live
        } else {
            Verdict::Refuted
        };
    }
    Verdict::Unknown(format!("the type of `{}` is not known", shortened(text)))
}

/// Whether an expression is a module that `import` brought (`np`), or something in it
/// (`np.random`): never a value whose methods are meant.
pub(crate) fn is_module(question: &Question, unit: usize, expr: &Expr) -> bool {
    let Some(name) = question.program.qualified_name(unit, expr) else {
        return false;
    };
    question.program.imports().iter().any(|import| {
        let below = |outer: &str, inner: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !import.is_from && (below(&import.qualified, name) || below(name, &import.qualified))
    })
}

/// The first line of a text, at most forty characters.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    if line.chars().count() > 40 || line.len() < text.len() {
        let start: String = line.chars().take(39).collect();
        format!("{start}…")
    } else {
        line.to_string()
    }
}

/// Expressions the kernel can evaluate without side effects to speak of.
fn is_free_of_calls(expr: &Expr) -> bool {
    match expr {
        Expr::Name(_)
        | Expr::StringLiteral(_)
        | Expr::NumberLiteral(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_) => true,
        Expr::Attribute(attribute) => is_free_of_calls(&attribute.value),
        Expr::Subscript(subscript) => {
            is_free_of_calls(&subscript.value) && is_free_of_calls(&subscript.slice)
        }
        Expr::List(list) => list.elts.iter().all(is_free_of_calls),
        Expr::Tuple(tuple) => tuple.elts.iter().all(is_free_of_calls),
        Expr::UnaryOp(unary) => is_free_of_calls(&unary.operand),
        _ => false,
    }
}

/// Whether a found class is the expected one. Libraries move classes between private modules
/// (`pandas.core.frame.DataFrame` is `pandas.DataFrame`), so package and class name decide.
fn same_type(found: &str, expected: &str) -> bool {
    let found = found.strip_prefix("builtins.").unwrap_or(found);
    let expected = expected.strip_prefix("builtins.").unwrap_or(expected);
    if let Some(package) = expected.strip_suffix(".*") {
        return found.strip_prefix(package).is_some_and(|rest| rest.starts_with('.'));
    }
    if found == expected {
        return true;
    }
    match (ends(found), ends(expected)) {
        (Some(found), Some(expected)) => found == expected,
        _ => false,
    }
}

/// First and last segment of a dotted name.
fn ends(name: &str) -> Option<(&str, &str)> {
    let (first, _) = name.split_once('.')?;
    let (_, last) = name.rsplit_once('.')?;
    Some((first, last))
}

#[cfg(test)]
mod tests {
    use super::same_type;

    #[test]
    fn classes_are_the_same_by_package_and_name() {
        assert!(same_type("pandas.core.frame.DataFrame", "pandas.DataFrame"));
        assert!(same_type("builtins.list", "list"));
        assert!(same_type("sklearn.svm._classes.SVC", "sklearn.*"));
        assert!(!same_type("polars.DataFrame", "pandas.DataFrame"));
        assert!(!same_type("pandas.Series", "pandas.DataFrame"));
        assert!(!same_type("sklearnex.SVC", "sklearn.*"));
    }
}
