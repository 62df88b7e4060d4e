//! The command: its options, the variables of the server, and what is taken from a deployment.

use serde_json::{Value, json};

use super::{IMAGE, SECRET, manifests, names, object};
use crate::harness::TestEnv;
use crate::host::service::{Host, KEY};

fn project(env: &str) -> TestEnv {
    let config =
        format!(r#"{{ "dependencies": ["."], "graphs": {{ "agent": "./agent.py:graph" }}, "env": {env} }}"#);
    TestEnv::project().file("agent.json", config)
}

/// The pod of the server.
fn pod(objects: &[Value]) -> &Value {
    &object(objects, "Deployment", "agent")["spec"]["template"]["spec"]
}

#[test]
fn the_drain_of_the_server_is_that_of_its_pod() {
    for (env, drain, grace) in [
        ("{}".to_owned(), "180", 210),
        (r#"{ "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS": "3600" }"#.to_owned(), "3600", 3630),
        (r#"{ "BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS": 60 }"#.to_owned(), "60", 90),
    ] {
        let (_, objects) = manifests(&project(&env), "");
        let settings = &object(&objects, "ConfigMap", "agent-config")["data"];
        assert_eq!(settings["BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS"], drain);
        assert_eq!(pod(&objects)["terminationGracePeriodSeconds"], grace);
    }
}

#[test]
fn values_of_env_are_written_only_if_asked_for() {
    let of_map = project(&json!({ "API_KEY": SECRET }).to_string());
    let of_file = project("\".env\"").file(".env", format!("API_KEY={SECRET}\n"));
    for env in [of_map, of_file] {
        let (text, objects) = manifests(&env, "");
        assert!(!text.contains(SECRET));
        assert!(text.contains("# Requires a Secret agent-env with the keys `API_KEY`"), "{text}");
        let source = &pod(&objects)["containers"][0]["envFrom"][0];
        assert_eq!(source, &json!({ "secretRef": { "name": "agent-env" } }));

        let (text, objects) = manifests(&env, "--with-secrets");
        assert_eq!(object(&objects, "Secret", "agent-env")["stringData"], json!({ "API_KEY": SECRET }));
        assert!(!text.contains("Requires a Secret agent-env"), "{text}");

        let run = env.run(&format!("manifests k8s.yaml {IMAGE} --with-secrets"));
        assert!(run.err.contains("warning: the manifests contain secrets"), "{}", run.err);
        assert!(!run.err.contains(SECRET) && !run.out.contains(SECRET));
    }
}

#[test]
fn secret_references_replace_databases_and_variables() {
    let env = project(&json!({ "KEY": "a", "REDIS_URI": "b" }).to_string());
    let run = env.run(&format!("manifests - {IMAGE} --name agent"));
    assert!(run.err.contains("ignoring `REDIS_URI` of `env`: the manifests run their own"), "{}", run.err);

    let references = "--secret-reference POSTGRES_URI=db/uri --secret-reference REDIS_URI=db/redis --secret-reference KEY=k/v";
    let (_, objects) = manifests(&env, references);
    let names = names(&objects);
    assert!(!names.iter().any(|name| name.ends_with("postgres") || name.ends_with("redis")), "{names:?}");
    let variables = pod(&objects)["containers"][0]["env"].as_array().unwrap();
    let reference = |name: &str, secret: &str, key: &str| json!({ "name": name, "valueFrom": { "secretKeyRef": { "name": secret, "key": key } } });
    assert_eq!(
        variables,
        &[
            reference("POSTGRES_URI", "db", "uri"),
            reference("REDIS_URI", "db", "redis"),
            reference("KEY", "k", "v")
        ]
    );
    assert_eq!(object(&objects, "ConfigMap", "agent-config")["data"].get("REDIS_URI"), None);
}

#[test]
fn migrations_end_with_the_health_check_of_a_server() {
    let (_, objects) = manifests(&TestEnv::project(), "");
    let job = objects.iter().find(|it| it["kind"] == "Job").unwrap();
    let pod = &job["spec"]["template"]["spec"];
    let server = &pod["initContainers"][0];
    assert_eq!(server["restartPolicy"], "Always");
    assert_eq!(server["startupProbe"]["httpGet"], json!({ "path": "/ok", "port": 8000 }));
    assert_eq!(pod["containers"][0]["command"], json!(["true"]));

    let name = |arguments: &str| {
        let (_, objects) = manifests(&TestEnv::project(), arguments);
        objects.iter().find(|it| it["kind"] == "Job").unwrap()["metadata"]["name"].clone()
    };
    assert_eq!(name(""), job["metadata"]["name"]);
    assert_ne!(name("--resource cpu=1"), job["metadata"]["name"], "the pod of a Job cannot change");
}

#[test]
fn the_health_check_is_a_request_where_its_route_is_known() {
    let probe = |env: &TestEnv| pod(&manifests(env, "").1)["containers"][0]["livenessProbe"].clone();
    let with_prefix = |env: &str| {
        let project = project(env);
        let config = std::fs::read_to_string(project.path("agent.json")).unwrap();
        project.file(
            "agent.json",
            config.replace("\"env\"", "\"http\": { \"mount_prefix\": \"/agents\" }, \"env\""),
        )
    };
    assert_eq!(probe(&with_prefix("{}"))["httpGet"], json!({ "path": "/agents/ok", "port": 8000 }));
    let moved = probe(&with_prefix(r#"{ "MOUNT_PREFIX": "/other" }"#));
    assert_eq!(moved["exec"]["command"], json!(["python", "/api/healthcheck.py"]));
}

#[test]
fn names_are_those_of_kubernetes() {
    for name in ["", "A", "a_b", "a-", "a.b", &"a".repeat(41)] {
        let run = TestEnv::project().run_with(&["manifests", "-", "--image", "a", "--name", name]);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{name}: {}", run.err);
        assert!(run.err.contains("is not a name in Kubernetes") && run.err.contains("--name"), "{}", run.err);
    }
    let env = TestEnv::project();
    let objects = env.run(&format!("manifests - {IMAGE} --name {}", "a".repeat(40)));
    assert_eq!(objects.code, 0, "{}", objects.err);
    for arguments in ["manifests -", "manifests - --image a:b:c"] {
        assert_eq!(env.run(arguments).code, 2, "{arguments}");
    }
}

#[test]
fn a_file_is_written_checked_and_kept() {
    let env = TestEnv::project();
    let command = format!("manifests k8s.yaml {IMAGE} --name agent");
    let run = env.run(&command);
    assert_eq!((run.code, run.out.as_str()), (0, "kubectl apply -f k8s.yaml\n"), "{}", run.err);
    assert!(run.err.contains("note: the cluster needs a Secret agent-postgres"), "{}", run.err);
    assert_eq!(env.run(&format!("{command} --check")).code, 0);
    let stale = env.run(&format!("{command} --check --resource cpu=1"));
    assert_eq!(stale.code, 1);
    assert!(stale.err.contains("run the same command without --check"), "{}", stale.err);
    let env = env.file("own.yaml", "a: 1\n");
    assert_eq!(env.run(&format!("manifests own.yaml {IMAGE} --name agent")).code, 2);
    assert_eq!(std::fs::read_to_string(env.path("own.yaml")).unwrap(), "a: 1\n");
}

#[test]
fn a_deployment_gives_its_image_resources_and_references() {
    let host = Host::start(|options| options.is_self_hosted = true);
    let image = format!("registry.example/agent@sha256:{}", "1".repeat(64));
    let creation = json!({
        "name": "deployed",
        "source": "external_container",
        "source_config": {
            "resource_spec": { "cpu": 2.0, "labels": { "team": "a" } },
            "listener_id": null,
        },
        "source_revision_config": { "image_uri": image },
        "secrets": [{ "name": "TOKEN", "value": SECRET }],
        "secret_references": [{ "name": "REDIS_URI", "secret_name": "redis", "secret_key": "uri" }],
    });
    let id = host.expect(201, "POST", "/v2/deployments", Some(&creation))["id"].as_str().unwrap().to_owned();
    let account = format!("--host-url {} --api-key {KEY}", host.url());
    for which in ["deployed", &id] {
        for more in ["", "--with-secrets"] {
            let run = TestEnv::project().run(&format!("manifests - --deployment {which} {account} {more}"));
            assert_eq!(run.code, 0, "{}", run.err);
            let all = run.out + &run.err;
            assert!(!all.contains(SECRET) && !all.contains(KEY), "{all}");
            assert!(all.contains("TOKEN") && all.contains(&image) && all.contains("team: a"), "{all}");
            assert!(all.contains("name: deployed-config") && !all.contains("deployed-redis"), "{all}");
        }
    }
    let missing = TestEnv::project().run(&format!("manifests - --deployment none {account}"));
    assert_eq!((missing.code, missing.out.as_str()), (1, ""), "{}", missing.err);
}

#[test]
fn a_server_with_its_state_in_a_directory_runs_alone_on_a_volume() {
    let project = project("{}");
    let (_, objects) = manifests(&project, "--server memory");
    let kinds: Vec<&str> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ConfigMap", "Service", "StatefulSet"]);
    let spec = &object(&objects, "StatefulSet", "agent")["spec"];
    assert_eq!(spec["replicas"], 1);
    assert_eq!(spec["volumeClaimTemplates"][0]["metadata"]["name"], "agent-state");
    let pod = &spec["template"]["spec"];
    assert_eq!(pod["securityContext"]["fsGroup"], 10001);
    assert_eq!(
        pod["containers"][0]["volumeMounts"],
        json!([{ "name": "agentcli-tmp", "mountPath": "/tmp" }, { "name": "agent-state", "mountPath": "/data" }])
    );
    assert_eq!(pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"], true);
    let mount = r#"--resource volumes=[{"name":"own","emptyDir":{}}] --resource volume_mounts=[{"name":"own","mountPath":"/tmp"}]"#;
    let (_, objects) = manifests(&project, &format!("--server memory {mount}"));
    let pod = &object(&objects, "StatefulSet", "agent")["spec"]["template"]["spec"];
    assert_eq!(pod["volumes"], json!([{ "name": "own", "emptyDir": {} }]));

    for resource in ["max_scale=2", "queue_min_scale=1", "executor_cpu=1"] {
        let refused = project.run(&format!("manifests - {IMAGE} --server memory --resource {resource}"));
        assert!(
            refused.err.contains("the server `memory` runs as one replica"),
            "{resource}: {}",
            refused.err
        );
    }
}

#[test]
fn migrations_with_a_command_are_the_container_of_their_job() {
    let (_, objects) = manifests(&project("{}"), "--server pg");
    let job = objects.iter().find(|object| object["kind"] == "Job").unwrap();
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["initContainers"], Value::Null);
    let container = &pod["containers"][0];
    assert_eq!(container["command"], json!(["python3", "/api/migrate.py"]));
    assert_eq!((&container["ports"], &container["startupProbe"]), (&Value::Null, &Value::Null));
    let names: Vec<&str> =
        container["env"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"DATABASE_URI"), "{names:?}");
    assert!(
        object(&objects, "Deployment", "agent")["spec"]["template"]["spec"]["containers"][0]["env"]
            .is_array()
    );
}
