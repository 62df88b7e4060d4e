//! `agentcli validate`

use std::path::PathBuf;

use crate::cli::check::{self, Checked, ConfigOption};
use crate::cli::console::{HEADING, count, paint, visible_line};
use crate::cli::env::Env;
use crate::cli::report::{self, Format, text::Layout};
use crate::error::Error;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli validate                              check ./agent.json
  agentcli validate apps/*/agent.json            check many files; exit code 1 if any has an error
  agentcli validate --format github              annotations in a GitHub workflow
  agentcli validate --format gitlab              code quality of a GitLab merge request
  agentcli validate --format sarif > out.sarif   for code scanning")]
pub(crate) struct Validate {
    /// Configurations to check
    #[arg(value_name = "FILE", conflicts_with = "config")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    config: ConfigOption,

    /// How findings are written
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    format: Format,

    /// Fail on warnings too
    #[arg(long)]
    deny_warnings: bool,
}

impl Validate {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let files = if self.files.is_empty() { vec![self.config.path(env)] } else { self.files.clone() };
        let checked = check::check_all(&env.directory, &files);
        let layout = Layout { is_coloured: env.out.is_coloured, width: env.width };
        env.out.write(&report::render(self.format, &checked, layout, self.deny_warnings))?;
        env.out.flush()?;
        let errors = checked.iter().map(Checked::errors).sum();
        let warnings = checked.iter().map(Checked::warnings).sum();
        if self.format.is_for_people() {
            self.summarize(env, &checked, errors, warnings);
        }
        match errors > 0 || (self.deny_warnings && warnings > 0) {
            true => Err(Error::Config),
            false => Ok(()),
        }
    }

    fn summarize(&self, env: &mut Env, checked: &[Checked], errors: usize, warnings: usize) {
        if env.verbose {
            checked.iter().for_each(|file| env.print(&one_line(file)));
        }
        let sentence = self.sentence(checked, errors, warnings);
        env.print(&paint(&env.err, HEADING, &sentence));
        if let Some(code) = checked.iter().flat_map(|file| &file.findings).next() {
            let code = code.diagnostic.rule.code;
            env.print(&format!("for more about a finding, try `agentcli explain {code}`"));
        }
    }

    fn sentence(&self, checked: &[Checked], errors: usize, warnings: usize) -> String {
        let found = match (errors, warnings) {
            (errors, 0) => count(errors, "error"),
            (0, warnings) => count(warnings, "warning"),
            (errors, warnings) => format!("{} and {}", count(errors, "error"), count(warnings, "warning")),
        };
        let denied = if self.deny_warnings && errors == 0 { "; warnings are denied" } else { "" };
        let files = count(checked.len(), "file");
        let affected = checked.iter().filter(|file| !file.findings.is_empty()).count();
        match (errors, warnings, checked) {
            (0, 0, [file]) => one_line(file),
            (0, 0, _) => format!("{files} are valid"),
            (0, _, [file]) if !self.deny_warnings => format!("{}, with {found}", one_line(file)),
            (_, _, [_]) => format!("{found} in 1 file{denied}"),
            _ => format!("{found} in {affected} of {files}{denied}"),
        }
    }
}

/// `agent.json is valid (2 graphs)`
fn one_line(file: &Checked) -> String {
    let name = visible_line(&file.source.name);
    match file.errors() {
        0 => format!("{name} is valid ({})", count(file.graphs, "graph")),
        errors => format!("{name} has {}", count(errors, "error")),
    }
}
