//! GitLab's code quality report, which merge requests compare with that of the target branch.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Location, harmless};
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::source::Source;
use crate::diagnostic::Severity;

/// All findings as one array.
pub fn render(checked: &[Checked]) -> String {
    let mut seen = BTreeMap::new();
    let findings = checked.iter().flat_map(|file| file.findings.iter().map(|one| (&file.source, one)));
    let report: Vec<Value> = findings.map(|(source, finding)| entry(source, finding, &mut seen)).collect();
    harmless(&serde_json::to_string_pretty(&report).unwrap_or_default()) + "\n"
}

fn entry(source: &Source, finding: &Finding, seen: &mut BTreeMap<String, usize>) -> Value {
    let diagnostic = &finding.diagnostic;
    let Location { file, start: (line, _), .. } = &Location::all(source, finding)[0];
    let path = file.trim_start_matches("./");
    let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    // Without the line, so that an edit above a finding does not make it a new one.
    let place = diagnostic.place.pointer();
    let identity = format!("{path}\0{}\0{place}\0{}", diagnostic.rule.code, diagnostic.message);
    let occurrence = seen.entry(identity.clone()).or_default();
    *occurrence += 1;
    let fingerprint = Sha256::digest(format!("{identity}\0{occurrence}"));
    json!({
        "description": format!("{}{help}", diagnostic.message),
        "check_name": diagnostic.rule.code,
        "fingerprint": hex::encode(fingerprint),
        "severity": match diagnostic.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
            Severity::Note => "info",
        },
        "location": { "path": path, "lines": { "begin": line } },
    })
}
