//! Names that a file does not define, and those that were probably meant.

use super::{loading, within};
use crate::diagnostic::{Diagnostic, Edit, Fix, Rule, rule};
use crate::front::check::{Context, written};
use crate::front::reference::Located;
use crate::manifests::symbols::values::{self, Item, Value};
use crate::manifests::symbols::{Definition, Language, Module};
use crate::words::{listed, similar};

/// The most names that a help lists.
const MAX_LISTED: usize = 8;

/// Reports a name that importers of the file at `path` do not find.
pub(super) fn check(
    context: &mut Context<'_>,
    located: &Located,
    path: &str,
    name: &str,
) -> Option<Diagnostic> {
    let place = within(located, located.name_part());
    let shown = written(path);
    let module = context.module(path)?;
    match module.define(name) {
        Definition::Defined | Definition::Unknown => None,
        Definition::Lazy => loading::check_lazy(located, path, name),
        Definition::NotExported => {
            let message = format!("`{name}` is not exported from `{shown}`");
            let help = if module.text().contains("module.exports") {
                format!("add it to `module.exports` there: `{name}`")
            } else {
                "add `export` before its definition".to_owned()
            };
            Some(Diagnostic::new(&UNDEFINED_NAME, place, message).help(help))
        }
        Definition::Missing { names } => {
            let diagnostic =
                Diagnostic::new(&UNDEFINED_NAME, place, format!("`{shown}` does not define `{name}`"));
            let others = names.iter().map(String::as_str);
            let near = similar(name, module.own_names().chain(others));
            let graph = near.is_none().then(|| compiled_graph(&module, located, path)).flatten();
            let near = near.or(graph.as_deref());
            let fix = near.map(|near| Fix::likely(diagnostic.place.clone(), Edit::Replace(near.to_owned())));
            Some(diagnostic.fix(fix).help(match near {
                Some(near) if graph.is_some() => format!("did you mean `{near}`, the compiled graph?"),
                Some(near) => format!("did you mean `{near}`?"),
                None if name == "default" => "add `export default`, or name one of its exports".to_owned(),
                None => defined(&module, located),
            }))
        }
    }
}

/// The only name of the file that holds a compiled graph, if a graph is meant.
fn compiled_graph(module: &Module, located: &Located, path: &str) -> Option<String> {
    let language = Language::of(path).filter(|_| located.key.pointer.starts_with("/graphs/"))?;
    let values = values::read(language, module.text()).ok()?;
    let is_graph =
        |item: &&Item| item.value == Value::Graph && !item.is_factory && !item.name.starts_with('_');
    let mut graphs = values.items.iter().filter(is_graph);
    graphs.next().filter(|_| graphs.next().is_none()).map(|item| item.name.clone())
}

/// The names that the file itself defines; among many, the usual one for the key and the last ones.
fn defined(module: &Module, located: &Located) -> String {
    let shown: Vec<&str> = module.own_names().filter(|name| !name.starts_with('_')).collect();
    let usual = located.key.example.trim_matches('"').rsplit_once(':').map(|(_, name)| name);
    match shown.len() {
        0 => "define it there, or use another file".to_owned(),
        count if count > MAX_LISTED => {
            let usual = shown.iter().copied().find(|name| Some(*name) == usual);
            let last = shown.iter().rev().copied().filter(|name| Some(*name) != usual);
            let few = usual.into_iter().chain(last).take(4);
            format!("use a name that it defines, such as {}", listed(few))
        }
        _ => format!("it defines {}", listed(shown.into_iter())),
    }
}

pub(super) static UNDEFINED_NAME: Rule = rule!("undefined-name");
