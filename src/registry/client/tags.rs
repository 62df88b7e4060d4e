//! The tags of a repository.

use super::{Repository, header};
use crate::api::http::header::LINK;
use crate::api::http::{Response, Url};
use crate::registry::error::Error;

/// Maximum number of pages of a list that are read. Registries have 50 to 1000 tags on a page.
const PAGES: usize = 10;

impl Repository {
    /// The tags in the order of the registry, from the first pages of its list; none if it gives no list.
    pub(in crate::registry) async fn tags(&self) -> Result<Vec<String>, Error> {
        let what = format!("list the tags of `{}/{}`", self.host, self.name);
        let mut next = Some(self.url(&what, "tags/list")?);
        let mut tags = Vec::new();
        for _ in 0..PAGES {
            let Some(url) = next else { break };
            let get = || self.http.get(url.clone()).timeout(self.policy.attempt);
            let response = match self.send(&what, get).await {
                Err(Error::Unauthorized { .. }) => break,
                response => response?,
            };
            if !response.status().is_success() {
                break;
            }
            next = self.next_page(&url, &response);
            let page: serde_json::Value =
                serde_json::from_slice(&self.body(&what, response).await?).unwrap_or_default();
            let names = page["tags"].as_array().into_iter().flatten().filter_map(|tag| tag.as_str());
            tags.extend(names.filter(|tag| is_tag(tag)).map(str::to_owned));
        }
        Ok(tags)
    }

    /// The address of the page after that of `url`. One elsewhere would get the credentials.
    fn next_page(&self, url: &Url, response: &Response) -> Option<Url> {
        let links = header(response.headers(), LINK.as_str())?;
        let link =
            links.split(',').find(|link| link.contains("rel=\"next\"") || link.contains("rel=next"))?;
        let (address, _) = link.split_once('<')?.1.split_once('>')?;
        url.join(address).ok().filter(|next| next.origin() == self.base.origin())
    }
}

/// Source: OCI distribution specification 1.1, "Pulling manifests".
fn is_tag(text: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    (1..=128).contains(&text.len()) && !text.starts_with(['.', '-']) && text.chars().all(is_valid)
}
