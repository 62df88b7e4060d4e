//! The options of every command that builds an image, as `docker build` has them.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use clap::Arg;
use jiff::Timestamp;

use super::console::{note, visible_line};
use super::env::Env;
use super::source_date::source_date;
use crate::compiler::back::plan::Plan;
use crate::compiler::manifests::image_name::ImageName;
use crate::compiler::words::is_variable;
use crate::engine::{Secrets, Settings, is_socket};
use crate::error::Error;
use crate::project;

/// Maximum size of a secret, in bytes, as BuildKit has it.
const MAX_SECRET: usize = 500 * 1024;

/// Arguments that need no `ARG`.
const PREDEFINED: &[&str] = &["all_proxy", "ftp_proxy", "http_proxy", "https_proxy", "no_proxy"];

/// The variable with the socket of the SSH agent.
const AGENT: &str = "SSH_AUTH_SOCK";

/// The heading of the options of builds.
pub(super) const HEADING: &str = "Build options";

/// Leaves the options of builds to the long help: for commands whose own business is another.
pub(super) fn in_long_help(argument: Arg) -> Arg {
    let is_of_builds = argument.get_help_heading() == Some(HEADING);
    if is_of_builds { argument.hide_short_help(true) } else { argument }
}

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct BuildOptions {
    /// Pull newer images (default)
    #[arg(long, overrides_with = "no_pull", hide_short_help = true)]
    pull: bool,

    /// Use local images only; without it, they are used if their registry cannot be reached
    #[arg(long)]
    no_pull: bool,

    /// Value of an `ARG` in `dockerfile_lines`, or a proxy for all steps, such as HTTPS_PROXY; NAME alone takes it from the
    /// environment (repeatable)
    #[arg(long = "build-arg", value_name = "NAME[=VALUE]")]
    arguments: Vec<String>,

    /// Secret for `RUN --mount=type=secret`, as id=ID,src=FILE or id=ID,env=VARIABLE (repeatable)
    #[arg(long = "secret", value_name = "SECRET")]
    secrets: Vec<String>,

    /// SSH agent for `RUN --mount=type=ssh`, such as `default` [default socket: SSH_AUTH_SOCK] (repeatable)
    #[arg(long = "ssh", value_name = "ID[=SOCKET]", hide_short_help = true)]
    agents: Vec<String>,

    /// Label of the image (repeatable)
    #[arg(long = "label", value_name = "NAME=VALUE", hide_short_help = true)]
    labels: Vec<String>,

    /// Host name and address for the steps of the build (repeatable)
    #[arg(long = "add-host", value_name = "HOST:IP", hide_short_help = true)]
    hosts: Vec<String>,

    /// Network of the steps of the build
    #[arg(long, value_name = "NETWORK", value_parser = ["default", "host", "none"], hide_short_help = true)]
    network: Option<String>,

    /// Image in a registry whose layers are used instead of running their steps again, such as one that a CI job pushed with
    /// --cache-to inline (repeatable)
    #[arg(long, value_name = "IMAGE", value_parser = cache_source, hide_short_help = true)]
    cache_from: Vec<String>,

    /// `inline` records in the image which step made each layer, for --cache-from
    #[arg(long, value_name = "CACHE", value_parser = cache_target, hide_short_help = true)]
    cache_to: Option<Inline>,
}

/// The only cache that an engine writes by itself: in the image.
#[derive(Clone, Copy, Debug)]
struct Inline;

impl BuildOptions {
    /// Whether to pull newer images.
    pub(super) fn pulls(&self) -> bool {
        !self.no_pull
    }

    /// Whether there is no option that only a build on this machine has.
    pub(super) fn is_empty(&self) -> bool {
        let Self {
            pull: _,
            no_pull: _,
            arguments,
            secrets,
            agents,
            labels,
            hosts,
            network,
            cache_from,
            cache_to,
        } = self;
        let lists = [arguments, secrets, agents, labels, hosts, cache_from];
        lists.iter().all(|all| all.is_empty()) && network.is_none() && cache_to.is_none()
    }

    /// Checks the options and reads the secrets. `is_built` is whether this program builds an image.
    pub(super) fn read(&self, env: &mut Env, plan: &Plan, is_built: bool) -> Result<Settings, Error> {
        if !is_built && !self.is_empty() {
            return Err(Error::usage(
                "--build-arg, --secret, --ssh, --label, --add-host, --network, --cache-from and --cache-to are for images that \
                 are built here",
                "remove them, or build the image here",
            ));
        }
        let mut secrets = Secrets::default();
        for text in &self.secrets {
            let (id, value) = secret(env, text)?;
            secrets.values.insert(id, value);
        }
        for text in &self.agents {
            let (id, socket) = agent(env, text)?;
            secrets.agents.insert(id, socket);
        }
        Ok(Settings {
            arguments: self.arguments(env, plan)?,
            labels: self.labels.iter().map(|text| label(text)).collect::<Result<_, _>>()?,
            hosts: self.hosts.iter().map(|text| host(text)).collect::<Result<_, _>>()?,
            network: self.network.clone(),
            cache_from: self.cache_from.clone(),
            inline_cache: self.cache_to.is_some(),
            time: source_date(env)?.map(Timestamp::as_second),
            secrets,
            sources: None,
        })
    }

    fn arguments(&self, env: &mut Env, plan: &Plan) -> Result<BTreeMap<String, String>, Error> {
        let mut found = BTreeMap::new();
        for text in &self.arguments {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (&**text, env.named(text)),
            };
            if !is_variable(name) {
                let message = format!("--build-arg: `{}` is not the name of an argument", visible_line(name));
                return Err(Error::usage(message, "write it as NAME=VALUE or NAME"));
            }
            if !PREDEFINED.contains(&&*name.to_lowercase()) && !declares(plan, name) {
                let message =
                    format!("--build-arg {name} has no effect without `ARG {name}` in `dockerfile_lines`");
                note(env, &message);
            }
            match value {
                Some(value) => _ = found.insert(name.to_owned(), value),
                None => note(env, &format!("--build-arg {name} has no value: the variable is not set")),
            }
        }
        Ok(found)
    }
}

/// The image of `--cache-from`, also as `docker buildx build` has it.
fn cache_source(text: &str) -> Result<String, String> {
    let name = match text.split_once("ref=") {
        Some(("type=registry,", name)) => name,
        _ if text.starts_with("type=") => {
            return Err("an engine reads layers of images in registries only: write it as IMAGE".to_owned());
        }
        _ => text,
    };
    match ImageName::parse(name) {
        Ok(_) => Ok(name.to_owned()),
        Err(why) => Err(format!("it is not the name of an image: {why}")),
    }
}

fn cache_target(text: &str) -> Result<Inline, &'static str> {
    match text {
        "inline" | "type=inline" => Ok(Inline),
        _ => Err("an engine keeps layers for others in the image only: write `inline`, and push the image"),
    }
}

/// Whether lines of the user declare the argument.
fn declares(plan: &Plan, name: &str) -> bool {
    plan.image.lines.iter().any(|line| {
        let mut words = line.split_whitespace();
        let is_declaration = words.next().is_some_and(|word| word.eq_ignore_ascii_case("ARG"));
        is_declaration && words.any(|word| word.split('=').next() == Some(name))
    })
}

/// The ID and the value of a secret, from the same fields as for `docker build`.
fn secret(env: &Env, text: &str) -> Result<(String, Vec<u8>), Error> {
    let invalid = |why: &str| {
        let message = format!("--secret `{}`: {why}", visible_line(text));
        Error::usage(message, "write it as id=ID,src=FILE or id=ID,env=VARIABLE")
    };
    let mut id = None;
    let mut file = None;
    let mut variable = None;
    let mut is_env = false;
    for field in text.split(',') {
        match field.split_once('=') {
            Some(("id", value)) if !value.is_empty() => id = Some(value),
            Some(("src" | "source", value)) => file = Some(value),
            Some(("env", value)) => variable = Some(value),
            Some(("type", "file")) => {}
            Some(("type", "env")) => is_env = true,
            _ => return Err(invalid(&format!("`{}` is not a field of a secret", visible_line(field)))),
        }
    }
    let id = id.ok_or_else(|| invalid("it has no ID"))?;
    if is_env {
        variable = variable.or(file.take());
    }
    let variable = variable.or_else(|| {
        Some(id).filter(|id| file.is_none() && env.named(id).is_some_and(|value| !value.is_empty()))
    });
    let (from, value) = match variable {
        Some(name) => {
            let value = env.named(name).map(String::into_bytes);
            (format!("the variable `{}`", visible_line(name)), value.ok_or("it is not set".to_owned()))
        }
        None => {
            let file = file.unwrap_or(id);
            let value = std::fs::read(env.directory.join(file)).map_err(|error| project::reason(&error));
            (format!("`{}`", visible_line(file)), value)
        }
    };
    let failed = |why: String| {
        Error::usage(
            format!("cannot read the secret `{}` from {from}: {why}", visible_line(id)),
            "check --secret",
        )
    };
    match value.map_err(&failed)? {
        value if value.len() > MAX_SECRET => Err(failed("it is larger than 500 KiB".to_owned())),
        value => Ok((id.to_owned(), value)),
    }
}

/// The ID and the socket of an SSH agent.
fn agent(env: &Env, text: &str) -> Result<(String, PathBuf), Error> {
    let (id, socket) = match text.split_once('=') {
        Some((id, socket)) => (id, Some(socket.to_owned())),
        None => (text, env.variable(AGENT)),
    };
    let hint = "start an agent with `eval $(ssh-agent)`, and add your key with `ssh-add`";
    let id = if id.is_empty() { Secrets::DEFAULT_AGENT } else { id };
    let Some(socket) = socket else {
        return Err(Error::usage(format!("--ssh {}: {AGENT} is not set", visible_line(id)), hint));
    };
    let path = env.directory.join(&socket);
    if !is_socket(&path) {
        let message = format!(
            "--ssh {}: `{}` is not the socket of an SSH agent",
            visible_line(id),
            visible_line(&socket)
        );
        return Err(Error::usage(message, hint));
    }
    Ok((id.to_owned(), path))
}

fn label(text: &str) -> Result<(String, String), Error> {
    match text.split_once('=').unwrap_or((text, "")) {
        ("", _) => {
            let message = format!("--label `{}` has no name", visible_line(text));
            Err(Error::usage(message, "write it as NAME=VALUE"))
        }
        (name, value) => Ok((name.to_owned(), value.to_owned())),
    }
}

/// A host and its address, as the engine reads them.
fn host(text: &str) -> Result<String, Error> {
    let (name, address) = text.split_once('=').or_else(|| text.split_once(':')).unwrap_or((text, ""));
    let address = address.trim_start_matches('[').trim_end_matches(']');
    let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == ',');
    if is_name && (address == "host-gateway" || address.parse::<IpAddr>().is_ok()) {
        return Ok(format!("{name}:{address}"));
    }
    let message = format!("--add-host: `{}` is not a host name and an IP address", visible_line(text));
    Err(Error::usage(message, "write it as HOST:IP, such as db.example:10.0.0.7"))
}
