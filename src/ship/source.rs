//! As packed source, which the service builds.

use std::cell::RefCell;

use super::Error;
use super::event::Hooks;
use super::request::Request;
use super::shipment::Shipment;
use crate::api::wire::{Deployment, SourceRevisionConfig};
use crate::api::{Archive, Client};
use crate::context::Packed;
use crate::engine;
use crate::live::Event;

/// The largest archive that services accept, in bytes.
const MAX_ARCHIVE: u64 = 200 * 1024 * 1024;

/// Size of an archive that is probably a mistake, in bytes.
const LARGE: u64 = 50 * 1024 * 1024;

/// Number of paths that a warning about the size names.
const LARGEST: usize = 3;

impl<H: Hooks> Shipment<'_, H> {
    /// Packs the build context, and the configuration and agent.lock even if a .dockerignore excludes them: the service reads
    /// them.
    pub(super) async fn pack(&mut self) -> Result<Packed, Error> {
        let Request { build, config_path, lock_path, .. } = self.request;
        let mut context = build.context.clone();
        for path in [config_path].into_iter().chain(lock_path) {
            context.ignore.include(path);
        }
        context.configurations.push(config_path.clone());
        let listing = context.list().map_err(engine::Error::Context)?;
        let (files, largest) = (listing.files(), listing.largest(LARGEST));
        let packed = self.service.stop.unless_asked(listing.pack(MAX_ARCHIVE)).await?;
        let packed = packed.map_err(engine::Error::Context)?;
        self.hooks.event(&Event::Packed { files, bytes: packed.bytes() });
        if packed.bytes() > LARGE {
            let paths: Vec<String> =
                largest.iter().map(|(path, _)| format!("`{}`", path.display())).collect();
            let message = format!(
                "the archive is large, mostly because of {}; exclude what the image does not need with .dockerignore",
                paths.join(", ")
            );
            self.hooks.warn(message);
        }
        Ok(packed)
    }

    /// Uploads the archive; returns the source of a revision.
    pub(super) async fn upload(
        &mut self,
        deployment: &Deployment,
        packed: &Packed,
    ) -> Result<SourceRevisionConfig, Error> {
        let target = self.call(async |client| client.upload_url(&deployment.id).await).await?;
        let open = || Ok(Box::new(packed.reader()) as Box<dyn std::io::Read + Send>);
        let (path, bytes) = (target.object_path.clone(), packed.bytes());
        let archive = Archive { length: bytes, open: &open };
        let Self { service, hooks, .. } = self;
        let hooks = RefCell::new(&mut **hooks);
        let mut progress = |sent| hooks.borrow_mut().event(&Event::Upload { bytes: sent, total: bytes });
        let upload = async |client: &Client| client.upload(&target, &archive, &mut progress).await;
        service.call(upload, |message| hooks.borrow_mut().note(message)).await?;
        self.hooks.event(&Event::Uploaded { path: path.clone(), bytes });
        Ok(SourceRevisionConfig {
            graph_config_path: Some(self.request.config_path.clone()),
            source_tarball_path: Some(path),
            ..Default::default()
        })
    }
}
