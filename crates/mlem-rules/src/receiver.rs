//! The value that a distinctive name is looked up on, where a rule has no condition about its type.
//! `as_matrix` alone is proof enough only where the library is in use and nothing says that the value
//! is another one.

use mlem_python::ast::Expr;
use mlem_python::{MagicKind, Program};

use crate::condition::{Verdict, is_module, shortened, source};
use crate::rule::Rule;
use crate::target::Question;

/// Import names of a library, and of those that hand out its objects or pass arguments on to it.
/// Others are imported by the name of their distribution.
const IMPORTS: &[(&str, &[&str])] = &[
    ("imbalanced-learn", &["imblearn"]),
    ("ipython", &["IPython"]),
    ("keras", &["keras", "tensorflow"]),
    ("matplotlib", &["matplotlib", "pylab", "mpl_toolkits", "seaborn", "pandas"]),
    ("pandas", &["pandas", "geopandas", "seaborn"]),
    ("pillow", &["PIL"]),
    ("scikit-image", &["skimage"]),
    ("scikit-learn", &["sklearn"]),
    ("tensorflow", &["tensorflow", "keras"]),
];

/// Whether a dotted name begins with an import name of a library.
fn is_of(library: &str, name: &str) -> bool {
    let root = name.split('.').next().unwrap_or(name);
    match IMPORTS.iter().find(|(listed, _)| *listed == library) {
        Some((_, roots)) => roots.contains(&root),
        None => root == library.replace('-', "_"),
    }
}

/// Whether a program uses a library: by an import, by `%pylab`, or perhaps through a star import.
fn is_in_use(program: &Program, library: &str) -> bool {
    let pylab = || {
        let magics = program.units().iter().flat_map(|unit| unit.magics());
        let mut line_magics = magics.filter(|magic| magic.kind == MagicKind::Line);
        line_magics.any(|magic| magic.name == "pylab") && matches!(library, "matplotlib" | "numpy")
    };
    program.imports().iter().any(|import| import.is_star || is_of(library, &import.module)) || pylab()
}

/// What is known about a match that only a distinctive name makes; `receiver` is the value it was
/// looked up on, if the rule is about one.
pub(crate) fn decide(question: &Question, rule: &Rule, unit: usize, receiver: Option<&Expr>) -> Verdict {
    let program = question.program;
    let is_language = rule.library == "python";
    if let Some(receiver) = receiver {
        if let Some(name) = program.qualified_name(unit, receiver)
            && (is_module(question, unit, receiver) || is_of(&rule.library, name))
            && !name.rsplit('.').next().is_some_and(|last| last.starts_with(char::is_uppercase))
        {
            // The functions of pyplot are the methods of the current figure and its axes.
            let is_pyplot = rule.library == "matplotlib" && is_of("matplotlib", name);
            return if is_pyplot { Verdict::Proven } else { Verdict::Refuted };
        }
        if let Expr::Name(name) = receiver
            && matches!(name.id.as_str(), "self" | "cls")
        {
            return Verdict::Unknown(format!("`{}` is of a class of the notebook's own", name.id));
        }
        if let Some(found) = program.type_of(unit, receiver) {
            let root = found.split('.').next().unwrap_or(found);
            let is_own = root == "__main__";
            let is_builtin = !found.contains('.') && !is_language;
            // An array is no frame; that other libraries hand out frames is their business.
            let is_array = rule.library == "pandas" && matches!(root, "numpy" | "scipy");
            if is_own || is_builtin || is_array {
                return Verdict::Refuted;
            }
        }
    }
    if is_language || is_in_use(program, &rule.library) {
        return Verdict::Proven;
    }
    let what = receiver.map_or_else(
        || format!("`{}` is not imported", rule.library),
        |receiver| {
            let text = shortened(source(question, unit, receiver));
            format!("whether `{text}` is of `{}`, which is not imported, is not known", rule.library)
        },
    );
    Verdict::Unknown(what)
}
