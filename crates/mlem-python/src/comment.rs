//! Comments, and the lines that they are at the end of.

use ruff_text_size::{TextRange, TextSize};

use crate::python2::lexer::{Kind, Tokens, tokenize};
use crate::unit::{Syntax, Unit};

/// One comment, from its `#` to the end of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Bytes of the unit's source.
    pub range: TextRange,
    /// Whether nothing else stands on its line.
    pub is_alone: bool,
    /// First and last line, from 1, at whose end it stands: its own, and those before it that cannot end in a comment,
    /// since a string or a backslash carries them on.
    pub lines: (usize, usize),
}

impl Unit {
    /// The comments, in order, also of a source that does not parse. A cell in another language has none.
    pub fn comments(&self) -> Vec<Comment> {
        if matches!(self.syntax(), Syntax::Opaque(_)) {
            return Vec::new();
        }
        let source = self.source();
        let tokens = tokenize(source, self.is_cell());
        let mut starts = Vec::new();
        let mut carried_on = Vec::new();
        let mut gap = 0;
        for token in &tokens.tokens {
            read_gap(source, gap..token.range.start, &mut starts, &mut carried_on);
            gap = token.range.end;
            let text = &source[token.range.clone()];
            match token.kind {
                Kind::String => {
                    carried_on.extend(text.match_indices('\n').map(|(at, _)| token.range.start + at));
                }
                Kind::Magic => starts.extend(in_magic(text).map(|at| token.range.start + at)),
                _ => {}
            }
        }
        read_gap(source, gap..source.len(), &mut starts, &mut carried_on);
        let line_of = |at: usize| self.position(size(at)).0;
        let carried_on: Vec<usize> = carried_on.into_iter().map(line_of).collect();
        let comment = |start: usize| {
            let last = line_of(start);
            let mut first = last;
            while first > 1 && carried_on.contains(&(first - 1)) {
                first -= 1;
            }
            let line = source[..start].rfind('\n').map_or(0, |at| at + 1);
            let end = source[start..].find('\n').map_or(source.len(), |at| start + at);
            Comment {
                range: TextRange::new(size(start), size(end)),
                is_alone: source[line..start].trim().is_empty(),
                lines: (first, last),
            }
        };
        starts.into_iter().map(comment).collect()
    }
}

/// Between tokens stand white space, comments, and backslashes that carry a line on.
fn read_gap(source: &str, gap: std::ops::Range<usize>, starts: &mut Vec<usize>, carried_on: &mut Vec<usize>) {
    let mut at = gap.start;
    for line in source[gap].split_inclusive('\n') {
        let text = line.trim_end();
        match line.find('#') {
            Some(hash) => starts.push(at + hash),
            None if text.ends_with('\\') && line.ends_with('\n') => carried_on.push(at + line.len() - 1),
            None => {}
        }
        at += line.len();
    }
}

/// Comments at the end of an escape, whose tokens are read as if they were Python's: quotes are the same in a shell.
fn in_magic(text: &str) -> impl Iterator<Item = usize> {
    let head = text.len() - text.trim_start_matches(['%', '!', '?']).len();
    let Tokens { tokens, .. } = tokenize(&text[head..], false);
    let (mut starts, mut gap) = (Vec::new(), 0);
    for token in &tokens {
        read_gap(&text[head..], gap..token.range.start, &mut starts, &mut Vec::new());
        gap = token.range.end;
    }
    read_gap(&text[head..], gap..text.len() - head, &mut starts, &mut Vec::new());
    starts.into_iter().map(move |at| head + at)
}

fn size(bytes: usize) -> TextSize {
    // Units refuse sources beyond 4 GiB before anything measures them.
    TextSize::try_from(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text, whether it stands alone, and lines of each comment.
    fn comments(unit: &Unit) -> Vec<(&str, bool, (usize, usize))> {
        let text = |comment: &Comment| {
            &unit.source()[comment.range.start().to_usize()..comment.range.end().to_usize()]
        };
        unit.comments().iter().map(|comment| (text(comment), comment.is_alone, comment.lines)).collect()
    }

    #[test]
    fn strings_hold_no_comments() {
        let unit =
            Unit::module("x = '# no' # yes\ny = \"\"\"\n# no\n\"\"\"  # two\n  # alone\nz = f'{x}#no'\n");
        let found = comments(&unit);
        assert_eq!(found, [("# yes", false, (1, 1)), ("# two", false, (2, 4)), ("# alone", true, (5, 5))]);
    }

    #[test]
    fn lines_that_are_carried_on_belong_to_the_comment_behind_them() {
        let unit = Unit::cell("x = a \\\n  .b \\\n  .c  # end\ny = (1,\n     2)  # other");
        assert_eq!(comments(&unit), [("# end", false, (1, 3)), ("# other", false, (5, 5))]);
    }

    #[test]
    fn escapes_end_in_comments() {
        let unit =
            Unit::cell("%%time\n%time f()  # a\n!pip install 'x#y' # b\n%matplotlib inline # c\ny = !ls # d");
        let texts: Vec<&str> = comments(&unit).into_iter().map(|(text, ..)| text).collect();
        assert_eq!(texts, ["# a", "# b", "# c", "# d"]);
        assert!(Unit::cell("%%bash\n# not Python\nls").comments().is_empty());
    }

    #[test]
    fn what_does_not_parse_has_comments_too() {
        assert_eq!(comments(&Unit::cell("print 'a' # b\ndef (: # c")).len(), 2);
        assert_eq!(comments(&Unit::cell("x = 'open # not a comment")).len(), 0);
        assert_eq!(
            comments(&Unit::cell("ä = 1  # ö\r\n# ü")),
            [("# ö\r", false, (1, 1)), ("# ü", true, (2, 2))]
        );
    }
}
