//! A bad connection while an image is pushed: to the service, which hands out the credentials, and of the engine to
//! the registry, which is a real one behind a proxy. Whatever went wrong, the next run completes it.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use super::image::Image;
use super::registry::{with_registry, with_registry_at};
use super::{Stage, deployments, events, named, revisions};
use crate::engine::{docker, hosts};
use crate::host::service::Host;
use crate::proxy::{Fault, Proxy, nobody};
use crate::registry::{PASSWORD, Registry};

/// What a run ends with.
const FINE: u8 = 0;
const FAILED: u8 = 1;
const REFUSED: u8 = 3;
const LATER: u8 = 4;

/// No run takes longer, whatever happens: the engine itself tries for a minute and more.
const BOUND: Duration = Duration::from_secs(400);

/// For as long as it takes.
const ALWAYS: usize = usize::MAX;

/// How many push at the same time: an engine sends five layers at once, and more wait.
const AT_ONCE: usize = 4;

/// Something that goes wrong so many times, what the run ends with then, and what it says of it.
struct Case {
    method: &'static str,
    path: &'static str,
    fault: Fault,
    times: usize,
    code: u8,
    told: &'static str,
}

fn case(
    (method, path): (&'static str, &'static str),
    (fault, times): (Fault, usize),
    code: u8,
    told: &'static str,
) -> Case {
    Case { method, path, fault, times, code, told }
}

/// Does `work` with each of the cases, a few at the same time.
fn each<T: Send>(cases: Vec<T>, work: impl Fn(T) + Sync) {
    let cases = Mutex::new(cases.into_iter());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = cases.lock().unwrap().next();
                    let Some(case) = next else { return };
                    work(case);
                }
            });
        }
    });
}

/// Deploys an image while something goes wrong, and once more, on another stage, when nothing does: there is one
/// deployment in the end, and of each run that was fine one revision.
fn assert_ends(host: &Host, [stage, mended]: [&Stage; 2], engine: &str, case: &Case, mend: impl FnOnce()) {
    let what = format!("{engine}: {} {} {:?}, {} times", case.method, case.path, case.fault, case.times);
    let image = Image::make(engine);
    let name = image.name.split(':').next().unwrap().to_owned();
    let arguments = format!("--name {name} --image {}", image.name);
    let begun = Instant::now();
    let output = stage.deploy(&format!("{arguments} --json"));
    assert!(begun.elapsed() < BOUND, "{what}: {:?}", begun.elapsed());
    assert_eq!(output.code, case.code, "{what}: {output:?}");
    let said = format!("{}{}", output.out, output.err);
    assert!(said.contains(case.told), "{what}: {output:?}");
    let is_fine = usize::from(case.code == FINE);
    assert_eq!(named(&events(&output), "pushed").len(), is_fine, "{what}: {output:?}");
    let [found] = &deployments(host)[..] else { panic!("{what}: not one deployment") };
    assert_eq!(revisions(host, found).len(), is_fine, "{what}");
    mend();
    mended.events(&arguments);
    let [found] = &deployments(host)[..] else { panic!("{what}: a second deployment") };
    let made = revisions(host, found);
    assert_eq!((made.len(), &made[0]["status"]), (1 + is_fine, &"DEPLOYED".into()), "{what}");
    let left = docker(engine, &["images", "-q", &format!("*/agents/{name}")]);
    assert_eq!(left, "", "{what}: a name that was needed for a push is left");
}

#[test]
fn credentials_come_over_a_bad_connection() {
    const CALL: (&str, &str) = ("POST", "/push-token");
    let elsewhere = Proxy::start("127.0.0.1:1".parse().unwrap());
    let (slow, redirect) =
        (Fault::Slow(Duration::from_secs(2)), Fault::Redirect(307, format!("{}/x", elsewhere.url())));
    let mut cases = Vec::new();
    for (fault, once, always, told) in [
        (Fault::Reset, FINE, LATER, "got no response"),
        (Fault::ResetInRequest, FINE, LATER, "got no response"),
        (Fault::ResetInAnswer, FINE, LATER, "got no response"),
        (Fault::Lost, FINE, LATER, "got no response"),
        (slow, FINE, LATER, "timed out after"),
        (Fault::Hang, FINE, LATER, "timed out after"),
        (Fault::BUSY, FINE, LATER, "failed with status 429: Slow down."),
        (Fault::BROKEN, FINE, LATER, "failed with status 500"),
        (Fault::GATEWAY, FINE, LATER, "failed with status 502: Bad Gateway"),
        (Fault::Truncated, FAILED, FAILED, "its JSON is truncated"),
        (Fault::WrongType, FAILED, FAILED, "its content type is text/html, not JSON"),
        (redirect, FAILED, FAILED, "was redirected to"),
    ] {
        cases.push(case(CALL, (fault.clone(), 1), once, if once == FINE { "" } else { told }));
        cases.push(case(CALL, (fault, ALWAYS), always, told));
    }
    let registry = Registry::start();
    let engine = hosts().remove(0);
    each(cases, |case| {
        let host = with_registry(&registry, PASSWORD);
        let proxy = Proxy::start(host.address());
        let stage = Stage::new(&proxy.url()).with(|env| env.variable("DOCKER_HOST", &engine));
        proxy.fail(case.method, case.path, case.fault.clone(), case.times);
        assert_ends(&host, [&stage, &stage], &engine, &case, || proxy.mend());
    });
    assert_eq!(elsewhere.heads(), Vec::<String>::new(), "something is sent elsewhere");
}

#[test]
fn an_image_is_pushed_over_a_bad_connection() {
    const BEGIN: (&str, &str) = ("GET", "/v2/");
    const LOOK: (&str, &str) = ("HEAD", "/blobs/");
    const LAYER: (&str, &str) = ("PATCH", "/blobs/uploads/");
    const MANIFEST: (&str, &str) = ("PUT", "/manifests/");
    const NOT_LET_IN: Fault = Fault::Answer(401, &[], "");
    let registry = Registry::start();
    let mut cases: Vec<(String, Vec<Case>)> = Vec::new();
    for engine in hosts() {
        let of_engine = [
            case(BEGIN, (Fault::Reset, 1), FINE, ""),
            case(BEGIN, (Fault::Lost, 1), FINE, ""),
            case(BEGIN, (Fault::BROKEN, 1), FINE, ""),
            case(BEGIN, (Fault::GATEWAY, 1), FINE, ""),
            case(LAYER, (Fault::ResetInRequest, 1), FINE, ""),
            case(LAYER, (Fault::BROKEN, 1), FINE, ""),
            case(MANIFEST, (Fault::Reset, 1), FINE, ""),
            case(MANIFEST, (Fault::Lost, 1), FINE, ""),
            case(MANIFEST, (Fault::BROKEN, 1), FINE, ""),
            case(BEGIN, (Fault::Reset, ALWAYS), LATER, "cannot push"),
            case(MANIFEST, (Fault::BUSY, ALWAYS), LATER, "cannot push"),
            case(MANIFEST, (Fault::BROKEN, ALWAYS), LATER, "cannot push"),
            case(LOOK, (NOT_LET_IN, ALWAYS), REFUSED, "does not accept the credentials"),
            case(BEGIN, (Fault::Hang, ALWAYS), LATER, "no progress for 3 s"),
            case(LAYER, (Fault::Hang, ALWAYS), LATER, "no progress for 3 s"),
        ];
        cases.push((engine, of_engine.into_iter().collect()));
    }
    let push = |engine: &str, case: Case| {
        let proxy = Proxy::start(registry.address.parse().unwrap());
        let host = with_registry_at(&proxy.address().to_string(), PASSWORD);
        let silence = if matches!(case.fault, Fault::Hang) { 3 } else { 60 };
        let [stage, mended] = [silence, 60].map(|silence| {
            Stage::new(&host.url()).with(|env| {
                env.variable("DOCKER_HOST", engine).retry_policy(|it| it.push = Duration::from_secs(silence))
            })
        });
        proxy.fail(case.method, case.path, case.fault.clone(), case.times);
        assert_ends(&host, [&stage, &mended], engine, &case, || proxy.mend());
    };
    each(cases, |(engine, cases)| each(cases, |case| push(&engine, case)));
}

#[test]
fn a_registry_that_is_not_there() {
    let (_socket, address) = nobody();
    for engine in hosts() {
        let host = with_registry_at(&address.to_string(), PASSWORD);
        let stage = Stage::new(&host.url()).with(|env| env.variable("DOCKER_HOST", &engine));
        let image = Image::make(&engine);
        let output = stage.deploy(&format!("--name x --image {}", image.name));
        assert_eq!(output.code, LATER, "{engine}: {output:?}");
        assert!(output.err.contains("connection refused"), "{engine}: {output:?}");
        assert!(output.err.contains("reaches the registry"), "{engine}: {output:?}");
        assert_eq!(deployments(&host).len(), 1, "{engine}");
    }
}
