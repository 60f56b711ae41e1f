//! `# mlem: ignore` comments.
//!
//! At the end of a line a comment silences what is found on that line; on a line of its own, what is found in the whole
//! cell or module. Without brackets it silences every rule.

use mlem_python::{TextRange, Unit};

use crate::catalogue::Catalogue;
use crate::checks::VANISHED;
use crate::schema::UnknownType;
use crate::selection::Selector;

/// What every comment for `mlem` holds; sources without it are not looked at.
const MARK: &str = "mlem:";

/// One comment.
#[derive(Debug)]
struct Ignore {
    unit: usize,
    range: TextRange,
    /// First and last line that it is about; nothing for the whole unit.
    lines: Option<(usize, usize)>,
    rules: Vec<Named>,
}

/// Rules that a comment names.
#[derive(Debug)]
struct Named {
    /// As it is written; nothing where the comment names none and so means all.
    text: Option<String>,
    selector: Selector,
    is_used: bool,
}

/// All comments of a program.
#[derive(Debug, Default)]
pub struct Ignores {
    ignores: Vec<Ignore>,
    problems: Vec<Remark>,
}

/// Something to say about a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The unit that the comment is in.
    pub unit: usize,
    /// The comment.
    pub range: TextRange,
    /// What there is to say.
    pub message: String,
}

impl Ignores {
    /// Reads the comments of units. Rules that do not exist are remarked upon in [`Ignores::problems`].
    pub fn of(catalogue: &Catalogue, units: &[Unit]) -> Ignores {
        let mut found = Ignores::default();
        for (index, unit) in units.iter().enumerate().filter(|(_, unit)| unit.source().contains(MARK)) {
            for comment in unit.comments() {
                let range = comment.range;
                let text = &unit.source()[range.start().to_usize()..range.end().to_usize()];
                let Some(read) = read(text) else { continue };
                let lines = (!comment.is_alone).then_some(comment.lines);
                let mut rules = Vec::new();
                match read {
                    Ok(None) => rules.push(Named { text: None, selector: Selector::All, is_used: false }),
                    Ok(Some(names)) => {
                        for name in names {
                            match catalogue.selector(name) {
                                Ok(selector) => {
                                    rules.push(Named {
                                        text: Some(name.to_string()),
                                        selector,
                                        is_used: false,
                                    });
                                }
                                Err(unknown) => found.remark(index, range, unknown.to_string()),
                            }
                        }
                    }
                    Err(problem) => found.remark(index, range, problem),
                }
                if !rules.is_empty() {
                    found.ignores.push(Ignore { unit: index, range, lines, rules });
                }
            }
        }
        found
    }

    fn remark(&mut self, unit: usize, range: TextRange, message: String) {
        self.problems.push(Remark { unit, range, message });
    }

    /// Whether a comment silences a rule on lines (first and last, from 1) of a unit.
    pub fn silence(&self, id: &str, unit: usize, lines: (usize, usize)) -> bool {
        self.ignores.iter().any(|ignore| {
            ignore.is_about(unit, lines) && ignore.rules.iter().any(|named| named.selector.covers(id))
        })
    }

    /// The same, and remembers which comments do.
    pub fn take(&mut self, id: &str, unit: usize, lines: (usize, usize)) -> bool {
        let mut is_silenced = false;
        for ignore in self.ignores.iter_mut().filter(|ignore| ignore.is_about(unit, lines)) {
            for named in ignore.rules.iter_mut().filter(|named| named.selector.covers(id)) {
                named.is_used = true;
                is_silenced = true;
            }
        }
        is_silenced
    }

    /// Comments that cannot be understood and rules that do not exist.
    pub fn problems(&self) -> &[Remark] {
        &self.problems
    }

    /// What [`Ignores::take`] never met. A rule that only a live error can find, or only a probed interpreter, is not
    /// held against a comment.
    pub fn unused(&self, catalogue: &Catalogue, is_probed: bool) -> Vec<Remark> {
        let needs_more = |selector: &Selector| match selector {
            Selector::One(id) if *id == VANISHED.id => !is_probed,
            Selector::One(id) => catalogue.rule(id).is_some_and(|rule| rule.unknown == UnknownType::Error),
            Selector::All | Selector::Prefix(_) => false,
        };
        let mut unused = Vec::new();
        for ignore in &self.ignores {
            for named in ignore.rules.iter().filter(|named| !named.is_used && !needs_more(&named.selector)) {
                let place = if ignore.lines.is_some() { "this line" } else { "this cell or file" };
                let message = match &named.text {
                    Some(text) => format!("`mlem: ignore[{text}]` silences nothing in {place}"),
                    None => format!("`mlem: ignore` silences nothing in {place}"),
                };
                unused.push(Remark { unit: ignore.unit, range: ignore.range, message });
            }
        }
        unused
    }
}

impl Ignore {
    fn is_about(&self, unit: usize, (first, last): (usize, usize)) -> bool {
        self.unit == unit && self.lines.is_none_or(|(from, to)| first <= to && last >= from)
    }
}

/// The rules that a comment's text names, `Ok(None)` where it means all; nothing where it is no comment for `mlem`.
fn read(comment: &str) -> Option<Result<Option<Vec<&str>>, String>> {
    let rest = comment.match_indices(MARK).find_map(|(at, _)| {
        comment[..at].trim_end().ends_with('#').then(|| comment[at + MARK.len()..].trim_start())
    })?;
    let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    if word != "ignore" {
        return Some(Err(format!("`mlem: {word}` is not known; `# mlem: ignore[RULE]` is")));
    }
    let rest = rest[word.len()..].trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        return Some(Ok(None));
    }
    let Some((names, _)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return Some(Err("rules are named in brackets: `# mlem: ignore[RULE, RULE]`".to_string()));
    };
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    if names.iter().any(|name| name.is_empty()) {
        return Some(Err("a rule is missing between the brackets of `# mlem: ignore[RULE]`".to_string()));
    }
    Some(Ok(Some(names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_name_rules_in_brackets() {
        assert_eq!(read("# nothing for mlem"), None);
        assert_eq!(read("# see mlem: ignore"), None);
        assert_eq!(read("# mlem: ignore"), Some(Ok(None)));
        assert_eq!(read("#mlem:ignore  # noqa"), Some(Ok(None)));
        assert_eq!(read("# noqa # mlem: ignore[PD001 , SK] as before"), Some(Ok(Some(vec!["PD001", "SK"]))));
        for wrong in
            ["# mlem: ignore PD001", "# mlem: ignore[", "# mlem: ignore[]", "# mlem: ignroe", "# mlem: noqa"]
        {
            assert!(read(wrong).is_some_and(|read| read.is_err()), "{wrong}");
        }
    }

    #[test]
    fn lines_and_whole_units_are_silenced() {
        let units = [Unit::cell("a  # mlem: ignore[PD001]\nb"), Unit::cell("# mlem: ignore[SK, PY2]\nc\nd")];
        let mut ignores = Ignores::of(Catalogue::shipped(), &units);
        assert!(ignores.silence("PD001", 0, (1, 1)));
        assert!(!ignores.silence("PD001", 0, (2, 2)));
        assert!(!ignores.silence("PD002", 0, (1, 1)));
        assert!(ignores.take("SK001", 1, (3, 3)));
        assert!(!ignores.silence("SK001", 0, (1, 1)));
        let unused: Vec<String> =
            ignores.unused(Catalogue::shipped(), false).into_iter().map(|remark| remark.message).collect();
        assert_eq!(
            unused,
            [
                "`mlem: ignore[PD001]` silences nothing in this line",
                "`mlem: ignore[PY2]` silences nothing in this cell or file"
            ]
        );
    }

    #[test]
    fn what_no_check_of_this_kind_can_find_is_not_unused() {
        let waiting =
            Catalogue::shipped().rules().iter().find(|rule| rule.unknown == UnknownType::Error).unwrap();
        let source = format!("a  # mlem: ignore[{}, VANISHED]", waiting.id);
        let ignores = Ignores::of(Catalogue::shipped(), &[Unit::cell(&source)]);
        assert!(ignores.unused(Catalogue::shipped(), false).is_empty());
        assert_eq!(ignores.unused(Catalogue::shipped(), true).len(), 1);
    }

    #[test]
    fn rules_that_do_not_exist_are_problems() {
        let units = [Unit::cell("a  # mlem: ignore[PD01x, PD001]")];
        let ignores = Ignores::of(Catalogue::shipped(), &units);
        assert!(ignores.silence("PD001", 0, (1, 1)), "the others count");
        assert!(ignores.problems()[0].message.starts_with("there is no rule `PD01x`"));
    }
}
