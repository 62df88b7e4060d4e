//! Records keep what they were read from, and have every field of the specification.

use agentcli::api::wire::{
    Deployment, DeploymentPatch, Listener, LogPage, Page, Problem, PushToken, Repository, Revision, UploadUrl,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// What a field holds.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Flag,
    Integer,
    Number,
    Free,
    Texts,
    Record(&'static [(&'static str, Kind)]),
    Records(&'static [(&'static str, Kind)]),
    /// Records whose fields are all there.
    Whole(&'static [(&'static str, Kind)]),
}
use Kind::*;

type Fields = &'static [(&'static str, Kind)];

const REFERENCE: Fields = &[("name", Text), ("secret_name", Text), ("secret_key", Text)];
const SECRET: Fields = &[("name", Text), ("value", Text)];
const VARIABLE: Fields = &[("name", Text), ("value", Text), ("valueFrom", Free)];
const MOUNT: Fields = &[
    ("name", Text),
    ("mountPath", Text),
    ("subPath", Text),
    ("mountPropagation", Text),
    ("subPathExpr", Text),
    ("readOnly", Flag),
];
const VOLUME: Fields = &[
    ("name", Text),
    ("configMap", Free),
    ("secret", Free),
    ("emptyDir", Free),
    ("persistentVolumeClaim", Free),
    ("nfs", Free),
    ("projected", Free),
    ("downwardAPI", Free),
    ("csi", Free),
];
const CONTAINER: Fields = &[
    ("name", Text),
    ("image", Text),
    ("imagePullPolicy", Text),
    ("workingDir", Text),
    ("restartPolicy", Text),
    ("command", Texts),
    ("args", Texts),
    ("env", Records(VARIABLE)),
    ("resources", Record(&[("limits", Free), ("requests", Free)])),
    ("volumeMounts", Records(MOUNT)),
    ("securityContext", Free),
];
const RESOURCES: Fields = &[
    ("min_scale", Integer),
    ("max_scale", Integer),
    ("cpu", Number),
    ("cpu_limit", Number),
    ("memory_mb", Integer),
    ("memory_limit_mb", Integer),
    ("queue_min_scale", Integer),
    ("queue_max_scale", Integer),
    ("queue_cpu", Number),
    ("queue_cpu_limit", Number),
    ("queue_memory_mb", Integer),
    ("queue_memory_limit_mb", Integer),
    ("orchestrator_cpu", Number),
    ("orchestrator_cpu_limit", Number),
    ("orchestrator_memory_mb", Integer),
    ("orchestrator_memory_limit_mb", Integer),
    ("orchestrator_min_scale", Integer),
    ("orchestrator_max_scale", Integer),
    ("executor_cpu", Number),
    ("executor_cpu_limit", Number),
    ("executor_memory_mb", Integer),
    ("executor_memory_limit_mb", Integer),
    ("executor_min_scale", Integer),
    ("executor_max_scale", Integer),
    ("redis_cpu", Number),
    ("redis_cpu_limit", Number),
    ("redis_memory_mb", Integer),
    ("redis_memory_limit_mb", Integer),
    ("labels", Free),
    ("annotations", Free),
    ("service_account_name", Text),
    ("image_pull_secrets", Records(&[("name", Text)])),
    ("volumes", Records(VOLUME)),
    ("volume_mounts", Records(MOUNT)),
    ("init_containers", Records(CONTAINER)),
    ("sidecars", Records(CONTAINER)),
    ("db_cpu", Number),
    ("db_cpu_limit", Number),
    ("db_memory_mb", Integer),
    ("db_memory_limit_mb", Integer),
    ("db_storage_gi", Integer),
    ("db_max_connections", Integer),
];
const SOURCE_CONFIG: Fields = &[
    ("integration_id", Text),
    ("repo_url", Text),
    ("deployment_type", Text),
    ("build_on_push", Flag),
    ("custom_url", Text),
    ("resource_spec", Record(RESOURCES)),
    ("listener_id", Text),
    ("listener_config", Record(&[("cluster_namespace", Text)])),
    ("install_command", Text),
    ("build_command", Text),
];
const REVISION_CONFIG: Fields = &[
    ("repo_ref", Text),
    ("graph_config_path", Text),
    ("image_uri", Text),
    ("source_tarball_path", Text),
    ("repo_commit_sha", Text),
];
const DEPLOYMENT: Fields = &[
    ("name", Text),
    ("source", Text),
    ("source_config", Record(SOURCE_CONFIG)),
    ("source_revision_config", Record(REVISION_CONFIG)),
    ("secrets", Whole(SECRET)),
    ("id", Text),
    ("tenant_id", Text),
    ("created_at", Text),
    ("updated_at", Text),
    ("status", Text),
    ("latest_revision_id", Text),
    ("active_revision_id", Text),
];
const REVISION: Fields = &[
    ("id", Text),
    ("created_at", Text),
    ("updated_at", Text),
    ("status", Text),
    ("source", Text),
    ("source_revision_config", Record(REVISION_CONFIG)),
];
const REPOSITORY: Fields = &[
    ("host_integration_id", Text),
    ("id", Integer),
    ("name", Text),
    ("owner", Text),
    ("url", Text),
    ("default_branch", Text),
];
const OPTIONAL: Fields = &[("secret_references", Records(REFERENCE)), ("image_version", Text)];
const PATCH: Fields = &[
    ("revision_source", Text),
    ("source_config", Record(SOURCE_CONFIG)),
    ("source_revision_config", Record(REVISION_CONFIG)),
    ("tracked_packages", Texts),
    ("secrets", Whole(SECRET)),
    ("secret_references", Records(REFERENCE)),
];
const LISTENER: Fields =
    &[("id", Text), ("compute_id", Text), ("compute_config", Record(&[("cluster_namespaces", Texts)]))];

fn anything() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-z]{1,4}", inner), 0..3).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
    .boxed()
}

fn value(kind: Kind) -> BoxedStrategy<Value> {
    let word =
        prop_oneof![Just("codehost".to_owned()), Just("READY".to_owned()), ".{0,8}".prop_map(String::from)];
    match kind {
        Text => word.prop_map(Value::from).boxed(),
        Flag => any::<bool>().prop_map(Value::from).boxed(),
        Integer => (0..u32::MAX).prop_map(Value::from).boxed(),
        Number => (0.0..1e6).prop_map(|number: f64| json!(number)).boxed(),
        Free => vec(("[a-z]{1,4}", anything()), 0..3).prop_map(|pairs| pairs.into_iter().collect()).boxed(),
        Texts => vec(".{0,6}".prop_map(Value::from), 0..3).prop_map(Value::from).boxed(),
        Record(fields) => record(fields, false),
        Records(fields) => vec(record(fields, false), 0..3).prop_map(Value::from).boxed(),
        Whole(fields) => vec(record(fields, true), 0..3).prop_map(Value::from).boxed(),
    }
}

/// A record with some of the fields, or all of them, and with fields that nobody knows.
fn record(fields: Fields, all: bool) -> BoxedStrategy<Value> {
    let chosen = if all { Just(fields.to_vec()).boxed() } else { some(fields) };
    let known = chosen.prop_flat_map(|fields| {
        fields
            .into_iter()
            .map(|(name, kind)| value(kind).prop_map(move |value| (name.to_owned(), value)))
            .collect::<Vec<_>>()
    });
    let unknown = vec(("x_[a-z]{1,4}", anything()), 0..2);
    (known, unknown)
        .prop_map(|(known, unknown)| known.into_iter().chain(unknown).collect::<Map<_, _>>().into())
        .boxed()
}

fn some(fields: Fields) -> BoxedStrategy<Vec<(&'static str, Kind)>> {
    proptest::sample::subsequence(fields.to_vec(), 0..=fields.len().min(4)).boxed()
}

fn round<T: DeserializeOwned + Serialize>(value: &Value) -> Value {
    json!(serde_json::from_value::<T>(value.clone()).unwrap())
}

fn deployments() -> BoxedStrategy<Value> {
    (record(DEPLOYMENT, true), record(OPTIONAL, false))
        .prop_map(|(mut deployment, optional)| {
            deployment.as_object_mut().unwrap().extend(optional.as_object().unwrap().clone());
            deployment
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_read_is_written_again(
        deployment in deployments(),
        revision in record(REVISION, true),
        repository in record(REPOSITORY, true),
        patch in record(PATCH, false),
        listener in record(LISTENER, true),
    ) {
        prop_assert_eq!(&round::<Deployment>(&deployment), &deployment);
        prop_assert_eq!(&round::<Revision>(&revision), &revision);
        prop_assert_eq!(&round::<Repository>(&repository), &repository);
        prop_assert_eq!(&round::<DeploymentPatch>(&patch), &patch);
        prop_assert_eq!(&round::<Listener>(&listener), &listener);
        let page = json!({"resources": [deployment], "offset": 1, "x": null});
        prop_assert_eq!(&round::<Page<Deployment>>(&page), &page);
    }
}

/// A record with every field of a list.
fn full(fields: Fields) -> Value {
    let value = |kind| match kind {
        Text => json!("text"),
        Flag => json!(true),
        Integer => json!(1),
        Number => json!(0.5),
        Free => json!({ "a": 1 }),
        Texts => json!(["text"]),
        Record(fields) => full(fields),
        Records(fields) | Whole(fields) => json!([full(fields)]),
    };
    fields.iter().map(|&(name, kind)| (name.to_owned(), value(kind))).collect::<Map<_, _>>().into()
}

#[test]
fn every_field_of_the_specification_is_a_field() {
    let mut full = full(DEPLOYMENT);
    full["secret_references"] = json!([{"name": "a", "secret_name": "b", "secret_key": "c"}]);
    full["image_version"] = json!("1");
    let known: Deployment = serde_json::from_value(full).unwrap();
    // Whatever is not known would be in `other`, somewhere.
    let told = format!("{known:?}");
    let rests = told.matches("other: {").count();
    assert!(rests > 10 && rests == told.matches("other: {}").count(), "{told}");
}

#[test]
fn other_records_are_kept_too() {
    let token = json!({"token": "t", "registry_url": "r", "x": 1});
    assert_eq!(round::<PushToken>(&token), token);
    let upload = json!({"upload_url": "u", "object_path": "o", "upload_headers": {"a": "b"}, "x": 1});
    assert_eq!(round::<UploadUrl>(&upload), upload);
    let stamps = [json!(1.5), json!(1_700_000_000_000_i64), json!("2026-11-21T10:00:00Z")];
    for stamp in stamps {
        let log =
            json!({"logs": [{"id": "1", "timestamp": stamp, "level": "LOUD", "x": 1}], "next_offset": "c"});
        assert_eq!(round::<LogPage>(&log), log);
    }
    for detail in [
        json!("text"),
        json!([{"loc": ["query", "limit"], "msg": "m", "type": "t", "x": 1}]),
        json!({"any": 1}),
    ] {
        let problem = json!({ "detail": detail });
        assert_eq!(round::<Problem>(&problem), problem);
    }
}

#[test]
fn null_is_absent() {
    let mut deployment = full(DEPLOYMENT);
    deployment["latest_revision_id"] = Value::Null;
    deployment["secret_references"] = Value::Null;
    deployment["source_config"] = json!({"resource_spec": null, "custom_url": null});
    let mut kept = deployment.clone();
    kept.as_object_mut().unwrap().remove("secret_references");
    kept["source_config"] = json!({});
    assert_eq!(round::<Deployment>(&deployment), kept);
}

#[test]
fn secrets_are_not_shown() {
    let mut deployment = full(DEPLOYMENT);
    deployment["secrets"] = json!([{"name": "TOKEN", "value": super::SECRET}]);
    let env = json!([{"name": "A", "value": super::SECRET}]);
    deployment["source_config"]["resource_spec"]["sidecars"] = json!([{ "env": env }]);
    let deployment: Deployment = serde_json::from_value(deployment).unwrap();
    let told = format!("{deployment:?}");
    assert!(told.contains("TOKEN") && !told.contains(super::SECRET), "{told}");
    let token: PushToken =
        serde_json::from_value(json!({"token": super::SECRET, "registry_url": "r"})).unwrap();
    assert!(!format!("{token:?}").contains(super::SECRET));
    let upload: UploadUrl =
        serde_json::from_value(json!({"upload_url": super::SECRET, "object_path": "o"})).unwrap();
    assert!(!format!("{upload:?}").contains(super::SECRET));
}
