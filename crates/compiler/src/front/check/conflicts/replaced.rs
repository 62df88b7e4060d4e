//! Packages of a lock file that the image has in another major version, since the server needs that one.

use std::collections::HashSet;
use std::str::FromStr;

use pep508_rs::pep440_rs::Version;

use crate::diagnostic::{Diagnostic, Place, Related};
use crate::front::check::source::LOCK_CONFLICTS_WITH_SERVER;
use crate::front::check::{Context, entry, written};
use crate::front::workspace::{self, Locked};
use crate::manifests;
use crate::manifests::dependency::Local;
use crate::manifests::symbols::Import;
use crate::manifests::uv_lock::{Package, Selected};

/// Modules, and the packages that bring them, that failed beside a newer major version of what they are made for: `FastAPI()` of 0.115 with Starlette 1.10, and
/// `langchain.agents` of 0.3 with langchain-core 1.8. Integrations of the library work mostly.
const FRAGILE: &[&str] = &["fastapi", "langchain"];

/// A package of a lock file that the server replaces, below one of [`FRAGILE`].
struct Replaced<'a> {
    local: &'a Local,
    locked: &'a Locked,
    name: &'a str,
    version: &'a str,
    /// The versions that the server needs.
    required: &'static str,
    /// The lowest of them.
    lowest: &'static str,
    /// The package that is made for the locked version.
    user: &'a str,
}

/// Reports the first package that the server replaces by another major version below one of [`FRAGILE`] that the code of the
/// project imports. One finding is enough: the next versions of the lock file mend all.
pub(super) fn check(context: &mut Context<'_>) -> Option<Diagnostic> {
    let locks = context.directories().into_iter().filter_map(|local| {
        let locked = workspace::beside(&local, context.config, context.files)?.ok()?;
        Some((local, locked))
    });
    let locks: Vec<_> = locks.collect();
    let replaced = locks.iter().flat_map(|(local, locked)| {
        let packages = locked.packages.iter().map(|Selected { package, .. }| package);
        packages.filter_map(|package| replace(context, local, locked, package))
    });
    let replaced: Vec<Replaced<'_>> = replaced.flatten().collect();
    if replaced.is_empty() {
        return None;
    }
    let reached = context.reached();
    let imports = reached.iter().flat_map(|reached| reached.module.imports());
    let imported: HashSet<&str> = imports.filter(|it| it.level == 0).map(Import::first).collect();
    replaced.iter().find(|it| imported.contains(it.user)).map(|it| it.diagnostic(context))
}

/// The package once for each of [`FRAGILE`] in the lock file that is made for its version.
fn replace<'a>(
    context: &Context<'_>,
    local: &'a Local,
    locked: &'a Locked,
    package: &'a Package,
) -> Option<Vec<Replaced<'a>>> {
    let required = workspace::conflict(context.config, package)?;
    let (name, version) = (package.name.as_str(), package.version.as_deref()?);
    let lowest = required.split(',').find_map(|bound| bound.strip_prefix(">="))?;
    if major(version)? >= major(lowest)? {
        return None;
    }
    let depends = |other: &&Package| workspace::excluded(other).any(|needed| needed == name);
    let fragile = locked.packages.iter().map(|it| &it.package).filter(|it| FRAGILE.contains(&&*it.name));
    let users = fragile.filter(depends).map(|it| it.name.as_str());
    Some(users.map(|user| Replaced { local, locked, name, version, required, lowest, user }).collect())
}

impl Replaced<'_> {
    fn diagnostic(&self, context: &Context<'_>) -> Diagnostic {
        let Self { local, locked, name, version, required, lowest, user } = self;
        let text = manifests::excerpt(&locked.file, context.files);
        let part = format!("version = \"{version}\"");
        let start = text.find(&format!("name = \"{name}\"")).unwrap_or_default();
        let start = start + text[start..].find(&part).unwrap_or_default();
        let label = format!("the server needs `{name}{required}`, and keeps its own version");
        let related = Related::new(&locked.file, &text, start..start + part.len(), label);
        let file = written(&locked.file);
        let message = format!(
            "`{user}` of `{file}` is made for `{name}` {version}, and the image has at least {lowest}"
        );
        let help = format!("upgrade `{name}` in the lock file, or choose an older server with `api_version`");
        let place = Place::Value(entry(local.index));
        Diagnostic::new(&LOCK_CONFLICTS_WITH_SERVER, place, message).related(related).help(help)
    }
}

fn major(version: &str) -> Option<u64> {
    Version::from_str(version).ok()?.release().first().copied()
}
