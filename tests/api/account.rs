//! Which service is meant, and with which key.

use super::{Scene, quiet};
use crate::harness::TestEnv;
use crate::host::service::KEY;

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
    assert!(output.err.contains(&format!("the deployment service is {url}, by AGENT_HOST_URL of .env")));
    assert!(output.err.contains("the key is that of FRAMEWORK_API_KEY of .env"), "{output:?}");

    let env = TestEnv::empty().file(".env", format!("AGENT_HOST_URL={nowhere}\nAGENT_HOST_API_KEY=wrong\n"));
    let env = env.variable("AGENT_HOST_URL", &url).variable("FRAMEWORK_API_KEY", KEY);
    let output = quiet(env.run(LIST));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.err.contains("by AGENT_HOST_URL of the environment"), "{output:?}");
    assert!(output.err.contains("FRAMEWORK_API_KEY of the environment"), "{output:?}");

    let env = env.variable("PLATFORM_API_KEY", "wrong").variable("AGENT_HOST_API_KEY", "");
    assert_eq!(env.run(LIST).code, 3);
    let output = quiet(env.run(&format!("{LIST} --api-key {KEY}")));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.err.contains("the key is that of --api-key"), "{output:?}");
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
    assert!(output.err.contains("LANGSMITH_API_KEY of the environment"), "{output:?}");
    // A key of one platform is not for another.
    let env = TestEnv::empty().file("langgraph.json", "{}").variable("LANGSMITH_API_KEY", KEY);
    let output = quiet(env.variable("LANGSMITH_ENDPOINT", &format!("{url}/api/v1")).run(LIST));
    assert!(
        output.err.contains(&format!("is {url}/api-host, by LANGSMITH_ENDPOINT of the envi")),
        "{output:?}"
    );
    assert!(
        output.err.contains("found nothing") && output.err.contains("check that --host-url"),
        "{output:?}"
    );
    let env = TestEnv::empty().file("langgraph.json", "{}").variable("LANGGRAPH_HOST_URL", &url);
    let env = env.variable("LANGSMITH_API_KEY", KEY).file(".env", "PLATFORM_API_KEY=wrong");
    let output = env.run(LIST);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(output.err.contains("PLATFORM_API_KEY of .env"), "{output:?}");
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
    assert!(output.err.contains("the deployment service is https://api.host.langchain.com"), "{output:?}");
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
    assert!(output.err.contains("the key has characters that cannot be sent"), "{output:?}");
}

#[test]
fn a_key_in_the_open_is_warned_of() {
    let told = |address: &str| {
        // An empty workspace would be sent nowhere: the address is refused before.
        let env = TestEnv::empty().variable("AGENT_HOST_API_KEY", "two\nlines");
        env.run(&format!("{LIST} --host-url {address}")).err.contains("without encryption")
    };
    assert!(told("http://host.example") && told("HTTP://10.0.0.1:8900/api"));
    assert!(!told("https://host.example") && !told("http://localhost:1") && !told("http://[::1]:1"));
    // What only begins like an address of this machine is another one.
    assert!(told("http://localhost.example") && told("http://127.0.0.1.example"));
    assert!(!told("http://127.0.0.2:1"));
}

#[test]
fn a_key_that_goes_where_a_file_of_the_project_says_is_warned_of() {
    let scene = Scene::new();
    let file = format!("AGENT_HOST_URL={}\n", scene.host.url());
    let foreign = "the key, from AGENT_HOST_API_KEY of the environment, is sent to the address that AGENT_HOST_URL of \
                   .env gives";
    let env = TestEnv::empty().file(".env", &file).variable("AGENT_HOST_API_KEY", KEY);
    let output = quiet(env.run(LIST));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.err.contains(foreign), "{output:?}");
    for env in [
        TestEnv::empty().file(".env", format!("{file}AGENT_HOST_API_KEY={KEY}\n")),
        TestEnv::empty().variable("AGENT_HOST_URL", &scene.host.url()).variable("AGENT_HOST_API_KEY", KEY),
    ] {
        let output = quiet(env.run(LIST));
        assert!(output.code == 0 && !output.err.contains("is that meant"), "{output:?}");
    }
}
