//! Python source: parse (2 and 3, IPython), names and scopes, def-use between cells, lossless edits.
//!
//! [`Unit`] is one parsed piece of source, a code cell or a module. [`Program`] is a list of
//! units in execution order with what one pass over them found: qualified names, light types,
//! imports and the def-use relation. [`EditSet`] applies byte-range replacements and refuses
//! overlaps; [`python2`] brings Python 2 syntax to Python 3 as such edits.
//!
//! This is the only crate that names ruff's parser, whose interface moves with every release;
//! the others use [`ast`], the neutral [`tree`] and the text types exported here.

mod analysis;
mod comment;
mod dependents;
mod edit;
mod magic;
mod program;
pub mod python2;
pub mod tree;
mod types;
mod unit;

pub use comment::Comment;
pub use edit::{Edit, EditError, EditSet};
pub use magic::{Magic, MagicKind};
pub use program::{Flow, Import, Program};
pub use python2::{LiftError, is_python2, lift_program, lift_python2};
pub use ruff_text_size::{Ranged, TextLen, TextRange, TextSize};
pub use types::{canonical_type, is_subtype};
pub use unit::{Dialect, Syntax, Unit};

/// The syntax tree of Python 3, as ruff defines it.
pub mod ast {
    pub use ruff_python_ast::*;
}
