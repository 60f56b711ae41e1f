//! One form for programs that say the same in different words: constants are put where they are
//! used, and parameters that always have one value are that value.

use std::collections::{HashMap, HashSet};

use mlem_python::tree::{Kind, Node};

use super::effects::{Effects, function_names};
use super::knowledge::knowledge;
use super::names::{base_name, function, mentions, method, store_counts, stores, targets};

/// Methods that change a list, dict or set in place (Python documentation: sequence and mapping
/// types, set).
const MUTATORS: &[&str] = &[
    "append",
    "extend",
    "insert",
    "remove",
    "pop",
    "popitem",
    "update",
    "clear",
    "sort",
    "reverse",
    "setdefault",
    "add",
    "discard",
    "__setitem__",
    "__delitem__",
];

/// A constant larger than this stays where it is.
const LARGEST: usize = 200;
/// Constants that lead to constants: how often they are followed.
const ROUNDS: usize = 4;

/// Brings a program's statements to the form in which they are compared. `imported` are the names
/// that its imports bind.
pub(super) fn settle(statements: &mut Vec<Node>, imported: &HashSet<String>) {
    for statement in statements.iter_mut() {
        fold(statement);
    }
    for _ in 0..ROUNDS {
        let changed = settle_parameters(statements, imported) | place_constants(statements, imported);
        drop_dead(statements);
        for statement in statements.iter_mut() {
            fold(statement);
        }
        if !changed {
            break;
        }
    }
}

/// What a condition comes to, where it is certain. A notebook is always `__main__`.
fn truth(test: &Node) -> Option<bool> {
    match test.kind {
        Kind::Constant => Some(test.text == "True").filter(|_| test.text != "..."),
        Kind::Number => test.text.parse::<f64>().ok().map(|value| value != 0.0),
        Kind::Text => Some(!test.text.is_empty()),
        Kind::Unary if test.text == "not" => truth(&test.children[0]).map(|value| !value),
        Kind::Compare if test.text == "==" => {
            let names_main = |one: &Node, other: &Node| {
                matches!(one.kind, Kind::Name | Kind::Reference)
                    && one.text == "__name__"
                    && other.kind == Kind::Text
                    && other.text == "__main__"
            };
            let [left, right] = test.children.as_slice() else { return None };
            (names_main(left, right) || names_main(right, left)).then_some(true)
        }
        _ => None,
    }
}

/// Takes out branches that never run, and puts those that always run in place.
fn drop_dead(statements: &mut Vec<Node>) {
    let mut at = 0;
    while at < statements.len() {
        let node = &mut statements[at];
        for child in node.children.iter_mut() {
            drop_dead_below(child);
        }
        if let Some(read) = read_and_closed(node) {
            *node = read;
        }
        let node = &statements[at];
        let live = match node.kind {
            Kind::If => truth(&node.children[0]).map(|holds| if holds { "body" } else { "else" }),
            Kind::While => truth(&node.children[0]).filter(|holds| !holds).map(|_| "else"),
            _ => None,
        };
        match live {
            Some(block) => {
                let kept = node.block(block).unwrap_or_default().to_vec();
                statements.splice(at..=at, kept);
            }
            None => at += 1,
        }
    }
}

/// `with open(path) as f: x = f.read()` as `x = open(path).read()`: closing changes no value.
fn read_and_closed(node: &Node) -> Option<Node> {
    let [item, body] = node.children.as_slice() else { return None };
    let (Kind::With, [manager, target], [statement]) =
        (node.kind, item.children.as_slice(), body.children.as_slice())
    else {
        return None;
    };
    let is_simple = matches!(statement.kind, Kind::Assign | Kind::Expression);
    if !is_simple || target.kind != Kind::Name || function(manager) != Some("open") {
        return None;
    }
    if mentions(std::slice::from_ref(statement), &target.text) != 1 {
        return None;
    }
    let mut read = statement.clone();
    substitute(&mut read, &HashMap::from([(target.text.clone(), manager.clone())]), &HashMap::new());
    Some(read)
}

/// Puts the value of a name that only this program has, and that is used once, where it is used: a
/// value that was given a name on its way. Nothing in between may touch what the value is made of.
pub(super) fn pass_on(statements: &mut Vec<Node>, other: &HashSet<String>) {
    let functions = function_names(statements);
    let mut at = 0;
    while at < statements.len() {
        match use_of(statements, at, other, &functions) {
            Some(user) => {
                let definition = statements.remove(at);
                let mut parts = definition.children.into_iter();
                if let (Some(name), Some(value)) = (parts.next(), parts.next()) {
                    substitute(
                        &mut statements[user - 1],
                        &HashMap::from([(name.text, value)]),
                        &HashMap::new(),
                    );
                }
            }
            None => at += 1,
        }
    }
}

/// The only statement that uses what the statement at `at` gives a name.
fn use_of(
    statements: &[Node],
    at: usize,
    other: &HashSet<String>,
    functions: &HashMap<String, HashSet<String>>,
) -> Option<usize> {
    let definition = &statements[at];
    let [name, _] = definition.children.as_slice() else { return None };
    if definition.kind != Kind::Assign || name.kind != Kind::Name || other.contains(&name.text) {
        return None;
    }
    // Once where it is bound and once where it is used, nowhere else.
    if mentions(statements, &name.text) != 2 || store_counts(statements).get(&name.text) != Some(&1) {
        return None;
    }
    let user =
        (at + 1..statements.len()).find(|next| mentions(&statements[*next..=*next], &name.text) == 1)?;
    let is_simple = matches!(statements[user].kind, Kind::Expression | Kind::Assign | Kind::AugmentedAssign)
        && !statements[user].any(&mut |node| matches!(node.kind, Kind::Lambda | Kind::Comprehension));
    let own = Effects::of(definition, functions);
    let apart = statements[at + 1..user]
        .iter()
        .all(|between| own.conflict(&Effects::of(between, functions)).is_none());
    (is_simple && apart).then_some(user)
}

fn drop_dead_below(node: &mut Node) {
    match node.kind {
        Kind::Block => {
            let place = node.clone();
            drop_dead(&mut node.children);
            if node.children.is_empty() {
                node.children.push(Node {
                    kind: Kind::Pass,
                    text: String::new(),
                    children: Vec::new(),
                    ..place
                });
            }
        }
        _ => node.children.iter_mut().for_each(drop_dead_below),
    }
}

fn text_node(like: &Node, text: String) -> Node {
    Node { kind: Kind::Text, text, children: Vec::new(), unit: like.unit, range: like.range }
}

/// Computes what is certain from the source alone, from the leaves up.
pub(super) fn fold(node: &mut Node) {
    for child in &mut node.children {
        fold(child);
    }
    if node.kind == Kind::Call {
        spread(node);
    }
    if let Some(folded) = folded(node) {
        *node = folded;
    }
}

fn folded(node: &Node) -> Option<Node> {
    let part = |at: usize| node.children.get(at);
    let all_text = |parts: &[Node]| -> Option<String> {
        (!parts.is_empty() && parts.iter().all(|part| part.kind == Kind::Text))
            .then(|| parts.iter().map(|part| part.text.as_str()).collect())
    };
    match node.kind {
        Kind::Format => Some(text_node(node, all_text(&node.children)?)),
        Kind::Binary => {
            let (left, right) = (part(0)?, part(1)?);
            match (left.kind, right.kind, node.text.as_str()) {
                (Kind::Text, Kind::Text, "+") => {
                    Some(text_node(node, format!("{}{}", left.text, right.text)))
                }
                (Kind::Number, Kind::Number, operator) => {
                    let (a, b): (i64, i64) = (left.text.parse().ok()?, right.text.parse().ok()?);
                    let value = match operator {
                        "+" => a.checked_add(b)?,
                        "-" => a.checked_sub(b)?,
                        "*" => a.checked_mul(b)?,
                        "**" => a.checked_pow(u32::try_from(b).ok()?)?,
                        _ => return None,
                    };
                    Some(Node {
                        kind: Kind::Number,
                        text: value.to_string(),
                        children: Vec::new(),
                        ..node.clone()
                    })
                }
                // pathlib.Path('a') / 'b'
                (Kind::Call, Kind::Text, "/") if function(left) == Some("pathlib.Path") => {
                    let start = left.children.get(1).filter(|start| start.kind == Kind::Text)?;
                    let mut call = left.clone();
                    call.children[1] = text_node(start, join_path(&[&start.text, &right.text]));
                    Some(call)
                }
                _ => None,
            }
        }
        Kind::Call => match function(node).unwrap_or_default() {
            "os.path.join" => {
                all_text(&node.children[1..])?;
                let parts: Vec<&str> = node.children[1..].iter().map(|part| part.text.as_str()).collect();
                Some(text_node(node, join_path(&parts)))
            }
            "dict"
                if node.children[1..]
                    .iter()
                    .all(|child| child.kind == Kind::Keyword && !child.text.is_empty()) =>
            {
                let pair = |keyword: &Node| {
                    let key = text_node(keyword, keyword.text.clone());
                    let children = std::iter::once(key).chain(keyword.children.iter().cloned()).collect();
                    Node { kind: Kind::Pair, text: String::new(), children, ..keyword.clone() }
                };
                let children = node.children[1..].iter().map(pair).collect();
                Some(Node { kind: Kind::Dict, children, ..node.clone() })
            }
            "str" => node
                .children
                .get(1)
                .filter(|only| only.kind == Kind::Text && node.children.len() == 2)
                .cloned(),
            _ => None,
        },
        Kind::Subscript => {
            let (value, key) = (part(0)?, part(1)?);
            item(value, key).cloned()
        }
        _ => None,
    }
    .or_else(|| {
        let (name, receiver) = method(node)?;
        if node.children.len() == 1
            && let Some(attribute) = knowledge().attribute_of(name)
        {
            let children = vec![receiver.clone()];
            return Some(Node {
                kind: Kind::Attribute,
                text: attribute.to_owned(),
                children,
                ..node.clone()
            });
        }
        (name == "get").then(|| item(receiver, node.children.get(1)?).cloned()).flatten()
    })
}

/// The value of a literal key in a literal dict, where every key is one.
fn item<'a>(dict: &'a Node, key: &Node) -> Option<&'a Node> {
    let literal = |node: &Node| matches!(node.kind, Kind::Text | Kind::Number);
    if dict.kind != Kind::Dict
        || !literal(key)
        || !dict.children.iter().all(|pair| literal(&pair.children[0]))
    {
        return None;
    }
    let pair = dict.children.iter().rev().find(|pair| pair.children[0] == *key)?;
    pair.children.get(1)
}

/// Puts `**{'a': 1}` into a call as `a=1`.
fn spread(call: &mut Node) {
    let spreads = |child: &Node| {
        child.kind == Kind::Keyword
            && child.text.is_empty()
            && child.children.first().is_some_and(|dict| {
                dict.kind == Kind::Dict
                    && dict.children.iter().all(|pair| pair.children[0].kind == Kind::Text)
            })
    };
    if !call.children.iter().any(spreads) {
        return;
    }
    let (dicts, mut kept): (Vec<Node>, Vec<Node>) =
        std::mem::take(&mut call.children).into_iter().partition(spreads);
    for pair in dicts.into_iter().flat_map(|keyword| keyword.children).flat_map(|dict| dict.children) {
        let mut parts = pair.children.into_iter();
        let (Some(key), Some(value)) = (parts.next(), parts.next()) else { continue };
        kept.push(Node {
            kind: Kind::Keyword,
            text: key.text,
            children: vec![value],
            unit: key.unit,
            range: pair.range,
        });
    }
    let first = kept.iter().position(|child| child.kind == Kind::Keyword).unwrap_or(kept.len());
    kept[first..].sort_by(|a, b| a.text.cmp(&b.text));
    call.children = kept;
}

fn join_path(parts: &[&str]) -> String {
    let mut path = String::new();
    for part in parts {
        if part.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(part);
    }
    path
}

/// Whether an expression has the same value everywhere.
pub(super) fn is_constant(node: &Node) -> bool {
    match node.kind {
        Kind::Number | Kind::Text | Kind::Bytes | Kind::Constant | Kind::Absent => true,
        Kind::Tuple | Kind::List | Kind::Set | Kind::Dict | Kind::Pair | Kind::Unary => {
            node.children.iter().all(is_constant)
        }
        _ => false,
    }
}

/// Puts the value of every name that is bound once, to a constant, where the name is used, and
/// takes the definition out. Says whether it changed anything.
fn place_constants(statements: &mut Vec<Node>, imported: &HashSet<String>) -> bool {
    let counts = store_counts(statements);
    let changed = changed_in_place(statements);
    let once =
        |name: &str| counts.get(name) == Some(&1) && !imported.contains(name) && !changed.contains(name);
    let mut values: HashMap<String, Node> = HashMap::new();
    let mut members: HashMap<String, HashMap<String, Node>> = HashMap::new();
    let mut collect = |statement: &Node| match statement.kind {
        Kind::Assign => {
            let Some((value, names)) = statement.children.split_last() else { return };
            let [name] = names else { return };
            if name.kind != Kind::Name || !once(&name.text) || value.size() > LARGEST {
                return;
            }
            if is_constant(value) {
                values.insert(name.text.clone(), value.clone());
            } else if matches!(function(value), Some("argparse.Namespace" | "types.SimpleNamespace"))
                && value.children[1..]
                    .iter()
                    .all(|child| child.kind == Kind::Keyword && child.children.iter().all(is_constant))
            {
                let fields =
                    value.children[1..].iter().map(|child| (child.text.clone(), child.children[0].clone()));
                members.insert(name.text.clone(), fields.collect());
            }
        }
        Kind::Class if once(&statement.text) => {
            if let Some(fields) = constant_fields(statement) {
                members.insert(statement.text.clone(), fields);
            }
        }
        _ => {}
    };
    for statement in statements.iter() {
        collect(statement);
        // A function's own constants, in its straight line.
        if statement.kind == Kind::Function {
            statement.block("body").unwrap_or_default().iter().for_each(&mut collect);
        }
    }
    // A class that is also called or passed on is more than a list of settings.
    members.retain(|name, fields| statements.iter().all(|statement| all_fields(statement, name, fields)));
    if values.is_empty() && members.is_empty() {
        return false;
    }
    let escapes: String = statements
        .iter()
        .flat_map(|statement| {
            let mut texts = Vec::new();
            statement.walk(&mut |node| {
                if matches!(node.kind, Kind::Escape | Kind::Broken) {
                    texts.push(node.text.clone());
                }
            });
            texts
        })
        .collect();
    let is_definition = |statement: &Node| {
        let name = match statement.kind {
            Kind::Assign if statement.children.len() == 2 => &statement.children[0].text,
            Kind::Class => &statement.text,
            _ => return false,
        };
        (values.contains_key(name) || members.contains_key(name)) && !escapes.contains(name.as_str())
    };
    statements.retain(|statement| !is_definition(statement));
    for statement in statements.iter_mut() {
        if statement.kind == Kind::Function
            && let Some(block) = statement.children.last_mut()
            && block.children.iter().any(|inner| !is_definition(inner))
        {
            block.children.retain(|inner| !is_definition(inner));
        }
        substitute(statement, &values, &members);
    }
    true
}

/// The settings of a class whose body is constants alone.
fn constant_fields(class: &Node) -> Option<HashMap<String, Node>> {
    let mut fields = HashMap::new();
    for statement in class.block("body")? {
        let [name, value] = statement.children.as_slice() else { return None };
        if statement.kind != Kind::Assign || name.kind != Kind::Name || !is_constant(value) {
            return None;
        }
        fields.insert(name.text.clone(), value.clone());
    }
    let bare = class.children.len() == 1
        || class.children[..class.children.len() - 1]
            .iter()
            .all(|base| base.kind == Kind::Reference && base.text == "object");
    (bare && !fields.is_empty()).then_some(fields)
}

/// Whether every mention of `name` is `name.field` of a known field.
fn all_fields(node: &Node, name: &str, fields: &HashMap<String, Node>) -> bool {
    match node.kind {
        Kind::Attribute if node.children[0].kind == Kind::Name && node.children[0].text == name => {
            fields.contains_key(&node.text)
        }
        Kind::Name if node.text == name => false,
        // Its definition.
        Kind::Assign if node.children.len() == 2 && node.children[0].text == name => true,
        _ => node.children.iter().all(|child| all_fields(child, name, fields)),
    }
}

fn substitute(
    node: &mut Node,
    values: &HashMap<String, Node>,
    members: &HashMap<String, HashMap<String, Node>>,
) {
    match node.kind {
        Kind::Name => {
            if let Some(value) = values.get(&node.text) {
                *node = value.clone();
            }
            return;
        }
        Kind::Attribute if node.children[0].kind == Kind::Name => {
            if let Some(value) = members.get(&node.children[0].text).and_then(|fields| fields.get(&node.text))
            {
                *node = value.clone();
                return;
            }
        }
        // What is bound once is bound by its definition, which stays as it is where it stays at all.
        Kind::Assign if node.children.len() == 2 && node.children[0].kind == Kind::Name => {
            substitute(&mut node.children[1], values, members);
            return;
        }
        _ => {}
    }
    for child in &mut node.children {
        substitute(child, values, members);
    }
}

/// Names of lists, dicts and objects that are changed after they were made.
fn changed_in_place(statements: &[Node]) -> HashSet<String> {
    let mut changed = HashSet::new();
    for statement in statements {
        statement.walk(&mut |node| {
            let mut add = |target: &Node| {
                if target.kind != Kind::Name
                    && let Some(name) = base_name(target)
                {
                    changed.insert(name.to_owned());
                }
            };
            targets(node).iter().for_each(&mut add);
            if let Some((name, receiver)) = method(node)
                && MUTATORS.contains(&name)
                && let Some(base) = base_name(receiver)
            {
                changed.insert(base.to_owned());
            }
            if function(node) == Some("setattr")
                && let Some(base) = node.children.get(1).and_then(base_name)
            {
                changed.insert(base.to_owned());
            }
        });
    }
    changed
}

/// The arguments of a call, by position and by name; `None` where stars hide them.
pub(super) fn call_arguments(call: &Node) -> Option<(Vec<&Node>, HashMap<&str, &Node>)> {
    let mut positional = Vec::new();
    let mut named = HashMap::new();
    for argument in &call.children[1..] {
        match argument.kind {
            Kind::Starred => return None,
            Kind::Keyword if argument.text.is_empty() => return None,
            Kind::Keyword => {
                named.insert(argument.text.as_str(), &argument.children[0]);
            }
            _ => positional.push(argument),
        }
    }
    Some((positional, named))
}

/// The parameters of a function, without its stars; `None` if it has any.
pub(super) fn plain_parameters(function: &Node) -> Option<Vec<&Node>> {
    let parameters: Vec<&Node> =
        function.children.iter().filter(|child| child.kind == Kind::Parameter).collect();
    parameters.iter().all(|parameter| !parameter.text.starts_with('*')).then_some(parameters)
}

/// Calls of a name, if it is never mentioned otherwise.
pub(super) fn only_calls<'a>(statements: &'a [Node], name: &str) -> Option<Vec<&'a Node>> {
    let (mut calls, mut mentions) = (Vec::new(), 0);
    for statement in statements {
        statement.walk(&mut |node| {
            if node.kind == Kind::Name && node.text == name {
                mentions += 1;
            }
            if node.kind == Kind::Call && node.children[0].kind == Kind::Name && node.children[0].text == name
            {
                calls.push(node);
            }
        });
    }
    (mentions == calls.len()).then_some(calls)
}

/// A parameter that has the same constant value in every call is that value. Says whether it
/// changed anything.
fn settle_parameters(statements: &mut [Node], imported: &HashSet<String>) -> bool {
    let counts = store_counts(statements);
    let functions: Vec<String> = statements
        .iter()
        .filter(|node| node.kind == Kind::Function && counts.get(&node.text) == Some(&1))
        .map(|node| node.text.clone())
        .filter(|name| !imported.contains(name))
        .collect();
    let mut changed = false;
    for name in functions {
        let Some(at) = statements.iter().position(|node| node.kind == Kind::Function && node.text == name)
        else {
            continue;
        };
        let settled = settled_parameters(statements, &statements[at]);
        if settled.is_empty() {
            continue;
        }
        changed = true;
        let order: Vec<String> = plain_parameters(&statements[at])
            .unwrap_or_default()
            .iter()
            .map(|parameter| parameter.text.clone())
            .collect();
        let function = &mut statements[at];
        function
            .children
            .retain(|child| !(child.kind == Kind::Parameter && settled.contains_key(&child.text)));
        if let Some(block) = function.children.last_mut() {
            substitute(block, &settled, &HashMap::new());
        }
        for statement in statements.iter_mut() {
            drop_arguments(statement, &name, &order, &settled);
        }
    }
    changed
}

fn settled_parameters(statements: &[Node], function: &Node) -> HashMap<String, Node> {
    let mut settled = HashMap::new();
    let (Some(parameters), Some(calls)) =
        (plain_parameters(function), only_calls(statements, &function.text))
    else {
        return settled;
    };
    if calls.is_empty() {
        return settled;
    }
    let Some(arguments) = calls.iter().map(|call| call_arguments(call)).collect::<Option<Vec<_>>>() else {
        return settled;
    };
    let mut bound = HashSet::new();
    for child in function.children.iter().filter(|child| child.kind == Kind::Block) {
        stores(child, &mut |name| {
            bound.insert(name);
        });
    }
    for (position, parameter) in parameters.iter().enumerate() {
        let passed = |(positional, named): &(Vec<&Node>, HashMap<&str, &Node>)| -> Option<Node> {
            let own =
                positional.get(position).copied().or_else(|| named.get(parameter.text.as_str()).copied());
            own.or_else(|| parameter.children.first()).cloned()
        };
        let Some(values) = arguments.iter().map(passed).collect::<Option<Vec<Node>>>() else { continue };
        let Some(first) = values.first() else { continue };
        if !bound.contains(parameter.text.as_str())
            && is_constant(first)
            && values.iter().all(|value| value == first)
        {
            settled.insert(parameter.text.clone(), first.clone());
        }
    }
    settled
}

fn drop_arguments(node: &mut Node, name: &str, order: &[String], settled: &HashMap<String, Node>) {
    for child in &mut node.children {
        drop_arguments(child, name, order, settled);
    }
    if node.kind == Kind::Call && node.children[0].kind == Kind::Name && node.children[0].text == name {
        let mut position = 0;
        node.children.retain(|child| {
            if child.kind == Kind::Keyword {
                return !settled.contains_key(&child.text);
            }
            // The first child is what is called.
            position += 1;
            position < 2 || order.get(position - 2).is_none_or(|parameter| !settled.contains_key(parameter))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlem_python::{Program, Unit};

    fn settled(source: &str) -> Vec<Node> {
        let mut tree = Program::new(vec![Unit::cell(source)]).tree(0);
        tree.retain(|node| node.kind != Kind::Import);
        settle(&mut tree, &HashSet::new());
        tree
    }

    #[test]
    fn constants_are_put_where_they_are_used() {
        for (one, other) in [
            ("E = 10\nfit(x, epochs=E)", "fit(x, epochs=10)"),
            ("A = 2\nB = A * 5\nfit(B)", "fit(10)"),
            ("cfg = {'lr': 0.1}\nfit(lr=cfg['lr'])", "fit(lr=0.1)"),
            ("cfg = dict(lr=0.1, b=2)\nfit(x, **cfg)", "fit(x, b=2, lr=1e-1)"),
            ("class CFG:\n    lr = 0.1\nfit(CFG.lr)", "fit(0.1)"),
            ("import os\nD = '../input'\nread(os.path.join(D, 'a.csv'))", "read('../input/a.csv')"),
            ("T = True\nif T:\n    fit()\nelse:\n    b()", "fit()"),
            ("if __name__ == '__main__':\n    fit()", "fit()"),
            ("def f():\n    if 0:\n        fit()\n    g()", "def f():\n    g()"),
            ("cfg = {'a': 1}\nf(cfg.get('a'))", "f(1)"),
            ("y = x.to_numpy()", "y = x.values"),
            ("with open('a') as f:\n    t = f.read()", "t = open('a').read()"),
            ("D = 'in/'\nread(f'{D}a.csv')", "read('in/a.csv')"),
            ("def f(m, n=3):\n    m.fit(n)\nf(x)", "def f(m):\n    m.fit(3)\nf(x)"),
            ("def f(m, n=3):\n    m.fit(n)\nf(x, 4)", "def f(m):\n    m.fit(4)\nf(x)"),
        ] {
            assert_eq!(settled(one), settled(other), "{one}");
        }
    }

    #[test]
    fn a_value_is_passed_on_where_nothing_comes_between() {
        let passed = |source: &str| {
            let mut tree = Program::new(vec![Unit::cell(source)]).tree(0);
            pass_on(&mut tree, &HashSet::new());
            tree
        };
        let plain = |source: &str| Program::new(vec![Unit::cell(source)]).tree(0);
        assert_eq!(passed("a = x.mean()\nb = y\nprint(a)"), plain("b = y\nprint(x.mean())"));
        for kept in
            ["a = x.mean()\nx['c'] = 1\nprint(a)", "a = f(x)\nprint(a, a)", "a = f(x)\nfor i in y:\n    g(a)"]
        {
            assert_eq!(passed(kept), plain(kept), "{kept}");
        }
    }

    #[test]
    fn what_may_change_is_no_constant() {
        for source in [
            "E = 10\nE = 2\nfit(E)",
            "E = 10\nE += 2\nfit(E)",
            "c = [1]\nc.append(2)\nfit(c)",
            "c = {'a': 1}\nc['a'] = 2\nfit(c['a'])",
            "class C:\n    a = 1\nC.a = 2\nfit(C.a)",
            "for E in x:\n    fit(E)",
            "def f(E):\n    fit(E)\nE = 2\nf(3)\nf(E)",
        ] {
            let before = {
                let mut tree = Program::new(vec![Unit::cell(source)]).tree(0);
                tree.iter_mut().for_each(fold);
                tree
            };
            assert_eq!(settled(source), before, "{source}");
        }
    }
}
