//! Requirements of a project that do not come from the package index: `tool.uv.sources`, dependencies of Poetry that are
//! paths, and requirements with a local URL.

use indexmap::IndexMap;
use toml::{Table, Value};

use super::poetry;
use crate::files::Files;
use crate::manifests::pyproject::{string, table};
use crate::manifests::requirement::normalized_name;
use crate::manifests::uv_workspace::Workspace;
use crate::paths;
use crate::tree::Tree;

/// The place of a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A directory or an archive, relative to the configuration's directory, or absolute.
    Path(String),
    /// A member of the workspace, which has no project of this name.
    MissingMember,
    /// A repository or an archive, as a requirement names it after the `@`.
    Url(String),
    /// An index of its own, which only uv reads.
    Index,
}

/// Sources by the normalised names of requirements.
pub type Sources = IndexMap<String, Source>;

/// The sources of the project at `path`: its own, and those of its workspace's root.
pub(super) fn sources(path: &str, manifest: &Table, files: &Tree) -> Sources {
    let workspace = Workspace::of(path, files);
    let mut found = Sources::new();
    for (name, value) in table(manifest, &["tool", "poetry", "dependencies"]).into_iter().flatten() {
        if let Some(place) = poetry::path(value) {
            found.insert(normalized_name(name), Source::Path(located(path, place, files)));
        }
    }
    let root = workspace.as_ref().filter(|it| it.root != path);
    let manifests = [Some((path, manifest)), root.map(|it| (it.root.as_str(), &*it.manifest))];
    for (base, manifest) in manifests.into_iter().flatten() {
        for (name, value) in table(manifest, &["tool", "uv", "sources"]).into_iter().flatten() {
            let name = normalized_name(name);
            if !found.contains_key(&name) {
                let source = of_uv(&name, value, base, workspace.as_ref(), files);
                found.insert(name, source);
            }
        }
    }
    found
}

/// A source of uv, or the first of several with markers that is local.
fn of_uv(name: &str, value: &Value, base: &str, workspace: Option<&Workspace>, files: &Tree) -> Source {
    let several = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let all = several.iter().filter_map(Value::as_table).map(|source| {
        if let Some(place) = string(source, "path") {
            return Source::Path(located(base, &place, files));
        }
        if source.get("workspace").and_then(Value::as_bool) == Some(true) {
            let member = workspace.and_then(|workspace| workspace.member(name));
            return member.map_or(Source::MissingMember, |member| Source::Path(member.path.clone()));
        }
        poetry::repository(source).or_else(|| string(source, "url")).map_or(Source::Index, Source::Url)
    });
    let all: Vec<Source> = all.collect();
    let is_local = |it: &&Source| matches!(it, Source::Path(_) | Source::MissingMember);
    all.iter().find(is_local).or(all.first()).cloned().unwrap_or(Source::Index)
}

/// The local path in `name @ file:../x`, `name @ {root:uri}/../x` (Hatch) or `name @ file:///${PROJECT_ROOT}/../x` (PDM),
/// in the manifest of the project at `base`.
pub fn local_path(requirement: &str, base: &str, files: &Tree) -> Option<String> {
    let (_, address) = requirement.split_once('@')?;
    let address = address.split(" ;").next().unwrap_or_default().split("; ").next().unwrap_or_default();
    let address = address.split('#').next().unwrap_or_default().trim();
    let place = match address.strip_prefix("{root").and_then(|rest| rest.split_once('}')) {
        Some((fields, rest)) => format!("{}.{rest}", "../".repeat(fields.matches(":parent").count())),
        None => {
            let rest = address.strip_prefix("file:")?;
            let rest = rest.strip_prefix("//").unwrap_or(rest);
            let relative = rest.trim_start_matches('/').strip_prefix("${PROJECT_ROOT}");
            relative.map_or_else(|| rest.to_owned(), |rest| format!(".{rest}"))
        }
    };
    Some(located(base, &place, files))
}

/// `place`, as written in a manifest in `base`, relative to the configuration's directory. An absolute path that is not the
/// project's stays as it is.
pub(super) fn located(base: &str, place: &str, files: &Tree) -> String {
    let path = paths::join(base, place);
    if path.starts_with('/') {
        return files.own(&path).unwrap_or(path);
    }
    paths::shortened(&path, &files.directory())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;
    use crate::manifests::pyproject::read;

    #[test]
    fn sources_of_uv_and_poetry() {
        let files = Tree::new(MemoryFiles::new([
            (
                "../pyproject.toml",
                "[tool.uv.workspace]\nmembers = ['libs/*']\n[tool.uv.sources]\nroots = {path = 'x'}\ngit = {path = 'no'}",
            ),
            ("../libs/member/pyproject.toml", "[project]\nname = 'member'"),
            ("../libs/this/pyproject.toml", "[project]\nname = 'this'"),
        ]));
        let manifest = "[tool.uv.sources]\nMember = {workspace = true}\nnone = {workspace = true}\n\
                        git = {git = 'https://h/x', tag = 'v1', subdirectory = 'a'}\n\
                        url = {url = 'https://h/x.whl'}\npytorch = {index = 'cpu'}\n\
                        both = [{index = 'cpu', marker = 'm'}, {path = '../y'}]\n\
                        [tool.poetry.dependencies]\npython = '^3'\nold = {path = '../old', develop = true}";
        let found = sources("../libs/this", &read(manifest).unwrap(), &files);
        let found: Vec<_> = found.iter().map(|(name, source)| format!("{name} {source:?}")).collect();
        assert_eq!(
            found,
            [
                r#"old Path("../libs/old")"#,
                r#"member Path("../libs/member")"#,
                r#"both Path("../libs/y")"#,
                r#"git Url("git+https://h/x@v1#subdirectory=a")"#,
                "none MissingMember",
                "pytorch Index",
                r#"url Url("https://h/x.whl")"#,
                r#"roots Path("../x")"#,
            ]
        );
    }

    #[test]
    fn local_urls() {
        let files = Tree::new(MemoryFiles::new([("libs/x/pyproject.toml", "")]));
        for (requirement, path) in [
            ("a @ {root:uri}/../x", Some("libs/x")),
            ("a @ {root:parent:uri}/x ; os_name == 'nt'", Some("libs/x")),
            ("a[e] @ file:///${PROJECT_ROOT}/../x#egg=a", Some("libs/x")),
            ("a@file:../x", Some("libs/x")),
            ("a @ file:///srv/x", Some("/srv/x")),
            ("a @ file:///project/libs/x", Some("libs/x")),
            ("a @ file:///project", Some(".")),
            ("a @ https://h/x", None),
            ("a @ git+file:///srv/x", None),
            ("a>=1", None),
        ] {
            assert_eq!(local_path(requirement, "libs/own", &files).as_deref(), path, "{requirement}");
        }
    }
}
