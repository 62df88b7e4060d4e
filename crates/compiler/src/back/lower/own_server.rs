//! Requirements of the project that name the server, which the image has at a version of its own.

use crate::back::lower::{Build, Input};
use crate::manifests::requirement;
use crate::manifests::requirements_txt::{self, Kind};
use crate::paths;
use crate::server::{DISTRIBUTIONS, LOCAL_TOOL};

/// The requirements without the server's own packages: another version than the image has is not installed anyway, and may
/// not fit the versions that the image's server requires. A note names those that ask for certain versions.
pub(super) fn without<'a>(all: impl IntoIterator<Item = &'a String>, build: &mut Build) -> Vec<String> {
    all.into_iter().filter_map(|text| kept(text, build)).collect()
}

/// Whether a manifest that an installer reads names the server's own packages, so that they may be replaced.
pub(super) fn is_named(input: &Input<'_>, build: &mut Build) -> bool {
    let resolved = input.resolved;
    let mut all: Vec<String> =
        resolved.projects().flat_map(|it| it.requirements.iter().flatten().cloned()).collect();
    for file in &resolved.files {
        for part in requirements_txt::parts(paths::parent(&file.path), input.files) {
            all.extend(part.entries.iter().flatten().filter_map(|entry| match &entry.kind {
                Kind::Requirement(text) => Some(text.clone()),
                _ => None,
            }));
        }
    }
    without(&all, build).iter().ne(&all)
}

fn kept(text: &str, build: &mut Build) -> Option<String> {
    let kept = foreign(text);
    if kept.is_none() && requirement::parts(text).is_none_or(|parts| parts.is_bounded()) {
        let note = format!("`{text}` does not change the server: the image has its own");
        if !build.notes.iter().any(|known| known.message == note) {
            build.note("/dependencies", note);
        }
    }
    kept
}
/// The part of a requirement that is not the server's.
fn foreign(text: &str) -> Option<String> {
    let name = requirement::name(text).unwrap_or_default();
    let (tool, extra) = LOCAL_TOOL;
    if DISTRIBUTIONS.contains(&name.as_str()) {
        return None;
    }
    if name == tool { Some(requirement::without_extra(text, extra)) } else { Some(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::foreign;

    #[test]
    fn keeps_what_is_not_the_servers() {
        let kept = [
            ("langgraph_api==0.16.5", None),
            ("langgraph-runtime-inmem>=0.1 ; python_version > '3'", None),
            ("langgraph-cli[inmem]==0.4.1", Some("langgraph-cli==0.4.1")),
            ("LangGraph-CLI[ inmem , x]", Some("LangGraph-CLI[x]")),
            ("langgraph-cli", Some("langgraph-cli")),
            ("langgraph[inmem]>=1", Some("langgraph[inmem]>=1")),
        ];
        for (text, expected) in kept {
            assert_eq!(foreign(text).as_deref(), expected, "{text}");
        }
    }
}
