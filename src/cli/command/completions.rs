//! `agentcli completions`

use clap_complete::{Generator, aot, generate};

use crate::cli::{documented, env::Env};
use crate::error::Error;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli completions bash > ~/.local/share/bash-completion/completions/agentcli
  agentcli completions zsh > ~/.zfunc/_agentcli
  agentcli completions fish > ~/.config/fish/completions/agentcli.fish")]
pub(crate) struct Completions {
    /// Shell to complete commands in
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Nushell,
    Powershell,
    Zsh,
}

impl Completions {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let script = match self.shell {
            Shell::Bash => script(aot::Bash),
            Shell::Elvish => script(aot::Elvish),
            Shell::Fish => script(aot::Fish),
            Shell::Nushell => script(clap_complete_nushell::Nushell),
            Shell::Powershell => script(aot::PowerShell),
            Shell::Zsh => script(aot::Zsh),
        };
        Ok(env.out.write(&script)?)
    }
}

fn script(shell: impl Generator) -> String {
    let mut script = Vec::new();
    generate(shell, &mut documented::command(), documented::NAME, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
