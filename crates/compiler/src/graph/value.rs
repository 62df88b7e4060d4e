//! The values of the interpreter.

use std::rc::Rc;

use super::Place;
use super::code::Function;

/// A text, and where it was last written.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) text: Rc<str>,
    pub(super) place: Place,
}

/// A function with the names around it.
#[derive(Clone, Debug)]
pub(super) struct Closure {
    pub(super) function: Rc<Function>,
    /// Index of the scope that it was defined in.
    pub(super) scope: usize,
    /// The object that it is a method of.
    pub(super) this: Option<usize>,
}

/// A value, as far as it matters to graphs.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Unknown,
    /// Unknown, but certainly no graph, function or command: the state, and what is computed of it.
    Plain,
    Nothing,
    Text(Text),
    List(Rc<Vec<Value>>),
    Map(Rc<Vec<(Value, Value)>>),
    /// One of these.
    Either(Rc<Vec<Value>>),
    Function(Closure),
    /// Index of the scope with the names of the class.
    Class(usize),
    /// Index of the scope with the attributes of the object.
    Object(usize),
    /// A module: the file that imports it, the dots before it, its name, and the item that is imported.
    Import(Rc<(Rc<str>, usize, String, Option<String>)>),
    /// Something of a library, by its name.
    Library(Rc<str>),
    /// Index of a builder.
    Builder(usize),
    /// Index of a builder that is compiled.
    Graph(usize),
    /// `Literal["a", "b"]`
    Literal(Rc<Vec<Value>>),
    /// `Command[Literal["a", "b"]]`, a command that goes there, or a `Send`.
    Command(Rc<Vec<Value>>),
    /// A tool, by its name.
    Tool(Text),
    /// A node of tools, with their names, and its own.
    ToolNode(Rc<Vec<Text>>, Option<Text>),
    Middleware(Rc<Middleware>),
}

/// Middleware of an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Middleware {
    pub(super) name: Rc<str>,
    /// Those that are nodes, each with what it may jump to.
    pub(super) hooks: Vec<(&'static str, Vec<&'static str>)>,
    /// Whether it brings tools, or wraps calls of tools.
    pub(super) has_tools: bool,
    /// Whether it wraps calls of the model.
    pub(super) wraps: bool,
}

impl Value {
    /// One of `values`.
    pub(super) fn either(values: Vec<Self>) -> Self {
        let mut all = Vec::new();
        for value in values {
            match value {
                Self::Either(them) => all.extend(them.iter().cloned()),
                other => all.push(other),
            }
        }
        match all.len() {
            0 => Self::Nothing,
            1 => all.remove(0),
            _ => Self::Either(all.into()),
        }
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&Text> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The texts that it is or holds, each of which may be meant, and whether there may be others.
    pub(super) fn texts(&self) -> (Vec<Text>, bool) {
        let (mut texts, mut is_open) = (Vec::new(), false);
        self.collect(&mut texts, &mut is_open);
        (texts, is_open)
    }

    fn collect(&self, texts: &mut Vec<Text>, is_open: &mut bool) {
        match self {
            Self::Text(text) => texts.push(text.clone()),
            Self::List(all) | Self::Either(all) | Self::Literal(all) | Self::Command(all) => {
                all.iter().for_each(|value| value.collect(texts, is_open));
            }
            Self::Map(all) => all.iter().for_each(|(_, value)| value.collect(texts, is_open)),
            Self::Nothing => {}
            _ => *is_open = true,
        }
    }

    /// The targets of `Send`s in the result of a route: they need no entry in its map.
    pub(super) fn sent(&self) -> Vec<Text> {
        match self {
            Self::Command(_) => self.texts().0,
            Self::List(all) | Self::Either(all) => all.iter().flat_map(Self::sent).collect(),
            _ => Vec::new(),
        }
    }

    /// The value of `key` in a map.
    pub(super) fn entry(&self, key: &str) -> Option<&Self> {
        let Self::Map(all) = self else { return None };
        let is_key = |it: &Self| it.text().is_some_and(|it| &*it.text == key);
        all.iter().rev().find(|(it, _)| is_key(it)).map(|(_, value)| value)
    }
}

/// The arguments of a call.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(String, Value)>,
    /// Whether there may be others.
    pub(super) is_open: bool,
}

impl Arguments {
    /// The argument at `index`, or else the one called `name` or that option of the last argument, which is a map.
    pub(super) fn get(&self, index: usize, name: &str) -> Option<&Value> {
        self.positional.get(index).or_else(|| self.option(name))
    }

    /// The argument called `name`, or that option of the last argument.
    pub(super) fn option(&self, name: &str) -> Option<&Value> {
        let named = self.named.iter().find(|(it, _)| it == name).map(|(_, value)| value);
        named.or_else(|| self.positional.last()?.entry(name))
    }

    /// All of them.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.positional.iter().chain(self.named.iter().map(|(_, value)| value))
    }
}

impl Value {
    /// The items of a list, or the keys of a map, if all are known.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        match self {
            Self::List(items) => Some(items.to_vec()),
            Self::Map(items) => Some(items.iter().map(|(key, _)| key.clone()).collect()),
            _ => None,
        }
    }
}

/// The list after a call of its method `name`, if that changes it.
pub(super) fn appended(items: &Rc<Vec<Value>>, name: &str, arguments: &Arguments) -> Option<Value> {
    let first = arguments.positional.first()?;
    let more = match name {
        "append" | "push" => vec![first.clone()],
        "extend" => first.items().unwrap_or_else(|| vec![Value::Unknown]),
        _ => return None,
    };
    Some(Value::List(Rc::new(items.iter().cloned().chain(more).collect())))
}

/// `value[keys]`, also of types.
pub(super) fn index(value: &Value, mut keys: Vec<Value>) -> Value {
    match value {
        Value::Library(name) => match &**name {
            "Literal" => Value::Literal(Rc::new(keys)),
            "Command" => match keys.into_iter().next() {
                Some(Value::Literal(names)) => Value::Command(names),
                _ => Value::Plain,
            },
            "Union" => Value::either(keys),
            "Annotated" | "Awaitable" | "Optional" if !keys.is_empty() => keys.remove(0),
            _ => Value::Plain,
        },
        Value::Map(_) => {
            let key = keys.first().and_then(Value::text);
            key.and_then(|key| value.entry(&key.text)).cloned().unwrap_or(Value::Unknown)
        }
        Value::Plain => Value::Plain,
        _ => Value::Unknown,
    }
}
