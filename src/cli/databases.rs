//! The databases of a server on this machine.

use std::path::Path;

use super::console::{note, warn};
use super::env::Env;
use super::setup::{Database, POSTGRES, ProjectName, engine, redacted};
use crate::api::wire::Redacted;
use crate::compiler::server::local::DATABASES;
use crate::compiler::server::product::Product;
use crate::error::Error;
use crate::up;

/// The variables with their addresses.
const VARIABLES: [&str; 2] = ["AGENTCLI_POSTGRES_URI", "AGENTCLI_REDIS_URI"];

/// The database of `--redis-uri`.
const REDIS: Database = Database {
    option: "--redis-uri",
    name: "Redis",
    schemes: &["redis://", "rediss://", "unix://"],
    form: "redis://user:password@host:6379/0",
};

/// The options of `dev` for its databases.
#[derive(Debug, clap::Args)]
pub(super) struct DatabaseOptions {
    /// PostgreSQL database with pgvector for the server; prefer the environment, since other users can see command-line arguments [env: AGENTCLI_POSTGRES_URI] [default: that of `up`]
    #[arg(long, value_name = "URI", value_parser = redacted, hide_short_help = true)]
    postgres_uri: Option<Redacted>,

    /// Redis database for the server [env: AGENTCLI_REDIS_URI] [default: that of `up`]
    #[arg(long, value_name = "URI", value_parser = redacted, hide_short_help = true)]
    redis_uri: Option<Redacted>,

    #[command(flatten)]
    project: ProjectName,
}

impl DatabaseOptions {
    /// The variables of `server` with the addresses: from the options, else from the environment, else those of the setup
    /// that `up` runs for the project in `directory`.
    ///
    /// # Errors
    ///
    /// There are none, or they are no addresses.
    pub(super) fn variables(
        &self,
        env: &mut Env,
        server: &Product,
        directory: &Path,
    ) -> Result<Vec<(String, Option<String>)>, Error> {
        let given = |option: &Option<Redacted>, variable| {
            option.as_ref().map(|uri| uri.expose().to_owned()).or_else(|| env.variable(variable))
        };
        let uris = match (given(&self.postgres_uri, VARIABLES[0]), given(&self.redis_uri, VARIABLES[1])) {
            (Some(postgres), Some(redis)) => [postgres, redis],
            (None, None) => self.of_setup(env, server, directory)?,
            _ => {
                return Err(Error::usage(
                    "one of two databases is given",
                    "pass --postgres-uri and --redis-uri, or neither for those of `agentcli up`",
                ));
            }
        };
        POSTGRES.check(&uris[0])?;
        REDIS.check(&uris[1])?;
        let names = DATABASES.map(str::to_owned).into_iter();
        Ok(names.zip(uris.map(Some)).collect())
    }

    /// The addresses of the databases in containers of this machine.
    fn of_setup(&self, env: &mut Env, server: &Product, directory: &Path) -> Result<[String; 2], Error> {
        let name = self.project.name(env, directory)?;
        let runtime = env.runtime()?;
        let engine = engine(env, &runtime)?;
        let find = up::databases(&engine, server, &name, directory);
        let found = if engine.is_here() { runtime.block_on(env.stop.unless_asked(find))?? } else { None };
        let up::Databases { postgres, redis, is_served } = found.ok_or_else(|| {
            let name = server.name;
            Error::usage(
                format!("there are no databases for the server `{name}`"),
                format!(
                    "start some with `agentcli up --server {name}`, or pass --postgres-uri and --redis-uri"
                ),
            )
        })?;
        note(env, &format!("the databases are those of the running setup `{name}`"));
        if is_served {
            warn(
                env,
                "the server of `up` also takes runs from these databases, and runs them with its code: stop it",
            );
        }
        Ok([postgres, redis])
    }
}
