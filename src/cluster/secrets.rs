//! The Secrets of a deployment. Keys are merged by name, and values reach kubectl on stdin alone.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::error::Kind;
use super::{Change, Cluster, Error, Record, labels, list, text};
use crate::api::wire::SecretReference;
use crate::compiler::words::listed;
use crate::kubernetes::Manifests;
use crate::live::FieldChange;

/// Random bytes of a password.
const PASSWORD: usize = 24;

/// The keys of a Secret with their values in base64. There is no `Debug`, since it holds values.
type Data = BTreeMap<String, String>;

/// The Secrets of a deployment as they are and as they are to be.
pub(super) struct Secrets {
    before: BTreeMap<String, Data>,
    after: BTreeMap<String, Data>,
}

impl Secrets {
    /// The Secrets that `manifests` refer to, with the values of `change`.
    ///
    /// # Errors
    ///
    /// A key is missing that the pods need, or the user may not read Secrets.
    pub(super) async fn read(
        cluster: &Cluster,
        change: &Change,
        manifests: &Manifests,
    ) -> Result<Self, Error> {
        cluster.check_foreign(change).await?;
        let [env, _, password] = names(&change.name);
        let given = change.containers.as_ref();
        let mut all: Vec<String> = manifests.secrets.keys().cloned().collect();
        all.extend(given.map(|(name, _)| name.clone()));
        all.push(env.clone());
        let before = cluster.secrets(&all).await?;
        let mut after = before.clone();
        if let Some((name, values)) = given {
            let values = values.iter().map(|(key, value)| (key.clone(), encoded(value.expose())));
            after.entry(name.clone()).or_default().extend(values);
        }
        if let Some(data) = after.get_mut(&env) {
            data.retain(|key, _| !matches!(change.secrets.get(key), Some(None)));
        }
        for (name, keys) in &manifests.secrets {
            let data = after.entry(name.clone()).or_default();
            for key in keys.keys() {
                if *name == password && !data.contains_key(key) {
                    data.insert(key.clone(), encoded(&random_password()?));
                } else if let Some(Some(value)) = change.secrets.get(key).filter(|_| *name == env) {
                    data.insert(key.clone(), encoded(value.expose()));
                }
            }
            let missing: Vec<&str> =
                keys.keys().filter(|key| !data.contains_key(*key)).map(String::as_str).collect();
            if !missing.is_empty() {
                let hint = if *name == env {
                    let (keys, options) = (missing.join(" "), cluster.options());
                    format!("set them: agentcli deploy secrets set {} {keys}{options}", change.name)
                } else {
                    "set the variables of the containers again with --resource".to_owned()
                };
                let message = format!("the Secret `{name}` lacks {}", listed(missing.into_iter()));
                return Err(Kind::Refused.error(message, hint));
            }
        }
        Ok(Self { before, after })
    }

    /// The keys that are new, gone or have another value.
    pub(super) fn changes(&self) -> Vec<FieldChange> {
        let none = Data::new();
        let of = |(name, after): (&String, &Data)| {
            let before = self.before.get(name).unwrap_or(&none);
            let action = if self.before.contains_key(name) { "update" } else { "create" };
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let changed = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
            let change = |key: &String| FieldChange {
                field: format!("data.{key}"),
                ..FieldChange::whole(action, format!("Secret {name}"))
            };
            changed.map(change).collect::<Vec<_>>()
        };
        self.after.iter().flat_map(of).collect()
    }

    /// The change back.
    pub(super) fn reversed(self) -> Self {
        Self { before: self.after, after: self.before }
    }

    /// Writes those that change, unless it is a `trial` of whether the cluster takes them.
    pub(super) async fn write(&self, cluster: &Cluster, deployment: &str, trial: bool) -> Result<(), Error> {
        let written = self.after.iter().filter(|(name, data)| self.before.get(*name) != Some(*data));
        let objects: Vec<Value> = written
            .map(|(name, data)| {
                json!({
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": { "name": name, "namespace": cluster.namespace, "labels": labels(deployment, "config") },
                    "type": "Opaque",
                    "data": data,
                })
            })
            .collect();
        match trial {
            _ if objects.is_empty() => Ok(()),
            true => cluster.kubectl.apply_without_effect(&list(&objects)).await.map(drop),
            false => cluster.kubectl.apply(&list(&objects)).await,
        }
    }
}

fn encoded(value: &str) -> String {
    BASE64_STANDARD.encode(value)
}

/// A password for a database that this program creates.
fn random_password() -> Result<String, Error> {
    let mut bytes = [0; PASSWORD];
    let random = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    random.map_err(|_| {
        Kind::Failed.error("the system has no random numbers", "create the Secret of the database yourself")
    })?;
    Ok(hex::encode(bytes))
}

/// The Secrets of a deployment: of its variables, of its containers, and of its database.
pub(super) fn names(deployment: &str) -> [String; 3] {
    ["env", "containers", "postgres"].map(|suffix| format!("{deployment}-{suffix}"))
}

impl Cluster {
    /// Refuses Secrets of others that are missing, or lack a key.
    async fn check_foreign(&self, change: &Change) -> Result<(), Error> {
        let Record { references, resources, .. } = &change.record;
        let pulls = resources.image_pull_secrets.iter().flatten().filter_map(|it| it.name.clone());
        let pulls: Vec<String> = pulls.collect();
        let referred = references.iter().filter_map(|it| it.secret_name.clone());
        let found = self.secrets(&pulls.iter().cloned().chain(referred).collect::<Vec<_>>()).await?;
        if let Some(name) = pulls.iter().find(|name| !found.contains_key(*name)) {
            let hint = format!("create it: kubectl create secret docker-registry {name} --docker-server=…");
            return Err(Kind::Refused.error(format!("there is no Secret `{name}` to pull images with"), hint));
        }
        for SecretReference { name, secret_name, secret_key, .. } in references {
            let [name, secret, key] =
                [name, secret_name, secret_key].map(|it| it.as_deref().unwrap_or_default());
            if !found.get(secret).is_some_and(|data| data.contains_key(key)) {
                let message = format!("the Secret `{secret}` has no key `{key}` for the variable `{name}`");
                return Err(Kind::Refused.error(message, "create it, or change the secret reference"));
            }
        }
        Ok(())
    }

    /// The data of these Secrets, of those that exist.
    async fn secrets(&self, names: &[String]) -> Result<BTreeMap<String, Data>, Error> {
        let found = self.secret_objects(names).await?;
        let data = |secret: &Value| serde_json::from_value(secret["data"].clone()).unwrap_or_default();
        Ok(found.iter().map(|secret| (text(secret, "/metadata/name").to_owned(), data(secret))).collect())
    }

    /// The Secrets of a deployment, with their managers; with `volumes` that of the database, too.
    pub(super) async fn own_secrets(&self, deployment: &str, volumes: bool) -> Result<Vec<Value>, Error> {
        let [env, containers, password] = names(deployment);
        let password = volumes.then_some(password);
        self.secret_objects(&[env, containers].into_iter().chain(password).collect::<Vec<_>>()).await
    }

    async fn secret_objects(&self, names: &[String]) -> Result<Vec<Value>, Error> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let arguments =
            [&["get", "secrets", "--ignore-not-found", "--show-managed-fields"], &names[..]].concat();
        self.kubectl.objects(&arguments, "").await
    }
}
