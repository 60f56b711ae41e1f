//! Values as `describe.py` tells them, and whether those of two versions are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;

/// Largest relative difference of equal numbers: solvers and summation orders change in the last digits.
const RELATIVE: f64 = 1e-6;
/// Largest absolute difference of equal numbers, for those that should be zero.
const ABSOLUTE: f64 = 1e-9;

/// One value.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "k", rename_all = "lowercase")]
pub(crate) enum Value {
    None,
    Bool {
        v: bool,
    },
    Number {
        t: String,
        v: Number,
    },
    Text {
        v: String,
    },
    Bytes {
        v: String,
    },
    Sequence {
        t: String,
        length: usize,
        v: Vec<Value>,
    },
    Mapping {
        v: Vec<(Value, Value)>,
    },
    Array {
        t: String,
        shape: Vec<usize>,
        v: Vec<Value>,
    },
    Frame {
        columns: Vec<Value>,
        index: Vec<Value>,
        types: Vec<String>,
        v: Vec<Vec<Value>>,
    },
    Series {
        name: Box<Value>,
        index: Vec<Value>,
        #[serde(rename = "type")]
        dtype: String,
        v: Vec<Value>,
    },
    Estimator(Box<Estimator>),
    Object {
        class: String,
        parts: BTreeMap<String, Value>,
    },
    Callable {
        name: String,
    },
    Opaque {
        class: String,
    },
}

/// A model with scikit-learn's interface.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Estimator {
    class: String,
    parameters: BTreeMap<String, Value>,
    given: BTreeSet<String>,
    fitted: BTreeMap<String, Value>,
    predicted: Option<Value>,
}

/// A number of JSON, or what JSON has no number for: `nan`, `inf`, integers beyond 2^53.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Number {
    Plain(f64),
    Other(String),
}

/// What a comparison came to.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Leaves that are equal.
    pub(crate) equal: usize,
    /// Where values differ, and how.
    pub(crate) differences: Vec<Difference>,
    /// Same content in another form: a tuple for a list, `str` for `object`.
    pub(crate) forms: BTreeSet<String>,
    /// Classes of which nothing could be compared.
    pub(crate) opaque: BTreeSet<String>,
}

/// One place in which values differ.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Where: `df[0]`, `figure["axes"][0]["title"]`.
    pub(crate) at: String,
    then: String,
    now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {} then, {} now", self.at, self.then, self.now)
    }
}

impl Tally {
    pub(crate) fn differs(&mut self, at: &str, then: impl fmt::Display, now: impl fmt::Display) {
        self.differences.push(Difference {
            at: at.to_string(),
            then: then.to_string(),
            now: now.to_string(),
        });
    }

    pub(crate) fn form(&mut self, then: &str, now: &str) {
        if then != now {
            self.forms.insert(format!("{then} is now {now}"));
        }
    }
}

impl Value {
    /// A few words for a difference.
    pub(crate) fn brief(&self) -> String {
        let cut = |text: &str| {
            let mut cut: String = text.chars().take(60).collect();
            if cut.len() < text.len() {
                cut.push('…');
            }
            cut
        };
        match self {
            Value::None => "None".to_string(),
            Value::Bool { v } => if *v { "True" } else { "False" }.to_string(),
            Value::Number { v: Number::Plain(v), .. } => format!("{v}"),
            Value::Number { v: Number::Other(v), .. } => v.clone(),
            Value::Text { v } => format!("{:?}", cut(v)),
            Value::Bytes { v } => format!("{} bytes", v.len() / 2),
            Value::Sequence { t, length, .. } => format!("a {t} of {length}"),
            Value::Mapping { v } => format!("a dict of {}", v.len()),
            Value::Array { t, shape, .. } => format!("an array {shape:?} of {t}"),
            Value::Frame { columns, index, .. } => {
                format!("a frame of {} by {}", index.len(), columns.len())
            }
            Value::Series { v, .. } => format!("a series of {}", v.len()),
            Value::Estimator(estimator) => format!("a {}", estimator.class),
            Value::Object { class, .. } | Value::Opaque { class } => format!("a {class}"),
            Value::Callable { name } => format!("the function {name}"),
        }
    }
}

/// Compares what was there `then` with what is there `now`, and counts into the tally.
pub(crate) fn compare(at: &str, then: &Value, now: &Value, tally: &mut Tally) {
    match (then, now) {
        // That nothing came back says nothing.
        (Value::None, Value::None) => {}
        (Value::Callable { name }, Value::Callable { name: other }) => tally.form(name, other),
        (Value::Opaque { class }, Value::Opaque { class: other }) => {
            tally.form(class, other);
            tally.opaque.insert(class.clone());
        }
        (Value::Opaque { class }, _) | (_, Value::Opaque { class }) => {
            tally.opaque.insert(class.clone());
            tally.form(&then.brief(), &now.brief());
        }
        (Value::Bool { v }, Value::Bool { v: other }) if v == other => tally.equal += 1,
        (Value::Number { t, v }, Value::Number { t: other_t, v: other }) if same_number(v, other) => {
            tally.form(t, other_t);
            tally.equal += 1;
        }
        (Value::Text { v }, Value::Text { v: other }) | (Value::Bytes { v }, Value::Bytes { v: other })
            if v == other =>
        {
            tally.equal += 1;
        }
        (
            Value::Sequence { t, length, v },
            Value::Sequence { t: other_t, length: other_length, v: other },
        ) => {
            // An iterator can be walked once and has no length; a list and a tuple are read alike.
            if (t == "iterator") != (other_t == "iterator") {
                tally.differs(
                    at,
                    format!("a {t}"),
                    format!("an unwalked {other_t}").replace("an unwalked list", "a list"),
                );
            }
            if length != other_length {
                return tally.differs(at, format!("{length} elements"), format!("{other_length} elements"));
            }
            tally.form(t, other_t);
            elements(at, v, other, tally);
        }
        (Value::Sequence { t, length, v }, Value::Array { t: kind, shape, v: other })
            if shape.as_slice() == [*length] =>
        {
            tally.form(t, &format!("array of {kind}"));
            elements(at, v, other, tally);
        }
        (Value::Array { t: kind, shape, v }, Value::Sequence { t, length, v: other })
            if shape.as_slice() == [*length] =>
        {
            tally.form(&format!("array of {kind}"), t);
            elements(at, v, other, tally);
        }
        (Value::Mapping { v }, Value::Mapping { v: other }) => mappings(at, v, other, tally),
        (Value::Array { t, shape, v }, Value::Array { t: other_t, shape: other_shape, v: other }) => {
            if shape != other_shape {
                return tally.differs(at, format!("shape {shape:?}"), format!("shape {other_shape:?}"));
            }
            tally.form(t, other_t);
            elements(at, v, other, tally);
        }
        (
            Value::Frame { columns, index, types, v },
            Value::Frame { columns: other_columns, index: other_index, types: other_types, v: other },
        ) => {
            if (columns.len(), index.len()) != (other_columns.len(), other_index.len()) {
                return tally.differs(at, then.brief(), now.brief());
            }
            elements(&format!("{at}.columns"), columns, other_columns, tally);
            elements(&format!("{at}.index"), index, other_index, tally);
            for (then, now) in types.iter().zip(other_types) {
                tally.form(then, now);
            }
            for ((column, other), name) in v.iter().zip(other).zip(columns) {
                elements(&format!("{at}[{}]", name.brief()), column, other, tally);
            }
        }
        (
            Value::Series { name, index, dtype, v },
            Value::Series { name: other_name, index: other_index, dtype: other_dtype, v: other },
        ) => {
            if v.len() != other.len() {
                return tally.differs(at, then.brief(), now.brief());
            }
            // A label that a later assignment replaces; the columns of a frame are content.
            tally.form(&format!("name {}", name.brief()), &format!("name {}", other_name.brief()));
            elements(&format!("{at}.index"), index, other_index, tally);
            tally.form(dtype, other_dtype);
            elements(at, v, other, tally);
        }
        (Value::Estimator(one), Value::Estimator(other)) => estimators(at, one, other, tally),
        (Value::Object { class, parts }, Value::Object { class: other_class, parts: other }) => {
            tally.form(class, other_class);
            shared(at, parts, other, tally);
        }
        _ => tally.differs(at, then.brief(), now.brief()),
    }
}

fn elements(at: &str, then: &[Value], now: &[Value], tally: &mut Tally) {
    for (place, (one, other)) in then.iter().zip(now).enumerate() {
        compare(&format!("{at}[{place}]"), one, other, tally);
    }
}

/// What both have; the attributes of a class come and go between versions.
fn shared(at: &str, then: &BTreeMap<String, Value>, now: &BTreeMap<String, Value>, tally: &mut Tally) {
    for (name, one) in then {
        if let Some(other) = now.get(name) {
            compare(&format!("{at}.{name}"), one, other, tally);
        }
    }
}

fn same(one: &Value, other: &Value) -> bool {
    let mut tally = Tally::default();
    compare("", one, other, &mut tally);
    tally.differences.is_empty()
}

fn mappings(at: &str, then: &[(Value, Value)], now: &[(Value, Value)], tally: &mut Tally) {
    for (key, one) in then {
        match now.iter().find(|(other, _)| same(key, other)) {
            Some((_, other)) => compare(&format!("{at}[{}]", key.brief()), one, other, tally),
            None => tally.differs(&format!("{at}[{}]", key.brief()), one.brief(), "nothing"),
        }
    }
    for (key, other) in now {
        if !then.iter().any(|(one, _)| same(one, key)) {
            tally.differs(&format!("{at}[{}]", key.brief()), "nothing", other.brief());
        }
    }
}

/// Models: what a fit found and what it predicts is compared; where there was no fit, what they were told.
fn estimators(at: &str, then: &Estimator, now: &Estimator, tally: &mut Tally) {
    tally.form(&then.class, &now.class);
    let fitted = !then.fitted.is_empty() && !now.fitted.is_empty();
    let mut another_default = false;
    for (name, one) in &then.parameters {
        let Some(other) = now.parameters.get(name) else { continue };
        if then.given.contains(name) || now.given.contains(name) {
            // None leaves the choice to the library, as XGBoost does since 1.0 for what had numbers as defaults.
            let left_open = matches!(one, Value::None) || matches!(other, Value::None);
            if !fitted && !left_open {
                compare(&format!("{at}.{name}"), one, other, tally);
            } else if !same(one, other) {
                tally.forms.insert(format!("{name}={} is now {}", one.brief(), other.brief()));
            }
        } else if !same(one, other) {
            // Neither side gave it, so that it is not what the rule is about.
            tally.forms.insert(format!("default of {name}: {} is now {}", one.brief(), other.brief()));
            another_default = true;
        }
    }
    let found = tally.differences.len();
    for (name, one) in &then.fitted {
        match now.fitted.get(name) {
            // An attribute that only one of the two versions sets.
            None | Some(Value::None) => {}
            Some(other) if !matches!(one, Value::None) => compare(&format!("{at}.{name}"), one, other, tally),
            Some(_) => {}
        }
    }
    match (&then.predicted, &now.predicted) {
        (Some(one), Some(other)) => compare(&format!("{at}.predict(X)"), one, other, tally),
        (Some(one), None) => tally.differs(&format!("{at}.predict(X)"), one.brief(), "nothing"),
        _ => {}
    }
    if another_default && tally.differences.len() > found {
        tally.forms.insert("fitted with another default".to_string());
    }
    if then.fitted.is_empty() && then.given.is_empty() {
        tally.opaque.insert(then.class.clone());
    }
}

/// Whether two numbers are equal within the tolerance.
pub(crate) fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= ABSOLUTE + RELATIVE * one.abs().max(other.abs())
}

fn same_number(one: &Number, other: &Number) -> bool {
    match (one, other) {
        (Number::Plain(one), Number::Plain(other)) => close(*one, *other),
        _ => one == other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn compared(then: &str, now: &str) -> Tally {
        let mut tally = Tally::default();
        compare("x", &serde_json::from_str(then).unwrap(), &serde_json::from_str(now).unwrap(), &mut tally);
        tally
    }

    fn told(tally: &Tally) -> Vec<String> {
        tally.differences.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn numbers_are_equal_within_a_tolerance_and_nan_is_nan() {
        let number = |text: &str| format!(r#"{{"k":"number","t":"float","v":{text}}}"#);
        assert!(compared(&number("1.0"), &number("1.0000001")).differences.is_empty());
        assert_eq!(told(&compared(&number("1.0"), &number("1.001"))), ["x: 1 then, 1.001 now"]);
        assert_eq!(compared(&number("\"nan\""), &number("\"nan\"")).equal, 1);
        assert_eq!(compared(&number("\"nan\""), &number("0.0")).differences.len(), 1);
    }

    #[test]
    fn another_container_is_a_form_and_an_iterator_a_difference() {
        let sequence = |kind: &str| {
            format!(r#"{{"k":"sequence","t":"{kind}","length":1,"v":[{{"k":"bool","v":true}}]}}"#)
        };
        let tally = compared(&sequence("list"), &sequence("tuple"));
        assert!(tally.differences.is_empty());
        assert_eq!(tally.equal, 1);
        assert!(tally.forms.contains("list is now tuple"));
        assert_eq!(compared(&sequence("list"), &sequence("iterator")).differences.len(), 1);
    }

    #[test]
    fn a_frame_is_its_labels_and_its_content() {
        let frame = |column: &str, value: &str, dtype: &str| {
            format!(
                r#"{{"k":"frame","columns":[{{"k":"text","v":"{column}"}}],"index":[{{"k":"text","v":"i"}}],
                "types":["{dtype}"],"v":[[{{"k":"text","v":"{value}"}}]]}}"#
            )
        };
        let tally = compared(&frame("a", "v", "object"), &frame("a", "v", "str"));
        assert_eq!((tally.equal, tally.differences.len()), (3, 0));
        assert!(tally.forms.contains("object is now str"));
        assert_eq!(compared(&frame("a", "v", "str"), &frame("a", "w", "str")).differences.len(), 1);
        assert_eq!(compared(&frame("a", "v", "str"), &frame("b", "v", "str")).differences.len(), 1);
    }

    #[test]
    fn a_default_that_changed_is_told_and_a_given_argument_is_compared() {
        let model = |criterion: &str, trees: &str, given: &str| {
            format!(
                r#"{{"k":"estimator","class":"Forest","parameters":{{"criterion":{{"k":"text","v":"{criterion}"}},
                "trees":{{"k":"number","t":"int","v":{trees}}}}},"given":{given},"fitted":{{}},"predicted":null}}"#
            )
        };
        let tally = compared(&model("mse", "10", "[]"), &model("mse", "100", "[]"));
        assert!(tally.differences.is_empty());
        assert!(tally.forms.contains("default of trees: 10 is now 100"));
        let tally =
            compared(&model("mse", "10", "[\"criterion\"]"), &model("squared", "10", "[\"criterion\"]"));
        assert_eq!(told(&tally), ["x.criterion: \"mse\" then, \"squared\" now"]);
    }

    #[test]
    fn a_fitted_model_is_what_it_found() {
        let model = |criterion: &str, coefficient: &str| {
            format!(
                r#"{{"k":"estimator","class":"Tree","parameters":{{"criterion":{{"k":"text","v":"{criterion}"}}}},
                "given":["criterion"],"fitted":{{"coef_":{{"k":"number","t":"float","v":{coefficient}}}}},
                "predicted":null}}"#
            )
        };
        let tally = compared(&model("mse", "1.0"), &model("squared", "1.0"));
        assert_eq!((tally.equal, tally.differences.len()), (1, 0));
        assert!(tally.forms.contains("criterion=\"mse\" is now \"squared\""));
        assert_eq!(compared(&model("mse", "1.0"), &model("mse", "2.0")).differences.len(), 1);
    }

    #[test]
    fn what_cannot_be_looked_into_is_not_counted() {
        let tally = compared(r#"{"k":"opaque","class":"Axes"}"#, r#"{"k":"opaque","class":"Axes"}"#);
        assert_eq!((tally.equal, tally.differences.len()), (0, 0));
        assert!(tally.opaque.contains("Axes"));
    }
}
