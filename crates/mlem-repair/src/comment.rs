//! Statements that are taken out of the way and stay readable.

use mlem_python::{Edit, TextRange};

/// The edit that puts `# ` before each line of a statement that has its lines to itself; in a block `pass` takes its
/// place. `None` where other code stands on its lines.
pub(crate) fn comment_out(source: &str, range: TextRange) -> Option<Edit> {
    let (start, end) = (range.start().to_usize(), range.end().to_usize());
    let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &source[line_start..start];
    let behind = source[end..].split('\n').next().unwrap_or_default().trim();
    if !indent.trim().is_empty() || !(behind.is_empty() || behind.starts_with('#')) {
        return None;
    }
    let text = source[start..end].replace('\n', &format!("\n{indent}# "));
    let mark = if indent.is_empty() { "# " } else { "pass  # " };
    Some(Edit::replacement(range, format!("{mark}{text}")))
}

#[cfg(test)]
mod tests {
    use mlem_python::{Ranged, Unit};

    use super::*;

    #[test]
    fn only_a_statement_with_lines_of_its_own_becomes_a_comment() {
        let commented = |source: &str| {
            let unit = Unit::cell(source);
            let edit = comment_out(source, unit.body()[0].range())?;
            let mut text = source.to_owned();
            text.replace_range(edit.range.start().to_usize()..edit.range.end().to_usize(), &edit.text);
            Some(text)
        };
        assert_eq!(commented("f(\n  1)  # why\ng()").as_deref(), Some("# f(\n#   1)  # why\ng()"));
        assert_eq!(commented("f(); g()"), None);
    }
}
