//! The documentation of all codes, as one page of Markdown.

use crate::cli::console::visible;
use crate::diagnostic::Rule;

/// The whole page.
pub fn page(rules: &[&Rule]) -> String {
    let rows: String = rules
        .iter()
        .map(|rule| {
            format!("| [`{0}`](#{0}) | {1} | {2} |\n", rule.code, rule.severity.word(), rule.summary())
        })
        .collect();
    let sections: Vec<String> = rules.iter().map(|rule| section(rule)).collect();
    format!(
        "# Findings\n\n\
         Everything that `agentcli validate` reports. This page is the output of `agentcli explain --format markdown`.\n\n\
         | code | severity | meaning |\n|---|---|---|\n{rows}\n{}",
        sections.join("\n")
    )
}

/// The section of one rule.
pub fn section(rule: &Rule) -> String {
    let heading = format!("## {}\n\n{} ({})", rule.code, sentence(rule.summary()), rule.severity.word());
    visible(&format!("{heading}\n\n{}", rule.markdown())).into_owned()
}

fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
