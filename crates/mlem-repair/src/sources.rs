//! The text under repair: the notebook's code cells and the helper modules beside it.

use std::path::{Path, PathBuf};

use mlem_notebook::{CellIndex, CellKind, Notebook};
use mlem_python::{Edit, EditSet, Program, Unit};
use similar::{ChangeTag, TextDiff};

/// Where a piece of source lives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A code cell.
    Cell(CellIndex),
    /// A helper module: its path relative to the tree's root.
    Module(PathBuf),
}

/// One piece of source, as it was and as it is.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Where it lives.
    pub place: Place,
    /// The text in the file.
    pub original: String,
    /// The text under repair.
    pub current: String,
    /// The notebook's author let this cell fail (tag `raises-exception`, or a stored error output).
    pub may_fail: bool,
}

/// All pieces: code cells in order, then modules by path.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pieces: Vec<Piece>,
    cells: usize,
}

/// The lines that a change touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineChange {
    /// First and last line from 1, in the old text.
    pub lines: (usize, usize),
    /// Those lines before.
    pub before: String,
    /// What stands there after.
    pub after: String,
}

impl LineChange {
    /// Makes the change again in `text`; `None` when other lines stand there.
    pub fn apply(&self, text: &str) -> Option<String> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let first = self.lines.0.checked_sub(1)?;
        let count = self.before.split_inclusive('\n').count();
        let there = lines.get(first..first + count)?.concat();
        (there == self.before).then(|| {
            [&lines[..first].concat(), self.after.as_str(), &lines[first + count..].concat()].concat()
        })
    }
}

impl Sources {
    /// The code cells of `notebook`.
    pub fn new(notebook: &Notebook) -> Sources {
        let pieces: Vec<Piece> = notebook
            .cells()
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.kind == CellKind::Code)
            .map(|(index, cell)| Piece {
                place: Place::Cell(CellIndex(index)),
                original: cell.source.clone(),
                current: cell.source.clone(),
                may_fail: cell.may_fail(),
            })
            .collect();
        let cells = pieces.len();
        Sources { pieces, cells }
    }

    /// Adds helper modules: path relative to the tree's root, and text.
    pub fn add_modules(&mut self, modules: Vec<(PathBuf, String)>) {
        self.pieces.extend(modules.into_iter().map(|(path, text)| Piece {
            place: Place::Module(path),
            original: text.clone(),
            current: text,
            may_fail: false,
        }));
    }

    /// Adds helper modules that take the place of those in the tree: path relative to the tree's root, and text.
    pub fn replace_modules(&mut self, modules: Vec<(PathBuf, String)>) {
        self.pieces.extend(modules.into_iter().map(|(path, text)| Piece {
            place: Place::Module(path),
            original: String::new(),
            current: text,
            may_fail: false,
        }));
    }

    /// Every piece, code cells first.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The code cells in order; their position is the unit's number in [`Sources::program`].
    pub fn cells(&self) -> &[Piece] {
        &self.pieces[..self.cells]
    }

    /// Index of each code cell among all cells.
    pub fn cell_indices(&self) -> Vec<usize> {
        self.cells()
            .iter()
            .filter_map(|piece| match piece.place {
                Place::Cell(index) => Some(index.0),
                Place::Module(_) => None,
            })
            .collect()
    }

    /// The helper modules.
    pub fn modules(&self) -> &[Piece] {
        &self.pieces[self.cells..]
    }

    /// Position of the piece at `place`.
    pub fn position(&self, place: &Place) -> Option<usize> {
        self.pieces.iter().position(|piece| piece.place == *place)
    }

    /// The notebook as one program; unit `i` is code cell `i`.
    pub fn program(&self) -> Program {
        Program::new(self.cells().iter().map(|piece| Unit::cell(&piece.current)).collect())
    }

    /// The program that a piece belongs to, and its unit there: the notebook, or the module alone.
    pub fn program_of(&self, piece: usize) -> (Program, usize) {
        if piece < self.cells {
            (self.program(), piece)
        } else {
            (Program::new(vec![Unit::module(&self.pieces[piece].current)]), 0)
        }
    }

    /// Puts `text` into a piece.
    pub fn set(&mut self, piece: usize, text: String) {
        self.pieces[piece].current = text;
    }

    /// Applies `edits` to a piece if the result still parses as well as before.
    pub fn apply(&mut self, piece: usize, edits: &[Edit]) -> Result<LineChange, mlem_python::EditError> {
        let current = &self.pieces[piece].current;
        let unit = if piece < self.cells { Unit::cell(current) } else { Unit::module(current) };
        let mut set = EditSet::default();
        for edit in edits {
            set.add(edit.clone())?;
        }
        let new = set.apply_checked(&unit)?.source().to_owned();
        let change = line_change(current, &new);
        self.set(piece, new);
        Ok(change)
    }

    /// Writes the current text of all changed code cells into `notebook`.
    pub fn write_cells(&self, notebook: &mut Notebook) {
        for piece in self.cells() {
            if let Place::Cell(cell) = piece.place
                && piece.current != notebook.cells()[cell.0].source
            {
                notebook.set_source(cell, &piece.current);
            }
        }
    }

    /// A unified diff of every changed piece; `notebook` names the cells' file.
    pub fn unified_diff(&self, notebook: &Path) -> String {
        let mut diff = String::new();
        for piece in &self.pieces {
            if piece.original == piece.current {
                continue;
            }
            let name = match &piece.place {
                Place::Cell(cell) => format!("{}#cell{}", notebook.display(), cell.0),
                Place::Module(path) => path.display().to_string(),
            };
            let text = TextDiff::from_lines(&piece.original, &piece.current);
            diff.push_str(
                &text.unified_diff().header(&format!("a/{name}"), &format!("b/{name}")).to_string(),
            );
        }
        diff
    }
}

/// The lines that differ between two texts, from the first to the last changed one.
pub fn line_change(old: &str, new: &str) -> LineChange {
    let diff = TextDiff::from_lines(old, new);
    let (mut first, mut last) = (None, 0);
    let mut old_line = 0;
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => old_line += 1,
            ChangeTag::Delete => {
                old_line += 1;
                first.get_or_insert(old_line);
                last = old_line;
            }
            ChangeTag::Insert => {
                first.get_or_insert(old_line + 1);
                last = last.max(old_line);
            }
        }
    }
    let first = first.unwrap_or(1);
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let kept_after = old_lines.len().saturating_sub(last.max(first - 1));
    let before: String = old_lines.get(first - 1..last.max(first - 1)).unwrap_or_default().concat();
    let after: String =
        new_lines.get(first - 1..new_lines.len().saturating_sub(kept_after)).unwrap_or_default().concat();
    LineChange { lines: (first, last.max(first)), before, after }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_changes_name_the_old_lines() {
        let change = line_change("a\nb\nc\n", "a\nB\nc\n");
        assert_eq!(change, LineChange { lines: (2, 2), before: "b\n".into(), after: "B\n".into() });
        let inserted = line_change("a\nb", "import x\na\nb");
        assert_eq!(inserted, LineChange { lines: (1, 1), before: String::new(), after: "import x\n".into() });
        assert_eq!(inserted.apply("a\nb").as_deref(), Some("import x\na\nb"));
        assert_eq!(change.apply("a\nB\nc\n"), None);
        let removed = line_change("a\nb\n", "a\n");
        assert_eq!(removed.apply("a\nb\n").as_deref(), Some("a\n"));
        assert_eq!(removed, LineChange { lines: (2, 2), before: "b\n".into(), after: String::new() });
    }
}
