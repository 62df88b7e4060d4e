//! Which service is meant, and with which key.

use std::process::Command;

use super::{Scene, quiet};
use crate::harness::TestEnv;
use crate::host::service::KEY;
use crate::terminal::Terminal;

const LIST: &str = "deploy list -v";

#[test]
fn options_win_over_the_environment_and_that_over_the_file() {
    let scene = Scene::new();
    let url = scene.host.url();
    let nowhere = "http://127.0.0.1:1";
    let file = format!("AGENT_HOST_URL={url}\nFRAMEWORK_API_KEY={KEY}\n");
    let env = TestEnv::empty().file(".env", &file);
    let output = quiet(env.run(LIST));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.err.contains(&format!("deployment service: {url} (AGENT_HOST_URL in .env)")));
    assert!(output.err.contains("API key: FRAMEWORK_API_KEY in .env"), "{output:?}");

    let env = TestEnv::empty().file(".env", format!("AGENT_HOST_URL={nowhere}\nAGENT_HOST_API_KEY=wrong\n"));
    let env = env.variable("AGENT_HOST_URL", &url).variable("FRAMEWORK_API_KEY", KEY);
    let output = quiet(env.run(LIST));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.err.contains("(AGENT_HOST_URL in the environment)"), "{output:?}");
    assert!(output.err.contains("FRAMEWORK_API_KEY in the environment"), "{output:?}");

    let env = env.variable("PLATFORM_API_KEY", "wrong").variable("AGENT_HOST_API_KEY", "");
    assert_eq!(env.run(LIST).code, 3);
    let output = quiet(env.run(&format!("{LIST} --api-key {KEY}")));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.err.contains("API key: --api-key"), "{output:?}");
    assert_eq!(env.run(&format!("{LIST} --api-key {KEY} --host-url {nowhere}")).code, 4);
}

#[test]
fn names_of_the_hosted_service_come_last() {
    let scene = Scene::new();
    let url = scene.host.url();
    let env = TestEnv::empty().file("langgraph.json", "{}").variable("LANGGRAPH_HOST_URL", &url);
    let env = env.variable("LANGSMITH_API_KEY", KEY);
    let output = quiet(env.run(LIST));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.err.contains("LANGSMITH_API_KEY in the environment"), "{output:?}");
    // A key of one platform is not for another.
    let env = TestEnv::empty().file("langgraph.json", "{}").variable("LANGSMITH_API_KEY", KEY);
    let output = quiet(env.variable("LANGSMITH_ENDPOINT", &format!("{url}/api/v1")).run(LIST));
    assert!(
        output.err.contains(&format!("service: {url}/api-host (LANGSMITH_ENDPOINT in the envi")),
        "{output:?}"
    );
    assert!(
        output.err.contains("failed: not found") && output.err.contains("check that --host-url"),
        "{output:?}"
    );
    let env = TestEnv::empty().file("langgraph.json", "{}").variable("LANGGRAPH_HOST_URL", &url);
    let env = env.variable("LANGSMITH_API_KEY", KEY).file(".env", "PLATFORM_API_KEY=wrong");
    let output = env.run(LIST);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.err.contains("PLATFORM_API_KEY in .env"), "{output:?}");
}

#[test]
fn the_service_must_be_known() {
    let output = TestEnv::project().variable("AGENT_HOST_API_KEY", KEY).run(LIST);
    assert_eq!(output.code, 2);
    for told in ["--host-url", "AGENT_HOST_URL", "`agentcli host serve`"] {
        assert!(output.err.contains(told), "{output:?}");
    }
    // Without a key nothing is sent anywhere.
    let output = TestEnv::empty().file("langgraph.json", "{}").run(LIST);
    assert_eq!(output.code, 3);
    assert!(output.err.contains("deployment service: https://api.host.langchain.com"), "{output:?}");
    assert!(output.err.contains("AGENT_HOST_API_KEY"), "{output:?}");
}

#[test]
fn a_wrong_key_and_a_wrong_address_are_told() {
    let scene = Scene::new();
    let env = TestEnv::empty();
    let wrong = "wrong-key-that-nobody-sees";
    let output = env.run(&format!("{LIST} --host-url {} --api-key {wrong}", scene.host.url()));
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.err.contains("`GET /v2/deployments`") && !output.err.contains(wrong), "{output:?}");
    for address in
        ["127.0.0.1", "ftp://host", "http://user:hidden@127.0.0.1", "http://h/?token=hidden", "h/hidden"]
    {
        let output = env.run(&format!("{LIST} --host-url {address} --api-key {wrong}"));
        assert_eq!(output.code, 2, "{output:?}");
        assert!(!output.err.contains(wrong) && !output.err.contains("hidden"), "{output:?}");
    }
}

#[test]
fn the_workspace_goes_along() {
    let scene = Scene::new();
    let env = TestEnv::empty().variable("PLATFORM_TENANT_ID", "a-workspace");
    let output = super::deploy(&env, &scene.proxy.url(), "list");
    assert_eq!(output.code, 0, "{output:?}");
    let heads = scene.proxy.heads().concat().to_lowercase();
    assert!(heads.contains("x-tenant-id: a-workspace"), "{heads}");
}

#[test]
fn a_key_that_cannot_be_sent_is_told() {
    let env = TestEnv::empty().variable("AGENT_HOST_API_KEY", "two\nlines");
    let output = env.run(&format!("{LIST} --host-url http://127.0.0.1:1"));
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.err.contains("the key contains characters that are not valid in an HTTP header"),
        "{output:?}"
    );
}

#[test]
fn a_key_in_the_open_is_warned_of() {
    let told = |address: &str| {
        // An empty workspace would be sent nowhere: the address is refused before.
        let env = TestEnv::empty().variable("AGENT_HOST_API_KEY", "two\nlines");
        env.run(&format!("{LIST} --host-url {address}")).err.contains("sent unencrypted")
    };
    assert!(told("http://host.example") && told("HTTP://10.0.0.1:8900/api"));
    assert!(!told("https://host.example") && !told("http://localhost:1") && !told("http://[::1]:1"));
    // What only begins like an address of this machine is another one.
    assert!(told("http://localhost.example") && told("http://127.0.0.1.example"));
    assert!(!told("http://127.0.0.2:1"));
}

/// A cloned project whose `.env` sets the address of the service, and these variables.
fn clone(scene: &Scene, variables: &str) -> TestEnv {
    let file = format!("AGENT_HOST_URL={}\n{variables}\n", scene.proxy.url());
    TestEnv::project().file(".env", file)
}

#[test]
fn an_address_set_by_a_project_gets_no_key_of_the_user() {
    let scene = Scene::new();
    let id = &scene.id;
    let env = clone(&scene, "").variable("AGENT_HOST_API_KEY", KEY);
    for command in [
        "--name x --remote",
        "--name x --dry-run",
        "list",
        "get agent",
        "logs --name agent",
        &format!("logs --deployment-id {id}"),
        &format!("revisions list {id}"),
        &format!("repos {}", super::INTEGRATION),
        &format!("update {id} --resource cpu=2 --yes"),
        &format!("delete {id} --force"),
    ] {
        let output = quiet(env.run(&format!("deploy {command}")));
        assert_eq!(scene.proxy.heads(), [""; 0], "deploy {command}");
        assert_eq!(output.code, 2, "{output:?}");
        let message = format!(
            "error: refusing to send the API key to {}: the address is set by AGENT_HOST_URL in .env, the key by \
             AGENT_HOST_API_KEY in the environment",
            scene.proxy.url()
        );
        assert!(output.err.contains(&message), "{output:?}");
        assert!(output.err.contains("pass it with --host-url"), "{output:?}");
    }
    let output = quiet(clone(&scene, "").run(&format!("{LIST} --api-key {KEY}")));
    assert_eq!((output.code, scene.proxy.heads().len()), (2, 0), "{output:?}");
    assert!(output.err.contains("the key by --api-key"), "{output:?}");
}

#[test]
fn references_to_the_environment_do_not_make_a_key_the_project_s_own() {
    let scene = Scene::new();
    for variables in ["AGENT_HOST_API_KEY=${MINE}", "A=${MINE}\nAGENT_HOST_API_KEY=${A}"] {
        let output = quiet(clone(&scene, variables).variable("MINE", KEY).run(LIST));
        assert_eq!((output.code, scene.proxy.heads().len()), (2, 0), "{output:?}");
        assert!(
            output.err.contains("AGENT_HOST_API_KEY in .env, which refers to the environment"),
            "{output:?}"
        );
    }
    // Nor is a key sent as a part of an address.
    let address = format!("AGENT_HOST_API_KEY=own\nAGENT_HOST_URL={}/${{MINE}}", scene.proxy.url());
    let output = clone(&scene, &address).variable("MINE", KEY).run("deploy list");
    assert_eq!((output.code, scene.proxy.heads().len()), (2, 0), "{output:?}");
}

#[test]
fn a_trusted_address_gets_the_key() {
    let scene = Scene::new();
    let url = scene.proxy.url();
    let own = format!("AGENT_HOST_API_KEY={KEY}");
    for (env, options) in [
        (clone(&scene, &own), String::new()),
        (clone(&scene, "").variable("AGENT_HOST_API_KEY", KEY), format!("--host-url {url}")),
        (
            clone(&scene, "").variable("AGENT_HOST_API_KEY", KEY).variable("AGENT_HOST_URL", &url),
            String::new(),
        ),
        (clone(&scene, &own).variable("AGENT_HOST_URL", &url), String::new()),
    ] {
        let output = quiet(env.run(&format!("{LIST} {options}")));
        assert_eq!(output.code, 0, "{output:?}");
    }
}

#[test]
fn the_user_can_confirm_the_address_of_a_project() {
    let scene = Scene::new();
    let env = clone(&scene, "");
    let begun = || {
        let mut command = Command::new(crate::harness::program());
        command.args(["deploy", "list"]).current_dir(env.path("")).env("AGENT_HOST_API_KEY", KEY);
        command.env_remove("AGENT_HOST_URL");
        let mut terminal = Terminal::start(command);
        terminal.expect("AGENT_HOST_API_KEY in the environment) there? [y/N] ");
        terminal
    };
    let mut declined = begun();
    declined.answer("");
    assert_eq!(declined.end().code(), Some(1), "{}", declined.printed);
    assert_eq!(scene.proxy.heads().len(), 0, "{}", declined.printed);
    let mut confirmed = begun();
    confirmed.answer("y");
    assert_eq!(confirmed.end().code(), Some(0), "{}", confirmed.printed);
    assert!(confirmed.printed.contains("agent"), "{}", confirmed.printed);
}

#[test]
fn a_login_is_kept_for_its_address_only() {
    let (scene, other) = (Scene::new(), Scene::new());
    let env = TestEnv::empty();
    let config = env.path("config").display().to_string();
    let env = env.variable("XDG_CONFIG_HOME", &config);
    let run = |env: &TestEnv, arguments: &str| quiet(env.run(&format!("deploy {arguments}")));
    let with_key =
        |key: &str| TestEnv::empty().variable("XDG_CONFIG_HOME", &config).input(&format!("{key}\n"));
    let url = scene.proxy.url();
    let file = env.path("config/agentcli/services.json");

    let refused = run(&with_key("wrong"), &format!("login one --host-url {url}"));
    assert!(refused.code != 0 && !file.exists(), "{refused:?}");
    assert_eq!(run(&with_key(""), &format!("login one --host-url {url}")).code, 2);
    assert_eq!(run(&with_key(KEY), "login one").code, 2, "no address");
    assert_eq!(
        run(&with_key(KEY), &format!("login one --host-url {}", url.replace("://", "://a:b@"))).code,
        2
    );

    let output = run(&with_key(KEY), &format!("login one --host-url {url}"));
    assert!(output.code == 0 && output.err.ends_with("logged in to one\n"), "{output:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let listed = run(&env, "list -v");
    assert!(listed.code == 0 && listed.out.contains("agent"), "{listed:?}");
    assert!(listed.err.contains("API key: login `one`\n"), "{listed:?}");

    // No other address gets the key, whoever names it.
    let elsewhere = other.proxy.url();
    let refused = run(&env, &format!("list --host-url {elsewhere}"));
    assert!(refused.code == 3 && refused.err.contains("API key"), "{refused:?}");
    let project = TestEnv::empty()
        .variable("XDG_CONFIG_HOME", &config)
        .file(".env", format!("AGENT_HOST_URL={elsewhere}\n"));
    assert_eq!(run(&project, "list").code, 3);
    assert_eq!(other.proxy.forwarded("", ""), 0);
    // The environment takes precedence.
    let wrong = TestEnv::empty().variable("XDG_CONFIG_HOME", &config).variable("AGENT_HOST_API_KEY", "wrong");
    assert_ne!(run(&wrong, "list").code, 0);

    // The last one is the default; the others are chosen by name.
    assert_eq!(run(&with_key(KEY), &format!("login --host-url {elsewhere}")).code, 0);
    let before = scene.proxy.forwarded("GET", "/v2/deployments");
    assert_eq!(run(&env, "list").code, 0);
    assert_eq!(scene.proxy.forwarded("GET", "/v2/deployments"), before);
    assert_eq!(run(&env, "list --host-url one").code, 0);
    assert!(scene.proxy.forwarded("GET", "/v2/deployments") > before);
    assert_eq!(run(&env, "logout").code, 0);
    assert_eq!(run(&env, "list").code, 0, "the one that is left is the default");
    assert_eq!(run(&env, "logout one").code, 0);
    assert_eq!(run(&env, "logout one").code, 2);
    assert!(!std::fs::read_to_string(&file).unwrap().contains(KEY));

    std::fs::write(&file, format!("{{\"{KEY}")).unwrap();
    let broken = run(&env, "list");
    assert!(broken.code == 2 && broken.err.contains("it is not a list of services"), "{broken:?}");
}

#[test]
fn a_typed_key_is_not_shown() {
    let scene = Scene::new();
    let env = TestEnv::empty();
    let mut command = Command::new(crate::harness::program());
    command.args(["deploy", "login", "one", "--host-url", &scene.proxy.url()]).current_dir(env.path(""));
    command.env("XDG_CONFIG_HOME", env.path("config"));
    let mut terminal = Terminal::start(command);
    terminal.expect("API key of ");
    terminal.answer(KEY);
    assert_eq!(terminal.end().code(), Some(0), "{}", terminal.printed);
    assert!(terminal.printed.contains("logged in to one"), "{}", terminal.printed);
    assert!(!terminal.printed.contains(KEY), "{}", terminal.printed);
}
