//! Symbolic links that lead out of the tree. A container engine accepts them, since it resolves them inside the image; a
//! service that unpacks the archive on its own disk must not follow them, and most refuse the whole archive.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::{Error, Kind, Listing};

/// Longest chain of links, as on Linux. A longer one is a loop.
const MAX_CHAIN: usize = 40;

impl Listing {
    /// Checks that no link leads out of the root.
    ///
    /// # Errors
    ///
    /// A link is absolute, or leads out of the root directly or through other links.
    pub fn check_links(&self) -> Result<(), Error> {
        let links: HashMap<&Path, &Path> = self.entries.iter().filter_map(link).collect();
        // The tree is the user's own, so the effort is not limited.
        let mut effort = u64::MAX;
        let leads_out = |(path, _): &(&Path, &Path)| leaves(path, &links, &mut effort) == Some(true);
        match self.entries.iter().filter_map(link).find(leads_out) {
            None => Ok(()),
            Some((path, target)) => {
                Err(Error::Outside { path: self.root.join(path), target: target.to_owned() })
            }
        }
    }
}

fn link(entry: &super::Entry) -> Option<(&Path, &Path)> {
    let Kind::Link(target) = &entry.kind else { return None };
    Some((&entry.path, target))
}

/// Whether following `path` from the root ever leaves it; `None` if finding out takes more than `effort`, a budget in
/// bytes of looked-up paths that this call reduces. `links` maps all links of the tree, by their paths from the root, to
/// their targets.
#[must_use]
pub fn leaves(path: &Path, links: &HashMap<&Path, &Path>, effort: &mut u64) -> Option<bool> {
    let mut here = PathBuf::new();
    let mut followed = 0;
    // The remaining components, the next one last.
    let mut ahead: Vec<Component<'_>> = path.components().rev().collect();
    while let Some(part) = ahead.pop() {
        *effort = effort.checked_sub(1 + here.as_os_str().len() as u64)?;
        match part {
            Component::CurDir => {}
            Component::ParentDir if here.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Some(true),
            Component::Normal(name) => {
                here.push(name);
                if let Some(target) = links.get(&*here) {
                    followed += 1;
                    if followed > MAX_CHAIN {
                        return Some(false);
                    }
                    here.pop();
                    ahead.extend(target.components().rev());
                }
            }
        }
    }
    Some(false)
}
