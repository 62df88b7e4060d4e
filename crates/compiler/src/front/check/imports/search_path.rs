//! Modules of the project that Python does not find: they lie beside the file that imports them, in a directory that is
//! not on the import path of the image.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::reached::Reached;
use super::{ancestors, imported_here};
use crate::diagnostic::{Diagnostic, Rule, rule};
use crate::files::Files;
use crate::front::check::{Context, modules, written};
use crate::front::reference::Located;
use crate::manifests::dependency::LocalKind;
use crate::manifests::package;
use crate::manifests::requirement::normalized_name;
use crate::manifests::source_tree;
use crate::manifests::symbols::{Definition, Import, Module};
use crate::{paths, server};

/// Parts of a text that change the import path while the code runs.
const CHANGES: &[&str] = &["sys.path", "addsitedir", "import_hook", "meta_path"];

/// Whether one of these modules changes the import path, or may do so.
pub(super) fn is_changed(reached: &[Reached]) -> bool {
    reached.iter().any(|reached| CHANGES.iter().any(|it| reached.module.text().contains(it)))
}

/// Whether `directory` has the code of `module`.
pub(super) fn has(context: &Context<'_>, directory: &str, module: &str) -> bool {
    let path = paths::normalize(&paths::join(directory, module));
    context.files.is_file(&format!("{path}.py")) || source_tree::has_python(&path, context.files)
}

/// The directories that modules are imported from, and the names of the requirements, if all are certain: manifests tell
/// the code that build backends select.
pub(super) struct SearchPath<'a> {
    roots: Vec<String>,
    /// The packages that a build backend installs, and their directories.
    packages: Vec<(String, String)>,
    requirements: &'a BTreeSet<String>,
}

impl<'a> SearchPath<'a> {
    pub(super) fn read(context: &Context<'_>, requirements: &'a BTreeSet<String>) -> Option<Self> {
        let is_set = context.variables().iter().any(|variable| variable.name == server::IMPORT_PATH);
        if is_set || context.config.source.is_some() {
            return None;
        }
        let mut roots = modules::roots(context);
        let mut packages = Vec::new();
        for local in context.directories().iter().filter(|local| local.kind == LocalKind::Package) {
            let installed = package::installed_packages(local, context.files)?;
            // Those with a dot lie in another package, or in the directory of their namespace.
            let outer = installed.iter().filter(|(name, _)| !name.contains('.'));
            roots.extend(outer.map(|(_, directory)| paths::parent(directory).to_owned()));
            packages.extend(installed);
        }
        Some(Self { roots, packages, requirements })
    }

    /// Reports the import of a module that only lies beside the file at `path`, or above it.
    pub(super) fn check(
        &self,
        context: &mut Context<'_>,
        located: &Located,
        path: &str,
        module: &Module,
        import: &Import,
    ) -> Option<Diagnostic> {
        let name = import.first();
        let directory = ancestors(path).into_iter().find(|directory| has(context, directory, name))?;
        // A file does not mean itself: `tavily.py` uses the package of that name.
        let is_itself = modules::files_of(directory, name).iter().any(|file| file == path);
        if is_itself || self.finds(context, name) || !is_meant(context, directory, import) {
            return None;
        }
        Some(self.report(located, path, module, import, directory))
    }

    /// Reports the import of a file below the configuration by the names of the directories above it.
    pub(super) fn check_above(
        &self,
        context: &Context<'_>,
        located: &Located,
        path: &str,
        module: &Module,
        import: &Import,
    ) -> Option<Diagnostic> {
        let around = context.files.directory();
        let is_there = |level: usize| {
            let (own, dotted) = (around.get(around.len() - level..)?.join("."), import.module.as_str());
            let rest = if dotted == own { "" } else { dotted.strip_prefix(&own)?.strip_prefix('.')? };
            let names = import.names.iter().map(String::as_str);
            let mut modules = if rest.is_empty() { names.collect() } else { vec![rest] }.into_iter();
            modules
                .any(|it| context.files.is_file(&modules::files_of(".", it)[0]) || has(context, ".", it))
                .then_some(level)
        };
        let levels = 1..=around.len().min(import.module.split('.').count());
        let level = levels.into_iter().find_map(is_there)?;
        if self.finds(context, import.first()) {
            return None;
        }
        Some(self.report(located, path, module, import, &vec![".."; level].join("/")))
    }

    fn report(
        &self,
        located: &Located,
        path: &str,
        module: &Module,
        import: &Import,
        directory: &str,
    ) -> Diagnostic {
        let name = import.first();
        let message = format!(
            "`{}` imports `{name}`, and its directory `{}` is not on the import path",
            written(path),
            written(directory)
        );
        let installed = self.packages.iter().find(|(_, place)| place == directory);
        let is_below = directory.split('/').all(|part| part != "..");
        let help = match installed {
            Some((package, _)) => format!("import it as `{package}.{name}`"),
            None if is_below => format!("import it as `{}.{name}`", directory.replace('/', ".")),
            None => format!("list `{}` in `dependencies`", written(directory)),
        };
        let place = super::within(located);
        let related = imported_here(path, module, import);
        Diagnostic::new(&MODULE_NOT_ON_PATH, place, message).help(help).mistake(related)
    }

    /// Whether the module `name` is on the path, or may belong to a requirement.
    fn finds(&self, context: &Context<'_>, name: &str) -> bool {
        self.roots.iter().any(|root| has(context, root, name))
            || self.requirements.contains(&normalized_name(name))
    }
}

/// Whether the module in `directory` has something of what is imported. Otherwise another one of this name is meant, which
/// a requirement of a requirement may bring.
fn is_meant(context: &mut Context<'_>, directory: &str, import: &Import) -> bool {
    let place = paths::normalize(&paths::join(directory, &import.module.replace('.', "/")));
    let modules = modules::files_of(directory, &import.module).map(|file| context.module(&file));
    let defines =
        |module: &Rc<Module>, name: &str| !matches!(module.define(name), Definition::Missing { .. });
    let has = |name: &String| {
        let has_file = modules.iter().flatten().any(|module| defines(module, name));
        name == "*" || has_file || modules::has_entry(context, &place, name)
    };
    import.names.is_empty() || import.names.iter().any(has)
}

pub(super) static MODULE_NOT_ON_PATH: Rule = rule!("module-not-on-path");
