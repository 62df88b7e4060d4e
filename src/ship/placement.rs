//! The cluster of a new deployment from an external image: the listener, its namespace, and the secrets that pull the image.

use super::event::Hooks;
use super::request::Destination;
use super::shipment::Shipment;
use super::{Error, Placement};
use crate::api;
use crate::api::wire::{ImagePullSecret, Listener, ListenerConfig, ResourceSpec, SourceConfig};

/// Maximum number of listeners in a message.
const SHOWN: usize = 10;

impl<H: Hooks> Shipment<'_, H> {
    /// The configuration of a new deployment from an external image; empty if the deployment exists.
    pub(super) async fn placed(&mut self, destination: &Destination) -> Result<SourceConfig, Error> {
        if destination.existing.is_some() {
            return Ok(SourceConfig::default());
        }
        let secrets = &self.request.placement.image_pull_secrets;
        let secret = |name: &String| ImagePullSecret { name: Some(name.clone()), ..Default::default() };
        let resources = ResourceSpec {
            image_pull_secrets: (!secrets.is_empty()).then(|| secrets.iter().map(secret).collect()),
            ..Default::default()
        };
        let config = SourceConfig { resource_spec: Some(resources), ..Default::default() };
        let Some(listener) = self.listener().await? else { return Ok(config) };
        let namespace = namespace(&listener, self.request.placement.namespace.as_deref())?;
        Ok(SourceConfig {
            listener_config: Some(ListenerConfig {
                cluster_namespace: Some(namespace),
                ..Default::default()
            }),
            listener_id: Some(listener.id),
            ..config
        })
    }

    /// The requested listener, or else the only one. Without a request, only the public service is asked for its listeners:
    /// others do not need any.
    async fn listener(&mut self) -> Result<Option<Listener>, Error> {
        let Placement { listener_id, namespace, .. } = &self.request.placement;
        if let Some(id) = listener_id {
            return match self.call(async |client| client.listener(id).await).await {
                Err(Error::Api(
                    api::Error::Invalid { .. }
                    | api::Error::NotFound { .. }
                    | api::Error::Rejected { status: 422, .. },
                )) => Err(refused(format!("there is no listener `{id}`"), &self.listeners().await?)),
                found => found.map(Some),
            };
        }
        if namespace.is_none() && !self.service.is_public {
            return Ok(None);
        }
        let mut all = self.listeners().await?;
        match (all.pop(), all.is_empty(), namespace) {
            (None, _, None) => Ok(None),
            (None, _, Some(namespace)) => {
                Err(refused(format!("there is no listener for the namespace `{namespace}`"), &all))
            }
            (Some(only), true, _) => Ok(Some(only)),
            (Some(last), false, _) => {
                all.push(last);
                Err(refused("there are several listeners".to_owned(), &all))
            }
        }
    }

    async fn listeners(&mut self) -> Result<Vec<Listener>, Error> {
        self.call(async |client| client.listeners().await).await
    }
}

/// The requested namespace of the listener, or else its only one.
fn namespace(listener: &Listener, wanted: Option<&str>) -> Result<String, Error> {
    let (id, all) = (&listener.id, listener.namespaces());
    let refused = |message: String, hint: String| Err(Error::Refused { message, hint });
    match (wanted, all) {
        (_, []) => refused(
            format!("the listener `{id}` has no namespaces"),
            "add one to the listener, or pass another --listener-id".to_owned(),
        ),
        (None, [only]) => Ok(only.clone()),
        (Some(wanted), all) if all.iter().any(|it| it == wanted) => Ok(wanted.to_owned()),
        (None, all) => refused(
            format!("the listener `{id}` has several namespaces"),
            format!("pass --k8s-namespace with one of {}", all.join(", ")),
        ),
        (Some(wanted), all) => refused(
            format!("the listener `{id}` has no namespace `{wanted}`"),
            format!("pass --k8s-namespace with one of {}", all.join(", ")),
        ),
    }
}

/// An error about the choice of a listener from `all`.
fn refused(message: String, all: &[Listener]) -> Error {
    let label = |it: &Listener| match &it.compute_id {
        Some(cluster) => format!("{} ({cluster})", it.id),
        None => it.id.clone(),
    };
    let labels: Vec<String> = all.iter().take(SHOWN).map(label).collect();
    let hint = match (labels.is_empty(), all.len() > SHOWN) {
        (true, _) => "the workspace has no listeners; add one to your cluster first".to_owned(),
        (false, false) => format!("pass --listener-id with one of {}", labels.join(", ")),
        (false, true) => format!(
            "pass --listener-id with one of {}, or of those that `agentcli deploy listeners list` shows",
            labels.join(", ")
        ),
    };
    Error::Refused { message, hint }
}
