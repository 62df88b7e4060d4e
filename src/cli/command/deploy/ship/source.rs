//! As a packed source, which the service builds.

use std::cell::RefCell;
use std::pin::pin;

use super::Shipment;
use super::event::Event;
use crate::api::Archive;
use crate::api::wire::{Deployment, SourceRevisionConfig, UploadUrl};
use crate::cli::image;
use crate::compiler::paths;
use crate::context::Packed;
use crate::engine;
use crate::error::Error;

/// What services take, in bytes.
const MOST: u64 = 200 * 1024 * 1024;

/// More than this is probably not meant, in bytes.
const LARGE: u64 = 50 * 1024 * 1024;

/// How many of the largest paths are named where there is much to send.
const LARGEST: usize = 3;

/// Files that hold nothing but credentials: what is shipped elsewhere does not have them unless that is asked.
pub(super) const CREDENTIALS: &[&str] = &[
    "**/.env",
    "**/.env.*",
    "**/.envrc",
    "**/.netrc",
    "**/_netrc",
    "**/.pypirc",
    "**/.git-credentials",
    "**/.aws",
    "**/.ssh",
    "**/.gnupg",
    "**/.kube",
    "**/.docker/config.json",
    "**/.config/gcloud",
    "**/id_rsa",
    "**/id_ecdsa",
    "**/id_ed25519",
];

/// Nothing is left out.
pub(super) const NOTHING: &[&str] = &[];

impl Shipment<'_> {
    /// Packs what a local build would see.
    pub(super) async fn pack(&mut self) -> Result<Packed, Error> {
        let ignore = if self.ship.include_credentials { NOTHING } else { CREDENTIALS };
        let context = image::context(self.env, &self.planned, ignore)?;
        let listing = context.list().map_err(engine::Error::Context)?;
        let (files, largest) = (listing.files(), listing.largest(LARGEST));
        let packed = self.stop.unless_asked(listing.pack(MOST)).await?.map_err(engine::Error::Context)?;
        self.say(Event::Packed { files, bytes: packed.bytes() });
        if packed.bytes() > LARGE {
            let paths: Vec<String> =
                largest.iter().map(|(path, _)| format!("`{}`", path.display())).collect();
            let message = format!(
                "that is much to send; most of it is {}; what the image does not need can be left out with .dockerignore",
                paths.join(", ")
            );
            self.say(Event::Warning { message });
        }
        Ok(packed)
    }

    /// Uploads it, and says what a revision calls it.
    pub(super) async fn upload(
        &mut self,
        deployment: &Deployment,
        packed: &Packed,
    ) -> Result<SourceRevisionConfig, Error> {
        let target = self.ask(self.client.upload_url(&deployment.id)).await?;
        let open = || Ok(Box::new(packed.reader()) as Box<dyn std::io::Read + Send>);
        let archive = Archive { length: packed.bytes(), open: &open };
        self.send(&target, &archive).await?;
        self.say(Event::Uploaded { path: target.object_path.clone(), bytes: packed.bytes() });
        Ok(SourceRevisionConfig {
            graph_config_path: Some(self.config_path()),
            source_tarball_path: Some(target.object_path),
            ..Default::default()
        })
    }

    /// Sends it, and shows how far it is, and what goes wrong.
    async fn send(&mut self, target: &UploadUrl, archive: &Archive<'_>) -> Result<(), Error> {
        let screen = RefCell::new((self.voice.upload(archive.length), &mut *self.env));
        let mut progress = |bytes| {
            let (upload, env) = &mut *screen.borrow_mut();
            upload.show(env, bytes);
        };
        let mut sending = pin!(self.client.upload(target, archive, &mut progress));
        let sent = loop {
            tokio::select! {
                biased;
                () = self.stop.asked() => break Err(Error::Interrupted),
                Some(message) = self.notes.recv() => {
                    let (_, env) = &mut *screen.borrow_mut();
                    self.voice.tell(env, Event::Note { message });
                }
                sent = &mut sending => break sent.map_err(Error::from),
            }
        };
        screen.borrow_mut().0.end();
        sent
    }

    /// Where the configuration lies in the archive.
    fn config_path(&self) -> String {
        let plan = &self.planned.plan;
        paths::normalize(&format!("{}/{}", plan.context.project, plan.config.name))
    }
}
