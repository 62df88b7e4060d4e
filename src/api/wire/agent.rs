//! Agents, which have a deployment in each of their environments. The specification does not describe them; fields are those
//! of the public service.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AgentEnvironment, Object};

/// An agent in one of its environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its ID.
    pub agent_id: String,
    /// The environment.
    pub environment: AgentEnvironment,
    /// Unknown fields.
    #[serde(flatten)]
    pub other: Object,
}

impl Agent {
    /// Whether the `agent` of a deployment is another one. Fields that it lacks are not compared.
    pub(in crate::api) fn is_other(&self, agent: &Value) -> bool {
        let differs = |field: &str, own: &str| agent[field].as_str().is_some_and(|it| it != own);
        differs("agent_id", &self.agent_id) || differs("environment", self.environment.word())
    }
}
