//! Which units to run again in a live kernel after some were edited.
//!
//! The kernel holds the state after all units before `upto` ran once, and perhaps part of
//! `upto` itself. A set of units to run again, in order, is right if
//! 1. it holds the edited units and every unit that reads, directly or not, what they make;
//! 2. each unit in it finds the values that it found the first time: where a later unit (or the
//!    unit itself) has since changed what it reads, the units that made the value run, too;
//! 3. afterwards each name has the value of its last writer: where a unit in the set overwrites
//!    what a later one made, the later one runs, too;
//! 4. names that stood for one object still do: where a name is bound again, the units that gave
//!    its object another name run, too.
//!
//! What import statements bind counts for the last three rules only: a name that an import
//! bound and later code used was right before the edit.
//!
//! A branch that an edit makes not taken leaves behind what it did the first time; only a run
//! from the start undoes that.

use ruff_text_size::TextSize;

use crate::analysis::{Location, Summary, Symbol};

pub(crate) struct Rerun<'a> {
    pub(crate) summaries: &'a [Summary],
    pub(crate) upto: usize,
    /// Where `upto` stopped; what it does from there on has not happened.
    pub(crate) reached: Option<TextSize>,
}

impl Rerun<'_> {
    /// The units before `upto` to run, in order.
    pub(crate) fn units(&self, edited: &[usize]) -> Vec<usize> {
        let last = self.upto.min(self.summaries.len());
        // `upto` runs again in any case, so what it reads has to be right.
        let count = (last + 1).min(self.summaries.len());
        let mut run = vec![false; count];
        let mut changed = vec![false; count];
        for &unit in edited.iter().filter(|unit| **unit < count) {
            run[unit] = true;
            changed[unit] = true;
        }
        if last < count {
            run[last] = true;
        }
        while self.extend(&mut run, &mut changed) {}
        (0..last).filter(|&unit| run[unit]).collect()
    }

    /// Applies the rules once; whether they added a unit.
    fn extend(&self, run: &mut [bool], changed: &mut [bool]) -> bool {
        let mut grew = false;
        for unit in 0..run.len() {
            if !changed[unit] && self.reads_changed(unit, changed) {
                changed[unit] = true;
                grew |= !run[unit];
                run[unit] = true;
            }
            if !run[unit] && self.shares_renewed(unit, run) {
                run[unit] = true;
                grew = true;
            }
            if !run[unit] {
                continue;
            }
            for read in &self.summaries[unit].reads {
                if self.disturbed(*read, unit, run.len()) {
                    for writer in self.reaching(*read, unit) {
                        grew |= !run[writer];
                        run[writer] = true;
                    }
                }
            }
            for name in &self.summaries[unit].targets {
                if self.bound_since(*name, unit, run.len()) {
                    for writer in self.reaching(Location::whole(*name), unit) {
                        grew |= !run[writer];
                        run[writer] = true;
                    }
                }
            }
            for writer in self.overwritten(unit, run.len()) {
                grew |= !run[writer];
                run[writer] = true;
            }
        }
        grew
    }

    fn reads_changed(&self, unit: usize, changed: &[bool]) -> bool {
        self.summaries[unit].reads.iter().any(|read| {
            self.reaching(*read, unit)
                .into_iter()
                .any(|writer| changed[writer] && !self.summaries[writer].imports.contains(&read.name))
        })
    }

    fn shares_renewed(&self, unit: usize, run: &[bool]) -> bool {
        self.summaries[unit].shares.iter().any(|name| {
            self.reaching(Location::whole(*name), unit)
                .into_iter()
                .any(|writer| run[writer] && self.summaries[writer].binds.contains(name))
        })
    }

    fn happened(&self, unit: usize, at: TextSize) -> bool {
        unit < self.upto || self.reached.is_none_or(|reached| at < reached)
    }

    fn writes(&self, unit: usize, location: Location) -> bool {
        let writes = &self.summaries[unit].writes;
        writes.iter().any(|(written, at)| written.overlaps(location) && self.happened(unit, *at))
    }

    /// The units whose writes make up the value of a location when `unit` starts.
    fn reaching(&self, location: Location, unit: usize) -> Vec<usize> {
        let mut writers = Vec::new();
        for writer in (0..unit).rev() {
            if self.writes(writer, location) {
                writers.push(writer);
                if self.summaries[writer].fresh.contains(&location.name) {
                    break;
                }
            }
        }
        writers
    }

    /// Whether the kernel's value of a location is no longer the one that `unit` found.
    fn disturbed(&self, location: Location, unit: usize, count: usize) -> bool {
        (unit..count).any(|writer| self.writes(writer, location))
    }

    /// Whether a name may no longer stand for the object that `unit` changed.
    fn bound_since(&self, name: Symbol, unit: usize, count: usize) -> bool {
        (unit..count).any(|writer| {
            self.summaries[writer].binds.contains(&name) && self.writes(writer, Location::whole(name))
        })
    }

    /// Later units whose writes go lost when `unit` runs again.
    fn overwritten(&self, unit: usize, count: usize) -> Vec<usize> {
        let mut result = Vec::new();
        for (location, _) in &self.summaries[unit].writes {
            let later: Vec<usize> =
                (unit + 1..count).filter(|&later| self.writes(later, *location)).collect();
            let from = later.iter().rposition(|&later| self.summaries[later].fresh.contains(&location.name));
            result.extend_from_slice(&later[from.unwrap_or(0)..]);
        }
        result
    }
}
