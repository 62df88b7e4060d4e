//! `agentcli schema`

use crate::cli::env::Env;
use crate::compiler::front::schema;
use crate::error::Error;

/// Schema of the output of `deploy` subcommands with `--json`.
const DEPLOY: &str = include_str!("../../../schemas/deploy.schema.json");

/// Schema of the output of `deploy --json`.
const DEPLOY_EVENTS: &str = include_str!("../../../schemas/deploy-events.schema.json");

/// Schema of the output of `doctor --json`.
const DOCTOR: &str = include_str!("../../../schemas/doctor.schema.json");

/// Schema of a line of `graph --format json`.
const GRAPH: &str = include_str!("../../../schemas/graph.schema.json");

#[derive(Debug, clap::Args)]
pub(crate) struct Schema {
    /// Subject of the schema
    #[arg(value_enum, default_value_t)]
    of: Subject,
}

/// Subject of a schema.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Subject {
    /// The configuration
    #[default]
    Config,
    /// Output of `deploy` subcommands with --json
    Deploy,
    /// Events of `deploy --json`
    DeployEvents,
    /// Output of `doctor --json`
    Doctor,
    /// Line of `graph --format json`
    Graph,
}

impl Schema {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let text = match self.of {
            Subject::Config => schema::TEXT,
            Subject::Deploy => DEPLOY,
            Subject::DeployEvents => DEPLOY_EVENTS,
            Subject::Doctor => DOCTOR,
            Subject::Graph => GRAPH,
        };
        Ok(env.out.write(text)?)
    }
}
