//! One parsed piece of source.

use std::borrow::Cow;

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{self as ast, PythonVersion, Stmt};
use ruff_python_parser::{
    Mode, ParseOptions, UnsupportedSyntaxErrorKind, parse_cells_unchecked, parse_unchecked,
};
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::magic::{self, Magic};
use crate::python2;

/// Which language a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Python 3.
    Python3,
    /// Python 2.
    Python2,
}

/// What parsing a unit gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Python 3 without a syntax error.
    Clean,
    /// Tokens that only Python 2 allows, and that the lift brings to valid Python 3.
    Python2 {
        /// What was found, e.g. `print statement`; sorted, each once.
        reasons: Vec<&'static str>,
    },
    /// A cell magic hands the cell to another language or program.
    Opaque(String),
    /// The source does not parse.
    Broken {
        /// Line of the first error, from 1.
        line: usize,
        /// Column of the first error, in characters from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Cell,
    Module,
}

/// One parsed piece of source: a code cell or a module.
#[derive(Clone, Debug)]
pub struct Unit {
    source: String,
    form: Form,
    name: Option<String>,
    body: ast::Suite,
    magics: Vec<Magic>,
    syntax: Syntax,
    python2_tokens: bool,
    errors: Vec<(TextSize, String)>,
    line_starts: Vec<u32>,
}

/// CPython refuses more open brackets (`MAXLEVEL` in Parser/tokenizer.c) and deeper
/// indentation (`MAXINDENT`) than these.
const MAX_BRACKETS: usize = 200;
const MAX_INDENTS: usize = 100;
/// Operators that nest in one expression. Walking a syntax tree is recursive, so its depth has a
/// bound; real code stays far below.
const MAX_OPERATORS: usize = 400;

impl Unit {
    /// Parses a code cell, with IPython's magics. A cell whose cell magic names another
    /// language keeps its source and has an empty body.
    pub fn cell(source: &str) -> Self {
        Self::parse(source, Form::Cell)
    }

    /// Parses a `.py` file.
    pub fn module(source: &str) -> Self {
        Self::parse(source, Form::Module)
    }

    /// Gives a module unit the dotted name by which other units import it.
    #[must_use]
    pub fn named(mut self, module: &str) -> Self {
        self.name = Some(module.to_owned());
        self
    }

    /// The dotted module name given by [`Unit::named`].
    pub fn module_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether this is a code cell rather than a module.
    pub fn is_cell(&self) -> bool {
        self.form == Form::Cell
    }

    /// Parses another source in the form of this unit.
    #[must_use]
    pub fn reparse(&self, source: &str) -> Self {
        let mut unit = Self::parse(source, self.form);
        unit.name.clone_from(&self.name);
        unit
    }

    /// The source as given.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The statements; all ranges are byte ranges of [`Unit::source`]. Of a source with
    /// syntax errors, what the parser recovered.
    pub fn body(&self) -> &[ast::Stmt] {
        &self.body
    }

    /// IPython's escapes, in source order.
    pub fn magics(&self) -> &[Magic] {
        &self.magics
    }

    /// What parsing gave.
    pub fn syntax(&self) -> &Syntax {
        &self.syntax
    }

    /// Line from 1 and column in characters from 1 of a byte offset.
    pub fn position(&self, at: TextSize) -> (usize, usize) {
        let at = at.to_u32().min(u32::try_from(self.source.len()).unwrap_or(u32::MAX));
        let line = self.line_starts.partition_point(|&start| start <= at);
        let start = self.line_starts.get(line.wrapping_sub(1)).copied().unwrap_or(0);
        let mut end = at as usize;
        while !self.source.is_char_boundary(end) {
            end -= 1;
        }
        let column = self.source.get(start as usize..end).map_or(0, |text| text.chars().count());
        (line.max(1), column + 1)
    }

    /// First and last line of a range, from 1. A range that ends at a line's start does not
    /// count that line.
    pub fn lines(&self, range: TextRange) -> (usize, usize) {
        let first = self.position(range.start()).0;
        let (last, column) = self.position(range.end());
        if column == 1 && last > first { (first, last - 1) } else { (first, last) }
    }

    /// The byte range of a line counted from 1, without its line break.
    pub fn line_range(&self, line: usize) -> Option<TextRange> {
        let start = *self.line_starts.get(line.checked_sub(1)?)?;
        let rest = &self.source[start as usize..];
        let text = rest.split('\n').next().unwrap_or("");
        let text = text.strip_suffix('\r').unwrap_or(text);
        Some(TextRange::at(start.into(), TextSize::try_from(text.len()).ok()?))
    }

    /// The text of a line counted from 1, without its line break; empty where there is no such line.
    pub fn line_text(&self, line: usize) -> &str {
        self.line_range(line).map_or("", |range| &self.source[range])
    }

    /// Whether the source holds tokens that only Python 2 allows, whether it parses or not.
    pub(crate) fn has_python2_tokens(&self) -> bool {
        self.python2_tokens
    }

    /// The first error that the Python 3 parser finds in a source of this unit's form.
    pub(crate) fn python3_error(&self, source: &str) -> Option<(usize, usize, String)> {
        let parsed = Parsed::new(source, self.form);
        let (at, message) = parsed.errors.into_iter().next()?;
        let before = source.get(..at.to_usize()).unwrap_or(source);
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        Some((before.matches('\n').count() + 1, before[line..].chars().count() + 1, message))
    }

    /// How many errors the Python 3 parser found.
    pub fn error_count(&self) -> usize {
        self.errors.len()
    }

    pub(crate) fn first_error(&self) -> (usize, usize, String) {
        match self.errors.first() {
            Some((at, message)) => {
                let (line, column) = self.position(*at);
                (line, column, message.clone())
            }
            None => (1, 1, String::new()),
        }
    }

    fn parse(source: &str, form: Form) -> Self {
        let mut unit = Self {
            source: source.to_owned(),
            form,
            name: None,
            body: ast::Suite::new(),
            magics: Vec::new(),
            syntax: Syntax::Clean,
            python2_tokens: false,
            errors: Vec::new(),
            line_starts: Vec::new(),
        };
        if u32::try_from(source.len()).is_err() {
            unit.break_at(TextSize::new(0), "source is larger than 4 GiB".to_owned());
            return unit;
        }
        unit.line_starts.push(0);
        // Sources beyond 4 GiB were refused above, so the offsets fit.
        unit.line_starts
            .extend(source.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at as u32 + 1));

        if form == Form::Cell
            && let Some(magic) = magic::cell_magic(source)
            && !magic::has_python_body(&magic.name)
        {
            unit.syntax = Syntax::Opaque(magic.name.clone());
            unit.magics.push(magic);
            return unit;
        }
        unit.parse_python(source);
        unit
    }

    fn parse_python(&mut self, source: &str) {
        let mut parsed = Parsed::new(source, self.form);
        let mut automagics = Vec::new();
        if !parsed.errors.is_empty() && self.form == Form::Cell {
            let blanked = blank_automagics(source, &mut automagics);
            if !automagics.is_empty() {
                let again = Parsed::new(&blanked, self.form);
                if again.errors.len() < parsed.errors.len() {
                    parsed = again;
                } else {
                    automagics.clear();
                }
            }
        }
        self.body = parsed.body;
        self.errors = parsed.errors;
        self.magics = magic::collect(source, &self.body);
        if !self.magics.is_empty() {
            embed_code(source, &mut self.body);
        }
        self.magics.append(&mut automagics);
        self.magics.sort_by_key(|magic| magic.range.start());

        let suspicious =
            !self.errors.is_empty() || parsed.unparenthesised_except || python2::prints_to_a_file(source);
        if !suspicious {
            return;
        }
        let recognised = python2::recognise(self);
        self.python2_tokens = recognised.certain;
        self.syntax = match (recognised.reasons.is_empty(), recognised.remaining) {
            (false, None) => Syntax::Python2 { reasons: recognised.reasons },
            (false, Some((line, column, message))) => Syntax::Broken { line, column, message },
            (true, _) if self.errors.is_empty() => Syntax::Clean,
            (true, _) => {
                let (line, column, message) = self.first_error();
                Syntax::Broken { line, column, message }
            }
        };
    }

    fn break_at(&mut self, at: TextSize, message: String) {
        self.syntax = Syntax::Broken { line: 1, column: 1, message: message.clone() };
        self.errors.push((at, message));
    }
}

struct Parsed {
    body: ast::Suite,
    errors: Vec<(TextSize, String)>,
    /// `except A, B:`, which Python 2 and Python 3.14 read differently.
    unparenthesised_except: bool,
}

impl Parsed {
    fn new(source: &str, form: Form) -> Self {
        let mode = match form {
            Form::Cell => Mode::Ipython,
            Form::Module => Mode::Module,
        };
        let options = ParseOptions::from(mode).with_target_version(PythonVersion::PY313);
        let dedented = if form == Form::Cell { without_leading_indent(source) } else { source.into() };
        let readable = if form == Form::Cell { without_stray_escapes(&dedented) } else { dedented };
        // The parser is meant never to panic and did on a few broken sources.
        let Ok(parsed) = std::panic::catch_unwind(|| parse_unchecked(&readable, options)) else {
            let errors = vec![(TextSize::new(0), "the parser gave up".to_owned())];
            return Self { body: ast::Suite::new(), errors, unparenthesised_except: false };
        };
        // A source shorter than the bound cannot nest beyond it.
        let depth_error = if source.len() > MAX_OPERATORS { too_deep(parsed.tokens()) } else { None };
        let mut errors: Vec<(TextSize, String)> =
            parsed.errors().iter().map(|error| (error.location.start(), error.error.to_string())).collect();
        errors.sort_by_key(|(at, _)| *at);
        let unparenthesised_except = parsed
            .unsupported_syntax_errors()
            .iter()
            .any(|error| matches!(error.kind, UnsupportedSyntaxErrorKind::UnparenthesizedExceptionTypes));
        let mut body = match parsed.into_syntax() {
            ast::Mod::Module(module) => module.body,
            ast::Mod::Expression(_) => ast::Suite::new(),
        };
        if let Some(at) = depth_error {
            errors.insert(0, (at, "code is nested too deeply".to_owned()));
            discard(std::mem::take(&mut body));
        }
        Self { body, errors, unparenthesised_except }
    }
}

/// Undoes, at equal length, the indentation of a whole cell, as IPython does
/// (IPython.core.inputtransformer2.leading_indent): each line loses the first line's indentation.
/// A form feed in place of its last character makes the parser count from there.
fn without_leading_indent(source: &str) -> Cow<'_, str> {
    let Some(first) = source.split('\n').find(|line| !line.trim().is_empty()) else { return source.into() };
    let indent = &first[..first.len() - first.trim_start_matches([' ', '\t']).len()];
    if indent.is_empty() {
        return source.into();
    }
    let mut result = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        match line.strip_prefix(indent) {
            Some(rest) => {
                result.push_str(&indent[..indent.len() - 1]);
                result.push('\x0c');
                result.push_str(rest);
            }
            None => result.push_str(line),
        }
    }
    result.into()
}

/// Whether the line that starts at a byte starts like an escape other than `%` and `!`.
fn is_escape_start(source: &[u8], mut at: usize) -> bool {
    while matches!(source.get(at), Some(b' ' | b'\t' | b'\x0c')) {
        at += 1;
    }
    match source.get(at) {
        Some(b',' | b';' | b'/' | b'?') => true,
        Some(first @ (b'%' | b'!')) => source.get(at + 1) == Some(first),
        _ => false,
    }
}

/// Makes comments of lines that start like an escape in a cell whose brackets do not match: the
/// parser (ruff 0.0.10, `parse_ipython_escape_command_expression`) panics when its recovery meets
/// such a line inside an expression.
fn without_stray_escapes(source: &str) -> Cow<'_, str> {
    let is_escape = |line: &str| {
        let line = line.trim_start();
        line.starts_with([',', ';', '/', '?']) || line.starts_with("%%") || line.starts_with("!!")
    };
    let first_line = source.find(['\n', '\r']).unwrap_or(source.len());
    let rest = &source[first_line..];
    let suspicious = rest.match_indices('\n').any(|(at, _)| is_escape_start(rest.as_bytes(), at + 1))
        || (rest.contains('\r') && rest.split('\r').any(is_escape));
    if !suspicious || python2::brackets_match(source) {
        return source.into();
    }
    let mut result = source[..first_line].to_owned();
    for line in source[first_line..].split_inclusive(['\n', '\r']) {
        if is_escape(line) {
            let indent = line.len() - line.trim_start().len();
            result.push_str(&line[..indent]);
            result.push('#');
            // All of these escapes start with an ASCII character.
            result.push_str(&line[indent + 1..]);
        } else {
            result.push_str(line);
        }
    }
    result.into()
}

/// Where code is nested so deeply that CPython refuses it or a recursive walk could not follow.
fn too_deep(tokens: &[ast::token::Token]) -> Option<TextSize> {
    // Operators since the last comma, for each open bracket; a comma's sides do not nest.
    let mut operators = vec![0_usize];
    let mut total = 0;
    let mut indents = 0_usize;
    for token in tokens {
        let kind = token.kind();
        match kind {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => operators.push(0),
            TokenKind::Comma => {
                total -= operators.last().copied().unwrap_or(0);
                operators.pop();
                operators.push(0);
            }
            TokenKind::Newline | TokenKind::Semi => {
                operators.truncate(1);
                operators[0] = 0;
                total = 0;
            }
            TokenKind::Indent => indents += 1,
            TokenKind::Dedent => indents = indents.saturating_sub(1),
            _ if kind.is_operator() || kind.is_keyword() => {
                if matches!(kind, TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace)
                    && operators.len() > 1
                {
                    total -= operators.pop().unwrap_or(0);
                }
                // A closing bracket may end a call, one more level: `f()()()`.
                if let Some(count) = operators.last_mut() {
                    *count += 1;
                    total += 1;
                }
            }
            _ => {}
        }
        if operators.len() > MAX_BRACKETS || indents > MAX_INDENTS || total > MAX_OPERATORS {
            return Some(token.start());
        }
    }
    None
}

/// Drops a tree too deep for this thread's stack on one whose stack is large enough.
fn discard(body: ast::Suite) {
    const STACK: usize = 1 << 30;
    let builder = std::thread::Builder::new().stack_size(STACK);
    if let Ok(handle) = builder.spawn(move || drop(body)) {
        // The thread only frees memory; there is nothing to learn from its end.
        let _ = handle.join();
    }
}

/// Replaces `%time code` and the like by the statements in it, at their own ranges.
fn embed_code(source: &str, body: &mut ast::Suite) {
    let mut at = 0;
    while at < body.len() {
        match &mut body[at] {
            Stmt::IpyEscapeCommand(escape) if escape.kind == ast::IpyEscapeKind::Magic => {
                if let Some(code) = magic_code(source, escape.range) {
                    let count = code.len();
                    body.remove(at);
                    for (index, stmt) in code.into_iter().enumerate() {
                        body.insert(at + index, stmt);
                    }
                    at += count;
                    continue;
                }
            }
            Stmt::Assign(assign) => {
                if let ast::Expr::IpyEscapeCommand(escape) = assign.value.as_ref()
                    && escape.kind == ast::IpyEscapeKind::Magic
                    && let Some(code) = magic_code(source, escape.range)
                    && let Ok([Stmt::Expr(statement)]) =
                        <[Stmt; 1]>::try_from(code.into_iter().collect::<Vec<_>>())
                {
                    assign.value = statement.value;
                }
            }
            Stmt::If(statement) => {
                embed_code(source, &mut statement.body);
                statement
                    .elif_else_clauses
                    .iter_mut()
                    .for_each(|clause| embed_code(source, &mut clause.body));
            }
            Stmt::For(statement) => embed_code(source, &mut statement.body),
            Stmt::While(statement) => embed_code(source, &mut statement.body),
            Stmt::With(statement) => embed_code(source, &mut statement.body),
            Stmt::Try(statement) => embed_code(source, &mut statement.body),
            Stmt::FunctionDef(function) => embed_code(source, &mut function.body),
            _ => {}
        }
        at += 1;
    }
}

/// The statements of a line magic's argument, if it is Python.
fn magic_code(source: &str, range: TextRange) -> Option<ast::Suite> {
    let offset = magic::code_offset(source.get(range.start().to_usize()..range.end().to_usize())?)?;
    let start = range.start() + TextSize::try_from(offset).ok()?;
    if start >= range.end() {
        return None;
    }
    let code = TextRange::new(start, range.end());
    let options = ParseOptions::from(Mode::Module);
    let parsed = parse_cells_unchecked(source, [code], &options);
    let usable = parsed.errors().is_empty() && too_deep(parsed.tokens()).is_none();
    usable.then(|| parsed.into_syntax().body)
}

/// Turns lines that only automagic can run into comments of equal length.
fn blank_automagics(source: &str, found: &mut Vec<Magic>) -> String {
    let mut result = String::with_capacity(source.len());
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        match magic::automagic(line, start) {
            Some(magic) => {
                let before = magic.range.start().to_usize() - start;
                result.push_str(&line[..before]);
                // All automagic names are ASCII, so the first byte is a whole character.
                result.push('#');
                result.push_str(&line[before + 1..]);
                found.push(magic);
            }
            None => result.push_str(line),
        }
        start += line.len();
    }
    result
}
