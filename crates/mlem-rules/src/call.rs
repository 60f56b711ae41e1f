//! Rules about the arguments of a call: renamed, dropped, no longer positional, other values.

use std::collections::BTreeMap;

use mlem_python::ast::comparable::ComparableExpr;
use mlem_python::ast::{Expr, ExprCall, ExprDict, Keyword, Stmt};
use mlem_python::{Edit, Ranged, TextRange, TextSize, Unit};

use crate::schema::RawArguments;

/// What is called.
#[derive(Debug, Clone)]
pub(crate) enum Callable {
    /// A function or class, by qualified name.
    Qualified(String),
    /// A method of a value of some type.
    Method {
        /// The type of the receiver, as in a `where` condition.
        receiver: String,
        name: String,
    },
}

impl Callable {
    pub(crate) fn parse(text: &str) -> Result<Callable, String> {
        let (method, name) = match text.strip_prefix("type:") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let is_word = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '*')
        };
        if !name.split('.').all(is_word) {
            return Err(format!("`{text}` is not a dotted name"));
        }
        if !method {
            return Ok(Callable::Qualified(name.to_string()));
        }
        let Some((receiver, name)) = name.rsplit_once('.') else {
            return Err(format!("`{text}` names no method"));
        };
        Ok(Callable::Method { receiver: receiver.to_string(), name: name.to_string() })
    }

    pub(crate) fn last_segment(&self) -> &str {
        match self {
            Callable::Qualified(name) => name.rsplit('.').next().unwrap_or(name),
            Callable::Method { name, .. } => name,
        }
    }
}

/// What happens to the arguments.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The new qualified name of what is called; of a method its new name alone.
    pub(crate) callee: Option<String>,
    rename: BTreeMap<String, String>,
    drop: Vec<String>,
    positional: Vec<String>,
    keep: usize,
    /// The first parameter, when it is itself a dict of arguments.
    within: Option<String>,
    /// Parameter to old literal (parsed) and new source text; empty text drops the argument.
    values: BTreeMap<String, Vec<(Unit, String)>>,
    add: BTreeMap<String, String>,
}

impl Arguments {
    pub(crate) fn compile(raw: RawArguments) -> Result<Arguments, String> {
        let parse = |field: &str, text: &str| {
            let unit = Unit::module(text);
            match unit.body() {
                [Stmt::Expr(_)] if unit.error_count() == 0 => Ok(unit),
                _ => Err(format!("arguments.{field}: `{text}` is not an expression")),
            }
        };
        let mut values = BTreeMap::new();
        for (parameter, table) in raw.values {
            let mut pairs = Vec::new();
            for (old, new) in table {
                if !new.is_empty() {
                    parse("values", &new)?;
                }
                pairs.push((parse("values", &old)?, new));
            }
            values.insert(parameter, pairs);
        }
        for text in raw.add.values() {
            parse("add", text)?;
        }
        if raw.keep > raw.positional.len() {
            return Err("arguments.keep: is beyond the names of `positional`".to_string());
        }
        for name in &raw.drop {
            if raw.rename.contains_key(name) {
                return Err(format!("arguments: `{name}` is both renamed and dropped"));
            }
        }
        if let Some(callee) = &raw.callee
            && (callee.is_empty() || !callee.chars().all(|c| c.is_alphanumeric() || "._".contains(c)))
        {
            return Err(format!("arguments.callee: `{callee}` is not a dotted name"));
        }
        Ok(Arguments {
            callee: raw.callee,
            rename: raw.rename,
            drop: raw.drop,
            positional: raw.positional,
            keep: raw.keep,
            within: raw.within,
            values,
            add: raw.add,
        })
    }

    pub(crate) fn changes_something(&self) -> bool {
        !(self.callee.is_none()
            && self.rename.is_empty()
            && self.drop.is_empty()
            && self.positional.is_empty()
            && self.values.is_empty()
            && self.add.is_empty())
    }

    /// What there is to do at a call; nothing when the rule does not concern it.
    pub(crate) fn plan(&self, source: &str, call: &ExprCall) -> Option<Result<Vec<Edit>, String>> {
        let mut list = ArgumentList::new(source, call);
        if !self.changes_something() {
            return Some(Ok(Vec::new()));
        }
        let mut touched = self.callee.is_some();
        let positional = &call.arguments.args;
        if !self.positional.is_empty() && positional.len() > self.keep {
            // A starred argument hides how many there are; the call may well be fine.
            let is_starred = |argument: &Expr| matches!(argument, Expr::Starred(_));
            if positional.iter().any(is_starred) {
                return None;
            }
            if positional.len() > self.positional.len() {
                return Some(Err("there are more positional arguments than known names".into()));
            }
            for (index, argument) in positional.iter().enumerate().skip(self.keep) {
                let name = &self.positional[index];
                let name = self.rename.get(name).unwrap_or(name);
                if list.has_keyword(name) {
                    return Some(Err(format!("`{name}` is given twice")));
                }
                if self.drop.contains(name) {
                    list.remove(argument.range());
                } else {
                    list.insert(argument.start(), format!("{name}="));
                }
                touched = true;
            }
        }
        for keyword in &call.arguments.keywords {
            let Some(argument) = &keyword.arg else {
                continue;
            };
            let name = argument.as_str();
            if self.drop.iter().any(|dropped| dropped == name) {
                list.remove(keyword.range);
                touched = true;
                continue;
            }
            if let Some(new) = self.rename.get(name) {
                if list.has_keyword(new) {
                    return Some(Err(format!("`{new}` is given beside `{name}`")));
                }
                list.replace(argument.range, new.clone());
                touched = true;
            }
            touched |= self.replace_value(&mut list.items, name, keyword.range, &keyword.value);
        }
        for (name, argument) in self.positional.iter().zip(positional) {
            touched |= self.replace_value(&mut list.items, name, argument.range(), argument);
        }
        let only_adds = self.callee.is_none()
            && self.rename.is_empty()
            && self.drop.is_empty()
            && self.positional.is_empty()
            && self.values.is_empty();
        if touched || only_adds {
            let spread = call.arguments.keywords.iter().any(|k| k.arg.is_none());
            for (name, value) in &self.add {
                if list.has_keyword(name) {
                    continue;
                }
                if spread {
                    return Some(Err(format!("`**` may already give `{name}`")));
                }
                list.append(format!("{name}={value}"));
                touched = true;
            }
        }
        touched.then(|| Ok(list.into_edits()))
    }

    /// The dict of arguments that a call is handed as its first parameter.
    pub(crate) fn handed_dict<'a>(&self, call: &'a ExprCall) -> Option<&'a Expr> {
        call.arguments.find_argument_value(self.within.as_deref()?, 0)
    }

    /// What there is to do in a dict literal that is spread into a call with `**`.
    pub(crate) fn plan_dict(&self, source: &str, dict: &ExprDict) -> Vec<Edit> {
        let mut list = ItemList::of_dict(source, dict);
        for item in &dict.items {
            let Some(Expr::StringLiteral(key)) = &item.key else {
                continue;
            };
            let name = key.value.to_str();
            let range = TextRange::new(key.start(), item.value.end());
            if self.drop.iter().any(|dropped| dropped == name) {
                list.remove(range);
                continue;
            }
            if let Some(new) = self.rename.get(name) {
                let text = in_quotes_of(&source[key.range], &format!("'{new}'"));
                list.replace(key.range, text);
            }
            self.replace_value(&mut list, name, range, &item.value);
        }
        list.into_edits()
    }

    /// Whether every argument is treated on its own: nothing is added and the call keeps its name.
    pub(crate) fn concerns_single_arguments(&self) -> bool {
        self.callee.is_none() && self.add.is_empty()
    }

    pub(crate) fn drops(&self, parameter: &str) -> bool {
        self.drop.iter().any(|dropped| dropped == parameter)
    }

    pub(crate) fn renamed(&self, parameter: &str) -> Option<&str> {
        self.rename.get(parameter).map(String::as_str)
    }

    /// The new source text of a value of a parameter; empty where the argument goes with it.
    pub(crate) fn replacement(&self, parameter: &str, value: &Expr) -> Option<&str> {
        self.values.get(parameter)?.iter().find_map(|(old, new)| match old.body() {
            [Stmt::Expr(old)] if ComparableExpr::from(&*old.value) == ComparableExpr::from(value) => {
                Some(new.as_str())
            }
            _ => None,
        })
    }

    fn replace_value(&self, list: &mut ItemList, parameter: &str, argument: TextRange, value: &Expr) -> bool {
        let Some(new) = self.replacement(parameter, value) else {
            return false;
        };
        if new.is_empty() {
            list.remove(argument);
        } else {
            let text = in_quotes_of(&list.source[value.range()], new);
            list.replace(value.range(), text);
        }
        true
    }
}

/// A new string literal in the quotes of the old one.
pub(crate) fn in_quotes_of(old: &str, new: &str) -> String {
    let body = new.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    match body {
        Some(body) if old.starts_with('"') && !body.contains(['"', '\\', '\'']) => {
            format!("\"{body}\"")
        }
        _ => new.to_string(),
    }
}

/// The argument list of one call, and the edits made to it.
pub(crate) struct ArgumentList<'a> {
    call: &'a ExprCall,
    items: ItemList<'a>,
}

impl<'a> ArgumentList<'a> {
    pub(crate) fn new(source: &'a str, call: &'a ExprCall) -> Self {
        let mut ranges: Vec<TextRange> = call.arguments.args.iter().map(Ranged::range).collect();
        ranges.extend(call.arguments.keywords.iter().map(|k: &Keyword| k.range));
        ArgumentList { call, items: ItemList::new(source, call.arguments.range, ranges) }
    }

    pub(crate) fn keyword(&self, name: &str) -> Option<&'a Keyword> {
        self.call.arguments.keywords.iter().find(|k| k.arg.as_ref().is_some_and(|arg| arg.as_str() == name))
    }

    pub(crate) fn has_keyword(&self, name: &str) -> bool {
        self.keyword(name).is_some()
    }

    /// Removes an argument with its comma.
    pub(crate) fn remove(&mut self, range: TextRange) {
        self.items.remove(range);
    }

    pub(crate) fn replace(&mut self, range: TextRange, text: String) {
        self.items.replace(range, text);
    }

    pub(crate) fn insert(&mut self, at: TextSize, text: String) {
        self.items.replace(TextRange::empty(at), text);
    }

    /// Adds an argument at the end.
    pub(crate) fn append(&mut self, text: String) {
        self.items.appended.push(text);
    }

    pub(crate) fn into_edits(self) -> Vec<Edit> {
        self.items.into_edits()
    }
}

/// Items separated by commas between two brackets, and the edits made to them.
pub(crate) struct ItemList<'a> {
    source: &'a str,
    /// The list with its brackets.
    whole: TextRange,
    /// All items in source order.
    ranges: Vec<TextRange>,
    removed: Vec<TextRange>,
    appended: Vec<String>,
    edits: Vec<Edit>,
}

impl<'a> ItemList<'a> {
    pub(crate) fn new(source: &'a str, whole: TextRange, mut ranges: Vec<TextRange>) -> Self {
        ranges.sort_by_key(|range| range.start());
        ItemList { source, whole, ranges, removed: Vec::new(), appended: Vec::new(), edits: Vec::new() }
    }

    pub(crate) fn of_dict(source: &'a str, dict: &ExprDict) -> Self {
        let ranges = dict.items.iter().map(|item| {
            let start = item.key.as_ref().map_or(item.value.start(), Ranged::start);
            TextRange::new(start, item.value.end())
        });
        Self::new(source, dict.range, ranges.collect())
    }

    pub(crate) fn remove(&mut self, range: TextRange) {
        self.removed.push(range);
    }

    pub(crate) fn replace(&mut self, range: TextRange, text: String) {
        self.edits.push(Edit { range, text });
    }

    /// The edits; items that go take their comma and the white space before them along.
    pub(crate) fn into_edits(mut self) -> Vec<Edit> {
        let is_removed = |range: &TextRange| self.removed.contains(range);
        let kept_last = self.ranges.iter().rposition(|range| !is_removed(range));
        let mut edits = std::mem::take(&mut self.edits);
        // Edits inside an argument that goes are void.
        edits.retain(|edit| !self.removed.iter().any(|r| r.contains_range(edit.range)));
        let mut appended = self.appended.join(", ");
        let mut index = 0;
        while index < self.ranges.len() {
            if !is_removed(&self.ranges[index]) {
                index += 1;
                continue;
            }
            let first = index;
            while index < self.ranges.len() && is_removed(&self.ranges[index]) {
                index += 1;
            }
            let last = self.ranges[index - 1];
            let reuse = index == self.ranges.len() && !appended.is_empty();
            let (range, text) = if reuse {
                // What is added takes the place of what goes at the end.
                let range = TextRange::new(self.ranges[first].start(), last.end());
                (range, std::mem::take(&mut appended))
            } else if first > 0 {
                let before = self.ranges[first - 1].end();
                let start = self.comma_after(before).unwrap_or(before);
                (TextRange::new(start, last.end()), String::new())
            } else if let Some(next) = self.ranges.get(index) {
                (TextRange::new(self.ranges[0].start(), next.start()), String::new())
            } else {
                // Nothing stays between the parentheses.
                let start = self.ranges[0].start();
                let end = self.comma_after(last.end()).map_or(last.end(), |c| c + TextSize::from(1));
                (TextRange::new(start, end), String::new())
            };
            edits.push(Edit { range, text });
        }
        if !appended.is_empty() {
            match kept_last.map(|at| self.ranges[at]) {
                Some(last) => {
                    edits.push(Edit { range: TextRange::empty(last.end()), text: format!(", {appended}") })
                }
                None => {
                    let at = self.whole.start() + TextSize::from(1);
                    edits.push(Edit { range: TextRange::empty(at), text: appended });
                }
            }
        }
        edits.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
        edits
    }

    /// The place of the next comma, if only white space, comments and parentheses are before it.
    fn comma_after(&self, at: TextSize) -> Option<TextSize> {
        let end = self.whole.end();
        let rest = &self.source[TextRange::new(at, end)];
        for token in crate::tokens::lex(rest) {
            match &rest[token.clone()] {
                "," => return Some(at + crate::tokens::offset(token.start)),
                ")" => {}
                _ => return None, // another item or the closing bracket of a dict
            }
        }
        None
    }
}
