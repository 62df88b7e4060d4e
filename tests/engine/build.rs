//! Builds, good and bad.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use agentcli::engine::{BuildEvent, Engine, Error, FailedStep, Step, StepOrigin};
use tempfile::TempDir;

use super::{BASE, build, docker, env, fresh, hosts, request, wait};
use crate::harness::{PATIENCE, until};

fn started(events: &[BuildEvent]) -> Vec<&Step> {
    events
        .iter()
        .filter_map(|event| if let BuildEvent::StepStarted(step) = event { Some(step) } else { None })
        .collect()
}

/// The lines that a step printed, without empty ones.
fn printed<'a>(events: &'a [BuildEvent], step: usize) -> Vec<&'a str> {
    let of_step = |event: &'a BuildEvent| match event {
        BuildEvent::StepLog { id, line } if *id == step && !line.is_empty() => Some(&**line),
        _ => None,
    };
    events.iter().filter_map(of_step).collect()
}

/// Every step starts once, then prints, then ends once.
fn assert_tidy(events: &[BuildEvent]) {
    let mut open = BTreeSet::new();
    for event in events {
        let ok = match event {
            BuildEvent::StepStarted(step) => open.insert(step.id),
            BuildEvent::StepDone { id, .. } | BuildEvent::StepFailed { id, .. } => open.remove(id),
            BuildEvent::StepLog { id, .. } => open.contains(id),
            _ => true,
        };
        assert!(ok, "{event:?} in {events:#?}");
    }
    let ids: Vec<usize> = started(events).iter().map(|step| step.id).collect();
    assert_eq!(ids, (0..ids.len()).collect::<Vec<_>>());
}

fn origin(instruction: &str, key: &str) -> StepOrigin {
    StepOrigin {
        instruction: instruction.to_owned(),
        key: Some(key.to_owned()).filter(|key| !key.is_empty()),
        ..StepOrigin::default()
    }
}

#[test]
fn an_image_with_its_tags_and_events() {
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("hello"), "hi").unwrap();
        let mark = fresh();
        let run = format!("RUN echo one{mark}; printf 'two\\nthree'; echo 1>&2");
        let dockerfile = format!("FROM {BASE}\nENV A=b\nCOPY hello /hello\n{run}\n");
        let mut request = request(dir.path(), &dockerfile);
        request.tags = vec![format!("agentcli-test:{mark}"), format!("localhost:5000/agentcli/test:{mark}")];
        request.steps = vec![
            origin(&format!("FROM {BASE}"), "/base_image"),
            origin("ENV A=b", "/env"),
            origin("COPY hello /hello", "/dependencies/0"),
            origin(&run, "/dockerfile_lines/0"),
        ];
        let (built, events) = build(&host, request.clone());
        let built = built.unwrap();
        assert_tidy(&events);
        for tag in &request.tags {
            assert_eq!(docker(&host, &["image", "inspect", "-f", "{{.Id}}", tag]).trim(), built.id, "{host}");
        }
        assert_eq!(built.tags, request.tags);
        assert!(matches!(&events[0], BuildEvent::Context { files: 2, bytes, largest }
            if *bytes == dockerfile.len() as u64 + 2 && largest.len() == 2));

        let steps = started(&events);
        let copy = steps.iter().find(|step| step.name == "COPY hello /hello").unwrap();
        assert_eq!(copy.key.as_deref(), Some("/dependencies/0"));
        assert!(!copy.internal && copy.number < copy.total, "{copy:?}");
        let run = steps.iter().find(|step| step.name.starts_with("RUN")).unwrap();
        assert_eq!((run.key.as_deref(), run.number), (Some("/dockerfile_lines/0"), run.total));
        assert_eq!(printed(&events, run.id), [&*format!("one{mark}"), "two", "three"], "{host}");

        // Again: everything is there.
        let (again, events) = build(&host, request.clone());
        assert_eq!(again.unwrap().id, built.id);
        assert_tidy(&events);
        let run = started(&events).into_iter().find(|step| step.name.starts_with("RUN")).unwrap().id;
        let done = events.iter().find(|event| matches!(event, BuildEvent::StepDone { id, .. } if *id == run));
        assert!(matches!(done, Some(BuildEvent::StepDone { cached: true, .. })), "{host}: {done:?}");
        docker(&host, &["rmi", "-f", &request.tags[0], &request.tags[1]]);
    }
}

#[test]
fn a_failing_step_is_explained() {
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        let run =
            format!("RUN i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo {} line $i; done; exit 7", fresh());
        let mut request = request(dir.path(), &format!("FROM {BASE}\nENV X=y\n{run}\nRUN true\n"));
        request.steps = vec![
            origin(&format!("FROM {BASE}"), ""),
            origin("ENV X=y", ""),
            origin(&run, "/dockerfile_lines/1"),
            origin("RUN true", ""),
        ];
        let (built, events) = build(&host, request);
        assert_tidy(&events);
        let Err(Error::Step(failed)) = built else { panic!("{host}: {built:?}") };
        let FailedStep { step, code, last_lines, reason } = *failed;
        assert!(step.name.starts_with("RUN i=0"), "{step:?}");
        assert_eq!(step.key.as_deref(), Some("/dockerfile_lines/1"));
        assert!(step.number < step.total, "{step:?}");
        assert_eq!((code, last_lines.len()), (Some(7), 20), "{host}: {reason} {last_lines:?}");
        assert!(last_lines[19].ends_with("line 30"), "{last_lines:?}");
        assert_eq!(reason, "the command exited with code 7");
        assert!(
            events.iter().any(|event| matches!(event, BuildEvent::StepFailed { id, .. } if *id == step.id))
        );
    }
}

#[test]
fn steps_of_several_stages_know_where_they_come_from() {
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("a"), fresh().to_string()).unwrap();
        let lines = [
            "FROM scratch AS One",
            "COPY a /one",
            "ENV P=/two",
            "COPY a $P",
            "FROM scratch",
            "ENV P=/three",
            "COPY --from=one /one $P",
            "COPY a /four",
            "FROM one",
            "COPY --from=1 /four $P",
        ];
        let mut request = request(dir.path(), &lines.join("\n"));
        request.steps = lines.iter().map(|line| origin(line, &format!("/{line}"))).collect();
        let (built, events) = build(&host, request);
        built.unwrap();
        let keys: BTreeSet<&str> = started(&events).iter().filter_map(|step| step.key.as_deref()).collect();
        let copies = ["/COPY a /one", "/COPY --from=one /one $P", "/COPY a /four", "/COPY --from=1 /four $P"];
        assert!(copies.iter().all(|key| keys.contains(key)), "{host}: {keys:?} {:#?}", started(&events));
    }
}

#[test]
fn a_missing_file_fails_its_step() {
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        let mut request = request(dir.path(), "FROM scratch\nCOPY nowhere /\n");
        request.steps = vec![origin("FROM scratch", ""), origin("COPY nowhere /", "/dependencies/2")];
        let (built, _) = build(&host, request);
        let Err(Error::Step(failed)) = built else { panic!("{host}: {built:?}") };
        assert_eq!(failed.step.key.as_deref(), Some("/dependencies/2"));
        assert!(failed.reason.contains("nowhere"), "{host}: {}", failed.reason);
        assert_eq!(failed.code, None);
    }
}

#[test]
fn a_missing_base_image_is_named() {
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        let image = "localhost:1/agentcli/none:1";
        let (built, events) = build(&host, request(dir.path(), &format!("FROM {image}\nCOPY . /\n")));
        assert_tidy(&events);
        let Err(error @ Error::Pull { .. }) = built else { panic!("{host}: {built:?}") };
        assert!(error.to_string().starts_with(&format!("cannot pull the image `{image}`: ")), "{error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn nonsense_is_refused() {
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        let (built, _) = build(&host, request(dir.path(), "FROM scratch\nNONSENSE x\n"));
        let Err(Error::Refused { reason }) = built else { panic!("{host}: {built:?}") };
        assert!(reason.to_lowercase().contains("nonsense"), "{host}: {reason}");

        // Refused before the context, more than any buffer holds, is read.
        fs::write(dir.path().join("big"), vec![7; 30_000_000]).unwrap();
        let mut bad_tag = request(dir.path(), "FROM scratch\nCOPY . /\n");
        bad_tag.tags = vec!["Not A Tag".to_owned()];
        let (built, _) = build(&host, bad_tag);
        let Err(Error::Refused { reason }) = built else { panic!("{host}: {built:?}") };
        assert!(reason.contains("invalid reference format"), "{host}: {reason}");
    }
}

#[test]
fn an_unreadable_context_ends_the_build() {
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        for n in 0..200 {
            fs::write(dir.path().join(format!("a{n:03}")), vec![b'x'; 100_000]).unwrap();
        }
        let last = dir.path().join("z");
        fs::write(&last, "z").unwrap();
        let mut removed = false;
        let built = wait(async {
            let engine = Engine::connect(&env(&host)).await.unwrap();
            let request = request(dir.path(), "FROM scratch\nCOPY . /\n");
            let remove = |_| {
                if !std::mem::replace(&mut removed, true) {
                    fs::remove_file(&last).unwrap();
                }
            };
            engine.build(request, remove).await
        });
        let Err(Error::Context(error)) = built else { panic!("{host}: {built:?}") };
        assert!(error.to_string().contains("z` for the build context: it does not exist"), "{error}");
    }
}

/// Whether a process with `mark` in its command line runs; engines' processes are visible from here.
fn runs(mark: &str) -> bool {
    let marked = |process: &Path| {
        fs::read(process.join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
    };
    fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|process| marked(&process.path()))
}

#[test]
fn dropping_a_build_stops_its_step_on_the_engine() {
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        // Quotes in the command, so that nothing that only carries its text looks like the process.
        let mark = fresh().to_string();
        let (front, back) = mark.split_at(10);
        let request = request(dir.path(), &format!("FROM {BASE}\nRUN sleep 301.{front}\"\"{back}\n"));
        let sleep = format!("301.{mark}");
        let built = wait(async {
            let engine = Engine::connect(&env(&host)).await.unwrap();
            let begun = async {
                while !runs(&sleep) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            tokio::select! {
                built = engine.build(request, |_| ()) => Some(built),
                () = begun => None,
                () = tokio::time::sleep(Duration::from_secs(30)) => panic!("{host}: it does not begin"),
            }
        });
        assert!(built.is_none(), "{host}: {built:?}");
        until(|| !runs(&sleep), || format!("{host}: it still runs"));
    }
}

#[test]
fn nothing_of_a_build_outlives_it() {
    let is_socket = |fd: &Path| fs::read_link(fd).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"));
    let sockets =
        || fs::read_dir("/proc/self/fd").unwrap().flatten().filter(|fd| is_socket(&fd.path())).count();
    for host in hosts() {
        let dir = TempDir::new().unwrap();
        wait(async {
            let engine = Engine::connect(&env(&host)).await.unwrap();
            let before = sockets();
            for _ in 0..16 {
                let request = request(dir.path(), "FROM scratch\nCOPY . /\n");
                engine.build(request, |_| ()).await.unwrap();
            }
            // Tests beside this one have sockets of their own for a while, but not always two for each of these builds.
            let deadline = Instant::now() + PATIENCE;
            while sockets() >= before + 24 {
                assert!(Instant::now() < deadline, "{host}: {before} before, {} after", sockets());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
    }
}
