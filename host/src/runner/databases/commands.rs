//! What the host runs in the databases as its own user there.

use agentcli::engine::Engine;

use super::text::printed;
use super::{COMMAND_LIMIT, Checked, Databases, Script, database, postgres, redis};
use crate::lock::lock;
use crate::runner::Failure;

impl Databases {
    /// Creates the users of these deployments in Redis, or sets their passwords and permissions.
    pub(super) async fn set_redis_users(
        &self,
        engine: &Engine,
        host: &str,
        deployments: impl IntoIterator<Item = &str>,
    ) -> Result<(), Failure> {
        let user = |deployment: &str| (database(deployment), self.redis_password(deployment));
        let users: Vec<_> = deployments.into_iter().map(user).collect();
        if users.is_empty() || self.shares_redis_user {
            return Ok(());
        }
        self.run_redis(engine, host, &redis::set_users(&users)).await
    }

    /// Runs commands of Redis as the user of the host.
    pub(super) async fn run_redis(&self, engine: &Engine, host: &str, script: &str) -> Result<(), Failure> {
        let url = self.redis.as_ref();
        let command: Vec<String> =
            redis::COMMAND.map(str::to_owned).into_iter().chain(redis::connection(url)).collect();
        let mut environment = redis::variables(self.redis_host_password(host));
        environment.push(("SCRIPT".to_owned(), script.to_owned()));
        let ended =
            engine.run_in(&self.redis().container(host), &command, &environment, COMMAND_LIMIT).await?;
        let Some(reply) = redis::failure(&ended.output) else { return Ok(()) };
        let reason = format!("cannot prepare the Redis user of the deployment: {}", printed(reply));
        if url.is_some() && redis::is_refused(reply) {
            let hint = "permit the user in --redis-uri to use ACL SETUSER and ACL DELUSER, or pass --redis-shared-user";
            return Err(Failure::Refused(format!("{reason}; {hint}")));
        }
        *lock(&self.checked) = Checked::Never;
        Err(Failure::Unavailable(reason))
    }

    /// Takes from all roles what they need not have.
    pub(super) async fn protect(&self, engine: &Engine, host: &str) -> Result<(), Failure> {
        let script = Script { text: postgres::PROTECT, ..Script::default() };
        self.run(engine, host, script).await?;
        let protected = self.run(engine, host, Script { database: Some("template1"), ..script }).await;
        // Elsewhere, the user need not be permitted to connect to it.
        if self.postgres.is_some() { Ok(()) } else { protected }
    }

    /// Runs a script of psql as the user of the host.
    pub(super) async fn run(&self, engine: &Engine, host: &str, script: Script<'_>) -> Result<(), Failure> {
        let Script { text, database, name, verifier } = script;
        let mut environment = postgres::connection(self.postgres.as_ref(), database);
        let connections = self.connections.to_string();
        let values =
            [("SCRIPT", text), ("NAME", name), ("VERIFIER", verifier), ("CONNECTIONS", &connections)];
        environment.extend(values.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let (container, command) = (self.postgres().container(host), postgres::COMMAND.map(str::to_owned));
        let ended = engine.run_in(&container, &command, &environment, COMMAND_LIMIT).await?;
        let reason = || {
            let output = printed(&postgres::without_places(&ended.output));
            let output = if verifier.is_empty() { output } else { output.replace(verifier, "…") };
            format!("cannot prepare the database of the deployment: {output}")
        };
        match ended.code {
            0 => Ok(()),
            postgres::NO_CONNECTION => {
                *lock(&self.checked) = Checked::Never;
                Err(Failure::Unavailable(reason()))
            }
            _ if postgres::is_busy(&ended.output) => Err(Failure::Unavailable(reason())),
            _ => Err(Failure::Refused(reason())),
        }
    }
}
