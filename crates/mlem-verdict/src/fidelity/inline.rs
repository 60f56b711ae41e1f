//! A function that only one of two programs has, called once, is put where it is called: code
//! that was wrapped in a function is compared as if it were not.
//!
//! A local name stays apart from a global one (`prep·df`) unless it is returned to that name, so
//! that a function which changes only its own copy is not taken for code that changes the
//! program's.

use std::collections::{HashMap, HashSet};

use mlem_python::tree::{Kind, Node};

use super::canonical::{call_arguments, is_constant, only_calls, plain_parameters};
use super::names::{mentions, rename, store_counts, stores};

/// Puts every function in place that `other` has not, that is called once, by a statement of its
/// own, and that has no way out but its end.
pub(super) fn inline(statements: &mut Vec<Node>, other: &HashSet<String>) {
    // Each round takes one definition away.
    while let Some((definition, call)) = candidate(statements, other) {
        let Some(body) = body_at_call(statements, definition, call) else { return };
        let (first, second) = (definition.min(call), definition.max(call));
        let rest = statements.split_off(second + 1);
        let between = statements.split_off(first + 1);
        statements.pop();
        let mut between = between;
        between.pop();
        if definition < call {
            statements.extend(between);
            statements.extend(body);
        } else {
            statements.extend(body);
            statements.extend(between);
        }
        statements.extend(rest);
    }
}

fn candidate(statements: &[Node], other: &HashSet<String>) -> Option<(usize, usize)> {
    let counts = store_counts(statements);
    statements.iter().enumerate().find_map(|(definition, function)| {
        let suits = function.kind == Kind::Function
            && !other.contains(&function.text)
            && counts.get(&function.text) == Some(&1)
            && function.children.iter().all(|child| child.kind != Kind::Decorator)
            && has_one_end(function);
        if !suits {
            return None;
        }
        let calls = only_calls(statements, &function.text)?;
        let [_] = calls.as_slice() else { return None };
        let call = statements.iter().position(|statement| {
            call_of(statement).is_some_and(|call| {
                call.children[0].kind == Kind::Name && call.children[0].text == function.text
            })
        })?;
        body_at_call(statements, definition, call).map(|_| (definition, call))
    })
}

/// The call that is all of a statement, but for one target.
fn call_of(statement: &Node) -> Option<&Node> {
    let value = match statement.kind {
        Kind::Expression => &statement.children[0],
        Kind::Assign if statement.children.len() == 2 => &statement.children[1],
        _ => return None,
    };
    (value.kind == Kind::Call).then_some(value)
}

/// Whether a function's body ends only at its end, and touches no scope but its own.
fn has_one_end(function: &Node) -> bool {
    let Some(body) = function.block("body") else { return false };
    let Some((last, before)) = body.split_last() else { return false };
    let leaves = |node: &Node| {
        node.any(&mut |part| matches!(part.kind, Kind::Return | Kind::Yield | Kind::Await | Kind::Scope))
    };
    !before.iter().any(leaves)
        && if last.kind == Kind::Return { !last.children.iter().any(leaves) } else { !leaves(last) }
}

/// The statements that the call at `call` stands for.
fn body_at_call(statements: &[Node], definition: usize, call: usize) -> Option<Vec<Node>> {
    let function = &statements[definition];
    let statement = &statements[call];
    let parameters = plain_parameters(function)?;
    let (positional, mut named) = call_arguments(call_of(statement)?)?;
    let mut body = function.block("body")?.to_vec();
    let returned = match body.last() {
        Some(last) if last.kind == Kind::Return => {
            body.pop().and_then(|last| last.children.into_iter().next())
        }
        _ => None,
    };
    let mut bound = HashSet::new();
    for inner in &body {
        stores(inner, &mut |name| {
            bound.insert(name.to_owned());
        });
    }
    let own = |name: &str| format!("{}·{name}", function.text);
    let mut local: HashMap<String, String> = bound.iter().map(|name| (name.clone(), own(name))).collect();
    let mut given: HashMap<String, Node> = HashMap::new();
    let mut before = Vec::new();
    if positional.len() > parameters.len() {
        return None;
    }
    for (position, parameter) in parameters.iter().enumerate() {
        let name = parameter.text.as_str();
        let passed = positional.get(position).copied().or_else(|| named.remove(name));
        let value = passed.or(parameter.children.first())?.clone();
        let is_plain = matches!(value.kind, Kind::Name | Kind::Reference) || is_constant(&value);
        if is_plain && !bound.contains(name) {
            given.insert(name.to_owned(), value);
        } else {
            local.insert(name.to_owned(), own(name));
            let target =
                Node { kind: Kind::Name, text: own(name), children: Vec::new(), ..(*parameter).clone() };
            let assign = Node {
                kind: Kind::Assign,
                text: String::new(),
                children: vec![target, value],
                ..statement.clone()
            };
            before.push(assign);
        }
    }
    if !named.is_empty() {
        return None;
    }
    let mut returned: Vec<Node> = returned.into_iter().collect();
    for inner in body.iter_mut().chain(&mut returned) {
        rename(inner, &local);
        give(inner, &given);
    }
    before.append(&mut body);
    let mut result = before;
    match (statement.kind, returned.pop()) {
        (Kind::Expression, Some(value)) if value.kind != Kind::Name => {
            result.push(Node { children: vec![value], ..statement.clone() });
        }
        (Kind::Expression, _) => {}
        (_, value) => {
            let target = statement.children[0].clone();
            let none = Node {
                kind: Kind::Constant,
                text: "None".to_owned(),
                children: Vec::new(),
                ..target.clone()
            };
            let value = value.unwrap_or(none);
            let pairs = match (target.kind, value.kind) {
                (Kind::Tuple, Kind::Tuple) if target.children.len() == value.children.len() => {
                    target.children.into_iter().zip(value.children).collect()
                }
                _ => vec![(target, value)],
            };
            for (target, value) in pairs {
                if !joined(&mut result, &target, &value, &function.text) {
                    result.push(Node { children: vec![target, value], ..statement.clone() });
                }
            }
        }
    }
    Some(result)
}

/// Puts what was passed in place of parameters.
fn give(node: &mut Node, given: &HashMap<String, Node>) {
    if node.kind == Kind::Name
        && let Some(value) = given.get(&node.text)
    {
        *node = value.clone();
        return;
    }
    for child in &mut node.children {
        give(child, given);
    }
}

/// Makes a local that is returned to `target` that name, where the body does not mention it but as
/// the local's first value.
fn joined(body: &mut Vec<Node>, target: &Node, value: &Node, function: &str) -> bool {
    let is_local = value.kind == Kind::Name && value.text.starts_with(&format!("{function}·"));
    if !is_local || target.kind != Kind::Name {
        return false;
    }
    let is_first = |statement: &Node| {
        statement.kind == Kind::Assign
            && statement.children.len() == 2
            && statement.children[0].kind == Kind::Name
            && statement.children[0].text == value.text
            && statement.children[1].kind == Kind::Name
            && statement.children[1].text == target.text
    };
    let first = body.iter().position(is_first);
    let elsewhere = mentions(body, &target.text) - usize::from(first.is_some());
    let is_bound = store_counts(body).contains_key(&target.text);
    if elsewhere > 0 || is_bound {
        return false;
    }
    if let Some(first) = first {
        body.remove(first);
    }
    let names = HashMap::from([(value.text.clone(), target.text.clone())]);
    for statement in body {
        rename(statement, &names);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlem_python::{Program, Unit};

    fn inlined(source: &str) -> Vec<Node> {
        let mut tree = Program::new(vec![Unit::cell(source)]).tree(0);
        inline(&mut tree, &HashSet::new());
        tree
    }

    fn plain(source: &str) -> Vec<Node> {
        Program::new(vec![Unit::cell(source)]).tree(0)
    }

    #[test]
    fn wrapped_code_is_the_code() {
        for (wrapped, code) in [
            ("def f(a):\n    return g(a)\nx = f(y)", "x = g(y)"),
            ("def prep(df):\n    df = df.dropna()\n    return df\ndf = prep(df)", "df = df.dropna()"),
            ("def s(X, y):\n    a, b = split(X, y)\n    return a, b\np, q = s(X, y)", "p, q = split(X, y)"),
            ("def t(m, n=3):\n    m.fit(n)\nt(model)", "model.fit(3)"),
        ] {
            assert_eq!(inlined(wrapped), plain(code), "{wrapped}");
        }
    }

    #[test]
    fn a_local_is_not_the_global() {
        let wrapped = "def prep(df):\n    df = df.dropna()\nprep(df)";
        assert_ne!(inlined(wrapped), plain("df = df.dropna()"));
        let kept = "def f(a):\n    if a:\n        return 1\n    return 2\nx = f(3)";
        assert_eq!(inlined(kept), plain(kept), "two ways out");
        let twice = "def f(a):\n    g(a)\nf(1)\nf(2)";
        assert_eq!(inlined(twice), plain(twice));
    }
}
