//! The differences between the signatures of two releases, written as rows of a table of defaults.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Signature;

type Callables = BTreeMap<String, Signature>;
/// Parameter, old and new default.
type Change<'a> = (&'a str, &'a str, &'a str);
/// The callables, and the first position in which one takes the parameter.
type Places<'a> = (Vec<&'a str>, Option<usize>);

/// Rows for every default that differs, those of one change of one parameter together.
pub(super) fn rows(old: &Callables, new: &Callables, old_version: &str, new_version: &str) -> String {
    let mut by_name: BTreeMap<&str, &Signature> = BTreeMap::new();
    for signature in old.values() {
        for alias in &signature.aliases {
            by_name.entry(alias).or_insert(signature);
        }
    }
    by_name.extend(old.iter().map(|(name, signature)| (name.as_str(), signature)));
    let mut changes: BTreeMap<Change<'_>, Places<'_>> = BTreeMap::new();
    for (name, signature) in new {
        let names = std::iter::once(name).chain(&signature.aliases);
        let Some(before) = names.clone().find_map(|name| by_name.get(name.as_str())) else { continue };
        let (Some(before), Some(after)) = (&before.parameters, &signature.parameters) else { continue };
        for (parameter, default, _) in after {
            let found = before.iter().position(|(name, ..)| name == parameter);
            let (Some(position), Some(default)) = (found, default) else { continue };
            let (_, was, kind) = &before[position];
            let Some(was) = was.as_ref().filter(|was| *was != default) else { continue };
            let change = changes.entry((parameter, was, default)).or_default();
            change.0.push(name);
            if !kind.to_lowercase().replace('_', " ").contains("keyword only") {
                change.1 = Some(change.1.map_or(position, |least| least.min(position)));
            }
        }
    }
    let mut text = String::new();
    for ((parameter, was, now), (callables, position)) in changes {
        // Writing to a String cannot fail.
        let _ = write_row(&mut text, (parameter, was, now), &callables, position, (old_version, new_version));
    }
    text
}

fn write_row(
    text: &mut String,
    (parameter, was, now): (&str, &str, &str),
    callables: &[&str],
    position: Option<usize>,
    (old, new): (&str, &str),
) -> std::fmt::Result {
    writeln!(text, "[[default]]")?;
    writeln!(text, "call      = [{}]", callables.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", "))?;
    writeln!(text, "parameter = {}", quoted(parameter))?;
    if let Some(position) = position {
        writeln!(text, "position  = {position}")?;
    }
    writeln!(text, "since     = {}", quoted(new))?;
    writeln!(text, "old       = {}", quoted(was))?;
    writeln!(text, "new       = {}", quoted(now))?;
    writeln!(text, "write     = {}", quoted(was))?;
    writeln!(text, "source    = {}\n", quoted(&format!("signatures of {old} and {new}")))
}

/// A TOML string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(aliases: &[&str], parameters: &[(&str, Option<&str>)]) -> Signature {
        let kind = "POSITIONAL_OR_KEYWORD";
        let parameters = parameters
            .iter()
            .map(|(name, default)| ((*name).to_owned(), default.map(str::to_owned), kind.to_owned()));
        Signature {
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            parameters: Some(parameters.collect()),
        }
    }

    #[test]
    fn changed_defaults_are_rows_and_the_rest_is_not() {
        let forest = [("n", Some("10")), ("same", Some("1")), ("gone", Some("1"))];
        let old = Callables::from([
            ("m.forest.Forest".to_owned(), signature(&["m.Forest"], &forest)),
            ("m.Trees".to_owned(), signature(&[], &[("deep", None), ("n", Some("10"))])),
        ]);
        let forest = [("same", Some("1")), ("n", Some("100")), ("added", Some("2"))];
        let new = Callables::from([
            ("m.Forest".to_owned(), signature(&[], &forest)),
            ("m.Trees".to_owned(), signature(&[], &[("deep", Some("3")), ("n", Some("100"))])),
            ("m.New".to_owned(), signature(&[], &[("n", Some("5"))])),
        ]);
        let text = rows(&old, &new, "1.0", "2.0");
        let wanted = "[[default]]\ncall      = [\"m.Forest\", \"m.Trees\"]\nparameter = \"n\"\nposition  = 0\n\
                      since     = \"2.0\"\nold       = \"10\"\nnew       = \"100\"\nwrite     = \"10\"\n\
                      source    = \"signatures of 1.0 and 2.0\"\n\n";
        assert_eq!(text, wanted);
    }
}
