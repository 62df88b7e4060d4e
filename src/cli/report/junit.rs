//! JUnit XML, which CI services show as test results: one suite per configuration.

use super::{Location, sentences};
use crate::cli::console::{visible, visible_line};
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::source::Source;
use crate::diagnostic::Severity;

/// The suites of all files. A test case is a finding, or a file without findings. Errors fail, and warnings if they are
/// denied.
pub fn render(checked: &[Checked], deny_warnings: bool) -> String {
    let fails = |finding: &&Finding| match finding.diagnostic.severity {
        Severity::Error => true,
        Severity::Warning => deny_warnings,
        Severity::Note => false,
    };
    let failures = |file: &Checked| file.findings.iter().filter(fails).count();
    let suite = |file: &Checked| {
        let name = escaped(&visible_line(&file.source.name));
        let cases = file.findings.iter().map(|finding| case(&file.source, &name, finding, fails(&finding)));
        let cases: String = if file.findings.is_empty() {
            format!("    <testcase classname=\"{name}\" name=\"validate\" file=\"{name}\"/>\n")
        } else {
            cases.collect()
        };
        let (tests, failures) = (file.findings.len().max(1), failures(file));
        format!(
            "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n\
             {cases}  </testsuite>\n"
        )
    };
    let suites: String = checked.iter().map(suite).collect();
    let tests: usize = checked.iter().map(|file| file.findings.len().max(1)).sum();
    let failures: usize = checked.iter().map(failures).sum();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"agentcli\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n{suites}</testsuites>\n"
    )
}

/// One finding of the configuration with the escaped name `suite`.
fn case(source: &Source, suite: &str, finding: &Finding, fails: bool) -> String {
    let places = Location::all(source, finding);
    let Location { file, start: (line, column), .. } = &places[0];
    let file = escaped(&visible_line(file));
    let diagnostic = &finding.diagnostic;
    let (code, severity) = (diagnostic.rule.code, diagnostic.severity.word());
    let text = format!("{severity}[{code}]: {}", sentences(diagnostic, &places[1..]));
    // On one line of the file: GitHub takes one that starts with `::` for a command, if the report is printed in a job.
    let text = format!("{file}:{line}:{column}: {}", escaped(&visible(&text)).replace('\n', "&#10;"));
    let result = if fails {
        let message = escaped(&visible_line(&diagnostic.message));
        format!("<failure type=\"{severity}\" message=\"{message}\">{text}</failure>")
    } else {
        format!("<system-out>{text}</system-out>")
    };
    format!(
        "    <testcase classname=\"{suite}\" name=\"{code} {line}:{column}\" file=\"{file}\" line=\"{line}\">\n      \
         {result}\n    </testcase>\n"
    )
}

/// `text` for an attribute or an element, if all its control characters but line breaks are escaped. XML allows two other
/// characters nowhere.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => xml.extend(c.escape_unicode()),
            c => xml.push(c),
        }
    }
    xml
}
