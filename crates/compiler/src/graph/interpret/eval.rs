//! The values of expressions and names.

use std::rc::Rc;

use super::{BASE, DEEPEST, Interpreter};
use crate::graph::Place;
use crate::graph::code::{Expr, Kind, Span};
use crate::graph::value::{Arguments, Closure, Text, Value};

/// First parts of the libraries whose names are known.
const LIBRARIES: &[&str] = &[
    "deepagents",
    "enum",
    "functools",
    "langchain",
    "langchain_core",
    "langgraph",
    "langgraph_supervisor",
    "langgraph_swarm",
    "typing",
    "typing_extensions",
];

impl Interpreter<'_> {
    pub(super) fn eval(&mut self, expression: &Expr, scope: usize) -> Value {
        if self.nesting > DEEPEST || !self.spend() {
            return Value::Unknown;
        }
        self.nesting += 1;
        let value = self.value(expression, scope);
        self.nesting -= 1;
        match value {
            Value::Text(Text { text, .. }) => {
                Value::Text(Text { text, place: self.place(&expression.span, scope) })
            }
            other => other,
        }
    }

    fn value(&mut self, expression: &Expr, scope: usize) -> Value {
        match &expression.kind {
            Kind::Text(text) => {
                Value::Text(Text { text: (&**text).into(), place: self.place(&expression.span, scope) })
            }
            Kind::Name(name) => self.lookup(name, scope),
            Kind::Chain(base, steps) => {
                let value = self.eval(base, scope);
                self.chain(value, base, steps, scope)
            }
            Kind::List(items) => Value::List(Rc::new(self.list(items, scope))),
            Kind::Map(entries) => self.map(entries, scope),
            Kind::Function(function) => {
                let home = &self.scopes[scope];
                let around = home.parent.filter(|_| home.is_class).unwrap_or(scope);
                let closure =
                    Value::Function(Closure { function: function.clone(), scope: around, this: None });
                self.decorated(closure, &function.decorators, scope)
            }
            Kind::Class(class) => {
                let bases: Vec<_> = class.bases.iter().map(|base| self.eval(base, scope)).collect();
                let base =
                    bases.iter().find_map(|base| if let Value::Class(at) = base { Some(*at) } else { None });
                let at = self.scope(self.scopes[scope].file.clone(), Some(scope), base);
                self.scopes[at].is_class = true;
                let name = Text { text: (&*class.name).into(), place: self.place(&expression.span, scope) };
                self.scopes[at].names.insert("__name__".to_owned(), Value::Text(name));
                if let (None, Some(base)) = (base, bases.into_iter().next()) {
                    self.scopes[at].names.insert(BASE.to_owned(), base);
                }
                self.run(&class.body, at, &mut Vec::new());
                Value::Class(at)
            }
            Kind::Either(all) => Value::either(all.iter().map(|it| self.eval(it, scope)).collect()),
            Kind::Joined(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.eval(part, scope)).collect();
                self.joined(&parts, &expression.span, scope)
            }
            Kind::Each(target, items, value) => self.each(target, items, value, scope),
            Kind::Nothing => Value::Nothing,
            Kind::Spread(value) => {
                self.eval(value, scope);
                Value::Unknown
            }
            Kind::Other(parts) => {
                parts.iter().for_each(|part| drop(self.eval(part, scope)));
                Value::Plain
            }
        }
    }

    fn list(&mut self, items: &[Expr], scope: usize) -> Vec<Value> {
        let mut all = Vec::new();
        for item in items {
            match &item.kind {
                Kind::Spread(inner) => match self.eval(inner, scope).items() {
                    Some(items) => all.extend(items),
                    None => all.push(Value::Unknown),
                },
                _ => all.push(self.eval(item, scope)),
            }
        }
        all
    }

    fn map(&mut self, entries: &[(Option<Expr>, Expr)], scope: usize) -> Value {
        let mut all = Vec::new();
        for (key, value) in entries {
            match (key, self.eval(value, scope)) {
                (Some(key), value) => all.push((self.eval(key, scope), value)),
                (None, Value::Map(inner)) => all.extend(inner.iter().cloned()),
                (None, _) => all.push((Value::Unknown, Value::Unknown)),
            }
        }
        Value::Map(Rc::new(all))
    }

    fn joined(&self, parts: &[Value], span: &Span, scope: usize) -> Value {
        if let Some(texts) = parts.iter().map(|part| Some(&*part.text()?.text)).collect::<Option<Vec<_>>>() {
            return Value::Text(Text { text: texts.concat().into(), place: self.place(span, scope) });
        }
        if parts.iter().any(|part| matches!(part, Value::List(_))) {
            let items = |part: &Value| part.items().unwrap_or_else(|| vec![Value::Unknown]);
            return Value::List(Rc::new(parts.iter().flat_map(items).collect()));
        }
        Value::Plain
    }

    fn each(&mut self, target: &Expr, items: &Expr, value: &Expr, scope: usize) -> Value {
        let items = self.eval(items, scope).items();
        let is_known = items.is_some();
        let inner = self.scope(self.scopes[scope].file.clone(), Some(scope), None);
        let mut all = Vec::new();
        for item in items.unwrap_or_else(|| vec![Value::Unknown]) {
            self.bind(target, item, inner);
            all.push(self.eval(value, inner));
        }
        if !matches!(value.kind, Kind::Map(_)) {
            return Value::List(Rc::new(all));
        }
        let entries =
            all.iter().flat_map(|it| if let Value::Map(it) = it { it.to_vec() } else { Vec::new() });
        let unknown = (!is_known).then_some((Value::Unknown, Value::Unknown));
        Value::Map(Rc::new(entries.chain(unknown).collect()))
    }

    pub(super) fn lookup(&mut self, name: &str, scope: usize) -> Value {
        let mut next = Some(scope);
        let mut root = scope;
        while let Some(at) = next {
            root = at;
            if let Some(value) = self.scopes[at].names.get(name).cloned() {
                return self.imported(value, at, name);
            }
            next = self.scopes[at].parent;
        }
        let stars = self.scopes[root].names.iter().filter(|(name, _)| name.starts_with('*'));
        let stars: Vec<_> = stars.map(|(_, value)| value.clone()).collect();
        for star in stars {
            let Value::Import(import) = &star else { continue };
            match self.item(&import.0, import.1, &import.2, name) {
                Value::Unknown => {}
                found => return found,
            }
        }
        Value::Library(name.into())
    }

    /// The value of an import, which is found when it is first used.
    pub(super) fn imported(&mut self, value: Value, scope: usize, name: &str) -> Value {
        let Value::Import(import) = &value else { return value };
        let (from, level, module, Some(item)) = &**import else { return value };
        let found = self.item(from, *level, module, item);
        if !(self.is_local && matches!(found, Value::Unknown)) {
            self.scopes[scope].names.insert(name.to_owned(), found.clone());
        }
        found
    }

    /// `item` of a module. Modules may import each other in cycles.
    fn item(&mut self, from: &Rc<str>, level: usize, module: &str, item: &str) -> Value {
        if self.nesting > DEEPEST {
            return Value::Unknown;
        }
        self.nesting += 1;
        let found = self.find_item(from, level, module, item);
        self.nesting -= 1;
        found
    }

    fn find_item(&mut self, from: &Rc<str>, level: usize, module: &str, item: &str) -> Value {
        if let Some(path) = self.modules.resolve(from, level, module) {
            let known = self.file(&path).map(|scope| self.lookup(item, scope));
            if let Some(found) =
                known.filter(|found| !matches!(found, Value::Library(name) if &**name == item))
            {
                return found;
            }
        }
        let separator = if module.is_empty() { "" } else { "." };
        let inner = format!("{module}{separator}{item}");
        if self.modules.resolve(from, level, &inner).is_some() {
            return Value::Import(Rc::new((from.clone(), level, inner, None)));
        }
        let first = module.split(['.', '/']).next().unwrap_or_default();
        let is_known = level == 0 && (LIBRARIES.contains(&first) || first == "@langchain");
        match item {
            "START" if is_known => self.constant("__start__", from),
            "END" if is_known => self.constant("__end__", from),
            _ if is_known => Value::Library(item.into()),
            _ => Value::Unknown,
        }
    }

    fn constant(&self, text: &str, file: &Rc<str>) -> Value {
        Value::Text(Text { text: text.into(), place: Place { file: file.clone(), span: 0..0 } })
    }

    pub(in crate::graph) fn member(&mut self, value: &Value, name: &str) -> Value {
        match value {
            Value::Object(at) | Value::Class(at) => {
                let this = matches!(value, Value::Object(_)).then_some(*at);
                let mut next = Some(*at);
                while let Some(at) = next {
                    if let Some(found) = self.scopes[at].names.get(name).cloned() {
                        let found = self.imported(found, at, name);
                        return self.bound(found, this);
                    }
                    next = self.scopes[at].base;
                }
                Value::Unknown
            }
            Value::Import(import) => match &**import {
                (from, level, module, None) => self.item(&from.clone(), *level, module, name),
                _ => Value::Unknown,
            },
            Value::Library(_) if name == "END" => self.constant("__end__", &"".into()),
            Value::Library(_) if name == "START" => self.constant("__start__", &"".into()),
            Value::Library(_) => Value::Library(name.into()),
            Value::Text(_) if name == "value" => value.clone(),
            Value::Function(it) if ["__name__", "name"].contains(&name) => {
                let place = self.place(&it.function.span, it.scope);
                Value::Text(Text { text: (&*it.function.name).into(), place })
            }
            Value::Either(all) => Value::either(all.iter().map(|it| self.member(it, name)).collect()),
            Value::Map(_) => value.entry(name).cloned().unwrap_or(Value::Unknown),
            Value::Plain => Value::Plain,
            _ => Value::Unknown,
        }
    }

    /// A method of an object; the value of a property.
    fn bound(&mut self, value: Value, this: Option<usize>) -> Value {
        let (Value::Function(closure), Some(this)) = (&value, this) else { return value };
        let is = |name: &str| {
            closure.function.decorators.iter().any(|it| matches!(&it.kind, Kind::Name(it) if it == name))
        };
        if is("staticmethod") {
            return value;
        }
        let closure = Closure { this: Some(this), ..closure.clone() };
        if is("property") || is("cached_property") {
            return self.invoke(&closure, Arguments::default());
        }
        Value::Function(closure)
    }
}
