//! Requests reach the deployment that their host names.

use agentcli_host::proxy::{HostName, Route};
use hyper::{Method, StatusCode};

use crate::Running;
use crate::backend::Backend;
use crate::client::{Client, get, raw};

#[tokio::test]
async fn hosts_name_deployments_and_revisions() {
    let proxy = Running::start(|_| {}).await;
    let (old, new) = (Backend::start("old").await, Backend::start("new").await);
    let hosts = ["app.localhost", "agent.example.com"].map(|host| HostName::parse(host).unwrap());
    proxy.routes.set("app", &hosts, Route::Ready(vec![old.address])).unwrap();
    proxy.ready("revision-2", &[&new]);
    let port = proxy.address.port();
    let cases = [
        ("app.localhost".to_owned(), "old"),
        (format!("app.localhost:{port}"), "old"),
        ("APP.LocalHost.:1".to_owned(), "old"),
        ("agent.example.com".to_owned(), "old"),
        (format!("revision-2.localhost:{port}"), "new"),
    ];
    for (host, expected) in cases {
        let answer = get(proxy.address, &host, "/name").await;
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, expected), "{host}");
    }
    let absolute =
        format!("GET http://app.localhost:{port}?a=b HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n");
    let answer = raw(proxy.address, &absolute).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nold"), "{answer}");

    proxy.routes.remove("app");
    for host in ["app.localhost", "agent.example.com"] {
        assert_eq!(get(proxy.address, host, "/name").await.status, StatusCode::NOT_FOUND, "{host}");
    }
}

#[tokio::test]
async fn unknown_host_is_404_without_other_names() {
    let proxy = Running::start(|_| {}).await;
    proxy.set("secret-project", Route::Waiting("building".to_owned()));
    let answer = get(proxy.address, "secret.localhost", "/").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    let detail = answer.detail();
    assert!(detail.starts_with("no deployment is served at `secret.localhost`; "), "{detail}");
    assert!(!answer.text.contains("secret-project"), "{detail}");
}

#[tokio::test]
async fn invalid_hosts_are_refused() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let cases = [
        ("GET / HTTP/1.1\r\n", "400"),
        ("GET / HTTP/1.0\r\n", "400"),
        ("GET / HTTP/1.1\r\nHost: app.localhost\r\nHost: other.localhost\r\n", "400"),
        ("GET / HTTP/1.1\r\nHost: user@app.localhost\r\n", "400"),
        ("CONNECT app.localhost:80 HTTP/1.1\r\nHost: app.localhost\r\n", "405"),
    ];
    for (head, status) in cases {
        let answer = raw(proxy.address, &format!("{head}Connection: close\r\n\r\n")).await;
        assert_eq!(answer.split(' ').nth(1), Some(status), "{head}: {answer}");
    }
    assert_eq!(backend.requests(), 0);
}

#[tokio::test]
async fn host_of_another_deployment_stays_its_own() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("mine").await;
    proxy.ready("mine", &[&backend]);
    let hosts = ["theirs.localhost", "mine.localhost"].map(|host| HostName::parse(host).unwrap());
    let error = proxy.routes.set("theirs", &hosts, Route::Asleep).unwrap_err();
    assert_eq!(error.to_string(), "the host `mine.localhost` is in use by another deployment");
    assert_eq!(get(proxy.address, "mine.localhost", "/").await.text, "mine");
    // The other hosts of the later claim have a route.
    let other = Backend::start("theirs").await;
    proxy.routes.set("theirs", &hosts, Route::Ready(vec![other.address])).unwrap_err();
    assert_eq!(get(proxy.address, "mine.localhost", "/").await.text, "mine");
    assert_eq!(get(proxy.address, "theirs.localhost", "/").await.text, "theirs");
    proxy.routes.remove("mine");
    proxy.routes.set("theirs", &hosts, Route::Ready(vec![backend.address])).unwrap();
    assert_eq!(get(proxy.address, "mine.localhost", "/").await.text, "mine");
    proxy.routes.set("theirs", &hosts[..1], Route::Ready(vec![backend.address])).unwrap();
    assert_eq!(get(proxy.address, "mine.localhost", "/").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn backend_learns_about_the_client() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let headers = [
        ("authorization", "Bearer key"),
        ("connection", "x-private"),
        ("x-forwarded-for", "10.0.0.1"),
        ("x-private", "1"),
    ];
    let mut client = Client::connect(proxy.address).await;
    let answer = client.send(Method::PUT, "app.localhost:1", "/echo?a=%20b", &headers, "body").await.unwrap();
    let mut lines: Vec<&str> = answer.text.lines().collect();
    lines[1..].sort_unstable();
    let expected = [
        "PUT /echo?a=%20b",
        "authorization: Bearer key",
        "body",
        "content-length: 4",
        "forwarded: for=127.0.0.1;host=\"app.localhost:1\";proto=http",
        "host: app.localhost:1",
        "x-forwarded-for: 127.0.0.1",
        "x-forwarded-host: app.localhost:1",
        "x-forwarded-proto: http",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn client_connection_outlives_that_of_the_backend() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let mut client = Client::connect(proxy.address).await;
    for _ in 0..3 {
        let answer = client.send(Method::GET, "app.localhost", "/private-header", &[], "").await.unwrap();
        assert!(!answer.headers.contains_key("connection") && !answer.headers.contains_key("x-private"));
    }
}

#[tokio::test]
async fn replicas_share_the_load() {
    let proxy = Running::start(|_| {}).await;
    let replicas = [Backend::start("a").await, Backend::start("b").await, Backend::start("c").await];
    proxy.ready("app", &replicas.each_ref());
    let requests: Vec<_> =
        (0..9).map(|_| tokio::spawn(get(proxy.address, "app.localhost", "/gate"))).collect();
    crate::until(|| replicas.iter().map(Backend::requests).sum::<usize>() == 9).await;
    assert_eq!(replicas.each_ref().map(Backend::requests), [3, 3, 3]);
    replicas[0].seen.gate.send_replace(true);
    crate::until(|| proxy.routes.activity("app").unwrap().open == 6).await;
    assert_eq!(get(proxy.address, "app.localhost", "/name").await.text, "a");
    for replica in &replicas {
        replica.seen.gate.send_replace(true);
    }
    for request in requests {
        assert_eq!(crate::soon(request).await.unwrap().status, StatusCode::OK);
    }
}
