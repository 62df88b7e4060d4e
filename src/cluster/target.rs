//! The cluster that a command is about.

use std::path::Path;

use serde_json::Value;

use super::error::Kind;
use super::kubectl::Kubectl;
use super::{Error, text};
use crate::compiler::back::emit::dockerfile::shell_word;
use crate::live::Stop;

/// Starts of the names of contexts of clusters on this machine.
const LOCAL: &[&str] =
    &["colima", "docker-desktop", "k3d-", "kind-", "microk8s", "minikube", "orbstack", "rancher-desktop"];

/// The place of a deployment, as options give it.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Context of kubectl [default: the current one].
    pub context: Option<String>,
    /// Namespace [default: that of the context].
    pub namespace: Option<String>,
}

/// A namespace of a cluster, as its user sees it.
pub struct Cluster {
    /// The context of kubectl.
    pub context: String,
    /// The namespace.
    pub namespace: String,
    /// Whether the context is one of a cluster on this machine.
    pub is_local: bool,
    pub(super) kubectl: Kubectl,
}

impl Cluster {
    /// Finds the context and the namespace in the configuration of kubectl. The cluster is not called.
    ///
    /// # Errors
    ///
    /// kubectl is missing, or there is no such context.
    pub async fn find(
        target: &Target,
        directory: &Path,
        variables: &[(String, String)],
        stop: Stop,
    ) -> Result<Self, Error> {
        let kubectl = Kubectl::new(directory, variables, stop);
        let found = kubectl.objects(&["config", "view"], "").await?;
        let config = found.into_iter().next().unwrap_or_default();
        let context = target.context.clone().unwrap_or_else(|| text(&config, "/current-context").to_owned());
        let contexts = config["contexts"].as_array().map_or(&[][..], Vec::as_slice);
        let found = contexts.iter().find(|it| it["name"] == *context).ok_or_else(|| {
            let names: Vec<&str> = contexts.iter().filter_map(|it| it["name"].as_str()).collect();
            no_context(&context, &names)
        })?;
        let own = found.pointer("/context/namespace").and_then(Value::as_str);
        let namespace = target.namespace.as_deref().or(own).unwrap_or("default").to_owned();
        let options = ["--context", &context, "--namespace", &namespace];
        let kubectl = kubectl.with(&options);
        let is_local = LOCAL.iter().any(|start| context.starts_with(start));
        Ok(Self { is_local, kubectl, context, namespace })
    }

    /// The options of this cluster, as a hint adds them to a command.
    pub fn options(&self) -> String {
        format!(" --to kubernetes --context {} --namespace {}", shell_word(&self.context), self.namespace)
    }

    /// `namespace `a` of context `b``
    pub fn title(&self) -> String {
        format!("namespace `{}` of context `{}`", self.namespace, self.context)
    }
}

fn no_context(context: &str, names: &[&str]) -> Error {
    let message = match (context, names) {
        ("", _) => "kubectl has no current context".to_owned(),
        _ => format!("kubectl has no context `{context}`"),
    };
    let hint = match names {
        [] => "add a cluster to the configuration of kubectl, or set KUBECONFIG".to_owned(),
        names => format!("pass --context with one of {}", names.join(", ")),
    };
    Kind::Refused.error(message, hint)
}
