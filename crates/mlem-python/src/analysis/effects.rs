//! What code does with global names, as a list of events in the order of execution.

use ruff_text_size::TextSize;
use rustc_hash::{FxHashMap, FxHashSet};

use super::names::{Symbol, TypeId};

/// A global name, or one part of its object: `df['a']` and `df.a` are part `a` of `df`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Location {
    pub(crate) name: Symbol,
    /// `None` for the whole object.
    pub(crate) part: Option<Symbol>,
}

impl Location {
    pub(crate) fn whole(name: Symbol) -> Self {
        Self { name, part: None }
    }

    /// Whether a change of one can be seen through the other.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.name == other.name && (self.part.is_none() || other.part.is_none() || self.part == other.part)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Bind,
    /// Bound by an import statement.
    Import,
    Mutate,
    /// A change that may not happen, or not to this object.
    MayMutate,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) at: TextSize,
    pub(crate) access: Access,
    pub(crate) location: Location,
    /// A read of a name that the unit had certainly bound before sees the unit's own value.
    pub(crate) own: bool,
}

/// What a call of a user's function or class can do, parameters included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) parameters: Vec<Symbol>,
    pub(crate) changed_parameters: FxHashSet<Symbol>,
    pub(crate) events: Vec<Event>,
    pub(crate) calls: Vec<Call>,
    /// The types it returns: none yet, one, or several.
    pub(crate) returns: Option<Option<TypeId>>,
    /// Calling it does not run its body: a generator, a coroutine, a decorated function.
    pub(crate) wrapped: bool,
}

/// A call `function(a, b)` with the global names passed as arguments.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) at: TextSize,
    pub(crate) function: Symbol,
    /// Position or keyword of each argument that is a global name.
    pub(crate) arguments: Vec<(Argument, Symbol)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Position(usize),
    Keyword(Symbol),
}

/// One unit's dealings with the names that units share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    pub(crate) events: Vec<Event>,
    pub(crate) calls: Vec<Call>,
    /// Names whose objects the unit gave another name, too.
    pub(crate) shares: Vec<Symbol>,
    /// Names certainly bound when the unit ends.
    pub(crate) definite: FxHashSet<Symbol>,
}

/// Effects in the form that the re-run question needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// Read before the unit itself binds them.
    pub(crate) reads: Vec<Location>,
    /// Changed, and where first.
    pub(crate) writes: Vec<(Location, TextSize)>,
    /// Names bound afresh, whatever they were before.
    pub(crate) fresh: FxHashSet<Symbol>,
    /// Names that only import statements bind here.
    pub(crate) imports: FxHashSet<Symbol>,
    /// Names whose objects it gave another name, too.
    pub(crate) shares: FxHashSet<Symbol>,
    /// Names whose object from before the unit it changes, wherever in it.
    pub(crate) targets: FxHashSet<Symbol>,
    pub(crate) binds: FxHashSet<Symbol>,
    pub(crate) mutates: FxHashSet<Symbol>,
}

/// Adds what calls of user functions do, and sums up.
pub(crate) fn summarise(effects: &Effects, functions: &FxHashMap<Symbol, Vec<Function>>) -> Summary {
    let mut events = effects.events.clone();
    for call in &effects.calls {
        let mut visited = FxHashSet::default();
        expand(call, call.at, functions, &effects.definite, &mut visited, &mut events);
    }
    let mut summary = Summary { shares: effects.shares.iter().copied().collect(), ..Summary::default() };
    let mut bound_otherwise = FxHashSet::default();
    let mut written_parts: FxHashSet<Location> = FxHashSet::default();
    for event in &events {
        let location = event.location;
        match event.access {
            Access::Read => {
                if !event.own && !written_parts.contains(&location) && !summary.reads.contains(&location) {
                    summary.reads.push(location);
                }
                continue;
            }
            Access::Import => {
                summary.imports.insert(location.name);
                summary.binds.insert(location.name);
            }
            Access::Bind => {
                bound_otherwise.insert(location.name);
                summary.binds.insert(location.name);
            }
            Access::Mutate | Access::MayMutate => {
                summary.mutates.insert(location.name);
                if !event.own {
                    summary.targets.insert(location.name);
                }
                if event.access == Access::Mutate {
                    written_parts.insert(location);
                }
            }
        }
        match summary.writes.iter_mut().find(|(written, _)| *written == location) {
            Some((_, at)) => *at = (*at).min(event.at),
            None => summary.writes.push((location, event.at)),
        }
    }
    summary.imports.retain(|name| !bound_otherwise.contains(name) && !summary.mutates.contains(name));
    let read: FxHashSet<Symbol> = summary.reads.iter().map(|location| location.name).collect();
    summary.fresh = effects.definite.iter().copied().filter(|name| !read.contains(name)).collect();
    summary
}

fn expand(
    call: &Call,
    at: TextSize,
    functions: &FxHashMap<Symbol, Vec<Function>>,
    definite: &FxHashSet<Symbol>,
    visited: &mut FxHashSet<Symbol>,
    events: &mut Vec<Event>,
) {
    let Some(definitions) = functions.get(&call.function) else { return };
    for function in definitions {
        for (argument, name) in &call.arguments {
            let parameter = match argument {
                Argument::Position(index) => function.parameters.get(*index).copied(),
                Argument::Keyword(keyword) => Some(*keyword),
            };
            if parameter.is_some_and(|parameter| function.changed_parameters.contains(&parameter)) {
                let location = Location::whole(*name);
                events.push(Event { at, access: Access::Read, location, own: false });
                events.push(Event { at, access: Access::Mutate, location, own: false });
            }
        }
        if visited.insert(call.function) {
            for event in &function.events {
                // A global that this unit binds itself is most often bound before the call.
                let own = event.own || definite.contains(&event.location.name);
                // The body, or the call, may stand in a branch.
                let access = if event.access == Access::Mutate { Access::MayMutate } else { event.access };
                events.push(Event { at, own, access, location: event.location });
            }
            for inner in &function.calls {
                expand(inner, at, functions, definite, visited, events);
            }
        }
    }
}
