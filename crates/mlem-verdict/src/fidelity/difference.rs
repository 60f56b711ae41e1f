//! The smallest differences between two versions of a statement, with what stands around them.

use mlem_python::tree::{Kind, Node};

use super::knowledge::knowledge;
use super::names::{function, method};

/// Something around a difference, from the outside in.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    /// A statement that only shows something.
    Display,
    /// A call: its full name, or the method's name.
    Function(String),
    Method(String),
    /// Any other call, of one of the program's own functions.
    OwnCall,
    /// The argument of this name, or at this position.
    Argument(String),
    Position(usize),
    /// The value that is assigned to a name, or to an item of this key.
    Target(String),
    Item(String),
    /// The value of a key in a dict.
    Key(String),
    /// A parameter's default.
    Parameter(String),
    /// What stands in the brackets after a value.
    Index,
    /// What a loop runs over; whether its body trains.
    Iterable {
        trains: bool,
        variable: String,
    },
    /// The condition of `if` or `while`.
    Condition,
    /// The name that the value of this code is given.
    Result(Node),
    /// In an `except` block.
    Handler,
}

/// What differs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// One expression in place of another.
    Replaced,
    /// Something that was not there.
    Added,
    /// Something that is gone.
    Removed,
    /// The old expression is inside of the new one; what was put around it, from the inside out.
    Wrapped(Vec<Node>),
    /// The new expression was inside of the old one.
    Unwrapped(Vec<Node>),
}

/// One difference.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    pub(super) what: What,
    pub(super) old: Option<Node>,
    pub(super) new: Option<Node>,
    pub(super) around: Vec<Frame>,
}

/// Finds the differences of two expressions, or of two nodes of the same kind.
pub(super) fn expressions(old: &Node, new: &Node, around: &[Frame], found: &mut Vec<Difference>) {
    if old == new {
        return;
    }
    let mut report = |what, old: Option<&Node>, new: Option<&Node>| {
        found.push(Difference { what, old: old.cloned(), new: new.cloned(), around: around.to_vec() });
    };
    if let Some(wrappers) = wrappers(new, old) {
        return report(What::Wrapped(wrappers), Some(old), Some(new));
    }
    if let Some(wrappers) = wrappers(old, new) {
        return report(What::Unwrapped(wrappers), Some(old), Some(new));
    }
    match (old.kind, new.kind) {
        (Kind::Call, Kind::Call) => calls(old, new, around, found),
        (Kind::Attribute, Kind::Attribute) if old.text == new.text => {
            expressions(&old.children[0], &new.children[0], around, found);
        }
        (Kind::List, Kind::List) | (Kind::Tuple, Kind::Tuple) | (Kind::Set, Kind::Set) => {
            sequences(&old.children, &new.children, around, found);
        }
        (Kind::List, Kind::Tuple) | (Kind::Tuple, Kind::List) if old.children != new.children => {
            sequences(&old.children, &new.children, around, found);
        }
        (Kind::Dict, Kind::Dict) => dicts(old, new, around, found),
        (Kind::Subscript, Kind::Subscript) => {
            expressions(&old.children[0], &new.children[0], around, found);
            let inside = with(around, Frame::Index);
            expressions(&old.children[1], &new.children[1], &inside, found);
        }
        (a, b)
            if a == b
                && old.text == new.text
                && old.children.len() == new.children.len()
                && !old.children.is_empty()
                && a != Kind::Attribute =>
        {
            for (old, new) in old.children.iter().zip(&new.children) {
                expressions(old, new, around, found);
            }
        }
        _ => report(What::Replaced, Some(old), Some(new)),
    }
}

/// `around` with one more frame inside.
pub(super) fn with(around: &[Frame], frame: Frame) -> Vec<Frame> {
    let mut inside = around.to_vec();
    inside.push(frame);
    inside
}

/// What stands around `inner` in `outer`, following receivers and first arguments inwards.
fn wrappers(outer: &Node, inner: &Node) -> Option<Vec<Node>> {
    let next = match outer.kind {
        Kind::Call => match method(outer) {
            Some((_, receiver)) => receiver,
            None => outer.children.get(1).filter(|first| first.kind != Kind::Keyword)?,
        },
        Kind::Subscript | Kind::Attribute | Kind::Unary => outer.children.first()?,
        Kind::Binary => match outer.children.as_slice() {
            [left, right] if left == inner || right == inner => inner,
            [left, _] => left,
            _ => return None,
        },
        _ => return None,
    };
    // A constant is inside of many things by accident.
    if matches!(inner.kind, Kind::Number | Kind::Text | Kind::Constant) {
        return None;
    }
    if next == inner {
        return Some(vec![outer.clone()]);
    }
    let mut found = wrappers(next, inner)?;
    found.push(outer.clone());
    Some(found)
}

fn calls(old: &Node, new: &Node, around: &[Frame], found: &mut Vec<Difference>) {
    let (old_callee, new_callee) = (&old.children[0], &new.children[0]);
    let inside = with(around, call_frame(old));
    if old_callee != new_callee {
        match (method(old), method(new)) {
            (Some((one, before)), Some((other, after))) if one == other => {
                expressions(before, after, &inside, found);
            }
            _ if are_one(old_callee, new_callee) => expressions(old_callee, new_callee, around, found),
            _ => {
                return found.push(Difference {
                    what: What::Replaced,
                    old: Some(old.clone()),
                    new: Some(new.clone()),
                    around: around.to_vec(),
                });
            }
        }
    }
    let split = |call: &Node| -> (Vec<Node>, Vec<Node>) {
        call.children[1..].iter().cloned().partition(|argument| argument.kind != Kind::Keyword)
    };
    let ((old_positional, old_named), (new_positional, new_named)) = (split(old), split(new));
    for position in 0..old_positional.len().max(new_positional.len()) {
        let here = with(&inside, Frame::Position(position));
        one_of(old_positional.get(position), new_positional.get(position), &here, found);
    }
    let mut names: Vec<&str> =
        old_named.iter().chain(&new_named).map(|keyword| keyword.text.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let here = with(&inside, Frame::Argument(name.to_owned()));
        let value = |all: &[Node]| -> Vec<Node> {
            all.iter()
                .filter(|keyword| keyword.text == name)
                .map(|keyword| keyword.children[0].clone())
                .collect()
        };
        let (before, after) = (value(&old_named), value(&new_named));
        for at in 0..before.len().max(after.len()) {
            one_of(before.get(at), after.get(at), &here, found);
        }
    }
}

/// Whether two full names are the same thing.
fn are_one(old: &Node, new: &Node) -> bool {
    old.kind == Kind::Reference && new.kind == Kind::Reference && knowledge().are_one(&old.text, &new.text)
}

/// The frame that a call makes for what stands in it.
pub(super) fn call_frame(call: &Node) -> Frame {
    match (function(call), method(call)) {
        (Some(name), _) => Frame::Function(name.to_owned()),
        (None, Some((name, _))) => Frame::Method(name.to_owned()),
        (None, None) => Frame::OwnCall,
    }
}

fn one_of(old: Option<&Node>, new: Option<&Node>, around: &[Frame], found: &mut Vec<Difference>) {
    match (old, new) {
        (Some(old), Some(new)) => expressions(old, new, around, found),
        (None, None) => {}
        _ => found.push(Difference {
            what: if old.is_none() { What::Added } else { What::Removed },
            old: old.cloned(),
            new: new.cloned(),
            around: around.to_vec(),
        }),
    }
}

fn sequences(old: &[Node], new: &[Node], around: &[Frame], found: &mut Vec<Difference>) {
    if old.len() == new.len() {
        for (old, new) in old.iter().zip(new) {
            expressions(old, new, around, found);
        }
        return;
    }
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let gone = old.iter().filter(|item| !new.contains(item));
    let fresh = new.iter().filter(|item| !old.contains(item));
    let before = found.len();
    for item in gone {
        found.push(Difference {
            what: What::Removed,
            old: Some(item.clone()),
            new: None,
            around: around.to_vec(),
        });
    }
    for item in fresh {
        found.push(Difference {
            what: What::Added,
            old: None,
            new: Some(item.clone()),
            around: around.to_vec(),
        });
    }
    if found.len() == before {
        // The same items, another number of times.
        let one = |items: &[Node]| items.first().cloned();
        found.push(Difference {
            what: What::Replaced,
            old: one(old).or_else(|| one(new)),
            new: one(new).or_else(|| one(old)),
            around: around.to_vec(),
        });
    }
}

fn dicts(old: &Node, new: &Node, around: &[Frame], found: &mut Vec<Difference>) {
    let mut used = vec![false; new.children.len()];
    for pair in &old.children {
        let key = &pair.children[0];
        let here = with(around, Frame::Key(key.text.clone()));
        let at =
            new.children.iter().enumerate().position(|(at, other)| !used[at] && other.children[0] == *key);
        match at {
            Some(at) => {
                used[at] = true;
                expressions(&pair.children[1], &new.children[at].children[1], &here, found);
            }
            None => one_of(Some(&pair.children[1]), None, &here, found),
        }
    }
    for (pair, used) in new.children.iter().zip(used) {
        if !used {
            let here = with(around, Frame::Key(pair.children[0].text.clone()));
            one_of(None, Some(&pair.children[1]), &here, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlem_python::{Program, Unit};

    fn found(old: &str, new: &str) -> Vec<Difference> {
        let program = Program::new(vec![Unit::cell(old), Unit::cell(new)]);
        let (old, new) = (program.tree(0), program.tree(1));
        let mut found = Vec::new();
        expressions(&old[0].children[0], &new[0].children[0], &[], &mut found);
        found
    }

    #[test]
    fn the_smallest_difference_is_found() {
        let all = found("f(a, b=1, c=[1, 2])", "f(a, b=2, c=[1, 2])");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].around, [Frame::OwnCall, Frame::Argument("b".into())]);
        assert_eq!(
            (all[0].old.as_ref().unwrap().text.as_str(), all[0].new.as_ref().unwrap().text.as_str()),
            ("1", "2")
        );
        let all = found("x.drop('a').fillna(0)", "x.fillna(0)");
        assert!(matches!(&all[0].what, What::Unwrapped(by) if by.len() == 1));
        let all = found("f(x)", "f(x[:100])");
        assert!(matches!(&all[0].what, What::Wrapped(_)));
        let all = found("f({'a': 1})", "f({'a': 1, 'b': 2})");
        assert_eq!(all[0].what, What::Added);
        assert!(found("f(a=1)", "f(a = 1)").is_empty());
    }
}
