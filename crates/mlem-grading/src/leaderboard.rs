//! Medals, from a leaderboard or from thresholds that are given directly.

use std::path::Path;

use crate::table::{Table, TableError};

/// What a score must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// For a gold medal.
    pub gold: f64,
    /// For a silver medal.
    pub silver: f64,
    /// For a bronze medal.
    pub bronze: f64,
    /// The middle of the leaderboard.
    pub median: f64,
    /// Whether lower scores are better.
    pub is_lower_better: bool,
}

/// Why a file is no leaderboard.
#[derive(Debug, thiserror::Error)]
pub enum LeaderboardError {
    /// It is no table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A stand-in of Git LFS.
    #[error("this is a pointer of Git LFS, not the leaderboard itself; fetch it with `git lfs pull`")]
    LfsPointer,
    /// No numeric column `score`.
    #[error("a leaderboard needs a column `score` of numbers")]
    NoScore,
    /// No rows.
    #[error("the leaderboard has no rows")]
    NoRows,
}

/// What a score earned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Medals {
    /// Gold.
    pub gold: bool,
    /// Silver, and not gold.
    pub silver: bool,
    /// Bronze, and neither gold nor silver.
    pub bronze: bool,
    /// Better than the median.
    pub above_median: bool,
}

impl Thresholds {
    /// Reads a leaderboard whose rows stand in the order of their ranks. Lower scores are better if the first is
    /// lower than the last.
    pub fn read(path: &Path, max_bytes: u64) -> Result<Thresholds, LeaderboardError> {
        let table = Table::read(path, max_bytes)?;
        if table.names().first().is_some_and(|name| name.starts_with("version https://git-lfs")) {
            return Err(LeaderboardError::LfsPointer);
        }
        let column = table.column("score").ok_or(LeaderboardError::NoScore)?;
        if table.rows() == 0 {
            return Err(LeaderboardError::NoRows);
        }
        let scores: Option<Vec<f64>> = (0..table.rows()).map(|row| column.number(row)).collect();
        Ok(Thresholds::of(&scores.ok_or(LeaderboardError::NoScore)?))
    }

    /// The thresholds of a leaderboard of at least one score.
    fn of(scores: &[f64]) -> Thresholds {
        let teams = scores.len();
        let share = |share: f64| ((teams as f64 * share) as usize).max(1);
        let top = 10 + (teams as f64 * 0.002) as usize;
        let (gold, silver, bronze) = match teams {
            ..100 => (share(0.1), share(0.2), share(0.4)),
            100..250 => (10, share(0.2), share(0.4)),
            250..1000 => (top, 50, 100),
            _ => (top, share(0.05), share(0.1)),
        };
        let mut known: Vec<f64> = scores.iter().copied().filter(|score| !score.is_nan()).collect();
        known.sort_by(f64::total_cmp);
        let median = match (known.len() / 2, known.len() % 2) {
            (0, 0) => f64::NAN,
            (half, 0) => (known[half - 1] + known[half]) / 2.0,
            (half, _) => known[half],
        };
        Thresholds {
            gold: scores[gold - 1],
            silver: scores[silver - 1],
            bronze: scores[bronze - 1],
            median,
            is_lower_better: scores[0] < scores[teams - 1],
        }
    }

    /// What a rounded score earned; nothing if it is NaN.
    pub fn medals(&self, score: f64) -> Medals {
        let reaches =
            |threshold: f64| if self.is_lower_better { score <= threshold } else { score >= threshold };
        let gold = reaches(self.gold);
        let silver = !gold && reaches(self.silver);
        Medals {
            gold,
            silver,
            bronze: !gold && !silver && reaches(self.bronze),
            above_median: if self.is_lower_better { score < self.median } else { score > self.median },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(teams: usize) -> [f64; 3] {
        let scores: Vec<f64> = (1..=teams).map(|place| place as f64).collect();
        let thresholds = Thresholds::of(&scores);
        [thresholds.gold, thresholds.silver, thresholds.bronze]
    }

    #[test]
    fn medals_by_the_size_of_the_leaderboard() {
        assert_eq!(places(1), [1.0, 1.0, 1.0]);
        assert_eq!(places(99), [9.0, 19.0, 39.0]);
        assert_eq!(places(100), [10.0, 20.0, 40.0]);
        assert_eq!(places(249), [10.0, 49.0, 99.0]);
        assert_eq!(places(250), [10.0, 50.0, 100.0]);
        assert_eq!(places(999), [11.0, 50.0, 100.0]);
        assert_eq!(places(1000), [12.0, 50.0, 100.0]);
        assert_eq!(places(2763), [15.0, 138.0, 276.0]);
    }

    #[test]
    fn the_order_tells_the_direction() {
        let falling = Thresholds::of(&[0.9, 0.8, f64::NAN, 0.5]);
        assert!(!falling.is_lower_better);
        assert_eq!(falling.median, 0.8);
        assert!(!Thresholds::of(&[0.5, 0.5]).is_lower_better, "equal ends mean that higher is better");
        assert_eq!(Thresholds::of(&[1.0, 2.0, 3.0, 4.0]).median, 2.5);
    }

    #[test]
    fn medals_include_the_threshold_and_exclude_each_other() {
        // The thresholds of one published report of champs-scalar-coupling.
        let thresholds = Thresholds {
            gold: -2.87509,
            silver: -2.03119,
            bronze: -1.90122,
            median: -0.9529,
            is_lower_better: true,
        };
        let medals = |score| {
            let Medals { gold, silver, bronze, above_median } = thresholds.medals(score);
            [gold, silver, bronze, above_median]
        };
        assert_eq!(medals(-2.87509), [true, false, false, true]);
        assert_eq!(medals(-2.03119), [false, true, false, true]);
        assert_eq!(medals(-1.95), [false, false, true, true]);
        assert_eq!(medals(-0.9529), [false, false, false, false]);
        assert_eq!(medals(f64::NAN), [false, false, false, false]);
    }

    #[test]
    fn files_that_are_no_leaderboard() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let path = folder.path().join("leaderboard.csv");
            std::fs::write(&path, text).unwrap();
            Thresholds::read(&path, 1000)
        };
        assert!(matches!(
            read("version https://git-lfs.github.com/spec/v1\noid 1\n"),
            Err(LeaderboardError::LfsPointer)
        ));
        assert!(matches!(read("team,points\na,1\n"), Err(LeaderboardError::NoScore)));
        assert!(matches!(read("score\nx\n"), Err(LeaderboardError::NoScore)));
        assert!(matches!(read("score\n"), Err(LeaderboardError::NoRows)));
        assert_eq!(read("teamName,score\na,0.1\nb,0.2\n").unwrap().median, 0.15000000000000002);
    }
}
