//! TPU set-up written for Kaggle: without a TPU the default strategy stands in for it, and what
//! `KaggleDatasets().get_gcs_path()` named in a bucket lies in the data folder.
//!
//! Sources: TensorFlow guide, Use TPUs and Distributed training with TensorFlow (`get_strategy`); Kaggle's
//! documentation of TPUs (`kaggle_datasets`).

use mlem_python::ast::visitor::{Visitor, walk_expr, walk_stmt};
use mlem_python::ast::{Expr, ExprCall, Stmt};
use mlem_python::{Edit, Program, Ranged};

use crate::comment::comment_out;

/// The edits by unit that let a notebook run without the TPU that `unit` asks for at `line`, where no handler of its
/// own catches that there is none.
pub(crate) fn without_tpu(program: &Program, unit: usize, line: usize) -> Vec<(usize, Vec<Edit>)> {
    let parsed = &program.units()[unit];
    let asks = |call: &ExprCall| ends_with(program, unit, &call.func, "TPUClusterResolver");
    let resolver = parsed.body().iter().find_map(|statement| {
        let (first, last) = parsed.lines(statement.range());
        let Stmt::Assign(assign) = statement else { return None };
        let [Expr::Name(name)] = assign.targets.as_slice() else { return None };
        let here = (first..=last).contains(&line) && contains_call(&assign.value, &asks);
        here.then(|| (name.id.to_string(), assign.value.range()))
    });
    let Some((name, range)) = resolver else { return Vec::new() };
    let mut all = vec![(unit, vec![Edit::replacement(range, "None")])];
    for (at, parsed) in program.units().iter().enumerate().skip(unit) {
        let mut uses = TpuUses { program, unit: at, source: parsed.source(), name: &name, edits: Vec::new() };
        for statement in parsed.body() {
            uses.visit_stmt(statement);
        }
        if uses.edits.is_empty() {
            continue;
        }
        match all.iter_mut().find(|(known, _)| *known == at) {
            Some((_, edits)) => edits.extend(uses.edits),
            None => all.push((at, uses.edits)),
        }
    }
    all
}

/// Statements that talk to the TPU go; the strategy for it becomes the default one.
struct TpuUses<'a> {
    program: &'a Program,
    unit: usize,
    source: &'a str,
    name: &'a str,
    edits: Vec<Edit>,
}

impl<'a> Visitor<'a> for TpuUses<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        // Code under `if tpu:` is not reached.
        if matches!(statement, Stmt::If(test) if matches!(&*test.test, Expr::Name(name) if name.id == self.name))
        {
            return;
        }
        if let Stmt::Expr(expression) = statement
            && is_about(&expression.value, self.name)
            && let Some(edit) = comment_out(self.source, statement.range())
        {
            self.edits.push(edit);
            return;
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr
            && ends_with(self.program, self.unit, &call.func, "TPUStrategy")
        {
            let module = &self.source[call.func.range()];
            let module = module.strip_suffix(".TPUStrategy").unwrap_or(module);
            let module = module.strip_suffix(".experimental").unwrap_or(module);
            if module.contains('.') {
                self.edits.push(Edit::replacement(call.range(), format!("{module}.get_strategy()")));
                return;
            }
        }
        walk_expr(self, expr);
    }
}

/// Whether a call is given the resolver, or asks it something (`print(tpu.master())`).
fn is_about(expr: &Expr, name: &str) -> bool {
    struct Mentions<'n> {
        name: &'n str,
        found: bool,
    }
    impl<'a> Visitor<'a> for Mentions<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.found |= matches!(expr, Expr::Name(name) if name.id == self.name);
            walk_expr(self, expr);
        }
    }
    let mut mentions = Mentions { name, found: false };
    mentions.visit_expr(expr);
    matches!(expr, Expr::Call(_)) && mentions.found
}

fn contains_call(expr: &Expr, wanted: &dyn Fn(&ExprCall) -> bool) -> bool {
    struct Calls<'w> {
        wanted: &'w dyn Fn(&ExprCall) -> bool,
        found: bool,
    }
    impl<'a> Visitor<'a> for Calls<'_> {
        fn visit_expr(&mut self, expr: &'a Expr) {
            self.found |= matches!(expr, Expr::Call(call) if (self.wanted)(call));
            walk_expr(self, expr);
        }
    }
    let mut calls = Calls { wanted, found: false };
    calls.visit_expr(expr);
    calls.found
}

/// Whether what is called goes by this last name, in full or as written.
fn ends_with(program: &Program, unit: usize, func: &Expr, last: &str) -> bool {
    let written = match func {
        Expr::Attribute(attribute) => attribute.attr.as_str() == last,
        Expr::Name(name) => name.id.as_str() == last,
        _ => false,
    };
    written || program.qualified_name(unit, func).is_some_and(|name| name.rsplit('.').next() == Some(last))
}

/// The edits by unit that read Kaggle's data sets from folders instead of from their buckets. `folder` tells where a
/// data set lies, or the data itself when the call names none.
pub(crate) fn without_buckets(
    program: &Program,
    folder: &dyn Fn(Option<&str>) -> String,
) -> Vec<(usize, Vec<Edit>)> {
    let mut all = Vec::new();
    for (unit, parsed) in program.units().iter().enumerate() {
        let source = parsed.source();
        let mut edits = Vec::new();
        for statement in parsed.body() {
            let mut imports = program
                .imports()
                .iter()
                .filter(|import| import.unit == unit && import.range == statement.range());
            if imports.clone().next().is_some()
                && imports.all(|import| import.module.split('.').next() == Some("kaggle_datasets"))
            {
                edits.extend(comment_out(source, statement.range()));
                continue;
            }
            let mut buckets = Buckets { folder, edits: Vec::new() };
            buckets.visit_stmt(statement);
            edits.extend(buckets.edits);
        }
        if !edits.is_empty() {
            all.push((unit, edits));
        }
    }
    all
}

struct Buckets<'f> {
    folder: &'f dyn Fn(Option<&str>) -> String,
    edits: Vec<Edit>,
}

impl<'a> Visitor<'a> for Buckets<'_> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Call(call) = expr {
            match &*call.func {
                Expr::Attribute(attribute) if attribute.attr.as_str() == "get_gcs_path" => {
                    let folder = match &*call.arguments.args {
                        [] => Some((self.folder)(None)),
                        [Expr::StringLiteral(name)] => Some((self.folder)(Some(name.value.to_str()))),
                        _ => None,
                    };
                    if let Some(folder) = folder.filter(|folder| !folder.contains(['\'', '\\'])) {
                        self.edits.push(Edit::replacement(call.range(), format!("'{folder}'")));
                        return;
                    }
                }
                Expr::Name(name) if name.id.as_str() == "KaggleDatasets" => {
                    // `datasets = KaggleDatasets()`: only its paths are asked for, and those are written out.
                    self.edits.push(Edit::replacement(call.range(), "None"));
                    return;
                }
                _ => {}
            }
        }
        walk_expr(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use mlem_python::{EditSet, Unit};

    use super::*;

    fn applied(cell: &str, edits: Vec<(usize, Vec<Edit>)>) -> String {
        let mut set = EditSet::new();
        for (_, unit) in edits {
            set.add_all(unit).unwrap();
        }
        set.apply(cell).unwrap()
    }

    #[test]
    fn the_default_strategy_stands_in_for_a_tpu() {
        let cell = "import tensorflow as tf\n\
            tpu = tf.distribute.cluster_resolver.TPUClusterResolver()\n\
            print('on', tpu.master())\n\
            tf.config.experimental_connect_to_cluster(tpu)\n\
            strategy = tf.distribute.experimental.TPUStrategy(tpu)\n\
            print(strategy.num_replicas_in_sync)";
        let program = Program::new(vec![Unit::cell(cell)]);
        assert_eq!(
            applied(cell, without_tpu(&program, 0, 2)),
            "import tensorflow as tf\n\
            tpu = None\n\
            # print('on', tpu.master())\n\
            # tf.config.experimental_connect_to_cluster(tpu)\n\
            strategy = tf.distribute.get_strategy()\n\
            print(strategy.num_replicas_in_sync)"
        );
        assert!(without_tpu(&program, 0, 3).is_empty(), "another line failed");
    }

    #[test]
    fn buckets_become_folders() {
        let cell = "from kaggle_datasets import KaggleDatasets\n\
            a = KaggleDatasets().get_gcs_path('flowers')\n\
            b = KaggleDatasets().get_gcs_path() + '/x'";
        let program = Program::new(vec![Unit::cell(cell)]);
        let folder = |name: Option<&str>| name.map_or("input".to_owned(), |name| format!("input/{name}"));
        assert_eq!(
            applied(cell, without_buckets(&program, &folder)),
            "# from kaggle_datasets import KaggleDatasets\na = 'input/flowers'\nb = 'input' + '/x'"
        );
    }
}
