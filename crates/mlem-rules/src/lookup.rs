//! Ids and names, as a person types them.

use thiserror::Error;

use crate::catalogue::Catalogue;
use crate::checks::{CHECKS, Check};
use crate::rule::Rule;

/// What an id or a name stands for.
#[derive(Debug, Clone, Copy)]
pub enum Known<'a> {
    /// A rule of the catalogue.
    Rule(&'a Rule),
    /// A check that no rule file describes.
    Check(&'static Check),
}

/// No rule is called so.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no rule `{text}`{}", nearest_words(nearest))]
pub struct UnknownRule {
    /// As it was typed.
    pub text: String,
    /// Ids and names that look like it, nearest first.
    pub nearest: Vec<String>,
}

fn nearest_words(nearest: &[String]) -> String {
    match nearest {
        [] => "; `mlem rule --all` lists them".to_string(),
        [only] => format!("; did you mean {only}?"),
        [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
    }
}

/// Most names to offer for one that is unknown.
const OFFERED: usize = 3;

impl Catalogue {
    /// The rule or check with an id or a name.
    ///
    /// # Errors
    /// [`UnknownRule`] with the nearest ids and names.
    pub fn look_up(&self, text: &str) -> Result<Known<'_>, UnknownRule> {
        if let Some(rule) = self.rules().iter().find(|rule| rule.id == text || rule.name == text) {
            return Ok(Known::Rule(rule));
        }
        if let Some(check) = CHECKS.into_iter().find(|check| check.id == text || check.name == text) {
            return Ok(Known::Check(check));
        }
        Err(UnknownRule { text: text.to_string(), nearest: self.nearest(text) })
    }

    fn nearest(&self, text: &str) -> Vec<String> {
        let upper = text.to_uppercase();
        let ids = self.rules().iter().map(|rule| rule.id.as_str()).chain(CHECKS.map(|check| check.id));
        let names = self.rules().iter().map(|rule| rule.name.as_str()).chain(CHECKS.map(|check| check.name));
        let ids = ids.map(|id| (strsim::damerau_levenshtein(&upper, id), id));
        let names = names.map(|name| (strsim::damerau_levenshtein(text, name), name));
        // Beyond a third of the letters the likeness is chance.
        let bound = (text.chars().count() / 3).max(1);
        let mut near: Vec<(usize, &str)> =
            ids.chain(names).filter(|(distance, _)| *distance <= bound).collect();
        near.sort_unstable();
        near.into_iter().take(OFFERED).map(|(_, name)| name.to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str) -> Result<&str, String> {
        match Catalogue::shipped().look_up(text) {
            Ok(Known::Rule(rule)) => Ok(rule.id.as_str()),
            Ok(Known::Check(check)) => Ok(check.id),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn ids_and_names_are_known() {
        assert_eq!(known("PD001"), Ok("PD001"));
        assert_eq!(known("dataframe-append-frame"), Ok("PD001"));
        assert_eq!(known("PY2"), Ok("PY2"));
        assert_eq!(known("vanished-name"), Ok("VANISHED"));
    }

    #[test]
    fn what_is_not_known_is_told_with_what_is_near() {
        let said = known("pd001").unwrap_err();
        assert!(said.contains("`pd001`") && said.contains("PD001"), "{said}");
        let said = known("dataframe-apend-frame").unwrap_err();
        assert!(said.contains("dataframe-append-frame"), "{said}");
        let said = known("nothing-of-the-kind-at-all").unwrap_err();
        assert!(said.contains("mlem rule --all"), "{said}");
    }
}
