//! Packages of the distribution: the databases of dpkg and apk.

use super::component::{Component, Kind};
use super::licence::Licence;

/// The packages of `var/lib/dpkg/status`, or of a file of `status.d`, in the distribution `id`.
pub(super) fn dpkg<'a>(path: &'a str, text: &'a str, id: &'a str) -> impl Iterator<Item = Component> + 'a {
    stanzas(text).filter_map(move |stanza| {
        let field = |name| field(&stanza, name, ": ");
        // Removed packages stay in the list; files of status.d have no status.
        let is_installed = field("Status").is_none_or(|status| status.ends_with(" installed"));
        let (name, version) = (field("Package")?, field("Version").filter(|_| is_installed)?);
        let (namespace, architecture) = (Some(id.to_owned()), field("Architecture").map(str::to_owned));
        Some(Component { namespace, architecture, ..Component::new(Kind::Deb, name, version, path) })
    })
}

/// The packages of apk's list, in the distribution `id`.
pub(super) fn apk<'a>(path: &'a str, text: &'a str, id: &'a str) -> impl Iterator<Item = Component> + 'a {
    stanzas(text).filter_map(move |stanza| {
        let field = |name| field(&stanza, name, ":");
        let (name, version) = (field("P")?, field("V")?);
        let (namespace, architecture) = (Some(id.to_owned()), field("A").map(str::to_owned));
        let licence = field("L").and_then(Licence::expression);
        Some(Component { namespace, architecture, licence, ..Component::new(Kind::Apk, name, version, path) })
    })
}

/// The ID in a file `os-release`.
pub(super) fn id(text: &str) -> Option<&str> {
    let id = text.lines().find_map(|line| line.strip_prefix("ID="))?;
    Some(id.trim().trim_matches(['"', '\''])).filter(|id| !id.is_empty())
}

fn stanzas(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let mut lines = text.lines().peekable();
    std::iter::from_fn(move || {
        while lines.next_if(|line| line.trim().is_empty()).is_some() {}
        lines.peek()?;
        Some(std::iter::from_fn(|| lines.next_if(|line| !line.trim().is_empty())).collect())
    })
}

fn field<'a>(stanza: &[&'a str], name: &str, separator: &str) -> Option<&'a str> {
    let mut values = stanza.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(separator));
    values.next().map(str::trim).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_of_distributions() {
        let status = "\nPackage: a\nStatus: install ok installed\nArchitecture: amd64\nDescription: x\n Package: no\n\
                      Version: 1:2+b\n\n\nPackage: removed\nStatus: deinstall ok config-files\nVersion: 1\n\nPackage: b\n";
        let found: Vec<Component> = dpkg("var/lib/dpkg/status", status, "debian").collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].purl().as_deref(), Some("pkg:deb/debian/a@1:2%2Bb?arch=amd64"));
        let installed = "C:Q1\nP:musl\nV:1.2-r3\nA:x86_64\nL:MIT\n\nP:odd\n\n";
        let found: Vec<Component> = apk("lib/apk/db/installed", installed, "alpine").collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].licence, Some(Licence::Expression("MIT".to_owned())));
        assert_eq!(found[0].purl().as_deref(), Some("pkg:apk/alpine/musl@1.2-r3?arch=x86_64"));
    }

    #[test]
    fn ids_of_distributions() {
        assert_eq!(id("NAME=x\nID=debian\n"), Some("debian"));
        assert_eq!(id("ID=\"wolfi\""), Some("wolfi"));
        assert_eq!((id("VERSION_ID=1"), id("ID=")), (None, None));
    }
}
