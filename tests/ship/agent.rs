//! Deployments of agents, which a service finds by the agent and its environment.

use serde_json::{Value, json};

use super::{Stage, deployments, named, revisions};
use crate::harness::TestEnv;
use crate::host::image;
use crate::host::service::Host;
use crate::proxy::{Fault, Proxy};

const STAGING: &str = "--agent-id sales --agent-environment staging";
const PRODUCTION: &str = "--agent-id sales --agent-environment production";

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

#[test]
fn an_agent_has_a_deployment_in_each_environment() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    let first = stage.events(&format!("--remote {STAGING}"));
    let created = named(&first, "created")[0].clone();
    let again = stage.events(&format!("--remote {STAGING}"));
    assert!(named(&again, "created").is_empty());
    assert_eq!(named(&again, "found")[0]["deployment_id"], created["deployment_id"]);
    let other = stage.events(&format!("--remote {PRODUCTION}"));
    assert_ne!(named(&other, "created")[0]["deployment_id"], created["deployment_id"]);
    let [production, staging] = &deployments(&host)[..] else { panic!("not two deployments") };
    assert_eq!(staging["agent"], json!({ "agent_id": "sales", "environment": "staging" }));
    assert_eq!(production["agent"], json!({ "agent_id": "sales", "environment": "production" }));
    assert_eq!((revisions(&host, staging).len(), revisions(&host, production).len()), (2, 1));
    let planned = stage.events("--remote --agent-id new --agent-environment development --dry-run");
    let message = "deployment of agent `new` in development, type dev";
    assert_eq!(named(&planned, "would")[0]["message"], message);
}

#[test]
fn an_external_image_is_deployed_for_an_agent() {
    let host = Host::start(|options| options.is_self_hosted = true);
    let stage = Stage::new(&host.url());
    for (digit, count) in [('a', 1), ('b', 2)] {
        stage.events(&format!("--image-uri {} {STAGING}", image(digit)));
        let [found] = &deployments(&host)[..] else { panic!("not one deployment") };
        assert_eq!(revisions(&host, found).len(), count);
    }
}

#[test]
fn a_lost_answer_creates_no_second_deployment_of_an_agent() {
    for fault in [Fault::Lost, Fault::Truncated, Fault::Reset, Fault::GATEWAY] {
        let host = Host::start(|_| {});
        let proxy = Proxy::start(host.address());
        proxy.fail("POST", "/v2/deployments", fault, 1);
        let events = Stage::new(&proxy.url()).events(&format!("--remote {STAGING}"));
        assert_eq!(named(&events, "created").len(), 1);
        assert_eq!(deployments(&host).len(), 1);
    }
}

/// A service that does not know agents lists deployments of others.
#[test]
fn another_deployment_is_never_taken_for_that_of_an_agent() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    stage.events(&format!("--remote {PRODUCTION}"));
    stage.events("--name x --remote");
    let page = host.expect(200, "GET", "/v2/deployments", None);
    let one = json!({ "resources": [page["resources"][1]], "offset": 1 });
    for answer in [page, one] {
        let proxy = Proxy::start(host.address());
        let answer: &str = answer.to_string().leak();
        proxy.fail("GET", "/v2/deployments?", Fault::Answer(200, JSON, answer), 1);
        let output = Stage::new(&proxy.url()).deploy(&format!("--remote {STAGING}"));
        assert_eq!(output.code, 1, "{}", output.err);
        assert!(output.err.contains("does not filter by agent"), "{}", output.err);
    }
    assert_eq!(deployments(&host).len(), 2);
}

#[test]
fn a_preview_is_not_the_deployment_of_an_agent() {
    let host = Host::start(|_| {});
    let body = json!({ "name": "preview", "source": "internal_source", "source_config": {},
        "source_revision_config": {}, "secrets": [] });
    let mut preview = host.expect(201, "POST", "/v2/deployments", Some(&body));
    preview["is_preview"] = json!(true);
    let page: &str = json!({ "resources": [preview], "offset": 1 }).to_string().leak();
    let proxy = Proxy::start(host.address());
    proxy.fail("GET", "/v2/deployments?", Fault::Answer(200, JSON, page), 1);
    let events = Stage::new(&proxy.url()).events(&format!("--remote {STAGING}"));
    assert_eq!(named(&events, "created").len(), 1);
    assert_eq!(deployments(&host).len(), 2);
}

#[test]
fn the_agent_comes_from_options_then_variables() {
    let host = Host::start(|_| {});
    let planned = |change: &dyn Fn(TestEnv) -> TestEnv, arguments: &str| {
        let events = Stage::new(&host.url()).with(change).events(&format!("--remote --dry-run {arguments}"));
        named(&events, "would")[0]["message"].as_str().unwrap().to_owned()
    };
    let variables = |prefix: &'static str| {
        move |env: TestEnv| {
            env.variable(&format!("{prefix}_AGENT_ID"), prefix)
                .variable(&format!("{prefix}_AGENT_ENVIRONMENT"), "production")
        }
    };
    let file =
        |env: TestEnv| env.file(".env", "PLATFORM_AGENT_ID=file\nPLATFORM_AGENT_ENVIRONMENT=development\n");
    assert!(planned(&variables("PLATFORM"), "").contains("agent `PLATFORM` in production"));
    assert!(planned(&variables("LANGSMITH"), "").contains("agent `LANGSMITH` in production"));
    assert!(planned(&variables("PLATFORM"), STAGING).contains("agent `sales` in staging"));
    assert!(planned(&file, "").contains("agent `file` in development"));
    // A name from the environment is a default only.
    let named_too = |env: TestEnv| variables("PLATFORM")(env).variable("PLATFORM_DEPLOYMENT_NAME", "x");
    assert!(planned(&named_too, "").contains("agent `PLATFORM` in production"));
}

#[test]
fn an_agent_needs_its_environment_and_no_other_name() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    let set = Stage::new(&host.url())
        .with(|env| env.variable("PLATFORM_AGENT_ID", "a").variable("PLATFORM_AGENT_ENVIRONMENT", "staging"));
    let wrong = Stage::new(&host.url())
        .with(|env| env.variable("PLATFORM_AGENT_ID", "a").variable("PLATFORM_AGENT_ENVIRONMENT", "moon"));
    let id = "aaaaaaaa-0000-4000-8000-000000000001";
    for (stage, arguments, expected) in [
        (&stage, "--agent-id a".to_owned(), "PLATFORM_AGENT_ENVIRONMENT"),
        (&stage, "--agent-environment staging".to_owned(), "PLATFORM_AGENT_ID"),
        (&stage, "--agent-id a --agent-environment moon".to_owned(), "development, staging, production"),
        (&stage, format!("--name x {STAGING}"), "--name"),
        (&stage, format!("--deployment-id {id} {STAGING}"), "--deployment-id"),
        (&set, "--name x".to_owned(), "PLATFORM_AGENT_ID in the environment"),
        (&wrong, String::new(), "`moon` is not an environment of agents"),
    ] {
        let output = stage.deploy(&format!("--remote {arguments}"));
        assert_eq!(output.code, 2, "{arguments}: {}", output.err);
        assert!(output.err.contains(expected), "{arguments}: {}", output.err);
    }
    assert!(deployments(&host).is_empty());
}

#[test]
fn the_list_has_the_deployments_of_an_agent() {
    let host = Host::start(|_| {});
    let stage = Stage::new(&host.url());
    stage.events(&format!("--remote {STAGING}"));
    stage.events(&format!("--remote {PRODUCTION}"));
    let listed = |stage: &Stage, arguments: &str| {
        let output = stage.deploy(&format!("list --json {arguments}"));
        let list: Value = serde_json::from_str(&output.out).unwrap();
        let agents: Vec<_> =
            list["deployments"].as_array().unwrap().iter().map(|it| it["agent"].clone()).collect();
        (agents, output.err)
    };
    assert_eq!(listed(&stage, "").0.len(), 2);
    let staging = json!({ "agent_id": "sales", "environment": "staging" });
    let (found, told) = listed(&stage, STAGING);
    assert_eq!((found, &*told), (vec![staging], ""));
    assert_eq!(stage.deploy("list --agent-id a").code, 2);
    let set = stage.with(|env| {
        env.variable("LANGSMITH_AGENT_ID", "nobody").variable("LANGSMITH_AGENT_ENVIRONMENT", "staging")
    });
    let (found, told) = listed(&set, "");
    assert!(found.is_empty() && told.contains("LANGSMITH_AGENT_ID in the environment"), "{told}");
}
