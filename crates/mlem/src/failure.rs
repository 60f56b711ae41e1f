//! The one report type at the edge: why a command ends without its result.

/// Why a command ends with exit code 2 (or 130).
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A path that is not there or cannot be read.
    #[error("{path}: {reason}")]
    Path {
        /// As the user typed it.
        path: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// Arguments that do not fit each other.
    #[error("{0}")]
    Usage(String),
    /// Several inputs could not be used; each was reported by itself.
    #[error("{0} of the inputs could not be used")]
    Inputs(usize),
    /// A configuration file, a rule file, or an argument that names a rule.
    #[error(transparent)]
    Configuration(#[from] mlem_configuration::ConfigurationError),
    /// A list of accepted findings.
    #[error(transparent)]
    Baseline(#[from] mlem_configuration::BaselineError),
    /// An id or a name that no rule has.
    #[error(transparent)]
    UnknownRule(#[from] mlem_rules::UnknownRule),
    /// A job that could not be done.
    #[error(transparent)]
    Job(#[from] mlem_repair::JobError),
    /// The environment.
    #[error(transparent)]
    Environment(#[from] mlem_environment::EnvironmentError),
    /// An environment of the past.
    #[error(transparent)]
    Frozen(#[from] mlem_environment::FrozenError),
    /// The interpreter that was to be asked.
    #[error(transparent)]
    Probe(#[from] mlem_environment::ProbeError),
    /// A requirements file.
    #[error(transparent)]
    Requirements(#[from] mlem_environment::RequirementsFileError),
    /// A notebook file.
    #[error(transparent)]
    Notebook(#[from] mlem_notebook::NotebookError),
    /// Answers that nothing can be graded with.
    #[error(transparent)]
    Answers(#[from] mlem_grading::AnswersError),
    /// A grader of the user's own.
    #[error(transparent)]
    Grader(#[from] mlem_grading::ExternalError),
    /// Submissions that are not to be found.
    #[error(transparent)]
    Batch(#[from] mlem_grading::BatchError),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] mlem_ledger::LedgerError),
    /// A result that could not be written.
    #[error(transparent)]
    Write(#[from] mlem_repair::results::WriteError),
    /// The system.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    pub(crate) fn path(path: &std::path::Path, reason: impl Into<String>) -> Failure {
        Failure::Path { path: path.display().to_string(), reason: reason.into() }
    }
}
