//! The keys of a deployment in Redis, by redis-cli in a container.

use url::Url;

use super::decoded;

/// Deletes all keys that match a pattern; returns their number.
const DELETE: &str = "local cursor, count = '0', 0 \
    repeat \
      local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 1000) \
      cursor = page[1] \
      for _, key in ipairs(page[2]) do count = count + redis.call('UNLINK', key) end \
    until cursor == '0' \
    return count";

/// The command that deletes all keys with `prefix` at `url`, or in its own container. Prints their number.
pub(super) fn delete(url: Option<&Url>, prefix: &str) -> Vec<String> {
    let mut command = vec!["redis-cli".to_owned()];
    if let Some(url) = url {
        command.extend(["-h".to_owned(), url.host_str().unwrap_or_default().to_owned()]);
        command.extend(["-p".to_owned(), url.port().unwrap_or(6379).to_string()]);
        if !url.username().is_empty() {
            command.extend(["--user".to_owned(), decoded(url.username())]);
        }
        if url.scheme() == "rediss" {
            command.push("--tls".to_owned());
        }
        let database = url.path().trim_start_matches('/');
        if !database.is_empty() {
            command.extend(["-n".to_owned(), database.to_owned()]);
        }
    }
    command.extend(["EVAL".to_owned(), DELETE.to_owned(), "0".to_owned(), format!("{prefix}*")]);
    command
}

/// The variables of redis-cli: the password, where no list of processes shows it.
pub(super) fn variables(url: Option<&Url>) -> Vec<(String, String)> {
    let password = url.and_then(Url::password).map(decoded);
    password.map(|password| ("REDISCLI_AUTH".to_owned(), password)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_is_not_an_argument() {
        let url = Url::parse("rediss://user:hid%40den@redis.example:7000/3").unwrap();
        let command = delete(Some(&url), "agent_1:").join(" ");
        assert!(
            command.starts_with("redis-cli -h redis.example -p 7000 --user user --tls -n 3 EVAL"),
            "{command}"
        );
        assert!(command.ends_with(" 0 agent_1:*") && !command.contains("hid"), "{command}");
        assert_eq!(variables(Some(&url)), [("REDISCLI_AUTH".to_owned(), "hid@den".to_owned())]);
        assert_eq!(variables(None), []);
    }
}
