//! What the nodes tell about a cluster: its platforms, and whether it is on this machine and takes images without a registry.

use std::collections::BTreeSet;

use serde_json::Value;

use super::error::Kind;
use super::{Cluster, Error, text};
use crate::child::output_and_errors;

/// The nodes of a cluster, as far as the user may see them.
#[derive(Debug, Default)]
pub struct Nodes {
    /// Their platforms, such as `linux/amd64`; empty if the user may not see nodes.
    pub platforms: BTreeSet<String>,
    /// The words of the command that loads images into them, which the image follows.
    loader: Option<Vec<String>>,
}

impl Nodes {
    fn new(nodes: &[Value]) -> Self {
        let platform = |node: &Value| {
            let part = |name: &str| text(node, &format!("/status/nodeInfo/{name}")).to_owned();
            format!("{}/{}", part("operatingSystem"), part("architecture"))
        };
        Self { platforms: nodes.iter().map(platform).collect(), loader: nodes.iter().find_map(loader) }
    }

    /// Whether images need no registry.
    pub fn take_images(&self) -> bool {
        self.loader.is_some()
    }
}

/// The command of kind, k3d or minikube, whose clusters have nodes of their kind.
fn loader(node: &Value) -> Option<Vec<String>> {
    let words = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect());
    let provider = text(node, "/spec/providerID");
    if let Some(profile) = node["metadata"]["labels"]["minikube.k8s.io/name"].as_str() {
        return words(&["minikube", "--profile", profile, "image", "load"]);
    }
    // kind://docker/CLUSTER/NODE
    if let Some(rest) = provider.strip_prefix("kind://") {
        return words(&["kind", "load", "docker-image", "--name", rest.split('/').nth(1)?]);
    }
    // k3s://k3d-CLUSTER-server-0
    let name = provider.strip_prefix("k3s://k3d-")?;
    let end = name.rfind("-server-").or_else(|| name.rfind("-agent-"))?;
    words(&["k3d", "image", "import", "--cluster", &name[..end]])
}

impl Cluster {
    /// The nodes.
    ///
    /// # Errors
    ///
    /// The cluster cannot be reached.
    pub async fn nodes(&self) -> Result<Nodes, Error> {
        let found = self.kubectl.objects(&["get", "nodes"], "").await;
        Ok(Nodes::new(&found.or_else(Error::unless_denied)?))
    }

    /// Loads an image of the container engine into the nodes.
    pub(super) async fn load(&self, nodes: &Nodes, image: &str) -> Result<(), Error> {
        let Some((program, words)) = nodes.loader.as_ref().and_then(|words| words.split_first()) else {
            return Ok(());
        };
        let failed = |reason: String| {
            let message = format!("cannot load `{image}` into the cluster with {program}: {reason}");
            Kind::Failed.error(message, "install it, or pass --push-to with a registry")
        };
        let command = self.kubectl.tool(program).arguments(words).argument(image);
        let loading = output_and_errors(&command, "");
        let loaded = self.kubectl.stop.unless_asked(loading).await?;
        let (status, _, errors) = loaded.map_err(|error| failed(error.to_string()))?;
        let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
        if status.is_success() { Ok(()) } else { Err(failed(last.trim().to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_of_local_clusters_tell_how_images_are_loaded() {
        let command = |node: Value| Nodes::new(&[node]).loader.map(|words| words.join(" "));
        let provider = |id: &str| command(json!({ "spec": { "providerID": id } }));
        assert_eq!(
            provider("kind://docker/dev/dev-control-plane").as_deref(),
            Some("kind load docker-image --name dev")
        );
        assert_eq!(
            provider("k3s://k3d-my-server-server-0").as_deref(),
            Some("k3d image import --cluster my-server")
        );
        assert_eq!(provider("k3s://host"), None);
        assert_eq!(provider("aws:///eu-central-1a/i-1"), None);
        let minikube = json!({ "metadata": { "labels": { "minikube.k8s.io/name": "minikube" } } });
        assert_eq!(command(minikube).as_deref(), Some("minikube --profile minikube image load"));
    }
}
