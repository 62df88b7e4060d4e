//! The command line: what the user asks for, and how the answer looks.
//!
//! Results go to stdout, talk to stderr. Each command is one file under `command/` and one row in its table; each
//! report format is one pure function under `report/`.

pub mod account;
mod agent_lock;
mod artifact;
pub mod ask;
mod build_options;
pub mod check;
pub mod collector;
pub mod command;
pub mod compile;
pub mod console;
mod databases;
mod documented;
pub mod env;
pub mod environment;
pub mod fix;
mod guard;
pub mod image;
pub mod image_name;
pub mod input;
mod logins;
mod printer;
pub mod progress;
mod registry;
pub mod report;
mod resources;
pub mod runtime;
pub mod server;
mod service;
mod settings;
mod setup;
mod source_date;
mod table;
mod target;
mod variables;
mod words;

use std::ffi::OsString;

use clap::{ArgMatches, ColorChoice, Parser};

use crate::compiler;
use crate::diagnostic::Rule;
use crate::error::Error;
use crate::project;
use command::Command;
use env::Env;

pub use guard::guarded;

/// Help is wrapped to the terminal, but never to lines that are hard to read.
const HELP_WIDTH: usize = 100;

const EXAMPLES: &str = "\
Examples:
  agentcli new my-agent                 a project that runs without an API key
  agentcli validate                     check ./agent.json
  agentcli validate apps/*/agent.json   check many files at once
  agentcli explain unknown-key          what a finding means, with examples
  agentcli dockerfile -                 the Dockerfile that the configuration asks for
  agentcli dev                          the server on this machine, without a container
  agentcli lock                         the base image by its digest, for builds with --locked
  agentcli build -t my-agent            the image of the server
  agentcli compose compose.yaml         the server with its databases, for docker compose
  agentcli up                           the server in containers, with its database
  agentcli manifests k8s.yaml           the server with its databases, for Kubernetes
  agentcli deploy                       deploy the server to a deployment service
  agentcli doctor                       what these commands lack on this machine

Exit codes: 0 success, 1 invalid configuration or failed operation, 2 invalid arguments,
3 not authorised, 4 try again later, 70 bug in agentcli, 130 interrupted";

/// Compiles the configuration of an agent server.
#[derive(Debug, Parser)]
#[command(name = documented::NAME, version = VERSION, after_help = EXAMPLES)]
#[command(disable_help_subcommand = true, subcommand_required = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    global: Global,
}

/// The options of every command.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// When to colour the output: auto, always or never; NO_COLOR and CLICOLOR_FORCE are honoured
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    color: ColorChoice,

    /// Use verbose output
    #[arg(short, long, global = true)]
    verbose: bool,
}

/// The version, with the commit of the build if it is known.
pub const VERSION: &str = env!("AGENTCLI_VERSION");

/// All rules, by code: those of the compiler, and those of reading files.
pub fn rules() -> Vec<&'static Rule> {
    let mut rules = compiler::rules();
    rules.extend(project::RULES);
    rules.sort_by_key(|rule| rule.code);
    rules
}

/// A program with this command line: its arguments, and what runs them.
pub trait Program: Parser {
    /// The options of every command.
    fn global(&self) -> &Global;

    /// The command line, whose help may be arranged.
    fn arranged(command: clap::Command) -> clap::Command {
        command
    }

    /// Checks the parsed arguments before they become values.
    ///
    /// # Errors
    ///
    /// The command cannot run here.
    fn check(_: &ArgMatches) -> Result<(), Error> {
        Ok(())
    }

    /// Runs the command.
    ///
    /// # Errors
    ///
    /// The command failed.
    fn run(self, env: &mut Env) -> Result<(), Error>;
}

impl Program for Arguments {
    fn global(&self) -> &Global {
        &self.global
    }

    fn arranged(command: clap::Command) -> clap::Command {
        let commands = grouped(&command);
        command.help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}{{options}}{{after-help}}"
        ))
    }

    fn check(matches: &ArgMatches) -> Result<(), Error> {
        command::check_options(matches)?;
        matches.subcommand_name().map_or(Ok(()), command::check_system)
    }

    fn run(self, env: &mut Env) -> Result<(), Error> {
        self.command.run(env)
    }
}

/// The commands in their groups, and the heading of the options.
fn grouped(command: &clap::Command) -> String {
    let (heading, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let shown = |name: &&str| command.find_subcommand(name).filter(|command| !command.is_hide_set());
    let all = command::GROUPS.iter().flat_map(|(_, names)| *names).filter_map(shown);
    let longest = all.map(|command| command.get_name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for (group, names) in command::GROUPS {
        text += &format!("{heading}{group}:{heading:#}\n");
        for command in names.iter().filter_map(shown) {
            let about = command.get_about().cloned().unwrap_or_default();
            text += &format!("  {literal}{:longest$}{literal:#}  {}\n", command.get_name(), about.ansi());
        }
        text.push('\n');
    }
    text + &format!("{heading}Options:{heading:#}\n")
}

/// Shows the help of a command, as `--help` does.
fn show_help(env: &mut Env, command: Vec<OsString>) -> Result<(), Error> {
    let program = env.arguments.first().cloned().unwrap_or_default();
    env.arguments = [program].into_iter().chain(command).chain(["--help".into()]).collect();
    parse::<Arguments>(env).map(drop)
}

/// Does what the command line asks for; the answer is the exit code (see [`crate::error`]).
pub fn run(env: &mut Env) -> u8 {
    run_program::<Arguments>(env)
}

/// The same for another program.
pub fn run_program<P: Program>(env: &mut Env) -> u8 {
    let done = parse::<P>(env).and_then(|program| program.run(env));
    match done.and_then(|()| Ok(env.out.flush()?)) {
        Ok(()) => 0,
        Err(error) => {
            console::report(env, &error);
            error.exit_code()
        }
    }
}

fn parse<P: Program>(env: &mut Env) -> Result<P, Error> {
    env.colour(env::colour_of(&env.arguments));
    let command = P::arranged(P::command()).term_width(env.width.min(HELP_WIDTH));
    let matches = command.try_get_matches_from(&env.arguments);
    let matches = matches.map_err(|error| words::explained(error, &env.arguments))?;
    let program = P::from_arg_matches(&matches)?;
    env.colour(program.global().color);
    env.verbose = program.global().verbose;
    P::check(&matches)?;
    Ok(program)
}
