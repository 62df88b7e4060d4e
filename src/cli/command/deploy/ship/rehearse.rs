//! What would be done, with nothing changed.

use super::event::Event;
use super::name::Wanted;
use super::{Shipment, Way};
use crate::api::wire::Deployment;
use crate::error::Error;

impl Shipment<'_> {
    /// Says what would be done. What would be sent is packed, so that its size is known and its faults are found.
    pub(super) async fn rehearse(
        &mut self,
        wanted: &Wanted,
        before: Option<&Deployment>,
        way: &Way,
    ) -> Result<(), Error> {
        let name = wanted.name(before);
        if before.is_none() {
            let kind = self.kind();
            self.would("create", format!("the deployment `{name}`, of type {}", kind.word()));
        }
        match way {
            Way::Image(engine) => {
                let what = match &self.ship.image {
                    Some(image) => format!("`{image}`"),
                    None => {
                        let platform = self.platform();
                        self.would("build", format!("an image for {platform}, on {}", engine.host()));
                        "the image".to_owned()
                    }
                };
                self.would("push", format!("{what}, to where the service says"));
            }
            Way::Source => {
                self.pack().await?;
                self.would("upload", "the packed source, which the service builds".to_owned());
            }
            Way::Repository => self.would("build", "on the service, what is in the repository".to_owned()),
        }
        let names: Vec<&str> = self.secrets.iter().flatten().map(|secret| secret.name.as_str()).collect();
        let secrets = match names.as_slice() {
            [] => "its secrets as they are".to_owned(),
            names => format!("these secrets: {}", names.join(", ")),
        };
        self.would("update", format!("`{name}` with a new revision, with {secrets}"));
        if !self.ship.no_wait {
            self.would("wait", format!("until it is deployed, at most {} s", self.ship.timeout));
        }
        Ok(())
    }

    fn would(&mut self, step: &'static str, message: String) {
        self.say(Event::Would { step, message });
    }
}
