//! Every field of the resources has its place.

use agentcli::api::wire::{Object, ResourceSpec};
use agentcli::kubernetes::{self, Request};
use indexmap::IndexMap;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::{IMAGE, SECRET, manifests, names, object};
use crate::harness::{TestEnv, fixtures, golden};

const EXECUTOR: &str = "--executor-image registry.example/executor:1";

fn every_field() -> Value {
    let text = std::fs::read_to_string(fixtures("kubernetes").join("every-field.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn with(resources: &Value) -> TestEnv {
    TestEnv::project().file("resources.json", resources.to_string())
}

fn all(resources: &Value) -> (String, Vec<Value>) {
    manifests(&with(resources), &format!("--resources resources.json {EXECUTOR}"))
}

/// The message of a refusal.
fn refused(resources: &Value, arguments: &str) -> String {
    let env = with(resources);
    let run = env.run(&format!("manifests - --name agent {IMAGE} --resources resources.json {arguments}"));
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{resources}: {}", run.err);
    run.err
}

#[test]
fn manifests_are_as_expected() {
    let (hello, _) = manifests(&TestEnv::project(), "");
    let (every, _) = all(&every_field());
    for (name, text) in [("hello.yaml", hello), ("every-field.yaml", every)] {
        golden(&fixtures("kubernetes").join(name), &text).unwrap();
    }
}

/// Without a field, or without one of its items' fields, the manifests are others.
#[test]
fn every_field_has_its_place() {
    let whole = every_field();
    let expected = all(&whole).0;
    for field in ResourceSpec::FIELDS {
        let mut less = whole.clone();
        assert!(less.as_object_mut().unwrap().remove(*field).is_some(), "every-field.json lacks {field}");
        if matches!(*field, "cpu" | "queue_cpu" | "orchestrator_cpu" | "executor_cpu") {
            // An autoscaler needs it.
            less[*field] = json!(0.125);
        }
        assert_ne!(all(&less).0, expected, "{field}");
    }
    let container = &whole["init_containers"][0];
    for (field, _) in container.as_object().unwrap() {
        let mut less = whole.clone();
        let changed = match field.as_str() {
            "name" => json!("other"),
            "image" => json!("other"),
            _ => Value::Null,
        };
        less["init_containers"][0][field] = changed;
        assert_ne!(all(&less).0, expected, "init_containers[0].{field}");
    }
}

#[test]
fn values_of_containers_are_in_a_secret() {
    let (text, objects) = all(&every_field());
    assert!(!text.contains(SECRET));
    let server = object(&objects, "Deployment", "agent");
    let variable = &server["spec"]["template"]["spec"]["initContainers"][0]["env"][0];
    let source = json!({ "secretKeyRef": { "name": "agent-containers", "key": "fetch.TOKEN" } });
    assert_eq!(variable, &json!({ "name": "TOKEN", "valueFrom": source }));
    let arguments = format!("--resources resources.json {EXECUTOR} --with-secrets");
    let (_, objects) = manifests(&with(&every_field()), &arguments);
    let secret = object(&objects, "Secret", "agent-containers");
    assert_eq!(secret["stringData"], json!({ "fetch.TOKEN": SECRET }));
}

#[test]
fn scales_become_replicas_or_an_autoscaler() {
    let (_, objects) = all(&json!({ "min_scale": 3 }));
    assert_eq!(object(&objects, "Deployment", "agent")["spec"]["replicas"], 3);
    assert!(names(&objects).iter().all(|name| !name.starts_with("Horizontal")), "{:?}", names(&objects));

    let (_, objects) = all(&json!({ "max_scale": 3, "cpu": 1 }));
    assert_eq!(object(&objects, "Deployment", "agent")["spec"].get("replicas"), None);
    let spec = &object(&objects, "HorizontalPodAutoscaler", "agent")["spec"];
    assert_eq!((&spec["minReplicas"], &spec["maxReplicas"]), (&json!(1), &json!(3)));

    let run = TestEnv::project().run(&format!("manifests - {IMAGE} --name a --resource min_scale=0"));
    assert!(run.err.contains("note: one replica runs although `min_scale` is 0"), "{}", run.err);
    assert!(run.out.contains("replicas: 1"), "{}", run.out);

    for (resources, expected) in [
        (json!({ "min_scale": 2, "max_scale": 1 }), "`min_scale` is greater than `max_scale`"),
        (json!({ "min_scale": 1, "max_scale": 2 }), "without a CPU request"),
        (json!({ "queue_min_scale": 1, "queue_max_scale": 2 }), "set the resource field `queue_cpu`"),
    ] {
        let message = refused(&resources, "");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn limits_are_twice_the_requests() {
    let (_, objects) = all(&json!({ "cpu": 0.75, "memory_mb": 512, "queue_memory_mb": 100 }));
    let resources = |name: &str| {
        object(&objects, "Deployment", name)["spec"]["template"]["spec"]["containers"][0]["resources"].clone()
    };
    let expected = |cpu: &str, memory: &str| json!({ "cpu": cpu, "memory": memory });
    assert_eq!(
        resources("agent"),
        json!({ "requests": expected("750m", "512Mi"), "limits": expected("1500m", "1024Mi") })
    );
    assert_eq!(
        resources("agent-queue"),
        json!({ "requests": expected("750m", "100Mi"), "limits": expected("1500m", "200Mi") })
    );
    for (resources, expected) in [
        (json!({ "cpu": 2, "cpu_limit": 1 }), "`cpu` is greater than `cpu_limit`"),
        (json!({ "db_memory_mb": 0 }), "`db_memory_mb` is not between 0 and 1000000000"),
        (json!({ "redis_cpu": -1 }), "`redis_cpu` is not between"),
        (json!({ "cpu": 1e308 }), "`cpu` is not between"),
        (json!({ "cpu_limit": 0 }), "`cpu_limit` is not between"),
        (json!({ "memory_mb": u64::MAX }), "`memory_mb` is not between"),
        (json!({ "db_storage_gi": 0 }), "`db_storage_gi` is not between"),
        (json!({ "db_max_connections": 0 }), "`db_max_connections` is not between"),
    ] {
        let message = refused(&resources, "");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn queue_workers_take_the_runs_of_the_server() {
    let jobs = |objects: &[Value], name: &str| {
        let deployment = object(objects, "Deployment", name);
        let variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
        variables.iter().find(|it| it["name"] == "N_JOBS_PER_WORKER").map(|it| it["value"].clone())
    };
    let (_, objects) = all(&json!({}));
    assert_eq!(jobs(&objects, "agent"), None);
    let (_, objects) = all(&json!({ "queue_min_scale": 2 }));
    assert_eq!(jobs(&objects, "agent"), Some("0".into()));
    assert_eq!(jobs(&objects, "agent-queue"), None);
    let spec = &object(&objects, "Deployment", "agent-queue")["spec"];
    assert_eq!(spec["replicas"], 2);
    let command = &spec["template"]["spec"]["containers"][0]["command"];
    assert_eq!(command, &json!(["python", "-m", "langgraph_api.queue_entrypoint"]));
}

#[test]
fn executors_need_their_image() {
    let message = refused(&json!({ "executor_cpu": 1 }), "");
    assert!(message.contains("pass --executor-image IMAGE"), "{message}");
    let (_, objects) = all(&json!({ "executor_cpu": 1 }));
    let image = |name: &str| {
        object(&objects, "Deployment", name)["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    assert_eq!(image("agent-executor"), "registry.example/executor:1");
    assert_ne!(image("agent-orchestrator"), "registry.example/executor:1");
}

#[test]
fn what_kubernetes_would_refuse_is_refused() {
    let container = |value: Value| json!({ "sidecars": [value] });
    for (resources, expected) in [
        (json!({ "labels": { "a": [] } }), "`a` in the resource field `labels` is not a string"),
        (container(json!({ "name": "A", "image": "x" })), "`A`, is not a name in Kubernetes"),
        (container(json!({ "name": "a" })), "the container `a` has no image"),
        (
            container(json!({ "name": "a", "image": "x", "env": [{}] })),
            "a variable of the container `a` has no name",
        ),
        (
            container(json!({ "name": "a", "image": "x", "env": [{ "name": "A B", "value": SECRET }] })),
            "no key of a Secret can have",
        ),
    ] {
        let message = refused(&resources, "");
        assert!(message.contains(expected) && !message.contains(SECRET), "{message}");
    }
    let message = refused(&json!({ "cpu": SECRET }), "");
    assert!(message.contains("mistake at line 1") && !message.contains(SECRET), "{message}");
}

/// A request of a program, such as the deployment service.
fn request(namespace: &str, resources: ResourceSpec) -> Request<'static> {
    Request {
        configuration: "1",
        name: "agent".to_owned(),
        namespace: Some(namespace.to_owned()),
        image: "a".to_owned(),
        images: Default::default(),
        executor_image: Some("b".to_owned()),
        server: Default::default(),
        is_javascript: false,
        prefix: Some(String::new()),
        resources,
        references: Vec::new(),
        variables: IndexMap::new(),
        writes_secrets: true,
        host: None,
        revision: None,
    }
}

#[test]
fn all_objects_are_in_the_namespace() {
    let resources = serde_json::from_value(every_field()).unwrap();
    let made = kubernetes::manifests(&request("agents", resources)).unwrap();
    assert!(made.objects.len() > 15);
    for it in made.objects {
        assert_eq!(it["metadata"]["namespace"], "agents", "{it}");
    }
    let refused = kubernetes::manifests(&request("No", ResourceSpec::default())).unwrap_err();
    assert_eq!(refused.message, "the namespace, `No`, is not a name in Kubernetes");
}

/// Whatever the amounts and words: there are manifests, or a refusal.
#[test]
fn no_resources_make_it_panic() {
    let value = select(vec![
        json!(0),
        json!(1),
        json!(0.0004),
        json!(1e300),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(-1),
        json!("x"),
        json!({ "a": 1, "b": null }),
        json!([{}]),
        json!([{ "name": "a", "image": "b", "env": [{ "name": "A", "value": "c" }] }]),
    ]);
    let fields = subsequence(ResourceSpec::FIELDS, 0..12);
    let cases = ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(cases, |(fields in fields, values in proptest::collection::vec(value, 12))| {
        let mut accepted = ResourceSpec::default();
        for (field, value) in fields.iter().zip(values) {
            let mut object: Object = serde_json::to_value(&accepted).unwrap().as_object().unwrap().clone();
            object.insert((*field).to_owned(), value);
            accepted = serde_json::from_value(object.into()).unwrap_or(accepted);
        }
        if let Err(refused) = kubernetes::manifests(&request("agents", accepted)) {
            prop_assert!(!refused.message.is_empty() && !refused.hint.is_empty());
        }
    });
}
