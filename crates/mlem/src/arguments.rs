//! Every command and flag, defined once; the help is made from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Brings old machine-learning notebooks back: finds what eroded, fixes it, proves it by a clean run.
#[derive(Debug, Parser)]
#[command(
    name = "mlem",
    version,
    after_help = "Exit codes: 0 done, 1 findings or a failing notebook, 2 bad input or environment, 130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what will break on the target environment, without running anything
    #[command(after_help = "Example: mlem check notebooks/ --format github")]
    Check(Check),
    /// Apply the safe fixes and leave every other byte as it was
    #[command(after_help = "Example: mlem fix --diff old.ipynb")]
    Fix(Fix),
    /// Run notebooks or scripts as they are: outputs, times, errors, tables
    #[command(after_help = "Example: mlem run analysis.ipynb --python .venv/bin/python --timeout 600")]
    Run(Run),
    /// Bring notebooks back: environment, static fixes, live repair, clean proof run, verdict, report
    #[command(after_help = "Example: mlem modernize old.ipynb --data input/")]
    Modernize(Modernize),
    /// Say what changed between two versions of a notebook: every change neutral, unclear or drift, and the outputs
    #[command(after_help = "Example: mlem diff old.ipynb old.mlem/old.ipynb")]
    Diff(Diff),
    /// Explain rules: what changed, since when, the old form and the new, and how it is shown to be true
    #[command(after_help = "Example: mlem rule PD001")]
    Rule(Rule),
    /// Repeat a notebook's run until it is decided whether it still gives what it gave
    #[command(
        after_help = "Example: mlem verify old.mlem/old.ipynb --score-from 'AUC: ([0-9.]+)' --metric auc"
    )]
    Verify(Verify),
    /// Take back what the last `modernize --in-place` replaced
    #[command(after_help = "Example: mlem undo old.ipynb")]
    Undo(Undo),
    /// Score submissions with their competition's metric, and check them first
    #[command(
        after_help = "Examples:\n  mlem grade submission.csv --competition spaceship-titanic --answers test.csv\n  \
                      mlem grade submission.csv --metric rmse --id key --target price --answers answers.csv\n  \
                      mlem grade runs/ --data mle-bench/data -j 4 --out graded/\nExit codes: 0 every submission has a \
                      score, 1 one has none, 2 bad input, 130 interrupted."
    )]
    Grade(Grade),
    /// Distributions that notebooks need, and what an interpreter has
    Env(Env),
    /// The folder of built environments
    Cache(Cache),
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// A line each
    Text,
    /// As docs/check.md says
    Json,
    /// Annotations of GitHub Actions
    Github,
    /// SARIF 2.1.0
    Sarif,
}

/// How rules are explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleFormat {
    /// For people: a rule in full, or all in a line each
    Text,
    /// For programs
    Json,
    /// The reference of all rules, as in docs/rules.md
    Markdown,
}

/// How reports are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// What notebooks are judged against.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Judge against what this interpreter has installed
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// Judge against this version instead of the newest, such as numpy==1.26 (repeatable)
    #[arg(long, value_name = "NAME==VERSION", conflicts_with = "python")]
    pub(crate) target: Vec<String>,
}

/// When notebooks were written, and what follows for default values that have changed since.
#[derive(Debug, Args)]
pub(crate) struct Dating {
    /// The notebooks were last run on this day or before, such as 2019-06-30
    #[arg(long, value_name = "DATE")]
    pub(crate) as_of: Option<mlem_environment::Date>,
    /// Leave old default values alone, even where the notebook's time proves that it relied on them
    #[arg(long)]
    pub(crate) no_default_pins: bool,
}

impl From<&Dating> for mlem_repair::defaults::Dating {
    fn from(dating: &Dating) -> Self {
        Self { as_of: dating.as_of, no_pins: dating.no_default_pins }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Notebooks, .py files, or folders of notebooks
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// How findings are printed
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: FindingsFormat,
    /// Print how often each rule was found instead of every finding
    #[arg(long)]
    pub(crate) statistics: bool,
    /// Exit code 0 also when something was found
    #[arg(long)]
    pub(crate) exit_zero: bool,
    /// Pass over the findings that this file accepts
    #[arg(long, value_name = "FILE", conflicts_with = "write_baseline")]
    pub(crate) baseline: Option<PathBuf>,
    /// Accept what is found, in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// Also find `# mlem: ignore` comments that silence nothing
    #[arg(long)]
    pub(crate) report_unused_ignores: bool,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) dating: Dating,
    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The old notebook, .py file, or folder of them
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The new one; the files of folders are matched by their paths in them
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Debug, Args)]
pub(crate) struct Fix {
    /// Notebooks, .py files, or folders of notebooks
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Also apply fixes that are unsafe or whose types are not proven
    #[arg(long = "unsafe", overrides_with = "exclude_unsafe")]
    pub(crate) include_unsafe: bool,
    /// Leave them out, whatever the configuration says
    #[arg(long = "no-unsafe")]
    pub(crate) exclude_unsafe: bool,
    /// Print a unified diff and write nothing
    #[arg(long)]
    pub(crate) diff: bool,
    /// Write nothing; exit code 1 if something would change
    #[arg(long)]
    pub(crate) check: bool,
    /// How the summary is printed
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) dating: Dating,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// The environment that notebooks run in, and its limits.
#[derive(Debug, Clone, Args)]
pub(crate) struct Execution {
    /// Run in this interpreter's environment, which is never changed
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,
    /// Build the environment from a requirements, `pip freeze` or `pip list` file
    #[arg(long, value_name = "FILE", conflicts_with = "python")]
    pub(crate) requirements: Option<PathBuf>,
    /// Most seconds for one cell
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) cell_timeout: Option<f64>,
    /// Most seconds for the whole notebook; for modernize, for the repair and again for the proof
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// Let the notebook use the network
    #[arg(long)]
    pub(crate) network: bool,
    /// Memory of one process in MiB [default: nine tenths of this machine's]
    #[arg(long, value_name = "MIB")]
    pub(crate) memory: Option<u64>,
    /// Folder of the ledger [default: the nearest .mlem/, else the one in the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Folder for results [default: NAME.mlem/ beside each input]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// How the report is printed
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Notebooks, .py scripts, or folders of notebooks
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Go on after a failing cell
    #[arg(long)]
    pub(crate) allow_errors: bool,
    /// Where the notebook's data is: it finds a copy as ../input
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) execution: Execution,
}

/// How a fix is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// In the live kernel, re-running what the edit touches
    Live,
    /// The whole notebook again for each fix
    Rerun,
}

#[derive(Debug, Args)]
pub(crate) struct Modernize {
    /// Notebooks, or folders of notebooks
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Where the notebook's data is; Kaggle's and Colab's data folders are looked up there
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Replace the notebook and its helper modules when the proof ran, keeping a backup in the results' folder
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Exit code 1 also for drifted, different and inconclusive
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print the unified diff of the changes
    #[arg(long)]
    pub(crate) diff: bool,
    /// How a fix is tried
    #[arg(long, value_enum, default_value = "live")]
    pub(crate) strategy: Strategy,
    /// Begin anew instead of going on with an interrupted run
    #[arg(long)]
    pub(crate) no_resume: bool,
    /// Go on with an interrupted run (the default)
    #[arg(long, conflicts_with = "no_resume")]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) scoring: Scoring,
    /// Repeat the modernized notebook's run, at most so often in all, until outputs and score are decided
    /// [default: 5 where a score is asked for]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=10))]
    pub(crate) runs: Option<u8>,
    /// What repeated runs are compared with: `stored`, `none`, or a notebook
    #[arg(long, value_name = "WHAT", default_value = "stored")]
    pub(crate) reference_outputs: String,
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) dating: Dating,
    #[command(flatten)]
    pub(crate) execution: Execution,
}

/// Which rules are wanted, in which files.
#[derive(Debug, Args)]
pub(crate) struct Selected {
    /// Only these rules: ids, beginnings of ids, names, or ALL (repeatable, or with commas)
    #[arg(help_heading = "Rules and files", long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Option<Vec<String>>,
    /// Not these rules (repeatable, or with commas)
    #[arg(help_heading = "Rules and files", long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Pass over files that the configuration excludes also where they are named
    #[arg(help_heading = "Rules and files", long)]
    pub(crate) force_exclude: bool,
    #[command(flatten)]
    pub(crate) configured: Configured,
}

/// Which configuration file counts, and which rules there are.
#[derive(Debug, Args)]
pub(crate) struct Configured {
    /// Folder with rules of your own (*.toml), beside the shipped ones (repeatable)
    #[arg(help_heading = "Rules and files", long = "rules", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Use this mlem.toml or pyproject.toml instead of the nearest
    #[arg(help_heading = "Rules and files", long, value_name = "FILE", conflicts_with = "isolated")]
    pub(crate) config: Option<PathBuf>,
    /// Read no configuration file
    #[arg(help_heading = "Rules and files", long)]
    pub(crate) isolated: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Rule {
    /// Ids or names, such as PD001 or dataframe-append-frame
    #[arg(required_unless_present_any = ["all", "test"], value_name = "RULE")]
    pub(crate) rules: Vec<String>,
    /// All rules
    #[arg(long, conflicts_with = "rules")]
    pub(crate) all: bool,
    /// Check that the `before` of your own rules, or of the named ones, becomes exactly their `after`
    #[arg(long, conflicts_with = "all")]
    pub(crate) test: bool,
    /// How rules are explained
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: RuleFormat,
    #[command(flatten)]
    pub(crate) configured: Configured,
}

#[derive(Debug, Args)]
pub(crate) struct Grade {
    /// A .csv file; a folder that one notebook wrote; with --out a folder of submissions; or a .jsonl list
    #[arg(value_name = "SUBMISSION")]
    pub(crate) submission: PathBuf,
    /// The competition (docs/grading.md lists them)
    #[arg(long, value_name = "ID", conflicts_with_all = ["metric", "grader"])]
    pub(crate) competition: Option<String>,
    /// A metric instead of a competition (docs/grading.md lists them)
    #[arg(long, value_name = "NAME", conflicts_with = "grader", requires = "answers")]
    pub(crate) metric: Option<String>,
    /// A grade.py with `grade(submission, answers)` as in MLE-bench, run confined
    #[arg(long, value_name = "FILE", requires = "answers")]
    pub(crate) grader: Option<PathBuf>,
    /// The answers
    #[arg(long, value_name = "FILE", conflicts_with = "data", required_unless_present = "data")]
    pub(crate) answers: Option<PathBuf>,
    /// Prepared competitions in MLE-bench's layout, <id>/prepared/{public,private}
    #[arg(long, value_name = "DIR", conflicts_with_all = ["metric", "grader"])]
    pub(crate) data: Option<PathBuf>,
    /// The sample submission, for choosing among files
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    pub(crate) sample: Option<PathBuf>,
    /// For medals: a leaderboard.csv, or a folder with <id>/leaderboard.csv
    #[arg(long, value_name = "PATH")]
    pub(crate) leaderboard: Option<PathBuf>,
    /// For medals without a leaderboard: the four scores
    #[arg(
        long,
        value_name = "GOLD,SILVER,BRONZE,MEDIAN",
        value_parser = four_scores,
        allow_hyphen_values = true,
        conflicts_with = "leaderboard"
    )]
    pub(crate) thresholds: Option<[f64; 4]>,
    /// With --metric: the id column [default: the first of the answers]
    #[arg(long, value_name = "COLUMN", requires = "metric")]
    pub(crate) id: Option<String>,
    /// With --metric: a target column (repeatable) [default: all of the answers but the id]
    #[arg(long, value_name = "COLUMN", requires = "metric")]
    pub(crate) target: Vec<String>,
    /// With --metric map-at-k: how many predictions count
    #[arg(long, value_name = "COUNT", requires = "metric")]
    pub(crate) k: Option<usize>,
    /// With --grader: lower scores are better
    #[arg(long, requires = "grader")]
    pub(crate) lower_is_better: bool,
    /// With --grader: the interpreter, which needs pandas
    #[arg(long, value_name = "PATH", default_value = "python3", requires = "grader")]
    pub(crate) python: PathBuf,
    /// With --grader: most seconds for one submission
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = seconds, requires = "grader")]
    pub(crate) timeout: f64,
    /// With --grader: memory of the process in MiB [default: nine tenths of this machine's]
    #[arg(long, value_name = "MIB", requires = "grader")]
    pub(crate) memory: Option<u64>,
    /// Compare ids everywhere, refuse duplicates and missing predictions, go by column names
    #[arg(long)]
    pub(crate) strict: bool,
    /// Largest file that is read, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub(crate) max_size: u64,
    /// Submissions at once [default: the number of processors]
    #[arg(short, long, value_name = "COUNT")]
    pub(crate) jobs: Option<usize>,
    /// SUBMISSION is a folder of submissions: grade each, and write grades.json and csv_score.json here
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// How the report is printed
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Env {
    #[command(subcommand)]
    pub(crate) command: EnvCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvCommand {
    /// Which distributions notebooks need, with the evidence
    #[command(after_help = "Example: mlem env detect notebooks/ --format json")]
    Detect(Detect),
    /// Whether dotted names exist in an interpreter, with signature and version, and where vanished ones are now
    #[command(
        after_help = "Example: mlem env probe --python .venv/bin/python pandas.DataFrame.append sklearn.model_selection.KFold"
    )]
    Probe(Probe),
}

#[derive(Debug, Args)]
pub(crate) struct Detect {
    /// Notebooks, .py files, or folders of notebooks
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Probe {
    /// Dotted names, such as pandas.DataFrame.append
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// The interpreter to ask
    #[arg(long, value_name = "PATH")]
    pub(crate) python: PathBuf,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Cache {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Print the folder
    Dir,
    /// Remove built environments that nothing uses; everything else in the cache stays
    #[command(after_help = "Example: mlem cache prune --older-than 30 --dry-run")]
    Prune(Prune),
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Only those that were not used for so many days
    #[arg(long, value_name = "DAYS", default_value = "0")]
    pub(crate) older_than: u32,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// Notebooks that `mlem modernize --in-place` replaced
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The results' folder of that run [default: NAME.mlem/ beside each notebook]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// How a run's score is told, and what it is compared with.
#[derive(Debug, Clone, Args)]
pub(crate) struct Scoring {
    /// Find each run's score in what it prints: a regular expression, its first group or all of it; the last match counts
    #[arg(long, value_name = "REGEX", conflicts_with = "answers")]
    pub(crate) score_from: Option<String>,
    /// Grade each run's submission against these answers
    #[arg(long, value_name = "FILE")]
    pub(crate) answers: Option<PathBuf>,
    /// With --answers: whose metric and checks (docs/grading.md lists the competitions)
    #[arg(long, value_name = "ID", requires = "answers", conflicts_with = "metric")]
    pub(crate) competition: Option<String>,
    /// Which metric the score is: it grades with --answers, and gives the margin
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// The score it had [default: with --score-from the one in the reference's outputs]
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    pub(crate) target_score: Option<f64>,
    /// How far the score may move: `0.01`, or a share of the target such as `1%` [default: the metric's]
    #[arg(long, value_name = "MARGIN", value_parser = margin)]
    pub(crate) margin: Option<mlem_verdict::statistics::Margin>,
}

/// `mlem verify`.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// A notebook, or the one in a folder of results: then the recorded run counts as the first
    pub(crate) notebook: PathBuf,
    /// Most runs; it stops as soon as it is decided
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(2..=10))]
    pub(crate) runs: u8,
    /// What its outputs are compared with: `stored` (in the notebook, or in the one it was made from), `none`, or a notebook
    #[arg(long, value_name = "WHAT", default_value = "stored")]
    pub(crate) reference_outputs: String,
    #[command(flatten)]
    pub(crate) scoring: Scoring,
    /// Also say what the rules of arXiv 2602.07195 would: ten per cent, and a t-test
    #[arg(long)]
    pub(crate) as_paper: bool,
    /// Where the notebook's data is: it finds a copy as ../input
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Run the old notebook in its own environment, and compare with that
    #[arg(long)]
    pub(crate) against_past: bool,
    /// The environment of the past: a `pip freeze` file [default: past-requirements.txt beside the old notebook]
    #[arg(long, value_name = "FILE", requires = "against_past")]
    pub(crate) past_requirements: Option<PathBuf>,
    /// The Python of the past: a version such as 3.6, or a path; alone, an environment that is there [default: as the
    /// old notebook says]
    #[arg(long, value_name = "PYTHON", requires = "against_past")]
    pub(crate) past_python: Option<String>,
    #[command(flatten)]
    pub(crate) execution: Execution,
}

fn margin(text: &str) -> Result<mlem_verdict::statistics::Margin, String> {
    use mlem_verdict::statistics::Margin;
    let (number, share) = match text.trim().strip_suffix('%') {
        Some(number) => (number, true),
        None => (text.trim(), false),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => {
            Ok(if share { Margin::Relative(value / 100.0) } else { Margin::Absolute(value) })
        }
        _ => Err("a number such as 0.01, or a share such as 1%, is wanted".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("a positive number of seconds is wanted".to_owned()),
    }
}

fn four_scores(text: &str) -> Result<[f64; 4], String> {
    let scores: Result<Vec<f64>, _> = text.split(',').map(|score| score.trim().parse()).collect();
    scores
        .ok()
        .and_then(|scores| scores.try_into().ok())
        .ok_or("four numbers are wanted, separated by commas".to_owned())
}
