//! A keyword argument given twice in one call. No Python from 2.6 on compiles that (`keyword argument repeated`), so the
//! cell never ran in this form, and which value was meant is not known unless both are the same.

use mlem_python::ast::visitor::{Visitor, walk_expr};
use mlem_python::ast::{Expr, Keyword};
use mlem_python::{Edit, Ranged, TextRange, Unit};

/// What keeps only the last of the repeated arguments on `line`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeated {
    /// The edits that take the earlier ones out.
    pub(crate) edits: Vec<Edit>,
    /// The arguments' names.
    pub(crate) names: Vec<String>,
    /// Every one that goes has the value of the one that stays.
    pub(crate) is_same: bool,
}

/// The keyword arguments that are repeated in calls which reach over `line`.
pub(crate) fn keep_last(unit: &Unit, line: usize) -> Option<Repeated> {
    let found = Repeated { edits: Vec::new(), names: Vec::new(), is_same: true };
    let mut finder = Calls { unit, line, found };
    for statement in unit.body() {
        finder.visit_stmt(statement);
    }
    (!finder.found.edits.is_empty()).then_some(finder.found)
}

struct Calls<'a> {
    unit: &'a Unit,
    line: usize,
    found: Repeated,
}

impl<'a> Visitor<'a> for Calls<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            let (first, last) = self.unit.lines(call.range());
            if (first..=last).contains(&self.line) {
                self.keywords(&call.arguments.keywords);
            }
        }
        walk_expr(self, expr);
    }
}

impl Calls<'_> {
    fn keywords(&mut self, keywords: &[Keyword]) {
        let source = self.unit.source();
        for (at, keyword) in keywords.iter().enumerate() {
            let Some(name) = &keyword.arg else { continue };
            let same_name =
                |other: &&Keyword| other.arg.as_ref().is_some_and(|other| other.as_str() == name.as_str());
            let Some(last) = keywords[at + 1..].iter().rfind(same_name) else { continue };
            // The comma and the space behind it go along.
            let rest = &source[keyword.end().to_usize()..];
            let comma = rest.len() - rest.trim_start().trim_start_matches(',').trim_start_matches(' ').len();
            let Ok(comma) = mlem_python::TextSize::try_from(comma) else { continue };
            self.found.edits.push(Edit::deletion(TextRange::new(keyword.start(), keyword.end() + comma)));
            self.found.is_same &= source[keyword.value.range()] == source[last.value.range()];
            self.found.names.push(name.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(cell: &str) -> Option<(String, bool)> {
        let unit = Unit::cell(cell);
        let repeated = keep_last(&unit, 1)?;
        let mut set = mlem_python::EditSet::new();
        set.add_all(repeated.edits).unwrap();
        Some((set.apply(cell).unwrap(), repeated.is_same))
    }

    #[test]
    fn the_last_of_repeated_arguments_stays() {
        assert_eq!(kept("f(1, a=1, b=2, a=3)"), Some(("f(1, b=2, a=3)".into(), false)));
        assert_eq!(kept("f(a=1, a=1)"), Some(("f(a=1)".into(), true)));
        assert_eq!(kept("g(f(a=1), a=1)"), None);
        assert_eq!(kept("x = 1\nf(a=1, a=2)"), None, "another line");
    }
}
