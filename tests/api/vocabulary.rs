//! Words of the public service, there and back.

use agentcli::api::Vocabulary;
use proptest::prelude::*;
use serde_json::{Value, json};

fn exchanged(value: &Value) -> Value {
    let mut value = value.clone();
    Vocabulary::Public.exchange(&mut value);
    value
}

/// Documents of the words that the table has, and of others.
fn documents() -> impl Strategy<Value = Value> {
    let names = prop_oneof![
        Just("source"),
        Just("revision_source"),
        Just("source_config"),
        Just("source_revision_config"),
        Just("listener_config"),
        Just("graph_config_path"),
        Just("langgraph_config_path"),
        Just("cluster_namespace"),
        Just("k8s_namespace"),
        Just("labels"),
        Just("resources"),
    ];
    let words = prop_oneof![
        Just("codehost"),
        Just("github"),
        Just("internal_container"),
        Just("internal_docker"),
        Just("internal_source"),
        Just("external_docker"),
        Just("other"),
    ];
    let leaf = prop_oneof![words.prop_map(Value::from), any::<u8>().prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((names.clone().prop_map(str::to_owned), inner), 0..4)
                .prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn twice_is_not_at_all(document in documents()) {
        prop_assert_eq!(&exchanged(&exchanged(&document)), &document);
        let mut same = document.clone();
        Vocabulary::Specification.exchange(&mut same);
        prop_assert_eq!(&same, &document);
    }
}

#[test]
fn records_are_spoken_in_other_words() {
    let ours = json!({"resources": [{
        "name": "codehost",
        "source": "codehost",
        "source_config": {
            "listener_config": {"cluster_namespace": "n"},
            "resource_spec": {"labels": {"source": "codehost", "graph_config_path": "x"}},
        },
        "source_revision_config": {"graph_config_path": "agent.json"},
    }]});
    let theirs = json!({"resources": [{
        "name": "codehost",
        "source": "github",
        "source_config": {
            "listener_config": {"k8s_namespace": "n"},
            "resource_spec": {"labels": {"source": "codehost", "graph_config_path": "x"}},
        },
        "source_revision_config": {"langgraph_config_path": "agent.json"},
    }]});
    assert_eq!(exchanged(&ours), theirs);
    assert_eq!(
        exchanged(&json!({"revision_source": "internal_container"}))["revision_source"],
        "internal_docker"
    );
}

#[test]
fn paths_are_spoken_in_other_words() {
    let ours = "/v1/integrations/forge/codehost/1/repos";
    let theirs = "/v1/integrations/forge/github/1/repos";
    assert_eq!(Vocabulary::Public.path(ours), theirs);
    assert_eq!(Vocabulary::Public.path(theirs), ours);
    assert_eq!(Vocabulary::Specification.path(ours), ours);
}

#[test]
fn the_public_service_is_known_by_its_address() {
    for public in [
        Vocabulary::PUBLIC_ADDRESS,
        "https://eu.api.host.langchain.com",
        "https://API.host.langchain.com:443/x",
    ] {
        assert_eq!(Vocabulary::for_address(public), Vocabulary::Public, "{public}");
    }
    for other in
        ["http://127.0.0.1:1", "https://api.host.langchain.com.example", "https://notapi.host.langchain.com"]
    {
        assert_eq!(Vocabulary::for_address(other), Vocabulary::Specification, "{other}");
    }
}
