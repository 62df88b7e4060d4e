//! A dry run: the planned changes, none of which is applied.

use super::Error;
use super::deploy::Shipment;
use super::event::Hooks;
use super::image::{PLATFORM, Route};
use super::request::Destination;
use crate::live::Event;

impl<H: Hooks> Shipment<'_, H> {
    /// Reports the steps. Source is packed, which finds files that cannot be sent, and an archive that is too large.
    pub(super) async fn rehearse(&mut self, destination: &Destination, route: &Route) -> Result<(), Error> {
        let request = self.request;
        let name = &destination.name;
        if destination.existing.is_none() {
            let kind = request.deployment_type.word();
            self.would("create", format!("deployment `{name}`, type {kind}"));
        }
        match (route, &request.image) {
            (Route::Image(_), Some(image)) => {
                self.would("push", format!("`{image}` to the service's registry"))
            }
            (Route::Image(engine), None) => {
                let platform = request.build.platform.as_deref().unwrap_or(PLATFORM);
                self.would("build", format!("image for {platform} on {}", engine.host()));
                self.would("push", "image to the service's registry".to_owned());
            }
            (Route::Source, _) => {
                self.pack().await?;
                self.would("upload", "packed source, to build on the service".to_owned());
            }
            (Route::Repository, _) => self.would("build", "the repository on the service".to_owned()),
        }
        let names: Vec<&str> = request.secrets.iter().flatten().map(|secret| secret.name.as_str()).collect();
        let secrets = match names.as_slice() {
            [] => "secrets unchanged".to_owned(),
            names => format!("secrets {}", names.join(", ")),
        };
        self.would("update", format!("`{name}` with a new revision, {secrets}"));
        if let Some(timeout) = request.wait {
            self.would("wait", format!("until the revision is deployed, at most {} s", timeout.as_secs()));
        }
        Ok(())
    }

    fn would(&mut self, step: &'static str, message: String) {
        self.hooks.event(&Event::Would { step, message });
    }
}
