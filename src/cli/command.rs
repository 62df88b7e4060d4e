//! The commands. A new one is a file here, its `mod` line and a row in the table, with its help.

mod build;
mod completions;
mod compose;
mod deploy;
mod dev;
mod dockerfile;
mod doctor;
mod down;
mod explain;
mod graph;
mod guard;
mod help;
mod host;
mod init;
mod invoke;
mod lock;
mod lsp;
mod manifests;
mod new;
mod open;
mod package_files;
mod plan;
mod schema;
mod up;
mod validate;

use clap::builder::Resettable;
pub(super) use deploy::check_options;

use clap::{ArgMatches, Args, FromArgMatches};

use super::env::Env;
use crate::error::Error;

/// Defines the commands: what `--help` says of them, in their groups and order, and what runs them.
macro_rules! commands {
    ($($group:literal: {
        $($(#[doc = $help:literal])* $(#[command($attribute:meta)])? $name:ident($file:ident),)*
    })*) => {
        /// The headings of the groups, each with the names of its commands.
        pub(super) const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$(stringify!($file)),*])),*];

        /// One command and its arguments.
        #[derive(Debug, clap::Subcommand)]
        #[allow(clippy::large_enum_variant, reason = "there is one, and it lives shortly")]
        pub(super) enum Command {
            $($($(#[doc = $help])* $(#[command($attribute)])? $name(Deferred<$file::$name>),)*)*
        }

        impl Command {
            /// Does it.
            pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
                match self { $($(Self::$name(Deferred(arguments)) => arguments.run(env),)*)* }
            }
        }
    };
}

commands! {
    "Start": {
        /// Write the configuration of an existing project
        ///
        /// Finds the graphs that Python files assign at their top level and that TypeScript and JavaScript files export, the
        /// manifest, the version of Python, and `.env`. Writes agent.json and nothing else, and only if it is valid. Nothing of
        /// the project is run, and no existing file is changed.
        Init(init),

        /// Create a project from a template
        ///
        /// The project validates, runs with `dev` without an API key, builds, and has tests. No network is used. The directory
        /// has to be empty unless --force is given, and no existing file is ever changed.
        New(new),

        /// Run the server on this machine, without a container
        ///
        /// Missing packages are installed into .agentcli, a directory beside the configuration that git ignores, and those of
        /// package.json into node_modules; no other file is changed. State is kept between runs. The server restarts when the
        /// source, the configuration or the env file changes. If a change breaks the project, dev reports it, keeps the last
        /// working server, and waits for the next change.
        Dev(dev),

        /// Open a page for a server: chat, runs, threads and the graph
        ///
        /// Serves the page of `dev` on this machine, at a path that only this run knows, and forwards its requests to the server
        /// with the given headers. Without a URL or --deployment, the server is that of `dev` for the project here, or else of
        /// `up`. Ctrl-C ends it.
        Open(open),

        /// Run a graph of a server
        ///
        /// Without --url or --deployment, the server is that of `dev` for the project here, or else of `up`. GRAPH may be left out
        /// if the server has one graph.
        ///
        /// On a terminal, the text of language models is printed as it arrives, and steps of the graph are printed on stderr.
        /// Otherwise, only the answer is printed: the text of the last message if a language model wrote it, or else the
        /// final state as JSON. Ctrl-C cancels the run.
        Invoke(invoke),

        /// Draw the graphs of the configuration
        ///
        /// The nodes and edges are read from the source, of which nothing is run: no package, key or server is needed. A dashed
        /// line is an edge that a run may take or not; a dotted one is named by code only. What the source computes is not
        /// drawn.
        Graph(graph),

        /// Check configuration files
        ///
        /// Every mistake is shown in one run, with its place and what to write instead. Findings go to stdout.
        Validate(validate),

        /// Explain a finding, with an invalid and a valid example
        Explain(explain),

        /// Check this machine for the requirements of dev, build, up and deploy
        ///
        /// Shows each requirement, and the next step for everything that is not fine. Nothing is installed or changed, and no
        /// secret is shown.
        ///
        /// The exit code is 1 if something is missing that the named commands need; without names, that `dev`, `build` or `up`
        /// needs for the configuration here.
        Doctor(doctor),

        /// Show the help of a command
        Help(help),
    }

    "Ship": {
        /// Lock the images of the configuration by their digests
        ///
        /// Writes agent.lock beside the configuration: the digest of the base image and of each of its platforms, the same for
        /// PostgreSQL and Redis, and the version of the server. The registries are asked, with the credentials of `docker login`;
        /// no container engine is needed. What is still right in the file stays as it is, unless --upgrade is given.
        ///
        /// Commands that make or run images use them with --locked, and in CI jobs without it, and fail with the difference if
        /// the file is not up to date.
        Lock(lock),

        /// Build the image of the server
        ///
        /// Prints the image's ID and names on stdout. After an edit of the source, only the last layer is rebuilt.
        ///
        /// With --no-pull, an image is not built again if it is up to date: it still has its names, and was built on this machine
        /// from the same files, Dockerfile, platform and base image. --no-cache builds it anyway.
        Build(build),

        /// Run the server in containers, with its database
        ///
        /// Builds the image, starts what is not running, and shows the server's log. Ctrl-C stops all containers and keeps the
        /// data; a second Ctrl-C kills them. Unchanged containers are left running.
        Up(up),

        /// Stop and remove what `up` started
        ///
        /// The data is kept unless --volumes is given.
        Down(down),

        /// Build and deploy the server to a deployment service
        ///
        /// Builds an image, pushes it, and creates or updates a deployment. The subcommands manage deployments.
        Deploy(deploy),
    }

    "Files": {
        /// Write the Dockerfile of the configuration
        ///
        /// A second file, SAVE_PATH.dockerignore, selects what the build sees. Run it again whenever the configuration
        /// changes; --check fails if the files are out of date.
        Dockerfile(dockerfile),

        /// Write a compose file for the server and its database
        ///
        /// It defines what `up` runs: the server, PostgreSQL, Redis and, with --debugger-port, the debugger. Two files beside
        /// it, *.Dockerfile and *.Dockerfile.dockerignore, build the server's image. Run it again whenever the configuration
        /// changes; --check fails if the files are out of date.
        Compose(compose),

        /// Write Kubernetes manifests for the server and its database
        ///
        /// They define a Deployment of the server with its Service, ConfigMap, autoscaler and migrations, PostgreSQL and Redis, and
        /// what the resources of the deployment ask for. The image has to be in a registry that the cluster pulls from. Secrets
        /// are named, not written, unless --with-secrets is given.
        ///
        /// Run it again whenever the configuration or the image changes; --check fails if the file is out of date.
        Manifests(manifests),

        /// Print what a build would do, as JSON
        ///
        /// The plan holds every decision: the server and its image, the build context, the steps in order, and what the
        /// server reads from its environment. Values of `env` are not part of it.
        Plan(plan),

        /// Print the JSON Schema of the configuration, or of the output of a command
        ///
        /// Editors complete and explain every key with it: save it beside the configuration and name it in "$schema".
        Schema(schema),

        /// Print the completion script of a shell
        Completions(completions),
    }

    "Services": {
        /// Run a deployment service on this machine
        Host(host),

        /// Run the language server for editors
        ///
        /// Editors start it; it speaks the Language Server Protocol on stdin and stdout. It checks agent.json and
        /// langgraph.json while they are edited, from the unsaved text.
        Lsp(lsp),

        /// Write manual pages and completion scripts for a package
        #[command(hide = true)]
        PackageFiles(package_files),

        /// Run a command until it exits or stdin ends
        #[command(hide = true)]
        Guard(guard),
    }
}

/// The commands that stop processes by signals, which Windows lacks.
const NEED_UNIX: &[&str] = &["dev", "down", "guard", "up"];

/// Fails if the command called `name` does not run on this operating system.
pub(super) fn check_system(name: &str) -> Result<(), Error> {
    if cfg!(unix) || !NEED_UNIX.contains(&name) {
        return Ok(());
    }
    Err(Error::NeedsUnix { command: name.to_owned() })
}

/// Arguments that are defined when their command is asked for: to define those of all takes longer than to check a
/// configuration.
#[derive(Debug)]
pub(super) struct Deferred<T>(T);

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.defer(|command| described_as(&command.clone(), T::augment_args(command)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command.defer(|command| described_as(&command.clone(), T::augment_args_for_update(command)))
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// Arguments that are a part of others bring their own description, which is not that of the command.
fn described_as(shown: &clap::Command, command: clap::Command) -> clap::Command {
    let (about, long) = (shown.get_about().cloned(), shown.get_long_about().cloned());
    command.about(Resettable::from(about)).long_about(Resettable::from(long))
}
