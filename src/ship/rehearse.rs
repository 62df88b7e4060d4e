//! A dry run: the planned changes, none of which is applied.

use super::event::Hooks;
use super::image::{ExternalImage, PLATFORM, Route};
use super::request::{Destination, Method};
use super::shipment::Shipment;
use super::{Error, Request};
use crate::engine::Engine;
use crate::live::Event;

impl<H: Hooks> Shipment<'_, H> {
    /// Reports the steps. Source is packed, which finds files that cannot be sent, and an archive that is too large.
    pub(super) async fn rehearse(&mut self, destination: &Destination, route: &Route) -> Result<(), Error> {
        let (request, name) = (self.request, &destination.name);
        let is_external = matches!(route, Route::External(..));
        let is_new = destination.existing.is_none();
        let created = format!("{}, {}", request.target.title(), self.creation_details(route));
        if is_new && !is_external {
            self.would("create", created.clone());
        }
        match route {
            Route::Image(engine) => self.would_push(engine, "the service's registry"),
            Route::External(ExternalImage::Push(engine, repository), _) => {
                self.would_push(engine, &format!("`{repository}:{}`", request.tag));
            }
            Route::Replaced(_) => {
                self.would_replace("the service's registry");
                if request.method == Method::Auto {
                    let message =
                        "packed source instead, to build on the service, if more than the source changed";
                    self.would("upload", message.to_owned());
                }
            }
            Route::External(ExternalImage::Replace(repository), _) => {
                self.would_replace(&format!("`{repository}:{}`", request.tag));
            }
            Route::External(ExternalImage::Pushed(_), _) => {}
            Route::Source => {
                self.pack().await?;
                self.would("upload", "packed source, to build on the service".to_owned());
            }
            Route::Repository => self.would("build", "the repository on the service".to_owned()),
        }
        let names: Vec<&str> = request.secrets.iter().flatten().map(|secret| secret.name.as_str()).collect();
        let secrets = match names.as_slice() {
            [] if is_new && is_external => "no secrets".to_owned(),
            [] => "secrets unchanged".to_owned(),
            names => format!("secrets {}", names.join(", ")),
        };
        // An external image is deployed by the creation.
        if is_new && is_external {
            self.would("create", format!("{created}, {secrets}"))
        } else {
            self.would("update", format!("`{name}` with a new revision, {secrets}"))
        }
        if let Some(timeout) = request.wait {
            self.would("wait", format!("until the revision is deployed, at most {} s", timeout.as_secs()));
        }
        Ok(())
    }

    /// The properties of a new deployment, as in a message.
    pub(super) fn creation_details(&self, route: &Route) -> String {
        let Route::External(_, config) = route else {
            return format!("type {}", self.request.deployment_type.word());
        };
        let namespace = config.listener_config.as_ref().and_then(|it| it.cluster_namespace.as_ref());
        match (&config.listener_id, namespace) {
            (Some(listener), Some(namespace)) => {
                format!("from an external image, on listener {listener} in namespace `{namespace}`")
            }
            _ => "from an external image".to_owned(),
        }
    }

    fn would_replace(&mut self, place: &str) {
        self.would("push", format!("the image that is there, with the new source, to {place}"));
    }

    fn would_push(&mut self, engine: &Engine, place: &str) {
        let Request { build, image, .. } = self.request;
        let Some(image) = image else {
            let platform = build.platform.as_deref().unwrap_or(PLATFORM);
            self.would("build", format!("image for {platform} on {}", engine.shown_host()));
            return self.would("push", format!("image to {place}"));
        };
        self.would("push", format!("`{image}` to {place}"));
    }

    fn would(&mut self, step: &'static str, message: String) {
        self.hooks.event(&Event::Would { step, message });
    }
}
