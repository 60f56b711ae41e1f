//! What the loader refuses, and how it says so.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use mlem_rules::Catalogue;

const RULE: &str = r#"
[[rule]]
id      = "XX001"
name    = "a-name"
summary = "something changed"
library = "numpy"
since   = "1.0"
kind    = "renamed"
safety  = "safe"
source  = "release notes"
match   = "numpy.old($x)"
replace = "numpy.new($x)"
needs   = ["import numpy as np"]
before  = "np.old(1)"
after   = "np.new(1)"
proof   = "fails"
"#;

/// The one thing that is said about a rule with one text changed for another.
fn refused(old: &str, new: &str) -> String {
    assert!(RULE.contains(old), "{old}");
    let text = RULE.replace(old, new);
    let errors = Catalogue::parse("x.toml", &text).expect_err("should be refused");
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].to_string()
}

#[test]
fn a_sound_rule_is_read() {
    let catalogue = Catalogue::parse("x.toml", RULE).unwrap();
    assert_eq!(catalogue.rules()[0].id, "XX001");
    assert_eq!(catalogue.rule("XX001").unwrap().name, "a-name");
}

#[test]
fn errors_name_file_rule_field_and_reason() {
    let cases = [
        ("source  =", "sauce   =", "unknown field `sauce`"),
        ("source  = \"release notes\"", "source = \" \"", "source: is empty"),
        ("since   = \"1.0\"", "since = \"one\"", "since: `one` is not a version"),
        ("since   = \"1.0\"", "since = \"1.0\"\nuntil = \"0.9\"", "until: is not after `since`"),
        ("kind    = \"renamed\"", "kind = \"other\"", "unknown variant `other`"),
        ("a-name", "A Name", "name: is not in kebab case"),
        ("\"numpy\"", "\"NumPy\"", "library: is not a normalised distribution name"),
        ("match   = \"numpy.old($x)\"", "match = \"numpy.old($x)\"\nfunction = \"ix\"", "exactly one of"),
        ("numpy.old($x)", "numpy.old($x", "match:"),
        ("numpy.old($x)", "$x", "`$x` matches everything"),
        ("numpy.new($x)", "numpy.new($y)", "replace: `$y` is not bound by"),
        ("[\"import numpy as np\"]", "[]", "needs: no import reaches `numpy.new` of `replace`"),
        ("import numpy as np", "from numpy import *", "is not one import of one name"),
        ("proof   = \"fails\"", "proof = \"none\"", "proof: `none` is not"),
        ("after   = \"np.new(1)\"", "", "after: is missing"),
        (
            "proof   = \"fails\"",
            "proof = \"fails\"\nwhere = { y = \"list\" }",
            "where.y: no pattern binds `$y`",
        ),
        (
            "proof   = \"fails\"",
            "proof = \"fails\"\nwhere = { x = \"literal:word\" }",
            "where.x: unknown literal kind `word`",
        ),
    ];
    for (old, new, reason) in cases {
        let said = refused(old, new);
        assert!(said.starts_with("x.toml:") && said.contains(": rule XX001: "), "{said}");
        assert!(said.contains(reason), "{said:?} does not say {reason:?}");
    }
}

#[test]
fn errors_stand_where_the_field_is() {
    let place = |old: &str, new: &str| {
        let text = RULE.replace(old, new);
        let error = Catalogue::parse("x.toml", &text).expect_err("should be refused").remove(0);
        let place = error.place.unwrap();
        text.lines().nth(place.line - 1).unwrap()[place.column - 1..].to_string()
    };
    assert_eq!(place("source  =", "sauce   ="), "sauce   = \"release notes\"");
    assert_eq!(place("\"1.0\"", "\"one\""), "since   = \"one\"");
    assert_eq!(place("\"renamed\"", "\"other\""), "\"other\"");
    assert_eq!(place("proof   = \"fails\"", "proof = \"fails\"\nwhere = { y = \"list\" }"), "y = \"list\" }");
    // What no one field is to blame for stands at the rule.
    assert_eq!(place("after   = \"np.new(1)\"", ""), "[[rule]]");
}

#[test]
fn more_files_extend_the_shipped_rules_and_take_no_id_of_theirs() {
    let files = |text: &str| [("mine.toml".to_string(), text.to_string())];
    let catalogue = Catalogue::extended(&files(RULE)).unwrap();
    assert_eq!(catalogue.rules().len(), Catalogue::shipped().rules().len() + 1);
    assert_eq!(catalogue.rule("XX001").unwrap().file, "mine.toml");
    let errors = Catalogue::extended(&files(&RULE.replace("XX001", "PD001"))).expect_err("taken");
    assert_eq!(
        errors[0].to_string(),
        "mine.toml:2:1: rule PD001: `PD001` is also used by PD001 in mlem's rules/pandas.toml; take another"
    );
    let errors = Catalogue::extended(&files(&RULE.replace("a-name", "python-2-syntax"))).expect_err("taken");
    assert!(errors[0].to_string().contains("also used by PY2 in mlem itself"), "{}", errors[0]);
}

#[test]
fn identifiers_are_unique() {
    let twice = format!("{RULE}{}", RULE.replace("a-name", "another-name"));
    let errors = Catalogue::parse("x.toml", &twice).expect_err("should be refused");
    let said = errors[0].to_string();
    assert_eq!(said, "x.toml:18:1: rule XX001: `XX001` is also used by XX001 in x.toml; take another");
}

#[test]
fn text_that_is_not_toml_is_said_with_its_place() {
    let errors = Catalogue::parse("x.toml", "[[rule]]\nid = ").expect_err("should be refused");
    let said = errors[0].to_string();
    assert!(said.starts_with("x.toml:2:6: "), "{said}");
}
