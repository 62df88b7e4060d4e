//! Tenants that try to reach the images, the caches and the services of others, on real engines.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use agentcli::engine::{Engine, EngineEnv};
use agentcli_host::AllowedImages;
use agentcli_host::runner::{
    BuildJob, ContainerState, ContainerStatus, Databases, EngineRunner, Failure, Launch, PullFrom, PullJob,
    Runner, image_tag,
};
use serde_json::json;
use tempfile::TempDir;

use super::runner::{OwnHost, log};
use crate::engine::{BASE, docker, hosts, try_docker};
use crate::harness::PATIENCE;

/// Builds a project with these `dockerfile_lines` and perhaps another base image.
async fn job(host: &OwnHost, base: Option<&str>, lines: &[String]) -> BuildJob {
    let project = TempDir::new().unwrap();
    let mut config = json!({
        "dependencies": ["."],
        "graphs": { "agent": "./agent.py:graph" },
        "dockerfile_lines": lines,
    });
    if let Some(base) = base {
        config["base_image"] = base.into();
    }
    for (name, text) in [
        ("agent.json", config.to_string().as_str()),
        ("agent.py", "graph = object()\n"),
        ("requirements.txt", ""),
    ] {
        fs::write(project.path().join(name), text).unwrap();
    }
    host.job(project.path()).await
}

fn runner(host: &OwnHost, allowed: &[&str]) -> EngineRunner {
    let mut options = host.options(Databases::new(None, None, b"key").unwrap());
    let allowed: Vec<String> = allowed.iter().map(|image| (*image).to_owned()).collect();
    options.allowed_images = AllowedImages::new(&allowed).unwrap();
    EngineRunner::new(options).unwrap()
}

/// The reason why a build is refused, and its log.
async fn refusal(runner: &EngineRunner, job: BuildJob, what: &str) -> (String, String) {
    let (sink, lines) = log();
    let failed = tokio::time::timeout(PATIENCE, runner.build(job, sink)).await.unwrap();
    let lines = lines.lock().unwrap().join("\n");
    let Err(Failure::Refused(reason)) = failed else { panic!("{what}: {failed:?}\n{lines}") };
    (reason, lines)
}

/// Whether the engine decides about the sources of builds.
async fn decides(engine: &str) -> bool {
    let env = EngineEnv { host: Some(engine.to_owned()), ..EngineEnv::default() };
    Engine::connect(&env).await.unwrap().has_source_policies().await.unwrap()
}

/// Local images of the operator and of another tenant; they go with this.
struct Images {
    engine: String,
    operator: String,
    victim: String,
}

impl Images {
    fn new(host: &OwnHost) -> Self {
        let engine = host.engine.clone();
        let operator = format!("operator-{}.invalid/secret:1", host.id);
        let victim = image_tag(&host.id, "victim.12345678", 1);
        for name in [&operator, &victim] {
            docker(&engine, &["tag", BASE, name]);
        }
        Self { engine, operator, victim }
    }
}

impl Drop for Images {
    fn drop(&mut self) {
        for name in [&self.operator, &self.victim] {
            try_docker(&self.engine, &["rmi", name]).ok();
        }
    }
}

#[tokio::test]
async fn local_images_of_others_are_not_used() {
    for engine in hosts() {
        let host = OwnHost::on(engine.clone());
        let Images { operator, victim, .. } = &Images::new(&host);
        let id = docker(&engine, &["image", "inspect", "-f", "{{.Id}}", operator]);
        let (id, tenant) = (id.trim().strip_prefix("sha256:").unwrap(), runner(&host, &[]));
        let names = [operator, victim, &id[..12], id, &format!("localhost/{victim}")];
        for name in names {
            for lines in [
                vec![format!("FROM {name}")],
                vec![format!("from {name} as x"), format!("FROM {BASE}")],
                vec![format!("COPY --from={name} /etc/hostname /stolen")],
                vec![format!(
                    "RUN --mount=type=bind,from={name},target=/other cp /other/etc/hostname /stolen"
                )],
            ] {
                let job = job(&host, None, &lines).await;
                let (reason, lines) = refusal(&tenant, job, &format!("{engine}: {lines:?}")).await;
                // Nothing was built.
                assert!(!lines.contains("build context") && !reason.contains("sha256:"), "{reason}\n{lines}");
            }
        }
        for lines in [
            format!("FROM scratch AS later\nCOPY \\\n  # comment\n  --from={operator} /etc/hostname /x"),
            format!("COPY --fr\\\nom={operator} /etc/hostname /x"),
            format!("COPY --\"from\"={operator} /etc/hostname /x"),
            format!("ONBUILD COPY --from={operator} /etc/hostname /x"),
            format!(
                "RUN --mount=type=tmpfs,target=/tmp/à--mount=from={operator},target=/x cat /x/etc/hostname"
            ),
            format!("RUN --mount=target=/x\u{2003}y,from={operator},type=bind cat /x*/etc/hostname"),
            format!("RUN --mount=target=/x\u{85}--mount=from={operator},target=/y cat /y/etc/hostname"),
            format!("RUN --mount=type=bind,\"from={operator}\",target=/x cat /x/etc/hostname"),
            "ADD --chown=àhttp://127.0.0.1:1/ /x".to_owned(),
            "RUN --network=host true".to_owned(),
            "RUN --security=insecure true".to_owned(),
            format!("ARG X={operator}\nFROM $X"),
            format!("FROM ${{X:-{operator}}}"),
            format!("# syntax={operator}\nFROM {operator}"),
            "ADD http://127.0.0.1:1/ /x".to_owned(),
        ] {
            refusal(
                &tenant,
                job(&host, None, std::slice::from_ref(&lines)).await,
                &format!("{engine}: {lines:?}"),
            )
            .await;
        }
        for base in [operator, victim] {
            refusal(&tenant, job(&host, Some(base), &[]).await, &format!("{engine}: base {base}")).await;
        }

        let tag = image_tag(&host.id, &host.name(), 2);
        let pull =
            |image: &str| PullJob { image: image.to_owned(), tag: tag.clone(), from: PullFrom::Elsewhere };
        for name in [
            operator,
            victim,
            &id[..6],
            id,
            &format!("sha256:{id}"),
            "127.0.0.1:1/secret:1",
            "ip6-localhost:1/secret:1",
        ] {
            let found = tenant.resolve(&pull(name)).await;
            assert!(matches!(&found, Err(Failure::Refused(_))), "{engine}: {name}: {found:?}");
        }
        // Not even if the name were not resolved.
        assert!(tenant.pull(pull(operator), log().0).await.is_err(), "{engine}");
        assert!(!tenant.has_image(&tag).await.unwrap(), "{engine}");

        // The operator can permit it.
        let permissive = runner(&host, &[&format!("operator-{}.invalid/*", host.id)]);
        assert_eq!(permissive.resolve(&pull(operator)).await.as_deref(), Ok(&**operator), "{engine}");
        permissive.pull(pull(operator), log().0).await.unwrap();
        assert!(permissive.has_image(&tag).await.unwrap(), "{engine}");
        assert!(permissive.resolve(&pull(victim)).await.is_err(), "{engine}");
        let lines = vec![format!("COPY --from={operator} /etc/hostname /x"), "RUN exit 7".to_owned()];
        let (reason, lines) = refusal(&permissive, job(&host, None, &lines).await, &engine).await;
        if decides(&engine).await {
            assert!(
                reason.contains("exit 7") && lines.contains("build context"),
                "{engine}: {reason}\n{lines}"
            );
        } else {
            assert!(reason.contains("does not decide about the sources"), "{engine}: {reason}\n{lines}");
        }
    }
}

#[tokio::test]
async fn cache_mounts_of_tenants_are_apart() {
    for engine in hosts() {
        let (host, number) = (OwnHost::on(engine.clone()), OwnHost::new().id.clone());
        let tenant = runner(&host, &[]);
        if !decides(&engine).await {
            let lines = ["RUN --mount=type=cache,target=/shared true".to_owned()];
            let (reason, _) = refusal(&tenant, job(&host, None, &lines).await, &engine).await;
            assert!(reason.contains("does not decide about the sources"), "{engine}: {reason}");
            continue;
        }
        // The directory that packages are installed from, by its own name and by its ID.
        let mounts = "--mount=type=cache,target=/root/.cache/uv --mount=type=cache,id=/root/.cache/uv,target=/by-id \
                      --mount=type=cache,id=shared,target=/shared";
        let build = async |cache: &str, script: String| {
            let lines = ["ARG BUILDKIT_CACHE_MOUNT_NS=victim".to_owned(), format!("RUN {mounts} {script}")];
            let job = BuildJob { cache: cache.to_owned(), ..job(&host, None, &lines).await };
            refusal(&tenant, job, &engine).await.1
        };
        let (victim, attacker) = (format!("victim-{number}"), format!("attacker-{number}"));
        let look = |who: &str| {
            let found = "ls /root/.cache/uv /by-id /shared | grep -c poison";
            format!("echo {who} {number} found $({found}) && exit 7")
        };
        let poison = format!(
            "touch /root/.cache/uv/poison /by-id/poison-id /shared/poison && echo {number} && exit 7"
        );
        build(&attacker, poison).await;
        let seen = build(&victim, look("victim")).await;
        assert!(seen.contains(&format!("victim {number} found 0")), "{engine}: {seen}");
        // The caches are kept.
        let seen = build(&attacker, look("attacker")).await;
        let own = format!("attacker {number} found ");
        let found = seen.lines().find_map(|line| line.strip_prefix(&own)?.parse::<u32>().ok());
        assert!(found.is_some_and(|count| count >= 3), "{engine}: {seen}");
    }
}

#[tokio::test]
async fn mount_prefix_that_leads_elsewhere_is_refused() {
    let host = OwnHost::new();
    let tenant = runner(&host, &[]);
    let launch = |prefix: &str| Launch {
        image: BASE.to_owned(),
        environment: vec![("MOUNT_PREFIX".to_owned(), prefix.to_owned())],
        ..host.launch()
    };
    for prefix in ["@127.0.0.1:18777/x?y=", ".example:1/x", "/x?y=", "/x#", "/x y"] {
        let refused = tenant.create(launch(prefix)).await;
        let Err(Failure::Refused(reason)) = &refused else { panic!("{prefix}: {refused:?}") };
        assert!(reason.contains("the mount prefix is not a path") && !reason.contains(prefix), "{reason}");
    }
    assert_eq!(host.containers(), "");
}

/// Answers every request with `answer` and then with `rest` without end; the number of requests.
fn server(answer: String, rest: &'static [u8]) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Ordering::SeqCst);
            let answer = answer.clone();
            thread::spawn(move || respond(&mut stream, &answer, rest));
        }
    });
    (address, count)
}

fn respond(stream: &mut TcpStream, answer: &str, rest: &[u8]) -> Option<()> {
    let mut head = [0; 4096];
    // One read is enough for the small requests of probes.
    let _ = stream.read(&mut head).ok()?;
    stream.write_all(answer.as_bytes()).ok()?;
    while !rest.is_empty() {
        stream.write_all(rest).ok()?;
    }
    Some(())
}

#[tokio::test]
async fn probes_ask_only_the_server_of_the_container() {
    let tenant = runner(&OwnHost::new(), &[]);
    let body = r#"{"version": "secret"}"#;
    let ok = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    let (internal, asked) = server(ok.clone(), b"");
    let status = |address: SocketAddr, health_check: &str| ContainerStatus {
        name: "c".to_owned(),
        deployment: "d".to_owned(),
        revision: "r".to_owned(),
        replica: 0,
        state: ContainerState::Running,
        address: Some(address),
        health_check: health_check.to_owned(),
    };
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{internal}/info\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let (redirecting, redirected) = server(redirect, b"");
    // The label of a container that an older version made.
    let odd = format!("@{internal}/x?y=/ok");
    for status in [
        status(redirecting, "/ok"),
        status(redirecting, &odd),
        status(SocketAddr::from(([127, 0, 0, 1], 1)), &odd),
    ] {
        assert!(!tenant.probe(&status).await, "{status:?}");
        assert_eq!(tenant.version(&status).await, None, "{status:?}");
    }
    assert_eq!((asked.load(Ordering::SeqCst), redirected.load(Ordering::SeqCst)), (0, 2));
    let own = status(internal, "/ok");
    assert!(tenant.probe(&own).await);
    assert_eq!(tenant.version(&own).await.as_deref(), Some("secret"));

    let endless = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n".to_owned();
    let (endless, _) = server(endless, &[b' '; 65536]);
    let endless = status(endless, "/ok");
    assert!(tenant.probe(&endless).await, "the status is enough");
    assert_eq!(tenant.version(&endless).await, None);
    let long = format!("{{\"version\": \"{}\"}}", "1".repeat(1000));
    let long =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{long}", long.len());
    assert_eq!(tenant.version(&status(server(long, b"").0, "/ok")).await, None);
}
