//! Requests without a backend are held for a bounded time.

use std::time::Duration;

use agentcli_host::proxy::Route;
use hyper::StatusCode;

use crate::backend::Backend;
use crate::client::{get, post};
use crate::{Running, soon, until};

#[tokio::test]
async fn held_request_goes_on_when_a_replica_is_healthy() {
    let proxy = Running::start(|_| {}).await;
    proxy.set("app", Route::Waiting("revision 1 is starting".to_owned()));
    let held = tokio::spawn(post(proxy.address, "app.localhost", "/upload", "body"));
    until(|| proxy.routes.activity("app").unwrap().open == 1).await;
    proxy.set("app", Route::Ready(Vec::new()));
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    let answer = soon(held).await.unwrap();
    assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, "body"));
}

#[tokio::test]
async fn request_is_answered_503_with_the_reason_after_the_limit() {
    let proxy = Running::start(|options| options.hold = Duration::from_millis(50)).await;
    let reason = "revision 1 is building";
    let closed = Backend::start("closed").await;
    closed.kill();
    let cases = [
        (Route::Waiting(reason.to_owned()), reason),
        (Route::Ready(Vec::new()), "no replica is healthy"),
        (Route::Ready(vec![closed.address]), "no replica accepts connections"),
        (Route::Asleep, "the deployment is starting after an idle time"),
    ];
    until(|| std::net::TcpStream::connect(closed.address).is_err()).await;
    for (route, reason) in cases {
        proxy.set("app", route);
        let answer = post(proxy.address, "app.localhost", "/", "body").await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{reason}");
        assert_eq!(answer.detail(), format!("no backend available within 0 s: {reason}; try again later"));
        assert_eq!(answer.headers["retry-after"], "5");
    }
    assert_eq!(proxy.routes.activity("app").unwrap().open, 0);
}

#[tokio::test]
async fn held_requests_are_bounded_by_deployment() {
    let proxy = Running::start(|options| options.held = 2).await;
    let backend = Backend::start("backend").await;
    proxy.set("app", Route::Asleep);
    proxy.set("other", Route::Asleep);
    let held: Vec<_> = (0..2).map(|_| tokio::spawn(get(proxy.address, "app.localhost", "/name"))).collect();
    until(|| proxy.routes.activity("app").unwrap().open == 2).await;
    let refused = get(proxy.address, "app.localhost", "/name").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.detail().contains("2 requests are waiting already"), "{refused:?}");
    let other = tokio::spawn(get(proxy.address, "other.localhost", "/name"));
    until(|| proxy.routes.activity("other").unwrap().open == 1).await;
    proxy.ready("app", &[&backend]);
    proxy.ready("other", &[&backend]);
    for request in held.into_iter().chain([other]) {
        assert_eq!(soon(request).await.unwrap().text, "backend");
    }
    assert_eq!(get(proxy.address, "app.localhost", "/name").await.text, "backend");
}

#[tokio::test]
async fn request_wakes_a_sleeping_deployment() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.set("awake", Route::Waiting("starting".to_owned()));
    proxy.set("app", Route::Asleep);
    assert!(!proxy.routes.activity("app").unwrap().is_wanted);
    let held = tokio::spawn(get(proxy.address, "app.localhost", "/name"));
    soon(proxy.routes.wanted()).await;
    assert!(proxy.routes.activity("app").unwrap().is_wanted);
    assert!(!proxy.routes.activity("awake").unwrap().is_wanted);
    proxy.set("app", Route::Waiting("starting".to_owned()));
    assert!(!proxy.routes.activity("app").unwrap().is_wanted);
    proxy.ready("app", &[&backend]);
    assert_eq!(soon(held).await.unwrap().text, "backend");

    // It is wanted even if the client does not wait for it.
    proxy.set("app", Route::Asleep);
    let impatient = tokio::spawn(get(proxy.address, "app.localhost", "/name"));
    until(|| proxy.routes.activity("app").unwrap().open == 1).await;
    impatient.abort();
    until(|| proxy.routes.activity("app").unwrap().open == 0).await;
    soon(proxy.routes.wanted()).await;
    assert!(proxy.routes.activity("app").unwrap().is_wanted);
}

#[tokio::test]
async fn idle_time_starts_at_the_end_of_the_last_request() {
    let proxy = Running::start(|_| {}).await;
    let backend = Backend::start("backend").await;
    proxy.ready("app", &[&backend]);
    // A deployment that slept before a restart of the service is not started by it.
    assert_eq!(proxy.routes.activity("app").unwrap().idle, None);
    let request = tokio::spawn(get(proxy.address, "app.localhost", "/gate"));
    until(|| backend.requests() == 1).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    let activity = proxy.routes.activity("app").unwrap();
    assert_eq!((activity.open, activity.idle), (1, Some(Duration::ZERO)));
    assert_eq!(proxy.routes.open(backend.address), 1);
    backend.seen.gate.send_replace(true);
    soon(request).await.unwrap();
    until(|| proxy.routes.activity("app").unwrap().idle >= Some(Duration::from_millis(30))).await;
    assert_eq!(proxy.routes.open(backend.address), 0);
    // A new route of the same deployment is not a use of it.
    proxy.set("app", Route::Asleep);
    assert!(proxy.routes.activity("app").unwrap().idle >= Some(Duration::from_millis(30)));
    assert_eq!(proxy.routes.activity("unknown"), None);
}

#[tokio::test]
async fn held_request_is_answered_when_its_deployment_is_removed() {
    let proxy = Running::start(|_| {}).await;
    proxy.set("app", Route::Waiting("building".to_owned()));
    let held = tokio::spawn(get(proxy.address, "app.localhost", "/"));
    until(|| proxy.routes.activity("app").unwrap().open == 1).await;
    proxy.routes.remove("app");
    assert_eq!(soon(held).await.unwrap().status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn request_is_held_while_its_replica_restarts() {
    let proxy = Running::start(|_| {}).await;
    let reserved = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = reserved.local_addr().unwrap();
    drop(reserved);
    proxy.set("app", Route::Ready(vec![address]));
    let held = tokio::spawn(post(proxy.address, "app.localhost", "/name", "body"));
    until(|| proxy.routes.activity("app").unwrap().open == 1).await;
    let backend = Backend::start_at("restarted", address).await;
    assert_eq!(soon(held).await.unwrap().text, "restarted");
    assert_eq!(backend.requests(), 1);
}
