//! IPython's special lines in a script: as comments (percent format) and as calls (nbconvert).

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// The magics of IPython and ipykernel (`%lsmagic`, versions 1 to 9) and a few of libraries. Only
/// these are hidden in comments and brought back from there: a comment such as `# %d items` in a
/// script of other origin must stay a comment.
const MAGICS: &[&str] = &[
    "alias",
    "alias_magic",
    "autoawait",
    "autocall",
    "autoindent",
    "automagic",
    "autoreload",
    "autosave",
    "bash",
    "bookmark",
    "capture",
    "cat",
    "cd",
    "clear",
    "cls",
    "code_wrap",
    "colors",
    "conda",
    "config",
    "connect_info",
    "cp",
    "cython",
    "debug",
    "dhist",
    "dirs",
    "doctest_mode",
    "ed",
    "edit",
    "env",
    "file",
    "gui",
    "hist",
    "history",
    "html",
    "HTML",
    "install_ext",
    "javascript",
    "js",
    "killbgscripts",
    "latex",
    "ldir",
    "less",
    "lf",
    "lk",
    "ll",
    "load",
    "load_ext",
    "loadpy",
    "logoff",
    "logon",
    "logstart",
    "logstate",
    "logstop",
    "lprun",
    "ls",
    "lsmagic",
    "lx",
    "macro",
    "magic",
    "mamba",
    "man",
    "markdown",
    "matplotlib",
    "memit",
    "micromamba",
    "mkdir",
    "more",
    "mprun",
    "mv",
    "notebook",
    "page",
    "pastebin",
    "pdb",
    "pdef",
    "pdoc",
    "perl",
    "pfile",
    "pinfo",
    "pinfo2",
    "pip",
    "popd",
    "pprint",
    "precision",
    "profile",
    "prun",
    "psearch",
    "psource",
    "pushd",
    "pwd",
    "pycat",
    "pylab",
    "pypy",
    "python",
    "python2",
    "python3",
    "qtconsole",
    "quickref",
    "R",
    "recall",
    "rehashx",
    "reload_ext",
    "rep",
    "rerun",
    "reset",
    "reset_selective",
    "rm",
    "rmdir",
    "Rpush",
    "Rpull",
    "ruby",
    "run",
    "save",
    "sc",
    "script",
    "set_env",
    "sh",
    "sql",
    "store",
    "subplots",
    "svg",
    "SVG",
    "sx",
    "system",
    "tb",
    "tensorboard",
    "tensorflow_version",
    "time",
    "timeit",
    "unalias",
    "unload_ext",
    "uv",
    "watermark",
    "who",
    "who_ls",
    "whos",
    "writefile",
    "xdel",
    "xmode",
];

/// Whether the text behind a `%` or `%%` starts with a known magic.
fn names_magic(text: &str) -> bool {
    let end =
        text.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(text.len());
    MAGICS.contains(&&text[..end])
}

/// Whether a text starts as a line magic, a cell magic, a shell command or a request for help.
fn is_special(text: &str) -> bool {
    match text.as_bytes() {
        [b'%', b'%', ..] => names_magic(&text[2..]),
        [b'%', ..] => names_magic(&text[1..]),
        [b'!', next, ..] => next.is_ascii_alphabetic() || b"./~$!{".contains(next),
        [b'?', next, ..] => next.is_ascii_alphabetic(),
        _ => assigned_special(text).is_some(),
    }
}

/// Splits `name = %magic …` or `name = !command` behind the equals sign.
fn assigned_special(text: &str) -> Option<(&str, &str)> {
    let (target, value) = text.split_once('=')?;
    let plain = |character: char| character.is_alphanumeric() || "_., []".contains(character);
    let value = value.trim_start();
    let special = match value.as_bytes() {
        [b'%', ..] => names_magic(&value[1..]),
        [b'!', next, ..] => *next != b'=',
        _ => false,
    };
    (special && !target.trim().is_empty() && target.chars().all(plain)).then(|| (target.trim_end(), value))
}

/// Splits a line into its indentation and the rest.
fn indented(line: &str) -> (&str, &str) {
    line.split_at(line.len() - line.trim_start_matches([' ', '\t']).len())
}

/// Whether a line, with any number of `# ` taken away, is special or a cell marker.
fn is_special_or_commented(text: &str) -> bool {
    let commented = text.starts_with("# ");
    let bare = text.trim_start_matches("# ");
    is_special(bare) || (commented && super::percent::marker(&format!("# {bare}")).is_some())
}

/// Hides special lines in comments. A comment that looks like a hidden line gets one more `# `,
/// so that [`uncomment`] is its exact inverse.
pub(super) fn comment(source: &str) -> String {
    map_lines(source, |line| {
        let (indent, text) = indented(line);
        is_special_or_commented(text).then(|| format!("{indent}# {text}"))
    })
}

/// Brings the lines back that [`comment`] has hidden.
pub(super) fn uncomment(source: &str) -> String {
    map_lines(source, |line| {
        let (indent, text) = indented(line);
        let bare = text.strip_prefix("# ")?;
        is_special_or_commented(text).then(|| format!("{indent}{bare}"))
    })
}

fn map_lines(source: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let lines: Vec<Cow<'_, str>> =
        source.split('\n').map(|line| change(line).map_or(Cow::Borrowed(line), Cow::Owned)).collect();
    lines.join("\n")
}

/// Turns special lines into the calls that IPython makes of them.
pub(super) fn to_calls(source: &str) -> String {
    let start = source.trim_start_matches('\n');
    if let Some(magic) = start.strip_prefix("%%") {
        let (line, body) = magic.split_once('\n').unwrap_or((magic, ""));
        let (name, argument) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        let body = if body.ends_with('\n') { body.to_owned() } else { format!("{body}\n") };
        let [name, argument, body] = [name, argument, &body].map(quoted);
        return format!("get_ipython().run_cell_magic({name}, {argument}, {body})");
    }
    let mut openings = Openings::default();
    let lines: Vec<Cow<'_, str>> = source
        .split('\n')
        .map(|line| {
            if openings.inside() {
                openings.read(line);
                return Cow::Borrowed(line);
            }
            match call_of(line) {
                Some(call) => Cow::Owned(call),
                None => {
                    openings.read(line);
                    Cow::Borrowed(line)
                }
            }
        })
        .collect();
    lines.join("\n")
}

fn call_of(line: &str) -> Option<String> {
    let (indent, text) = indented(line);
    if let Some((target, value)) = assigned_special(text) {
        let call = match value.strip_prefix('!') {
            Some(command) => format!("get_ipython().getoutput({})", quoted(command)),
            None => line_magic(value.strip_prefix('%')?),
        };
        return Some(format!("{indent}{target} = {call}"));
    }
    let name_start = |rest: &str| rest.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let call = if let Some(command) = text.strip_prefix("!!") {
        format!("get_ipython().getoutput({})", quoted(command))
    } else if let Some(command) = text.strip_prefix('!') {
        format!("get_ipython().system({})", quoted(command))
    } else if let Some(magic) = text.strip_prefix('%').filter(|rest| name_start(rest)) {
        line_magic(magic)
    } else {
        let (asked, marks) = help_request(text)?;
        let magic = if marks >= 2 { "pinfo2" } else { "pinfo" };
        format!("get_ipython().run_line_magic('{magic}', {})", quoted(asked))
    };
    Some(format!("{indent}{call}"))
}

fn line_magic(text: &str) -> String {
    let text = text.trim_end();
    let (name, argument) = text.split_once(' ').unwrap_or((text, ""));
    format!("get_ipython().run_line_magic({}, {})", quoted(name), quoted(argument))
}

/// `?name`, `??name`, `name?` and `name??`: the name and the number of question marks.
fn help_request(text: &str) -> Option<(&str, usize)> {
    let text = text.trim_end();
    let bare = text.trim_matches('?');
    let dotted = |character: char| character.is_alphanumeric() || "_.".contains(character);
    let asked = text.len() > bare.len() && !bare.is_empty() && bare.chars().all(dotted);
    asked.then(|| (bare, text.len() - bare.len()))
}

/// Turns IPython's calls, of this and older versions, back into special lines.
pub(super) fn from_calls(source: &str) -> String {
    if let Some(arguments) = call(source.trim(), "run_cell_magic")
        && let [name, argument, body] = &arguments[..]
    {
        let space = if argument.is_empty() { "" } else { " " };
        return format!("%%{name}{space}{argument}\n{}", body.strip_suffix('\n').unwrap_or(body));
    }
    map_lines(source, |line| {
        let (indent, text) = indented(line);
        let at = text.find("get_ipython().")?;
        let (before, expression) = text.split_at(at);
        if !before.is_empty() && !before.trim_end().ends_with('=') {
            return None;
        }
        let expression = expression.trim_end();
        let join = |name: &str, argument: &str| format!("%{name} {argument}").trim_end().to_owned();
        let special = if let Some(arguments) = call(expression, "run_line_magic") {
            match &arguments[..] {
                [name, asked] if name == "pinfo" => format!("{asked}?"),
                [name, asked] if name == "pinfo2" => format!("{asked}??"),
                [name, argument] => join(name, argument),
                _ => return None,
            }
        } else if let Some(arguments) = call(expression, "magic") {
            // IPython before 6.5.
            join(arguments.first()?, "")
        } else if let Some(arguments) = call(expression, "system") {
            format!("!{}", arguments.first()?)
        } else if let Some(arguments) = call(expression, "getoutput") {
            format!("{}{}", if before.is_empty() { "!!" } else { "!" }, arguments.first()?)
        } else {
            return None;
        };
        (!special.contains('\n')).then(|| format!("{indent}{before}{special}"))
    })
}

/// The string arguments of `get_ipython().METHOD('…', '…')`, if the text is exactly that call.
fn call(text: &str, method: &str) -> Option<Vec<String>> {
    let arguments =
        text.strip_prefix("get_ipython().")?.strip_prefix(method)?.strip_prefix('(')?.strip_suffix(')')?;
    let mut characters = arguments.chars().peekable();
    let mut values = Vec::new();
    loop {
        while characters.next_if(|character| character.is_whitespace()).is_some() {}
        if characters.peek().is_none() {
            return Some(values);
        }
        values.push(literal(&mut characters)?);
        while characters.next_if(|character| character.is_whitespace()).is_some() {}
        if characters.next().is_some_and(|character| character != ',') {
            return None;
        }
    }
}

/// One Python string literal, as `repr` writes it.
fn literal(characters: &mut Peekable<Chars<'_>>) -> Option<String> {
    characters.next_if(|character| matches!(character, 'u' | 'U'));
    let quote = characters.next().filter(|character| matches!(character, '\'' | '"'))?;
    let mut text = String::new();
    loop {
        match characters.next()? {
            character if character == quote => return Some(text),
            '\\' => match characters.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'x' => text.push(escaped(characters, 2)?),
                'u' => text.push(escaped(characters, 4)?),
                'U' => text.push(escaped(characters, 8)?),
                same @ ('\\' | '\'' | '"') => text.push(same),
                other => text.extend(['\\', other]),
            },
            character => text.push(character),
        }
    }
}

fn escaped(characters: &mut Peekable<Chars<'_>>, digits: usize) -> Option<char> {
    let code: String = characters.by_ref().take(digits).collect();
    char::from_u32(u32::from_str_radix(&code, 16).ok()?)
}

/// A Python string literal, quoted as `repr` does.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            character if character == quote => out.extend(['\\', character]),
            character if character.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(character))),
            character => out.push(character),
        }
    }
    out.push(quote);
    out
}

/// What is still open at the end of a line: only outside of it can a special line start.
#[derive(Default)]
struct Openings {
    brackets: usize,
    triple: Option<char>,
    continued: bool,
}

impl Openings {
    fn inside(&self) -> bool {
        self.brackets > 0 || self.triple.is_some() || self.continued
    }

    fn read(&mut self, line: &str) {
        self.continued = false;
        let mut rest = line;
        let mut string: Option<char> = None;
        while let Some(character) = rest.chars().next() {
            let after = &rest[character.len_utf8()..];
            let tripled = |quote: char| rest.chars().take(3).filter(|next| *next == quote).count() == 3;
            match (self.triple, string) {
                (_, _) if character == '\\' => {
                    self.continued = after.is_empty() && self.triple.is_none();
                    rest = after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or("");
                    continue;
                }
                (Some(quote), _) => {
                    if character == quote && tripled(quote) {
                        self.triple = None;
                        rest = &rest[3..];
                        continue;
                    }
                }
                (None, Some(quote)) => {
                    if character == quote {
                        string = None;
                    }
                }
                (None, None) => match character {
                    '\'' | '"' if tripled(character) => {
                        self.triple = Some(character);
                        rest = &rest[3..];
                        continue;
                    }
                    '\'' | '"' => string = Some(character),
                    '(' | '[' | '{' => self.brackets += 1,
                    ')' | ']' | '}' => self.brackets = self.brackets.saturating_sub(1),
                    '#' => return,
                    _ => {}
                },
            }
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_back() {
        for source in [
            "%matplotlib inline\nimport os\n!ls -l\nfiles = !ls\nx = %time f()\n    %timeit g()\n?os",
            "# %matplotlib inline\n# # !ls\n# %% a marker\n# %%time\n%%time",
            "a % b\n# %d of them\nx = y != z\nprint('%s' % x)\n# what?\n",
            "",
        ] {
            assert_eq!(uncomment(&comment(source)), source);
        }
        assert_eq!(comment("x = !ls\n%time y"), "# x = !ls\n# %time y");
        assert_eq!(uncomment("# %d items\n# !important\n"), "# %d items\n!important\n");
    }

    #[test]
    fn calls_and_back() {
        for (source, calls) in [
            ("%matplotlib inline", "get_ipython().run_line_magic('matplotlib', 'inline')"),
            ("    %time f('a')", "    get_ipython().run_line_magic('time', \"f('a')\")"),
            ("!pip install x", "get_ipython().system('pip install x')"),
            ("files = !ls", "files = get_ipython().getoutput('ls')"),
            ("df.head?", "get_ipython().run_line_magic('pinfo', 'df.head')"),
            ("%%bash -e\nls\necho 'a'", "get_ipython().run_cell_magic('bash', '-e', \"ls\\necho 'a'\\n\")"),
            ("s = '''\n%time x\n'''\nf(\n%time\n)", "s = '''\n%time x\n'''\nf(\n%time\n)"),
            ("x = a \\\n%b", "x = a \\\n%b"),
        ] {
            assert_eq!(to_calls(source), calls);
            assert_eq!(from_calls(calls), source);
        }
        assert_eq!(from_calls("get_ipython().magic(u'matplotlib inline')"), "%matplotlib inline");
        assert_eq!(from_calls("get_ipython().system(u'ls \\xe9')"), "!ls \u{e9}");
        assert_eq!(from_calls("f(get_ipython().system('ls'))"), "f(get_ipython().system('ls'))");
    }
}
