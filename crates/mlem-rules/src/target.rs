//! What the notebook is judged against, and what a running kernel can say about it.

use std::collections::BTreeMap;

use pep440_rs::Version;

use mlem_python::Program;

/// The environment a notebook is judged against: a probed interpreter, a shipped table of newest
/// releases, or a list of pins.
pub trait Target {
    /// The version of a distribution (normalised name, PEP 503), or nothing when it is not part of
    /// the target. Rules of an absent library do not apply.
    fn version_of(&self, distribution: &str) -> Option<&Version>;
    /// Major and minor version of the interpreter.
    fn python(&self) -> (u8, u8);
}

/// A target written down: distribution names to versions.
#[derive(Debug, Clone)]
pub struct Pins {
    /// Major and minor version of the interpreter.
    pub python: (u8, u8),
    /// Normalised distribution name to version.
    pub packages: BTreeMap<String, Version>,
}

impl Target for Pins {
    fn version_of(&self, distribution: &str) -> Option<&Version> {
        self.packages.get(distribution)
    }

    fn python(&self) -> (u8, u8) {
        self.python
    }
}

/// The error a live kernel stopped on.
#[derive(Debug, Clone)]
pub struct LiveError {
    /// Name of the exception's class, without its module.
    pub ename: String,
    /// The exception's message.
    pub evalue: String,
    /// The failing unit.
    pub unit: usize,
    /// First and last line (from 1) of the failing statement or frame in that unit, where known.
    pub lines: Option<(usize, usize)>,
}

/// Types asked of the live kernel.
pub trait LiveTypes {
    /// The method resolution order (fully qualified class names) of the value an expression has in
    /// the kernel now; nothing when it has none. The expression is always free of calls.
    fn type_of(&self, expression: &str) -> Option<Vec<String>>;
}

/// One question to the catalogue: what in this program does not fit that target?
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The program, analysed.
    pub program: &'a Program,
    /// What it is judged against.
    pub target: &'a dyn Target,
    /// The error the kernel stopped on, when one is running.
    pub error: Option<&'a LiveError>,
    /// Types of live values, when a kernel is running.
    pub types: Option<&'a dyn LiveTypes>,
}

impl<'a> Question<'a> {
    /// A question without a running kernel.
    pub fn without_kernel(program: &'a Program, target: &'a dyn Target) -> Self {
        Question { program, target, error: None, types: None }
    }
}
