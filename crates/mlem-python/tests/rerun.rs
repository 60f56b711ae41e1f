//! Running what `dependents` names in a live state must give the state and the output of
//! running the edited program from its start. Programs are random and run by a small machine
//! that knows names, branches, shared objects and changes in place.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mlem_python::{Program, Unit};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const PARTS: [&str; 3] = ["x", "y", "z"];

#[derive(Clone, Copy, Debug)]
enum Step {
    /// `a = {"x": 3, "y": 0, "z": 0}`
    New(usize, i64),
    /// `a = dict(b)`
    Copy(usize, usize),
    /// `a = b`
    Share(usize, usize),
    /// `a["x"] = 5`
    Set(usize, usize, i64),
    /// `a["x"] = b["y"] + 5`
    Derive(usize, usize, usize, usize, i64),
    /// `a["x"] += 5`
    Increase(usize, usize, i64),
    /// `a.update(b)`
    Update(usize, usize),
    /// `for t in [a, b]: t["x"] = t["y"] + 5`
    Each(usize, usize, usize, usize, i64),
    /// `if 3 > 4: b = {…}`; which branch is taken does not change with an edit
    BindIf(usize, usize, i64),
    /// `if 3 > 4: b["y"] = 5`
    SetIf(usize, usize, usize, i64),
    /// `print(a)`
    Show(usize),
    /// `print(a["x"])`
    ShowPart(usize, usize),
}

impl Step {
    fn source(self) -> String {
        let (name, part) = (|n: usize| NAMES[n], |p: usize| PARTS[p]);
        match self {
            Self::New(a, n) => format!("{} = {{'x': {n}, 'y': 0, 'z': 0}}", name(a)),
            Self::Copy(a, b) => format!("{} = dict({})", name(a), name(b)),
            Self::Share(a, b) => format!("{} = {}", name(a), name(b)),
            Self::Set(a, p, n) => format!("{}['{}'] = {n}", name(a), part(p)),
            Self::Derive(a, p, b, q, n) => {
                format!("{}['{}'] = {}['{}'] + {n}", name(a), part(p), name(b), part(q))
            }
            Self::Increase(a, p, n) => format!("{}['{}'] += {n}", name(a), part(p)),
            Self::Update(a, b) => format!("{}.update({})", name(a), name(b)),
            Self::Each(a, b, p, q, n) => {
                format!("for t in [{}, {}]:\n    t['{}'] = t['{}'] + {n}", name(a), name(b), part(p), part(q))
            }
            Self::BindIf(a, b, n) => {
                format!("if {a} > 1:\n    {} = {{'x': {n}, 'y': 0, 'z': 0}}", name(b))
            }
            Self::SetIf(a, b, p, n) => {
                format!("if {a} > 1:\n    {}['{}'] = {n}", name(b), part(p))
            }
            Self::Show(a) => format!("print({})", name(a)),
            Self::ShowPart(a, p) => format!("print({}['{}'])", name(a), part(p)),
        }
    }

    /// The same step with another number.
    fn edited(self) -> Self {
        match self {
            Self::New(a, n) => Self::New(a, n + 100),
            Self::Set(a, p, n) => Self::Set(a, p, n + 100),
            Self::Derive(a, p, b, q, n) => Self::Derive(a, p, b, q, n + 100),
            Self::Increase(a, p, n) => Self::Increase(a, p, n + 100),
            Self::Each(a, b, p, q, n) => Self::Each(a, b, p, q, n + 100),
            Self::BindIf(a, b, n) => Self::BindIf(a, b, n + 100),
            Self::SetIf(a, b, p, n) => Self::SetIf(a, b, p, n + 100),
            other => other,
        }
    }
}

#[derive(Clone, Default)]
struct Machine {
    objects: Vec<[i64; 3]>,
    names: BTreeMap<usize, usize>,
    output: BTreeMap<usize, String>,
}

impl Machine {
    fn run(&mut self, cell: usize, steps: &[Step]) {
        let mut output = String::new();
        for step in steps {
            self.step(*step, &mut output);
        }
        self.output.insert(cell, output);
    }

    fn object(&mut self, name: usize) -> &mut [i64; 3] {
        &mut self.objects[self.names[&name]]
    }

    fn step(&mut self, step: Step, output: &mut String) {
        match step {
            Step::New(a, n) => self.bind(a, [n, 0, 0]),
            Step::Copy(a, b) => {
                let copy = *self.object(b);
                self.bind(a, copy);
            }
            Step::Share(a, b) => {
                self.names.insert(a, self.names[&b]);
            }
            Step::Set(a, p, n) => self.object(a)[p] = n,
            Step::Derive(a, p, b, q, n) => self.object(a)[p] = self.object(b)[q] + n,
            Step::Increase(a, p, n) => self.object(a)[p] += n,
            Step::Update(a, b) => *self.object(a) = *self.object(b),
            Step::Each(a, b, p, q, n) => {
                for name in [a, b] {
                    self.object(name)[p] = self.object(name)[q] + n;
                }
            }
            Step::BindIf(a, b, n) => {
                if a > 1 {
                    self.bind(b, [n, 0, 0]);
                }
            }
            Step::SetIf(a, b, p, n) => {
                if a > 1 {
                    self.object(b)[p] = n;
                }
            }
            Step::Show(a) => write!(output, "{:?} ", self.object(a)).unwrap(),
            Step::ShowPart(a, p) => write!(output, "{} ", self.object(a)[p]).unwrap(),
        }
    }

    fn bind(&mut self, name: usize, object: [i64; 3]) {
        self.objects.push(object);
        self.names.insert(name, self.objects.len() - 1);
    }

    /// What a person sees of it: values, and which names are one object.
    fn state(&self) -> (Vec<[i64; 3]>, Vec<bool>, &BTreeMap<usize, String>) {
        let values = self.names.values().map(|object| self.objects[*object]).collect();
        let same = self.names.values().flat_map(|a| self.names.values().map(move |b| a == b)).collect();
        (values, same, &self.output)
    }
}

/// A linear congruential generator (Knuth's MMIX constants): the same programs in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn step(&mut self) -> Step {
        let (a, b) = (self.below(NAMES.len()), self.below(NAMES.len()));
        let (p, q) = (self.below(PARTS.len()), self.below(PARTS.len()));
        let n = i64::try_from(self.below(9)).unwrap_or_default();
        match self.below(14) {
            0 => Step::New(a, n),
            1 => Step::Copy(a, b),
            2 => Step::Share(a, b),
            3 => Step::Set(a, p, n),
            4 | 5 => Step::Derive(a, p, b, q, n),
            6 => Step::Increase(a, p, n),
            7 => Step::Update(a, b),
            8 => Step::Each(a, b, p, q, n),
            9 => Step::Show(a),
            10 => Step::BindIf(a, b, n),
            11 => Step::SetIf(a, b, p, n),
            _ => Step::ShowPart(a, p),
        }
    }
}

#[test]
fn running_the_dependents_equals_running_everything() {
    let mut random = Random(4242);
    let (mut ran, mut all) = (0, 0);
    for round in 0..2_000 {
        let mut cells: Vec<Vec<Step>> = (0..NAMES.len()).map(|name| vec![Step::New(name, 1)]).collect();
        for _ in 0..2 + random.below(7) {
            cells.push((0..1 + random.below(2)).map(|_| random.step()).collect());
        }
        let edited = random.below(cells.len());
        let upto = edited + random.below(cells.len() - edited);
        let mut live = Machine::default();
        for (index, cell) in cells.iter().enumerate().take(upto + 1) {
            live.run(index, cell);
        }
        cells[edited] = cells[edited].iter().map(|step| step.edited()).collect();
        let source = |cell: &Vec<Step>| cell.iter().map(|step| step.source() + "\n").collect::<String>();
        let program = Program::new(cells.iter().map(|cell| Unit::cell(&source(cell))).collect());
        let units = program.dependents(&[edited], upto);
        for unit in units.iter().copied().chain([upto]) {
            live.run(unit, &cells[unit]);
        }
        let mut fresh = Machine::default();
        for (index, cell) in cells.iter().enumerate().take(upto + 1) {
            fresh.run(index, cell);
        }
        let listing: String =
            cells.iter().enumerate().map(|(i, cell)| format!("[{i}]\n{}", source(cell))).collect();
        assert!(
            live.state() == fresh.state(),
            "round {round}: edited {edited}, upto {upto}, ran {units:?}\n{listing}\n{:?}\n{:?}",
            live.state(),
            fresh.state()
        );
        ran += units.len();
        all += upto;
    }
    // Not by running everything, either.
    assert!(ran * 10 < all * 9, "{ran} of {all} cells ran again");
}
