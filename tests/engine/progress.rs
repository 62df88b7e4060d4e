//! Recorded answers of an engine, and the events that they become.

use agentcli::engine::{BuildEvent, Engine, Error};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tempfile::TempDir;

use super::fake::{self, End};
use super::{env, request, wait};

/// What happens when an engine answers a build with these lines.
fn play(lines: &[String], end: End) -> (Result<String, Error>, Vec<BuildEvent>) {
    let (host, _keep, _heads) = fake::engine(lines, end);
    let dir = TempDir::new().unwrap();
    let mut events = Vec::new();
    let built = wait(async {
        let engine = Engine::connect(&env(&host)).await.unwrap();
        let request = request(dir.path(), "FROM scratch\n");
        engine.build(request, |event| events.push(event)).await
    });
    (built.map(|built| built.id), events.split_off(1))
}

/// A protobuf field that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2, bytes.len() as u8 | 0x80, (bytes.len() >> 7) as u8];
    field.extend_from_slice(bytes);
    field
}

/// A time: seconds since 1970, less than 128.
fn time(seconds: u8) -> [u8; 2] {
    [1 << 3, seconds]
}

/// A report on a vertex: its digest, name, whether it was cached, its times, its error.
fn vertex(digest: &str, name: &str, cached: bool, times: &[u8], error: &str) -> Vec<u8> {
    let mut vertex =
        [field(1, digest.as_bytes()), field(3, name.as_bytes()), vec![4 << 3, u8::from(cached)]].concat();
    for (number, seconds) in [5, 6].into_iter().zip(times) {
        vertex.extend(field(number, &time(*seconds)));
    }
    if !error.is_empty() {
        vertex.extend(field(7, error.as_bytes()));
    }
    field(1, &vertex)
}

fn status(digest: &str, part: &str, current: u8, total: u8) -> Vec<u8> {
    let counts = vec![4 << 3, current, 5 << 3, total];
    field(2, &[field(1, part.as_bytes()), field(2, digest.as_bytes()), counts].concat())
}

fn log(digest: &str, text: &[u8]) -> Vec<u8> {
    field(3, &[field(1, digest.as_bytes()), field(4, text)].concat())
}

fn trace(parts: &[Vec<u8>]) -> String {
    format!(r#"{{"id":"moby.buildkit.trace","aux":"{}"}}"#, STANDARD.encode(parts.concat()))
}

const IMAGE: &str = r#"{"id":"moby.image.id","aux":{"ID":"sha256:77"}}"#;

/// The events in a few words each.
fn told(events: &[BuildEvent]) -> Vec<String> {
    let number = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
    let tell = |event: &BuildEvent| match event {
        BuildEvent::Context { .. } => "context".to_owned(),
        BuildEvent::UpToDate { .. } => "up to date".to_owned(),
        BuildEvent::RunsAgain { step, cause, .. } => format!("again {step} {cause}"),
        BuildEvent::StepStarted(step) => {
            let kind = if step.internal { "internal" } else { "step" };
            format!("{} start {kind} {}/{} {}", step.id, number(step.number), number(step.total), step.name)
        }
        BuildEvent::StepLog { id, line } => format!("{id} log {line:?}"),
        BuildEvent::StepProgress { id, part, current, total } => {
            format!("{id} progress {part} {current}/{total}")
        }
        BuildEvent::StepRunning { id, .. } => format!("{id} running"),
        BuildEvent::StepDone { id, cached, seconds } => {
            format!("{id} done {cached} {seconds:?}")
        }
        BuildEvent::StepFailed { id, reason } => format!("{id} failed {reason}"),
        BuildEvent::Warning { message } => format!("warning {message}"),
    };
    events.iter().map(tell).collect()
}

#[test]
fn reports_in_any_order_and_again_become_tidy_steps() {
    let load = "[internal] load build definition from Dockerfile";
    let lines = [
        // Known, but not begun; then begun and ended at once, and said twice.
        trace(&[vertex("d0", load, false, &[], ""), vertex("d1", "[1/2] FROM x", false, &[], "")]),
        trace(&[vertex("d0", load, false, &[10, 11], "")]),
        trace(&[vertex("d0", load, false, &[10, 11], ""), vertex("d1", "[1/2] FROM x", true, &[11, 11], "")]),
        // Printed before it is said to have begun; lines and letters cut anywhere; a last line without an end.
        trace(&[log("d2", "früh\nhal".as_bytes())]),
        trace(&[
            vertex("d2", "[b 2/2] RUN make", false, &[12], ""),
            log("d2", b"b \xc3"),
            status("d2", "sha256:1", 5, 9),
        ]),
        trace(&[
            log("d2", b"\xbc\r\n10%\r20%\r\n\x1b[31mred\x1b[0m\x07\n"),
            vertex("d2", "[b 2/2] RUN make", false, &[12], ""),
        ]),
        trace(&[log("d2", b"last"), vertex("d2", "[b 2/2] RUN make", false, &[12, 15], "")]),
        // It begins again, as BuildKit has it at times.
        trace(&[vertex("d2", "[b 2/2] RUN make", false, &[16], "")]),
        trace(&[status("unknown", "x", 1, 2), vertex("d3", "exporting to image", false, &[17, 18], "")]),
        IMAGE.to_owned(),
    ];
    let (built, events) = play(&lines, End::Whole);
    assert_eq!(built.unwrap(), "sha256:77");
    let expected = [
        "0 start internal -/- load build definition from Dockerfile",
        "0 done false Some(1.0)",
        "1 start step 1/2 FROM x",
        "1 done true Some(0.0)",
        "2 start step 2/2 RUN make",
        "2 log \"früh\"",
        "2 progress sha256:1 5/9",
        "2 log \"halb ü\"",
        "2 log \"20%\"",
        "2 log \"red\"",
        "2 log \"last\"",
        "2 done false Some(3.0)",
        "3 start internal -/- exporting to image",
        "3 done false Some(1.0)",
    ];
    let told = told(&events);
    // The cut is at line ends only where a line has one.
    assert_eq!(told, expected);
    assert!(matches!(&events[4], BuildEvent::StepStarted(step) if step.stage.as_deref() == Some("b")));
    assert!(matches!(events[11], BuildEvent::StepDone { seconds: Some(3.0), .. }));
}

#[test]
fn a_good_status_with_an_error_inside() {
    let why = "process \"/bin/sh -c make\" did not complete successfully: exit code: 2";
    let stopped = "process \"/bin/sh -c early\" did not complete successfully: exit code: 1";
    let lines = [
        trace(&[vertex("d0", "[other 1/1] RUN early", false, &[1], "")]),
        trace(&[vertex("d1", "[1/3] RUN make", false, &[1], ""), log("d1", b"no rule\n")]),
        // Other steps end because this one did, and are reported first.
        trace(&[vertex("d0", "[other 1/1] RUN early", false, &[1, 2], stopped)]),
        trace(&[vertex("d2", "[2/3] RUN other", false, &[1, 2], "context canceled")]),
        trace(&[vertex("d3", "[3/3] RUN late", false, &[1, 2], "exit code: 137: context canceled")]),
        trace(&[vertex("d1", "[1/3] RUN make", false, &[1, 2], why)]),
        format!(r#"{{"errorDetail":{{"message":{why:?}}},"error":{why:?}}}"#),
    ];
    let (built, events) = play(&lines, End::Whole);
    let error = built.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the build failed at step 1 of 3, `RUN make`: the command exited with code 2"
    );
    let Error::Step(failed) = error else { panic!() };
    assert_eq!((failed.code, failed.last_lines), (Some(2), vec!["no rule".to_owned()]));
    let failures = told(&events).into_iter().filter(|line| line.contains("failed")).collect::<Vec<_>>();
    assert_eq!(failures, [format!("0 failed {stopped}"), format!("1 failed {why}")]);
}

/// As Docker 20.10 does, now and then.
#[test]
fn a_refused_pull_without_its_step_names_the_image() {
    for (url, image) in [
        ("http://localhost:1/v2/agents/base/manifests/1", "localhost:1/agents/base:1"),
        ("https://reg.example/v2/a/manifests/sha256:01", "reg.example/a@sha256:01"),
        ("https://registry-1.docker.io/v2/library/a/manifests/1", "docker.io/library/a:1"),
    ] {
        let why = format!(
            "failed to solve with frontend dockerfile.v0: failed to create LLB definition: failed to do request: \
             Head \"{url}\": dial tcp 127.0.0.1:1: connect: connection refused"
        );
        let line = format!(r#"{{"errorDetail":{{"message":{why:?}}},"error":{why:?}}}"#);
        let (built, _) = play(&[line], End::Whole);
        assert_eq!(built.unwrap_err().to_string(), format!("cannot pull the image `{image}`: {why}"));
    }
}

#[test]
fn an_engine_that_ends_in_the_midst() {
    let line = trace(&[vertex("d1", "[1/3] RUN make", false, &[1], "")]);
    for end in [End::BrokenOff, End::Whole] {
        let (built, _) = play(std::slice::from_ref(&line), end);
        let error = built.unwrap_err();
        assert!(matches!(&error, Error::Lost { .. }), "{error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn an_engine_without_buildkit() {
    let said = |text: &str| serde_json::json!({ "stream": text }).to_string();
    let lines = [
        said("STEP 1/3: FROM x\n"),
        said("STEP 2/3: ENV a=b\n--> Using ca"),
        said("che 0123\n--> 0123\nSTEP 3/3: RUN make\n"),
        said("made\n"),
        said("COMMIT app\n--> 4567\nSuccessfully tagged localhost/app:latest\n4567\n"),
        r#"{"aux":{"ID":"sha256:88"}}"#.to_owned(),
    ];
    let (built, events) = play(&lines, End::Whole);
    assert_eq!(built.unwrap(), "sha256:88");
    let expected = [
        "0 start step 1/3 FROM x",
        "0 done false None",
        "1 start step 2/3 ENV a=b",
        "1 done true None",
        "2 start step 3/3 RUN make",
        "2 log \"made\"",
        "2 done false None",
    ];
    assert_eq!(told(&events), expected);

    let mut failing = lines[..4].to_vec();
    failing.push(r#"{"errorDetail":{"message":"building at STEP \"RUN make\": while running runtime: exit status 4"}}"#.to_owned());
    let (built, events) = play(&failing, End::Whole);
    let error = built.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the build failed at step 3 of 3, `RUN make`: the command exited with code 4"
    );
    assert!(matches!(events.last(), Some(BuildEvent::StepFailed { id: 2, .. })));
}
