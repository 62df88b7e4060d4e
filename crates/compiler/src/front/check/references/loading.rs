//! What the server does with a file and a value that it loads: relative imports, the parameters of factories, and
//! graphs with a checkpointer of their own.

use super::within;
use crate::diagnostic::{Diagnostic, Edit, Fix, Place, Pointer, Related, Rule, rule};
use crate::front::check::{Context, modules, written};
use crate::front::reference::{Located, Reference};
use crate::manifests::symbols::{Annotation, Parameter};
use crate::{paths, server};

/// Reports a relative import that leads out of the package as which the file at `path` is loaded.
pub(super) fn check_imports(context: &mut Context<'_>, located: &Located, path: &str) -> Option<Diagnostic> {
    let module = context.module(path)?;
    if module.text().contains("__package__") {
        return None;
    }
    let depth = depth(located, path);
    let import = module.imports().iter().find(|import| import.level > depth)?;
    let message = match depth {
        0 => format!("`{}` has a relative import, and is loaded without its package", written(path)),
        _ => format!("`{}` has a relative import that leads out of its package", written(path)),
    };
    let related = Related::new(path, module.text(), import.span.clone(), "imported here");
    let place = within(located, located.path_part());
    let diagnostic = Diagnostic::new(&RELATIVE_IMPORT, place, message).related(related);
    let levels = module.imports().iter().map(|import| import.level).max().unwrap_or_default();
    let is_file = matches!(located.parse(), Ok(Reference::File { .. }));
    let name = importable(context, path, levels).filter(|_| is_file);
    Some(match name.and_then(|module| located.with_module(&module)) {
        Some(text) => {
            let whole = Place::Within(located.pointer.clone(), 0..located.text.len());
            let help = format!("write `{text}`, or import absolute names in the file");
            diagnostic.help(help).fix(Fix::likely(whole, Edit::Replace(text)))
        }
        None => diagnostic.help("import absolute names in the file"),
    })
}

/// Number of packages around the module as which the file at `path` is loaded. A file alone has none, and `__init__.py` is a
/// package itself.
fn depth(located: &Located, path: &str) -> usize {
    let around = match located.parse() {
        Ok(Reference::Module { module, .. }) => module.matches('.').count(),
        _ => 0,
    };
    around + usize::from(paths::file_name(path) == "__init__.py")
}

/// The dotted name with which the module in the file at `path` can be imported, if it has at least `levels` packages around.
fn importable(context: &Context<'_>, path: &str, levels: usize) -> Option<String> {
    let stem = path.strip_suffix("/__init__.py").or_else(|| path.strip_suffix(".py"))?;
    let roots = modules::roots(context);
    let names = roots.iter().filter_map(|root| paths::below(stem, root)).map(|below| below.replace('/', "."));
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let mut names = names.filter(|name| name.split('.').all(is_name) && name.matches('.').count() >= levels);
    names.find(|name| modules::resolve(context, name).as_deref() == Some(path))
}

/// Reports a name that only the module's `__getattr__` gives, where the server does not ask it.
pub(super) fn check_lazy(located: &Located, path: &str, name: &str) -> Option<Diagnostic> {
    if !server::LOOKED_UP.contains(&located.key.pointer) {
        return None;
    }
    let message = format!("`{}` gives `{name}` in its `__getattr__` only, if at all", written(path));
    let diagnostic = Diagnostic::new(&LAZY_NAME, within(located, located.name_part()), message);
    Some(diagnostic.help(format!("assign it at the top level of the file: `{name} = …`")))
}

/// Reports a function whose parameters the server cannot fill.
pub(super) fn check_factory(
    context: &mut Context<'_>,
    located: &Located,
    path: &str,
    name: &str,
) -> Option<Diagnostic> {
    let module = context.module(path)?;
    let (parameters, span) = module.parameters(name)?;
    let (why, help) = match located.key.pointer {
        "/graphs/*" | "/graphs/*/path" if paths::is_javascript(path) => {
            if parameters.iter().skip(1).all(|it| it.is_filled) {
                return None;
            }
            (
                "needs more arguments than the configuration of the run",
                "take the configuration alone, and read everything else in the function",
            )
        }
        "/graphs/*" | "/graphs/*/path" => (
            unfilled(parameters)?,
            "take at most a `RunnableConfig` and a `ServerRuntime`, and read everything else in the function",
        ),
        "/store/path" | "/checkpointer/path" if parameters.iter().any(|it| !it.is_filled) => (
            "has a parameter, and the server calls it without arguments",
            "take no arguments, or give each parameter a default",
        ),
        _ => return None,
    };
    let message = format!("`{name}` in `{}` {why}", written(path));
    let place = within(located, located.name_part());
    let related = Related::new(path, module.text(), span.clone(), "defined here");
    Some(Diagnostic::new(&UNSUPPORTED_FACTORY, place, message).help(help).related(related))
}

/// Why the server refuses a graph's factory with these parameters. It looks at their number and annotations, not at defaults.
fn unfilled(parameters: &[Parameter]) -> Option<&'static str> {
    let number = |annotation| parameters.iter().filter(|it| it.annotation == annotation).count();
    let runtimes = number(Annotation::Runtime);
    match parameters.len() {
        0 | 1 => None,
        2 if runtimes == 2 => Some("has two parameters for the runtime of the server"),
        2 if runtimes == 1 || number(Annotation::Unknown) > 0 => None,
        2 => Some("has two parameters, none of which is a `ServerRuntime`"),
        _ => Some("has more than two parameters"),
    }
}

/// Reports a graph that is compiled with a checkpointer or store of its own.
pub(super) fn check_component(
    context: &mut Context<'_>,
    located: &Located,
    path: &str,
    name: &str,
) -> Option<Diagnostic> {
    if !located.pointer.is_within(&Pointer::parse("/graphs")) {
        return None;
    }
    let module = context.module(path)?;
    let (component, span) = module.own_component(name)?;
    let message = format!("the graph `{name}` in `{}` is compiled with its own {component}", written(path));
    let place = within(located, located.name_part());
    let related = Related::new(path, module.text(), span.clone(), "passed here");
    let help = format!(
        "remove it, since the server has one; to use another one, set `{component}.path` in the configuration"
    );
    Some(Diagnostic::new(&OWN_CHECKPOINTER, place, message).help(help).related(related))
}

pub(super) static RELATIVE_IMPORT: Rule = rule!("relative-import");

pub(super) static LAZY_NAME: Rule = rule!("lazy-name");

pub(super) static UNSUPPORTED_FACTORY: Rule = rule!("unsupported-factory");

pub(super) static OWN_CHECKPOINTER: Rule = rule!("own-checkpointer");
