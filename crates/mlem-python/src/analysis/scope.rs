//! What names stand for at one point of the pass.

use rustc_hash::{FxHashMap, FxHashSet};

use super::names::{Symbol, TypeId};

/// What is known of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Value {
    /// The dotted name of the module, class, function or constant that it is.
    pub(crate) qualified: Option<Symbol>,
    /// Its type, where it is an instance.
    pub(crate) ty: Option<TypeId>,
    /// `qualified` came through an assignment, not an import: the name is the author's own.
    pub(crate) indirect: bool,
}

impl Value {
    pub(crate) const UNKNOWN: Self = Self { qualified: None, ty: None, indirect: false };

    pub(crate) fn named(qualified: Symbol) -> Self {
        Self { qualified: Some(qualified), ..Self::UNKNOWN }
    }

    pub(crate) fn of(ty: Option<TypeId>) -> Self {
        Self { ty, ..Self::UNKNOWN }
    }

    /// What holds of both.
    pub(crate) fn join(self, other: Self) -> Self {
        Self {
            qualified: self.qualified.filter(|name| other.qualified == Some(*name)),
            ty: self.ty.filter(|ty| other.ty == Some(*ty)),
            indirect: self.indirect || other.indirect,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Module,
    Function,
    Class,
    Comprehension,
}

#[derive(Debug)]
pub(super) struct Scope {
    pub(super) kind: ScopeKind,
    pub(super) names: FxHashMap<Symbol, Value>,
    /// Names that a function binds somewhere, so that they are local in all of it.
    pub(super) locals: FxHashSet<Symbol>,
    /// Names declared `global`.
    pub(super) globals: FxHashSet<Symbol>,
}

impl Scope {
    pub(super) fn new(kind: ScopeKind) -> Self {
        Self {
            kind,
            names: FxHashMap::default(),
            locals: FxHashSet::default(),
            globals: FxHashSet::default(),
        }
    }
}

/// A change of a name in a scope: what it was before, nothing if it was unbound.
pub(super) type Change = (usize, Symbol, Option<Value>);

/// The scopes in force, with a journal of changes so that branches can be undone and merged.
#[derive(Debug)]
pub(super) struct Scopes {
    pub(super) stack: Vec<Scope>,
    journal: Vec<Change>,
    recording: usize,
    /// Names that the code read so far in this unit has certainly bound.
    definite: FxHashSet<Symbol>,
    definite_log: Vec<Symbol>,
}

/// The outcome of one branch.
#[derive(Debug, Default)]
pub(super) struct Branch {
    changes: Vec<Change>,
    definite: Vec<Symbol>,
    /// The branch leaves the block (return, raise, break, continue).
    pub(super) leaves: bool,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self {
            stack: vec![Scope::new(ScopeKind::Module)],
            journal: Vec::new(),
            recording: 0,
            definite: FxHashSet::default(),
            definite_log: Vec::new(),
        }
    }

    /// The scope that a store to `name` goes to.
    pub(super) fn target(&self, name: Symbol) -> usize {
        let mut index = self.stack.len() - 1;
        while index > 0 && self.stack[index].kind == ScopeKind::Comprehension {
            index -= 1;
        }
        if self.stack[index].globals.contains(&name) { 0 } else { index }
    }

    pub(super) fn set(&mut self, scope: usize, name: Symbol, value: Option<Value>) {
        let names = &mut self.stack[scope].names;
        let before = match value {
            Some(value) => names.insert(name, value),
            None => names.remove(&name),
        };
        if self.recording > 0 {
            self.journal.push((scope, name, before));
        }
        if scope == 0 && value.is_some() && self.definite.insert(name) {
            self.definite_log.push(name);
        }
    }

    /// The value of a name and the scope it lives in.
    pub(super) fn lookup(&self, name: Symbol) -> Option<(Value, usize)> {
        let mut innermost = true;
        for index in (0..self.stack.len()).rev() {
            let scope = &self.stack[index];
            if scope.globals.contains(&name) {
                return self.stack[0].names.get(&name).map(|value| (*value, 0));
            }
            // A class's names are seen in its body, not in its methods.
            if scope.kind == ScopeKind::Class && !innermost {
                continue;
            }
            if let Some(value) = scope.names.get(&name) {
                return Some((*value, index));
            }
            if scope.locals.contains(&name) {
                return Some((Value::UNKNOWN, index));
            }
            if scope.kind != ScopeKind::Comprehension {
                innermost = false;
            }
        }
        None
    }

    pub(super) fn is_definite(&self, name: Symbol) -> bool {
        self.definite.contains(&name)
    }

    /// Whether the code being read may not run, or run more than once.
    pub(super) fn in_branch(&self) -> bool {
        self.recording > 0
    }

    /// Forgets what is certainly bound and returns it; done between units.
    pub(super) fn take_definite(&mut self) -> FxHashSet<Symbol> {
        self.definite_log.clear();
        std::mem::take(&mut self.definite)
    }

    pub(super) fn begin_branch(&mut self) -> (usize, usize) {
        self.recording += 1;
        (self.journal.len(), self.definite_log.len())
    }

    /// Undoes the changes since `begin_branch` and returns them.
    pub(super) fn end_branch(&mut self, (journal, definite): (usize, usize)) -> Branch {
        self.recording -= 1;
        let mut changes: Vec<Change> = Vec::new();
        for (scope, name, _) in &self.journal[journal..] {
            if !changes.iter().any(|(s, n, _)| s == scope && n == name) {
                // Scopes opened in the branch are gone.
                if let Some(owner) = self.stack.get(*scope) {
                    changes.push((*scope, *name, owner.names.get(name).copied()));
                }
            }
        }
        while self.journal.len() > journal {
            let Some((scope, name, before)) = self.journal.pop() else { break };
            let Some(owner) = self.stack.get_mut(scope) else { continue };
            match before {
                Some(value) => owner.names.insert(name, value),
                None => owner.names.remove(&name),
            };
        }
        let definite: Vec<Symbol> = self.definite_log.drain(definite..).collect();
        for name in &definite {
            self.definite.remove(name);
        }
        Branch { changes, definite, leaves: false }
    }

    /// The state after exactly one of the branches ran, or none if not `exhaustive`. Returns
    /// whether a name that was known before is less known now.
    pub(super) fn merge(&mut self, branches: &[Branch], exhaustive: bool) -> bool {
        let mut weakened = false;
        let alive: Vec<&Branch> = branches.iter().filter(|branch| !branch.leaves).collect();
        let exhaustive = exhaustive && !alive.is_empty();
        let mut done: Vec<(usize, Symbol)> = Vec::new();
        for (scope, name, _) in alive.iter().flat_map(|branch| &branch.changes) {
            if done.contains(&(*scope, *name)) || *scope >= self.stack.len() {
                continue;
            }
            done.push((*scope, *name));
            let before = self.stack[*scope].names.get(name).copied();
            let mut joined: Option<Value> = if exhaustive { None } else { before };
            for branch in &alive {
                let change = branch.changes.iter().find(|(s, n, _)| s == scope && n == name);
                let after = change.map_or(before, |(_, _, value)| *value);
                // A use after the branches implies that the name was bound in the one that ran.
                joined = match (joined, after) {
                    (Some(a), Some(b)) => Some(a.join(b)),
                    (a, b) => a.or(b),
                };
            }
            weakened |= before.is_some() && before != joined;
            let names = &mut self.stack[*scope].names;
            match joined {
                Some(value) => names.insert(*name, value),
                None => names.remove(name),
            };
            if self.recording > 0 {
                self.journal.push((*scope, *name, before));
            }
        }
        if exhaustive && let Some((first, rest)) = alive.split_first() {
            for name in &first.definite {
                if rest.iter().all(|branch| branch.definite.contains(name)) && self.definite.insert(*name) {
                    self.definite_log.push(*name);
                }
            }
        }
        weakened
    }
}
