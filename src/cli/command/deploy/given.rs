//! Values of secrets, as options and files give them.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::api::wire::{Object, Redacted, Secret};
use crate::cli::env::Env;
use crate::cli::variables::{self, Reserved};
use crate::compiler::manifests::dotenv;
use crate::error::Error;
use crate::project;

/// The path that means stdin.
pub(super) const STDIN: &str = "-";

/// The option of a file with secrets.
#[derive(Debug, clap::Args)]
pub(super) struct SecretsFrom {
    /// Set secrets from a file in .env format, except empty ones and those that the service sets itself; - reads stdin
    #[arg(long, value_name = "FILE")]
    secrets_from: Option<PathBuf>,
}

impl SecretsFrom {
    /// The secrets of the file, then `given`, as NAME=VALUE or the NAME of a variable of the environment; a later one replaces
    /// an earlier one of the same name.
    pub(super) fn with<'s>(
        &self,
        env: &mut Env,
        reserved: Reserved,
        given: impl IntoIterator<Item = &'s Redacted>,
    ) -> Result<Vec<Secret>, Error> {
        let mut secrets: IndexMap<String, String> = IndexMap::new();
        if let Some(path) = &self.secrets_from {
            let text = text(env, path)?;
            let found = dotenv::parse(&text, |name| env.named(name));
            if let Some(mistake) = found.mistakes.first() {
                let place = format!("{}:{}", path.display(), mistake.line);
                return Err(Error::misused(format!("{place}: {}", mistake.why)));
            }
            secrets.extend(variables::deployable(env, reserved, found.variables));
        }
        for secret in given {
            let (name, value) = match secret.expose().split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (secret.expose(), environment_value(env, secret.expose())?),
            };
            if name.is_empty() {
                return Err(Error::usage("a secret without a name", "write it as NAME=VALUE"));
            }
            secrets.insert(name.to_owned(), value);
        }
        let secret = |(name, value)| Secret { name, value: Some(Redacted::new(value)), other: Object::new() };
        Ok(secrets.into_iter().map(secret).collect())
    }

    /// Whether it reads stdin.
    pub(super) fn reads_stdin(&self) -> bool {
        self.secrets_from.as_deref() == Some(Path::new(STDIN))
    }
}

/// The text of a file, or of stdin.
pub(super) fn text(env: &mut Env, path: &Path) -> Result<String, Error> {
    let text = if path == Path::new(STDIN) {
        let mut text = String::new();
        env.input.read_to_string(&mut text).ok().map(|_| text)
    } else {
        project::text(&env.directory.join(path))
    };
    text.ok_or_else(|| Error::misused(format!("cannot read `{}` as text", path.display())))
}

/// The value of an environment variable. An invalid name is not shown: it may be a value.
fn environment_value(env: &Env, name: &str) -> Result<String, Error> {
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let shown = if is_name { format!("the secret `{name}`") } else { "a secret".to_owned() };
    let hint = "write it as NAME=VALUE, or set the environment variable NAME";
    let value = env.named(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| Error::usage(format!("{shown} has no value"), hint))
}
