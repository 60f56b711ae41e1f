//! The sequential plan: how often the runs are looked at, and at which level each time.

/// How many runs there may be, and what each look may risk.
///
/// The runs are looked at after the second and after each further one; the first look that decides ends it. Looking
/// often at the same level would add up, so each look has the smaller level that keeps the whole plan's
/// rate of wrong decisions below [`Plan::ERROR_RATE`]: the rate of saying *equivalent* when the true difference
/// is the margin or more, and of saying *different* when it is the margin or less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    runs: usize,
}

impl Plan {
    /// The fewest runs from which a spread can be told.
    pub const FEWEST_RUNS: usize = 2;
    /// The most runs a plan may have.
    pub const MOST_RUNS: usize = 10;
    /// The bound on either kind of wrong decision, over all looks together.
    pub const ERROR_RATE: f64 = 0.05;

    /// One-sided level of each look, for plans of 2, 3, … 10 runs.
    ///
    /// Found by simulation of normally distributed scores at the margin itself, where both errors are most frequent:
    /// the largest levels at which the rate over all looks stayed below 0.05 for every spread tried. The test
    /// `no_plan_errs_more_often_than_it_says` simulates them anew.
    const LOOK_LEVELS: [f64; Self::MOST_RUNS - Self::FEWEST_RUNS + 1] =
        [0.045, 0.027, 0.020, 0.0165, 0.0142, 0.0127, 0.0116, 0.0106, 0.0098];

    /// A plan of at most `runs` runs; numbers outside 2 to 10 have no level and give none.
    pub fn new(runs: usize) -> Option<Self> {
        (Self::FEWEST_RUNS..=Self::MOST_RUNS).contains(&runs).then_some(Self { runs })
    }

    /// Two runs: enough to see whether they are identical.
    pub fn fewest() -> Self {
        Self { runs: Self::FEWEST_RUNS }
    }

    /// The most runs of this plan.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// The one-sided level of each look; the interval shown has the level `1 - 2 * look_level`.
    pub fn look_level(&self) -> f64 {
        Self::LOOK_LEVELS[self.runs - Self::FEWEST_RUNS]
    }
}

impl Default for Plan {
    /// Five runs.
    fn default() -> Self {
        Self { runs: 5 }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;
    use std::fmt::Write as _;

    use super::super::{Decision, Margin, RunScore, assess};
    use super::*;

    /// How often a plan decided what, and after how many runs, over simulated sequences of runs.
    #[derive(Default)]
    struct Rates {
        equivalent: usize,
        different: usize,
        inconclusive: usize,
        runs: usize,
        sequences: usize,
    }

    impl Rates {
        fn share(&self, count: usize) -> f64 {
            count as f64 / self.sequences as f64
        }
    }

    /// Standard normal numbers (Box and Muller 1958) from a fixed seed.
    fn normal(random: &mut fastrand::Rng) -> f64 {
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        radius * (TAU * random.f64()).cos()
    }

    /// Runs with the true difference `difference` and the spread `spread`, both in units of the margin.
    fn simulate(plan: &Plan, difference: f64, spread: f64, sequences: usize) -> Rates {
        let mut random = fastrand::Rng::with_seed(20_261_201);
        let mut rates = Rates { sequences, ..Rates::default() };
        for _ in 0..sequences {
            let mut runs = Vec::new();
            loop {
                runs.push(RunScore::Scored(difference + spread * normal(&mut random)));
                match assess(&[0.0], &runs, false, Margin::Absolute(1.0), plan).decision {
                    Decision::Equivalent => rates.equivalent += 1,
                    Decision::Different => rates.different += 1,
                    Decision::Inconclusive => rates.inconclusive += 1,
                    Decision::RunAgain => continue,
                }
                break;
            }
            rates.runs += runs.len();
        }
        rates
    }

    #[test]
    fn no_plan_errs_more_often_than_it_says() {
        // 8,000 sequences leave a standard error of 0.0024: three of them beyond the bound would not be chance.
        let sequences = 8_000;
        let chance = 3.0 * (Plan::ERROR_RATE * (1.0 - Plan::ERROR_RATE) / sequences as f64).sqrt();
        for runs in [2, 3, 5, 10] {
            let plan = Plan::new(runs).expect("within 2 to 10");
            for spread in [0.01, 0.3, 1.0] {
                let rates = simulate(&plan, 1.0, spread, sequences);
                for (what, count) in [("equivalent", rates.equivalent), ("different", rates.different)] {
                    let rate = rates.share(count);
                    assert!(
                        rate <= Plan::ERROR_RATE + chance,
                        "{runs} runs, spread {spread}: {what} in {rate} of the sequences at the margin"
                    );
                }
            }
        }
    }

    /// The table of `docs/statistics.md` is what the simulation gives.
    #[test]
    fn the_documented_figures_are_simulated_ones() {
        let mut table = String::from(
            "| runs at most | true difference / margin | spread / margin | equivalent | different | inconclusive | runs made |\n\
             |---|---|---|---|---|---|---|\n",
        );
        for runs in [3, 5, 10] {
            let plan = Plan::new(runs).expect("within 2 to 10");
            for difference in [0.0, 0.5, 1.0, 2.0] {
                for spread in [0.05, 0.25, 1.0] {
                    let rates = simulate(&plan, difference, spread, 2_000);
                    writeln!(
                        table,
                        "| {runs} | {difference} | {spread} | {:.1} % | {:.1} % | {:.1} % | {:.1} |",
                        100.0 * rates.share(rates.equivalent),
                        100.0 * rates.share(rates.different),
                        100.0 * rates.share(rates.inconclusive),
                        rates.share(rates.runs),
                    )
                    .expect("writing to a string");
                }
            }
        }
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/statistics.md");
        let text = std::fs::read_to_string(page).expect("docs/statistics.md");
        assert!(text.contains(&table), "docs/statistics.md does not hold this table:\n{table}");
    }

    #[test]
    fn plans_have_two_to_ten_runs() {
        assert_eq!(Plan::new(1), None);
        assert_eq!(Plan::new(11), None);
        assert_eq!(Plan::new(10).map(|plan| plan.runs()), Some(10));
    }
}
