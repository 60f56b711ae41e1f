//! The tables of an HTML output as text.

/// The cells of all tables in a piece of HTML: a line a row, cells apart by spaces. `None` where
/// there is no table.
pub(super) fn tables(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let mut text = String::new();
    let mut found = false;
    let mut from = 0;
    while let Some(start) = lower[from..].find("<table").map(|at| from + at) {
        let end = lower[start..].find("</table").map_or(html.len(), |at| start + at);
        found = true;
        cells(&html[start..end], &mut text);
        from = end;
        if from == start {
            break;
        }
    }
    found.then_some(text)
}

/// Takes the tags out; the end of a row is a line break, the end of a cell a space.
fn cells(table: &str, text: &mut String) {
    let mut rest = table;
    while let Some(open) = rest.find('<') {
        text.push_str(&unescaped(&rest[..open]));
        let Some(close) = rest[open..].find('>') else { return };
        let tag = rest[open + 1..open + close].trim_start_matches('/').to_ascii_lowercase();
        let name: String = tag.chars().take_while(char::is_ascii_alphanumeric).collect();
        match name.as_str() {
            "tr" | "p" | "br" | "caption" => text.push('\n'),
            "td" | "th" => text.push(' '),
            _ => {}
        }
        rest = &rest[open + close + 1..];
    }
    text.push_str(&unescaped(rest));
    text.push('\n');
}

/// The characters that HTML writes by names (HTML Standard, named character references) as far as
/// tables of numbers and names have them.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&nbsp;", " ")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_words_and_rows_are_lines() {
        let words = |html: &str| -> Option<Vec<String>> {
            tables(html).map(|text| text.split_whitespace().map(str::to_owned).collect())
        };
        let html =
            "x<table><tr><th>a&lt;b</th><td> 1.5</td></tr><TR><td>2</td></TR></table>y<table><td>3</table>";
        assert_eq!(words(html).unwrap(), ["a<b", "1.5", "2", "3"]);
        assert_eq!(tables("<div>no</div>"), None);
        for broken in ["<table", "<table><td", "<table><td>é", "<table></table", "<table<table<table"] {
            assert!(tables(broken).is_some());
        }
    }
}
