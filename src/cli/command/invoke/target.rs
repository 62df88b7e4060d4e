//! The server that `invoke` runs graphs of.

use crate::cli::account::AccountOptions;
use crate::cli::check::ConfigOption;
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::service::Service;
use crate::cli::setup::real_directory;
use crate::dev;
use crate::error::Error;
use crate::invoke::{Header, Server};

#[derive(Debug, clap::Args)]
pub(super) struct TargetOptions {
    #[command(flatten)]
    config: ConfigOption,

    /// URL of the server [default: that of `dev` for the project here]
    #[arg(long, value_name = "URL", conflicts_with = "deployment")]
    url: Option<String>,

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
    /// The server. The API key of the deployment service is never sent to it.
    pub(super) fn server(&self, env: &mut Env) -> Result<Server, Error> {
        let headers = self.headers(env)?;
        if let Some(url) = &self.url {
            return Ok(Server::new(url, &headers, false)?);
        }
        if let Some(which) = &self.deployment {
            let url = self.deployment_url(env, which)?;
            return Ok(Server::new(&url, &headers, false)?);
        }
        let config = self.config.path(env);
        match dev::running_url(&real_directory(&env.directory.join(config))) {
            Some(url) => Ok(Server::new(&url, &headers, true)?),
            None => Err(Error::usage(
                "no server runs for the project here",
                "start one with `agentcli dev`, or pass --url or --deployment",
            )),
        }
    }

    fn deployment_url(&self, env: &mut Env, which: &str) -> Result<String, Error> {
        let mut service = Service::new(env, &self.account, self.config.config.as_deref())?;
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
