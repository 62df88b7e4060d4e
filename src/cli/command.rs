//! What can be asked for. A new command is one file here, its `mod` line and one row in the table.

mod build;
mod compose;
mod deploy;
mod dev;
mod dockerfile;
mod down;
mod explain;
mod guard;
#[cfg(feature = "host")]
mod host;
mod plan;
mod schema;
mod up;
mod validate;

pub(super) use dev::session;

use super::env::Env;
use crate::error::Error;

/// Defines the commands: their names and order in `--help`, and what runs them.
macro_rules! commands {
    ($($(#[$when:meta])* $name:ident($file:ident),)*) => {
        /// One command and its arguments; the help text stands at the arguments.
        #[derive(Debug, clap::Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "there is one, and it lives shortly")]
        pub(super) enum Command {
            $($(#[$when])* #[allow(missing_docs, reason = "documented in its file")] $name($file::$name),)*
         }

        impl Command {
            /// Does it.
            pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
                match self { $($(#[$when])* Self::$name(arguments) => arguments.run(env),)* }
            }
        }
    };
}

commands! {
    Validate(validate),
    Dev(dev),
    Build(build),
    Deploy(deploy),
    Up(up),
    Down(down),
    Dockerfile(dockerfile),
    Compose(compose),
    Plan(plan),
    #[cfg(feature = "host")]
    Host(host),
    Explain(explain),
    Schema(schema),
    Guard(guard),
}
