//! Requirements of the project that name the server, which the image has at a version of its own.

use crate::compiler::back::lower::{Build, Input};
use crate::compiler::manifests::requirement;
use crate::compiler::server::{DISTRIBUTIONS, LOCAL_TOOL};

/// The requirements without the server's own packages. Only with a lock file, where the image's server is one of the
/// requirements: the installer would refuse another version of it. Else it is restored.
pub(super) fn without<'a>(
    input: &Input<'_>,
    all: impl IntoIterator<Item = &'a String>,
    build: &mut Build,
) -> Vec<String> {
    all.into_iter().filter_map(|text| kept(input, text, build)).collect()
}

fn kept(input: &Input<'_>, text: &str, build: &mut Build) -> Option<String> {
    if input.resolved.pins.is_empty() {
        return Some(text.to_owned());
    }
    let kept = foreign(text);
    if kept.as_deref() != Some(text) {
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
