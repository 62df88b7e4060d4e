//! What is sent for the service to build, and which deployment it goes to.

use std::fs;
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{SECRET, Stage, deployments, named, revisions};
use crate::host::service::Host;
use crate::proxy::{Fault, Proxy};

#[test]
fn a_first_deploy_and_an_update() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    let events = stage.events("--name my-agent --remote --deployment-type prod");
    assert_eq!(named(&events, "created").len(), 1);
    assert_eq!(events.last().unwrap()["status"], "deployed");
    let [created] = &deployments(&host)[..] else { panic!("more than one") };
    assert_eq!((&created["name"], &created["source"]), (&json!("my-agent"), &json!("internal_source")));
    assert_eq!(created["source_config"]["deployment_type"], "prod");

    let events = stage.events("--name my-agent --remote");
    assert_eq!((named(&events, "found").len(), named(&events, "created").len()), (1, 0));
    assert_eq!(events.last().unwrap()["deployment_id"], created["id"]);
    let said: Vec<_> =
        named(&events, "log").into_iter().map(|log| log["message"].as_str().unwrap()).collect();
    assert!(said.iter().any(|line| line.starts_with("received 4 files")), "{said:?}");
    assert_eq!(said.iter().filter(|line| line.starts_with("received")).count(), 1, "told once");
    let found = deployments(&host);
    assert_eq!((found.len(), revisions(&host, &found[0]).len()), (1, 2));
    let newest = &revisions(&host, &found[0])[0];
    assert_eq!(newest["source_revision_config"]["graph_config_path"], "agent.json");
    assert_eq!(newest["status"], "DEPLOYED");

    // Another way to name it, and in words.
    let id = found[0]["id"].as_str().unwrap();
    let output = stage.deploy(&format!("--deployment-id {id} --remote --name another -v"));
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.starts_with("deployed my-agent\n"), "{}", output.out);
    assert_eq!(deployments(&host).len(), 1);
}

#[test]
fn without_an_engine_the_service_builds_unless_that_is_forbidden() {
    let host = Host::start(|_| {});
    let nowhere = |stage: Stage| stage.with(|env| env.variable("DOCKER_HOST", "unix:///nowhere/engine.sock"));
    let stage = nowhere(Stage::new(&host.url()));
    let output = stage.deploy("--name x --no-remote");
    assert_eq!(output.code, 4, "{}", output.err);
    // The service would choose the base image by its tag.
    let lock = format!(
        "version = 1\n[server]\nname = \"licensed\"\n[[image]]\nname = \"langchain/langgraph-api:3.11\"\n\
         digest = \"sha256:{}\"\n",
        "0".repeat(64)
    );
    let locked = nowhere(Stage::new(&host.url())).with(|env| env.file("agent.lock", lock));
    let output = locked.deploy("--name x --locked");
    assert_eq!(output.code, 4, "{}", output.err);
    assert!(deployments(&host).is_empty());
    for (stage, more, received) in [(&stage, "", 4), (&locked, "", 5), (&locked, " --no-lock", 4)] {
        let events = stage.events(&format!("--name x{more}"));
        assert!(named(&events, "note")[0]["message"].as_str().unwrap().contains("building remotely"));
        let received = format!("received {received} files");
        let has = |log: &&Value| log["message"].as_str().unwrap().starts_with(&received);
        assert!(named(&events, "log").iter().any(has), "{received}: {events:#?}");
    }
    let events = stage.events("--name x");
    assert_eq!(events.last().unwrap()["status"], "deployed");
}

#[test]
fn the_service_builds_if_the_engine_hangs() {
    let host = Host::start(|_| {});
    let directory = TempDir::new().unwrap();
    let socket = directory.path().join("engine.sock");
    let _engine = UnixListener::bind(&socket).unwrap();
    let address = format!("unix://{}", socket.display());
    let stage = Stage::new(&host.url()).with(|env| env.variable("DOCKER_HOST", &address));
    let events = stage.events("--name x");
    let note = named(&events, "note")[0]["message"].as_str().unwrap();
    assert!(note.contains("did not respond within") && note.contains("building remotely"), "{note}");
    assert_eq!(events.last().unwrap()["status"], "deployed");
}

#[test]
fn arguments_of_a_build_have_names() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    for arguments in [".", "--remote .", "--name x . --no-pull"] {
        let output = stage.deploy(arguments);
        assert_eq!(output.code, 2, "{arguments}: {}", output.err);
        assert!(output.err.contains("as in `agentcli build`"), "{arguments}: {}", output.err);
    }
    for (wrong, meant) in [("lst", "list"), ("log --follow", "logs"), ("revision list", "revisions")] {
        let output = stage.deploy(wrong);
        assert_eq!(output.code, 2, "{wrong}: {}", output.err);
        let told = format!("did you mean `agentcli deploy {meant}`?");
        assert!(output.err.contains(&told), "{wrong}: {}", output.err);
    }
    let help = stage.deploy("--help").out;
    assert!(help.contains("Examples:") && !help.contains("[COMMAND]..."), "{help}");
    assert!(deployments(&host).is_empty());
}

#[test]
fn a_rehearsal_changes_nothing() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    let events = stage.events("--name x --remote --dry-run");
    let steps: Vec<_> = named(&events, "would").iter().map(|it| it["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["create", "upload", "update", "wait"]);
    assert_eq!(named(&events, "packed")[0]["files"], 4);
    assert!(deployments(&host).is_empty());
}

#[test]
fn the_name_comes_from_the_first_that_says_one() {
    let host = Host::start(|_| {});
    let name = |stage: &Stage, arguments: &str| {
        let output = stage.deploy(&format!("--remote --dry-run {arguments}"));
        assert_eq!(output.code, 0, "{}", output.err);
        output.out.split('`').nth(1).unwrap().to_owned()
    };
    let stage =
        Stage::new(&host.url()).with(|env| env.file(".env", "PLATFORM_DEPLOYMENT_NAME=of-the-file\n"));
    assert_eq!(name(&stage, ""), "of-the-file");
    let stage = stage.with(|env| env.variable("PLATFORM_DEPLOYMENT_NAME", "of-the-environment"));
    assert_eq!(name(&stage, ""), "of-the-environment");
    assert_eq!(name(&stage, "--name of-the-option"), "of-the-option");
    let stage = Stage::new(&host.url());
    let directory = stage.env.path("").file_name().unwrap().to_string_lossy().to_lowercase();
    assert_eq!(name(&stage, ""), directory.trim_start_matches('.'));
    let output = stage.deploy("--remote --name My_Agent");
    assert_eq!(output.code, 2);
    assert!(output.err.contains("such as `my-agent`"), "{}", output.err);
    assert!(deployments(&host).is_empty());
}

#[test]
fn what_was_made_elsewhere_may_have_any_name() {
    let host = Host::start(|_| {});
    let body = json!({ "name": "x", "source": "internal_source", "source_config": {},
        "source_revision_config": {}, "secrets": [] });
    let mut made = host.expect(201, "POST", "/v2/deployments", Some(&body));
    // The service makes none of such a name itself.
    made["name"] = json!("My_Agent.2");
    let page: &str = json!({ "resources": [made], "offset": 1 }).to_string().leak();
    let proxy = Proxy::start(host.address());
    let headers = &[("Content-Type", "application/json")];
    // The next page is its own: empty.
    let list = || proxy.fail("GET", "/v2/deployments?", Fault::Answer(200, headers, page), 1);
    list();
    let stage = Stage::new(&proxy.url());
    let events = stage.events("--name My_Agent.2 --remote");
    assert_eq!(named(&events, "found")[0]["deployment_id"], made["id"]);
    assert_eq!(events.last().unwrap()["status"], "deployed");
    list();
    assert_eq!(stage.deploy("logs --name My_Agent.2").code, 0);
}

#[test]
fn the_name_is_looked_for_on_all_pages() {
    let host = Host::start(|_| {});
    let make = |name: &str| {
        let body = json!({ "name": name, "source": "internal_source", "source_config": {},
            "source_revision_config": {}, "secrets": [] });
        host.expect(201, "POST", "/v2/deployments", Some(&body))
    };
    // The newest are listed first.
    let wanted = make("agent");
    (0..120).for_each(|number| _ = make(&format!("agent-{number}")));
    let events = Stage::new(&host.url()).events("--name agent --remote");
    assert_eq!(named(&events, "found")[0]["deployment_id"], wanted["id"]);
    assert!(named(&events, "created").is_empty());
}

#[test]
fn variables_become_secrets_and_are_not_told() {
    let host = Host::start(|_| {});
    let dotenv =
        format!("# mine\nTOKEN='{SECRET}'\nEMPTY=\nPOSTGRES_URI={SECRET}\nexport  PLAIN = {SECRET}\n");
    let config = r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}, "env": ".env"}"#;
    let stage = Stage::new(&host.url()).with(|env| env.file(".env", &dotenv).file("agent.json", config));
    let output = stage.deploy("--name x --remote -v");
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(
        output.err.contains("ignoring variables that the service sets itself: POSTGRES_URI\n"),
        "{}",
        output.err
    );
    let names = |host: &Host| -> Vec<String> {
        let found = deployments(host).remove(0);
        let secrets = found["secrets"].as_array().unwrap().clone();
        secrets.iter().map(|secret| secret["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&host), ["TOKEN", "PLAIN"]);
    assert_eq!(fs::read_to_string(stage.env.path(".env")).unwrap(), dotenv);
    let output = stage.deploy("--name x --remote --dry-run");
    assert!(output.out.contains("new revision, secrets TOKEN, PLAIN"), "{}", output.out);
    // Without variables, what is there stays.
    let stage = Stage::new(&host.url());
    stage.events("--name x --remote");
    assert_eq!(names(&host), ["TOKEN", "PLAIN"]);
}

#[test]
fn secrets_that_env_lacks_stay_unless_they_are_to_be_removed() {
    let host = Host::start(|_| {});
    let proxy = Proxy::start(host.address());
    let stage = |dotenv: &str| {
        let config = r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}, "env": ".env"}"#;
        Stage::new(&proxy.url()).with(|env| env.file(".env", dotenv).file("agent.json", config))
    };
    let names = || deployments(&host)[0]["secrets"].to_string();
    stage("ONE=1\nTWO=2\n").events("--name x --remote");
    stage("TWO=2\nTHREE=3\n").events("--name x --remote");
    assert_eq!(names(), r#"[{"name":"TWO"},{"name":"THREE"},{"name":"ONE"}]"#);

    // A service that can only replace them: nothing is packed or sent.
    let mut page = host.expect(200, "GET", "/v2/deployments", None);
    page["resources"][0].as_object_mut().unwrap().remove("merges_secrets").unwrap();
    let page: &str = page.to_string().leak();
    let answer = Fault::Answer(200, &[("Content-Type", "application/json")], page);
    proxy.fail("GET", "/v2/deployments", answer, usize::MAX);
    for option in ["", " --dry-run"] {
        let output = stage("TWO=2\n").deploy(&format!("--name x --remote{option}"));
        assert_eq!(output.code, 2, "{}", output.err);
        let told =
            "error: this would remove secrets of `x`: THREE, ONE\nhint: add them to the project's `env`";
        assert!(output.err.contains(told), "{}", output.err);
    }
    assert_eq!((revisions(&host, &deployments(&host)[0]).len(), names().matches("name").count()), (2, 3));
    proxy.mend();
    stage("TWO=2\n").events("--name x --remote --replace-secrets");
    assert_eq!(names(), r#"[{"name":"TWO"}]"#);
}

#[test]
fn tracked_packages_are_sent_with_each_revision() {
    let host = Host::start(|_| {});
    let deploy = |requirements: &str, arguments: &str| {
        let stage = Stage::new(&host.url()).with(|env| env.file("requirements.txt", requirements));
        stage.events(&format!("--name x --remote {arguments}"));
        deployments(&host)[0]["tracked_packages"].clone()
    };
    assert_eq!(deploy("", ""), json!(null));
    assert_eq!(deploy("google-adk==1.2.3\n", ""), json!(["google-adk:==1.2.3"]));
    assert_eq!(deploy("Google_ADK\n", ""), json!(["google-adk:unknown"]));
}

#[test]
fn a_broken_lock_file_does_not_stop_a_deployment() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url())
        .with(|env| env.file("requirements.txt", "google-adk\n").file("uv.lock", "version = 2\n"));
    let output = stage.deploy("--name x --remote --no-lock");
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.err.contains("tracked packages without `uv.lock`"), "{output:?}");
    assert_eq!(deployments(&host)[0]["tracked_packages"], json!(["google-adk:unknown"]));
}

#[test]
fn a_mistake_in_env_is_told_once() {
    let host = Host::start(|_| {});
    let config = r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}, "env": "./.env"}"#;
    let stage = Stage::new(&host.url())
        .with(|env| env.file(".env", "A=1\nno assignment\n").file("agent.json", config));
    let output = stage.deploy("--remote --dry-run");
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.err.matches("ignoring .env:2: not an assignment").count(), 1, "{}", output.err);
}

#[test]
fn credentials_are_left_out_unless_they_are_named() {
    let host = Host::start(|_| {});
    let files = |ignore: &str| {
        let stage = Stage::new(&host.url()).with(|env| {
            env.file(".dockerignore", ignore).file(".env", "A=1\n").file("src/.netrc", "machine x\n")
        });
        let events = stage.events("--name x --remote --dry-run");
        named(&events, "packed")[0]["files"].as_u64().unwrap()
    };
    assert_eq!(files("!.env\n!src/.netrc\n"), files("# nothing is left out\n!*\n") + 2);
}

#[test]
fn an_archive_holds_the_configuration_even_if_dockerignore_excludes_it() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url()).with(|env| env.file(".dockerignore", "*.json\n"));
    let output = stage.deploy("--name x --remote");
    assert_eq!(output.code, 0, "{}", output.err);
    assert_eq!(deployments(&host).len(), 1);
}

#[test]
fn what_leads_out_of_the_tree_is_not_sent() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    std::os::unix::fs::symlink("/etc/passwd", stage.env.path("link")).unwrap();
    let output = stage.deploy("--name x --remote");
    assert_eq!(output.code, 1);
    assert!(output.err.contains("is a symbolic link to `/etc/passwd`"), "{}", output.err);
    assert!(deployments(&host).is_empty());
}

#[test]
fn somebody_at_a_terminal_is_asked_before_anything_is_made() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url()).with(crate::harness::TestEnv::at_a_terminal);
    let output = stage.deploy("--name x --remote");
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(output.err.contains("There is no deployment `x`. Create it (type dev)? [Y/n]"), "{}", output.err);
    assert!(output.err.contains("nothing was changed") && deployments(&host).is_empty());
    assert_eq!(stage.deploy("--name x --remote --yes").code, 0);
    // An update makes nothing new.
    assert_eq!(stage.deploy("--name x --remote").code, 0);
    assert_eq!(deployments(&host).len(), 1);
}

#[test]
fn each_deployment_type_has_its_word_in_the_api() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    for (option, word) in [
        ("", "dev"),
        ("--deployment-type dev", "dev"),
        ("--deployment-type prod", "prod"),
        ("--deployment-type serverless", "dev_zero"),
        ("--deployment-type dedicated", "prod"),
    ] {
        let name = format!("type-{}", option.rsplit(' ').next().unwrap()).trim_end_matches('-').to_owned();
        stage.events(&format!("--name {name} --remote {option}"));
        assert_eq!(deployments(&host)[0]["source_config"]["deployment_type"], word, "{option}");
    }
    let output = stage.deploy("--name x --remote --deployment-type huge");
    assert_eq!(output.code, 2, "{}", output.err);
    assert!(output.err.contains("dev, prod, serverless, dedicated"), "{}", output.err);
}

#[test]
fn a_repository_is_built_anew_and_nothing_is_sent() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    let output = stage.deploy("--name x --revision-source codehost");
    assert_eq!(output.code, 2, "{}", output.err);
    let body = json!({
        "name": "x", "source": "codehost", "secrets": [],
        "source_config": { "integration_id": "11111111-1111-4111-8111-111111111111",
            "repo_url": "https://code.example/team/agent" },
        "source_revision_config": { "repo_ref": "main", "graph_config_path": "agent.json" },
    });
    let made = host.expect(201, "POST", "/v2/deployments", Some(&body));
    let events = stage.events("--name x --revision-source codehost");
    assert!(named(&events, "packed").is_empty() && named(&events, "built").is_empty());
    assert_eq!(events.last().unwrap()["status"], "deployed");
    assert_eq!(revisions(&host, &made).len(), 2);
    // What is here goes to it, too, where that is asked.
    let events = stage.events("--name x --remote");
    assert_eq!(named(&events, "uploaded").len(), 1);
    assert_eq!(revisions(&host, &made)[0]["source"], "internal_source");
}

#[test]
fn what_is_being_deleted_gets_no_revision() {
    let host = Host::start(|_| {});
    let proxy = Proxy::start(host.address());
    let stage = Stage::new(&proxy.url());
    stage.events("--name x --remote");
    let mut page = host.expect(200, "GET", "/v2/deployments", None);
    page["resources"][0]["status"] = "AWAITING_DELETE".into();
    let page: &str = page.to_string().leak();
    proxy.fail(
        "GET",
        "/v2/deployments",
        Fault::Answer(200, &[("Content-Type", "application/json")], page),
        1,
    );
    let output = stage.deploy("--name x --remote");
    assert_eq!(output.code, 4, "{}", output.err);
    assert!(output.err.contains("the deployment `x` is being deleted"), "{}", output.err);
    assert_eq!(revisions(&host, &deployments(&host)[0]).len(), 1);
}

/// The service may say what its storage wants to hear with an archive.
#[test]
fn headers_for_the_upload_are_sent_with_it_and_with_nothing_else() {
    let host = Host::start(|_| {});
    let (proxy, elsewhere) = (Proxy::start(host.address()), Proxy::start(host.address()));
    let stage = Stage::new(&proxy.url());
    stage.events("--name x --remote");
    let id = deployments(&host)[0]["id"].as_str().unwrap().to_owned();
    let before = proxy.heads().len();
    let place = host.expect(200, "POST", &format!("/v2/deployments/{id}/upload-url"), Some(&json!({})));
    let answer = json!({
        "upload_url": place["upload_url"].as_str().unwrap().replace(&host.url(), &proxy.url()),
        "object_path": place["object_path"],
        "upload_headers": {
            "content-type": "application/x-gzip", "X-Kept-As": "block", "Authorization": format!("once {SECRET}"),
            "Content-Length": "7", "Transfer-Encoding": "chunked",
        },
    });
    let answer: &str = answer.to_string().leak();
    proxy.fail("POST", "/upload-url", Fault::Answer(200, &[("Content-Type", "application/json")], answer), 1);
    stage.deploy("--name x --remote -v");
    assert_eq!(revisions(&host, &deployments(&host)[0]).len(), 2);
    let of_upload = |head: &String| head.starts_with("PUT ");
    let (uploads, others): (Vec<_>, Vec<_>) =
        proxy.heads().split_off(before).into_iter().partition(of_upload);
    let [upload] = &uploads[..] else { panic!("not one upload: {uploads:?}") };
    let lines: Vec<String> = upload.lines().map(str::to_lowercase).collect();
    let values = |name: &str| -> Vec<&str> {
        let name = format!("{name}: ");
        lines.iter().filter_map(|line| line.strip_prefix(&name)).collect()
    };
    assert_eq!(values("content-type"), ["application/x-gzip"]);
    assert_eq!(values("x-kept-as"), ["block"]);
    assert_eq!(values("authorization"), [format!("once {SECRET}")]);
    // How the body is framed is not the service's to say.
    assert!(values("content-length").len() == 1 && values("content-length") != ["7"], "{upload}");
    assert_eq!((values("transfer-encoding"), values("x-api-key")), (vec![], vec![]));
    // Only a service that says nothing has the storage that wants to know how much may come.
    assert_eq!(values("x-goog-content-length-range"), Vec::<&str>::new());
    assert!(!others.iter().any(|head| head.contains(SECRET) || head.contains("X-Kept-As")), "{others:?}");

    // Nor are they sent on to somebody else.
    proxy.fail("POST", "/upload-url", Fault::Answer(200, &[("Content-Type", "application/json")], answer), 1);
    proxy.fail("PUT", "", Fault::Redirect(307, format!("{}/elsewhere", elsewhere.url())), 1);
    let output = stage.deploy("--name x --remote -v");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.err.contains("was redirected to"), "{output:?}");
    assert_eq!(elsewhere.heads(), Vec::<String>::new());
}

/// Bytes that no archive packs smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut number = 1_u64;
    let words = std::iter::repeat_with(|| {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        number
    });
    words.take(length / 8).flat_map(u64::to_le_bytes).collect()
}

#[test]
fn what_is_large_is_told_and_what_is_too_large_is_not_sent() {
    let host = Host::start(|_| {});
    let proxy = Proxy::start(host.address());
    let stage = Stage::new(&proxy.url());
    let piece = noise(51 << 20);
    fs::create_dir(stage.env.path("models")).unwrap();
    fs::write(stage.env.path("models/0.bin"), &piece).unwrap();
    let said = stage.events("--name x --remote --dry-run");
    let told = named(&said, "warning");
    assert_eq!(told.len(), 1, "{said:?}");
    let told = told[0]["message"].as_str().unwrap();
    assert!(told.contains("the archive is large") && told.contains("`models/0.bin`"), "{told}");
    for index in 1..4 {
        fs::write(stage.env.path(&format!("models/{index}.bin")), &piece).unwrap();
    }
    // 204 MB, and every method but GET would do something.
    let output = stage.deploy("--name x --remote");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.err.contains("packed, it exceeds 200 MB; the largest paths are `models`"), "{output:?}");
    assert!(output.err.contains(".dockerignore"), "{output:?}");
    assert!(proxy.heads().iter().all(|head| head.starts_with("GET ")), "{:?}", proxy.heads());
    assert!(deployments(&host).is_empty());
}
