//! Requirements of the project that the server excludes: both share one Python environment.

mod replaced;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

use super::manifests::MAX_FINDINGS;
use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Place, Related, Rule, rule};
use crate::front::config::Variant;
use crate::front::workspace;
use crate::manifests::dependency::{Dependency, Local, classify};
use crate::manifests::marker::{Environment, MACHINES};
use crate::manifests::requirements_txt::{self, Kind};
use crate::manifests::{self, package, pyproject, requirement};
use crate::secrecy::urls;
use crate::{paths, server};

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&REQUIREMENT_CONFLICTS_WITH_SERVER];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    // The bounds of other servers are not known. Another check compares the lock of `source`.
    let is_current = config.has_newest_server() && config.source.is_none();
    let Some((major, minor)) = context.python_version.filter(|_| is_current) else { return };
    if context.variant == Variant::Javascript {
        return;
    }
    let environments = Environments::new(major, minor);
    let mut found = listed(context, &environments);
    for local in context.directories() {
        found.extend(in_local(context, &local, &environments));
    }
    if found.is_empty() {
        found.extend(replaced::check(context));
    }
    found.truncate(MAX_FINDINGS);
    found.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

/// The environments that the image may be built for. Few requirements have a condition that asks for them.
struct Environments {
    /// The Python version, major.minor.
    python: String,
    all: OnceCell<Vec<Environment>>,
}

impl Environments {
    fn new(major: u8, minor: u8) -> Self {
        Self { python: format!("{major}.{minor}"), all: OnceCell::new() }
    }

    /// Whether the condition `marker` holds in one of them.
    fn have(&self, marker: &str) -> bool {
        let linux = |machine: &&str| Environment::linux(&self.python, machine);
        let all = self.all.get_or_init(|| MACHINES.iter().filter_map(linux).collect());
        all.iter().any(|it| it.holds(marker, &[]) == Some(true))
    }
}

/// A requirement of the project that the server excludes.
struct Excluded {
    /// The name in it.
    name: String,
    /// The package that the server needs in versions that it excludes.
    package: &'static str,
    /// Those versions.
    versions: &'static str,
    /// The versions of `name` that work, or nothing if none does.
    others: Option<String>,
}

impl Excluded {
    fn find(text: &str, environments: &Environments) -> Option<Self> {
        let name = requirement::written_name(text)?;
        let (own, rows) = (required(&name), excluding(&name));
        if own.is_none() && rows.is_empty() {
            return None;
        }
        let parts = requirement::parts(text)?;
        let applies = match text.split_once(';') {
            Some((_, marker)) => environments.have(marker),
            None => true,
        };
        let ranges: Vec<&str> = rows.iter().map(|(_, range, _)| *range).collect();
        let (wanted, bounds) = (parts.versions?, own.map_or("", |(_, bounds)| bounds));
        if !applies || requirement::fits(&wanted, bounds, &ranges)? {
            return None;
        }
        // The versions that work are those above the last ones that do not.
        let above = ranges.last().map_or(Some(bounds.to_owned()), |range| {
            let (_, end) = range.rsplit_once('<')?;
            Some(format!(">={end}"))
        });
        let is_apart = |range: &str| requirement::is_disjoint(&wanted, range) == Some(true);
        let (package, versions) = if let Some(own) = own.filter(|(_, bounds)| is_apart(bounds)) {
            own
        } else {
            let (_, _, needed) = rows.iter().find(|(_, range, _)| !is_apart(range))?;
            required(needed)?
        };
        Some(Self { name: parts.name, package, versions, others: above })
    }

    fn is_indirect(&self) -> bool {
        self.name != self.package
    }

    /// The requirement of the server, as a lowercase fragment.
    fn needs(&self) -> String {
        format!("the server needs `{}{}`", self.package, self.versions)
    }

    /// The same at the requirement itself.
    fn label(&self) -> String {
        match self.others {
            _ if !self.is_indirect() => self.needs(),
            Some(_) => format!("{}, which no such version allows", self.needs()),
            None => format!("{}, which no version of it allows", self.needs()),
        }
    }

    fn help(&self) -> String {
        let change = match &self.others {
            Some(versions) => format!("require `{}{versions}`", self.name),
            None => format!("use another package than `{}`", self.name),
        };
        format!("{change}, or choose an older server with `api_version`")
    }
}

/// The requirement of the server for the package, or the server itself.
fn required(name: &str) -> Option<(&'static str, &'static str)> {
    let mut required = server::REQUIREMENTS.iter().chain([&server::CURRENT]);
    required.find(|(package, _)| *package == name).copied()
}

/// The rows about the package in the table of versions that exclude a requirement of the server.
fn excluding(name: &str) -> Vec<(&'static str, &'static str, &'static str)> {
    server::EXCLUDING.iter().filter(|(package, ..)| *package == name).copied().collect()
}

/// Packages in `dependencies`.
fn listed(context: &Context<'_>, environments: &Environments) -> Vec<Diagnostic> {
    let finding = |(index, text): (usize, &str)| {
        let Dependency::Package(text) = classify(text, context.files) else { return None };
        let excluded = Excluded::find(&text, environments)?;
        let message = format!("{}, which `{}` excludes", excluded.needs(), text.trim());
        let place = Place::Within(entry(index), 0..text.len());
        let diagnostic = Diagnostic::new(&REQUIREMENT_CONFLICTS_WITH_SERVER, place, message);
        Some(diagnostic.help(excluded.help()))
    };
    context.config.entries().filter_map(finding).collect()
}

/// Requirements of a local directory.
fn in_local(context: &Context<'_>, local: &Local, environments: &Environments) -> Vec<Diagnostic> {
    let files = context.files;
    if !local.is_project() {
        return in_requirements_txt(context, local, environments);
    }
    let (manifest, requirements) = package::written_requirements(local, files);
    let path = paths::join(&local.path, manifest);
    let text = manifests::excerpt(&path, files);
    // uv may take these instead of the requirements.
    if text.contains("override-dependencies") {
        return Vec::new();
    }
    let finding = |requirement: &String| {
        let excluded = Excluded::find(requirement, environments)?;
        let span = span(&text, requirement, &excluded.name);
        Some(conflict(local, Related::new(&path, &text, span, excluded.label()), &excluded))
    };
    let found: Vec<Diagnostic> = requirements.iter().filter_map(finding).collect();
    if found.is_empty() { in_lock(context, local, environments) } else { found }
}

/// Packages that a lock file has for others, and of which no version works beside the server.
fn in_lock(context: &Context<'_>, local: &Local, environments: &Environments) -> Vec<Diagnostic> {
    let Some(Ok(locked)) = workspace::beside(local, context.config, context.files) else { return Vec::new() };
    let finding = |(name, _): (String, Option<String>)| {
        let excluded = Excluded::find(&name, environments).filter(Excluded::is_indirect)?;
        let text = manifests::excerpt(&locked.file, context.files);
        let quoted = format!("\"{name}\"");
        let start = text.find(&format!("name = {quoted}")).map_or(0, |at| at + "name = ".len());
        let related = Related::new(&locked.file, &text, start..start + quoted.len(), excluded.label());
        Some(conflict(local, related, &excluded))
    };
    locked.versions().filter_map(finding).collect()
}

fn in_requirements_txt(context: &Context<'_>, local: &Local, environments: &Environments) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let parts = requirements_txt::parts(&local.path, context.files);
    let entries =
        parts.iter().flat_map(|part| part.entries.iter().flatten().map(|entry| (&part.path, entry)));
    let constraints: HashSet<String> = entries
        .clone()
        .filter(|(_, entry)| matches!(entry.kind, Kind::Constraint(_)))
        .filter_map(|(path, entry)| requirements_txt::included(path, entry))
        .collect();
    // A constraint means something only for a package that is required.
    let required = entries.filter(|(path, _)| !constraints.contains(*path));
    let required: HashSet<String> = required
        .filter_map(|(_, entry)| match &entry.kind {
            Kind::Requirement(text) => requirement::name(text),
            _ => None,
        })
        .collect();
    for part in &parts {
        let masked = urls::masked(&part.text);
        let is_constraint = constraints.contains(&part.path);
        for item in part.entries.iter().flatten() {
            let Kind::Requirement(text) = &item.kind else { continue };
            let Some(excluded) = Excluded::find(text, environments) else { continue };
            if is_constraint && !required.contains(&excluded.name) {
                continue;
            }
            let related = Related::new(&part.path, &masked, item.line.clone(), excluded.label());
            found.push(conflict(local, related, &excluded));
        }
    }
    found
}

/// The place of `requirement` in the manifest `text`, whatever form it has there.
fn span(text: &str, requirement: &str, name: &str) -> Range<usize> {
    let listed = || pyproject::dependencies(text).into_iter().find(|(it, _)| it == requirement);
    let poetry = || pyproject::span(text, &["tool", "poetry", "dependencies", name]);
    let plain = || text.find(requirement).map(|start| start..start + requirement.len());
    listed().map(|(_, span)| span).or_else(poetry).or_else(plain).unwrap_or_default()
}

fn conflict(local: &Local, related: Related, excluded: &Excluded) -> Diagnostic {
    let path = written(&related.path);
    let name = &excluded.name;
    let message = if !excluded.is_indirect() {
        format!("`{path}` excludes all versions of `{name}` that the server works with")
    } else if excluded.others.is_some() {
        format!("`{path}` requires a version of `{name}` that does not work beside the server")
    } else {
        format!("`{path}` requires `{name}`, which does not work beside the server")
    };
    Diagnostic::new(&REQUIREMENT_CONFLICTS_WITH_SERVER, Place::Value(entry(local.index)), message)
        .mistake(related)
        .help(excluded.help())
}

static REQUIREMENT_CONFLICTS_WITH_SERVER: Rule = rule!("requirement-conflicts-with-server");

#[cfg(test)]
mod tests {
    use super::{Environments, Excluded, required};
    use crate::server::EXCLUDING;

    #[test]
    fn rows_are_readable_and_name_requirements_of_the_server() {
        let environments = Environments::new(3, 13);
        assert!(EXCLUDING.is_sorted_by_key(|(name, ..)| *name));
        for (name, range, needs) in EXCLUDING {
            assert!(required(needs).is_some(), "{needs}");
            let found = Excluded::find(&format!("{name}{range}"), &environments).expect(name);
            assert_eq!((&*found.name, found.others.is_none()), (*name, range.is_empty()));
            let Some(others) = found.others else { continue };
            assert!(Excluded::find(&format!("{name}{others}"), &environments).is_none(), "{name}{others}");
        }
    }

    #[test]
    fn only_what_leaves_no_version_is_excluded() {
        let environments = Environments::new(3, 13);
        let needs = |text: &str| {
            Excluded::find(text, &environments).map(|it| format!("{}{}", it.package, it.versions))
        };
        for text in [
            "fastapi",
            "fastapi>=0.100",
            "fastapi!=0.133",
            "fastapi===0.115.0",
            "langchain>=1,<1.3",
            "langgraph>=1,<2",
        ] {
            assert_eq!(needs(text), None, "{text}");
        }
        for (text, expected) in [
            ("fastapi[standard]<0.120", "starlette>=1.3.1"),
            ("langchain>=0.3,<1.2", "langchain-core>=1.4.0"),
            ("langgraph~=1.1.0", "langgraph-sdk>=0.4.4"),
            ("langgraph<0.3", "langgraph>=0.4.10,<2"),
            ("langgraph>=2", "langgraph>=0.4.10,<2"),
            ("Google_GenerativeAI", "protobuf>=6.32.1,<7.0.0"),
        ] {
            assert_eq!(needs(text).as_deref(), Some(expected), "{text}");
        }
    }
}
