//! `agentcli schema`

use crate::cli::env::Env;
use crate::compiler::schema;
use crate::error::Error;

/// Print the JSON Schema of the configuration
///
/// Editors complete and explain every key with it: save it beside the configuration and name it in "$schema".
#[derive(Debug, clap::Args)]
pub(crate) struct Schema {}

impl Schema {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        Ok(env.out.write(schema::TEXT)?)
    }
}
