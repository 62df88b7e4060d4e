//! The proxy of the environment.

use url::Url;

use super::check::{Check, Group, Subject, Task};

static PROXY: Subject =
    Subject { id: "proxy", name: "Proxy", group: Group::Machine, needed_by: &[Task::Dev, Task::Deploy] };

/// The proxies that `variables` set, without their users and passwords.
pub(super) fn check(variables: &[(String, String)]) -> Check {
    if variables.is_empty() {
        return PROXY.fine("none");
    }
    if let Some((name, _)) = variables.iter().find(|(_, value)| address(value).is_none()) {
        return PROXY.degraded(
            format!("{name} is not the address of a proxy"),
            format!("set {name} to an address such as http://proxy.example:3128, or unset it"),
        );
    }
    let shown = |(name, value): &(String, String)| Some(format!("{name}: {}", address(value)?));
    PROXY.fine(variables.iter().filter_map(shown).collect::<Vec<_>>().join(", "))
}

/// Scheme, host and port, if the host can be told from a password.
fn address(value: &str) -> Option<String> {
    let with_scheme = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let (_, rest) = with_scheme.split_once("://")?;
    if rest.split_once(['/', '?', '#']).is_some_and(|(_, path)| path.contains('@')) {
        return None;
    }
    let url = Url::parse(&with_scheme).ok()?;
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    Some(format!("{}://{}{port}", url.scheme(), url.host_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_shown_without_credentials() {
        for (value, shown) in [
            ("http://proxy:3128", Some("http://proxy:3128")),
            ("proxy.example:3128", Some("http://proxy.example:3128")),
            ("http://user:hidden@proxy:8080/hidden?hidden#hidden", Some("http://proxy:8080")),
            ("user:hidden@proxy:8080", Some("http://proxy:8080")),
            ("socks5h://hidden@[::1]:1080", Some("socks5h://[::1]:1080")),
            ("http://user:hid#den@proxy", None),
            ("http://user:12345#hidden@proxy", None),
            ("http://hidden/x@proxy:3128", None),
            ("hidden?x@proxy", None),
            ("http://", None),
        ] {
            assert_eq!(address(value).as_deref(), shown, "{value}");
        }
        let broken = check(&[("HTTP_PROXY".to_owned(), "http://user:hidden @".to_owned())]);
        assert!(!format!("{broken:?}").contains("hidden"));
    }
}
