//! CSV files as pandas reads them, without a data frame: cells as spans of the file, columns typed on demand.

mod csv;
mod ids;
mod numbers;
mod values;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

pub use ids::{IdMismatch, Key, KeyColumn, pair, pair_by_rank, rank};
pub use numbers::{python_float, python_integer, python_integer_saturated, python_repr};
pub use values::{Column, Text, Values, python_split, python_strip};

/// Bytes of a file beyond which it is refused unless the caller allows more: the spans of its cells can take
/// four times the file's size.
pub const DEFAULT_MAX_BYTES: u64 = 1 << 30;

/// The most that can be allowed: spans are 32-bit, and unescaped text may be as long as the file.
pub const HIGHEST_MAX_BYTES: u64 = (1 << 31) - 1;

/// Why a file is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// It is not there.
    #[error("no such file")]
    Absent,
    /// The system does not let it be read.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// It is larger than allowed.
    #[error("the file has {bytes} bytes and at most {limit} are read; --max-size allows more")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// What is allowed.
        limit: u64,
    },
    /// Nothing but blank lines.
    #[error("the file is empty")]
    Empty,
    /// A byte that UTF-8 does not allow.
    #[error("byte {at} (line {line}) is not UTF-8; save the file as UTF-8")]
    Encoding {
        /// Offset from 0.
        at: usize,
        /// Line from 1.
        line: usize,
    },
    /// More rows than are of use.
    #[error("more than {limit} rows")]
    Rows {
        /// How many are.
        limit: usize,
    },
    /// A line with more cells than the first data line.
    #[error("line {line} has {found} cells where {expected} are expected")]
    Ragged {
        /// Line from 1.
        line: usize,
        /// Cells of the header or the first data line, whichever has more.
        expected: usize,
        /// Cells found.
        found: usize,
    },
    /// A quote that is never closed.
    #[error("the quote opened on line {line} is never closed")]
    OpenQuote {
        /// Line from 1.
        line: usize,
    },
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    length: u32,
}

fn cell<'t>(bytes: &'t [u8], unescaped: &'t [u8], span: Span) -> &'t [u8] {
    let (start, length) = (span.start as usize, span.length as usize);
    if start >= bytes.len() && length > 0 {
        let start = start - bytes.len();
        &unescaped[start..start + length]
    } else {
        &bytes[start..start + length]
    }
}

/// A CSV file in memory.
#[derive(Debug)]
pub struct Table {
    bytes: Vec<u8>,
    unescaped: Vec<u8>,
    cells: Vec<Span>,
    names: Vec<String>,
    typed: Vec<OnceLock<Values>>,
    rows: usize,
}

impl Table {
    /// Reads a file of at most `limit` bytes.
    pub fn read(path: &Path, limit: u64) -> Result<Table, TableError> {
        Table::read_rows(path, limit, usize::MAX)
    }

    /// Reads a file of at most `limit` bytes and `most_rows` rows. What follows them is not looked at, so that the
    /// memory for a file with far too many rows does not grow with them.
    pub fn read_rows(path: &Path, limit: u64, most_rows: usize) -> Result<Table, TableError> {
        let file = File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => TableError::Absent,
            _ => TableError::Read(error),
        })?;
        let limit = limit.min(HIGHEST_MAX_BYTES);
        let size = file.metadata()?.len();
        if size > limit {
            return Err(TableError::TooLarge { bytes: size, limit });
        }
        let mut bytes = Vec::with_capacity(size as usize);
        // What the system says of a pipe or a growing file is not what is read from it.
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(TableError::TooLarge { bytes: bytes.len() as u64, limit });
        }
        Table::split(bytes, most_rows)
    }

    /// Splits the bytes of a file; at most [`HIGHEST_MAX_BYTES`].
    pub fn parse(bytes: Vec<u8>) -> Result<Table, TableError> {
        Table::split(bytes, usize::MAX)
    }

    fn split(bytes: Vec<u8>, most_rows: usize) -> Result<Table, TableError> {
        if bytes.len() as u64 > HIGHEST_MAX_BYTES {
            return Err(TableError::TooLarge { bytes: bytes.len() as u64, limit: HIGHEST_MAX_BYTES });
        }
        if let Err(error) = std::str::from_utf8(&bytes) {
            let at = error.valid_up_to();
            return Err(TableError::Encoding {
                at,
                line: 1 + memchr::memchr_iter(b'\n', &bytes[..at]).count(),
            });
        }
        let tokens = csv::tokenize(&bytes, most_rows)?;
        if tokens.header.is_empty() {
            return Err(TableError::Empty);
        }
        let names: Vec<&[u8]> =
            tokens.header.iter().map(|span| cell(&bytes, &tokens.unescaped, *span)).collect();
        let names = column_names(&names);
        let rows = tokens.cells.len() / names.len();
        let typed = names.iter().map(|_| OnceLock::new()).collect();
        Ok(Table { names, typed, rows, cells: tokens.cells, unescaped: tokens.unescaped, bytes })
    }

    /// Number of data rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Column names in the file's order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// A column with the type that pandas would infer for it, or `None` if there is none of this name.
    pub fn column(&self, name: &str) -> Option<Column<'_>> {
        let index = self.names.iter().position(|known| known == name)?;
        Some(self.column_at(index))
    }

    /// A column by its place.
    ///
    /// # Panics
    /// If there are not so many columns.
    pub fn column_at(&self, index: usize) -> Column<'_> {
        let values = self.typed[index].get_or_init(|| values::infer(self, index));
        Column::new(Text::new(self, index), values)
    }

    /// The bytes of a cell, as they are after unquoting.
    fn raw(&self, row: usize, column: usize) -> &[u8] {
        cell(&self.bytes, &self.unescaped, self.cells[row * self.names.len() + column])
    }
}

/// Names as pandas makes them: `Unnamed: i` for empty ones, `.1`, `.2` … behind repeated ones.
fn column_names(cells: &[&[u8]]) -> Vec<String> {
    let mut names: Vec<String> = cells
        .iter()
        .enumerate()
        .map(|(index, name)| match String::from_utf8_lossy(name) {
            empty if empty.is_empty() => format!("Unnamed: {index}"),
            name => name.into_owned(),
        })
        .collect();
    let mut counts: FxHashMap<String, usize> = FxHashMap::default();
    for index in 0..names.len() {
        let mut name = names[index].clone();
        let mut count = counts.get(&name).copied().unwrap_or(0);
        if count > 0 {
            let base = name.clone();
            while count > 0 {
                counts.insert(base.clone(), count + 1);
                name = format!("{base}.{count}");
                count =
                    if names.contains(&name) { count + 1 } else { counts.get(&name).copied().unwrap_or(0) };
            }
        }
        counts.insert(name.clone(), count + 1);
        names[index] = name;
    }
    names
}

#[cfg(test)]
mod tests;
