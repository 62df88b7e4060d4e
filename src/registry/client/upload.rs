//! Uploads of blobs, which go on where they broke off.

use std::time::Duration;

use bytes::Bytes;

use super::{Repository, header};
use crate::api::http::header::{CONTENT_RANGE, CONTENT_TYPE, LOCATION, RANGE};
use crate::api::http::{self, RequestBuilder, Response, Url};
use crate::registry::error::Error;

/// Size of the parts of a blob, in bytes, unless the registry wants larger ones. The last part may be smaller.
const PART: usize = 4 << 20;

/// The header with the minimum size of a part.
/// Source: OCI distribution specification 1.1, "Pushing a blob in chunks".
const LEAST: &str = "oci-chunk-min-length";

/// An error, and the pause that the registry asks for.
type Failed = (Error, Option<Duration>);

/// An upload that was started.
struct Upload {
    /// The address for the next bytes.
    location: Url,
    /// Number of bytes that the registry has.
    received: usize,
    /// Size of a part in bytes.
    part: usize,
}

impl Repository {
    /// Sends a blob, unless the registry has it; returns whether it was sent.
    pub(in crate::registry) async fn push_blob(
        &self,
        what: &str,
        blob: &Bytes,
        digest: &str,
    ) -> Result<bool, Error> {
        let url = self.url(what, &format!("blobs/{digest}"))?;
        let head = self.send(what, || self.http.head(url.clone()).timeout(self.policy.attempt)).await?;
        if head.status().is_success() {
            return Ok(false);
        }
        let mut upload = self.start_upload(what).await?;
        let mut attempt = 1;
        while let Err((error, asked)) = self.send_rest(what, &mut upload, blob, digest).await {
            self.wait(error, asked, attempt).await?;
            attempt += 1;
            if !self.resume(what, &mut upload, blob.len()).await {
                upload = self.start_upload(what).await?;
            }
        }
        self.sent.set(self.sent.get() + blob.len() as u64);
        Ok(true)
    }

    async fn start_upload(&self, what: &str) -> Result<Upload, Error> {
        let url = self.url(what, "blobs/uploads/")?;
        let post = || self.http.post(url.clone()).header("content-length", 0).timeout(self.policy.attempt);
        let started = self.send(what, post).await?;
        let started = self.successful(what, started).await?;
        let least = header(started.headers(), LEAST).and_then(|least| least.parse().ok()).unwrap_or(0);
        let location = self.location(&started);
        let location = location.ok_or_else(|| self.invalid(what, "it names no address for the upload"))?;
        Ok(Upload { location, received: 0, part: PART.max(least) })
    }

    /// Sends what the registry does not have yet: parts, and the last one with the digest.
    async fn send_rest(
        &self,
        what: &str,
        upload: &mut Upload,
        blob: &Bytes,
        digest: &str,
    ) -> Result<(), Failed> {
        while blob.len() - upload.received > upload.part {
            let end = upload.received + upload.part;
            let range = format!("{}-{}", upload.received, end - 1);
            let patch = self.http.patch(upload.location.clone()).header(CONTENT_RANGE, range);
            let taken =
                self.send_part(what, &upload.location, patch, blob.slice(upload.received..end)).await?;
            upload.location = self.location(&taken).unwrap_or_else(|| upload.location.clone());
            upload.received = end;
        }
        let mut location = upload.location.clone();
        location.query_pairs_mut().append_pair("digest", digest);
        let mut put = self.http.put(location);
        if upload.received > 0 {
            put = put.header(CONTENT_RANGE, format!("{}-{}", upload.received, blob.len() - 1));
        }
        let done = self.send_part(what, &upload.location, put, blob.slice(upload.received..)).await?;
        self.check_header(what, done.headers(), digest).map_err(|error| (error, None))
    }

    /// Sends a part once.
    async fn send_part(
        &self,
        what: &str,
        location: &Url,
        request: RequestBuilder,
        part: Bytes,
    ) -> Result<Response, Failed> {
        let request = request.header(CONTENT_TYPE, "application/octet-stream").timeout(self.policy.upload);
        let request = self.authorized(request.body(part), location);
        let response = request.send().await.map_err(|error| (self.lost(what, &error), None))?;
        let asked = http::retry_after(response.headers());
        self.successful(what, response).await.map_err(|error| (error, asked))
    }

    /// Asks how much of a blob of `length` bytes the registry has; returns whether the upload can go on from there.
    async fn resume(&self, what: &str, upload: &mut Upload, length: usize) -> bool {
        // An upload of one part starts again.
        if length <= upload.part {
            return false;
        }
        let get = self.authorized(self.http.get(upload.location.clone()), &upload.location);
        let Ok(state) = get.timeout(self.policy.attempt).send().await else { return false };
        let Ok(state) = self.successful(what, state).await else { return false };
        let range = header(state.headers(), RANGE.as_str());
        let last = range.as_deref().and_then(|range| range.rsplit_once('-')?.1.parse::<usize>().ok());
        // `0-0` is nothing or one byte.
        let received = last.filter(|last| *last > 0 && last + 1 < length).map(|last| last + 1);
        let Some(received) = received else { return false };
        upload.location = self.location(&state).unwrap_or_else(|| upload.location.clone());
        upload.received = received;
        true
    }

    /// Adds the credentials of the registry, unless the address is that of a storage, which has its own.
    fn authorized(&self, request: RequestBuilder, location: &Url) -> RequestBuilder {
        match &*self.authorization.borrow() {
            Some(value) if location.origin() == self.base.origin() => request.header("authorization", value),
            _ => request,
        }
    }

    /// The address that a response names.
    fn location(&self, response: &Response) -> Option<Url> {
        self.base.join(&header(response.headers(), LOCATION.as_str())?).ok()
    }
}
