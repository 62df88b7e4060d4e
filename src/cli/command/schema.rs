//! `agentcli schema`

use crate::cli::env::Env;
use crate::compiler::front::schema;
use crate::error::Error;

/// What the subcommands of `deploy` print with `--json`.
const DEPLOY: &str = include_str!("../../../schemas/deploy.schema.json");

/// What `deploy --json` prints.
const DEPLOY_EVENTS: &str = include_str!("../../../schemas/deploy-events.schema.json");

#[derive(Debug, clap::Args)]
pub(crate) struct Schema {
    /// Of what
    #[arg(value_enum, default_value_t)]
    of: Subject,
}

/// What there is a schema of.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Subject {
    /// The configuration
    #[default]
    Config,
    /// What the subcommands of `deploy` print with --json
    Deploy,
    /// An event of `deploy --json`
    DeployEvents,
}

impl Schema {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let text = match self.of {
            Subject::Config => schema::TEXT,
            Subject::Deploy => DEPLOY,
            Subject::DeployEvents => DEPLOY_EVENTS,
        };
        Ok(env.out.write(text)?)
    }
}
