//! Where a tree binds and mentions names.

use std::collections::{HashMap, HashSet};

use mlem_python::tree::{Kind, Node};

/// The names that an assignment target binds; an attribute or an item binds none.
pub(super) fn target_names<'a>(target: &'a Node, found: &mut dyn FnMut(&'a str)) {
    match target.kind {
        Kind::Name => found(&target.text),
        Kind::Tuple | Kind::List | Kind::Starred => {
            for child in &target.children {
                target_names(child, found);
            }
        }
        _ => {}
    }
}

/// The targets of a statement or clause that binds or changes something.
pub(super) fn targets(node: &Node) -> &[Node] {
    match node.kind {
        Kind::Assign => node.children.split_last().map_or(&[], |(_, targets)| targets),
        Kind::AugmentedAssign | Kind::For | Kind::Generator | Kind::Walrus => &node.children[..1],
        Kind::WithItem => &node.children[1..],
        Kind::Delete => &node.children,
        _ => &[],
    }
}

/// Calls `found` for every binding of a name in the tree, inner scopes included.
pub(super) fn stores<'a>(node: &'a Node, found: &mut dyn FnMut(&'a str)) {
    for target in targets(node) {
        target_names(target, found);
    }
    match node.kind {
        Kind::Function | Kind::Class => found(&node.text),
        Kind::Handler if !node.text.is_empty() => found(&node.text),
        Kind::Parameter => found(node.text.trim_start_matches('*')),
        Kind::Scope => node.text.split(", ").for_each(&mut *found),
        _ => {}
    }
    for child in &node.children {
        stores(child, found);
    }
}

/// How often each name is bound in these statements.
pub(super) fn store_counts(statements: &[Node]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for statement in statements {
        stores(statement, &mut |name| *counts.entry(name.to_owned()).or_insert(0) += 1);
    }
    counts
}

/// Every name that these statements bind or mention.
pub(super) fn all_names(statements: &[Node]) -> HashSet<String> {
    let mut names: HashSet<String> = store_counts(statements).into_keys().collect();
    for statement in statements {
        statement.walk(&mut |node| {
            if node.kind == Kind::Name {
                names.insert(node.text.clone());
            }
        });
    }
    names
}

/// How often a name is mentioned, its bindings by assignment included.
pub(super) fn mentions(statements: &[Node], name: &str) -> usize {
    let mut count = 0;
    for statement in statements {
        statement.walk(&mut |node| count += usize::from(node.kind == Kind::Name && node.text == name));
    }
    count
}

/// Gives names other names, wherever they are bound or mentioned.
pub(super) fn rename(node: &mut Node, names: &HashMap<String, String>) {
    match node.kind {
        Kind::Name | Kind::Function | Kind::Class | Kind::Handler => {
            if let Some(new) = names.get(&node.text) {
                node.text.clone_from(new);
            }
        }
        Kind::Parameter => {
            let bare = node.text.trim_start_matches('*').to_owned();
            if let Some(new) = names.get(&bare) {
                node.text = node.text.replace(&bare, new);
            }
        }
        Kind::Scope => {
            let renamed: Vec<&str> =
                node.text.split(", ").map(|name| names.get(name).map_or(name, String::as_str)).collect();
            node.text = renamed.join(", ");
        }
        _ => {}
    }
    for child in &mut node.children {
        rename(child, names);
    }
}

/// The name at the bottom of `a.b[c].d`.
pub(super) fn base_name(node: &Node) -> Option<&str> {
    match node.kind {
        Kind::Name => Some(&node.text),
        Kind::Attribute | Kind::Subscript | Kind::Starred => base_name(node.children.first()?),
        _ => None,
    }
}

/// The method that a call calls, with what it is called on.
pub(super) fn method(call: &Node) -> Option<(&str, &Node)> {
    let callee =
        call.children.first().filter(|callee| call.kind == Kind::Call && callee.kind == Kind::Attribute)?;
    Some((&callee.text, callee.children.first()?))
}

/// The full name of what a call calls.
pub(super) fn function(call: &Node) -> Option<&str> {
    let callee = call.children.first().filter(|_| call.kind == Kind::Call)?;
    (callee.kind == Kind::Reference).then_some(callee.text.as_str())
}
