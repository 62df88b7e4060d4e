//! Symbolic links that lead out of the tree. An engine takes them as they are, for it resolves them in the image alone;
//! whoever unpacks the archive on a disk of their own must not follow one, and most refuse the whole archive.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::{Error, Kind, Listing};

/// How many links may lead to one another: what the system allows. More are a loop, which leads nowhere.
const MOST: usize = 40;

impl Listing {
    /// Looks where the links lead.
    ///
    /// # Errors
    ///
    /// One is absolute or leads out of the root, by itself or through others.
    pub fn check_links(&self) -> Result<(), Error> {
        let links: HashMap<&Path, &Path> = self.entries.iter().filter_map(link).collect();
        // The tree is the user's own: whatever it takes.
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

/// Whether whoever follows `path` from the root is ever outside of it; nothing where that takes more than `effort`, which
/// is what may be spent on it, and is less by what was: bytes of paths that are looked up. `links` are all links of the
/// tree, by their paths from the root, with their targets.
#[must_use]
pub fn leaves(path: &Path, links: &HashMap<&Path, &Path>, effort: &mut u64) -> Option<bool> {
    let mut here = PathBuf::new();
    let mut followed = 0;
    // What is still to be walked, the next part last.
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
                    if followed > MOST {
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
