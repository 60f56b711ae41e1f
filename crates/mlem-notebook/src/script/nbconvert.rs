//! Scripts as `jupyter nbconvert --to script` writes them: `# In[3]:` before every code cell,
//! Markdown as comments, magics as calls of `get_ipython()`.

use super::{ScriptCell, commented, magic, uncommented};
use crate::cell::CellKind;
use crate::notebook::Notebook;

/// The notebook as nbconvert's script. Raw cells have no place in it.
pub(crate) fn write(notebook: &Notebook) -> String {
    let mut text = String::from("#!/usr/bin/env python\n# coding: utf-8\n\n");
    for cell in notebook.cells() {
        match cell.kind {
            CellKind::Code => {
                // nbconvert writes a blank for "never executed".
                let count = cell.execution_count.filter(|count| *count > 0);
                let count = count.map_or_else(|| " ".to_owned(), |count| count.to_string());
                let source = magic::to_calls(&cell.source);
                let end = if source.ends_with('\n') { "" } else { "\n" };
                text.push_str(&format!("# In[{count}]:\n\n\n{source}{end}\n\n"));
            }
            CellKind::Markdown => text.push_str(&format!("{}\n\n", commented(&cell.source, "# "))),
            CellKind::Heading => text.push_str(&format!("{}\n\n", commented(&super::heading(cell), "# "))),
            CellKind::Raw => {}
        }
    }
    text
}

/// The number in a prompt line: `# In[3]:`, `# In[ ]:`.
fn prompt(line: &str) -> Option<Option<u64>> {
    let rest = line.strip_prefix("# In[")?;
    let (number, after) = rest.split_once(']')?;
    let number = number.trim();
    let known = number.is_empty() || number == "*" || number.bytes().all(|byte| byte.is_ascii_digit());
    (known && matches!(after.trim_end(), "" | ":")).then(|| number.parse().ok())
}

/// Whether a text is such a script. One without code cells has nbconvert's header and comments.
pub(super) fn recognises(text: &str) -> bool {
    let markdown_only = || {
        text.starts_with("#!/usr/bin/env python\n# coding: utf-8\n")
            && text.lines().all(|line| line.is_empty() || line.starts_with('#'))
    };
    text.lines().any(|line| prompt(line).is_some()) || markdown_only()
}

/// The cells of such a script.
///
/// Comments at the end of a code cell, two or more empty lines below the code, are Markdown cells:
/// that is how nbconvert separates them, and nothing else tells them apart.
pub(super) fn read(text: &str) -> Vec<ScriptCell> {
    let mut cells = Vec::new();
    let mut current: Option<Option<u64>> = None;
    let mut lines: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if let Some(next) = prompt(line) {
            finish(current, &lines, &mut cells);
            current = Some(next);
            lines.clear();
        } else {
            lines.push(line);
        }
    }
    finish(current, &lines, &mut cells);
    cells
}

fn finish(prompt: Option<Option<u64>>, lines: &[&str], cells: &mut Vec<ScriptCell>) {
    let Some(execution_count) = prompt else {
        // Before the first prompt: the header, then Markdown.
        let body = lines.iter().position(|line| !is_header(line)).unwrap_or(lines.len());
        let (code, markdown) = split_tail(&lines[body..], true);
        let code = code.join("\n");
        if !code.trim().is_empty() {
            cells.push(ScriptCell::code(code.trim_matches('\n').to_owned()));
        }
        cells.extend(markdown);
        return;
    };
    // Two empty lines follow the prompt; nbconvert before 5.6 wrote one.
    let lead = lines.iter().take(2).take_while(|line| line.is_empty()).count();
    let (code, markdown) = split_tail(&lines[lead..], false);
    let source = magic::from_calls(code.join("\n").trim_end_matches('\n'));
    cells.push(ScriptCell { execution_count, ..ScriptCell::code(source) });
    cells.extend(markdown);
}

fn is_header(line: &str) -> bool {
    line.is_empty()
        || line.starts_with("#!")
        || line.contains("coding: utf-8")
        || line.contains("coding: UTF-8")
}

/// Splits the Markdown cells at the end off. At the top of the file (`top`) comments need no empty
/// lines before them.
fn split_tail<'l>(lines: &'l [&'l str], top: bool) -> (&'l [&'l str], Vec<ScriptCell>) {
    // Runs of lines without an empty one between them: start, end, empty lines before.
    let mut blocks: Vec<(usize, usize, usize)> = Vec::new();
    let mut empty = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        match blocks.last_mut() {
            Some((_, end, _)) if *end == index => *end = index + 1,
            _ => blocks.push((index, index + 1, empty)),
        }
        empty = 0;
    }
    let is_comment = |(start, end, _): &(usize, usize, usize)| {
        lines[*start..*end].iter().all(|line| line.starts_with('#'))
    };
    let trailing = blocks.iter().rev().take_while(|block| is_comment(block)).count();
    let trailing = &blocks[blocks.len() - trailing..];
    let first = trailing.iter().position(|(start, _, empty)| {
        *empty >= 2 || (top && (*start == 0 || blocks.len() == trailing.len()))
    });
    let Some(first) = first else { return (lines, Vec::new()) };
    let markdown = trailing[first..].iter().map(|(start, end, _)| ScriptCell {
        kind: "markdown",
        source: uncommented(&lines[*start..*end].join("\n")),
        metadata: serde_json::Map::new(),
        execution_count: None,
    });
    (&lines[..trailing[first].0], markdown.collect())
}
