//! Every command and everything that can go wrong on the way: the right result or a clear error, in bounded time,
//! with nothing done twice and nothing told that is secret.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{INTEGRATION, Scene, deploy, image};
use crate::harness::{Output, TestEnv};
use crate::host::service::KEY;
use crate::proxy::{Fault, Proxy, nobody};

/// What a command ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Fine,
    /// The answer cannot be used.
    Failed,
    Later,
}
use End::*;

/// Something that goes wrong, and how a command that only reads ends where it happens once and where it stays.
struct Case {
    fault: Fault,
    once: End,
    always: End,
    /// What is said of it in the end.
    told: &'static str,
}

fn cases(elsewhere: &Proxy) -> Vec<Case> {
    let case = |fault, once, always, told| Case { fault, once, always, told };
    vec![
        case(Fault::Reset, Fine, Later, "got no response"),
        case(Fault::ResetInRequest, Fine, Later, "got no response"),
        case(Fault::ResetInAnswer, Fine, Later, "got no response"),
        case(Fault::Lost, Fine, Later, "got no response"),
        case(Fault::Slow(Duration::from_millis(20)), Fine, Fine, ""),
        case(Fault::Slow(Duration::from_secs(2)), Fine, Later, "timed out after"),
        case(Fault::Hang, Fine, Later, "timed out after"),
        case(Fault::BUSY, Fine, Later, "failed with status 429: Slow down."),
        case(Fault::BROKEN, Fine, Later, "failed with status 500: Internal Server Error"),
        case(Fault::GATEWAY, Fine, Later, "failed with status 502: Bad Gateway"),
        case(Fault::Truncated, Failed, Failed, "its JSON is truncated"),
        case(Fault::WrongType, Failed, Failed, "its content type is text/html, not JSON"),
        case(
            Fault::Redirect(307, format!("{}/v2/deployments", elsewhere.url())),
            Failed,
            Failed,
            "was redirected to",
        ),
    ]
}

impl End {
    fn code(self) -> u8 {
        match self {
            Fine => 0,
            Failed => 1,
            Later => 4,
        }
    }
}

/// No command takes longer, whatever happens.
const BOUND: Duration = Duration::from_secs(60);

/// Runs a command, timed.
fn run(scene: &Scene, arguments: &str) -> Output {
    let begun = Instant::now();
    let output = scene.deploy(arguments);
    assert!(begun.elapsed() < BOUND, "{arguments}: {:?}", begun.elapsed());
    output
}

fn assert_end(output: &Output, end: End, told: &str, what: &str) {
    assert_eq!(output.code, end.code(), "{what}: {output:?}");
    if end != Fine {
        assert!(output.err.contains(told), "{what}: {output:?}");
        assert!(output.err.contains("error: `"), "the call is told, {what}: {output:?}");
    }
}

/// A command with each fault, once and always, of requests of this method; `check` is told the scene and whether the
/// command was fine.
fn matrix(method: &str, arguments: fn(&Scene) -> String, check: fn(&Scene, bool)) {
    let elsewhere = Proxy::start("127.0.0.1:1".parse().unwrap());
    thread::scope(|scope| {
        for case in cases(&elsewhere) {
            for times in [1, 1000] {
                let (fault, told) = (case.fault.clone(), case.told);
                let end = if times == 1 { case.once } else { case.always };
                scope.spawn(move || {
                    let scene = Scene::new();
                    let arguments = arguments(&scene);
                    let what = format!("{arguments} with {fault:?}, {times} times");
                    // An empty answer has no half, and no type.
                    let is_empty = method == "DELETE" && matches!(fault, Fault::Truncated | Fault::WrongType);
                    // What was done is found to be done.
                    let is_found = method == "PATCH"
                        && !matches!(end, Fine)
                        && !matches!(
                            fault,
                            Fault::Reset
                                | Fault::ResetInRequest
                                | Fault::Hang
                                | Fault::Answer(..)
                                | Fault::Redirect(..)
                        );
                    // A second answer says that it is gone.
                    let is_gone = method == "DELETE"
                        && matches!(fault, Fault::Lost | Fault::ResetInAnswer | Fault::Slow(_));
                    scene.proxy.fail(method, "", fault, times);
                    let output = run(&scene, &arguments);
                    if is_gone && times > 1 {
                        assert!(matches!(output.code, 0 | 4), "{what}: {output:?}");
                    } else if is_empty || is_found {
                        assert_end(&output, Fine, told, &what);
                    } else {
                        assert_end(&output, end, told, &what);
                    }
                    scene.proxy.mend();
                    check(&scene, output.code == 0);
                });
            }
        }
    });
    assert_eq!(elsewhere.heads(), Vec::<String>::new(), "nothing is sent elsewhere");
}

/// Runs both at once: they mostly wait.
fn both(one: impl FnOnce() + Send, other: impl FnOnce()) {
    thread::scope(|scope| {
        scope.spawn(one);
        other();
    });
}

fn unchanged(scene: &Scene, _: bool) {
    assert_eq!((scene.names().len(), scene.revisions()), (1, 1));
}

#[test]
fn list() {
    matrix("", |_| "list".to_owned(), unchanged);
}

#[test]
fn get() {
    both(
        || matrix("", |scene| format!("get {} --json", scene.id), unchanged),
        || matrix("", |_| "get agent".to_owned(), unchanged),
    );
}

#[test]
fn repos() {
    matrix("", |_| format!("repos {INTEGRATION}"), unchanged);
}

#[test]
fn revisions() {
    matrix("", |scene| format!("revisions list {}", scene.id), unchanged);
}

#[test]
fn logs() {
    both(
        || matrix("", |scene| format!("logs --deployment-id {}", scene.id), unchanged),
        || matrix("POST", |_| "logs --type build --name agent".to_owned(), unchanged),
    );
}

#[test]
fn update() {
    let arguments = |scene: &Scene| format!("update {} --yes --image {}", scene.id, image('b'));
    let check = |scene: &Scene, is_fine: bool| {
        let revisions = scene.revisions();
        assert!(if is_fine { revisions == 2 } else { revisions == 1 }, "{revisions} revisions");
    };
    both(
        || matrix("PATCH", arguments, check),
        || matrix("GET", |scene| format!("update {} --yes --resource cpu=2", scene.id), unchanged),
    );
}

#[test]
fn delete() {
    matrix(
        "DELETE",
        |scene| format!("delete {} --force", scene.id),
        |scene, is_fine| {
            let names = scene.names();
            assert!(!is_fine || names.is_empty(), "{names:?}");
        },
    );
}

#[test]
fn nobody_listens() {
    let (_socket, address) = nobody();
    let env = TestEnv::empty();
    for arguments in [
        "list".to_owned(),
        "get agent".to_owned(),
        format!("get {INTEGRATION}"),
        format!("repos {INTEGRATION}"),
        format!("revisions list {INTEGRATION}"),
        "logs --name agent".to_owned(),
        format!("update {INTEGRATION} --resource cpu=2 --yes"),
        format!("delete {INTEGRATION} --force"),
    ] {
        let begun = Instant::now();
        let output = deploy(&env, &format!("http://{address}"), &arguments);
        assert!(begun.elapsed() < BOUND, "{arguments}");
        assert_eq!(output.code, 4, "{arguments}: {output:?}");
        assert!(
            output.err.contains(&format!("cannot connect to the deployment service at `http://{address}`")),
            "{output:?}"
        );
        assert!(output.err.contains("retrying in"), "{output:?}");
    }
}

#[test]
fn an_answer_that_says_the_secret_again_is_not_repeated() {
    let scene = Scene::new();
    const ECHO: &str = r#"{"detail":[{"loc":["body"],"msg":"value-of-a-secret-98765","type":"t"}]}"#;
    scene.proxy.fail("PATCH", "", Fault::Answer(422, &[("Content-Type", "application/json")], ECHO), 1);
    let output =
        run(&scene, &format!("update {} --yes --replace-secrets --secret A={}", scene.id, super::SECRET));
    assert_eq!(output.code, 1);
    assert!(output.err.contains("body: [redacted]"), "{output:?}");
    const KEY_ECHO: &str = r#"{"detail":"key-of-the-tests-0123456789 is wrong"}"#;
    scene.proxy.fail("GET", "", Fault::Answer(401, &[("Content-Type", "application/json")], KEY_ECHO), 1);
    let output = run(&scene, "list");
    assert_eq!(output.code, 3);
    assert!(output.err.contains("[redacted] is wrong"), "{output:?}");
}

#[test]
fn a_secret_across_the_end_of_what_is_shown_is_not_shown_in_part() {
    let scene = Scene::new();
    // What is shown ends after 1000 characters, in the middle of the secret.
    let text = format!(r#"{{"detail":"{}{} is wrong"}}"#, "x".repeat(990), super::SECRET);
    let answer = Fault::Answer(400, &[("Content-Type", "application/json")], text.leak());
    scene.proxy.fail("PATCH", "", answer, 1);
    let output =
        run(&scene, &format!("update {} --yes --replace-secrets --secret A={}", scene.id, super::SECRET));
    assert_eq!(output.code, 1);
    assert!(output.err.contains("xxx[redacted]") && !output.err.contains("value-of"), "{output:?}");
}

#[test]
fn a_secret_of_several_lines_or_of_few_characters_is_not_repeated() {
    let scene = Scene::new();
    const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];
    const PEM: &str = "-----BEGIN KEY-----\nQUJD\"REVG\n-----END KEY-----\n";
    let env = TestEnv::empty().variable("PEM", PEM).variable("SHORT", "q7z");
    let update = |name: &str, text: &Value| {
        let answer = Fault::Answer(422, JSON, text.to_string().leak());
        scene.proxy.fail("PATCH", "", answer, 1);
        let output = deploy(
            &env,
            &scene.proxy.url(),
            &format!("update {} --yes --replace-secrets --secret {name}", scene.id),
        );
        assert_eq!(output.code, 1, "{output:?}");
        output.err
    };
    let input = json!({ "input": { "value": PEM } });
    for text in [json!({ "detail": input }), input, json!({ "detail": PEM }), json!({ "error": PEM })] {
        let told = update("PEM", &text);
        assert!(told.contains("[redacted]"), "{told}");
        assert!(!["BEGIN", "QUJD", "REVG"].iter().any(|part| told.contains(part)), "{told}");
    }
    let told = update("SHORT", &json!({ "detail": "q7z is too short" }));
    assert!(told.contains("status 422: [redacted] is too short") && !told.contains("q7z"), "{told}");
    assert!(update("SHORT", &json!({ "detail": "it is too short" })).contains("it is too short"));
}

/// The program itself, as a child, while the service does not answer.
#[test]
fn it_can_be_interrupted_at_any_time() {
    let scene = Scene::new();
    for arguments in [vec!["list"], vec!["get", "agent"], vec!["logs", "--name", "agent"]] {
        scene.proxy.fail("", "", Fault::Hang, 1000);
        let before = scene.proxy.heads().len();
        let mut child = Command::new(crate::harness::program())
            .arg("deploy")
            .args(&arguments)
            .args(["--host-url", &scene.proxy.url(), "--api-key", KEY])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while scene.proxy.heads().len() == before {
            if begun.elapsed() > BOUND {
                child.kill().unwrap();
                panic!("{arguments:?} asks nothing: {:?}", child.wait());
            }
            thread::sleep(Duration::from_millis(5));
        }
        let begun = Instant::now();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let status = child.wait().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(10), "{arguments:?}");
        assert_eq!(status.code(), Some(130), "{arguments:?}");
        scene.proxy.mend();
    }
}

#[test]
fn a_service_that_wants_much_patience_is_told() {
    let scene = Scene::new();
    let answer = Fault::Answer(503, &[("Retry-After", "3600")], "");
    scene.proxy.fail("GET", "", answer, 1000);
    let output = run(&scene, "list");
    assert_eq!(output.code, 4, "{output:?}");
    assert!(output.err.contains("Service Unavailable (retry after 3600 s)"), "{output:?}");
    assert_eq!(scene.proxy.heads().len(), 1, "nothing is asked again that soon");
}
