//! What one deployment reaches of another and of the host, seen from inside its container, on every engine.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use agentcli_host::runner::{
    ContainerLimits, ContainerState, Databases, EngineRunner, Failure, Launch, Runner, container_name,
};

use super::runner::{OwnHost, READY, create};
use crate::engine::{docker, hosts, try_docker};
use crate::harness::free_port;
use crate::host::runner::until;

/// It listens on a port, and has the clients of both databases.
const IMAGE: &str = "langchain/langgraph-debugger";
/// The port that it listens on.
const PORT: u16 = 3968;

const LIMITS: ContainerLimits = ContainerLimits { memory: 128 << 20, pids: 64 };
const CONNECTIONS: u32 = 3;

/// A deployment that does whatever it likes in its container.
struct Tenant {
    engine: String,
    launch: Launch,
    container: String,
}

impl Tenant {
    async fn start(host: &OwnHost, runner: &EngineRunner, letter: char) -> Self {
        let launch = Launch {
            deployment: format!("00000000-0000-4000-8000-{}", &host.id[..11]) + &letter.to_string(),
            name: format!("{}-{letter}", host.name()),
            image: IMAGE.to_owned(),
            cpus: None,
            memory: None,
            ..host.launch()
        };
        let container = container_name(&launch.name, 1, 0);
        create(runner, &launch).await;
        runner.start(&container).await.unwrap();
        Self { engine: host.engine.clone(), launch, container }
    }

    /// Runs a script in the container; its output, or its errors if it fails.
    fn run(&self, script: &str) -> Result<String, String> {
        try_docker(&self.engine, &["exec", &self.container, "sh", "-c", script])
    }

    fn succeeds(&self, script: &str) -> String {
        self.run(script).unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    fn variable(&self, name: &str) -> String {
        self.succeeds(&format!("printenv {name}")).trim().to_owned()
    }

    /// A command of Redis as the user of the deployment; what it replies, within a second.
    fn redis(&self, command: &str) -> String {
        self.succeeds(&format!(
            r#"timeout 10 redis-cli --no-auth-warning -u "$REDIS_URI" {command} 2>&1 || true"#
        ))
    }

    fn refuses_redis(&self, command: &str) {
        let reply = self.redis(command);
        let reasons = ["NOPERM", "not allowed", "ACL failure"];
        assert!(reasons.iter().any(|reason| reply.contains(reason)), "{command}: {reply}");
    }

    /// A statement of SQL at a URL; its errors.
    fn refuses_sql(&self, url: &str, sql: &str, reason: &str) {
        let refused = self.run(&format!(r#"psql -Atc "{sql}" '{url}'"#));
        assert!(refused.as_ref().is_err_and(|error| error.contains(reason)), "{url} {sql}: {refused:?}");
    }

    fn inspect(&self, format: &str) -> String {
        docker(&self.engine, &["inspect", &self.container, "--format", format]).trim().to_owned()
    }

    fn address(&self) -> String {
        self.inspect("{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
    }

    fn network(&self) -> String {
        self.inspect("{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}")
    }

    fn reaches(&self, host: &str, port: impl std::fmt::Display) -> bool {
        self.run(&format!("timeout 3 bash -c 'exec 3<>/dev/tcp/{host}/{port}'")).is_ok()
    }
}

fn runner(host: &OwnHost, databases: Databases) -> EngineRunner {
    let mut options = host.options(databases.with_connections(CONNECTIONS));
    options.limits = LIMITS;
    EngineRunner::new(options).unwrap()
}

fn own_databases() -> Databases {
    Databases::new(None, None, b"key").unwrap()
}

#[tokio::test]
async fn deployments_reach_neither_each_other_nor_the_host() {
    for engine in hosts() {
        let host = OwnHost::on(engine);
        let first = runner(&host, own_databases());
        let (a, b) = (Tenant::start(&host, &first, 'a').await, Tenant::start(&host, &first, 'b').await);
        separated_in_postgres(&a, &b);
        separated_in_redis(&a, &b);
        separated_in_the_network(&a, &b).await;
        confined(&a);
        // The users of Redis outlive its restart.
        let redis = format!("agentcli-host-{}-langgraph-redis", host.id);
        docker(&host.engine, &["restart", "-t", "5", &redis]);
        let set = r#"SET "$REDIS_KEY_PREFIX"x 1"#;
        until("Redis", READY, || a.redis(set).contains("OK")).await;
        // A new container gets them from the next process of the host, and later from the same.
        let next = runner(&host, own_databases());
        for _ in 0..2 {
            docker(&host.engine, &["rm", "-fv", &redis]);
            let start = Instant::now();
            while !a.redis(set).contains("OK") {
                assert!(start.elapsed() < READY);
                next.stop(&b.container, Duration::ZERO).await.unwrap();
                match next.start(&b.container).await {
                    Ok(()) | Err(Failure::Unavailable(_)) => {}
                    refused => panic!("{refused:?}"),
                }
            }
            assert!(b.redis(set).contains("OK"));
        }
        // Nothing is left of a deployment.
        next.remove(&b.container).await.unwrap();
        next.forget(&b.launch.deployment).await.unwrap();
        let label = format!("label=agentcli.host={}", host.id);
        let networks = docker(&host.engine, &["network", "ls", "--filter", &label, "--format", "{{.Name}}"]);
        assert!(networks.contains(&a.network()) && !networks.contains(&b.launch.deployment), "{networks}");
        let users = docker(&host.engine, &["exec", &redis, "cat", "/data/users.acl"]);
        assert_eq!(users.matches("user agent_").count(), 1, "{users}");
    }
}

fn separated_in_postgres(a: &Tenant, b: &Tenant) {
    let (own, other) = (a.variable("POSTGRES_URI"), b.variable("POSTGRES_URI"));
    let sql = |url: &str, sql: &str| a.succeeds(&format!(r#"psql -Atc "{sql}" '{url}'"#));
    assert_eq!(sql(&own, "CREATE TABLE t (v vector(2)); SELECT 1"), "CREATE TABLE\n1\n");
    let database = |url: &str| url.rsplit_once('/').unwrap().1.split('?').next().unwrap().to_owned();
    for name in [database(&other), "postgres".to_owned(), "template1".to_owned()] {
        let url = own.replace(&format!("/{}?", database(&own)), &format!("/{name}?"));
        a.refuses_sql(&url, "SELECT 1", "permission denied for database");
    }
    // Without the password of the other one.
    let foreign =
        other.replace(other.split('@').next().unwrap(), &format!("postgres://{}:x", database(&other)));
    a.refuses_sql(&foreign, "SELECT 1", "authentication failed");
    for statement in ["CREATE ROLE more", "CREATE DATABASE more", "COPY pg_class TO PROGRAM 'cat'"] {
        a.refuses_sql(&own, statement, "permission denied");
    }
    // The limit of connections: each of these holds one until its input ends.
    let hold = r#"mkfifo /tmp/hold; sleep 60 > /tmp/hold & holder=$!
        for i in 1 2 3; do (echo 'SELECT 1;'; cat) < /tmp/hold | psql -At "$POSTGRES_URI" > /tmp/out$i & done
        for i in 1 2 3; do until [ -s /tmp/out$i ]; do sleep 0.1; done; done
        psql -Atc 'SELECT 2' "$POSTGRES_URI" 2>&1; kill $holder; wait; rm /tmp/hold /tmp/out*"#;
    let printed = a.succeeds(hold);
    assert!(printed.contains("too many connections for role"), "{printed}");
    assert_eq!(sql(&own, "SELECT 1"), "1\n");
}

fn separated_in_redis(a: &Tenant, b: &Tenant) {
    let [own, other] = [a, b].map(|tenant| tenant.variable("REDIS_KEY_PREFIX"));
    assert_eq!(b.redis(&format!("SET {other}secret value")), "OK\n");
    for allowed in [
        "SET {own}x 1",
        "EXPIRE {own}x 100",
        "RPUSH {own}l 1",
        "BLPOP {own}l 1",
        "XADD {own}s '*' a 1",
        "XREAD COUNT 1 STREAMS {own}s 0",
        "PUBLISH {own}c 1",
        "EVAL 'return redis.call(\"GET\", KEYS[1])' 1 {own}x",
        "SCRIPT LOAD 'return 1'",
        "CLIENT SETNAME server",
        "PING",
    ] {
        let reply = a.redis(&allowed.replace("{own}", &own));
        assert!(!reply.contains("NOPERM") && !reply.contains("ERR"), "{allowed}: {reply}");
    }
    assert!(a.redis(&format!("SUBSCRIBE {own}c")).contains("subscribe\n"));
    for refused in [
        "GET {other}secret",
        "EVAL 'return redis.call(\"GET\", KEYS[1])' 1 {other}secret",
        "EVAL 'return redis.call(\"GET\", \"{other}secret\")' 0",
        "EVAL 'return redis.call(\"SCAN\", 0)' 0",
        "RENAME {other}secret {own}secret",
        "PUBLISH {other}c x",
        "SUBSCRIBE {other}c",
        "PSUBSCRIBE '*'",
        "PUBSUB CHANNELS",
        "KEYS '*'",
        "SCAN 0",
        "RANDOMKEY",
        "DBSIZE",
        "FLUSHALL",
        "FLUSHDB",
        "SWAPDB 0 1",
        "CONFIG GET '*'",
        "MODULE LIST",
        "DEBUG SLEEP 0",
        "ACL LIST",
        "CLIENT LIST",
        "CLIENT KILL TYPE normal",
        "SCRIPT FLUSH",
        "FUNCTION FLUSH",
        "SHUTDOWN",
        "REPLICAOF 127.0.0.1 1",
        "MIGRATE 127.0.0.1 1 {own}x 0 1",
        "MONITOR",
        "SLOWLOG GET",
        "INFO",
    ] {
        a.refuses_redis(&refused.replace("{own}", &own).replace("{other}", &other));
    }
    let nobody = a.succeeds("redis-cli -h langgraph-redis PING 2>&1");
    assert!(nobody.contains("NOAUTH"), "{nobody}");
    assert_eq!(b.redis(&format!("GET {other}secret")), "value\n");
}

async fn separated_in_the_network(a: &Tenant, b: &Tenant) {
    until("the servers", READY, || [a, b].iter().all(|it| it.reaches("127.0.0.1", PORT))).await;
    assert!(a.reaches(&a.address(), PORT));
    assert_ne!(a.network(), b.network());
    for host in [&b.address(), &b.container] {
        assert!(!a.reaches(host, PORT), "{host}");
    }
    // What the other one and this machine listen on, at the address of the bridges.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let published = b.inspect(r#"{{(index (index .NetworkSettings.Ports "8000/tcp") 0).HostPort}}"#);
    let format = "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}";
    for gateway in [a.inspect(format), b.inspect(format)] {
        for port in [published.clone(), listener.local_addr().unwrap().port().to_string()] {
            assert!(!a.reaches(&gateway, &port), "{gateway}:{port}");
        }
    }
}

fn confined(a: &Tenant) {
    let status = a.succeeds("cat /proc/self/status /proc/1/status");
    for line in ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"] {
        assert_eq!(status.matches(line).count(), 2, "{status}");
    }
    let forks = a.succeeds("(for i in $(seq 200); do sleep 600 > /dev/null 2>&1 & done) 2>&1; true");
    assert!(forks.contains("fork"), "{forks}");
    assert!(try_docker(&a.engine, &["restart", "-t", "0", &a.container]).is_ok());
    let eaten = a.run("head -c 1G /dev/zero | tail -c 1G | wc -c").unwrap_or_default();
    assert_ne!(eaten.trim(), (1 << 30).to_string());
    assert_eq!(a.inspect("{{.HostConfig.Memory}}"), LIMITS.memory.to_string());
}

#[tokio::test]
async fn what_an_earlier_version_left_is_replaced_and_a_busy_postgres_is_waited_for() {
    let host = OwnHost::new();
    let labels = |more: &[&str]| -> Vec<String> {
        let own = format!("agentcli.host={}", host.id);
        [&own[..]].iter().chain(more).flat_map(|label| ["--label".to_owned(), (*label).to_owned()]).collect()
    };
    let docker_with = |before: &[&str], labels: Vec<String>, after: &[&str]| {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        docker(&host.engine, &[before, &labels[..], after].concat())
    };
    // Its containers, and the network of a deployment that is not there any more.
    let redis = format!("agentcli-host-{}-langgraph-redis", host.id);
    docker_with(&["run", "-d", "--name", &redis], labels(&["agentcli.role=langgraph-redis"]), &["redis:6"]);
    let network = format!("agentcli-host-{}-gone", host.id);
    // The block that networks are cut from: the engine may have addresses left for a few only.
    let block = ["network", "create", "--subnet", "10.213.64.0/24"];
    docker_with(&block, labels(&["agentcli.deployment=gone", "agentcli.block=10.213.64.0/22"]), &[&network]);
    let revision = ["agentcli.deployment=old", "agentcli.revision=old", "agentcli.replica=0"];
    let old = labels(&[&revision[..], &["agentcli.health-check=/ok"]].concat());
    let name = format!("{}-old", host.name());
    docker_with(&["run", "-d", "--name", &name], old, &[IMAGE]);
    let runner = runner(&host, own_databases());
    let seen = runner.observe().await.unwrap();
    assert_eq!((seen.len(), seen[0].state), (1, ContainerState::Broken));
    runner.remove(&name).await.unwrap();

    let a = Tenant::start(&host, &runner, 'a').await;
    assert!(a.redis(r#"SET "$REDIS_KEY_PREFIX"x 1"#).contains("OK"));
    assert!(try_docker(&host.engine, &["network", "inspect", &network]).is_err());
    assert!(a.address().starts_with("10.213.6"), "{}", a.address());
    // Somebody uses the template of databases, and several deployments begin at once.
    let postgres = format!("agentcli-host-{}-langgraph-postgres", host.id);
    let psql = ["psql", "-U", "postgres", "-d", "template1", "-c", "SELECT pg_sleep(600)"];
    docker(&host.engine, &[&["exec", "-d", &postgres][..], &psql].concat());
    let activity =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(600)' AND pid <> pg_backend_pid()";
    let count = ["exec", &postgres, "psql", "-U", "postgres", "-Atc", activity];
    until("the session", READY, || docker(&host.engine, &count).trim() == "1").await;
    let started = ['b', 'c', 'd'].map(|letter| Tenant::start(&host, &runner, letter));
    for tenant in futures_util::future::join_all(started).await {
        assert_eq!(tenant.succeeds(r#"psql -Atc 'SELECT 1' "$POSTGRES_URI""#), "1\n");
    }
}

#[tokio::test]
async fn given_redis_gets_a_user_for_each_deployment() {
    let host = OwnHost::new();
    let (label, publish) = (format!("agentcli.host={}", host.id), format!("{}:6379", free_port()));
    let server = ["redis:6", "redis-server", "--bind", "*", "--requirepass", "o:wn"];
    let run = ["run", "-d", "--label", &label, "-p", &publish];
    let given = docker(&host.engine, &[&run[..], &server].concat());
    let cli = |command: &[&str]| {
        let prefix = ["exec", "-e", "REDISCLI_AUTH=o:wn", given.trim(), "redis-cli"];
        try_docker(&host.engine, &[&prefix[..], command].concat()).unwrap_or_default()
    };
    until("Redis", READY, || cli(&["PING"]).contains("PONG")).await;
    let gateway = ["network", "inspect", "bridge", "-f", "{{(index .IPAM.Config 0).Gateway}}"];
    let gateway = docker(&host.engine, &gateway);
    let (gateway, port) = (gateway.trim(), publish.split(':').next().unwrap());
    let databases = |user: &str| {
        let uri = format!("redis://{user}o%3Awn@{gateway}:{port}/0");
        Databases::new(None, Some(&uri), b"key").unwrap()
    };
    cli(&["ACL", "SETUSER", "operator", "on", ">o:wn", "~*", "&*", "+@all", "-acl"]);
    let launch = Launch { image: IMAGE.to_owned(), ..host.launch() };
    let refused = loop {
        match runner(&host, databases("operator:")).create(launch.clone()).await {
            Err(Failure::Unavailable(_)) => {}
            refused => break refused,
        }
    };
    let Err(Failure::Refused(reason)) = &refused else { panic!("{refused:?}") };
    assert!(reason.contains("NOPERM") && reason.contains("--redis-shared-user"), "{reason}");
    let own = runner(&host, databases(":"));
    let a = Tenant::start(&host, &own, 'a').await;
    let users = cli(&["ACL", "LIST"]);
    assert!(users.contains("user agent_") && !users.contains("nopass"), "{users}");
    assert!(
        a.variable("REDIS_URI").starts_with("redis://agent_") && !a.variable("REDIS_URI").contains("wn@")
    );
    own.stop(&a.container, Duration::ZERO).await.unwrap();
    own.remove(&a.container).await.unwrap();
    own.forget(&a.launch.deployment).await.unwrap();
    assert!(!cli(&["ACL", "LIST"]).contains("user agent_"));
    let shared = databases("operator:").with_shared_redis_user();
    let b = Tenant::start(&host, &runner(&host, shared), 'b').await;
    assert!(b.variable("REDIS_URI").starts_with("redis://operator:"));
}
