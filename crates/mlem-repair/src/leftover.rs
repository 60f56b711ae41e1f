//! Imports that nobody needs any more once a rule has rewritten the calls of what they bring
//! (`from transformers import AdamW`, a name that is gone, beside calls of `torch.optim.AdamW`).

use mlem_python::{Edit, Import, Program, TextRange, TextSize};

use crate::imports::without_alias;
use crate::report::EditRecord;
use crate::sources::Sources;
use crate::statics::{record, record_place};

/// Takes out of the cells each name that `from … import` brings, that was used in `before` and is used nowhere now.
/// `edits` are what changed in between. Modules keep theirs: others may import them from there.
pub(crate) fn remove(
    sources: &mut Sources,
    before: &Program,
    notebook: &str,
    edits: &[EditRecord],
) -> Vec<EditRecord> {
    let mut records = Vec::new();
    // One name at a time: each changes the places of the others.
    while let Some((unit, edit, name)) = next(&sources.program(), before) {
        let place = record_place(sources, unit, notebook);
        let Ok(change) = sources.apply(unit, &[edit]) else { break };
        let took_it = |edit: &&EditRecord| mentions(&edit.before, &name) && !mentions(&edit.after, &name);
        let rule = edits.iter().rfind(took_it).and_then(|edit| edit.rule.clone());
        let evidence = format!("`{name}` stands nowhere else in the notebook any more");
        let reason = format!("nothing needs `{name}` since its calls were rewritten");
        records.push(record(place, change, rule, evidence, "safe", reason));
    }
    records
}

fn next(program: &Program, before: &Program) -> Option<(usize, Edit, String)> {
    let nowhere = (usize::MAX, TextRange::empty(TextSize::new(0)));
    let is_left_over = |import: &&Import| {
        let same = |old: &Import| old.qualified == import.qualified && old.bound == import.bound;
        import.is_from
            && !import.is_star
            && !import.guarded
            && before.imports().iter().any(same)
            && before.is_name_used(&import.bound, nowhere)
            && !program.is_name_used(&import.bound, nowhere)
            && !is_mentioned(program, import)
    };
    let import = program.imports().iter().find(is_left_over)?;
    let statement: Vec<&Import> = program
        .imports()
        .iter()
        .filter(|other| other.unit == import.unit && other.range == import.range)
        .collect();
    let unit = &program.units()[import.unit];
    let edit = if statement.len() > 1 {
        without_alias(unit, &statement, import)
    } else {
        Edit::deletion(own_lines(unit.source(), import.range)?)
    };
    Some((import.unit, edit, import.bound.clone()))
}

/// Whether a name occurs in any text but the import itself: magics and strings may name what the syntax does not show.
fn is_mentioned(program: &Program, import: &Import) -> bool {
    program.units().iter().enumerate().any(|(unit, parsed)| {
        let source = parsed.source();
        if unit != import.unit {
            return mentions(source, &import.bound);
        }
        let (start, end) = (import.range.start().to_usize(), import.range.end().to_usize());
        mentions(&source[..start], &import.bound) || mentions(&source[end..], &import.bound)
    })
}

/// Whether a text holds the name as a word of its own; `torch.optim.AdamW` is no mention of `AdamW`.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(|c| is_part(c) || c == '.');
        !before && !text[at + name.len()..].chars().next().is_some_and(is_part)
    })
}

/// The whole lines of a statement that stands alone on them, outside of any block.
fn own_lines(source: &str, range: TextRange) -> Option<TextRange> {
    let (start, end) = (range.start().to_usize(), range.end().to_usize());
    let begins = start == 0 || source[..start].ends_with('\n');
    let line_end = source[end..].find('\n').map_or(source.len(), |at| end + at + 1);
    let behind = source[end..line_end].trim();
    if !begins || !(behind.is_empty() || behind.starts_with('#')) {
        return None;
    }
    // The last line of a cell has no line feed, so the one before it goes.
    let start =
        if line_end == source.len() && !source.ends_with('\n') { start.saturating_sub(1) } else { start };
    Some(TextRange::new(TextSize::try_from(start).ok()?, TextSize::try_from(line_end).ok()?))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mlem_notebook::Notebook;
    use mlem_python::Unit;

    use super::*;

    fn left(before: &[&str], after: &str) -> String {
        let before = Program::new(before.iter().map(|cell| Unit::cell(cell)).collect());
        let mut sources = Sources::new(&Notebook::from_script(after, Path::new("a.py")));
        remove(&mut sources, &before, "a.ipynb", &[]);
        sources.cells()[0].current.clone()
    }

    #[test]
    fn only_what_a_rewrite_left_behind_goes() {
        let imports = "from transformers import AdamW, AutoModel";
        assert_eq!(
            left(&[imports, "AdamW(AutoModel())"], &format!("{imports}\ntorch.optim.AdamW(AutoModel())")),
            "from transformers import AutoModel\ntorch.optim.AdamW(AutoModel())"
        );
        assert_eq!(left(&["from m import a\na()"], "import b\nfrom m import a\nb.x()"), "import b\nb.x()");
        assert_eq!(left(&["from m import a\na()"], "b()\nfrom m import a"), "b()");
        let unused = "from m import a\nb()";
        assert_eq!(left(&[unused], unused), unused, "it was not used before either");
        let magic = "from m import a\n%timeit a()";
        assert_eq!(left(&["from m import a\na()"], magic), magic);
    }
}
