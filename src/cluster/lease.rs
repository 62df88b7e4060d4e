//! The Lease of a deployment: one holder changes it at a time. It is renewed while its holder works, and expires with it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::error::Kind;
use super::{Cluster, Error, labels, text};
use crate::api::time;
use crate::live::Reporter;

/// Time after which a Lease that nobody renews can be taken.
const DURATION: Duration = Duration::from_secs(15);

/// Interval between renewals, and between looks at the Lease of another.
const RENEWAL: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_secs(1);

/// Time to give a Lease back when the command ends.
const LAST_STEP: Duration = Duration::from_secs(5);

/// A Lease that is held.
pub(super) struct Lease<'a> {
    cluster: &'a Cluster,
    deployment: &'a str,
    name: String,
    holder: String,
    renewed: Instant,
}

impl<'a> Lease<'a> {
    /// Takes the Lease of a deployment. Waits for one that nobody renews to expire.
    ///
    /// # Errors
    ///
    /// Somebody else holds it.
    pub(super) async fn take(
        cluster: &'a Cluster,
        deployment: &'a str,
        reporter: &mut impl Reporter,
    ) -> Result<Self, Error> {
        let name = Self::object_name(deployment);
        let holder = format!("agentcli-{}-{}", std::process::id(), time::now());
        let lease = Self { cluster, deployment, name, holder, renewed: Instant::now() };
        let mut seen: Option<(String, Instant)> = None;
        loop {
            let found = lease.get().await?;
            let holder = found.as_ref().map_or("", |it| text(it, "/spec/holderIdentity"));
            let version = found.as_ref().map_or("", |it| text(it, "/metadata/resourceVersion"));
            if holder.is_empty() || seen.as_ref().is_some_and(|(_, since)| since.elapsed() > DURATION) {
                match lease.write(found.is_some().then_some(version)).await {
                    Ok(()) => return Ok(lease),
                    // Somebody else was faster.
                    Err(error) if error.is(Kind::Failed) && is_race(&error.to_string()) => {}
                    Err(error) => return Err(error),
                }
            } else if seen.as_ref().is_some_and(|(before, _)| before != version) {
                return Err(lease.is_held(holder));
            } else if seen.is_none() {
                reporter.note(format!(
                    "waiting for another deploy of `{deployment}` ({holder}) to go on or expire"
                ));
                seen = Some((version.to_owned(), Instant::now()));
            }
            cluster.kubectl.stop.unless_asked(sleep(LOOK)).await?;
        }
    }

    /// The name of the object.
    pub(super) fn object_name(deployment: &str) -> String {
        format!("{deployment}-deploy")
    }

    fn is_held(&self, holder: &str) -> Error {
        let message = format!("another deploy of `{}` runs: {holder}", self.deployment);
        Kind::Busy.error(message, "wait until it has ended, and run the command again")
    }

    /// Renews it if it is time to.
    ///
    /// # Errors
    ///
    /// Somebody else has taken it, since this program slept for too long.
    pub(super) async fn renew(&mut self) -> Result<(), Error> {
        if self.renewed.elapsed() < RENEWAL {
            return Ok(());
        }
        let found = match self.get().await {
            Err(error) if error.is(Kind::Unreachable) => return Ok(()),
            found => found?.unwrap_or_default(),
        };
        let holder = text(&found, "/spec/holderIdentity");
        if holder != self.holder {
            return Err(self.is_held(holder));
        }
        self.write(Some(text(&found, "/metadata/resourceVersion"))).await?;
        self.renewed = Instant::now();
        Ok(())
    }

    /// Gives it back, even if the program is asked to stop.
    pub(super) async fn release(self) {
        let arguments = ["delete", "lease", &self.name, "--ignore-not-found", "--wait=false"];
        timeout(LAST_STEP, self.cluster.kubectl.finish(&arguments, "")).await.ok();
    }

    async fn get(&self) -> Result<Option<Value>, Error> {
        let arguments = ["get", "lease", &self.name, "--ignore-not-found"];
        Ok(self.cluster.kubectl.objects(&arguments, "").await?.into_iter().next())
    }

    /// Creates it, or replaces the one of this version.
    async fn write(&self, version: Option<&str>) -> Result<(), Error> {
        let object = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self.name,
                "namespace": self.cluster.namespace,
                "labels": labels(self.deployment, "lease"),
                // Absent in one to create.
                "resourceVersion": version,
            },
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": DURATION.as_secs(),
                "renewTime": time::now_as_text(),
            },
        });
        let verb = if version.is_some() { "replace" } else { "create" };
        self.cluster.kubectl.run(&[verb, "-f", "-"], &object.to_string()).await.map(drop)
    }
}

/// Whether somebody else has written the Lease meanwhile.
fn is_race(message: &str) -> bool {
    ["already exists", "has been modified", "not found"].iter().any(|words| message.contains(words))
}
