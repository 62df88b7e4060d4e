//! `agentcli validate`

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum as _;

use crate::cli::check::{self, ConfigOption};
use crate::cli::console::{HEADING, count, paint, visible_line};
use crate::cli::env::Env;
use crate::cli::fix::Fixed;
use crate::cli::report::{self, Format, text::Layout};
use crate::cli::server::ServerOption;
use crate::compiler::finding::Checked;
use crate::compiler::front::dialect::CONFIGURATIONS;
use crate::compiler::words::listed;
use crate::error::Error;
use crate::project::{self, Boundary};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli validate                              check ./agent.json
  agentcli validate apps/*/agent.json            check many files; exit code 1 if any has an error
  agentcli validate --fix                        correct what can only be meant one way
  agentcli validate --diff                       show these corrections
  agentcli validate - < agent.json               check stdin, as an editor does
  agentcli validate --format github              annotations in a GitHub workflow
  agentcli validate --format gitlab              code quality of a GitLab merge request
  agentcli validate --format sarif > out.sarif   for code scanning
  agentcli validate --format github --output sarif=out.sarif")]
pub(crate) struct Validate {
    /// Configurations to check; - reads stdin
    #[arg(value_name = "FILE", conflicts_with = "config")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    config: ConfigOption,

    /// How findings are written
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t)]
    format: Format,

    /// Write the findings to a file, too, in a format of --format; repeatable
    #[arg(long = "output", value_name = "FORMAT=FILE", value_parser = output)]
    outputs: Vec<(Format, PathBuf)>,

    /// Fail on warnings too
    #[arg(long)]
    deny_warnings: bool,

    /// Correct the findings whose fix is safe, and report the others; a configuration from stdin is written to stdout
    #[arg(long, conflicts_with = "diff")]
    fix: bool,

    /// Print what --fix would change, and change nothing; exit code 1 if there is anything
    #[arg(long, conflicts_with = "outputs")]
    diff: bool,

    #[command(flatten)]
    server: ServerOption,

    /// Path of the configuration that is read from stdin [default: agent.json]
    #[arg(long, value_name = "FILE")]
    stdin_filename: Option<PathBuf>,
}

/// A format and the file for it.
fn output(text: &str) -> Result<(Format, PathBuf), String> {
    let formats = || Format::value_variants().iter().filter_map(|format| format.to_possible_value());
    let names = || formats().map(|format| format.get_name().to_owned()).collect::<Vec<_>>();
    let (format, file) = text.split_once('=').unwrap_or((text, ""));
    match Format::from_str(format, false) {
        Ok(format) if !file.is_empty() => Ok((format, PathBuf::from(file))),
        Ok(_) => Err(format!("name the file, too: `{format}=FILE`")),
        Err(_) => {
            Err(format!("`{format}` is no format; there are {}", listed(names().iter().map(String::as_str))))
        }
    }
}

/// The argument that selects stdin.
const STDIN: &str = "-";

impl Validate {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let default = self.config.path(env);
        let files = if self.files.is_empty() { vec![default] } else { self.files.clone() };
        let stdin = self.stdin(env, &files)?;
        let server = self.server.server(env)?;
        self.server.note(env, server);
        let directory = env.directory.clone();
        let root = env.project_root.clone();
        let boundary = root.as_deref().map_or(Boundary::Project, Boundary::Directory);
        let check = |file: &Path| match (&stdin, file == Path::new(STDIN)) {
            (Some((name, content)), true) => check::check_content(&directory, name, server, content.clone()),
            _ => check::check(&directory, file, server, boundary),
        };
        if !self.fix && !self.diff {
            return self.report(env, &check::check_all(&files, check));
        }
        let fix = |file: &Path| {
            let checked = check(file);
            let path = PathBuf::from(&checked.source.name);
            Fixed::new(checked, server, &directory, &path)
        };
        let fixed = check::check_all(&files, fix);
        if self.diff { self.print_diff(env, &fixed) } else { self.write(env, &files, fixed) }
    }

    /// The name and the content of the configuration that is read from stdin.
    fn stdin(&self, env: &mut Env, files: &[PathBuf]) -> Result<Option<(PathBuf, Vec<u8>)>, Error> {
        if !files.iter().any(|file| file == Path::new(STDIN)) {
            return Ok(None);
        }
        let mut content = Vec::new();
        // One byte more than a configuration may have, so that the excess is seen.
        let read = (&mut env.input).take(project::MAX_CONFIGURATION + 1).read_to_end(&mut content);
        read.map_err(|error| Error::misused(format!("cannot read stdin: {}", project::reason(&error))))?;
        let name = self.stdin_filename.clone().unwrap_or_else(|| PathBuf::from(CONFIGURATIONS[0]));
        Ok(Some((name, content)))
    }

    fn print_diff(&self, env: &mut Env, fixed: &[Fixed]) -> Result<(), Error> {
        for file in fixed {
            env.out.write(&file.diff())?;
        }
        env.out.flush()?;
        let fixes = fixed.iter().map(|file| file.count).sum();
        env.print(&paint(&env.err, HEADING, &with_safe_fix(fixes)));
        if fixes > 0 { Err(Error::Config) } else { Ok(()) }
    }

    /// Writes what was fixed, and reports what is left.
    fn write(&self, env: &mut Env, files: &[PathBuf], fixed: Vec<Fixed>) -> Result<(), Error> {
        for (file, fixed) in files.iter().zip(&fixed) {
            if file == Path::new(STDIN) {
                env.out.write(&fixed.now().source.text)?;
            } else if let Some(after) = &fixed.after {
                project::write_atomically(&env.directory.join(file), after.source.text.as_bytes())?;
            }
            if fixed.count > 0 {
                let name = visible_line(&fixed.now().source.name);
                env.print(&format!("fixed {} in {name}", count(fixed.count, "finding")));
            }
        }
        let checked: Vec<Checked> = fixed.into_iter().map(Fixed::into_now).collect();
        self.report(env, &checked)
    }

    fn report(&self, env: &mut Env, checked: &[Checked]) -> Result<(), Error> {
        for (format, file) in &self.outputs {
            let plain = Layout { is_coloured: false, width: env.width, is_brief: false };
            let report = report::render(*format, checked, plain, self.deny_warnings);
            project::write_atomically(&env.directory.join(file), report.as_bytes())?;
        }
        let layout = Layout { is_coloured: env.out.is_coloured, width: env.width, is_brief: false };
        let report = report::render(self.format, checked, layout, self.deny_warnings);
        // The fixed configuration is on stdout.
        let is_filter = self.fix && self.files.iter().any(|file| file == Path::new(STDIN));
        let stream = if is_filter { &mut env.err } else { &mut env.out };
        stream.write(&report)?;
        env.out.flush()?;
        let errors = checked.iter().map(Checked::errors).sum();
        let warnings = checked.iter().map(Checked::warnings).sum();
        if self.format.is_for_people() {
            self.summarize(env, checked, errors, warnings);
        }
        if errors > 0 || (self.deny_warnings && warnings > 0) { Err(Error::Config) } else { Ok(()) }
    }

    fn summarize(&self, env: &mut Env, checked: &[Checked], errors: usize, warnings: usize) {
        if env.verbose {
            checked.iter().for_each(|file| env.print(&one_line(file)));
        }
        let sentence = self.sentence(checked, errors, warnings);
        env.print(&paint(&env.err, HEADING, &sentence));
        if let Some(code) = checked.iter().flat_map(|file| &file.findings).next() {
            let code = code.diagnostic.rule.code;
            let fixes = checked.iter().flat_map(Checked::safe_fixes).count();
            if fixes > 0 {
                env.print(&format!("{}: `agentcli validate --fix` makes it", with_safe_fix(fixes)));
            }
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

/// `2 findings have a safe fix`
fn with_safe_fix(findings: usize) -> String {
    let verb = if findings == 1 { "has" } else { "have" };
    format!("{} {verb} a safe fix", count(findings, "finding"))
}

/// `agent.json is valid (2 graphs)`
fn one_line(file: &Checked) -> String {
    let name = visible_line(&file.source.name);
    match file.errors() {
        0 => format!("{name} is valid ({})", count(file.graphs, "graph")),
        errors => format!("{name} has {}", count(errors, "error")),
    }
}
