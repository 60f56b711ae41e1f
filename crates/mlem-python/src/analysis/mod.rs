//! One flow-sensitive pass over all units in execution order.
//!
//! Module-level code sees each name as it stands at that point. A function's body runs later,
//! nobody knows when, so it is read at the end, and a global name means something in it only if
//! all of the program's bindings of that name agree.

mod assign;
mod call;
mod effects;
mod expression;
mod import;
mod inner_scopes;
mod names;
mod operators;
mod scope;
mod statement;

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

pub(crate) use effects::{Location, Summary};
pub(crate) use names::{Names, Symbol, TypeId};
pub(crate) use scope::Value;

use crate::program::Import;
use crate::types::{Table, table};
use crate::unit::Unit;
use effects::{Access, Argument, Call, Effects, Event, Function};
use scope::{Scope, ScopeKind, Scopes};

/// A binding of a module-level name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub(crate) unit: usize,
    pub(crate) at: TextSize,
    /// The qualified name that an import gives it.
    pub(crate) reach: Option<Symbol>,
}

/// A piece of a unit in which some names are not the module's.
#[derive(Clone, Debug)]
pub(crate) struct LocalNames {
    pub(crate) unit: usize,
    pub(crate) range: TextRange,
    pub(crate) names: Vec<Symbol>,
}

/// What the pass found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) names: Names,
    /// For each unit, what is known of the expression at a range.
    pub(crate) facts: Vec<FxHashMap<TextRange, Value>>,
    pub(crate) imports: Vec<Import>,
    /// The function in which an import stands.
    pub(crate) import_scopes: Vec<Option<TextRange>>,
    /// The bodies of functions, by unit: code that runs later.
    function_bodies: Vec<(usize, TextRange)>,
    /// Functions, lambdas and comprehensions, and the names that are their own.
    pub(crate) local_names: Vec<LocalNames>,
    effects: Vec<Effects>,
    functions: FxHashMap<Symbol, Vec<Function>>,
    /// Names bound anywhere, in any scope.
    pub(crate) bound: FxHashSet<Symbol>,
    /// Where names are read, in any scope.
    used: Vec<(Symbol, usize, TextRange)>,
    pub(crate) bindings: FxHashMap<Symbol, Vec<Binding>>,
}

impl Analysis {
    /// What each unit does with module-level names, calls of the program's functions included.
    pub(crate) fn summaries(&self) -> Vec<Summary> {
        self.effects.iter().map(|effects| effects::summarise(effects, &self.functions)).collect()
    }

    /// Whether a place lies in the body of a function.
    pub(crate) fn runs_later(&self, unit: usize, at: TextSize) -> bool {
        self.function_bodies.iter().any(|(of, body)| *of == unit && body.contains_inclusive(at))
    }

    /// Whether a name is read anywhere outside of one range of one unit.
    pub(crate) fn is_used(&self, name: Symbol, except: (usize, TextRange)) -> bool {
        let elsewhere =
            |(unit, range): (usize, TextRange)| unit != except.0 || !except.1.contains_range(range);
        self.used.iter().any(|(used, unit, range)| *used == name && elsewhere((*unit, *range)))
    }
}

/// How often the units are read again with what their functions return: once for functions that
/// call libraries, once more for those that call these.
const RETURN_PASSES: usize = 2;

/// Runs the pass.
pub(crate) fn analyse(units: &[Unit]) -> Analysis {
    let mut pass = Pass::new(units, Names::default(), FxHashMap::default());
    pass.run();
    // What a function returns is known when its body was read, after the calls of it.
    for _ in 0..RETURN_PASSES {
        let returns = pass.returned_types();
        if returns == pass.returns {
            break;
        }
        pass = Pass::new(units, pass.names, returns);
        pass.run();
    }
    pass.finish()
}

struct Deferred<'a> {
    unit: usize,
    function: &'a ast::StmtFunctionDef,
    /// Where its effects go: the function's or class's name.
    owner: Symbol,
    is_method: bool,
}

struct Pass<'a> {
    units: &'a [Unit],
    table: &'static Table,
    names: Names,
    /// What the program's functions return, from a pass before.
    returns: FxHashMap<Symbol, TypeId>,
    scopes: Scopes,
    unit: usize,
    facts: Vec<FxHashMap<TextRange, Value>>,
    imports: Vec<Import>,
    import_scopes: Vec<Option<TextRange>>,
    function_bodies: Vec<(usize, TextRange)>,
    local_names: Vec<LocalNames>,
    bound: FxHashSet<Symbol>,
    used: Vec<(Symbol, usize, TextRange)>,
    bindings: FxHashMap<Symbol, Vec<Binding>>,
    /// What every binding of a module-level name agrees on.
    merged: FxHashMap<Symbol, Value>,
    /// Modules star-imported so far.
    stars: Vec<Symbol>,
    /// Names of the module units, by module.
    modules: FxHashMap<Symbol, FxHashMap<Symbol, Value>>,
    deferred: Vec<Deferred<'a>>,
    functions: FxHashMap<Symbol, Vec<Function>>,
    /// The program's own classes that derive from nothing but each other, and where each is defined.
    classes: FxHashMap<Symbol, (usize, TextSize)>,
    /// Names of the functions and classes met so far; the bodies of functions are read last.
    defined: FxHashSet<Symbol>,
    /// Effects of the units.
    effects: Vec<Effects>,
    /// The function whose body is being read, innermost last.
    bodies: Vec<Function>,
    body_ranges: Vec<TextRange>,
    /// Depth of `try` blocks that catch ImportError.
    guarded: usize,
    /// Nesting of loops read twice; deeper ones are read once, with what they bind unknown.
    loops: usize,
    /// A place may be read again, so a fact that no longer holds has to go.
    rereading: bool,
    /// The class whose body is being read.
    class: Option<Symbol>,
    /// Names whose objects a name may share: `both = [train, test]`, `data = train`.
    shared: FxHashMap<Symbol, Vec<Symbol>>,
    /// Room to put a dotted name together.
    dotted: String,
}

impl<'a> Pass<'a> {
    fn new(units: &'a [Unit], names: Names, returns: FxHashMap<Symbol, TypeId>) -> Self {
        Self {
            units,
            table: table(),
            names,
            returns,
            scopes: Scopes::new(),
            unit: 0,
            facts: units
                .iter()
                .map(|unit| FxHashMap::with_capacity_and_hasher(unit.source().len() / 24, FxBuildHasher))
                .collect(),
            imports: Vec::new(),
            import_scopes: Vec::new(),
            function_bodies: Vec::new(),
            local_names: Vec::new(),
            bound: FxHashSet::default(),
            used: Vec::new(),
            bindings: FxHashMap::default(),
            merged: FxHashMap::default(),
            stars: Vec::new(),
            modules: FxHashMap::default(),
            deferred: Vec::new(),
            functions: FxHashMap::default(),
            classes: FxHashMap::default(),
            defined: FxHashSet::default(),
            effects: units.iter().map(|_| Effects::default()).collect(),
            bodies: Vec::new(),
            body_ranges: Vec::new(),
            guarded: 0,
            loops: 0,
            rereading: false,
            class: None,
            shared: FxHashMap::default(),
            dotted: String::new(),
        }
    }

    fn run(&mut self) {
        let units = self.units;
        // Modules first: wherever a cell imports one, its names are known.
        for (index, unit) in units.iter().enumerate() {
            if let Some(name) = unit.module_name() {
                self.module(index, unit, name);
            }
        }
        for (index, unit) in units.iter().enumerate() {
            if unit.module_name().is_none() {
                self.unit = index;
                self.scopes.take_definite();
                self.magic_imports(unit);
                self.body(unit.body());
                self.effects[index].definite = self.scopes.take_definite();
            }
        }
        self.read_functions();
    }

    /// Reads a module unit in a namespace of its own.
    fn module(&mut self, index: usize, unit: &'a Unit, name: &str) {
        let scopes = std::mem::replace(&mut self.scopes, Scopes::new());
        let merged = std::mem::take(&mut self.merged);
        let stars = std::mem::take(&mut self.stars);
        let functions = std::mem::take(&mut self.functions);
        let classes = std::mem::take(&mut self.classes);
        self.unit = index;
        self.body(unit.body());
        self.read_functions();
        self.functions = functions;
        self.classes = classes;
        self.stars = stars;
        let exported = std::mem::replace(&mut self.merged, merged);
        self.scopes = scopes;
        self.effects[index] = Effects::default();
        let name = self.names.intern(name);
        self.modules.insert(name, exported);
    }

    /// Reads the bodies of functions, with module-level names as all bindings agree on them.
    fn read_functions(&mut self) {
        let merged = self.merged.clone();
        let module = std::mem::replace(&mut self.scopes.stack[0].names, merged);
        let mut queue = std::mem::take(&mut self.deferred);
        while !queue.is_empty() {
            for deferred in queue {
                self.unit = deferred.unit;
                self.function_body(&deferred);
            }
            queue = std::mem::take(&mut self.deferred);
        }
        self.scopes.stack[0].names = module;
    }

    /// The type that each function returns, where it is one, of functions that are called.
    fn returned_types(&self) -> FxHashMap<Symbol, TypeId> {
        let outer = self.effects.iter().flat_map(|effects| &effects.calls);
        let inner = self.functions.values().flatten().flat_map(|function| &function.calls);
        let called: FxHashSet<Symbol> = outer.chain(inner).map(|call| call.function).collect();
        let returned = self.functions.iter().filter_map(|(name, definitions)| match definitions.as_slice() {
            [function] if !function.wrapped && called.contains(name) && self.is_bound_once(*name) => {
                Some((*name, function.returns??))
            }
            _ => None,
        });
        returned.collect()
    }

    /// Whether a module-level name is bound at no more than one place, as far as was read.
    fn is_bound_once(&self, name: Symbol) -> bool {
        let places = self.bindings.get(&name).map_or(&[] as &[_], Vec::as_slice);
        places.windows(2).all(|pair| (pair[0].unit, pair[0].at) == (pair[1].unit, pair[1].at))
    }

    /// The type of an instance of one of the program's own classes, under the name that Python gives it.
    fn own_type(&mut self, name: Symbol) -> Option<TypeId> {
        let place = *self.classes.get(&name)?;
        let bindings = self.bindings.get(&name)?;
        if !bindings.iter().all(|binding| (binding.unit, binding.at) == place) {
            return None;
        }
        let module = self.units[place.0].module_name().unwrap_or("__main__");
        let qualified = format!("{module}.{}", self.names.text(name));
        Some(self.names.type_of(&qualified, Vec::new()))
    }

    fn finish(self) -> Analysis {
        // Functions were read last; their imports belong where they stand.
        let mut order: Vec<usize> = (0..self.imports.len()).collect();
        order.sort_by_key(|&index| (self.imports[index].unit, self.imports[index].alias_range.start()));
        let import_scopes = order.iter().map(|&index| self.import_scopes[index]).collect();
        let imports = order.iter().map(|&index| self.imports[index].clone()).collect();
        Analysis {
            names: self.names,
            facts: self.facts,
            imports,
            import_scopes,
            function_bodies: self.function_bodies,
            local_names: self.local_names,
            effects: self.effects,
            functions: self.functions,
            bound: self.bound,
            used: self.used,
            bindings: self.bindings,
        }
    }

    // --- names ---------------------------------------------------------------------------

    /// Binds a name in the scope in force.
    fn bind(&mut self, name: Symbol, value: Value, at: TextSize, is_import: bool) {
        self.bound.insert(name);
        let scope = self.scopes.target(name);
        self.scopes.set(scope, name, Some(value));
        if !self.scopes.in_branch() {
            self.shared.remove(&name);
            for others in self.shared.values_mut() {
                others.retain(|other| *other != name);
            }
        }
        if scope != 0 {
            return;
        }
        self.merged.entry(name).and_modify(|merged| *merged = merged.join(value)).or_insert(value);
        if !self.rereading {
            let reach = value.qualified.filter(|_| is_import);
            self.bindings.entry(name).or_default().push(Binding { unit: self.unit, at, reach });
        }
        let access = if is_import { Access::Import } else { Access::Bind };
        self.event(Event { at, access, location: Location::whole(name), own: false });
    }

    fn unbind(&mut self, name: Symbol, at: TextSize) {
        let scope = self.scopes.target(name);
        self.scopes.set(scope, name, None);
        if scope == 0 {
            if !self.rereading {
                self.bindings.entry(name).or_default().push(Binding { unit: self.unit, at, reach: None });
            }
            self.event(Event { at, access: Access::Bind, location: Location::whole(name), own: false });
        }
    }

    fn event(&mut self, event: Event) {
        match self.bodies.last_mut() {
            Some(body) => body.events.push(event),
            None => self.effects[self.unit].events.push(event),
        }
    }

    /// Notes a read or a change of a name, if it is a module-level one, and of the names that
    /// may stand for the same object.
    fn touch(&mut self, name: Symbol, part: Option<Symbol>, access: Access, at: TextSize) {
        if access != Access::Mutate {
            self.touch_one(name, part, access, at);
            return;
        }
        let certain = if self.scopes.in_branch() { Access::MayMutate } else { Access::Mutate };
        self.touch_one(name, part, certain, at);
        if self.shared.is_empty() {
            return;
        }
        for other in self.same_object(vec![name]) {
            if other != name {
                self.touch_one(other, part, Access::MayMutate, at);
            }
        }
    }

    /// All names that may stand for, or hold, an object of these.
    fn same_object(&self, mut names: Vec<Symbol>) -> Vec<Symbol> {
        let mut index = 0;
        while index < names.len() {
            let name = names[index];
            let forward = self.shared.get(&name).into_iter().flatten().copied();
            let back =
                self.shared.iter().filter(|(_, others)| others.contains(&name)).map(|(other, _)| *other);
            for other in forward.chain(back) {
                if !names.contains(&other) {
                    names.push(other);
                }
            }
            index += 1;
        }
        names
    }

    fn touch_one(&mut self, name: Symbol, part: Option<Symbol>, access: Access, at: TextSize) {
        match self.scopes.lookup(name) {
            Some((_, scope)) if scope > 0 => {
                if matches!(access, Access::Mutate | Access::MayMutate)
                    && let Some(body) = self.bodies.last_mut()
                    && body.parameters.contains(&name)
                {
                    body.changed_parameters.insert(name);
                }
            }
            _ => {
                let own = self.bodies.is_empty() && self.scopes.is_definite(name);
                self.event(Event { at, access, location: Location { name, part }, own });
            }
        }
    }

    fn record(&mut self, range: TextRange, value: Value) {
        if value.qualified.is_some() || value.ty.is_some() {
            self.facts[self.unit].insert(range, value);
        } else if self.rereading {
            self.facts[self.unit].remove(&range);
        }
    }

    fn note_call(&mut self, call: &ast::ExprCall) {
        if self.defined.is_empty() {
            return;
        }
        // A function passed on will most likely be called: `df.apply(f)`.
        let values =
            call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value));
        for value in values {
            if let Expr::Name(name) = value {
                let function = self.names.intern(&name.id);
                if self.defined.contains(&function) {
                    self.push_call(Call { at: call.range_start, function, arguments: Vec::new() });
                }
            }
        }
        let Expr::Name(function) = call.func.as_ref() else { return };
        let function = self.names.intern(&function.id);
        if !self.defined.contains(&function) {
            return;
        }
        let mut arguments = Vec::new();
        for (index, argument) in call.arguments.args.iter().enumerate() {
            let mut sources = Vec::new();
            self.sources(argument, &mut sources);
            arguments.extend(sources.into_iter().map(|source| (Argument::Position(index), source)));
        }
        for keyword in &call.arguments.keywords {
            if let (Some(parameter), Expr::Name(name)) = (&keyword.arg, &keyword.value) {
                arguments
                    .push((Argument::Keyword(self.names.intern(parameter)), self.names.intern(&name.id)));
            }
        }
        self.push_call(Call { at: call.range_start, function, arguments });
    }

    fn push_call(&mut self, call: Call) {
        match self.bodies.last_mut() {
            Some(body) => body.calls.push(call),
            None => self.effects[self.unit].calls.push(call),
        }
    }

    // --- functions -----------------------------------------------------------------------

    fn note_local_names(&mut self, range: TextRange, names: Vec<Symbol>) {
        if !self.rereading {
            self.local_names.push(LocalNames { unit: self.unit, range, names });
        }
    }

    /// A scope with the type parameters (PEP 695) of a definition; nothing if it has none.
    fn type_parameters(&mut self, parameters: Option<&ast::TypeParams>) -> Option<Scope> {
        let mut scope = Scope::new(ScopeKind::Comprehension);
        for parameter in &parameters?.type_params {
            let name = self.names.intern(parameter.name());
            self.bound.insert(name);
            scope.names.insert(name, Value::UNKNOWN);
        }
        Some(scope)
    }

    fn function_body(&mut self, deferred: &Deferred<'a>) {
        let function = deferred.function;
        let mut scope = Scope::new(ScopeKind::Function);
        if let Some(own) = self.type_parameters(function.type_params.as_deref()) {
            scope.names = own.names;
        }
        let mut parameters = Vec::new();
        for parameter in function.parameters.iter() {
            let name = self.names.intern(parameter.name());
            self.bound.insert(name);
            parameters.push(name);
            scope.names.insert(name, Value::UNKNOWN);
        }
        let mut locals = assign::Locals::new(&mut self.names);
        locals.read(&function.body);
        scope.locals = locals.names;
        scope.globals = locals.globals;
        for name in &scope.globals {
            scope.locals.remove(name);
        }
        let own = scope.names.keys().chain(&scope.locals).copied().collect();
        self.note_local_names(function.range, own);
        if deferred.is_method && !parameters.is_empty() {
            // `self` is not passed by the caller.
            parameters.remove(0);
        }
        self.scopes.stack.push(scope);
        let wrapped = deferred.is_method || function.is_async || !function.decorator_list.is_empty();
        self.bodies.push(Function { parameters, wrapped, ..Function::default() });
        self.body_ranges.push(function.range);
        if let (Some(first), Some(last)) = (function.body.first(), function.body.last()) {
            let body = TextRange::new(first.range().start(), last.range().end());
            self.function_bodies.push((self.unit, body));
        }
        let outer = std::mem::take(&mut self.deferred);
        let (class, rereading, loops) = (self.class.take(), std::mem::take(&mut self.rereading), self.loops);
        self.loops = 0;
        self.body(&function.body);
        // Functions inside see this one's scope, so they are read before it goes.
        let mut inner = std::mem::replace(&mut self.deferred, outer);
        while !inner.is_empty() {
            let outer = std::mem::take(&mut self.deferred);
            for function in inner {
                self.function_body(&function);
            }
            inner = std::mem::replace(&mut self.deferred, outer);
        }
        (self.class, self.rereading, self.loops) = (class, rereading, loops);
        self.body_ranges.pop();
        self.scopes.stack.pop();
        let Some(body) = self.bodies.pop() else { return };
        match self.bodies.last_mut() {
            // What an inner function does, its outer function does.
            Some(outer) => {
                outer.events.extend(body.events);
                outer.calls.extend(body.calls);
            }
            None => self.functions.entry(deferred.owner).or_default().push(body),
        }
    }
}
