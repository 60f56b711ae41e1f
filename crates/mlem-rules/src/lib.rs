//! The catalogue of what eroded, its matcher and its rewriter.
//!
//! Rules are data (`rules/*.toml`, one file a library; the format is in this crate's README).
//! [`Catalogue::check`] walks a [`mlem_python::Program`] once and says where a rule applies to a
//! [`Target`]; a [`Finding`] holds its fix as edits of single tokens. [`plan`] and
//! [`fix_until_stable`] apply fixes so that several in one cell compose.

mod call;
mod catalogue;
pub mod checks;
mod condition;
mod defaults;
mod definitions;
mod engine;
pub mod example;
mod explain;
mod finding;
mod functions;
mod guards;
mod ignore;
mod imports;
mod index;
mod judge;
mod lookup;
mod moved;
mod pattern;
mod place;
mod plan;
mod receiver;
mod relocate;
mod rewrite;
mod rule;
mod schema;
mod selection;
mod target;
mod template;
mod tokens;

pub use catalogue::{Catalogue, CatalogueError};
pub use defaults::{DefaultChange, DefaultEffect, DefaultPin, Past};
pub use explain::{Explanation, reference};
pub use finding::{Finding, Fix, Proof, one_a_place};
pub use ignore::{Ignores, Remark};
pub use lookup::{Known, UnknownRule};
pub use pep440_rs::Version;
pub use place::Place;
pub use plan::{Applied, Fixed, Plan, fix_until_stable, plan};
pub use relocate::relocate;
pub use rule::{Demonstration, Rule};
pub use schema::{Kind, Safety, ScoreEffect};
pub use selection::{Layer, Selection, Selector};
pub use target::{LiveError, LiveTypes, Pins, Question, Target};
