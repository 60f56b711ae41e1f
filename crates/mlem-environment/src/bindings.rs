//! What one module's source binds at its top level.

use std::collections::{BTreeMap, BTreeSet};

use mlem_python::ast::{Expr, Stmt};

#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Class,
    Function,
    Data,
    /// `from module import name`.
    From(String, String),
    /// `import module as name`.
    Module(String),
}

#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) binds: BTreeMap<String, Binding>,
    /// `from module import *`.
    pub(crate) stars: Vec<String>,
    pub(crate) all: Option<BTreeSet<String>>,
    /// `__all__` is put together from parts that cannot be read.
    pub(crate) partial: bool,
    pub(crate) is_package: bool,
}

impl Module {
    /// Reads a body of statements of the module called `name`.
    pub(crate) fn take(&mut self, body: &[Stmt], name: &str) {
        for stmt in body {
            match stmt {
                Stmt::ClassDef(def) => drop(self.binds.insert(def.name.to_string(), Binding::Class)),
                Stmt::FunctionDef(def) => {
                    self.binds.entry(def.name.to_string()).or_insert(Binding::Function);
                }
                Stmt::Assign(assign) => {
                    for target in &assign.targets {
                        self.assign(target, &assign.value);
                    }
                }
                Stmt::AnnAssign(assign) => {
                    if let Some(value) = &assign.value {
                        self.assign(&assign.target, value);
                    }
                }
                Stmt::AugAssign(assign) if is_all(&assign.target) => self.list_all(&assign.value),
                Stmt::Expr(expr) => {
                    // `__all__.extend([…])` and `__all__.append(…)`
                    if let Expr::Call(call) = expr.value.as_ref()
                        && let Expr::Attribute(attribute) = call.func.as_ref()
                        && is_all(&attribute.value)
                        && let Some(first) = call.arguments.args.first()
                    {
                        self.list_all(first);
                    }
                }
                Stmt::Import(import) => {
                    for alias in &import.names {
                        if let Some(bound) = &alias.asname {
                            self.binds.insert(bound.to_string(), Binding::Module(alias.name.to_string()));
                        }
                    }
                }
                Stmt::ImportFrom(import) => {
                    let module = import.module.as_ref().map_or("", |module| module.as_str());
                    let Some(target) = self.absolute(name, import.level, module) else { continue };
                    for alias in &import.names {
                        let original = alias.name.as_str();
                        let bound = alias.asname.as_ref().map_or(original, |bound| bound.as_str());
                        if original == "*" {
                            self.stars.push(target.clone());
                        } else if bound == "__all__" {
                            self.partial = true;
                        } else {
                            self.binds
                                .insert(bound.to_owned(), Binding::From(target.clone(), original.to_owned()));
                        }
                    }
                }
                // Both sides of a version or platform check, and of a guarded import.
                Stmt::If(branch) => {
                    self.take(&branch.body, name);
                    for clause in &branch.elif_else_clauses {
                        self.take(&clause.body, name);
                    }
                }
                Stmt::Try(attempt) => {
                    self.take(&attempt.body, name);
                    self.take(&attempt.orelse, name);
                    self.take(&attempt.finalbody, name);
                }
                Stmt::With(with) => self.take(&with.body, name),
                _ => {}
            }
        }
    }

    fn assign(&mut self, target: &Expr, value: &Expr) {
        match target {
            Expr::Name(name) if name.id.as_str() == "__all__" => {
                self.all.get_or_insert_default();
                self.list_all(value);
            }
            Expr::Name(name) => {
                self.binds.entry(name.id.to_string()).or_insert(Binding::Data);
            }
            Expr::Tuple(tuple) => {
                // `__getattr__, __dir__, __all__ = lazy.attach_stub(…)`
                for each in &tuple.elts {
                    if is_all(each) {
                        self.partial = true;
                    } else {
                        self.assign(each, value);
                    }
                }
            }
            _ => {}
        }
    }

    fn list_all(&mut self, value: &Expr) {
        match value {
            Expr::List(list) => self.list_names(&list.elts),
            Expr::Tuple(tuple) => self.list_names(&tuple.elts),
            Expr::BinOp(sum) => {
                self.list_all(&sum.left);
                self.list_all(&sum.right);
            }
            Expr::StringLiteral(text) => {
                self.all.get_or_insert_default().insert(text.value.to_str().to_owned());
            }
            _ => self.partial = true,
        }
    }

    fn list_names(&mut self, names: &[Expr]) {
        let all = self.all.get_or_insert_default();
        for each in names {
            match each {
                Expr::StringLiteral(text) => {
                    all.insert(text.value.to_str().to_owned());
                }
                _ => self.partial = true,
            }
        }
    }

    /// The module that `from …x import` in `name` means.
    fn absolute(&self, name: &str, level: u32, module: &str) -> Option<String> {
        if level == 0 {
            return Some(module.to_owned());
        }
        let mut base = name;
        // In a package's `__init__`, one dot is the package itself.
        let climbs = if self.is_package { level - 1 } else { level };
        for _ in 0..climbs {
            base = base.rsplit_once('.')?.0;
        }
        Some(if module.is_empty() { base.to_owned() } else { format!("{base}.{module}") })
    }
}

fn is_all(expr: &Expr) -> bool {
    matches!(expr, Expr::Name(name) if name.id.as_str() == "__all__")
}
