//! The agent server that a command is about.

use crate::cli::account::AccountOptions;
use crate::cli::check::ConfigOption;
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::runtime::Runtime;
use crate::cli::service::Service;
use crate::cli::settings::Settings;
use crate::cli::setup::{ProjectName, engine, real_directory};
use crate::dev;
use crate::error::Error;
use crate::invoke::{Header, Server};
use crate::up;

#[derive(Debug, clap::Args)]
pub(super) struct TargetOptions {
    #[command(flatten)]
    config: ConfigOption,

    #[command(flatten)]
    project: ProjectName,

    /// ID or name of a deployment
    #[arg(long, value_name = "ID|NAME")]
    deployment: Option<String>,

    /// Header of all requests to the server; prefer --header-env for secrets
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,

    /// Header of all requests to the server, with the value of an environment variable
    #[arg(long, value_name = "NAME: VARIABLE")]
    header_env: Vec<String>,

    #[command(flatten)]
    account: AccountOptions,
}

impl TargetOptions {
    /// The server at `url`, or else that of the options. The API key of the deployment service is never sent to it.
    pub(super) fn server(
        &self,
        env: &mut Env,
        runtime: &Runtime,
        url: Option<&str>,
    ) -> Result<Server, Error> {
        let headers = self.headers(env)?;
        if let Some(url) = url {
            return Ok(Server::new(url, &headers, false)?);
        }
        if let Some(which) = &self.deployment {
            let url = self.deployment_url(env, which)?;
            return Ok(Server::new(&url, &headers, false)?);
        }
        if let Some(url) = self.running_url(env, runtime)? {
            return Ok(Server::new(&url, &headers, true)?);
        }
        Err(Error::usage(
            "no server runs for the project here",
            "start one with `agentcli dev` or `agentcli up`, or pass its URL or --deployment",
        ))
    }

    /// The URL of the server of `dev`, else of `up`, for the project here.
    fn running_url(&self, env: &mut Env, runtime: &Runtime) -> Result<Option<String>, Error> {
        let config = self.config.path(env);
        let directory = real_directory(&env.directory.join(config));
        let is_named = self.project.project_name.is_some();
        if let Some(url) = dev::running_url(&directory).filter(|_| !is_named) {
            return Ok(Some(url));
        }
        let name = self.project.name(env, &directory)?;
        let engine = match engine(env, runtime) {
            Ok(engine) => engine,
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            // Without an engine, nothing runs on it.
            Err(_) => return Ok(None),
        };
        // A name that was not given on the command line may be another directory's project.
        let owner = (!is_named).then_some(directory.as_path());
        Ok(runtime.block_on(env.stop.unless_asked(up::running_url(&engine, &name, owner)))??)
    }

    fn deployment_url(&self, env: &mut Env, which: &str) -> Result<String, Error> {
        let mut settings = Settings::beside(env, self.config.config.as_deref());
        let mut service = Service::with(env, &self.account, &mut settings)?;
        let found = service.deployment(which)?;
        found.source_config.custom_url.ok_or_else(|| {
            let message = format!("the deployment `{}` has no URL", visible_line(&found.name));
            Error::usage(message, "see its status with `agentcli deploy get`")
        })
    }

    fn headers(&self, env: &Env) -> Result<Vec<Header>, Error> {
        let mut headers = Vec::new();
        for given in &self.header {
            let (name, value) = pair(given, "--header")?;
            headers.push(Header::new(name, value).map_err(|reason| wrong("--header", &reason))?);
        }
        for given in &self.header_env {
            let (name, variable) = pair(given, "--header-env")?;
            let value = env.named(variable).filter(|value| !value.is_empty());
            let unset = || format!("the environment variable {} is not set", visible_line(variable));
            let value = value.ok_or_else(|| wrong("--header-env", &unset()))?;
            headers.push(Header::new(name, &value).map_err(|reason| wrong("--header-env", &reason))?);
        }
        Ok(headers)
    }
}

/// The parts of `NAME: VALUE`.
fn pair<'a>(given: &'a str, option: &str) -> Result<(&'a str, &'a str), Error> {
    let (name, value) =
        given.split_once(':').ok_or_else(|| wrong(option, "there is no colon after the name"))?;
    Ok((name.trim(), value.trim()))
}

fn wrong(option: &str, reason: &str) -> Error {
    Error::misused(format!("cannot use {option}: {reason}"))
}
