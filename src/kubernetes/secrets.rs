//! Secrets: the variables of the server, those of other containers, and the password of the database.

use indexmap::IndexMap;
use serde::Serialize;

use super::container::{self, is_key};
use super::{Refused, Request, Scope};
use crate::api::wire::Redacted;
use crate::compiler::server::{cluster, setup};
use crate::compiler::words::listed;

/// Suffix of the name of the Secret with the variables of the server.
pub(super) const VARIABLES: &str = "env";
/// Suffix of the name of the Secret with the password of the database.
pub(super) const PASSWORD: &str = "postgres";
/// Its key.
pub(super) const PASSWORD_KEY: &str = "password";

/// The variables that are keys of the Secret of the server: without those that the manifests set.
pub(super) fn variables<'a>(
    request: &'a Request<'a>,
    notes: &mut Vec<String>,
) -> Result<IndexMap<&'a str, Option<&'a Redacted>>, Refused> {
    let is_referred = |name: &str| request.references.iter().any(|it| it.name.as_deref() == Some(name));
    let mut variables = IndexMap::new();
    for (name, value) in &request.variables {
        let name = name.as_str();
        let is_database = setup::DATABASE_VARIABLES.contains(&name) || name == setup::REDIS_URI.0;
        if !is_key(name) {
            let message = format!("the variable `{}` cannot be a key of a Secret", name.escape_debug());
            return Err(Refused::new(message, "use letters, digits, `.`, `_` and `-` in its name"));
        } else if is_referred(name) {
            notes.push(format!("ignoring `{name}` of `env`: a secret reference takes precedence"));
        } else if is_database {
            notes.push(format!(
                "ignoring `{name}` of `env`: the manifests run their own; use --secret-reference {name}=SECRET/KEY for \
                 another"
            ));
        } else if name == setup::PORT_VARIABLE {
            notes.push(format!("ignoring `{name}` of `env`: the manifests set it"));
        } else if name != cluster::DRAIN_VARIABLE {
            variables.insert(name, value.as_ref());
        }
    }
    Ok(variables)
}

/// A Secret that is written. It has no `Debug`, since it holds values.
#[derive(Serialize)]
pub(super) struct Secret {
    name: String,
    data: IndexMap<String, String>,
}

/// Secrets by name: their keys with the values that are known.
pub(super) type Secrets = IndexMap<String, IndexMap<String, Option<Redacted>>>;

/// The Secrets that the objects refer to, except those of the user.
pub(super) fn secrets(scope: &Scope<'_>) -> Result<Secrets, Refused> {
    let containers = container::values(scope.request)?;
    let of_server = scope.variables.iter().map(|(name, value)| ((*name).to_owned(), value.cloned()));
    let of_containers = containers.into_iter().map(|(key, value)| (key, Some(value)));
    let password = scope.has_database.then(|| (PASSWORD_KEY.to_owned(), None));
    let all: [(&str, IndexMap<_, _>); 3] = [
        (VARIABLES, of_server.collect()),
        (container::SECRET, of_containers.collect()),
        (PASSWORD, password.into_iter().collect()),
    ];
    let all = all.into_iter().filter(|(_, values)| !values.is_empty());
    Ok(all.map(|(suffix, values)| (scope.request.object(suffix), values)).collect())
}

/// The Secrets with values, if they are written.
pub(super) fn written(scope: &Scope<'_>, secrets: &Secrets, notes: &mut Vec<String>) -> Vec<Secret> {
    let password = scope.request.object(PASSWORD);
    let written = secrets.iter().filter(|(name, _)| scope.request.writes_secrets && **name != password);
    written.map(|(name, values)| secret(name, values, notes)).collect()
}

/// What the cluster has to have before, as sentences.
pub(super) fn requirements(scope: &Scope<'_>, secrets: &Secrets) -> Vec<String> {
    let mut requirements = Vec::new();
    let password = scope.request.object(PASSWORD);
    for (name, values) in secrets {
        if *name == password {
            requirements.push(format!(
                "a Secret {name} with the password of the database: kubectl create secret generic {name} \
                 --from-literal={PASSWORD_KEY}=\"$(openssl rand -hex 24)\""
            ));
        } else if !scope.request.writes_secrets {
            let keys = listed(values.keys().map(String::as_str));
            requirements.push(format!("a Secret {name} with the keys {keys}; --with-secrets writes it"));
        }
    }
    if !has_key(scope) {
        requirements.push(format!(
            "a licence or API key of the server, if it asks for one: --secret-reference {}=SECRET/KEY",
            setup::KEYS[1].variable
        ));
    }
    requirements.extend(
        scope
            .request
            .resources
            .image_pull_secrets
            .iter()
            .flatten()
            .filter_map(|secret| Some(format!("a Secret {} that pulls images", secret.name.as_deref()?))),
    );
    requirements
}

/// Whether a variable or a reference is a key that the server needs, if it needs any.
pub(super) fn has_key(scope: &Scope<'_>) -> bool {
    let keys = scope.request.server.keys;
    let references = scope.request.references.iter().filter_map(|it| it.name.as_deref());
    let mut names = scope.variables.keys().copied().chain(references);
    keys.is_empty()
        || names.any(|name| keys.iter().any(|key| key.variable == name || key.legacy == Some(name)))
}

fn secret(name: &str, values: &IndexMap<String, Option<Redacted>>, notes: &mut Vec<String>) -> Secret {
    let mut data = IndexMap::new();
    for (key, value) in values {
        match value {
            Some(value) => _ = data.insert(key.clone(), value.expose().to_owned()),
            None => notes.push(format!("the Secret {name} lacks `{key}`, whose value is not known")),
        }
    }
    Secret { name: name.to_owned(), data }
}
