//! `agentcli package-files`, which the build of a package runs.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Command;
use clap::builder::Resettable;
use clap_complete::aot::{Bash, Fish, Zsh};
use clap_complete::{Generator, generate_to};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::documented;
use crate::cli::env::Env;
use crate::error::Error;
use crate::project;

/// The origin of the manual pages.
const SOURCE: &str = concat!("agentcli ", env!("CARGO_PKG_VERSION"));

#[derive(Debug, clap::Args)]
pub(crate) struct PackageFiles {
    /// Directory for data of programs, such as /usr/share
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

impl PackageFiles {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let directory = env.directory.join(&self.directory);
        let failed = |source| {
            Error::Project(project::Error::Write { path: directory.to_string_lossy().into_owned(), source })
        };
        pages(&directory.join("man/man1"))
            .and_then(|()| script(Bash, &directory.join("bash-completion/completions")))
            .and_then(|()| script(Fish, &directory.join("fish/vendor_completions.d")))
            .and_then(|()| script(Zsh, &directory.join("zsh/site-functions")))
            .map_err(failed)
    }
}

/// Writes a manual page for each command.
fn pages(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut program = documented::command();
    program.build();
    let mut open = vec![program];
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands().cloned());
        write_page(command, directory)?;
    }
    Ok(())
}

fn write_page(command: Command, directory: &Path) -> io::Result<()> {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // An empty date is left out, and the next argument of the title would take its place.
    let page = Man::new(command.after_help(Resettable::Reset)).source(SOURCE).date(" ");
    let mut text = Vec::new();
    page.render(&mut text)?;
    if let Some(examples) = examples.strip_prefix("Examples:\n") {
        let section =
            Roff::new().control("SH", ["EXAMPLES"]).control("nf", []).text([roman(examples)]).to_roff();
        text.extend_from_slice(section.as_bytes());
    }
    fs::write(directory.join(page.get_filename()), text)
}

fn script(shell: impl Generator, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    generate_to(shell, &mut documented::command(), documented::NAME, directory).map(|_| ())
}
