//! The user and the keys of a deployment in Redis, by redis-cli in a container.

use ring::digest;
use url::Url;

use super::text::decoded;

/// The user of the host in its own Redis.
const HOST_USER: &str = "host";

/// The variable with the users of a new container.
pub(super) const USERS: &str = "USERS";

/// The command of the container: the users are in a file, which outlives a restart. Redis runs as its own user, as with the
/// command of the image.
pub(super) const SERVER: [&str; 3] = [
    "sh",
    "-c",
    r#"cd /data
[ -s users.acl ] || printf '%s\n' "$USERS" > users.acl
set -- redis-server --aclfile /data/users.acl --protected-mode no
if [ "$(id -u)" = 0 ]; then
  chown redis users.acl
  set -- setpriv --reuid=redis --regid=redis --clear-groups "$@"
fi
exec "$@""#,
];

/// The command that succeeds when Redis responds to the host; the password is in its environment.
pub(super) const HEALTH: [&str; 3] = ["sh", "-c", "redis-cli --user host ping | grep -q PONG"];

/// The command that runs the commands in `SCRIPT`, before the arguments of [`connection`].
pub(super) const COMMAND: [&str; 4] =
    ["sh", "-c", r#"printf '%s\n' "$SCRIPT" | exec redis-cli "$@""#, "redis-cli"];

/// What a deployment may do with its own keys and channels. Further commands, such as those of later releases and of
/// modules, are not permitted, and neither are those that show or change what belongs to others: `SCAN` and `RANDOMKEY` are
/// not limited to a user's keys. Release 6 knows `CLIENT` only as a whole, as dangerous.
const PERMITTED: &str = "-@all +@keyspace +@string +@list +@hash +@set +@sortedset +@stream +@bitmap +@hyperloglog \
    +@geo +@pubsub +@transaction +@connection -@admin -@dangerous -scan -randomkey -dbsize -pubsub +pubsub|numsub \
    +eval +evalsha +script|load +script|exists +client|id +client|setname +client|getname +time";

/// Deletes all keys that match a pattern; returns their number.
const DELETE: &str = "local cursor, count = '0', 0 \
    repeat \
      local page = redis.call('SCAN', cursor, 'MATCH', ARGV[1], 'COUNT', 1000) \
      cursor = page[1] \
      for _, key in ipairs(page[2]) do count = count + redis.call('UNLINK', key) end \
    until cursor == '0' \
    return count";

/// Keeps the users beyond a restart, where Redis has a file for them.
const SAVE: &str = "ACL SAVE";

/// The users of a new container: the host, and nobody without a password.
pub(super) fn first_users(password: &str) -> String {
    format!("user default off\nuser {HOST_USER} on #{} ~* &* +@all", digest(password))
}

/// The commands that create these users, or set their passwords and permissions. Each may use the keys and channels with its
/// name and a colon as their prefix.
pub(super) fn set_users(users: &[(String, String)]) -> String {
    let set = users.iter().map(|(name, password)| {
        format!("ACL SETUSER {name} reset on #{} ~{name}:* &{name}:* {PERMITTED}\n", digest(password))
    });
    set.chain([SAVE.to_owned()]).collect()
}

/// The commands that remove a user.
pub(super) fn remove_user(name: &str) -> String {
    format!("ACL DELUSER {name}\n{SAVE}")
}

/// Why a script failed, if it did. A server without a file for its users refuses to save them.
pub(super) fn failure(output: &str) -> Option<&str> {
    let is_done = |line: &&str| line.is_empty() || *line == "OK" || line.parse::<u64>().is_ok();
    output.lines().map(str::trim).find(|line| !is_done(line) && !line.contains("ACL file"))
}

/// Whether a reply of Redis is one that the same command always gets.
pub(super) fn is_refused(reply: &str) -> bool {
    ["NOPERM", "ERR"].iter().any(|word| reply.starts_with(word))
}

/// SHA-256 of a password, from which a random one cannot be computed.
fn digest(password: &str) -> String {
    hex::encode(digest::digest(&digest::SHA256, password.as_bytes()))
}

/// The arguments of redis-cli to connect to the server at `url`, or to the one in its own container.
pub(super) fn connection(url: Option<&Url>) -> Vec<String> {
    let Some(url) = url else { return vec!["--user".to_owned(), HOST_USER.to_owned()] };
    let mut arguments = vec!["-h".to_owned(), url.host_str().unwrap_or_default().to_owned()];
    arguments.extend(["-p".to_owned(), url.port().unwrap_or(6379).to_string()]);
    if !url.username().is_empty() {
        arguments.extend(["--user".to_owned(), decoded(url.username())]);
    }
    if url.scheme() == "rediss" {
        arguments.push("--tls".to_owned());
    }
    let database = url.path().trim_start_matches('/');
    if !database.is_empty() {
        arguments.extend(["-n".to_owned(), database.to_owned()]);
    }
    arguments
}

/// The command that deletes all keys with `prefix`. Prints their number.
pub(super) fn delete(url: Option<&Url>, prefix: &str) -> Vec<String> {
    let mut command = vec!["redis-cli".to_owned()];
    command.extend(connection(url));
    command.extend(["EVAL".to_owned(), DELETE.to_owned(), "0".to_owned(), format!("{prefix}*")]);
    command
}

/// The variables of redis-cli: the password, where no list of processes shows it.
pub(super) fn variables(password: Option<String>) -> Vec<(String, String)> {
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
        let users = set_users(&[("agent_1".to_owned(), "hidden".to_owned())]) + &first_users("hidden");
        assert!(!users.contains("hidden") && users.contains("~agent_1:* &agent_1:* -@all"), "{users}");
    }

    #[test]
    fn a_missing_file_for_users_is_no_failure() {
        let missing =
            "ERR This Redis instance is not configured to use an ACL file. You may want to specify users";
        assert_eq!(failure(&format!("OK\n1\n\n{missing}\n\n")), None);
        assert_eq!(
            failure("OK\nNOPERM this user has no permissions\n"),
            Some("NOPERM this user has no permissions")
        );
    }
}
