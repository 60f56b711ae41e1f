//! What a call gives: positional and keyword arguments, and dictionaries spread into it.

use mlem_python::ast::{Expr, ExprCall, ExprDict};
use mlem_python::{Edit, Program, Ranged, TextRange, TextSize};

use super::change::{Argument, DefaultChange};
use super::find::{End, insertion};
use crate::functions::{assignments, each_expr};

/// A call that leaves the parameter to its default.
pub(super) struct Relied {
    /// The unit in which the parameter would be written.
    pub(super) place: usize,
    /// The edit that writes the old default out; nothing where nothing gives it.
    pub(super) edit: Option<Edit>,
}

/// Names with the source text of their values, and where another can be added.
pub(super) struct Given<'a> {
    names: Vec<(&'a str, &'a str)>,
    unit: usize,
    pub(super) end: End,
    /// `name: value` in quotes rather than `name=value`.
    is_dict: bool,
}

/// Whether a call relied on the default, as far as the source shows it for certain.
pub(super) fn relied(
    program: &Program,
    unit: usize,
    call: &ExprCall,
    change: &DefaultChange,
) -> Option<Relied> {
    let mut given = arguments(program, unit, call, change)?;
    if let Some(position) = change.dict {
        let keyword = call.arguments.keywords.iter().find(|k| k.arg.as_ref().is_some_and(|n| n == "params"));
        let dict = call.arguments.args.get(position).or(keyword.map(|keyword| &keyword.value))?;
        given = dictionary(program, unit, dict, &change.parameter)?;
    }
    let has = |argument: &Argument| {
        given.names.iter().any(|(name, value)| *name == argument.name && argument.is(value))
    };
    let is_given = given.names.iter().any(|(name, _)| *name == change.parameter);
    if is_given || change.unless.iter().any(has) || !change.with.iter().all(has) {
        return None;
    }
    let write = match change.sorted_keys {
        Some(position) => Some(sorted_keys(program, unit, call.arguments.args.get(position)?)?),
        None => change.write.clone(),
    };
    let edit = write.map(|write| {
        let text = if given.is_dict {
            format!("'{}': {write}", change.parameter)
        } else {
            format!("{}={write}", change.parameter)
        };
        insertion(&given, text)
    });
    Some(Relied { place: given.unit, edit })
}

/// The arguments of a call, with those of dictionaries spread into it; nothing when they are not all known, or the
/// parameter is among the positional ones.
fn arguments<'a>(
    program: &'a Program,
    unit: usize,
    call: &'a ExprCall,
    change: &DefaultChange,
) -> Option<Given<'a>> {
    let positional = &call.arguments.args;
    let is_starred = positional.iter().any(|argument| matches!(argument, Expr::Starred(_)));
    if is_starred || change.position.is_some_and(|position| positional.len() > position) {
        return None;
    }
    let source = program.units()[unit].source();
    let mut names = Vec::new();
    let mut last = positional.iter().map(Ranged::end).max();
    for keyword in &call.arguments.keywords {
        last = last.max(Some(keyword.range.end()));
        match &keyword.arg {
            Some(name) => names.push((name.as_str(), &source[keyword.value.range()])),
            None => names.extend(dictionary(program, unit, &keyword.value, &change.parameter)?.names),
        }
    }
    Some(Given { names, unit, end: end(source, call.arguments.range, last), is_dict: false })
}

/// The items of a dictionary that is written at a place, or bound to a name once and not changed where it matters.
fn dictionary<'a>(program: &'a Program, unit: usize, expr: &'a Expr, parameter: &str) -> Option<Given<'a>> {
    match expr {
        Expr::Dict(dict) => literal(program, unit, dict),
        Expr::Call(call) => {
            let is_dict = program.qualified_name(unit, &call.func) == Some("dict");
            let plain = call.arguments.args.is_empty();
            let named = call.arguments.keywords.iter().all(|keyword| keyword.arg.is_some());
            if !(is_dict && plain && named) {
                return None;
            }
            let source = program.units()[unit].source();
            let last = call.arguments.keywords.iter().map(|keyword| keyword.range.end()).max();
            let names =
                call.arguments.keywords.iter().filter_map(|keyword| {
                    Some((keyword.arg.as_ref()?.as_str(), &source[keyword.value.range()]))
                });
            let end = end(source, call.arguments.range, last);
            Some(Given { names: names.collect(), unit, end, is_dict: false })
        }
        Expr::Name(name) => {
            let all = assignments(program, name.id.as_str());
            let [only] = all.as_slice() else { return None };
            if matches!(only.value, Expr::Name(_)) || is_written(program, parameter) {
                return None;
            }
            dictionary(program, only.unit, only.value, parameter)
        }
        _ => None,
    }
}

fn literal<'a>(program: &'a Program, unit: usize, dict: &'a ExprDict) -> Option<Given<'a>> {
    let source = program.units()[unit].source();
    let mut names = Vec::new();
    for item in &dict.items {
        let Some(Expr::StringLiteral(key)) = &item.key else { return None };
        names.push((key.value.to_str(), &source[item.value.range()]));
    }
    let last = dict.items.last().map(|item| item.value.end());
    Some(Given { names, unit, end: end(source, dict.range, last), is_dict: true })
}

/// What gives the keys of a dictionary in their order: a list of those written in the call, or `sorted(NAME)` for what a
/// name is bound to. Nothing where they are in order already, are not all strings, or a value is a dictionary, whose
/// own keys then make the other axis.
fn sorted_keys(program: &Program, unit: usize, expr: &Expr) -> Option<String> {
    match expr {
        Expr::Dict(dict) => {
            let mut keys = flat_keys(program, unit, dict)?;
            if keys.is_sorted_by(|a, b| a.0 <= b.0) {
                return None;
            }
            keys.sort_by_key(|(key, _)| *key);
            let written: Vec<&str> = keys.into_iter().map(|(_, text)| text).collect();
            Some(format!("[{}]", written.join(", ")))
        }
        // A name that is bound again has to be such a dictionary each time.
        Expr::Name(name) => {
            let all = assignments(program, name.id.as_str());
            let dicts: Option<Vec<_>> =
                all.iter().map(|each| flat_keys(program, each.unit, each.value.as_dict_expr()?)).collect();
            let in_order = dicts?.iter().all(|keys| keys.is_sorted_by(|a, b| a.0 <= b.0));
            (!in_order).then(|| format!("sorted({})", name.id))
        }
        _ => None,
    }
}

/// The keys of a dictionary and how they are written, where all are strings and no value is a dictionary.
fn flat_keys<'a>(program: &'a Program, unit: usize, dict: &'a ExprDict) -> Option<Vec<(&'a str, &'a str)>> {
    let source = program.units()[unit].source();
    let keys = dict.items.iter().map(|item| match (&item.key, &item.value) {
        (Some(Expr::StringLiteral(key)), value) if !matches!(value, Expr::Dict(_) | Expr::DictComp(_)) => {
            Some((key.value.to_str(), &source[key.range()]))
        }
        _ => None,
    });
    keys.collect()
}

/// Whether the program writes a string of this text anywhere: a key that is set or looked up later.
fn is_written(program: &Program, text: &str) -> bool {
    let mut found = false;
    each_expr(program, |_, expr| {
        if let Expr::StringLiteral(literal) = expr {
            found |= literal.value.to_str() == text;
        }
    });
    found
}

/// Behind the last item, past the parentheses that belong to it; after the opening bracket where there is none.
fn end(source: &str, whole: TextRange, last: Option<TextSize>) -> End {
    let Some(last) = last else {
        return (whole.start() + TextSize::from(1), false);
    };
    let mut at = last;
    let rest = &source[TextRange::new(last, whole.end() - TextSize::from(1))];
    for token in crate::tokens::lex(rest) {
        match &rest[token.clone()] {
            ")" => at = last + crate::tokens::offset(token.end),
            "," => break,
            _ => {}
        }
    }
    (at, true)
}
