//! `agentcli deploy` against the real service, a real registry that wants a password, and real engines. Everything that
//! any of these runs says is searched for secrets.

mod agent;
mod external;
mod faults;
mod follow;
#[cfg(feature = "system-tests")]
mod image;
#[cfg(feature = "system-tests")]
mod interrupt;
#[cfg(feature = "system-tests")]
mod own_registry;
#[cfg(feature = "system-tests")]
mod push;
#[cfg(feature = "system-tests")]
mod push_to;
#[cfg(feature = "system-tests")]
mod registry;
#[cfg(feature = "system-tests")]
mod signals;
mod source;

use serde_json::Value;

use crate::harness::{Output, TestEnv};
use crate::host::service::{Host, KEY};
#[cfg(feature = "system-tests")]
use crate::registry::PASSWORD;

/// A value of `env`, made to be found wherever it should not be.
const SECRET: &str = "value-of-a-secret-71c3";

/// A project and the service that it is shipped to.
struct Stage {
    env: TestEnv,
}

impl Stage {
    fn new(url: &str) -> Self {
        let env = TestEnv::project().variable("AGENT_HOST_URL", url).variable("AGENT_HOST_API_KEY", KEY);
        Self { env }
    }

    fn with(self, change: impl FnOnce(TestEnv) -> TestEnv) -> Self {
        Self { env: change(self.env) }
    }

    /// Runs `agentcli deploy`, and looks for secrets in all that it says.
    fn deploy(&self, arguments: &str) -> Output {
        let output = self.env.run(&format!("deploy {arguments}"));
        let secrets = [
            KEY,
            SECRET,
            #[cfg(feature = "system-tests")]
            PASSWORD,
        ];
        for secret in secrets {
            let said = format!("{}{}", output.out, output.err);
            assert!(!said.contains(secret), "deploy {arguments} tells a secret:\n{said}");
        }
        output
    }

    /// The events of a run that succeeds; each is of the published schema.
    fn events(&self, arguments: &str) -> Vec<Value> {
        let output = self.deploy(&format!("{arguments} --json"));
        assert_eq!(output.code, 0, "{}{}", output.out, output.err);
        events(&output)
    }
}

/// The events of a run, which are of the published schema.
fn events(output: &Output) -> Vec<Value> {
    let schema = TestEnv::empty().run("schema deploy-events").out;
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let parse = |line: &str| -> Value {
        let event = serde_json::from_str(line).unwrap();
        assert!(schema.is_valid(&event), "not of the schema: {line}");
        event
    };
    output.out.lines().map(parse).collect()
}

/// The events of one name.
fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

/// All deployments of the service.
fn deployments(host: &Host) -> Vec<Value> {
    let page = host.expect(200, "GET", "/v2/deployments?limit=100", None);
    page["resources"].as_array().unwrap().clone()
}

/// The revisions of a deployment, the newest first.
fn revisions(host: &Host, deployment: &Value) -> Vec<Value> {
    let path = format!("/v2/deployments/{}/revisions", deployment["id"].as_str().unwrap());
    host.expect(200, "GET", &path, None)["resources"].as_array().unwrap().clone()
}
