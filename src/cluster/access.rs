//! What is refused before anything is built: a cluster that is too old, a namespace that is not there or ends, missing
//! rights, objects of somebody else, and what the cluster itself refuses.

use serde_json::{Value, json};

use super::error::Kind;
use super::{Cluster, Error, INSTANCE, KINDS, MANAGED_BY, MANAGER, label, list, text, title};
use crate::compiler::words::listed;
use crate::live::FieldChange;

/// The oldest version of Kubernetes, as its second number: the Job of the migrations has a sidecar.
const OLDEST: u32 = 29;

/// The oldest version of kubectl, as its second number: server-side apply.
const OLDEST_KUBECTL: u32 = 22;

/// The rights beside those to objects of manifests: verbs and resource.
const RIGHTS: &[(&[&str], &str, &str)] = &[
    (&["get", "create", "patch", "delete"], "", "secrets"),
    (&["get", "create", "update", "delete"], "coordination.k8s.io", "leases"),
    (&["list"], "", "pods"),
    (&["list"], "", "events"),
];

/// The verbs of objects of manifests.
const VERBS: &[&str] = &["get", "list", "create", "patch", "delete"];

impl Cluster {
    /// Refuses what the cluster would refuse later. Returns what applying the objects would change.
    pub(super) async fn check(&self, deployment: &str, objects: &[Value]) -> Result<Vec<FieldChange>, Error> {
        self.check_version().await?;
        self.check_namespace().await?;
        self.check_lacking(&self.lacking().await?)?;
        let live = self.live(objects).await?;
        self.check_owner(deployment, &live)?;
        self.check_pods(objects).await?;
        self.differences(&live, objects).await
    }

    /// What the cluster lacks for deployments, without changing anything: for each subject its state, or the error.
    pub async fn examine(&self) -> Vec<(&'static str, Result<String, Error>)> {
        let version = self.check_version().await;
        if version.is_err() {
            return vec![("cluster", version.map(|(_, server)| server))];
        }
        let lacking = self.lacking().await.and_then(|lacking| self.check_lacking(&lacking));
        let version = version.map(|(client, server)| format!("Kubernetes {server}, kubectl {client}"));
        vec![
            ("cluster", version),
            ("namespace", self.check_namespace().await.map(|()| self.title())),
            ("rights", lacking.map(|()| "all that deployments need".to_owned())),
        ]
    }

    fn check_lacking(&self, lacking: &[String]) -> Result<(), Error> {
        if lacking.is_empty() {
            return Ok(());
        }
        let lacking = listed(lacking.iter().map(String::as_str));
        let message = format!("you may not {lacking} in {}", self.title());
        Err(Kind::Denied.error(message, "ask the operator of the cluster for a Role with these rights"))
    }

    /// The versions of kubectl and of the cluster.
    pub(super) async fn check_version(&self) -> Result<(String, String), Error> {
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
    pub(super) async fn check_namespace(&self) -> Result<(), Error> {
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

    /// The rights that the user lacks, such as `create deployments.apps`.
    pub(super) async fn lacking(&self) -> Result<Vec<String>, Error> {
        let mut needed: Vec<(&[&str], String, String)> = RIGHTS
            .iter()
            .map(|(verbs, group, name)| (*verbs, (*group).to_owned(), (*name).to_owned()))
            .collect();
        for kind in KINDS.split(',') {
            let (resource, group) = kind.split_once('.').unwrap_or((kind, ""));
            needed.push((VERBS, group.to_owned(), resource.to_owned()));
        }
        let reviews = needed.iter().flat_map(|(verbs, group, resource)| {
            verbs.iter().map(move |verb| {
                json!({
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectAccessReview",
                    "spec": { "resourceAttributes": {
                        "namespace": self.namespace, "verb": verb, "group": group, "resource": resource,
                    } },
                })
            })
        });
        let reviews: Vec<Value> = reviews.collect();
        let answers = self.kubectl.objects(&["create", "-f", "-"], &list(&reviews)).await?;
        let refused = answers.iter().filter(|answer| answer["status"]["allowed"] != true);
        let mut lacking: Vec<(String, Vec<&str>)> = Vec::new();
        for answer in refused {
            let part = |name: &str| text(answer, &format!("/spec/resourceAttributes/{name}"));
            let verb = part("verb");
            let resource = format!("{}.{}", part("resource"), part("group"));
            let resource = resource.trim_end_matches('.').to_owned();
            match lacking.iter_mut().find(|(known, _)| *known == resource) {
                Some((_, verbs)) => verbs.push(verb),
                None => lacking.push((resource, vec![verb])),
            }
        }
        Ok(lacking.into_iter().map(|(resource, verbs)| format!("{} {resource}", verbs.join("/"))).collect())
    }

    /// Refuses objects with our names that are not of this deployment.
    fn check_owner(&self, deployment: &str, live: &[Value]) -> Result<(), Error> {
        let is_foreign = |it: &&Value| label(it, MANAGED_BY) != MANAGER || label(it, INSTANCE) != deployment;
        let foreign: Vec<String> = live.iter().filter(is_foreign).map(title).collect();
        if foreign.is_empty() {
            return Ok(());
        }
        let names = listed(foreign.iter().map(String::as_str));
        let message = format!("{names} in {} is not of this deployment", self.title());
        Err(Kind::Refused.error(message, "pass another --name or --namespace, or delete it"))
    }

    /// Creates the pods of workloads without effect, which quotas and the security of pods concern.
    async fn check_pods(&self, objects: &[Value]) -> Result<(), Error> {
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
