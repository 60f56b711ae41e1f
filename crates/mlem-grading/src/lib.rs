//! Scores a submission with its competition's metric: tables, metrics, competitions, medals.
//!
//! A [`Grader`] holds a competition's answers and grades files; [`Report`] says what came of it, with medals from
//! [`Thresholds`]. [`choose`] finds the submission among the files that a notebook wrote. All metrics are our own;
//! only a [`External`] grader of the user's runs a process, and that through `mlem-kernel`'s `Launch`.

mod batch;
mod chosen;
mod competition;
mod external;
mod grader;
mod leaderboard;
pub mod metric;
mod report;
pub mod table;

pub use batch::{
    BatchError, Entry, Judge, Leaderboards, Prepared, csv_score, entries_of_folder, entries_of_list,
    grade_all,
};
pub use chosen::{Candidate, Chosen, Sample, choose};
pub use competition::{
    Check, Competition, Direction, Fault, KeepRows, LabelKind, Metric, Mode, Pairing, Targets,
};
pub use external::{External, ExternalError};
pub use grader::{AnswersError, Grader, Outcome, Reason, ReasonKind};
pub use leaderboard::{LeaderboardError, Medals, Thresholds};
pub use report::{Aggregate, RawScore, Report, Subject, rounded};
