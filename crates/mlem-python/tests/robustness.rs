//! Properties that hold for any source: nothing panics, ranges are whole characters, and no
//! edits change nothing.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_stmt};
use mlem_python::ast::{Expr, Stmt};
use mlem_python::{EditSet, Program, Ranged, Syntax, TextSize, Unit, lift_python2};

fn sources() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut sources = Vec::new();
    for folder in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            sources.push(fs::read_to_string(file).unwrap());
        }
    }
    sources.push("name = 'dè日本語'\nprint \"ü\", name, `é`\nraise É, 'ß'\n".to_owned());
    sources
}

/// Asks everything that can be asked of a source.
fn exercise(source: &str) {
    struct Ranges<'a>(&'a Unit);
    impl<'a> Visitor<'a> for Ranges<'a> {
        fn visit_stmt(&mut self, stmt: &'a Stmt) {
            self.check(stmt.range());
            walk_stmt(self, stmt);
        }
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.check(expr.range());
            walk_expr(self, expr);
        }
    }
    impl Ranges<'_> {
        fn check(&self, range: mlem_python::TextRange) {
            let source = self.0.source();
            assert!(source.is_char_boundary(range.start().to_usize()), "{range:?} of {source:?}");
            assert!(source.is_char_boundary(range.end().to_usize()), "{range:?} of {source:?}");
            self.0.position(range.start());
        }
    }
    for unit in [Unit::cell(source), Unit::module(source)] {
        assert_eq!(unit.source(), source);
        assert_eq!(EditSet::new().apply(source).unwrap(), source);
        let mut ranges = Ranges(&unit);
        unit.body().iter().for_each(|stmt| ranges.visit_stmt(stmt));
        unit.magics().iter().for_each(|magic| ranges.check(magic.range));
        if let Ok(edits) = lift_python2(&unit) {
            let mut set = EditSet::new();
            set.add_all(edits).unwrap();
            let lifted = set.apply_checked(&unit).unwrap();
            assert_eq!(lifted.error_count(), 0, "{source:?} gave {:?}", lifted.source());
        }
        let program = Program::new(vec![unit.clone(), unit]);
        program.reference(1, TextSize::new(0), "numpy.array");
        program.dependents(&[0], 1);
    }
}

/// A linear congruential generator (Knuth's MMIX constants): the same sources in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

#[test]
fn fixtures_are_read_whole() {
    sources().iter().for_each(|source| exercise(source));
}

#[test]
fn mutated_sources_never_panic() {
    const PIECES: &[&str] = &[
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "'",
        "\"",
        "\"\"\"",
        "`",
        "\\",
        "\n",
        "\r\n",
        "\t",
        " ",
        "print ",
        "lambda ",
        "lambda (a, b): ",
        "exec ",
        "raise ",
        "except ",
        "%time ",
        "%%time\n",
        "!ls",
        "?",
        "f'{",
        "日",
        "\0",
        "0777L",
        "ur'",
        ">>",
        "<>",
        "=",
        "def f((a, b)):",
        "for ",
        "if ",
        "else ",
        "in ",
        ";",
        "@",
        "*",
        "**",
        "import ",
        "from ",
        ".",
        "\u{feff}",
    ];
    let sources = sources();
    let mut random = Random(2_026);
    for _ in 0..3_000 {
        let source = &sources[random.below(sources.len())];
        let chars: Vec<char> = source.chars().collect();
        let start = random.below(chars.len());
        let mut text: Vec<char> = chars[start..(start + random.below(300)).min(chars.len())].to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(text.len() + 1);
            match random.below(3) {
                0 if at < text.len() => {
                    text.remove(at);
                }
                _ => {
                    let piece = PIECES[random.below(PIECES.len())];
                    text.splice(at..at, piece.chars());
                }
            }
        }
        exercise(&text.into_iter().collect::<String>());
    }
}

/// Shortened from inputs that the fuzz targets found.
#[test]
fn broken_sources_found_by_fuzzing_are_refused() {
    // The backtick is part of a tuple parameter and of a target that moves as a whole.
    exercise("print>>lambda(`):");
}

#[test]
fn deep_nesting_is_refused_not_followed() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("lambda: ", ""), ("x if y else ", ""), ("a.", "")]
    {
        let source = format!("x = {}1{}\n", open.repeat(3_000), close.repeat(3_000));
        let unit = Unit::cell(&source);
        assert!(matches!(unit.syntax(), Syntax::Broken { .. }), "{open}");
        Program::new(vec![unit]);
    }
    let sum = format!("x = {}\n", vec!["1"; 3_000].join(" + "));
    assert!(matches!(Unit::cell(&sum).syntax(), Syntax::Broken { .. }));
    let blocks: String = (0..150).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
    assert!(matches!(Unit::cell(&blocks).syntax(), Syntax::Broken { .. }));

    // The deepest that is taken.
    let nested = format!("x = {}{}1{}\n", "-".repeat(390), "(".repeat(190), ")".repeat(190));
    exercise(&nested);
    assert_eq!(*Unit::cell(&nested).syntax(), Syntax::Clean);
    let long = format!("x = [{}]\n", vec!["-1"; 50_000].join(", "));
    assert_eq!(*Unit::cell(&long).syntax(), Syntax::Clean);
}
