//! Places in a file that a person wrote.

use std::fmt;

/// Line and column, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line from 1.
    pub line: usize,
    /// Column from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset in a text; offsets beyond its end are its end.
    pub fn at(text: &str, offset: usize) -> Place {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Place { line: before.matches('\n').count() + 1, column: before[start..].chars().count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters() {
        let text = "a\näö = 1\n";
        assert_eq!(Place::at(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::at(text, text.find('=').unwrap()), Place { line: 2, column: 4 });
        assert_eq!(Place::at(text, 999), Place { line: 3, column: 1 });
    }
}
