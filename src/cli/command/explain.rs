//! `agentcli explain`

use clap::ValueEnum;

use crate::cli::console::{ERROR, HEADING, NOTE, WARNING, paint, visible, wrap};
use crate::cli::env::{Env, Stream};
use crate::cli::{report, rules};
use crate::compiler::words::similar;
use crate::diagnostic::{Rule, Severity};
use crate::error::Error;

/// Codes that are not reported any more, and why.
const RETIRED: &[(&str, &str)] = &[
    (
        "invalid-server-variable",
        "The server checks its variables when it starts, and names the one that it rejects.",
    ),
    ("module-not-in-version", "The import fails when the server loads the file, and `dev` shows its line."),
];

/// Maximum line length, for readability.
const MAX_WIDTH: usize = 90;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli explain                       List all codes
  agentcli explain unknown-key           Explain a code
  agentcli explain http.cors             Explain a key of the configuration
  agentcli explain --keys                List all keys
  agentcli explain --format markdown     Print the reference of all codes")]
pub(crate) struct Explain {
    /// Code of a finding, or key of the configuration [default: list all codes]
    #[arg(value_name = "CODE|KEY")]
    code: Option<String>,

    /// List the keys of the configuration
    #[arg(long, conflicts_with = "code")]
    keys: bool,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// For a terminal
    #[default]
    Text,
    /// For documentation
    Markdown,
}

impl Explain {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let rules = rules();
        let width = env.width.min(MAX_WIDTH);
        if self.keys {
            let text = match self.format {
                Format::Text => report::keys::names().iter().map(|name| format!("{name}\n")).collect(),
                Format::Markdown => report::keys::table(),
            };
            return Ok(env.out.write(&text)?);
        }
        if let Some(text) = self.code.as_deref().and_then(|name| report::keys::explained(name, width)) {
            return Ok(env.out.write(&text)?);
        }
        let code = self.code.as_deref().map(bare);
        if let Some((code, why)) =
            RETIRED.iter().find(|(name, _)| code.is_some_and(|code| name.eq_ignore_ascii_case(code)))
        {
            env.out.line(&wrap(&format!("`{code}` is not reported any more. {why}"), width))?;
            return Ok(());
        }
        let one = code.map(|code| find(&rules, code)).transpose()?;
        let text = match (self.format, one) {
            (Format::Text, Some(rule)) => explained(&env.out, rule, width),
            (Format::Text, None) => listed(&env.out, &rules),
            (Format::Markdown, Some(rule)) => report::reference::section(rule),
            (Format::Markdown, None) => report::reference::page(&rules),
        };
        Ok(env.out.write(&text)?)
    }
}

/// The code in `error[unknown-key]`, as copied from a report.
fn bare(code: &str) -> &str {
    code.trim_start_matches("error[").trim_start_matches("warning[").trim_end_matches(']')
}

fn find(rules: &[&'static Rule], code: &str) -> Result<&'static Rule, Error> {
    rules.iter().find(|rule| rule.code.eq_ignore_ascii_case(code)).copied().ok_or_else(|| {
        let list = "list all codes with `agentcli explain`, and all keys with `agentcli explain --keys`";
        let keys = report::keys::names();
        let names = rules.iter().map(|rule| rule.code).chain(keys.iter().map(String::as_str));
        let near = similar(code, names).map(|near| format!("did you mean `{near}`?"));
        Error::usage(format!("unknown code or key `{code}`"), near.unwrap_or_else(|| list.to_owned()))
    })
}

fn explained(out: &Stream, rule: &Rule, width: usize) -> String {
    let code = paint(out, style(rule.severity), &format!("{}[{}]", rule.severity.word(), rule.code));
    let summary = paint(out, HEADING, rule.summary());
    let why = wrap(rule.why(), width);
    let wrong = paint(out, HEADING, "Wrong:");
    let right = paint(out, HEADING, "Right:");
    format!(
        "{code}: {summary}\n\n{why}\n\n{wrong}\n\n{}\n{right}\n\n{}",
        indented(rule.wrong()),
        indented(rule.right())
    )
}

fn indented(example: &str) -> String {
    match example {
        "" => "    (nothing)\n".to_owned(),
        _ => visible(example).lines().map(|line| format!("    {line}\n")).collect(),
    }
}

fn listed(out: &Stream, rules: &[&Rule]) -> String {
    let longest = rules.iter().map(|rule| rule.code.len()).max().unwrap_or(0);
    let line = |rule: &&Rule| {
        let severity = paint(out, style(rule.severity), &format!("{:7}", rule.severity.word()));
        format!("{severity}  {:longest$}  {}\n", rule.code, rule.summary())
    };
    rules.iter().map(line).collect()
}

fn style(severity: Severity) -> anstyle::Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Note => NOTE,
    }
}
