//! Which rules are wanted: ids, beginnings of ids and names, selected and ignored in layers.

use std::collections::BTreeSet;

use crate::catalogue::Catalogue;
use crate::checks::CHECKS;
use crate::lookup::{Known, UnknownRule};

/// Rules as a person names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// `ALL`.
    All,
    /// Every id that begins so: `PD`, `SK1`.
    Prefix(String),
    /// One rule or check, by its id or name.
    One(String),
}

impl Selector {
    /// Whether it names the rule or check with this id.
    pub fn covers(&self, id: &str) -> bool {
        match self {
            Selector::All => true,
            Selector::Prefix(prefix) => id.starts_with(prefix.as_str()),
            Selector::One(one) => id == one,
        }
    }

    /// How narrowly it names: of a rule that is both selected and ignored, the narrower word counts.
    fn width(&self) -> usize {
        match self {
            Selector::All => usize::MAX,
            Selector::Prefix(prefix) => usize::MAX - prefix.len(),
            Selector::One(_) => 0,
        }
    }
}

/// One place where rules are selected and ignored: a configuration file, or the command line.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    /// The only rules that are wanted, whatever the layers before said.
    pub select: Option<Vec<Selector>>,
    /// Rules that are not wanted.
    pub ignore: Vec<Selector>,
}

/// The rules that are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    unwanted: BTreeSet<String>,
}

impl Selection {
    /// Every rule.
    pub fn all() -> Selection {
        Selection::default()
    }

    /// What layers lead to, the last one having the last word.
    pub fn of(catalogue: &Catalogue, layers: &[Layer]) -> Selection {
        let unwanted =
            ids(catalogue).filter(|id| !layers.iter().fold(true, |so_far, layer| layer.wants(id, so_far)));
        Selection { unwanted: unwanted.map(str::to_string).collect() }
    }

    /// This selection less what `ignored` names.
    #[must_use]
    pub fn without<'a>(
        &self,
        catalogue: &Catalogue,
        ignored: impl Iterator<Item = &'a Selector> + Clone,
    ) -> Selection {
        let mut unwanted = self.unwanted.clone();
        let more = ids(catalogue).filter(|id| ignored.clone().any(|selector| selector.covers(id)));
        unwanted.extend(more.map(str::to_string));
        Selection { unwanted }
    }

    /// Whether the rule or check with this id is wanted.
    pub fn wants(&self, id: &str) -> bool {
        !self.unwanted.contains(id)
    }

    /// Ids that are not wanted, in order.
    pub fn unwanted(&self) -> impl Iterator<Item = &str> {
        self.unwanted.iter().map(String::as_str)
    }
}

impl Layer {
    fn wants(&self, id: &str, so_far: bool) -> bool {
        let narrowest = |selectors: &[Selector]| {
            selectors.iter().filter(|selector| selector.covers(id)).map(Selector::width).min()
        };
        let ignored = narrowest(&self.ignore);
        match &self.select {
            None => so_far && ignored.is_none(),
            Some(select) => match (narrowest(select), ignored) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(selected), Some(ignored)) => selected < ignored,
            },
        }
    }
}

fn ids(catalogue: &Catalogue) -> impl Iterator<Item = &str> {
    catalogue.rules().iter().map(|rule| rule.id.as_str()).chain(CHECKS.iter().map(|check| check.id))
}

impl Catalogue {
    /// Reads an id, a name, the beginning of ids, or `ALL`. What is an id is not the beginning of others.
    ///
    /// # Errors
    /// [`UnknownRule`] with the nearest ids and names.
    pub fn selector(&self, text: &str) -> Result<Selector, UnknownRule> {
        if text == "ALL" {
            return Ok(Selector::All);
        }
        match self.look_up(text) {
            Ok(Known::Rule(rule)) => Ok(Selector::One(rule.id.clone())),
            Ok(Known::Check(check)) => Ok(Selector::One(check.id.to_string())),
            Err(_) if !text.is_empty() && ids(self).any(|id| id.starts_with(text)) => {
                Ok(Selector::Prefix(text.to_string()))
            }
            Err(unknown) => Err(unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selectors(texts: &[&str]) -> Vec<Selector> {
        texts.iter().map(|text| Catalogue::shipped().selector(text).unwrap()).collect()
    }

    fn layer(select: Option<&[&str]>, ignore: &[&str]) -> Layer {
        Layer { select: select.map(selectors), ignore: selectors(ignore) }
    }

    fn wants(layers: &[Layer], id: &str) -> bool {
        Selection::of(Catalogue::shipped(), layers).wants(id)
    }

    #[test]
    fn the_narrower_word_counts() {
        let narrow_select = [layer(Some(&["PD001"]), &["PD"])];
        assert!(wants(&narrow_select, "PD001"));
        assert!(!wants(&narrow_select, "PD002"));
        let narrow_ignore = [layer(Some(&["PD"]), &["dataframe-append-frame"])];
        assert!(!wants(&narrow_ignore, "PD001"));
        assert!(wants(&narrow_ignore, "PD002"));
        assert!(!wants(&narrow_ignore, "SK001"));
        assert!(!wants(&[layer(Some(&["PD001"]), &["PD001"])], "PD001"));
        assert!(!wants(&[layer(Some(&["ALL"]), &["PD0"])], "PD001"));
    }

    #[test]
    fn a_later_layer_has_the_last_word() {
        let file = layer(Some(&["PD"]), &["PD001"]);
        assert!(wants(&[file.clone(), layer(Some(&["PD001"]), &[])], "PD001"));
        assert!(!wants(&[file.clone(), layer(Some(&["PD001"]), &[])], "PD002"));
        assert!(!wants(&[file.clone(), layer(None, &["PD002"])], "PD002"));
        assert!(wants(&[file, layer(None, &["PD002"])], "PD003"));
    }

    #[test]
    fn an_id_is_not_the_beginning_of_others() {
        assert_eq!(selectors(&["PY2"]), [Selector::One("PY2".into())]);
        assert_eq!(selectors(&["PY"]), [Selector::Prefix("PY".into())]);
        let error = Catalogue::shipped().selector("QQ").unwrap_err();
        assert_eq!(error.text, "QQ");
        assert!(Catalogue::shipped().selector("").is_err());
    }

    #[test]
    fn one_file_can_want_less() {
        let all = Selection::all();
        let less = all.without(Catalogue::shipped(), selectors(&["PD", "SYNTAX"]).iter());
        assert!(all.wants("PD001") && !less.wants("PD001") && !less.wants("SYNTAX") && less.wants("SK001"));
    }
}
