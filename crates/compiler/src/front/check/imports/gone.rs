//! Imports of modules that the installed version of a package does not have.

use std::collections::BTreeMap;

use super::{is_alone, required_texts, within};
use crate::diagnostic::{Diagnostic, Related, Rule, Severity};
use crate::front::check::{Context, written};
use crate::front::reference::Located;
use crate::manifests::import_names::is_provided;
use crate::manifests::module_history::{self, Part};
use crate::manifests::requirement;
use crate::manifests::symbols::{Call, Import, Module};

/// Starts of the names of packages that bound the versions of each other.
const FAMILY: &[&str] = &["langchain", "langgraph"];

/// Packages of the family beside those that bring no others, whose newest versions (2026-11) require no old version of it.
const CURRENT: &[&str] = &[
    "langchain-aws",
    "langchain-chroma",
    "langchain-classic",
    "langchain-cohere",
    "langchain-deepseek",
    "langchain-elasticsearch",
    "langchain-experimental",
    "langchain-fireworks",
    "langchain-google-vertexai",
    "langchain-milvus",
    "langchain-mongodb",
    "langchain-neo4j",
    "langchain-nvidia-ai-endpoints",
    "langchain-perplexity",
    "langchain-pinecone",
    "langchain-postgres",
    "langchain-qdrant",
    "langchain-redis",
    "langchain-together",
    "langchain-unstructured",
    "langchain-voyageai",
    "langchain-xai",
    "langgraph-checkpoint-mongodb",
    "langgraph-checkpoint-redis",
    "langmem",
];

/// Parts of names of packages that may require an old version of the family.
const RELATED: &[&str] = &["agent", "ai", "chain", "copilot", "crew", "graph", "lang", "llm", "rag"];

fn is_of_family(distribution: &str) -> bool {
    FAMILY.iter().any(|start| distribution.starts_with(start))
}

/// The versions of packages that are installed, as far as they are known.
#[derive(Default)]
pub(super) struct Versions {
    /// The requirements by name, as version specifiers; those of a lock file name one version.
    known: BTreeMap<String, Vec<String>>,
    /// Whether the newest versions are installed where a requirement allows them.
    is_newest: bool,
}

impl Versions {
    pub(super) fn find(context: &Context<'_>) -> Self {
        if !context.config.has_newest_server() {
            return Self::default();
        }
        if let Some(locked) = super::locked(context) {
            let exact =
                |(name, version): (String, Option<String>)| Some((name, vec![format!("=={}", version?)]));
            return Self { known: locked.into_iter().filter_map(exact).collect(), is_newest: false };
        }
        let Some(texts) = required_texts(context) else { return Self::default() };
        let mut found = Self { known: BTreeMap::new(), is_newest: true };
        for text in texts {
            let parts = requirement::parts(&text).filter(|parts| !parts.is_conditional);
            let Some((is_bounded, name, versions, extras)) =
                parts.and_then(|it| Some((it.is_bounded(), it.name, it.versions?, it.extras)))
            else {
                found.is_newest = false;
                continue;
            };
            let is_known = is_alone(&name, !extras.is_empty())
                || CURRENT.contains(&&*name)
                || !RELATED.iter().any(|part| name.contains(part));
            found.is_newest &= is_known && !(is_bounded && is_of_family(&name));
            found.known.entry(name).or_default().push(versions);
        }
        found
    }

    /// Whether the package certainly is not installed in a version that has `part`.
    fn lack(&self, part: &Part, module: &str) -> bool {
        let known = self.known.get(part.distribution);
        let excludes = |versions: &String| requirement::is_disjoint(versions, part.versions) == Some(true);
        let is_old = part.versions.starts_with('<');
        // Without upper bounds, transitive packages of the family are the newest ones, too.
        let is_there = known.is_some() || is_provided(module) || is_of_family(part.distribution);
        known.is_some_and(|all| all.iter().any(excludes)) || self.is_newest && is_old && is_there
    }

    /// Reports an import that the installed version of its package does not have.
    pub(super) fn check(
        &self,
        located: &Located,
        path: &str,
        module: &Module,
        import: &Import,
    ) -> Option<Diagnostic> {
        let (part, name) =
            module_history::needed(import).find(|(part, _)| self.lack(part, import.first()))?;
        let Part { distribution, versions, help, .. } = part;
        let message =
            format!("`{}` imports `{name}`, which only `{distribution}{versions}` has", written(path));
        let related = Related::new(path, module.text(), import.span.clone(), "imported here");
        Some(Diagnostic::new(&MODULE_NOT_IN_VERSION, within(located), message).help(*help).related(related))
    }

    /// Reports a keyword that the installed version of a function does not take.
    pub(super) fn check_call(
        &self,
        located: &Located,
        path: &str,
        module: &Module,
        call: &Call,
    ) -> Option<Diagnostic> {
        let Call { function, keyword, span } = call;
        let (package, name) = function.rsplit_once('.')?;
        let first = package.split('.').next().unwrap_or_default();
        let part = module_history::passed(call).filter(|part| self.lack(part, first))?;
        let message = format!(
            "`{}` passes `{keyword}` to `{name}`, which this version of `{}` does not take",
            written(path),
            part.distribution
        );
        let related = Related::new(path, module.text(), span.clone(), "passed here");
        Some(
            Diagnostic::new(&MODULE_NOT_IN_VERSION, within(located), message)
                .help(part.help)
                .related(related),
        )
    }
}

pub(super) static MODULE_NOT_IN_VERSION: Rule = Rule {
    code: "module-not-in-version",
    severity: Severity::Warning,
    summary: "an import that the installed version of a package does not have",
    why: "Major versions of a library move and remove modules. The installer takes the newest version that the requirements \
          allow, and keeps those that the server brings. A file that the server loads, or that such a file imports, \
          imports something at its top level that this version does not have, or passes a function a keyword that it does not \
          take any more: the server fails when it loads the file.",
    wrong: r#"{ "dependencies": [".", "langchain"], "graphs": { "agent": "./imports_langchain_chains.py:graph" } }"#,
    right: r#"{ "dependencies": [".", "langchain-classic"], "graphs": { "agent": "./imports_langchain_classic.py:graph" } }"#,
};
