//! Properties of fixing that hold for any notebook: cells are put together from the rules' own snippets, joined,
//! nested, broken over lines and sprinkled with comments and strings that look like code.
//!
//! The cases are the same in every run; `PROPTEST_CASES` asks for more of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use mlem_python::{EditSet, Program, Syntax, Unit, lift_program};
use mlem_rules::{Catalogue, Finding, Fixed, Pins, Question, Rule, Version, fix_until_stable};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Code that no rule is about, whatever is imported around it.
const MODERN: &[&str] = &[
    "kept(repr(kept), [str(k) for k in sorted(range(3))], len(list(map(repr, [1, 2]))), sum((1, 2)) // 3)",
    "rows = []; rows.append(1); rows.extend([2, 3]); table = {'a': 1}; pairs = list(table.items())",
    "kept(f'{repr(rows)!r:>{len(rows)}} {table['a']}', input, open, type(rows), hash(1), id(rows))",
    "def scale(values, copy=True, axis=0, *, level=None): return [value * 2 for value in values]",
];

/// What a comment or a string holds besides its mark: code that rules are about.
const CODE: &str = "np.float(1), df.append(x), xrange(3), df.as_matrix()";

fn newest() -> Pins {
    let version: Version = "9999".parse().unwrap();
    let libraries = Catalogue::shipped().rules().iter().map(|rule| (rule.library.clone(), version.clone()));
    Pins { python: (3, 13), packages: BTreeMap::from_iter(libraries) }
}

/// The rules whose snippets are plain Python without magics.
fn snippets() -> Vec<&'static Rule> {
    let is_plain = |text: &str| {
        let unit = Unit::cell(text.trim_matches('\n'));
        *unit.syntax() == Syntax::Clean && unit.magics().is_empty()
    };
    let rules = Catalogue::shipped().rules().iter();
    rules.filter(|rule| is_plain(&rule.setup) && is_plain(&rule.before)).collect()
}

/// One piece of a cell: a rule's snippet and what is done to it.
#[derive(Debug, Clone)]
struct Piece {
    rule: usize,
    form: Form,
    /// What stands behind brackets and commas, by their number.
    spacing: Vec<Spacing>,
    comment_above: bool,
    comment_behind: bool,
    string_below: bool,
    modern_below: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Plain,
    If,
    Loop,
    Function,
    Try,
    Class,
    Magic,
    /// Joined with another statement by a semicolon.
    Joined,
    /// An argument of a call beside another rule's expression.
    Argument,
    /// In an f-string.
    Formatted,
}

#[derive(Debug, Clone, Copy)]
enum Spacing {
    Kept,
    Spaces,
    Break,
    Comment,
    Continued,
}

fn piece(rules: usize) -> impl Strategy<Value = Piece> {
    let form = prop_oneof![
        4 => Just(Form::Plain),
        1 => Just(Form::If),
        1 => Just(Form::Loop),
        1 => Just(Form::Function),
        1 => Just(Form::Try),
        1 => Just(Form::Class),
        1 => Just(Form::Magic),
        2 => Just(Form::Joined),
        2 => Just(Form::Argument),
        1 => Just(Form::Formatted),
    ];
    let spacing = prop_oneof![
        4 => Just(Spacing::Kept),
        1 => Just(Spacing::Spaces),
        1 => Just(Spacing::Break),
        1 => Just(Spacing::Comment),
        1 => Just(Spacing::Continued),
    ];
    let spacing = proptest::collection::vec(spacing, 0..6);
    let modern = proptest::option::of(0..MODERN.len());
    (0..rules, form, spacing, any::<bool>(), any::<bool>(), any::<bool>(), modern).prop_map(
        |(rule, form, spacing, comment_above, comment_behind, string_below, modern_below)| Piece {
            rule,
            form,
            spacing,
            comment_above,
            comment_behind,
            string_below,
            modern_below,
        },
    )
}

/// Writes notebooks, and numbers the marks in them.
#[derive(Default)]
struct Writer {
    marks: usize,
}

impl Writer {
    /// A text that occurs nowhere else.
    fn mark(&mut self) -> String {
        self.marks += 1;
        format!("mark {} {CODE} end", self.marks)
    }

    fn notebook(&mut self, rules: &[&Rule], pieces: &[Piece], python2: bool) -> Vec<String> {
        let mut setups: Vec<&str> =
            pieces.iter().map(|piece| rules[piece.rule].setup.trim_matches('\n')).collect();
        setups.dedup();
        let mut cells = vec![setups.join("\n")];
        for pair in pieces.chunks(2) {
            let mut cell = String::new();
            for piece in pair {
                cell.push_str(&self.piece(rules, piece, pieces));
            }
            if python2 {
                cell.push_str(&self.python2());
            }
            cells.push(cell);
        }
        cells
    }

    fn piece(&mut self, rules: &[&Rule], piece: &Piece, all: &[Piece]) -> String {
        let mut code = self.spaced(rules[piece.rule].before.trim_matches('\n'), &piece.spacing);
        if piece.comment_behind && !code.ends_with('\\') {
            code.push_str(&format!("  # {}", self.mark()));
        }
        let expression = single_expression(rules[piece.rule]);
        let code = match (piece.form, expression) {
            (Form::Plain, _) => code,
            (Form::If, _) => format!("if True:\n{}", indented(&code)),
            (Form::Loop, _) => format!("for _ in [1]:\n{}", indented(&code)),
            (Form::Function, _) => format!("def run():\n{}", indented(&code)),
            (Form::Try, _) => format!("try:\n{}\nfinally:\n    pass", indented(&code)),
            (Form::Class, _) => format!("class Own:\n{}", indented(&code)),
            (Form::Magic, _) => format!("%matplotlib inline\n{code}"),
            (Form::Joined, _) if is_one_simple_line(&code) => {
                format!("kept('{}'); {code}", self.mark())
            }
            (Form::Argument, Some(expression)) => {
                let others = all.iter().find_map(|other| single_expression(rules[other.rule]));
                format!("kept({expression}, '{}', {})", self.mark(), others.unwrap_or("1"))
            }
            (Form::Formatted, Some(expression)) if !expression.contains(['\n', '{', '\\']) => {
                format!("kept(f\"{} {{({expression})}}\")", self.mark())
            }
            _ => code,
        };
        let mut text = String::new();
        if piece.comment_above {
            text.push_str(&format!("# {}\n", self.mark()));
        }
        text.push_str(&code);
        text.push('\n');
        if piece.string_below {
            text.push_str(&format!("kept('''{}\n{CODE}''')\n", self.mark()));
        }
        if let Some(modern) = piece.modern_below {
            text.push_str(&format!("{}  # {}\n", MODERN[modern], self.mark()));
        }
        text
    }

    /// Puts white space, line breaks and comments behind opening brackets and commas in them.
    fn spaced(&mut self, code: &str, spacing: &[Spacing]) -> String {
        let mut text = String::new();
        let mut depth = 0_usize;
        let mut spacing = spacing.iter();
        let mut rest = code;
        while let Some(first) = rest.chars().next() {
            let length = token_length(rest);
            text.push_str(&rest[..length]);
            rest = &rest[length..];
            match first {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if !(matches!(first, '(' | '[' | '{') || (first == ',' && depth > 0)) {
                continue;
            }
            match spacing.next() {
                Some(Spacing::Spaces) => text.push_str("   "),
                Some(Spacing::Break) => text.push_str("\n        "),
                Some(Spacing::Comment) => text.push_str(&format!("  # {}\n        ", self.mark())),
                Some(Spacing::Continued) => text.push_str(" \\\n        "),
                Some(Spacing::Kept) | None => {}
            }
        }
        text
    }

    /// Statements that only Python 2 reads.
    fn python2(&mut self) -> String {
        let mark = self.mark();
        let more = self.mark();
        format!(
            "print \"{mark}\", kept\nif kept <> 1L:\n    print >>kept, '{more}'\ntry:\n    raise ValueError, 'x'\n\
             except ValueError, error:\n    print `error`, 0777\n"
        )
    }
}

/// The length of the string, comment or character that a text starts with.
fn token_length(text: &str) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    if text.starts_with('#') {
        return text.find('\n').unwrap_or(text.len());
    }
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) else {
        return first;
    };
    let triple = quote.to_string().repeat(3);
    let close = if text.starts_with(&triple) { triple } else { quote.to_string() };
    let mut at = close.len();
    while at < text.len() {
        if text[at..].starts_with('\\') {
            at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
        } else if text[at..].starts_with(&close) {
            return at + close.len();
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn indented(code: &str) -> String {
    let lines: Vec<String> = code.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

fn is_one_simple_line(code: &str) -> bool {
    let compound = ["if ", "for ", "while ", "def ", "class ", "with ", "try:", "@", "async "];
    !code.contains('\n') && !compound.iter().any(|word| code.starts_with(word))
}

/// The snippet of a rule if it is one expression.
fn single_expression(rule: &Rule) -> Option<&str> {
    let unit = Unit::cell(rule.before.trim_matches('\n'));
    let [mlem_python::ast::Stmt::Expr(statement)] = unit.body() else { return None };
    let is_whole = rule.before.trim().len() == usize::from(mlem_python::Ranged::range(statement).len());
    is_whole.then(|| rule.before.trim())
}

/// The marks that no finding has around it.
fn free_marks(program: &Program, findings: &[Finding]) -> Vec<String> {
    let mut marks = Vec::new();
    for (at, unit) in program.units().iter().enumerate() {
        for (start, _) in unit.source().match_indices("mark ") {
            let is_matched = findings.iter().any(|finding| {
                finding.unit == at && finding.range.contains(u32::try_from(start).unwrap().into())
            });
            if !is_matched {
                let text = &unit.source()[start..];
                let end = text.find(" end").unwrap() + " end".len();
                marks.push(text[..end].to_string());
            }
        }
    }
    marks
}

fn fix(program: &Program, target: &Pins, filter: &dyn Fn(&Finding) -> bool) -> Fixed {
    fix_until_stable(Catalogue::shipped(), program, target, (None, None), filter)
}

fn check(program: &Program, shown: &[String]) -> Result<(), TestCaseError> {
    let target = newest();
    let notebook = || shown.join("# %%\n");
    for unit in program.units() {
        prop_assert_eq!(unit.error_count(), 0, "the generator made a broken cell of\n{}", unit.source());
    }
    let findings = Catalogue::shipped().check(&Question::without_kernel(program, &target));
    let free = free_marks(program, &findings);
    for filter in [&Finding::is_applicable as &dyn Fn(&Finding) -> bool, &|_: &Finding| true] {
        let fixed = fix(program, &target, filter);
        for (unit, before) in fixed.program.units().iter().zip(program.units()) {
            prop_assert_eq!(unit.error_count(), 0, "{}\nbecame\n{}", before.source(), unit.source());
        }
        let after = fixed.sources().join("\n");
        for mark in &free {
            prop_assert!(after.contains(mark), "{mark} is gone from\n{after}\nof\n{}", notebook());
        }
        for modern in MODERN {
            let count =
                |sources: &[&str]| sources.iter().map(|source| source.matches(modern).count()).sum::<usize>();
            let before: Vec<&str> = program.units().iter().map(Unit::source).collect();
            prop_assert_eq!(count(&fixed.sources()), count(&before), "{}\nis gone from\n{}", modern, after);
        }
        let again = fix(&fixed.program, &target, filter);
        let applied = again.applied.first().map(|applied| applied.rule.id.as_str());
        prop_assert_eq!(
            applied,
            None,
            "{}\nbecame\n{}\nand then\n{}",
            notebook(),
            after,
            again.sources().join("\n")
        );
    }
    Ok(())
}

fn run(python2: bool) {
    let mut config = Config { failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 48;
    }
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let rules = snippets();
    let pieces = proptest::collection::vec(piece(rules.len()), 1..6);
    let result = TestRunner::new_with_rng(config, rng).run(&pieces, |pieces| {
        let cells = Writer::default().notebook(&rules, &pieces, python2);
        let units: Vec<Unit> = cells.iter().map(|cell| Unit::cell(cell)).collect();
        if !python2 {
            return check(&Program::new(units), &cells);
        }
        let mut lifted = Vec::new();
        for (unit, edits) in units.iter().zip(lift_program(&units)) {
            let edits =
                edits.map_err(|error| TestCaseError::fail(format!("{error} in\n{}", unit.source())))?;
            let mut set = EditSet::new();
            set.add_all(edits).unwrap();
            let after = set.apply_checked(unit).unwrap();
            for mark in free_marks(&Program::new(vec![unit.clone()]), &[]) {
                prop_assert!(after.source().contains(&mark), "{mark} is gone from\n{}", after.source());
            }
            lifted.push(after);
        }
        check(&Program::new(lifted), &cells)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn fixes_keep_all_else_and_settle() {
    run(false);
}

#[test]
fn fixes_after_the_lift_keep_all_else_and_settle() {
    run(true);
}

#[test]
fn most_rules_have_snippets_to_be_put_together() {
    assert!(snippets().len() * 10 > Catalogue::shipped().rules().len() * 8);
}
