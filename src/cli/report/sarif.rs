//! SARIF 2.1.0, the format that code scanning services read.

use std::path::Path;

use serde_json::{Value, json};

use super::{Location, harmless};
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::document::TextEdit;
use crate::compiler::front::source::Source;
use crate::diagnostic::Rule;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// All findings as one log with one run. Only rules with findings are described.
pub fn render(checked: &[Checked]) -> String {
    let rules = rules_of(checked);
    let results =
        checked.iter().flat_map(|file| file.findings.iter().map(|one| result(&file.source, one, &rules)));
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "agentcli",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| describe(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Vec<_>>(),
        }],
    });
    harmless(&serde_json::to_string_pretty(&log).unwrap_or_default()) + "\n"
}

fn rules_of(checked: &[Checked]) -> Vec<&'static Rule> {
    let mut rules: Vec<&Rule> =
        checked.iter().flat_map(|file| &file.findings).map(|one| one.diagnostic.rule).collect();
    rules.sort_by_key(|rule| rule.code);
    rules.dedup_by_key(|rule| rule.code);
    rules
}

fn describe(rule: &Rule) -> Value {
    json!({
        "id": rule.code,
        "shortDescription": { "text": rule.summary() },
        "fullDescription": { "text": rule.why() },
        "help": {
            "text": format!("Wrong:\n{}\n\nRight:\n{}", rule.wrong(), rule.right()),
            "markdown": format!("Wrong:\n\n```\n{}\n```\n\nRight:\n\n```\n{}\n```", rule.wrong(), rule.right()),
        },
        "defaultConfiguration": { "level": rule.severity.word() },
    })
}

fn result(source: &Source, finding: &Finding, rules: &[&Rule]) -> Value {
    let places = Location::all(source, finding);
    let [place, others @ ..] = &*places else { return Value::Null };
    let diagnostic = &finding.diagnostic;
    let message = match &diagnostic.help {
        Some(help) => format!("{}\n{help}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let mut result = json!({
        "ruleId": diagnostic.rule.code,
        "ruleIndex": rules.iter().position(|rule| rule.code == diagnostic.rule.code),
        "level": diagnostic.severity.word(),
        "message": { "text": without_links(&message) },
        "locations": [{ "physicalLocation": location(place) }],
    });
    if !others.is_empty() {
        result["relatedLocations"] = others.iter().map(related).collect();
    }
    if !finding.edits.is_empty() {
        result["fixes"] = json!([fix(source, finding)]);
    }
    result
}

fn fix(source: &Source, finding: &Finding) -> Value {
    let replacement = |edit: &TextEdit| {
        let (start, end) = source.positions(&edit.span);
        json!({
            "deletedRegion": region((start.line, start.column), (end.line, end.column)),
            "insertedContent": { "text": edit.text },
        })
    };
    json!({
        "description": { "text": without_links(finding.diagnostic.help.as_deref().unwrap_or_default()) },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(&source.name) },
            "replacements": finding.edits.iter().map(replacement).collect::<Vec<_>>(),
        }],
    })
}

fn related(place: &Location<'_>) -> Value {
    json!({
        "message": { "text": without_links(place.label) },
        "physicalLocation": location(place),
    })
}

fn location(place: &Location<'_>) -> Value {
    json!({
        "artifactLocation": { "uri": uri(&place.file) },
        "region": region(place.start, place.end),
    })
}

fn region(start: (usize, usize), end: (usize, usize)) -> Value {
    json!({ "startLine": start.0, "startColumn": start.1, "endLine": end.0, "endColumn": end.1 })
}

/// Escapes links: SARIF reads `[text](target)` in messages.
fn without_links(text: &str) -> String {
    if text.contains("](") { text.replace('[', "\\[").replace(']', "\\]") } else { text.to_owned() }
}

/// A path as a URI reference: relative paths stay relative, absolute ones get a scheme.
fn uri(path: &str) -> String {
    let path = path.trim_start_matches("./");
    let mut uri = match (Path::new(path).is_absolute(), path.starts_with('/')) {
        (true, true) => "file://".to_owned(),
        // The drive of a path on Windows is below the root of a URI.
        (true, false) => "file:///".to_owned(),
        (false, _) => String::new(),
    };
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("./a b/ä:1.json"), "a%20b/%C3%A4%3A1.json");
        assert_eq!(uri("../x.json"), "../x.json");
        assert_eq!(uri("/x.json"), "file:///x.json");
    }
}
