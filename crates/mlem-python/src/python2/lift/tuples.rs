//! Tuples where Python 3 takes none: as parameters, and bare in a list comprehension.

use std::ops::Range;

use super::Lift;
use crate::python2::lexer::Kind;

impl<'a> Lift<'a> {
    /// `[f(x) for x in 1, 2]`: Python 3 wants the tuple in parentheses.
    pub(super) fn list_comprehension(&mut self, open: usize) {
        let Some(close) = self.closing(open) else { return };
        let depth = self.depth(open) + 1;
        let Some(mut at) = self.find(open + 1..close, depth, "for") else { return };
        while let Some(keyword) = self.find(at..close, depth, "in") {
            let end = (keyword + 1..close)
                .find(|&at| self.depth(at) == depth && matches!(self.tokens.text(at), "for" | "if"))
                .unwrap_or(close);
            if self.find(keyword + 1..end, depth, ",").is_some() && keyword + 1 < end {
                self.insert(self.start(keyword + 1), "(");
                self.insert(self.end(end - 1), ")");
                self.reasons.push("tuple without parentheses in a list comprehension");
            }
            let Some(next) = self.find(end..close, depth, "for") else { break };
            at = next;
        }
    }

    /// Parenthesised parameters between two tokens: (opening, closing) and the names in each.
    fn tuple_parameters(&self, tokens: Range<usize>, depth: usize) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut at = tokens.start;
        while at < tokens.end {
            let starts_parameter =
                at == tokens.start || (self.tokens.is(at - 1, ",") && self.depth(at - 1) == depth);
            if starts_parameter
                && self.tokens.is(at, "(")
                && self.depth(at) == depth
                && let Some(close) = self.closing(at)
                && close < tokens.end
            {
                found.push((at, close));
                at = close;
            }
            at += 1;
        }
        found
    }

    /// A name for a tuple parameter made of its parts, unlike any name of the source.
    fn parameter_name(&self, open: usize, close: usize) -> String {
        let parts = (open..close).filter(|&at| self.tokens.kind(at) == Some(Kind::Name));
        let mut name = parts.map(|at| self.tokens.text(at)).collect::<Vec<_>>().join("_");
        while (0..self.tokens.tokens.len()).any(|at| self.tokens.is(at, &name)) {
            name.push('_');
        }
        name
    }

    pub(super) fn lambda(&mut self, keyword: usize) {
        let depth = self.depth(keyword);
        let limit = self.tokens.tokens.len();
        let Some(colon) = self.find(keyword + 1..limit, depth, ":") else { return };
        let tuples = self.tuple_parameters(keyword + 1..colon, depth);
        if tuples.is_empty() {
            return;
        }
        self.reasons.push("tuple parameter");
        let end = self.lambda_end(colon + 1, depth);
        for (open, close) in tuples {
            let name = self.parameter_name(open, close);
            let mut paths = Vec::new();
            self.tuple_paths(open, close, "", &mut paths);
            self.take(self.start(open)..self.end(close));
            self.replace(self.start(open)..self.end(close), name.clone());
            for at in colon + 1..end {
                let is_use = self.tokens.kind(at) == Some(Kind::Name) && !self.tokens.is(at - 1, ".");
                let is_keyword = self.tokens.is(at + 1, "=") && self.depth(at) > depth;
                if let Some((_, path)) = paths.iter().find(|(part, _)| *part == self.tokens.text(at))
                    && is_use
                    && !is_keyword
                {
                    self.replace(self.tokens.tokens[at].range.clone(), format!("{name}{path}"));
                }
            }
        }
    }

    /// The subscripts that reach each name of a nested tuple: `b` of `(a, (b, c))` is `[1][0]`.
    fn tuple_paths(&self, open: usize, close: usize, prefix: &str, paths: &mut Vec<(&'a str, String)>) {
        let (mut index, mut at) = (0, open + 1);
        while at < close {
            match self.tokens.text(at) {
                "," => index += 1,
                "(" => {
                    let inner = self.closing(at).unwrap_or(close);
                    self.tuple_paths(at, inner, &format!("{prefix}[{index}]"), paths);
                    at = inner;
                }
                name => paths.push((name, format!("{prefix}[{index}]"))),
            }
            at += 1;
        }
    }

    /// The token behind a lambda's body.
    fn lambda_end(&self, body: usize, depth: usize) -> usize {
        (body..self.tokens.tokens.len())
            .find(|&at| {
                self.tokens.kind(at) == Some(Kind::Newline)
                    || (self.depth(at) < depth)
                    || (self.depth(at) == depth
                        && matches!(self.tokens.text(at), "," | ")" | "]" | "}" | ";" | "for" | ":" | "="))
            })
            .unwrap_or(self.tokens.tokens.len())
    }

    pub(super) fn definition(&mut self, keyword: usize, colon: usize) {
        let Some(open) = self.find(keyword..colon, 0, "(") else { return };
        let Some(close) = self.closing(open) else { return };
        let tuples = self.tuple_parameters(open + 1..close, 1);
        if tuples.is_empty() {
            return;
        }
        self.reasons.push("tuple parameter");
        let mut unpacking = Vec::new();
        for (open, close) in tuples {
            let name = self.parameter_name(open, close);
            let range = self.start(open)..self.end(close);
            let pattern = self.tokens.source[range.clone()].replace(['\n', '\r'], " ");
            unpacking.push(format!("{pattern} = {name}"));
            self.take(range.clone());
            self.replace(range, name);
        }
        self.insert_in_body(colon, &unpacking.join("; "));
    }
}
