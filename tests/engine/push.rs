//! Pushing to a real registry that wants a password, and through an engine that breaks off.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use agentcli::engine::{Engine, Error, Login, PushRequest, Pushed, Refusal, RegistryUser};
use agentcli::live::{Event, Level, Stop};
use tempfile::TempDir;

use super::{BASE, build, docker, env, fresh, hosts, request, wait};
use crate::harness::free_port;
use crate::registry::{PASSWORD, Registry, USER};

/// How long an engine may be silent on a machine that does other things.
const SILENCE: Duration = Duration::from_secs(60);

/// An image of one small layer that no registry has; it goes with the test.
struct Image<'a> {
    host: &'a str,
    name: String,
}

impl<'a> Image<'a> {
    fn make(host: &'a str) -> Self {
        let root = TempDir::new().unwrap();
        let number = fresh();
        std::fs::write(root.path().join("file"), format!("{number}")).unwrap();
        let name = format!("agentcli-test-push-{number}:1");
        let request = agentcli::engine::BuildRequest {
            tags: vec![name.clone()],
            ..request(root.path(), "FROM scratch\nCOPY file /\n")
        };
        build(host, request).0.unwrap();
        Self { host, name }
    }
}

impl Drop for Image<'_> {
    fn drop(&mut self) {
        std::process::Command::new("docker").args(["-H", self.host, "rmi", "-f", &self.name]).output().ok();
    }
}

fn push(host: &str, request: &PushRequest) -> (Result<Pushed, Error>, Vec<Event>) {
    let mut events = Vec::new();
    let pushed = wait(async {
        let engine = Engine::connect(&env(host)).await.unwrap();
        engine.push(request, |event| events.push(event), &Stop::default()).await
    });
    (pushed, events)
}

fn is_retry(event: &Event) -> bool {
    matches!(event, Event::Warning { message } if message.ends_with("; retrying the push"))
}

fn login(password: &str) -> Option<Login> {
    Some(Login { user: USER.to_owned(), password: password.to_owned() })
}

fn names(host: &str, registry: &Registry) -> String {
    docker(host, &["images", "-q", &format!("{}/*/*", registry.address)])
}

/// Neither a local image of the name nor a login of the operator matters.
#[test]
fn public_digest_is_what_the_registry_gives_to_anybody() {
    let (open, closed) = (Registry::start_open(), Registry::start());
    for host in &hosts() {
        let image = Image::make(host);
        let name = format!("{}/public/app:1", open.address);
        let (repository, tag) = name.rsplit_once(':').unwrap();
        let request = PushRequest {
            image: image.name.clone(),
            repository: repository.to_owned(),
            tag: tag.to_owned(),
            login: None,
            silence: SILENCE,
        };
        let pushed = push(host, &request).0.unwrap();
        // Another local image has the name.
        docker(host, &["tag", BASE, &name]);
        let asked =
            |name: &str| wait(async { Engine::connect(&env(host)).await.unwrap().public_digest(name).await });
        assert_eq!(asked(&name).unwrap(), pushed.digest);
        let id = |name: &str| docker(host, &["image", "inspect", "-f", "{{.Id}}", name]);
        assert_eq!(id(&name), id(BASE));
        let pinned = format!("{repository}@{}", pushed.digest);
        wait(async {
            let engine = Engine::connect(&env(host)).await.unwrap();
            engine.pull_as(&pinned, RegistryUser::Anonymous, |_| ()).await.unwrap();
            assert_eq!(engine.build_triggers(&pinned).await.unwrap(), Vec::<String>::new());
        });
        assert_eq!(id(&pinned), id(&image.name));
        assert_eq!(id(&name), id(BASE), "the local name has moved");
        docker(host, &["rmi", "-f", &name, &pinned]);
        let missing = asked(&format!("{}/public/none:1", open.address));
        assert!(matches!(missing, Err(Error::Pull { unauthorized: false, .. })), "{missing:?}");
        let private = asked(&format!("{}/private/app:1", closed.address));
        assert!(matches!(private, Err(Error::Pull { unauthorized: true, .. })), "{private:?}");
    }
}

#[test]
fn the_digest_is_the_registrys_own() {
    let registry = Registry::start();
    for host in hosts() {
        let image = Image::make(&host);
        let repository = format!("{}/team/agent", registry.address);
        let request = PushRequest {
            image: image.name.clone(),
            repository: repository.clone(),
            tag: "v1".to_owned(),
            login: login(PASSWORD),
            silence: SILENCE,
        };
        let (pushed, events) = push(&host, &request);
        let pushed = pushed.unwrap();
        assert_eq!(pushed.repository, repository);
        assert_eq!(registry.digest("team/agent", "v1"), Some(pushed.digest.clone()), "{host}");
        let advanced = |it: &Event| matches!(it, Event::Push { layers: 1, .. });
        assert!(events.iter().any(advanced), "{host}: {events:?}");
        assert_eq!(names(&host, &registry), "", "{host}: the name that was needed for it is left");

        let (again, events) = push(&host, &request);
        assert_eq!(again.unwrap().digest, pushed.digest, "{host}");
        let sends_nothing = |it: &Event| matches!(it, Event::Push { total: 0, .. });
        assert!(events.iter().all(sends_nothing), "{host}: {events:?}");
    }
}

#[test]
fn wrong_credentials_are_told_apart_and_not_told() {
    let registry = Registry::start();
    for host in hosts() {
        let image = Image::make(&host);
        for login in [None, login("wrong-secret")] {
            let request = PushRequest {
                image: image.name.clone(),
                repository: format!("{}/team/agent", registry.address),
                tag: "v1".to_owned(),
                login,
                silence: SILENCE,
            };
            let error = push(&host, &request).0.unwrap_err();
            let is_unauthorized = matches!(error, Error::Push { refusal: Refusal::Unauthorized, .. });
            assert!(is_unauthorized, "{host}: {error}");
            assert!(!format!("{error} {error:?} {:?}", error.hint()).contains("wrong-secret"));
            assert_eq!(agentcli::error::Error::from(error).exit_code(), 3);
            assert_eq!(names(&host, &registry), "", "{host}");
        }
    }
}

#[test]
fn a_name_that_was_there_before_stays_what_it_was() {
    let host = hosts().pop().unwrap();
    let registry = Registry::start();
    let image = Image::make(&host);
    let repository = format!("{}/team/agent", registry.address);
    let name = format!("{repository}:v1");
    docker(&host, &["tag", BASE, &name]);
    let request = PushRequest {
        image: image.name.clone(),
        repository,
        tag: "v1".to_owned(),
        login: login(PASSWORD),
        silence: SILENCE,
    };
    let pushed = push(&host, &request).0.unwrap();
    let id = |name: &str| docker(&host, &["inspect", "-f", "{{.Id}}", name]);
    let (left, base) = (id(&name), id(BASE));
    docker(&host, &["rmi", "-f", &name, &format!("{}@{}", pushed.repository, pushed.digest)]);
    assert_eq!(left, base);
}

#[test]
fn no_image_and_no_registry() {
    let host = hosts().pop().unwrap();
    let closed = format!("127.0.0.1:{}", free_port());
    let mut request = PushRequest {
        image: "agentcli-test-there-is-none:1".to_owned(),
        repository: format!("{closed}/x"),
        tag: "v1".to_owned(),
        login: None,
        silence: SILENCE,
    };
    assert!(matches!(push(&host, &request).0, Err(Error::NoImage { .. })));
    let image = Image::make(&host);
    request.image = image.name.clone();
    let (pushed, events) = push(&host, &request);
    let error = pushed.unwrap_err();
    assert!(matches!(error, Error::Push { refusal: Refusal::Unavailable, .. }), "{error}");
    assert_eq!(agentcli::error::Error::from(error).exit_code(), 4);
    assert_eq!(events.iter().filter(|event| is_retry(event)).count(), 2);
}

#[test]
fn an_interrupted_push_removes_its_tag() {
    let host = hosts().pop().unwrap();
    let registry = Registry::start();
    let repository = format!("{}/team/agent", registry.address);
    // Large enough not to be there at once.
    let request = PushRequest {
        image: BASE.to_owned(),
        repository,
        tag: "v1".to_owned(),
        login: login(PASSWORD),
        silence: SILENCE,
    };
    let interrupted = wait(async {
        let engine = Engine::connect(&env(&host)).await.unwrap();
        let stop = Stop::default();
        engine
            .push(
                &request,
                |_| {
                    if stop.level() == Level::Running {
                        stop.raise()
                    }
                },
                &stop,
            )
            .await
    });
    assert!(matches!(interrupted, Err(Error::Interrupted(_))));
    assert_eq!(names(&host, &registry), "");
    assert_eq!(registry.digest("team/agent", "v1"), None);
}

/// An engine whose first answer to a push breaks off, as when its connection does.
fn forgetful(digest: &str) -> (String, TempDir) {
    let directory = TempDir::new().unwrap();
    let socket = directory.path().join("engine.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let line = format!("{{\"status\":\"v1: digest: {digest} size: 528\"}}\r\n");
    thread::spawn(move || {
        let mut pushes = 0;
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            pushes += usize::from(head.contains("/push?"));
            let (status, body) = match &head {
                head if head.contains("/push?") && pushes == 1 => {
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{}").ok();
                    continue;
                }
                head if head.contains("/push?") => ("200 OK", &*line),
                head if head.contains("/tag?") => ("201 Created", ""),
                head if head.starts_with("DELETE") => ("200 OK", "[]"),
                head if head.contains("/_ping") => ("200 OK", "OK"),
                _ => ("404 Not Found", "{\"message\":\"no such image\"}"),
            };
            // The line end comes by itself, as it does now and then.
            let (line, end) = body.split_at(body.trim_end().len());
            let pieces = [line, end].into_iter().filter(|piece| !piece.is_empty());
            let body: String = pieces.map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len())).collect();
            let head =
                format!("HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
            stream.write_all(format!("{head}{body}0\r\n\r\n").as_bytes()).ok();
        }
    });
    (format!("unix://{}", socket.display()), directory)
}

#[test]
fn a_push_that_breaks_off_is_begun_again() {
    let digest = format!("sha256:{}", "ab".repeat(32));
    let (host, _directory) = forgetful(&digest);
    let request = PushRequest {
        image: "x".to_owned(),
        repository: "127.0.0.1:1/x".to_owned(),
        tag: "v1".to_owned(),
        login: None,
        silence: SILENCE,
    };
    let (pushed, events) = push(&host, &request);
    assert_eq!(pushed.unwrap().digest, digest);
    assert!(matches!(&events[..], [event] if is_retry(event)), "{events:?}");
}
