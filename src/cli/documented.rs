//! The commands as they are documented: the source of completion scripts and manual pages.

use clap::builder::{PossibleValuesParser, Resettable};
use clap::{Arg, ArgGroup, Command, CommandFactory as _, Id, ValueHint};

use super::Arguments;

/// The name of the program.
pub(super) const NAME: &str = "agentcli";

/// All commands, without hidden ones and hidden arguments: the generators do not leave those out.
pub(super) fn command() -> Command {
    let mut command = Arguments::command();
    // Adds the arguments of the commands, which are deferred.
    command.build();
    visible(&command)
}

fn visible(command: &Command) -> Command {
    let is_shown = |it: &&Arg| !it.is_hide_set() && !matches!(it.get_id().as_str(), "help" | "version");
    let arguments: Vec<&Arg> = command.get_arguments().filter(is_shown).collect();
    let members = |group: &ArgGroup| {
        let is_shown = |id: &&Id| arguments.iter().any(|it| it.get_id() == *id);
        ArgGroup::new(group.get_id().clone()).args(group.get_args().filter(is_shown))
    };
    // Names are static, and this runs once.
    let mut shown = Command::new(&*command.get_name().to_owned().leak())
        .disable_help_subcommand(true)
        .groups(command.get_groups().map(members))
        .args(arguments.iter().copied().cloned().map(completed))
        .subcommands(command.get_subcommands().filter(|it| !it.is_hide_set()).map(visible));
    if let Some(version) = command.get_version() {
        shown = shown.version(&*version.to_owned().leak());
    }
    shown
        .about(Resettable::from(command.get_about().cloned()))
        .long_about(Resettable::from(command.get_long_about().cloned()))
        .after_help(Resettable::from(command.get_after_help().cloned()))
}

/// `argument` with its known values. Without a hint, shells complete names of files, which only paths are.
fn completed(argument: Arg) -> Arg {
    // Of `explain`, which accepts similar words, too, and need not list these in its help.
    if argument.get_id() == "code" {
        let codes = PossibleValuesParser::new(super::rules().iter().map(|rule| rule.code));
        return argument.value_parser(codes).hide_possible_values(true);
    }
    let is_text = argument.get_action().takes_values() && argument.get_value_hint() == ValueHint::Unknown;
    if is_text { argument.value_hint(ValueHint::Other) } else { argument }
}
