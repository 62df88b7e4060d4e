//! Imports in the JavaScript and TypeScript files that the server loads: is the file part of the image, does it have the
//! name, and is the package installed?
//!
//! Names are resolved as tsx does: endings may be left out, and that of a compiled file means its source.

use std::collections::HashSet;
use std::rc::Rc;

use super::reached::{self, Reached};
use super::{UNDECLARED_IMPORT, imported_here, own, within};
use crate::diagnostic::Diagnostic;
use crate::files::Files;
use crate::front::check::{Context, references, written};
use crate::front::config::Variant;
use crate::front::keys::Languages;
use crate::manifests::installation::Installation;
use crate::manifests::symbols::{Definition, Import, Language};
use crate::manifests::tsconfig::{self, Aliases};
use crate::manifests::{import_names, package_json};
use crate::paths;
use crate::words::similar;

/// Endings that an import may leave out, in the order in which they are tried.
const ENDINGS: &[&str] = &[".ts", ".tsx", ".js", ".jsx", ".mts", ".mjs", ".cts", ".cjs", ".json"];

/// Endings of compiled files, and those of their sources.
const SOURCES: &[(&str, &[&str])] =
    &[(".js", &[".ts", ".tsx"]), (".jsx", &[".tsx"]), (".mjs", &[".mts"]), (".cjs", &[".cts"])];

/// Parts of the paths of files that tools generate.
const GENERATED: &[&str] = &["generated", "dist", "build", "out", "gen", ".prisma"];

/// The target of an import that is relative, or an alias.
enum Target {
    /// A file of the project.
    Found(String),
    /// A path at which the project has no file.
    Missing(String),
    /// A place outside of what the image contains.
    Outside,
}

pub(super) fn check(context: &mut Context<'_>) {
    if context.variant == Variant::Python {
        return;
    }
    let Some(Ok(installation)) = context.installation() else { return };
    let mut undeclared = HashSet::new();
    let loaded = |context: &Context<'_>, path: &str, import: &Import| match resolve(
        context,
        &installation,
        path,
        import,
    ) {
        Some(Target::Found(file)) => vec![file],
        _ => Vec::new(),
    };
    for reached in reached::follow(context, |language| language != Language::Python, &loaded) {
        // A bundler resolves those of components.
        if reached.located.languages == Languages::Component {
            continue;
        }
        let Reached { located, path, module, is_imported } = &reached;
        let broken = if *is_imported { references::check_syntax(context, located, path) } else { None };
        broken.into_iter().for_each(|diagnostic| context.report(diagnostic));
        for import in module.imports() {
            let found = match resolve(context, &installation, path, import) {
                Some(target) => check_file(context, &installation, &reached, import, target),
                None => {
                    let found = check_package(context, &installation, &reached, import);
                    // One import is enough: the help is the same for all.
                    found.filter(|_| undeclared.insert(package(&import.module).map(str::to_owned)))
                }
            };
            found.into_iter().for_each(|diagnostic| context.report(diagnostic));
        }
    }
}

/// The target of an import in the file at `path`, if it is relative or an alias.
fn resolve(
    context: &Context<'_>,
    installation: &Installation,
    path: &str,
    import: &Import,
) -> Option<Target> {
    let module = import.module.split('?').next()?;
    if !module.starts_with('.') {
        return resolve_alias(context, installation, path, module);
    }
    let target = paths::normalize(&paths::join(paths::parent(path), module));
    Some(match existing(context, &target) {
        Some(file) => Target::Found(file),
        None if target.starts_with("..") => Target::Outside,
        None => Target::Missing(target),
    })
}

fn resolve_alias(
    context: &Context<'_>,
    installation: &Installation,
    path: &str,
    module: &str,
) -> Option<Target> {
    let all: Vec<Rc<Aliases>> = aliases(context, installation, path).collect();
    if all.iter().any(|it| it.is_open) {
        return None;
    }
    let named: Vec<String> = all.iter().flat_map(|aliases| aliases.targets(module)).collect();
    let below_base = all.iter().filter_map(|it| Some(paths::join(it.base.as_ref()?, module)));
    if let Some(file) = named.iter().cloned().chain(below_base).find_map(|it| existing(context, &it)) {
        return Some(Target::Found(file));
    }
    let may_be_package = all.iter().any(|it| it.may_have_any())
        || package(module).is_none_or(|name| is_declared(context, installation, path, name));
    let is_certain = |target: &String| !target.starts_with("..") && !target.contains("node_modules");
    named.into_iter().next().filter(|it| !may_be_package && is_certain(it)).map(Target::Missing)
}

/// The file that a path means, which may lack its ending.
fn existing(context: &Context<'_>, target: &str) -> Option<String> {
    let with =
        |start: &str, endings: &[&str]| endings.iter().map(|it| format!("{start}{it}")).collect::<Vec<_>>();
    let sources =
        SOURCES.iter().filter_map(|(ending, sources)| Some(with(target.strip_suffix(ending)?, sources)));
    let index = with(&paths::join(target, "index"), ENDINGS);
    let mut candidates =
        [target.to_owned()].into_iter().chain(sources.flatten()).chain(with(target, ENDINGS)).chain(index);
    candidates.find(|file| context.files.is_file(file))
}

/// The aliases that may hold in the file at `path`.
fn aliases<'a>(
    context: &'a Context<'_>,
    installation: &'a Installation,
    path: &'a str,
) -> impl Iterator<Item = Rc<Aliases>> + 'a {
    around(installation, path).filter_map(|directory| tsconfig::find(directory, context.files))
}

/// Reports an import of a file that is not there, or that does not export a name.
fn check_file(
    context: &mut Context<'_>,
    installation: &Installation,
    reached: &Reached,
    import: &Import,
    target: Target,
) -> Option<Diagnostic> {
    let (message, help) = match target {
        Target::Found(file) => check_names(context, &file, import)?,
        // The files of a workspace around the configuration are part of the image.
        Target::Outside if installation.root.starts_with("..") || context.config.entries().count() > 0 => {
            return None;
        }
        Target::Outside => (
            format!("`{}`, which is outside of the project, so the image does not contain it", import.module),
            "move it into the project, or make it a package of a workspace with the project".to_owned(),
        ),
        Target::Missing(target) => check_missing(context, &target, import)?,
    };
    let message = format!("`{}` imports {message}", written(&reached.path));
    let diagnostic = Diagnostic::new(&own::IMPORT_NOT_FOUND, within(&reached.located), message).help(help);
    Some(diagnostic.mistake(imported_here(&reached.path, &reached.module, import)))
}

/// Why a file is missing, unless something of its name is there, or a tool may make it.
fn check_missing(context: &Context<'_>, target: &str, import: &Import) -> Option<(String, String)> {
    let (directory, name) = (paths::parent(target), paths::file_name(target));
    let stem = name.split('.').next().unwrap_or_default();
    let entries = context.files.list(directory);
    let names: Vec<&str> =
        entries.iter().map(|(entry, _)| entry.split('.').next().unwrap_or_default()).collect();
    let is_generated = target.split('/').any(|part| GENERATED.iter().any(|it| part.contains(it)));
    let is_linked = context.files.linked_directories(directory).iter().any(|entry| entry == name);
    // Those of other kinds are assets, which other loaders and tools read or make.
    let is_code = !name.contains('.') || Language::of(name).is_some();
    if is_generated || is_linked || !is_code || names.contains(&stem) {
        return None;
    }
    let help = match similar(stem, names.into_iter()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "add the file, or remove the import".to_owned(),
    };
    Some((format!("`{}`, and there is no such file", import.module), help))
}

/// The first name that the module in `file` certainly does not export. One that it mentions may be a type.
fn check_names(context: &mut Context<'_>, file: &str, import: &Import) -> Option<(String, String)> {
    let module = context.module(file)?;
    let is_absent = |name: &&String| match module.define(name) {
        Definition::NotExported => true,
        Definition::Missing { .. } => name.as_str() == "default" || !module.text().contains(name.as_str()),
        _ => false,
    };
    let name = import.names.iter().find(is_absent)?;
    let help = match similar(name, module.own_names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "export it there, or remove the import".to_owned(),
    };
    Some((format!("`{name}`, which `{}` does not export", written(file)), help))
}

/// Reports an import of a package that no manifest requires.
fn check_package(
    context: &Context<'_>,
    installation: &Installation,
    reached: &Reached,
    import: &Import,
) -> Option<Diagnostic> {
    let name = package(&import.module)?;
    if import_names::is_of_node(name) {
        return None;
    }
    if is_declared(context, installation, &reached.path, name) {
        return check_exports(context, installation, reached, import, name);
    }
    let is_package = !name.starts_with('~') && !name.starts_with("@/");
    if may_be_alias(context, installation, &reached.path, &import.module)
        || is_package && may_be_installed(context, installation, name)
    {
        return None;
    }
    let (path, module) = (written(&reached.path), &import.module);
    let (message, help) = if !is_package {
        (
            format!(
                "`{path}` imports `{module}`, which is no package, and no tsconfig.json has `paths` for it"
            ),
            "write a relative path, or set `paths` in the tsconfig.json of the project".to_owned(),
        )
    } else {
        let manifest = written(&paths::join(&installation.home, package_json::NAME));
        (
            format!("`{path}` imports `{name}`, which no package.json requires"),
            format!("add `{name}` to `dependencies` of `{manifest}`"),
        )
    };
    let diagnostic = Diagnostic::new(&UNDECLARED_IMPORT, within(&reached.located), message).help(help);
    Some(diagnostic.mistake(imported_here(&reached.path, &reached.module, import)))
}

/// Reports an import of what a package of the workspace does not export.
fn check_exports(
    context: &Context<'_>,
    installation: &Installation,
    reached: &Reached,
    import: &Import,
    name: &str,
) -> Option<Diagnostic> {
    let path = format!(".{}", import.module.strip_prefix(name)?);
    let mut members = installation.directories.iter().map(|it| (it, package_json::find(it, context.files)));
    let (directory, manifest) = members.find_map(|(directory, manifest)| {
        let manifest = manifest?.ok()?;
        (manifest.name() == Some(name)).then_some((directory, manifest))
    })?;
    if manifest.exports(&path) || may_be_alias(context, installation, &reached.path, &import.module) {
        return None;
    }
    let file = written(&paths::join(directory, package_json::NAME));
    let message =
        format!("`{}` imports `{}`, which `{file}` does not export", written(&reached.path), import.module);
    let help = format!("add `\"{path}\"` to its `exports`");
    let diagnostic = Diagnostic::new(&own::IMPORT_NOT_FOUND, within(&reached.located), message).help(help);
    Some(diagnostic.mistake(imported_here(&reached.path, &reached.module, import)))
}

/// The name of the package that an import takes something from.
fn package(module: &str) -> Option<&str> {
    if module.is_empty() || module.starts_with(['#', '/']) || module.contains(':') {
        return None;
    }
    let parts = if module.starts_with('@') { 2 } else { 1 };
    let end = module.match_indices('/').nth(parts - 1).map_or(module.len(), |(at, _)| at);
    Some(&module[..end])
}

/// The directories whose settings may concern the file at `path`: those around it, and those of the installation.
fn around<'a>(installation: &'a Installation, path: &'a str) -> impl Iterator<Item = &'a str> {
    let installed = [installation.home.as_str(), installation.root.as_str()];
    super::ancestors(path).into_iter().chain(installed)
}

/// Whether a package.json around the file, or that of the workspace, has the package or is that of it.
fn is_declared(context: &Context<'_>, installation: &Installation, path: &str, name: &str) -> bool {
    let types = format!("@types/{}", name.trim_start_matches('@').replace('/', "__"));
    let mut manifests =
        around(installation, path).filter_map(|directory| package_json::find(directory, context.files));
    manifests.any(|manifest| {
        // Another check reports one that cannot be read.
        manifest.map_or(true, |manifest| {
            manifest.name() == Some(name) || manifest.names_package(name) || manifest.names_package(&types)
        })
    })
}

/// Whether a tsconfig.json around the file may give a name another meaning.
fn may_be_alias(context: &Context<'_>, installation: &Installation, path: &str, module: &str) -> bool {
    let may_have = |it: Rc<Aliases>| it.may_have_any() || it.base.is_some() || !it.targets(module).is_empty();
    aliases(context, installation, path).any(may_have)
}

/// Whether another package may bring it: the lock file has it, or it is one that many bring.
fn may_be_installed(context: &Context<'_>, installation: &Installation, name: &str) -> bool {
    if installation.locks.is_empty() {
        return import_names::is_often_brought(name);
    }
    installation.locks.iter().any(|lock| context.files.text(lock).is_none_or(|text| text.contains(name)))
}
