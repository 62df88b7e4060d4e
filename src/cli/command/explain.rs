//! `agentcli explain`

use clap::ValueEnum;

use crate::cli::console::{ERROR, HEADING, WARNING, paint, visible, wrap};
use crate::cli::env::{Env, Stream};
use crate::cli::{report, rules};
use crate::compiler::words::similar;
use crate::diagnostic::{Rule, Severity};
use crate::error::Error;

/// Lines longer than this are hard to read, however wide the terminal is.
const MAX_WIDTH: usize = 90;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli explain                       list every code
  agentcli explain unknown-key           explain one
  agentcli explain --format markdown     the whole reference as one page")]
pub(crate) struct Explain {
    /// The code, as findings show it; without one, all are listed
    #[arg(value_name = "CODE")]
    code: Option<String>,

    /// How it is written
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
        let one = self.code.as_deref().map(|code| find(&rules, code)).transpose()?;
        let width = env.width.min(MAX_WIDTH);
        let text = match (self.format, one) {
            (Format::Text, Some(rule)) => explained(&env.out, rule, width),
            (Format::Text, None) => listed(&env.out, &rules),
            (Format::Markdown, Some(rule)) => report::reference::section(rule),
            (Format::Markdown, None) => report::reference::page(&rules),
        };
        Ok(env.out.write(&text)?)
    }
}

fn find(rules: &[&'static Rule], code: &str) -> Result<&'static Rule, Error> {
    // `error[unknown-key]` may be copied as it stands.
    let bare = code.trim_start_matches("error[").trim_start_matches("warning[").trim_end_matches(']');
    rules.iter().find(|rule| rule.code.eq_ignore_ascii_case(bare)).copied().ok_or_else(|| Error::Usage {
        message: format!("there is no code `{code}`"),
        hint: Some(match similar(bare, rules.iter().map(|rule| rule.code)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`agentcli explain` lists every code".to_owned(),
        }),
    })
}

fn explained(out: &Stream, rule: &Rule, width: usize) -> String {
    let code = paint(out, style(rule.severity), &format!("{}[{}]", rule.severity.word(), rule.code));
    let summary = paint(out, HEADING, rule.summary);
    let why = wrap(rule.why, width);
    let wrong = paint(out, HEADING, "Wrong:");
    let right = paint(out, HEADING, "Right:");
    format!(
        "{code}: {summary}\n\n{why}\n\n{wrong}\n\n{}\n{right}\n\n{}",
        indented(rule.wrong),
        indented(rule.right)
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
        format!("{severity}  {:longest$}  {}\n", rule.code, rule.summary)
    };
    rules.iter().map(line).collect()
}

fn style(severity: Severity) -> anstyle::Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
    }
}
