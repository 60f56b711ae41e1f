//! The metrics themselves: numbers in, one number out.

pub mod boxes;
pub mod correlation;
pub mod cuboids;
pub mod edit;
pub mod errors;
pub mod labels;
pub mod masks;
pub mod probability;
mod ranks;
pub mod roc;
pub mod sets;
pub(crate) mod sums;
pub mod volumes;
