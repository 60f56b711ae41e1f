//! Distributions, locks, interpreters: what a notebook needs, and what an interpreter has.
//!
//! - [`Detector`] says which distributions a notebook needs, from its imports, magics and install lines, from what lies
//!   around it ([`Surroundings`]) and from reviewed tables ([`Knowledge`]); a name that no table holds is a guess and
//!   called one.
//! - [`Interpreter`] finds Pythons and says what each is.
//! - [`build`] makes an [`Environment`] for a list of wanted distributions with [`Uv`], keyed by its [`Lock`];
//!   [`existing`] describes one that is there; [`install_missing`] makes one with more in it;
//!   [`build_frozen`] installs an exact list for an interpreter of its time, down to 2.7;
//!   [`prune`] takes out built ones that nobody uses.
//! - [`Probe`] asks an environment what it has: names, signatures, defaults, and where a vanished name lives now.
//! - [`Age`] is what clues say about a notebook's time, with the releases of [`release_history`].
//! - [`newest_releases`] is what code is judged against when no interpreter is given.
//!
//! Everything known about particular distributions stands in the tables under `data/`.

mod age;
mod bindings;
mod cache;
mod collect;
mod date;
mod detect;
mod distribution;
mod environment;
mod frozen;
mod history;
mod homes;
mod install_line;
mod interpreter;
mod knowledge;
mod lock;
mod marks;
mod names;
mod outline;
mod probe;
mod process;
mod releases;
mod requirement;
mod resolve;
mod surroundings;
mod uv;

pub use age::{Age, Bound, Clue, Interval, Says};
pub use cache::{Pruned, Unused, prune};
pub use date::{Date, DateError};
pub use detect::{Detected, Detector, Need, NeedKind, Pins, Why, detect, detect_units};
pub use distribution::Distribution;
pub use environment::{
    Environment, EnvironmentError, EnvironmentSpec, PythonChoice, Step, Wanted, build, existing,
    install_missing,
};
pub use frozen::{FrozenError, build_frozen};
pub use history::{History, release_history};
pub use homes::{Confidence, Home};
pub use interpreter::{Interpreter, InterpreterError};
pub use knowledge::{Knowledge, Offer};
pub use lock::{Lock, Pin};
pub use marks::marks;
pub use probe::{Answer, Kind, Parameter, ParameterKind, Probe, ProbeError, Raised};
pub use releases::{Releases, newest_releases};
pub use requirement::{
    Requirement, RequirementError, RequirementsFile, RequirementsFileError, read_requirements,
};
pub use resolve::{Dropped, PassedOver, Suspect};
pub use surroundings::{Evidence, Surroundings};
pub use uv::{Uv, UvMissing};
