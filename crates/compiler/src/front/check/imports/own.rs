//! Imports of what the project itself does not have: names that its modules do not define, and modules that its packages
//! lack.

use std::collections::BTreeSet;

use super::reached::Reached;
use super::{imported_here, within};
use crate::diagnostic::{Diagnostic, Rule, rule};
use crate::files::{FileKind, Files};
use crate::front::check::{Context, modules, written};
use crate::front::reference::{Located, Reference};
use crate::manifests::import_names;
use crate::manifests::requirement::normalized_name;
use crate::manifests::symbols::{Definition, Import, Module};
use crate::paths;
use crate::words::similar;

/// Parts of the names of modules that tools generate while a package is built.
const GENERATED: &[&str] = &["_pb2", "version"];

/// Build tools that compile modules from other languages.
const COMPILERS: &[&str] =
    &["cython", "ext_modules", "ext-modules", "maturin", "mypyc", "pybind11", "scikit-build"];

/// Modules with names that directories of projects often have, and the distributions that bring them.
const HOMONYMS: &[(&str, &str)] = &[("agents", "openai-agents")];

/// The modules of the project, as far as they are certain.
pub(super) struct OwnModules<'a> {
    /// The names of the requirements, any of which may replace a module of the same name.
    requirements: &'a BTreeSet<String>,
    /// Top-level modules that are certainly those of the project: it has what others import of them.
    confirmed: BTreeSet<String>,
    /// Whether modules may be made by the build.
    may_compile: bool,
}

/// A missing module or name.
struct Absent {
    message: String,
    help: String,
}

impl<'a> OwnModules<'a> {
    pub(super) fn read(
        context: &mut Context<'_>,
        reached: &[Reached],
        requirements: &'a BTreeSet<String>,
    ) -> Self {
        let manifests = context.directories().into_iter().flat_map(|local| {
            ["pyproject.toml", "setup.py", "setup.cfg"].map(|name| paths::join(&local.path, name))
        });
        let is_compiled = |path: String| {
            let text = context.files.text(&path).unwrap_or_default();
            COMPILERS.iter().any(|it| text.contains(it))
        };
        let may_compile = manifests.into_iter().any(is_compiled);
        let confirmed = confirmed(context, reached);
        Self { requirements, confirmed, may_compile }
    }

    /// Reports an import in the file at `path` of something that the project does not have.
    pub(super) fn check(
        &self,
        context: &mut Context<'_>,
        located: &Located,
        path: &str,
        module: &Module,
        import: &Import,
    ) -> Option<Diagnostic> {
        let Absent { message, help } = if import.level == 0 {
            self.absolute(context, import)?
        } else if matches!(located.parse(), Ok(Reference::File { path: named, .. }) if named == path) {
            // Loaded by its path, a file has no package, and another check reports this.
            return None;
        } else {
            self.relative(context, path, import)?
        };
        let message = format!("`{}` imports {message}", written(path));
        let related = imported_here(path, module, import);
        Some(Diagnostic::new(&IMPORT_NOT_FOUND, within(located), message).help(help).mistake(related))
    }

    fn absolute(&self, context: &mut Context<'_>, import: &Import) -> Option<Absent> {
        let first = import.first();
        let is_replaced = self.requirements.contains(&normalized_name(first))
            || HOMONYMS.iter().any(|(module, name)| *module == first && self.requirements.contains(*name));
        if import_names::is_provided(first) || is_replaced || !self.confirmed.contains(first) {
            return None;
        }
        if let Some(file) = modules::resolve_only(context, &import.module) {
            return self.names(context, &file, import);
        }
        if modules::resolve(context, &import.module).is_some() {
            return None;
        }
        let Some(modules::Missing { parent, package, part }) = modules::missing(context, &import.module)
        else {
            return self.in_namespace(context, import);
        };
        // Another directory with the same name may have the module.
        modules::resolve_only(context, &package)?;
        let is_package = !parent.ends_with(".py");
        self.module(context, &parent, &part).filter(|_| is_package)
    }

    /// The part that a directory with the name of the project lacks, though it is no package itself. Of other names, other
    /// distributions may have parts.
    fn in_namespace(&self, context: &Context<'_>, import: &Import) -> Option<Absent> {
        let (first, rest) = import.module.split_once('.')?;
        let part = rest.split('.').next()?;
        let directories = context.directories().into_iter();
        let mut names = directories.filter_map(|local| local.distribution_name(context.files));
        let is_own = names.any(|name| normalized_name(&name) == normalized_name(first));
        let is_required = self.requirements.iter().any(|it| it.contains(&*normalized_name(part)));
        let directories = modules::roots(context).into_iter().map(|root| paths::join(&root, first));
        let directories: BTreeSet<String> = directories.filter(|it| context.files.is_directory(it)).collect();
        let directory = directories.first().filter(|_| is_own && !is_required && directories.len() == 1)?;
        let is_package = context.files.is_file(&paths::join(directory, "__init__.py"));
        if is_package { None } else { self.module(context, directory, part) }
    }

    fn relative(&self, context: &mut Context<'_>, path: &str, import: &Import) -> Option<Absent> {
        let up = "../".repeat(import.level - 1);
        let mut directory = paths::join(paths::parent(path), &up);
        let mut parts = import.module.split('.').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let [file, package] = modules::files_of(&directory, part);
            let (is_file, is_package) = (context.files.is_file(&file), context.files.is_file(&package));
            let below = paths::normalize(&paths::join(&directory, part));
            match (is_file, is_package) {
                (true, true) => return None,
                (true, false) if parts.peek().is_none() => return self.names(context, &file, import),
                (true, false) => return None,
                (false, true) => directory = below,
                (false, false) if !context.files.is_file(&paths::join(&directory, "__init__.py")) => {
                    return None;
                }
                (false, false) => return self.module(context, &directory, part),
            }
        }
        let package = paths::normalize(&paths::join(&directory, "__init__.py"));
        if context.files.is_file(&package) { self.names(context, &package, import) } else { None }
    }

    /// The first name of `import` that the module in `file` does not define.
    fn names(&self, context: &mut Context<'_>, file: &str, import: &Import) -> Option<Absent> {
        if has_other(context, file) {
            return None;
        }
        let module = context.module(file)?;
        let directory = file.strip_suffix("/__init__.py");
        if directory.is_some() && modules::is_dynamic(module.text()) {
            return None;
        }
        let is_absent = |name: &&String| {
            let is_special = name.starts_with("__") || name.as_str() == "*";
            let is_module = directory.is_some_and(|directory| {
                modules::has_entry(context, directory, name) || self.may_be_made(name)
            });
            !is_special && !is_module && matches!(module.define(name), Definition::Missing { .. })
        };
        let name = import.names.iter().find(is_absent)?;
        let help = match similar(name, module.own_names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "define it there, or remove the import".to_owned(),
        };
        Some(Absent { message: format!("`{name}`, which `{}` does not define", written(file)), help })
    }

    /// The module `part` that the package in `directory` lacks.
    fn module(&self, context: &Context<'_>, directory: &str, part: &str) -> Option<Absent> {
        let init = context.files.text(&paths::normalize(&paths::join(directory, "__init__.py")));
        let init = init.unwrap_or_default();
        let has_entry = || modules::has_entry(context, directory, part);
        if modules::is_dynamic(&init) || has_entry() || self.may_be_made(part) {
            return None;
        }
        let entries = context.files.list(directory);
        let names = entries.iter().filter_map(|(name, kind)| match kind {
            FileKind::File => name.strip_suffix(".py"),
            FileKind::Directory => Some(name.as_str()),
        });
        let help = match similar(part, names.filter(|name| *name != "__init__")) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add the module, or remove the import".to_owned(),
        };
        Some(Absent { message: format!("`{part}`, which is not in `{}`", written(directory)), help })
    }

    /// Whether a build may make the module.
    fn may_be_made(&self, module: &str) -> bool {
        self.may_compile || module.starts_with('_') || GENERATED.iter().any(|it| module.contains(it))
    }
}

/// The top-level modules of which the project has something that is imported, or that have its name.
fn confirmed(context: &mut Context<'_>, reached: &[Reached]) -> BTreeSet<String> {
    let directories = context.directories().into_iter();
    let own = directories.filter_map(|local| local.distribution_name(context.files));
    let mut confirmed: BTreeSet<String> = own.map(|name| normalized_name(&name).replace('-', "_")).collect();
    let imports = reached.iter().flat_map(|reached| reached.module.imports());
    for import in imports.filter(|it| it.level == 0 && !import_names::is_provided(it.first())) {
        let Some(file) = modules::resolve_only(context, &import.module) else { continue };
        let module = context.module(&file);
        let has = |name: &String| module.as_ref().is_some_and(|it| it.define(name) == Definition::Defined);
        if import.module.contains('.') || import.names.iter().any(has) {
            confirmed.insert(import.first().to_owned());
        }
    }
    let roots = modules::roots(context);
    confirmed.extend(reached.iter().filter_map(|reached| own_package(context, &roots, &reached.path)));
    confirmed
}

/// The package that the file at `path` is imported with: another one of this name cannot be meant in it.
fn own_package(context: &Context<'_>, roots: &[String], path: &str) -> Option<String> {
    roots.iter().find_map(|root| {
        let (package, _) = paths::below(path, root)?.split_once('/')?;
        let init = paths::normalize(&paths::join(root, &format!("{package}/__init__.py")));
        context.files.is_file(&init).then(|| package.to_owned())
    })
}

/// Whether something beside `file` may be imported instead of it: a compiled module, or a package of the same name.
fn has_other(context: &Context<'_>, file: &str) -> bool {
    let Some(stem) = paths::file_name(file).strip_suffix(".py") else { return true };
    let entries = context.files.list(paths::parent(file));
    let is_other = |name: &str| {
        let rest = name.strip_prefix(stem).filter(|rest| rest.is_empty() || rest.starts_with('.'));
        rest.is_some_and(|rest| ![".py", ".pyi"].contains(&rest))
    };
    entries.iter().any(|(name, _)| is_other(name))
}

pub(super) static IMPORT_NOT_FOUND: Rule = rule!("import-not-found");
