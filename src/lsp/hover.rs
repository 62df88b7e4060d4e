//! Hover: the findings at a place, and the documentation of its key.

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};

use super::buffer::Buffer;
use super::{place, uri};
use crate::compiler::front::documentation::Documentation;
use crate::compiler::graph::visible;
use crate::diagnostic::Pointer;

/// The explanation of the place at `offset`.
pub(super) fn hover(buffer: &Buffer, offset: usize) -> Option<Hover> {
    let spot = place::at(&buffer.analysis().document, offset);
    let key = spot.pointer.ancestors().find_map(|pointer| documented(&pointer));
    let graph = drawn(buffer, &spot.pointer);
    let parts: Vec<String> = rules(buffer, offset).into_iter().chain(graph).chain(key).collect();
    let value = (!parts.is_empty()).then(|| parts.join("\n\n---\n\n"))?;
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Some(Hover { contents, range: Some(buffer.text.range(&spot.span())) })
}

/// The nodes of the graph at `pointer`, each with a link to its place and where it leads.
fn drawn(buffer: &Buffer, pointer: &Pointer) -> Option<String> {
    let keys: Vec<String> = pointer.keys().collect();
    let (_, _, graph) = match keys.as_slice() {
        [first, name, ..] if first == "graphs" => buffer.graphs().into_iter().find(|(it, ..)| it == name)?,
        _ => return None,
    };
    let graph = graph?;
    let mut text = format!("{} nodes, {} edges", graph.nodes.len(), graph.edges.len());
    if !graph.is_complete {
        text.push_str("; the source computes others");
    }
    text.push_str("\n\n");
    for node in &graph.nodes {
        let link = node.file.as_ref().zip(node.line).and_then(|(file, line)| {
            Some(format!("({}#L{line})", uri::from_path(&buffer.locate(file))?.as_str()))
        });
        let name = format!("`{}`", visible(&node.id).replace('`', "'"));
        let name = link.map_or_else(|| name.clone(), |link| format!("[{name}]{link}"));
        let targets = graph.edges.iter().filter(|edge| edge.source == node.id);
        let targets: Vec<_> =
            targets.map(|edge| format!("`{}`", visible(&edge.target).replace('`', "'"))).collect();
        let arrow = if targets.is_empty() { "" } else { " → " };
        text.push_str(&format!("- {name}{arrow}{}\n", targets.join(", ")));
    }
    Some(text)
}

/// The explanations of the findings at `offset`, each once.
fn rules(buffer: &Buffer, offset: usize) -> Vec<String> {
    let analysis = buffer.analysis();
    let mut found = Vec::new();
    for finding in &analysis.diagnostics {
        let span = analysis.document.span(&finding.place);
        let rule = finding.rule;
        let text = format!("**{}**: {}\n\n{}", rule.code, rule.summary(), rule.markdown());
        if span.start <= offset && offset <= span.end && !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// The documentation of the key at `pointer` as Markdown, if the key has any.
pub(super) fn documented(pointer: &Pointer) -> Option<String> {
    let Documentation { description, facts, example } = Documentation::new(pointer)?;
    let keys: Vec<String> = pointer.keys().collect();
    let mut text = format!("**{}**\n\n{description}\n", keys.join("."));
    facts.iter().for_each(|(name, fact)| text.push_str(&format!("\n- {name}: {fact}")));
    if let Some(example) = example {
        text.push_str(&format!("\n\n```json\n{example}\n```"));
    }
    (!description.is_empty()).then_some(text)
}
