//! The options that select the deployment of an agent.

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};

use crate::api::wire::{Agent, AgentEnvironment};
use crate::cli::env::Env;
use crate::cli::settings::{Origin, Settings};
use crate::compiler::server::hosted;
use crate::error::Error;

/// Variable of the agent's ID.
const ID: &str = "PLATFORM_AGENT_ID";
/// Variable of its environment.
const ENVIRONMENT: &str = "PLATFORM_AGENT_ENVIRONMENT";

/// The agent and its environment.
#[derive(Debug, clap::Args)]
pub(super) struct AgentOptions {
    /// ID of an agent, for services that deploy agents by environment [env or .env: PLATFORM_AGENT_ID]
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new(), hide_short_help = true)]
    agent_id: Option<String>,

    /// Environment of the agent [env or .env: PLATFORM_AGENT_ENVIRONMENT]
    #[arg(long, value_name = "ENVIRONMENT", value_parser = PossibleValuesParser::new(AgentEnvironment::WORDS), hide_short_help = true)]
    agent_environment: Option<String>,
}

impl AgentOptions {
    /// The agent, and where its ID was set: by the options, else in the environment, else in `.env`.
    ///
    /// # Errors
    ///
    /// Only one of the two is set, or the environment is unknown.
    pub(super) fn agent(&self, env: &Env, settings: &Settings) -> Result<Option<(Agent, Origin)>, Error> {
        let set = |option: &Option<String>, name, variables: [&str; 2]| match option {
            Some(given) => Some((given.clone(), Origin::Option(name))),
            None => {
                let found = variables.iter().find_map(|variable| settings.find(env, &[variable]));
                found.map(|setting| (setting.value.expose().to_owned(), setting.origin))
            }
        };
        let id = set(&self.agent_id, "--agent-id", [ID, hosted::AGENT_ID]);
        let environment =
            set(&self.agent_environment, "--agent-environment", [ENVIRONMENT, hosted::AGENT_ENVIRONMENT]);
        let words = AgentEnvironment::WORDS.join(", ");
        match (id, environment) {
            (None, None) => Ok(None),
            (Some((id, origin)), Some((environment, at))) => match environment.into() {
                AgentEnvironment::Other(word) => Err(Error::usage(
                    format!("`{word}` is not an environment of agents ({at})"),
                    format!("use one of {words}"),
                )),
                environment => {
                    let agent = Agent { agent_id: id, environment, other: Default::default() };
                    Ok(Some((agent, origin)))
                }
            },
            (Some((_, origin)), None) => Err(Error::usage(
                format!("an agent is set ({origin}), but not its environment"),
                format!("pass --agent-environment with one of {words}, or set {ENVIRONMENT}"),
            )),
            (None, Some((_, origin))) => Err(Error::usage(
                format!("the environment of an agent is set ({origin}), but not the agent"),
                format!("pass --agent-id, or set {ID}"),
            )),
        }
    }
}
