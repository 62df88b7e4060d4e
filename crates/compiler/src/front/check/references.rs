//! References to code: whether the file exists, is part of the image, can be parsed, and defines the name.

pub(super) mod built;
mod loading;
mod nearby;
mod undefined;

use std::collections::HashSet;
use std::ops::Range;

use super::imports::reached::Reached;
use super::{Context, locations, modules, written};
use crate::diagnostic::{Diagnostic, Edit, Fix, Place, Pointer, Related, Rule, rule};
use crate::files::{FileKind, Files};
use crate::front::config::Variant;
use crate::front::keys::{Form, Languages};
use crate::front::reference::{self, Located, Reference};
use crate::manifests::Broken;
use crate::manifests::symbols::{Kind, Language};
use crate::words::similar;
use crate::{paths, server};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[
    &loading::LAZY_NAME,
    &loading::OWN_CHECKPOINTER,
    &loading::RELATIVE_IMPORT,
    &loading::UNSUPPORTED_FACTORY,
    &MALFORMED_REFERENCE,
    &built::REFERENCE_NOT_BUILT,
    &REFERENCE_NOT_FOUND,
    &REFERENCE_OUTSIDE_DEPENDENCIES,
    &SOURCE_SYNTAX_ERROR,
    &undefined::UNDEFINED_NAME,
    &UNSUPPORTED_FILE_TYPE,
    &UNSUPPORTED_SYNTAX,
    &UNUSABLE_VALUE,
];

pub(super) fn check(context: &mut Context<'_>) {
    // A mistake in the syntax of a file is reported once, for the first reference to it.
    let mut broken = HashSet::new();
    for located in context.references.clone().iter() {
        let found = check_one(context, located);
        let is_new = |found: &Diagnostic| {
            let is_syntax = [SOURCE_SYNTAX_ERROR.code, UNSUPPORTED_SYNTAX.code].contains(&found.rule.code);
            !is_syntax || found.related.first().is_none_or(|related| broken.insert(related.path.clone()))
        };
        found.filter(is_new).into_iter().for_each(|diagnostic| context.report(diagnostic));
    }
    // Newer syntax in several files has one cause.
    let mut is_newer_reported =
        broken.iter().any(|path| context.module(path).is_some_and(|it| it.syntax_error().is_none()));
    for Reached { located, path, .. } in context.reached().iter().filter(|it| it.is_imported) {
        let Some(found) = check_syntax(context, located, path).filter(|_| broken.insert(path.clone())) else {
            continue;
        };
        let is_newer = found.rule.code == UNSUPPORTED_SYNTAX.code;
        if !is_newer || !std::mem::replace(&mut is_newer_reported, true) {
            context.report(found);
        }
    }
}

/// The first mistake in a reference: each check assumes that the ones before passed.
fn check_one(context: &mut Context<'_>, located: &Located) -> Option<Diagnostic> {
    if !locations::is_usable(context, &located.text[located.path_part()]) {
        return None;
    }
    match located.parse() {
        Err(malformed) => Some(check_malformed(context, located, malformed)),
        Ok(Reference::File { path, .. }) if located.form == Form::File => check_file_alone(context, located)
            .or_else(|| check_file(context, located, &path))
            .or_else(|| check_syntax(context, located, &path)),
        Ok(Reference::File { path, name }) => {
            check_file(context, located, &path).or_else(|| check_name(context, located, &path, &name))
        }
        Ok(Reference::Module { module, name }) => check_module(context, located, &module, &name),
    }
}

/// Reports a name after a file where the key takes the file alone.
fn check_file_alone(context: &Context<'_>, located: &Located) -> Option<Diagnostic> {
    let colon = located.text.rfind(':')?;
    let file = &located.text[..colon];
    if !paths::is_javascript(file) || context.files.is_file(&paths::normalize(&located.text)) {
        return None;
    }
    let message = format!("{} is a file, without a name", located.value);
    let place = within(located, colon..located.text.len());
    let diagnostic = Diagnostic::new(&MALFORMED_REFERENCE, place, message);
    Some(diagnostic.help(format!("write `{file}`")).safe_fix(Edit::Remove))
}

fn within(located: &Located, part: Range<usize>) -> Place {
    Place::Within(located.pointer.clone(), part)
}

fn check_malformed(context: &Context<'_>, located: &Located, malformed: reference::Malformed) -> Diagnostic {
    let text = &located.text;
    let path = paths::normalize(text.split(':').next().unwrap_or_default());
    let example = located.key.example.trim_matches('"');
    let example = match example.rsplit_once(':').filter(|_| context.files.is_file(&path)) {
        Some((_, name)) => format!("{}:{name}", written(&path)),
        None => example.to_owned(),
    };
    let (place, message) = if text.is_empty() {
        (Place::Value(located.pointer.clone()), "the reference is empty".to_owned())
    } else {
        (within(located, malformed.part), format!("`{}` {}", text.escape_debug(), malformed.message))
    };
    let help = match located.text.split_once(':').filter(|_| located.form == Form::Dotted) {
        Some((module, name)) if !module.contains(['/', '\\']) && !name.is_empty() => {
            format!("write a dotted name, `{module}.{name}`")
        }
        _ => format!("write the file, a `:` and the name defined in it, such as `{example}`"),
    };
    Diagnostic::new(&MALFORMED_REFERENCE, place, message).help(help)
}

fn check_file(context: &Context<'_>, located: &Located, path: &str) -> Option<Diagnostic> {
    let place = within(located, located.path_part());
    if !context.files.is_file(path) {
        return not_found(context, place, path);
    }
    check_type(located, context.variant, place.clone(), path).or_else(|| check_inside(context, place, path))
}

fn not_found(context: &Context<'_>, place: Place, path: &str) -> Option<Diagnostic> {
    // A missing directory is reported once, for everything in it.
    let mut around = context.locals.iter().filter(|local| paths::lies_in(path, &local.path));
    if around.any(|local| !local.is_directory()) {
        return None;
    }
    let shown = written(path);
    let message = if context.files.is_directory(path) {
        format!("`{shown}` is a directory, not a file")
    } else if let Some(missing) = missing_directory(context, path) {
        format!("there is no directory `{}`", written(&missing))
    } else {
        format!("there is no file `{shown}`")
    };
    let near = nearby::suggest(context, path);
    if near.is_none() && built::may_be_built(context, path) {
        let diagnostic = Diagnostic::new(&built::REFERENCE_NOT_BUILT, place, message);
        return Some(diagnostic.help(built::help(context)));
    }
    let diagnostic = Diagnostic::new(&REFERENCE_NOT_FOUND, place, message);
    let Some(near) = near.map(|near| written(&near)) else {
        return Some(
            diagnostic
                .help("create it, or write another path relative to the directory of the configuration"),
        );
    };
    Some(diagnostic.help(format!("did you mean `{near}`?")).likely_fix(Edit::Replace(near)))
}

/// The outermost directory around the file at `path` that does not exist.
fn missing_directory(context: &Context<'_>, path: &str) -> Option<String> {
    let ends = path.match_indices('/').map(|(at, _)| &path[..at]);
    let mut directories = ends.filter(|it| !it.is_empty() && !it.ends_with(".."));
    directories.find(|it| !context.files.is_directory(it)).map(str::to_owned)
}

fn check_type(located: &Located, variant: Variant, place: Place, path: &str) -> Option<Diagnostic> {
    let is_javascript = paths::is_javascript(path);
    let is_component = [".tsx", ".ts", ".jsx", ".js"].iter().any(|ending| path.ends_with(ending));
    let (why, help) = match (located.languages, variant) {
        (Languages::Component, _) if is_component => return None,
        (Languages::Component, _) => ("has an unsupported file type", "name a .tsx, .ts, .jsx or .js file"),
        _ if !path.ends_with(".py") && !is_javascript => {
            ("has an unsupported file type", "name a .py, .ts or .js file")
        }
        (Languages::Python, _) if is_javascript => ("must be a Python file", "name a .py file"),
        (Languages::Python, _) => return None,
        (_, Variant::Javascript) if !is_javascript => (
            "is a Python file, and the JavaScript server cannot load it",
            "name a .ts or .js file, or set `python_version` to use the Python server",
        ),
        (Languages::Server, Variant::Python | Variant::Mixed) if is_javascript => {
            ("is not a Python file, and the Python server cannot load it here", "name a .py file")
        }
        (_, Variant::Python) if is_javascript => (
            "needs Node.js, which the image does not have",
            "name a .py file, or set `node_version` to install Node.js",
        ),
        (_, Variant::Mixed) if server::UNKNOWN_ENDINGS.iter().any(|ending| path.ends_with(ending)) => {
            ("is a JSX file, which the Python server cannot load", "name a .ts or .js file")
        }
        _ => return None,
    };
    let message = format!("`{}` {why}", written(path));
    Some(Diagnostic::new(&UNSUPPORTED_FILE_TYPE, place, message).help(help))
}

fn check_inside(context: &Context<'_>, place: Place, path: &str) -> Option<Diagnostic> {
    let python = Language::of(path) == Some(Language::Python);
    // A file that was given instead of its directory is reported by another check.
    let meant = context.all_locals.iter().map(|local| match local.found {
        Some(FileKind::File) => paths::parent(&local.path),
        _ => &local.path,
    });
    let project = (!python).then_some(".");
    let known = match context.config.source {
        // Another check reports a lock file that cannot be used.
        Some(_) => !context.locals.is_empty(),
        None => !context.is_removed("/dependencies") && (!python || has_dependencies(context)),
    };
    if !known || meant.chain(project).any(|directory| paths::lies_in(path, directory)) {
        return None;
    }
    if context.config.source.is_some() {
        let message = format!(
            "`{}` is in no package that `source` installs, so the image does not contain it",
            written(path)
        );
        let diagnostic = Diagnostic::new(&REFERENCE_OUTSIDE_DEPENDENCIES, place, message);
        return Some(diagnostic.help("add its package to the dependencies of the package that runs"));
    }
    let message =
        format!("`{}` is in none of the `dependencies`, so the image does not contain it", written(path));
    let entry = written(&nearby::home(context, path));
    let list = Place::Value(Pointer::parse("/dependencies"));
    Some(
        Diagnostic::new(&REFERENCE_OUTSIDE_DEPENDENCIES, place, message)
            .help(format!("add `\"{entry}\"` to `dependencies`"))
            .fix(Fix::likely(list, Edit::item(&entry))),
    )
}

/// Whether `dependencies` can contain a Python file; otherwise another check reports it.
fn has_dependencies(context: &Context<'_>) -> bool {
    let javascript = context.config.graphs.values().all(|graph| paths::is_javascript(graph));
    match &context.config.dependencies {
        Some(list) => !list.is_empty() || javascript,
        None => javascript,
    }
}

fn check_module(
    context: &mut Context<'_>,
    located: &Located,
    module: &str,
    name: &str,
) -> Option<Diagnostic> {
    let Some(path) = modules::resolve(context, module) else {
        return missing_module(context, located, module);
    };
    let directory = path.strip_suffix("/__init__.py");
    // A module in a package is an attribute of the package once it is imported.
    let submodule = |directory: &str| {
        let first = name.split('.').next().unwrap_or_default();
        context.files.is_file(&format!("{directory}/{first}.py"))
            || context.files.is_directory(&format!("{directory}/{first}"))
    };
    if directory.is_some_and(submodule) { None } else { check_name(context, located, &path, name) }
}

fn missing_module(context: &Context<'_>, located: &Located, module: &str) -> Option<Diagnostic> {
    let modules::Missing { parent, package, part } = modules::missing(context, module)?;
    let message = format!("there is no module `{part}` in `{}`", written(&parent));
    let entries = context.files.list(&parent);
    let names = entries.iter().filter_map(|(name, kind)| match kind {
        FileKind::File => name.strip_suffix(".py"),
        FileKind::Directory => Some(name.as_str()),
    });
    let help = match similar(&part, names.filter(|name| *name != "__init__")) {
        Some(near) => format!("did you mean `{package}.{near}`?"),
        None => "name a module of the package, or the file as a path".to_owned(),
    };
    let place = within(located, located.path_part());
    Some(Diagnostic::new(&REFERENCE_NOT_FOUND, place, message).help(help))
}

fn check_name(context: &mut Context<'_>, located: &Located, path: &str, name: &str) -> Option<Diagnostic> {
    check_syntax(context, located, path)
        .or_else(|| loading::check_imports(context, located, path))
        .or_else(|| undefined::check(context, located, path, name))
        .or_else(|| check_value(context, located, path, name))
        .or_else(|| loading::check_factory(context, located, path, name))
        .or_else(|| loading::check_component(context, located, path, name))
}

/// A file that cannot be read or parsed gives no findings about its names.
pub(super) fn check_syntax(context: &mut Context<'_>, located: &Located, path: &str) -> Option<Diagnostic> {
    let module = context.module(path)?;
    let place = within(located, located.path_part());
    let shown = written(path);
    let related =
        |mistake: &Broken| Related::new(path, module.text(), mistake.span.clone(), &*mistake.message);
    if let Some(mistake) = module.syntax_error() {
        let message = format!("`{shown}` has a syntax error");
        let diagnostic = Diagnostic::new(&SOURCE_SYNTAX_ERROR, place, message).mistake(related(mistake));
        return Some(match &mistake.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
    }
    let mistake = module.newer_syntax()?;
    let (major, minor) = context.python_version?;
    let message = format!("`{shown}` uses syntax that Python {major}.{minor} does not support");
    let diagnostic = Diagnostic::new(&UNSUPPORTED_SYNTAX, place, message).mistake(related(mistake));
    Some(diagnostic.help("change the code, or set `python_version` to a newer version"))
}

/// Reports a definition that certainly has the wrong type: no library turns a literal into a graph.
fn check_value(context: &mut Context<'_>, located: &Located, path: &str, name: &str) -> Option<Diagnostic> {
    let module = context.module(path)?;
    let (kind, span) = module.kind(name)?;
    let reached = context.reached();
    let is_mentioned = |function: &String| {
        reached.iter().any(|it| it.path != path && it.module.text().contains(&**function))
    };
    if module.assigned_in(name).iter().any(is_mentioned) {
        return None;
    }
    let is_instance = ["/auth/path", "/encryption/path"].contains(&located.key.pointer);
    let kind = match kind {
        Kind::Literal(kind) => kind,
        Kind::Function if is_instance => "a function",
        Kind::Class if is_instance => "a class",
        Kind::Function | Kind::Class => return None,
    };
    let expected = located.value;
    let message = format!("`{name}` in `{}` is {kind}, not {expected}", written(path));
    let place = within(located, located.name_part());
    let related = Related::new(path, module.text(), span, "defined here");
    let diagnostic = Diagnostic::new(&UNUSABLE_VALUE, place, message).related(related);
    Some(diagnostic.help(format!("use the name of {expected}")))
}

static MALFORMED_REFERENCE: Rule = rule!("malformed-reference");

static REFERENCE_NOT_FOUND: Rule = rule!("reference-not-found");

static REFERENCE_OUTSIDE_DEPENDENCIES: Rule = rule!("reference-outside-dependencies");

static SOURCE_SYNTAX_ERROR: Rule = rule!("source-syntax-error");

static UNSUPPORTED_FILE_TYPE: Rule = rule!("unsupported-file-type");

static UNSUPPORTED_SYNTAX: Rule = rule!("unsupported-syntax");

static UNUSABLE_VALUE: Rule = rule!("unusable-value");
