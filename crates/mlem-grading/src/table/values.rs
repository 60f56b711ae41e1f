//! Columns with the type that pandas infers, and their values in the ways graders use them.

use std::borrow::Cow;

use super::Table;
use super::numbers::{Integer, parse_float, parse_integer, python_repr};

/// White space of Python's `str.split` and `str.strip`: Unicode's, and the four separators U+001C to U+001F.
pub(super) fn is_python_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Splits at white space as Python's `str.split()` does.
pub fn python_split(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_python_space).filter(|word| !word.is_empty())
}

/// Strips white space as Python's `str.strip()` does.
pub fn python_strip(text: &str) -> &str {
    text.trim_matches(is_python_space)
}

/// Whether pandas reads a cell as missing (the default `na_values` of `pandas.read_csv`).
pub(super) fn is_missing(cell: &[u8]) -> bool {
    match cell.len() {
        0 => true,
        2 => cell == b"NA",
        3 => matches!(cell, b"#NA" | b"N/A" | b"NaN" | b"n/a" | b"nan"),
        4 => matches!(cell, b"#N/A" | b"-NaN" | b"-nan" | b"<NA>" | b"NULL" | b"None" | b"null"),
        6 => cell == b"1.#IND",
        7 => matches!(cell, b"1.#QNAN" | b"-1.#IND"),
        8 => matches!(cell, b"-1.#QNAN" | b"#N/A N/A"),
        _ => false,
    }
}

/// Whether an integer beyond 64 bits comes before anything that is no integer, which is when pandas leaves `int64`
/// for `uint64` instead of `float64`.
fn overflows_first<'c>(cells: impl Iterator<Item = &'c [u8]>) -> bool {
    cells
        .filter(|cell| !is_missing(cell))
        .map(parse_integer)
        .find(|integer| !matches!(integer, Integer::Value(_)))
        .is_some_and(|integer| integer == Integer::Overflow)
}

/// Whether `uint64` is all that pandas tries for such a column: until a cell that is no integer, it is; an integer
/// beyond `uint64` before that cell, or none such cell, leaves text (or `uint64`, which is text here).
fn stays_integral<'c>(cells: impl Iterator<Item = &'c [u8]>) -> bool {
    for cell in cells.filter(|cell| !is_missing(cell)) {
        match parse_integer(cell) {
            Integer::Value(_) => {}
            Integer::Overflow => {
                let digits = cell.iter().filter(|byte| byte.is_ascii_digit()).copied().collect::<Vec<u8>>();
                let fits = std::str::from_utf8(&digits).is_ok_and(|digits| digits.parse::<u64>().is_ok());
                if !fits && !cell.contains(&b'-') {
                    return true;
                }
            }
            Integer::No => return false,
        }
    }
    true
}

/// Text cells of one column.
#[derive(Debug, Clone, Copy)]
pub struct Text<'t> {
    table: &'t Table,
    column: usize,
}

impl<'t> Text<'t> {
    pub(super) fn new(table: &'t Table, column: usize) -> Text<'t> {
        Text { table, column }
    }

    /// A cell, or `None` where it is missing.
    pub fn get(&self, row: usize) -> Option<&'t str> {
        let cell = self.table.raw(row, self.column);
        // The file is UTF-8 and cells are cut at ASCII bytes.
        (!is_missing(cell)).then(|| std::str::from_utf8(cell).unwrap_or_default())
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.table.rows()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The values of a column with the type that pandas would give it.
///
/// Two differences: a column is typed as a whole, while pandas types a large file piece by piece; and
/// integers beyond 64 bits with sign are text here.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// All cells are integers.
    Integer(Vec<i64>),
    /// All cells are numbers or missing (NaN).
    Float(Vec<f64>),
    /// All cells are `True`, `TRUE`, `true`, `False`, `FALSE` or `false`.
    Bool(Vec<bool>),
    /// Anything else; the cells stay where they are.
    Text,
}

/// A column: its cells as text, and the values they stand for.
#[derive(Debug, Clone, Copy)]
pub struct Column<'t> {
    text: Text<'t>,
    values: &'t Values,
}

pub(super) fn infer(table: &Table, column: usize) -> Values {
    let rows = table.rows();
    if rows == 0 {
        return Values::Text;
    }
    let cells = || (0..rows).map(|row| table.raw(row, column));
    let mut integers = Vec::with_capacity(rows);
    for cell in cells() {
        match parse_integer(cell) {
            Integer::Value(value) => integers.push(value),
            Integer::Overflow if stays_integral(cells()) => return Values::Text,
            // A missing cell makes floats of integers, but an integer too large is still looked for.
            Integer::No if is_missing(cell) && overflows_first(cells()) && stays_integral(cells()) => {
                return Values::Text;
            }
            Integer::Overflow | Integer::No => break,
        }
    }
    if integers.len() == rows {
        return Values::Integer(integers);
    }
    drop(integers);
    let mut floats = Vec::with_capacity(rows);
    for cell in cells() {
        match if is_missing(cell) { Some(f64::NAN) } else { parse_float(cell) } {
            Some(value) => floats.push(value),
            None => break,
        }
    }
    if floats.len() == rows {
        return Values::Float(floats);
    }
    let bools: Option<Vec<bool>> = cells()
        .map(|cell| match cell {
            b"True" | b"TRUE" | b"true" => Some(true),
            b"False" | b"FALSE" | b"false" => Some(false),
            _ => None,
        })
        .collect();
    bools.map_or(Values::Text, Values::Bool)
}

impl<'t> Column<'t> {
    pub(super) fn new(text: Text<'t>, values: &'t Values) -> Column<'t> {
        Column { text, values }
    }

    /// Its values.
    pub fn values(&self) -> &'t Values {
        self.values
    }

    /// Its cells as text, whatever they stand for.
    pub fn text(&self) -> Text<'t> {
        self.text
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A value as a number (booleans are 0 and 1), or `None` in a column of text.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self.values {
            Values::Integer(values) => Some(values[row] as f64),
            Values::Float(values) => Some(values[row]),
            Values::Bool(values) => Some(f64::from(u8::from(values[row]))),
            Values::Text => None,
        }
    }

    /// Whether it holds text.
    pub fn is_text(&self) -> bool {
        matches!(self.values, Values::Text)
    }

    /// Whether a cell is missing.
    pub fn is_missing(&self, row: usize) -> bool {
        match self.values {
            Values::Float(values) => values[row].is_nan(),
            Values::Text => self.text.get(row).is_none(),
            Values::Integer(_) | Values::Bool(_) => false,
        }
    }

    /// A cell as `astype(str)` prints it; missing ones are `nan`.
    pub fn printed(&self, row: usize) -> Cow<'t, str> {
        match self.values {
            Values::Integer(values) => Cow::Owned(values[row].to_string()),
            Values::Float(values) => Cow::Owned(python_repr(values[row])),
            Values::Bool(values) => Cow::Borrowed(if values[row] { "True" } else { "False" }),
            Values::Text => Cow::Borrowed(self.text.get(row).unwrap_or("nan")),
        }
    }

    /// What it holds, for messages.
    pub fn kind(&self) -> &'static str {
        match self.values {
            Values::Integer(_) => "integers",
            Values::Float(_) => "numbers",
            Values::Bool(_) => "booleans",
            Values::Text => "text",
        }
    }
}
