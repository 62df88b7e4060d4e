//! Names of new deployments.

use super::answer::Refusal;
use agentcli::api::wire::{Agent, AgentEnvironment, DeploymentCreation};

/// Maximum length of the name of a deployment, which becomes part of a host name.
const NAME_LENGTH: usize = 63;

/// The name of a new deployment. Names are parts of host names and image names; that of an agent's is made from the ID of
/// the deployment.
pub(super) fn of_new(asked: &DeploymentCreation, id: &str) -> Result<String, Refusal> {
    let name = match (&asked.name, &asked.agent) {
        (Some(name), None) => name,
        (None, None) => return Err(Refusal::invalid(&["body", "name"], "Is required.", "missing")),
        (Some(_), Some(_)) => return Err(Refusal::bad("A deployment has either a name or an agent.")),
        (None, Some(agent)) => return agent_name(agent, id),
    };
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_valid = (1..=NAME_LENGTH).contains(&name.len())
        && name.chars().all(|c| is_inner(c) || c == '-')
        && name.starts_with(is_inner)
        && name.ends_with(is_inner);
    if is_valid {
        return Ok(name.clone());
    }
    Err(Refusal::bad(format!(
        "A name has 1 to {NAME_LENGTH} lowercase letters, digits and hyphens, no hyphen first or last."
    )))
}

fn agent_name(agent: &Agent, id: &str) -> Result<String, Refusal> {
    if agent.agent_id.is_empty() {
        return Err(Refusal::bad("agent.agent_id must not be empty."));
    }
    if let AgentEnvironment::Other(_) = agent.environment {
        let msg = format!("Must be one of {}.", AgentEnvironment::WORDS.join(", "));
        return Err(Refusal::invalid(&["body", "agent", "environment"], msg, "literal_error"));
    }
    Ok(format!("agent-{id}"))
}
