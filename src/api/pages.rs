//! Lists that span several pages.

use std::collections::HashSet;

use super::rules::MAX_LIMIT;
use super::wire::Page;
use super::{Call, Error};

/// Maximum number of pages.
const MAX_PAGES: usize = 1000;

/// Reads all pages of resources with an `id`, each by its limit and offset, or as many as it takes for `at_most` resources.
///
/// The list ends with an empty page, since a service may send shorter pages than requested. The specification leaves the
/// offset of the last page open: if it does not advance, a short page is the last, and after a full page the offset is
/// computed. If the list changes meanwhile, a resource may appear twice; it is returned once.
pub(super) async fn all<T>(
    path: &str,
    at_most: Option<usize>,
    id: impl Fn(&T) -> &String,
    page: impl AsyncFn(u32, u64) -> Result<Page<T>, Error>,
) -> Result<Vec<T>, Error> {
    read(path, at_most, |_| false, id, page).await
}

/// Reads pages up to the first resource that `is_match` accepts.
pub(super) async fn find<T>(
    path: &str,
    is_match: impl Fn(&T) -> bool,
    id: impl Fn(&T) -> &String,
    page: impl AsyncFn(u32, u64) -> Result<Page<T>, Error>,
) -> Result<Option<T>, Error> {
    let found = read(path, None, &is_match, id, page).await?;
    Ok(found.into_iter().find(is_match))
}

async fn read<T>(
    path: &str,
    at_most: Option<usize>,
    is_last: impl Fn(&T) -> bool,
    id: impl Fn(&T) -> &String,
    page: impl AsyncFn(u32, u64) -> Result<Page<T>, Error>,
) -> Result<Vec<T>, Error> {
    let at_most = at_most.unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut known = HashSet::new();
    let mut offset = 0;
    let mut last: Vec<String> = Vec::new();
    for _ in 0..MAX_PAGES {
        let left = u32::try_from(at_most - found.len()).unwrap_or(u32::MAX);
        if left == 0 {
            return Ok(found);
        }
        let limit = left.min(MAX_LIMIT);
        let Page { resources, offset: next, .. } = page(limit, offset).await?;
        let ids: Vec<String> = resources.iter().map(|it| id(it).clone()).collect();
        if !ids.is_empty() && ids == last {
            return Err(endless(path, "the same page was returned twice"));
        }
        let count = ids.len();
        let is_short = count < limit as usize;
        let is_found = resources.iter().any(&is_last);
        found.extend(resources.into_iter().filter(|it| known.insert(id(it).clone())));
        found.truncate(at_most);
        if is_found || count == 0 || (is_short && next <= offset) {
            return Ok(found);
        }
        offset = if next > offset { next } else { offset + count as u64 };
        last = ids;
    }
    Err(endless(path, "it has no end"))
}

fn endless(path: &str, reason: &str) -> Error {
    let call = Call { method: "GET".to_owned(), path: path.to_owned() };
    Error::Malformed { call, reason: format!("cannot read the whole list: {reason}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(resource: &String) -> &String {
        resource
    }

    /// Reads a list of `total`; `next` returns the offset of a page, given the requested offset and the length.
    fn all_of(
        total: u64,
        largest: u64,
        at_most: Option<usize>,
        next: fn(u64, u64) -> u64,
    ) -> Result<Vec<u64>, Error> {
        let page = async |limit: u32, offset: u64| {
            assert!((1..=100).contains(&limit));
            let length = u64::from(limit).min(largest).min(total.saturating_sub(offset));
            let resources = (offset..offset + length).map(|number| number.to_string()).collect();
            Ok(Page { resources, offset: next(offset, length), other: Default::default() })
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let found = runtime.block_on(all("/", at_most, id, page))?;
        Ok(found.iter().map(|it| it.parse().unwrap()).collect())
    }

    #[test]
    fn every_page_is_read_whatever_the_last_offset() {
        let ways: [fn(u64, u64) -> u64; 3] = [
            |offset, length| offset + length,
            |offset, length| if length < 100 { 0 } else { offset + length },
            |offset, length| if length < 100 { offset } else { offset + length },
        ];
        for next in ways {
            for total in [0, 1, 99, 100, 101, 200, 250] {
                assert_eq!(all_of(total, 100, None, next).unwrap(), (0..total).collect::<Vec<_>>());
            }
        }
        assert_eq!(all_of(250, 30, None, |offset, length| offset + length).unwrap().len(), 250);
        assert_eq!(all_of(300, 100, None, |_, _| 0).unwrap().len(), 300);
    }

    #[test]
    fn no_more_is_read_than_requested() {
        for at_most in [1, 100, 101, 150] {
            let found = all_of(250, 100, Some(at_most), |offset, length| offset + length).unwrap();
            assert_eq!(found.len(), at_most);
        }
        assert!(all_of(5, 100, Some(0), |_, _| 0).unwrap().is_empty());
    }

    #[test]
    fn a_repeated_page_is_an_error() {
        let page = async |_: u32, offset: u64| {
            let resources = vec!["1".to_owned()];
            Ok(Page { resources, offset: offset + 1, other: Default::default() })
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert!(matches!(runtime.block_on(all("/", None, id, page)), Err(Error::Malformed { .. })));
    }
}
