//! The Secrets of a deployment. Keys are merged by name, and values reach kubectl on stdin alone.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::change::Change;
use super::{Cluster, Error, labels, list, text};
use crate::api::wire::Redacted;
use crate::compiler::words::listed;
use crate::kubernetes::Manifests;

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
        let record = &change.record;
        let referred = record.references.iter().filter_map(|it| it.secret_name.clone());
        let pulls = record.resources.image_pull_secrets.iter().flatten().filter_map(|it| it.name.clone());
        let (referred, pulls): (Vec<_>, Vec<_>) = (referred.collect(), pulls.collect());
        let containers = change.containers.as_ref();
        let own = manifests.secrets.keys().cloned().chain(containers.map(|(name, _)| name.clone()));
        let env = format!("{}-env", change.name);
        let mut names: Vec<String> = own.chain([env.clone()]).chain(referred).chain(pulls.clone()).collect();
        names.sort();
        names.dedup();
        let mut found = cluster.secrets(&names).await?;
        if let Some(name) = pulls.iter().find(|name| !found.contains_key(*name)) {
            let hint = format!("create it: kubectl create secret docker-registry {name} --docker-server=…");
            return Err(Error::refused(format!("there is no Secret `{name}` to pull images with"), hint));
        }
        for it in &record.references {
            let [name, secret, key] =
                [&it.name, &it.secret_name, &it.secret_key].map(|it| it.as_deref().unwrap_or_default());
            if !found.get(secret).is_some_and(|data| data.contains_key(key)) {
                let message = format!(
                    "the Secret `{secret}` has no key `{key}`, which the variable `{name}` is taken from"
                );
                return Err(Error::refused(message, "create it, or change the secret reference"));
            }
        }
        let ours = |name: &String| {
            manifests.secrets.contains_key(name)
                || *name == env
                || containers.is_some_and(|(it, _)| it == name)
        };
        found.retain(|name, _| ours(name));
        let before = found.clone();
        let mut after = found;
        if let Some((name, values)) = containers {
            set(after.entry(name.clone()).or_default(), values);
        }
        for (name, keys) in &manifests.secrets {
            let data = after.entry(name.clone()).or_default();
            for key in keys.keys() {
                if let Some(Some(value)) = change.secrets.get(key).filter(|_| *name == env) {
                    data.insert(key.clone(), encoded(value.expose()));
                } else if *name != env
                    && !data.contains_key(key)
                    && containers.is_none_or(|(it, _)| it != name)
                {
                    data.insert(key.clone(), encoded(&password()?));
                }
            }
        }
        if let Some(data) = after.get_mut(&env) {
            data.retain(|key, _| !matches!(change.secrets.get(key), Some(None)));
            let keys = manifests.secrets.get(&env).into_iter().flat_map(IndexMap::keys);
            let missing: Vec<&str> =
                keys.map(String::as_str).filter(|key| !data.contains_key(*key)).collect();
            if !missing.is_empty() {
                let message = format!("the Secret `{env}` lacks {}", listed(missing.iter().copied()));
                return Err(Error::refused(
                    message,
                    format!(
                        "set them: agentcli deploy secrets set {} {} --to kubernetes",
                        change.name,
                        missing.join(" ")
                    ),
                ));
            }
        }
        Ok(Self { before, after })
    }

    /// Whether a value, a key or a whole Secret is new or gone.
    pub(super) fn change(&self) -> bool {
        self.changed().next().is_some()
    }

    /// The names of the Secrets that change, whether they are new, and the keys that do.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&str, bool, Vec<&str>)> {
        self.after.iter().filter_map(|(name, after)| {
            let before = self.before.get(name);
            let value = |key: &String| before.and_then(|before| before.get(key));
            let all = after
                .keys()
                .chain(before.into_iter().flat_map(Data::keys).filter(|key| !after.contains_key(*key)));
            let keys: Vec<&str> =
                all.filter(|key| value(key) != after.get(*key)).map(String::as_str).collect();
            (before.is_none() || !keys.is_empty()).then_some((name.as_str(), before.is_none(), keys))
        })
    }

    /// Writes those that change.
    pub(super) async fn write(&self, cluster: &Cluster, deployment: &str) -> Result<(), Error> {
        self.put(cluster, deployment, &self.after).await
    }

    /// Writes what was there before.
    pub(super) async fn restore(&self, cluster: &Cluster, deployment: &str) -> Result<(), Error> {
        self.put(cluster, deployment, &self.before).await
    }

    async fn put(
        &self,
        cluster: &Cluster,
        deployment: &str,
        all: &BTreeMap<String, Data>,
    ) -> Result<(), Error> {
        let names: Vec<&str> = self.changed().map(|(name, ..)| name).collect();
        let objects: Vec<Value> = all
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
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
        if objects.is_empty() { Ok(()) } else { cluster.kubectl.apply(&list(&objects)).await }
    }
}

fn set(data: &mut Data, values: &IndexMap<String, Redacted>) {
    data.extend(values.iter().map(|(key, value)| (key.clone(), encoded(value.expose()))));
}

fn encoded(value: &str) -> String {
    BASE64_STANDARD.encode(value)
}

/// A password for a database that this program creates.
fn password() -> Result<String, Error> {
    let mut bytes = [0; PASSWORD];
    let random = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    random.map_err(|_| {
        Error::failed("the system has no random numbers", "create the Secret of the database yourself")
    })?;
    Ok(hex::encode(bytes))
}

impl Cluster {
    /// The data of these Secrets, of those that exist.
    async fn secrets(&self, names: &[String]) -> Result<BTreeMap<String, Data>, Error> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let arguments = [&["get", "secrets", "--ignore-not-found"], &names[..]].concat();
        let found = self.kubectl.objects(&arguments, "").await?;
        let data = |secret: &Value| serde_json::from_value(secret["data"].clone()).unwrap_or_default();
        Ok(found.iter().map(|secret| (text(secret, "/metadata/name").to_owned(), data(secret))).collect())
    }
}
