//! Rules about what moved: imports, and dotted uses.

use mlem_python::Ranged;
use mlem_python::ast::{Expr, Stmt};

use super::Checker;
use crate::finding::Fix;
use crate::judge::{Judgement, is_confirmed};
use crate::moved::{self, MovedAlias, imported_names};
use crate::pattern::names;
use crate::rule::Matcher;
use crate::schema::Safety;

impl<'q> Checker<'q> {
    /// A dotted use of something that moved.
    pub(super) fn try_use(&mut self, expr: &'q Expr, rules: &[(usize, usize)]) {
        if rules.is_empty() {
            return;
        }
        let program = self.program();
        for (rule, step) in rules {
            if !self.applicable[*rule] {
                continue;
            }
            let rule = &self.catalogue.rules()[*rule];
            let Matcher::Moved { moves, needs } = &rule.matcher else {
                continue;
            };
            let step = &moves[*step];
            // A name that nothing binds is a builtin (`repr`), not the module called so.
            let is_builtin = expr.is_name_expr() && !step.old.contains('.');
            if is_builtin || !names(program, self.unit, expr, &step.old) {
                continue;
            }
            let edits = moved::edit_use(program, self.unit, expr, step, needs);
            let judgement = Judgement::default();
            let message = format!("`{}` is `{}` now", step.old, step.new);
            let fix = edits.map(|edits| Some(Fix { edits }));
            self.report_as(rule, expr.range(), judgement, fix, Some(message));
        }
    }

    /// A name that a rule says cannot be imported any more, and that nothing uses (any longer, since
    /// the rule rewrote its uses), leaves the import statement.
    pub(super) fn unused_import(&mut self, statement: &'q Stmt, is_alone: bool) {
        let Stmt::ImportFrom(from) = statement else {
            return;
        };
        let is_cell = self.program().units()[self.unit].is_cell();
        let Some(module) = from.module.as_ref().filter(|_| from.level == 0 && is_cell) else {
            return;
        };
        let mut removed = Vec::new();
        let mut by = None;
        for alias in &from.names {
            let bound = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            if self.program().is_name_used(bound, (self.unit, alias.range)) {
                continue;
            }
            let name = alias.name.as_str();
            // What lives elsewhere now is taken from there.
            if self.closest_move(&format!("{module}.{name}")).is_some() {
                continue;
            }
            let message = format!("cannot import name '{name}' from '{module}'");
            let rules = self.catalogue.index.gone.get(&format!("{module}.{name}"));
            let rule = rules.into_iter().flatten().find(|rule| {
                self.applicable[**rule] && self.catalogue.rules()[**rule].is_evidence("ImportError", &message)
            });
            if let Some(rule) = rule {
                by.get_or_insert(*rule);
                removed.push(alias);
            }
        }
        let Some(rule) = by.map(|at| &self.catalogue.rules()[at]) else {
            return;
        };
        if self.is_guarded(statement) && !is_confirmed(self.question, rule, self.unit, statement.range()) {
            return;
        }
        let edits = moved::remove_names(self.source(), from, &removed, is_alone);
        let fix = Fix { edits: edits.into_iter().map(|edit| (self.unit, edit)).collect() };
        let names: Vec<String> = removed.iter().map(|alias| format!("`{}`", alias.name)).collect();
        let message = format!("{} cannot be imported any more, and nothing uses it", names.join(", "));
        self.report_as(rule, statement.range(), Judgement::default(), Ok(Some(fix)), Some(message));
        if let Some(found) = self.findings.last_mut() {
            // Nothing is lost with a name that nobody uses.
            found.safety = Safety::Safe;
        }
    }

    /// Names that are gone or renamed fail where they are imported: the import is the finding, and
    /// of a renamed one it is rewritten.
    fn import_of_names(&mut self, statement: &'q Stmt) {
        let Stmt::ImportFrom(from) = statement else {
            return;
        };
        let Some(module) = from.module.as_ref().filter(|_| from.level == 0) else {
            return;
        };
        for alias in &from.names {
            let full = format!("{module}.{}", alias.name);
            let Some(rules) = self.catalogue.index.bare.get(&full) else {
                continue;
            };
            for (rule, new) in rules {
                if !self.applicable[*rule] {
                    continue;
                }
                let rule = &self.catalogue.rules()[*rule];
                if self.is_guarded(statement)
                    && !is_confirmed(self.question, rule, self.unit, statement.range())
                {
                    continue;
                }
                let fix = new.as_ref().map(|new| {
                    let moved = MovedAlias { alias, new: new.clone(), full: full.clone() };
                    let edits = moved::edit_import_from(self.source(), from, &[moved]);
                    Fix { edits: edits.into_iter().map(|edit| (self.unit, edit)).collect() }
                });
                self.report(rule, alias.range, Judgement::default(), Ok(fix));
            }
        }
    }

    fn is_guarded(&self, statement: &Stmt) -> bool {
        self.program()
            .imports()
            .iter()
            .any(|import| import.unit == self.unit && import.range == statement.range() && import.guarded)
    }

    pub(super) fn import(&mut self, statement: &'q Stmt) {
        self.import_of_names(statement);
        let mut by_rule: Vec<(usize, Vec<MovedAlias>)> = Vec::new();
        for (alias, full) in imported_names(statement) {
            let Some((at, new)) = self.closest_move(&full) else {
                continue;
            };
            // A module cannot be imported from a builtin.
            if matches!(statement, Stmt::Import(_)) && new.starts_with("builtins.") {
                continue;
            }
            let item = MovedAlias { alias, new, full };
            match by_rule.iter_mut().find(|(rule, _)| *rule == at) {
                Some((_, items)) => items.push(item),
                None => by_rule.push((at, vec![item])),
            }
        }
        for (at, aliases) in by_rule {
            let rule = &self.catalogue.rules()[at];
            // `try: import new / except ImportError: import old` already copes.
            if self.is_guarded(statement) && !is_confirmed(self.question, rule, self.unit, statement.range())
            {
                continue;
            }
            let edits = match statement {
                Stmt::ImportFrom(from) => moved::edit_import_from(self.source(), from, &aliases),
                _ => moved::edit_import(&aliases),
            };
            let first = &aliases[0];
            let message = if aliases.len() == 1 {
                format!("`{}` is `{}` now", first.full, first.new)
            } else {
                rule.summary.clone()
            };
            let unit = self.unit;
            let fix = Fix { edits: edits.into_iter().map(|edit| (unit, edit)).collect() };
            let judgement = Judgement::default();
            self.report_as(rule, statement.range(), judgement, Ok(Some(fix)), Some(message));
        }
    }

    /// The rule with the longest old name that a dotted name is or lies below, and the new name.
    fn closest_move(&self, full: &str) -> Option<(usize, String)> {
        let mut old = full;
        loop {
            if let Some(moves) = self.catalogue.index.moves.get(old) {
                let mut applicable = moves.iter().filter(|(rule, _)| self.applicable[*rule]);
                if let Some((at, step)) = applicable.next()
                    && let Matcher::Moved { moves, .. } = &self.catalogue.rules()[*at].matcher
                {
                    return Some((*at, moves[*step].apply(full)?));
                }
            }
            old = old.rsplit_once('.')?.0;
        }
    }
}
