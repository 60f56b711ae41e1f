//! Fixing a notebook changes the sources of the cells that it fixes, and no other byte of the file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use mlem_configuration::Settings;
use mlem_notebook::Notebook;
use mlem_repair::sources::Sources;
use mlem_repair::statics::{self, Permission};
use mlem_repair::wanted::Wanted;
use mlem_rules::{Catalogue, Pins, Version};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;

fn newest() -> Pins {
    let version: Version = "9999".parse().unwrap();
    let libraries = Catalogue::shipped().rules().iter().map(|rule| (rule.library.clone(), version.clone()));
    Pins { python: (3, 13), packages: BTreeMap::from_iter(libraries) }
}

/// Every rule.
fn wanted() -> Wanted {
    let settings = Settings::of_target(newest());
    Wanted::new(&settings, Path::new("generated.ipynb"), Path::new(""), &Sources::default())
}

/// How a file is written.
#[derive(Debug, Clone, Copy)]
struct Style {
    indent: Option<usize>,
    /// Sources as lists of lines.
    lists: bool,
    /// Letters beyond ASCII as escapes.
    ascii: bool,
    crlf: bool,
    last_line_feed: bool,
}

#[derive(Debug, Clone)]
enum Kind {
    /// A rule's setup and snippet.
    Rule(usize),
    /// Code in Python 2.
    Old,
    /// Code that no rule is about.
    Modern,
    Markdown,
    Raw,
}

fn style() -> impl Strategy<Value = Style> {
    let indent = prop_oneof![Just(None), Just(Some(1)), Just(Some(2)), Just(Some(4))];
    (indent, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(indent, lists, ascii, crlf, last_line_feed)| Style { indent, lists, ascii, crlf, last_line_feed },
    )
}

fn kind(rules: usize) -> impl Strategy<Value = Kind> {
    prop_oneof![
        5 => (0..rules).prop_map(Kind::Rule),
        1 => Just(Kind::Old),
        2 => Just(Kind::Modern),
        1 => Just(Kind::Markdown),
        1 => Just(Kind::Raw),
    ]
}

/// The text of a notebook in pieces: what has to stay, with the sources of the cells between.
struct Written {
    around: Vec<String>,
    sources: Vec<String>,
}

impl Written {
    fn text(&self) -> String {
        let mut text = String::new();
        for (around, source) in self.around.iter().zip(self.sources.iter().chain([&String::new()])) {
            text.push_str(around);
            text.push_str(source);
        }
        text
    }
}

fn write(style: Style, kinds: &[Kind]) -> Written {
    let line = if style.crlf { "\r\n" } else { "\n" };
    let at = |depth: usize| match style.indent {
        Some(width) => format!("{line}{}", " ".repeat(width * depth)),
        None => String::new(),
    };
    let colon = if style.indent.is_some() { ": " } else { ":" };
    let mut around = vec![format!("{{{}\"cells\"{colon}[", at(1))];
    let mut sources = Vec::new();
    for (index, kind) in kinds.iter().enumerate() {
        let (name, text) = source(kind);
        let head = around.last_mut().unwrap();
        head.push_str(if index > 0 { "," } else { "" });
        head.push_str(&format!(
            "{}{{{}\"cell_type\"{colon}\"{name}\",{}\"id\"{colon}\"cell-{index}\",{}\"metadata\"{colon}{{\"größe\":  [1,2 ]}},{}",
            at(2), at(3), at(3), at(3), at(3)
        ));
        if name == "code" {
            head.push_str(&format!(
                "\"execution_count\"{colon}{index},{}\"outputs\"{colon}[{{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": \"np.float(1)\\n\"}}],{}",
                at(3), at(3)
            ));
        }
        head.push_str(&format!("\"source\"{colon}"));
        sources.push(json_source(style, &text, &at(4), &at(3)));
        around.push(format!("{}}}", at(2)));
    }
    around.last_mut().unwrap().push_str(&format!(
        "{}],{}\"metadata\"{colon}{{\"unknown\": \"df.append(x)\",  \"language_info\": {{\"name\": \"python\"}}}},{}\"nbformat\"{colon}4,{}\"nbformat_minor\"{colon}5{}}}{}",
        at(1), at(1), at(1), at(1), at(0), if style.last_line_feed { line } else { "" }
    ));
    Written { around, sources }
}

fn source(kind: &Kind) -> (&'static str, String) {
    match kind {
        Kind::Rule(at) => {
            let rule = &Catalogue::shipped().rules()[*at];
            let text = [rule.setup.trim_matches('\n'), rule.before.trim_matches('\n')].join("\n# größe\n");
            ("code", text)
        }
        Kind::Old => ("code", "print \"größe\", 0777\nif 1 <> 2L: print `x`".to_owned()),
        Kind::Modern => {
            ("code", "x = repr([1, 2])\n\nrows = []\nrows.append('np.float é')  # xrange(3)\n".to_owned())
        }
        Kind::Markdown => ("markdown", "# größe\n`df.append(x)` and `np.float`".to_owned()),
        Kind::Raw => ("raw", "import sklearn.cross_validation".to_owned()),
    }
}

fn json_source(style: Style, text: &str, before: &str, last: &str) -> String {
    let string = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        if !style.ascii {
            return quoted;
        }
        let mut escaped = String::new();
        for character in quoted.chars() {
            if character.is_ascii() {
                escaped.push(character);
            } else {
                let mut units = [0; 2];
                character
                    .encode_utf16(&mut units)
                    .iter()
                    .for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
            }
        }
        escaped
    };
    if !style.lists {
        return string(text);
    }
    let lines: Vec<String> =
        text.split_inclusive('\n').map(|line| format!("{before}{}", string(line))).collect();
    format!("[{}{last}]", lines.join(","))
}

fn check(style: Style, kinds: &[Kind]) -> Result<(), TestCaseError> {
    let written = write(style, kinds);
    let text = written.text();
    let name = Path::new("generated.ipynb");
    let mut notebook =
        Notebook::parse(text.clone(), name).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut sources = Sources::new(&notebook);
    statics::fix(&mut sources, "generated.ipynb", &wanted(), &newest(), Permission::Unsafe);
    sources.write_cells(&mut notebook);
    let after = notebook.to_text();

    let code: Vec<usize> =
        (0..kinds.len()).filter(|at| !matches!(kinds[*at], Kind::Markdown | Kind::Raw)).collect();
    let edited: Vec<usize> = code
        .iter()
        .zip(sources.cells())
        .filter(|(_, piece)| piece.current != piece.original)
        .map(|(at, _)| *at)
        .collect();
    let mut rest = after.as_str();
    for (at, around) in written.around.iter().enumerate() {
        let Some(behind) = rest.strip_prefix(around.as_str()) else {
            return Err(TestCaseError::fail(format!("{around}\nis not what follows in\n{after}")));
        };
        rest = behind;
        let Some(source) = written.sources.get(at) else { break };
        rest = if edited.contains(&at) {
            // The next piece that has to stay is unlike any source.
            let next = rest.find(written.around[at + 1].as_str());
            &rest[next.ok_or_else(|| {
                TestCaseError::fail(format!("cell {at} swallowed what follows in\n{after}"))
            })?..]
        } else {
            rest.strip_prefix(source.as_str()).ok_or_else(|| {
                TestCaseError::fail(format!("cell {at} was not edited and differs in\n{after}"))
            })?
        };
    }
    prop_assert_eq!(rest, "");

    let read: Value = serde_json::from_str(&after).unwrap();
    for (at, piece) in code.iter().zip(sources.cells()) {
        let found = &read["cells"][*at]["source"];
        let lines = found.as_array().map(|lines| lines.iter().filter_map(Value::as_str).collect::<String>());
        prop_assert_eq!(lines.or(found.as_str().map(str::to_owned)), Some(piece.current.clone()));
    }

    let mut again = Sources::new(&Notebook::parse(after.clone(), name).unwrap());
    let fixes = statics::fix(&mut again, "generated.ipynb", &wanted(), &newest(), Permission::Unsafe);
    let rules: Vec<_> = fixes.edits.iter().map(|edit| edit.rule.clone()).collect();
    prop_assert!(rules.is_empty(), "{:?} again in\n{}\nof\n{}", rules, after, text);
    Ok(())
}

#[test]
fn fixing_a_notebook_changes_its_edited_cells_alone() {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 32;
    }
    let kinds = proptest::collection::vec(kind(Catalogue::shipped().rules().len()), 1..6);
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(error) = runner.run(&(style(), kinds), |(style, kinds)| check(style, &kinds)) {
        panic!("{error}");
    }
}
