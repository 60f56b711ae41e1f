//! IPython's additions to Python: `%magic`, `%%magic`, `!command`, `name?`.

use ruff_python_ast as ast;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, IpyEscapeKind, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};

/// What kind of escape a [`Magic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicKind {
    /// `%name argument`, or a bare `pip install …` that IPython's automagic takes as one.
    Line,
    /// `%%name argument` in the first line of a cell.
    Cell,
    /// `!command` or `!!command`.
    Shell,
    /// `name?`, `?name`, `name??`.
    Help,
    /// `,f a b`, `;f a b` and `/f a b`: a call written without quotes or parentheses.
    Quote,
}

/// One IPython escape in a unit's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Magic {
    /// The escape with its argument, without the assignment it may stand in.
    pub range: TextRange,
    /// Which escape it is.
    pub kind: MagicKind,
    /// The magic's name without `%`; `!` or `!!` for a shell command, `?` or `??` for help.
    pub name: String,
    /// What follows the name, trimmed: `inline` of `%matplotlib inline`, the command of
    /// `!command`, the object of `object?`.
    pub argument: String,
    /// The source text of the target in `target = %magic` or `target = !command`.
    pub assigned: Option<String>,
}

/// Cell magics whose body IPython compiles and runs as Python in the kernel's own namespace:
/// IPython 8's `%time`, `%timeit`, `%capture`, `%prun` (also as cell magics), and of common
/// extensions memory_profiler's `%%memit`, autotime's and wandb's wrappers.
const PYTHON_CELL_MAGICS: &[&str] = &[
    "time",
    "timeit",
    "capture",
    "prun",
    "memit",
    "mprun",
    "heat",
    "snakeviz",
    "scalene",
    "wandb",
    "notify",
    "matplotlib",
    "pylab",
    "debug",
    "skip_if",
    "ignore_warnings",
    "px",
    "pyinstrument",
    "chime",
    "html_capture",
];

/// Commands that IPython runs as magics without a `%` when automagic is on (its default) and
/// the line cannot be Python: `%pip`, `%conda` and the aliases of IPython.core.magics.osm.
const AUTOMAGIC: &[&str] = &[
    "pip",
    "conda",
    "mamba",
    "cd",
    "ls",
    "ll",
    "cat",
    "cp",
    "mv",
    "rm",
    "mkdir",
    "rmdir",
    "pwd",
    "less",
    "more",
    "man",
    "matplotlib",
    "load_ext",
    "pylab",
    "timeit",
    "time",
];

/// The first line of a cell, if it is a cell magic: name, argument and range of that line.
pub(crate) fn cell_magic(source: &str) -> Option<Magic> {
    // IPython drops leading empty lines before it looks for `%%`
    // (IPython.core.inputtransformer2.leading_empty_lines).
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        if !line.trim().is_empty() {
            break;
        }
        start += line.len();
    }
    let line = source[start..].lines().next()?;
    let rest = line.strip_prefix("%%")?;
    let name: String =
        rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '!' | '-' | '.')).collect();
    if name.is_empty() {
        return None;
    }
    let argument = rest[name.len()..].trim().to_owned();
    let range = TextRange::at(size(start), size(line.trim_end().len()));
    Some(Magic { range, kind: MagicKind::Cell, name, argument, assigned: None })
}

/// Whether the body of this cell magic is Python that runs in the notebook's namespace.
pub(crate) fn has_python_body(name: &str) -> bool {
    PYTHON_CELL_MAGICS.contains(&name)
}

/// A line that only automagic can run, e.g. `pip install xgboost`.
pub(crate) fn automagic(line: &str, start: usize) -> Option<Magic> {
    let text = line.trim_end();
    let indent = text.len() - text.trim_start().len();
    let text = text.trim_start();
    let (name, argument) = text.split_once([' ', '\t'])?;
    let argument = argument.trim();
    let first = argument.chars().next()?;
    // `ls = 3` and `cat (x)` are Python; a word, a path or an option is not.
    if !AUTOMAGIC.contains(&name)
        || !(first.is_alphanumeric() || matches!(first, '-' | '.' | '/' | '~' | '_' | '"' | '\''))
    {
        return None;
    }
    let range = TextRange::at(size(start + indent), size(text.len()));
    Some(Magic {
        range,
        kind: MagicKind::Line,
        name: name.to_owned(),
        argument: argument.to_owned(),
        assigned: None,
    })
}

/// Line magics whose argument is Python that runs in the notebook's namespace
/// (IPython.core.magics.execution).
const CODE_MAGICS: &[&str] = &["time", "timeit", "prun", "memit"];

/// Where the code of a line such as `%time model.fit(X)` starts, if it has any on that line.
pub(crate) fn code_offset(text: &str) -> Option<usize> {
    let line = text.lines().next()?;
    let rest = line.strip_prefix('%')?;
    let name =
        rest.split_whitespace().next().filter(|name| CODE_MAGICS.contains(name) && rest.starts_with(name))?;
    let mut at = 1 + name.len();
    // Options and their numbers: `%timeit -n 10 -r3 f()`.
    loop {
        at += line[at..].len() - line[at..].trim_start().len();
        let word = line[at..].split_whitespace().next()?;
        let is_option =
            word.starts_with('-') && word[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '-');
        if !is_option {
            break;
        }
        at += word.len();
        let value = line[at..].split_whitespace().next().unwrap_or("");
        if matches!(word, "-n" | "-r" | "-t" | "-c" | "-p") && value.bytes().all(|byte| byte.is_ascii_digit())
        {
            at += line[at..].find(value).unwrap_or(0) + value.len();
        }
    }
    (!line.trim_end().ends_with('\\')).then_some(at)
}

/// All escapes the parser found, in source order.
pub(crate) fn collect(source: &str, body: &[Stmt]) -> Vec<Magic> {
    if !source.contains(['%', '!', '?', ',', ';', '/']) {
        return Vec::new();
    }
    let mut collector = Collector { source, target: None, magics: Vec::new() };
    for stmt in body {
        collector.visit_stmt(stmt);
    }
    collector.magics
}

struct Collector<'a> {
    source: &'a str,
    target: Option<TextRange>,
    magics: Vec<Magic>,
}

impl Collector<'_> {
    fn push(&mut self, range: TextRange, kind: IpyEscapeKind, value: &str) {
        let (kind, name, argument) = match kind {
            IpyEscapeKind::Shell | IpyEscapeKind::ShCap => (MagicKind::Shell, kind.as_str(), value.trim()),
            IpyEscapeKind::Help | IpyEscapeKind::Help2 => (MagicKind::Help, kind.as_str(), value.trim()),
            IpyEscapeKind::Quote | IpyEscapeKind::Quote2 | IpyEscapeKind::Paren => {
                (MagicKind::Quote, kind.as_str(), value.trim())
            }
            IpyEscapeKind::Magic | IpyEscapeKind::Magic2 => {
                let value = value.trim();
                let (name, argument) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
                let place = if kind == IpyEscapeKind::Magic { MagicKind::Line } else { MagicKind::Cell };
                // `%!cmd` does not exist, but `%%!` is the cell form of `!!`.
                (place, name, argument.trim())
            }
        };
        let assigned = self.target.map(|target| self.source[target].to_owned());
        self.magics.push(Magic {
            range,
            kind,
            name: name.to_owned(),
            argument: argument.to_owned(),
            assigned,
        });
    }
}

impl<'a> Visitor<'a> for Collector<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::IpyEscapeCommand(ast::StmtIpyEscapeCommand { range, kind, value, .. }) => {
                self.push(*range, *kind, value);
            }
            Stmt::Assign(assign) if assign.value.is_ipy_escape_command_expr() => {
                self.target = assign.targets.first().map(Ranged::range);
                self.visit_expr(&assign.value);
                self.target = None;
            }
            // An escape is a statement or the whole right side of an assignment, so no other
            // expression can hold one.
            Stmt::FunctionDef(_)
            | Stmt::ClassDef(_)
            | Stmt::For(_)
            | Stmt::While(_)
            | Stmt::If(_)
            | Stmt::With(_)
            | Stmt::Try(_)
            | Stmt::Match(_) => walk_stmt(self, stmt),
            _ => {}
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::IpyEscapeCommand(ast::ExprIpyEscapeCommand { range, kind, value, .. }) => {
                self.push(*range, *kind, value);
            }
            _ if self.target.is_some() => walk_expr(self, expr),
            _ => {}
        }
    }
}

fn size(bytes: usize) -> TextSize {
    // Units refuse sources beyond 4 GiB before anything measures them.
    TextSize::try_from(bytes).unwrap_or_default()
}
