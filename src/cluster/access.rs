//! What is refused before anything is built: a cluster that is too old, a namespace that is not there or ends, missing
//! rights, objects of somebody else, and what the cluster itself refuses.

use serde_json::{Value, json};

use super::error::Kind;
use super::lease::Lease;
use super::{
    Cluster, Error, INSTANCE, KINDS, MANAGED_BY, MANAGER, label, list, resources, revision, secrets, text,
    title,
};
use crate::compiler::server::setup;
use crate::compiler::words::listed;
use crate::kubernetes::Manifests;

/// The oldest version of Kubernetes, as its second number: the Job of the migrations has a sidecar.
const OLDEST: u32 = 29;

/// The oldest version of kubectl, as its second number: server-side apply.
const OLDEST_KUBECTL: u32 = 22;

/// The rights beside those to objects of manifests: verbs and resource.
const RIGHTS: &[(&[&str], &str)] = &[
    (&["get", "create", "patch", "delete"], "secrets"),
    (&["get", "create", "update", "delete"], "leases.coordination.k8s.io"),
    (&["list"], "pods"),
    (&["list"], "events"),
];

/// The verbs of objects of manifests.
const VERBS: &[&str] = &["get", "list", "create", "patch", "delete"];

impl Cluster {
    /// Refuses what does not depend on the state of the objects.
    pub(super) async fn check(&self, manifests: &Manifests) -> Result<(), Error> {
        self.check_version().await?;
        self.check_namespace().await?;
        self.check_rights(&resources(&manifests.objects)).await?;
        if manifests.has_key {
            return Ok(());
        }
        let [api, licence] = [&setup::KEYS[0], &setup::KEYS[1]].map(|key| key.variable);
        let hint = format!(
            "set {api} in `env`, or add --secret-reference {licence}=SECRET/KEY, or choose --server pg, which needs none"
        );
        Err(Kind::Refused.error("the server needs a licence key or an API key, and none is set", hint))
    }

    /// What the cluster lacks for deployments, without changing anything: for each subject its state, or the error.
    pub async fn examine(&self) -> Vec<(&'static str, Result<String, Error>)> {
        let version = self.check_version().await;
        if version.is_err() {
            return vec![("cluster", version.map(|(_, server)| server))];
        }
        let rights = self.check_rights(&KINDS.map(|(_, resource)| resource)).await;
        let version = version.map(|(client, server)| format!("Kubernetes {server}, kubectl {client}"));
        vec![
            ("cluster", version),
            ("namespace", self.check_namespace().await.map(|()| self.title())),
            ("rights", rights.map(|()| "all that deployments need".to_owned())),
        ]
    }

    /// The versions of kubectl and of the cluster.
    async fn check_version(&self) -> Result<(String, String), Error> {
        let found = self.kubectl.objects(&["version"], "").await?;
        let found = found.into_iter().next().unwrap_or_default();
        let version = |of: &str| text(&found, &format!("/{of}/gitVersion")).to_owned();
        let minor = |of: &str| {
            let digits =
                text(&found, &format!("/{of}/minor")).trim_end_matches(|c: char| !c.is_ascii_digit());
            digits.parse().unwrap_or(u32::MAX)
        };
        let (client, server) = (version("clientVersion"), version("serverVersion"));
        if minor("clientVersion") < OLDEST_KUBECTL {
            let message = format!("kubectl {client} is too old: it needs v1.{OLDEST_KUBECTL} or newer");
            return Err(Kind::Refused.error(message, "update it: https://kubernetes.io/docs/tasks/tools/"));
        }
        if minor("serverVersion") < OLDEST {
            let message = format!("the cluster runs Kubernetes {server}, which is older than v1.{OLDEST}");
            return Err(Kind::Refused.error(message, "update the cluster, or pass another --context"));
        }
        Ok((client, server))
    }

    /// Refuses a namespace that is not there or ends. Users who may see only their namespace may not read its record.
    async fn check_namespace(&self) -> Result<(), Error> {
        let name = &self.namespace;
        let found = match self.kubectl.objects(&["get", "namespace", name, "--ignore-not-found"], "").await {
            Err(error) if error.is(Kind::Denied) => return Ok(()),
            found => found?,
        };
        match found.first().map(|namespace| text(namespace, "/status/phase")) {
            Some("Terminating") => Err(Kind::Refused.error(
                format!("the namespace `{name}` is being deleted"),
                "wait until it is gone and create it again, or pass another --namespace",
            )),
            Some(_) => Ok(()),
            None => Err(Kind::Refused.error(
                format!("there is no namespace `{name}` in the cluster of context `{}`", self.context),
                format!("create it: kubectl --context {} create namespace {name}", self.context),
            )),
        }
    }

    /// Refuses users who lack a right, such as to create deployments.apps. The cluster answers in the order of the questions.
    async fn check_rights(&self, resources: &[&str]) -> Result<(), Error> {
        let of_kinds = resources.iter().map(|resource| (VERBS, *resource));
        let needed: Vec<(&[&str], &str)> = RIGHTS.iter().copied().chain(of_kinds).collect();
        let review = |verb: &str, resource: &str| {
            let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
            json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": { "resourceAttributes": {
                    "namespace": self.namespace, "verb": verb, "group": group, "resource": resource,
                } },
            })
        };
        let questions: Vec<Value> = needed
            .iter()
            .flat_map(|(verbs, resource)| verbs.iter().map(|verb| review(verb, resource)))
            .collect();
        let answers = self.kubectl.objects(&["create", "-f", "-"], &list(&questions)).await?;
        let mut answers = answers.iter();
        let mut is_lacking = || answers.next().is_none_or(|answer| answer["status"]["allowed"] != true);
        let lacking = needed.iter().filter_map(|(verbs, resource)| {
            let verbs: Vec<&str> = verbs.iter().copied().filter(|_| is_lacking()).collect();
            (!verbs.is_empty()).then(|| format!("{} {resource}", verbs.join("/")))
        });
        let lacking: Vec<String> = lacking.collect();
        if lacking.is_empty() {
            return Ok(());
        }
        let lacking = listed(lacking.iter().map(String::as_str));
        let message = format!("you may not {lacking} in {}", self.title());
        Err(Kind::Denied.error(message, "ask the operator of the cluster for a Role with these rights"))
    }

    /// The names of the objects that no manifest has.
    pub(super) fn others(&self, deployment: &str, revision: u32) -> Vec<Value> {
        let secrets = secrets::names(deployment).map(|name| ("v1", "Secret", name));
        let others = [
            ("v1", "ConfigMap", revision::object_name(deployment, revision)),
            ("coordination.k8s.io/v1", "Lease", Lease::object_name(deployment)),
        ];
        let object = |(version, kind, name)| json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name } });
        secrets.into_iter().chain(others).map(object).collect()
    }

    /// Refuses objects with our names that are not of this deployment. The Secrets may have been created for it by hand.
    pub(super) fn check_owner(&self, deployment: &str, live: &[Value]) -> Result<(), Error> {
        let is_foreign = |it: &&Value| match (text(it, "/kind"), label(it, MANAGED_BY)) {
            ("Secret", "") => false,
            (_, manager) => manager != MANAGER || label(it, INSTANCE) != deployment,
        };
        let foreign: Vec<String> = live.iter().filter(is_foreign).map(title).collect();
        if foreign.is_empty() {
            return Ok(());
        }
        let names = listed(foreign.iter().map(String::as_str));
        let message = format!("{names} in {} is not of this deployment", self.title());
        Err(Kind::Refused.error(message, "pass another --name or --namespace, or delete it"))
    }

    /// Creates the pods of workloads without effect, which quotas and the security of pods concern.
    pub(super) async fn check_pods(&self, objects: &[Value]) -> Result<(), Error> {
        let pods: Vec<Value> = objects.iter().filter_map(pod).collect();
        match self.kubectl.run(&["create", "--dry-run=server", "-f", "-"], &list(&pods)).await {
            // Only controllers need the right to create pods.
            Err(Error::Cluster { kind: Kind::Denied, message, .. })
                if message.contains("cannot create resource") =>
            {
                Ok(())
            }
            Err(Error::Cluster { kind: Kind::Denied, message, .. }) => {
                Err(Kind::Refused.error(message, "see the Pod Security Standard of the namespace"))
            }
            done => done.map(drop),
        }
    }
}

/// A pod of a workload.
fn pod(workload: &Value) -> Option<Value> {
    let template = workload.pointer("/spec/template")?;
    let mut spec = template["spec"].clone();
    // The volumes are those of claims that do not exist yet.
    let claims = workload.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array);
    for claim in claims.into_iter().flatten() {
        let volume = json!({ "name": claim["metadata"]["name"], "emptyDir": {} });
        match spec["volumes"].as_array_mut() {
            Some(volumes) => volumes.push(volume),
            None => spec["volumes"] = json!([volume]),
        }
    }
    let mut metadata = template["metadata"].clone();
    metadata["generateName"] = format!("{}-", text(workload, "/metadata/name")).into();
    metadata["namespace"] = workload["metadata"]["namespace"].clone();
    Some(json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec }))
}
