//! Runs the code of modules with the values that are known, and follows what it does with builders.
//!
//! Both sides of a condition run, and a loop runs once if its items are unknown; what they do to a builder that was made
//! before is not certain.

mod bind;
pub(super) mod builder;
mod eval;

use std::collections::HashMap;
use std::rc::Rc;

use super::Place;
use super::code::{self, Argument, Block, Expr, Kind, Span, Step, Stmt};
use super::value::{Arguments, Closure, Text, Value, appended, index};
use crate::manifests::symbols::Language;
use builder::Draft;

/// Number of expressions and statements after which everything else is unknown.
const BUDGET: usize = 200_000;

/// Number of calls within calls after which the result is unknown.
const DEEPEST_CALL: usize = 12;

/// Number of expressions and blocks within each other after which they are unknown.
const DEEPEST: usize = 600;

/// The name in a class for its base, if that is not a class of the project.
const BASE: &str = "(base)";

/// The modules of a project.
pub trait Modules {
    /// The file of the module that the file `from` imports: a dotted name with the number of dots before it, or in
    /// JavaScript a specifier. `None` if it is none of the project's.
    fn resolve(&self, from: &str, level: usize, module: &str) -> Option<String>;

    /// The text of a file.
    fn text(&self, path: &str) -> Option<Rc<str>>;
}

/// The names of a module, function, class or object.
struct Scope {
    file: Rc<str>,
    names: HashMap<String, Value>,
    parent: Option<usize>,
    /// The class of an object, or the base of a class.
    base: Option<usize>,
    is_class: bool,
    /// That of the interpreter when the scope was made.
    level: usize,
}

/// See the module.
pub(super) struct Interpreter<'a> {
    pub(super) modules: &'a dyn Modules,
    scopes: Vec<Scope>,
    /// The scopes of files.
    files: HashMap<Rc<str>, Option<usize>>,
    pub(super) drafts: Vec<Draft>,
    pub(super) budget: usize,
    /// Number of conditions and loops around the current statement.
    pub(super) level: usize,
    /// Number of calls and files around the current statement.
    depth: usize,
    /// Number of expressions and blocks around it.
    nesting: usize,
    /// The commands that the current node may return.
    pub(super) jumps: Vec<Value>,
    /// Whether files are only used if they are read already.
    pub(super) is_local: bool,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(modules: &'a dyn Modules) -> Self {
        Self {
            modules,
            scopes: Vec::new(),
            files: HashMap::new(),
            drafts: Vec::new(),
            budget: BUDGET,
            level: 0,
            depth: 0,
            nesting: 0,
            jumps: Vec::new(),
            is_local: false,
        }
    }

    /// The value of `name` in the file at `path`; `None` if the file cannot be read.
    pub(super) fn global(&mut self, path: &str, name: &str) -> Option<Value> {
        let scope = self.file(path)?;
        let mut parts = name.split('.');
        let first = parts.next().unwrap_or_default();
        let mut value = self.lookup(first, scope);
        for part in parts {
            value = self.member(&value, part);
        }
        Some(value)
    }

    /// The scope of the file at `path`, which runs when it is first asked for.
    fn file(&mut self, path: &str) -> Option<usize> {
        if let Some(known) = self.files.get(path) {
            return *known;
        }
        if self.is_local || self.nesting > DEEPEST / 2 {
            return None;
        }
        let file: Rc<str> = path.into();
        self.files.insert(file.clone(), None);
        let text = self.modules.text(path)?;
        let block = code::read(Language::of(path)?, &text)?;
        let outer = std::mem::take(&mut self.level);
        let scope = self.scope(file.clone(), None, None);
        self.files.insert(file, Some(scope));
        self.run(&block, scope, &mut Vec::new());
        self.level = outer;
        Some(scope)
    }

    fn scope(&mut self, file: Rc<str>, parent: Option<usize>, base: Option<usize>) -> usize {
        let (names, level) = (HashMap::new(), self.level);
        self.scopes.push(Scope { file, names, parent, base, is_class: false, level });
        self.scopes.len() - 1
    }

    /// Runs statements; returns whether a `return` ended them.
    fn run(&mut self, block: &[Stmt], scope: usize, returned: &mut Vec<Value>) -> bool {
        self.nesting += 1;
        let is_ended = self.nesting > DEEPEST || self.run_all(block, scope, returned);
        self.nesting -= 1;
        is_ended
    }

    fn run_all(&mut self, block: &[Stmt], scope: usize, returned: &mut Vec<Value>) -> bool {
        for (at, statement) in block.iter().enumerate() {
            if !self.spend() {
                return true;
            }
            match statement {
                Stmt::Bind(target, value) => {
                    let value = self.eval(value, scope);
                    self.bind(target, value, scope);
                }
                Stmt::Run(value) => {
                    self.eval(value, scope);
                }
                Stmt::Return(value) => {
                    returned.push(self.eval(value, scope));
                    return true;
                }
                Stmt::Import { local, level, module, item } => {
                    let import = (self.scopes[scope].file.clone(), *level, module.clone(), item.clone());
                    let name =
                        if item.as_deref() == Some("*") { format!("*{module}") } else { local.clone() };
                    self.scopes[scope].names.insert(name, Value::Import(Rc::new(import)));
                }
                Stmt::Branches(blocks) => {
                    self.level += 1;
                    let mut is_ended = false;
                    for block in blocks {
                        is_ended |= self.run(block, scope, returned);
                    }
                    if is_ended {
                        // The rest may not run, either.
                        self.run(&block[at + 1..], scope, returned);
                    }
                    self.level -= 1;
                    if is_ended {
                        return true;
                    }
                }
                Stmt::Leave => return true,
                Stmt::For(target, items, body) => self.repeat(target, items, body, scope, returned),
            }
        }
        false
    }

    fn repeat(&mut self, target: &Expr, items: &Expr, body: &Block, scope: usize, returned: &mut Vec<Value>) {
        let items = self.eval(items, scope).items();
        let is_certain = items.is_some() && !code::may_leave(body);
        self.level += usize::from(!is_certain);
        for item in items.unwrap_or_else(|| vec![Value::Unknown]) {
            self.bind(target, item, scope);
            self.run(body, scope, returned);
        }
        self.level -= usize::from(!is_certain);
    }

    fn spend(&mut self) -> bool {
        self.budget = self.budget.saturating_sub(1);
        self.budget > 0
    }

    pub(super) fn place(&self, span: &Span, scope: usize) -> Place {
        Place { file: self.scopes[scope].file.clone(), span: span.clone() }
    }

    /// What the steps make of `value`, which is that of `base`.
    fn chain(&mut self, mut value: Value, base: &Expr, steps: &[Step], scope: usize) -> Value {
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            value = match (step, steps.get(at)) {
                (Step::Member(name), Some(Step::Call(arguments, span))) => {
                    at += 1;
                    let arguments = self.arguments(arguments, scope);
                    if let (1 | 2, Kind::Name(owner), Value::List(items)) = (at, &base.kind, &value)
                        && let Some(list) = appended(items, name, &arguments)
                    {
                        let target = Kind::Name(owner.clone());
                        self.bind(&Expr { kind: target, span: base.span.clone() }, list, scope);
                        Value::Nothing
                    } else {
                        let place = self.place(span, scope);
                        self.method(value, name, arguments, place)
                    }
                }
                (Step::Member(name), _) => self.member(&value, name),
                (Step::Call(arguments, span), _) => {
                    let arguments = self.arguments(arguments, scope);
                    let place = self.place(span, scope);
                    self.call(&value, arguments, place)
                }
                (Step::Index(keys), _) => {
                    let keys: Vec<_> = keys.iter().map(|key| self.eval(key, scope)).collect();
                    index(&value, keys)
                }
            };
        }
        value
    }

    fn arguments(&mut self, arguments: &[Argument], scope: usize) -> Arguments {
        let mut all = Arguments::default();
        for Argument { name, value } in arguments {
            match (name, &value.kind) {
                (Some(name), _) => all.named.push((name.clone(), self.eval(value, scope))),
                (None, Kind::Spread(inner)) => match self.eval(inner, scope) {
                    Value::List(items) => all.positional.extend(items.iter().cloned()),
                    Value::Map(items) => {
                        let named = |(key, value): &(Value, Value)| {
                            Some((key.text()?.text.to_string(), value.clone()))
                        };
                        all.named.extend(items.iter().filter_map(named));
                    }
                    _ => all.is_open = true,
                },
                (None, _) => all.positional.push(self.eval(value, scope)),
            }
        }
        all
    }

    pub(super) fn call(&mut self, value: &Value, arguments: Arguments, place: Place) -> Value {
        match value {
            Value::Function(closure) => self.invoke(closure, arguments),
            Value::Class(class) => {
                let object = self.scope(self.scopes[*class].file.clone(), None, Some(*class));
                let names = arguments.named.iter().cloned();
                self.scopes[object].names.extend(names);
                for name in ["__init__", "constructor"] {
                    if let Value::Function(it) = self.member(&Value::Object(object), name) {
                        self.invoke(&it, arguments);
                        break;
                    }
                }
                Value::Object(object)
            }
            Value::Object(_) => match self.member(value, "__call__") {
                Value::Function(it) => self.invoke(&it, arguments),
                _ => Value::Unknown,
            },
            Value::Library(name) => self.library(name, &arguments, place),
            Value::Plain => Value::Plain,
            _ => {
                self.give_away(&arguments);
                Value::Unknown
            }
        }
    }

    /// Code that is not known may do anything with a builder.
    pub(super) fn give_away(&mut self, arguments: &Arguments) {
        for value in arguments.values() {
            if let Value::Builder(at) = value {
                self.drafts[*at].is_open = true;
            }
        }
    }

    /// The name of a decorator of a library, and its arguments.
    pub(super) fn decorator(&mut self, decorator: &Expr, scope: usize) -> (Rc<str>, Arguments) {
        let (value, arguments) = match &decorator.kind {
            Kind::Chain(base, steps) if let Some((Step::Call(arguments, _), steps)) = steps.split_last() => {
                let value = self.eval(base, scope);
                (self.chain(value, base, steps, scope), self.arguments(arguments, scope))
            }
            _ => (self.eval(decorator, scope), Arguments::default()),
        };
        (if let Value::Library(name) = value { name } else { "".into() }, arguments)
    }

    /// The annotation of what a function returns.
    pub(super) fn annotation(&mut self, closure: &Closure) -> Value {
        let returns = closure.function.returns.as_ref();
        returns.map_or(Value::Nothing, |returns| self.eval(returns, closure.scope))
    }

    pub(super) fn invoke(&mut self, closure: &Closure, arguments: Arguments) -> Value {
        Value::either(self.returned(closure, arguments))
    }

    /// What each `return` of a function that is called returns.
    pub(super) fn returned(&mut self, closure: &Closure, arguments: Arguments) -> Vec<Value> {
        if self.depth >= DEEPEST_CALL || !self.spend() {
            return vec![Value::Unknown];
        }
        let Closure { function, scope, this } = closure;
        let file = self.scopes[*scope].file.clone();
        let is_python = Language::of(&file) == Some(Language::Python);
        let inner = self.scope(file, Some(*scope), None);
        let this = this.map(Value::Object);
        if let Some(this) = this.clone().filter(|_| !is_python) {
            self.scopes[inner].names.insert("this".to_owned(), this);
        }
        let mut positional = this.filter(|_| is_python).into_iter().chain(arguments.positional);
        for (name, default) in &function.parameters {
            // `*args` and `**options` take the rest.
            if let Some(rest) = name.strip_prefix('*').filter(|_| !arguments.is_open) {
                let is_taken = |name: &str| function.parameters.iter().any(|(it, _)| it == name);
                let text = |name: &str| Value::Text(Text { text: name.into(), place: Place::default() });
                let value = match rest.strip_prefix('*') {
                    None => Value::List(Rc::new(positional.by_ref().collect())),
                    Some(_) => Value::Map(Rc::new(
                        arguments
                            .named
                            .iter()
                            .filter(|(name, _)| !is_taken(name))
                            .map(|(name, value)| (text(name), value.clone()))
                            .collect(),
                    )),
                };
                self.scopes[inner].names.insert(rest.trim_start_matches('*').to_owned(), value);
                continue;
            }
            let named = arguments.named.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone());
            let value = match (positional.next().or(named), default) {
                (Some(value), _) => value,
                (None, Some(default)) if !arguments.is_open => self.eval(default, *scope),
                (None, _) => Value::Unknown,
            };
            self.scopes[inner].names.insert(name.clone(), value);
        }
        self.depth += 1;
        let mut returned = Vec::new();
        self.run(&function.body, inner, &mut returned);
        self.depth -= 1;
        returned
    }
}
