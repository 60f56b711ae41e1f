//! Proof of the rules by running them: `before` on the libraries of its time, `after` on today's.

mod environments;
mod install;
mod judge;
mod printed;
mod review;
mod run;
mod table;
mod value;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use mlem_rules::{Catalogue, Demonstration, Rule};
use thiserror::Error;

use environments::{Environment, Stage, stage};
use install::Installer;
use judge::{Judgement, Outcome, Runs, judge, ran};
use review::Reviews;
use run::{Bench, Job, Run};
use table::{Row, Side, Table};

/// Environments whose snippets run at the same time.
const AT_ONCE: usize = 2;

/// Which rules, and what to do with them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only rules whose identifier begins so (PD, SK01).
    #[arg(long, value_name = "PREFIX")]
    rule: Option<String>,
    /// Only rules of this library.
    #[arg(long, value_name = "NAME")]
    library: Option<String>,
    /// Leave out environments of gigabytes (TensorFlow, PyTorch); their rules keep their rows.
    #[arg(long)]
    skip_large: bool,
    /// Prove only what is missing or stale, and write docs/rules-proof.json and .md.
    #[arg(long)]
    update: bool,
    /// With --update: prove all selected rules, whether stale or not.
    #[arg(long, requires = "update")]
    all: bool,
    /// List the rules and where they would be shown, and run nothing.
    #[arg(long)]
    list: bool,
}

impl Arguments {
    fn selects(&self, rule: &Rule) -> bool {
        self.rule.as_ref().is_none_or(|prefix| rule.id.starts_with(prefix.as_str()))
            && self.library.as_ref().is_none_or(|library| rule.library == *library)
    }
}

/// Why nothing could be proven.
#[derive(Debug, Error)]
pub(crate) enum ProofError {
    /// No rule is selected.
    #[error("no rule is selected; see --rule and --library")]
    NothingSelected,
    /// The table of environments.
    #[error(transparent)]
    Environments(#[from] environments::TableError),
    /// The table of outcomes.
    #[error(transparent)]
    Table(#[from] table::TableFileError),
    /// The doubts that were looked at.
    #[error(transparent)]
    Reviews(#[from] review::ReviewError),
    /// The table of outcomes cannot be put into words.
    #[error("the table cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// uv.
    #[error(transparent)]
    Uv(#[from] mlem_environment::UvMissing),
    /// The folder of the runs.
    #[error("{path}: {1}", path = .0.display())]
    Folder(PathBuf, std::io::Error),
    /// The snippets of an environment.
    #[error("{0}: {1}")]
    Run(String, run::RunError),
}

fn workspace() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// Proves the selected rules.
pub(crate) fn run(arguments: &Arguments) -> Result<(), ProofError> {
    let all = environments::read(Path::new(env!("CARGO_MANIFEST_DIR")))?;
    let reviews = Reviews::read(Path::new(env!("CARGO_MANIFEST_DIR")))?;
    let catalogue = Catalogue::shipped();
    let path = workspace().join("docs").join("rules-proof.json");
    let mut table = Table::read(&path)?;
    let mut rules: Vec<&Rule> = if arguments.update && !arguments.all {
        table.stale(catalogue, &all)
    } else {
        catalogue.rules().iter().collect()
    };
    rules.retain(|rule| arguments.selects(rule));
    if arguments.skip_large {
        let every: Vec<&Environment> = all.iter().collect();
        rules.retain(|rule| {
            let stage = stage(rule, &every);
            !stage.new.iter().chain(&stage.old).any(|each| each.large)
        });
    }
    let unknown = table.unknown(catalogue).len();
    if rules.is_empty() && unknown == 0 {
        if arguments.update {
            println!("nothing is stale");
            return Ok(());
        }
        return Err(ProofError::NothingSelected);
    }
    let usable: Vec<&Environment> = all.iter().filter(|each| !(arguments.skip_large && each.large)).collect();
    if arguments.list {
        for rule in rules {
            let stage = stage(rule, &usable);
            let old = stage.old.first().map_or("-", |each| each.name.as_str());
            let new = stage.new.map_or("-", |each| each.name.as_str());
            println!("{:8} {:20} {:8} {old:12} {new:12} {}", rule.id, rule.library, rule.since, rule.name);
        }
        return Ok(());
    }
    let proof = Proof::new(&usable)?;
    let rows = proof.prove(&rules)?;
    summarise(&rows, &reviews);
    if arguments.update {
        table.update(rows, catalogue);
        table.date = today();
        table.environments =
            all.iter().map(|environment| (environment.name.clone(), environment.digest())).collect();
        for environment in &usable {
            table.absent.remove(&environment.name);
        }
        table.absent.append(&mut proof.absent.into_inner().unwrap_or_default());
        table::write(&path, &table.to_json()?)?;
        table::write(&path.with_extension("md"), &table.to_markdown(catalogue, &all, &reviews))?;
        println!("written: {}", path.display());
    }
    Ok(())
}

/// The proof under way.
struct Proof<'a> {
    installer: Installer,
    folder: PathBuf,
    environments: Vec<&'a Environment>,
    /// Environments that could not be built, and why.
    absent: Mutex<BTreeMap<String, String>>,
}

impl<'a> Proof<'a> {
    fn new(environments: &[&'a Environment]) -> Result<Proof<'a>, ProofError> {
        let home = workspace().join("target").join("xtask");
        let folder = home.join("runs");
        std::fs::create_dir_all(&folder).map_err(|error| ProofError::Folder(folder.clone(), error))?;
        let installer = Installer::new(&home)?;
        Ok(Proof { installer, folder, environments: environments.to_vec(), absent: Mutex::default() })
    }

    fn prove(&self, rules: &[&Rule]) -> Result<Vec<Row>, ProofError> {
        let stages: Vec<Stage<'a>> = rules.iter().map(|rule| stage(rule, &self.environments)).collect();
        let mut runs: HashMap<String, Run> = HashMap::new();
        // The nearest old release first; where the old form fails there, the next one.
        let mut round = 0;
        loop {
            let mut jobs: BTreeMap<&str, Vec<Job>> = BTreeMap::new();
            for (rule, stage) in rules.iter().zip(&stages) {
                let job = |what: &str, snippet: &str| Job {
                    id: job_id(&rule.id, what),
                    cells: [
                        rule.setup.trim_matches('\n').to_string(),
                        snippet.trim_matches('\n').to_string(),
                    ],
                };
                if let (0, Some(new)) = (round, stage.new) {
                    let list = jobs.entry(&new.name).or_default();
                    list.push(job("before", &rule.before));
                    list.extend(rule.after.as_ref().map(|after| job("after", after)));
                }
                let done = round > 0
                    && stage.old.get(round - 1).is_none_or(|earlier| {
                        runs.get(&key(&earlier.name, &rule.id, "old")).is_none_or(|run| ran(run).is_some())
                    });
                if let (false, Some(old)) = (done, stage.old.get(round)) {
                    jobs.entry(&old.name).or_default().push(job("old", &rule.before));
                }
            }
            if jobs.is_empty() {
                break;
            }
            runs.extend(self.run_all(jobs)?);
            round += 1;
        }
        let rows = rules.iter().zip(&stages).map(|(rule, stage)| row(rule, stage, &runs)).collect();
        Ok(rows)
    }

    /// Runs the jobs of all environments, some of them at the same time.
    fn run_all(&self, jobs: BTreeMap<&str, Vec<Job>>) -> Result<HashMap<String, Run>, ProofError> {
        let queue = Mutex::new(jobs.into_iter().collect::<Vec<_>>());
        let done = Mutex::new(HashMap::new());
        let work = || {
            loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.pop());
                let Some((name, jobs)) = next else { return Ok::<(), ProofError>(()) };
                let Some(environment) = self.environments.iter().find(|each| each.name == name) else {
                    continue;
                };
                let runs = self.run_in(environment, &jobs)?;
                if let Ok(mut done) = done.lock() {
                    done.extend(
                        jobs.into_iter().zip(runs).map(|(job, run)| (format!("{name} {}", job.id), run)),
                    );
                }
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
        })?;
        Ok(done.into_inner().unwrap_or_default())
    }

    /// Runs the jobs of one environment, which is built only if something has to run.
    fn run_in(&self, environment: &Environment, jobs: &[Job]) -> Result<Vec<Run>, ProofError> {
        let wrong = |error| ProofError::Run(environment.name.clone(), error);
        let bench = Bench::new(environment, &self.folder);
        let known = bench.known(jobs).map_err(wrong)?;
        // A snippet that was killed may do better on a machine that is less busy.
        let is_open = |run: &Option<Run>| !matches!(run, Some(Run::Ended(_)));
        let open: Vec<&Job> =
            jobs.iter().zip(&known).filter(|(_, run)| is_open(run)).map(|(job, _)| job).collect();
        let mut missing = Run::Trouble { trouble: "no answer".to_string() };
        if !open.is_empty() {
            match self.installer.build(environment) {
                Ok(built) => {
                    eprintln!("{}: {} snippets", environment.name, open.len());
                    bench.run(&built, &open).map_err(wrong)?;
                }
                Err(error) => {
                    eprintln!("{}: {error}", environment.name);
                    missing = Run::NotBuilt;
                    if let Ok(mut absent) = self.absent.lock() {
                        absent.insert(environment.name.clone(), error.to_string());
                    }
                }
            }
        }
        let runs = bench.known(jobs).map_err(wrong)?;
        Ok(runs.into_iter().map(|run| run.unwrap_or_else(|| missing.clone())).collect())
    }
}

/// What a run is called within its environment.
fn job_id(rule: &str, what: &str) -> String {
    format!("{rule} {what}")
}

/// What a run is called among those of all environments.
fn key(environment: &str, rule: &str, what: &str) -> String {
    format!("{environment} {}", job_id(rule, what))
}

fn row(rule: &Rule, stage: &Stage, runs: &HashMap<String, Run>) -> Row {
    let version = |environment: &Environment| {
        environment.version_of(&rule.library).map(ToString::to_string).unwrap_or_default()
    };
    let side = |environment: &Environment| Side {
        version: version(environment),
        environment: environment.name.clone(),
    };
    // The environments in which it was tried, as far as they could be built.
    let tried: Vec<(&Environment, &Run)> = stage
        .old
        .iter()
        .map_while(|environment| Some((*environment, runs.get(&key(&environment.name, &rule.id, "old"))?)))
        .filter(|(_, run)| !matches!(run, Run::NotBuilt))
        .collect();
    let shown = tried.last().map(|(environment, _)| *environment);
    let old: Vec<(String, &Run)> =
        tried.iter().map(|(environment, run)| (version(environment), *run)).collect();
    let before = stage.new.and_then(|new| runs.get(&key(&new.name, &rule.id, "before")));
    let judgement = match (stage.new, before) {
        (Some(new), Some(before)) if !matches!(before, Run::NotBuilt) => {
            judge(rule, &Runs { old, before, after: runs.get(&key(&new.name, &rule.id, "after")) })
        }
        _ => {
            let reason = match &rule.proof {
                Demonstration::NotRun(reason) => reason.clone(),
                _ => format!("no environment has {} {} or later", rule.library, rule.since),
            };
            Judgement { outcome: Outcome::NotInstallable, notes: vec![reason] }
        }
    };
    Row {
        rule: rule.id.clone(),
        digest: table::digest(rule),
        outcome: judgement.outcome,
        old: shown.map(side),
        new: stage.new.map(side),
        notes: judgement.notes,
    }
}

fn summarise(rows: &[Row], reviews: &Reviews) {
    for row in rows {
        let version =
            |side: &Option<Side>| side.as_ref().map_or("-", |side| side.version.as_str()).to_string();
        println!(
            "{:8} {:18} {:>10} {:>8}  {}",
            row.rule,
            row.outcome.as_str(),
            version(&row.old),
            version(&row.new),
            row.notes.join("; ")
        );
    }
    for outcome in Outcome::ALL {
        let count = rows.iter().filter(|row| row.outcome == outcome).count();
        if count > 0 {
            println!("{count:5} {}", outcome.as_str());
        }
    }
    let open: Vec<&str> = reviews.open(rows).iter().map(|row| row.rule.as_str()).collect();
    if !open.is_empty() {
        println!("to be looked at, and corrected or explained in xtask/reviewed.toml: {}", open.join(" "));
    }
}

/// Today, in UTC, as `YYYY-MM-DD`.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Year, month and day of a number of days since 1970 (proleptic Gregorian calendar, from March so that the leap day
/// comes last).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}
