//! URLs of repositories.

use url::Url;

use super::answer::Refusal;

/// Checks that a repository is fetched over HTTPS, HTTP or SSH, with the credentials of the host: those of a URL would be in
/// logs, answers and arguments.
pub(super) fn check_url(text: &str) -> Result<(), Refusal> {
    if is_short(text) {
        return Ok(());
    }
    let wrong = || Refusal::bad("source_config.repo_url must be the https, http or ssh URL of a repository.");
    let url = Url::parse(text).ok().filter(|_| text.contains("://")).ok_or_else(wrong)?;
    let host = url.host_str().unwrap_or_default();
    let is_plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    let may_start = |part: &str| !part.starts_with('-');
    if !matches!(url.scheme(), "https" | "http" | "ssh")
        || host.is_empty()
        || !may_start(host)
        || !may_start(url.username())
        || !is_plain
    {
        return Err(wrong());
    }
    if url.password().is_some() || (url.scheme() != "ssh" && !url.username().is_empty()) {
        return Err(Refusal::bad(
            "source_config.repo_url must have no credentials; the git of the service has those of listed repositories.",
        ));
    }
    Ok(())
}

/// Whether it has the short form of SSH, `USER@HOST:PATH`.
fn is_short(text: &str) -> bool {
    let is_word = |part: &str| {
        let is_inner = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty() && !part.starts_with('-') && part.chars().all(is_inner)
    };
    let parts = text.split_once('@').and_then(|(user, rest)| Some((user, rest.split_once(':')?)));
    parts.is_some_and(|(user, (host, path))| {
        let is_path = !path.is_empty() && !path.starts_with(['-', '/', ':']);
        is_word(user) && is_word(host) && is_path && path.chars().all(|c| c.is_ascii_graphic())
    })
}

/// Whether two URLs are those of one repository: hosts are case-insensitive, and `.git` at the end is optional.
pub(super) fn is_same(left: &str, right: &str) -> bool {
    plain(left) == plain(right)
}

fn plain(text: &str) -> String {
    let text = Url::parse(text).map_or_else(|_| text.to_owned(), |url| url.to_string());
    let text = text.trim_end_matches('/');
    text.strip_suffix(".git").unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_other_machines_are_fetched() {
        for url in [
            "https://codehost.example/acme/agent",
            "http://localhost:8080/a.git",
            "ssh://git@codehost.example:22/acme/agent.git",
            "git@codehost.example:acme/agent.git",
        ] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        for url in [
            "",
            "ext::sh -c id",
            "ext://x/sh",
            "file:///etc",
            "file:/etc",
            "/srv/agent.git",
            "agent.git",
            "--upload-pack=id",
            "-oProxyCommand=id@host:x",
            "git@-oProxyCommand=id:x",
            "ssh://-oProxyCommand=id/x",
            "ssh://-oProxyCommand=id@host/x",
            "git://codehost.example/x",
            "https://codehost.example/a b",
            "https:codehost.example/a",
            "https://me:token@codehost.example/a",
            "https://token@codehost.example/a",
            "ssh://git:password@codehost.example/a",
        ] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn urls_of_one_repository_are_the_same() {
        let url = "https://codehost.example/acme/agent";
        for same in ["https://Codehost.example/acme/agent.git", "https://codehost.example:443/acme/agent/"] {
            assert!(is_same(url, same), "{same}");
        }
        for other in ["https://codehost.example/acme/other", "http://codehost.example/acme/agent"] {
            assert!(!is_same(url, other), "{other}");
        }
    }
}
