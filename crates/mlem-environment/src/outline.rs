//! Cutting a module down to its top level before it is parsed.

/// A module's source without the bodies of its top-level functions and classes, each replaced by `pass`. What an import
/// binds stands at the top level, in `if` and in `try`; the bodies are nine tenths of a library's source, and skipping
/// strings and brackets is much cheaper than parsing.
pub(crate) fn outline(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut kept = String::with_capacity(source.len() / 4);
    let mut at = 0;
    let mut in_body = false;
    while at < bytes.len() {
        let start = at;
        let (end, last) = logical_line(bytes, start);
        at = end;
        let text = &source[start..end];
        let first = bytes[start];
        match first {
            b' ' | b'\t' if in_body => continue,
            b'\n' | b'\r' | b'#' | b'\x0c' => continue,
            b' ' | b'\t' => kept.push_str(text),
            _ => {
                in_body = ["def ", "class ", "async "].iter().any(|word| text.starts_with(word));
                kept.push_str(text);
                if in_body && last == b':' {
                    if !text.ends_with('\n') {
                        kept.push('\n');
                    }
                    kept.push_str("    pass\n");
                }
            }
        }
    }
    kept
}

/// The end of the logical line that begins at `start`, and its last byte that is no space, comment or line break. Line
/// breaks inside strings and brackets, and after a backslash, do not end it.
fn logical_line(bytes: &[u8], start: usize) -> (usize, u8) {
    let mut at = start;
    let mut depth = 0_usize;
    let mut last = b' ';
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b'\n' if depth == 0 => return (at + 1, last),
            b'#' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                continue;
            }
            b'\'' | b'"' => {
                at = string_end(bytes, at);
                last = byte;
                continue;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'\\' => {
                at += if bytes.get(at + 1) == Some(&b'\r') { 3 } else { 2 };
                continue;
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
        at += 1;
    }
    (bytes.len(), last)
}

/// The first byte after the string that begins at `start`. A one-quote string ends at its line's end at the latest.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let triple = bytes.get(start + 1) == Some(&quote) && bytes.get(start + 2) == Some(&quote);
    let mut at = start + if triple { 3 } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' if !triple => return at,
            byte if byte == quote => {
                if !triple {
                    return at + 1;
                }
                if bytes.get(at + 1) == Some(&quote) && bytes.get(at + 2) == Some(&quote) {
                    return at + 3;
                }
            }
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_go_and_the_top_level_stays() {
        let source = "\
'''Module
def not_one(): pass
'''
import os  # comment: here
def f(a,
      b='x('):  # why
    '''Doc
unindented (
    '''
    return [1,
2]

@decorator(
    1)
class C:
    x = 1

    def m(self): pass
def g(): return 1
if True:
    from a import b
    def h():
        pass
else:
    c = 1
__all__ = ['f',
           'g']
async def k():
    await x
";
        let expected = "\
'''Module
def not_one(): pass
'''
import os  # comment: here
def f(a,
      b='x('):  # why
    pass
@decorator(
    1)
class C:
    pass
def g(): return 1
if True:
    from a import b
    def h():
        pass
else:
    c = 1
__all__ = ['f',
           'g']
async def k():
    pass
";
        assert_eq!(outline(source), expected);
    }

    #[test]
    fn any_text_is_survived() {
        for source in
            ["", "'", "\"\"\"", "def", "def f():", "\\", "(", "x = '\\", "é = 'ü'\ndef ü():\n  ö\n", "\\\r"]
        {
            let _ = outline(source);
        }
        assert_eq!(outline("def f():"), "def f():\n    pass\n");
    }
}
