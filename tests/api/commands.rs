//! The commands, as their user sees them.

use agentcli::api::Vocabulary;
use serde_json::{Value, json};

use super::{INTEGRATION, SECRET, Scene, creation, deploy, image, quiet};
use crate::harness::TestEnv;
use crate::host::service::{Host, KEY};
use crate::proxy::Fault;

/// Whether a line is what the published schema says of it.
fn checked(what: &str, line: &str) -> Value {
    let mut schema: Value = serde_json::from_str(&TestEnv::empty().run("schema deploy").out).unwrap();
    schema.as_object_mut().unwrap().remove("anyOf");
    schema["$ref"] = format!("#/$defs/{what}").into();
    let value: Value = serde_json::from_str(line).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{what}: {wrong:?} in {line}");
    value
}

#[test]
fn the_schema_is_one() {
    let schema: Value = serde_json::from_str(&TestEnv::empty().run("schema deploy").out).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
}

#[test]
fn list() {
    let host = Host::start(|_| {});
    for index in 0..25 {
        let mut creation = creation(&format!("agent-{index:02}"));
        creation["source_config"]["deployment_type"] = if index < 3 { "prod" } else { "dev" }.into();
        host.expect(201, "POST", "/v2/deployments", Some(&creation));
    }
    let env = TestEnv::empty();
    let lines = |arguments: &str| {
        let output = deploy(&env, &host.url(), arguments);
        assert_eq!(output.code, 0, "{output:?}");
        (output.out.lines().count(), output.err)
    };
    let (count, told) = lines("list");
    assert_eq!(count, 21);
    assert!(told.contains("there are more deployments; list all with --all"), "{told}");
    assert_eq!(lines("list --all").0, 26);
    assert_eq!(lines("list --limit 25").0, 26);
    assert!(!lines("list --limit 25").1.contains("more"));
    assert_eq!(lines("list --name-contains agent-1").0, 11);
    assert_eq!(lines("list --type prod").0, 4);
    let (count, told) = lines("list --status unused");
    assert_eq!(count, 0);
    assert!(told.contains("no deployments found"), "{told}");

    let output = deploy(&env, &host.url(), "list --json --name-contains agent-0 --limit 5");
    let found = checked("list", &output.out);
    assert_eq!(found["deployments"].as_array().unwrap().len(), 5);
    assert_eq!(found["more"], true);
    assert_eq!(found["deployments"][0]["secrets"], json!([{"name": "TOKEN"}]));
    for wrong in ["list --limit 0", "list --limit 101", "list --limit 5 --all"] {
        assert_eq!(deploy(&env, &host.url(), wrong).code, 2, "{wrong}");
    }
    for (wrong, told) in [
        ("list --type huge", "one of dev_free, dev, prod"),
        ("list --ids abc", "`abc` is not the ID of a deployment"),
        ("list --tag-value-ids abc", "`abc` is not the ID of a tag value"),
    ] {
        let output = deploy(&env, &host.url(), wrong);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.err.contains(told), "{output:?}");
    }
}

#[test]
fn get() {
    let scene = Scene::new();
    for which in [scene.id.as_str(), "agent"] {
        let output = scene.deploy(&format!("get {which}"));
        assert_eq!(output.code, 0, "{output:?}");
        for told in ["name              agent\n", "secrets           TOKEN\n", &image('a')] {
            assert!(output.out.contains(told), "{told} in {output:?}");
        }
        let output = scene.deploy(&format!("get {which} --json"));
        assert_eq!(checked("get", &output.out)["id"], scene.id.as_str());
    }
    let output = scene.deploy("get nobody");
    assert_eq!(output.code, 1);
    assert!(output.err.contains("there is no deployment named `nobody`"), "{output:?}");
    let output = scene.deploy(&format!("get {INTEGRATION}"));
    assert_eq!(output.code, 1);
    let call = format!("`GET /v2/deployments/{INTEGRATION}`");
    assert!(output.err.contains(&call) && output.err.contains("agentcli deploy list"), "{output:?}");
}

/// Of a service that does not filter by name, a list may be long.
#[test]
fn a_name_is_looked_for_no_further_than_its_page() {
    let scene = Scene::new();
    let list = scene.host.expect(200, "GET", "/v2/deployments?limit=1", None);
    let page: &str = json!({ "resources": list["resources"], "offset": 1 }).to_string().leak();
    let answer = Fault::Answer(200, &[("Content-Type", "application/json")], page);
    scene.proxy.fail("GET", "/v2/deployments", answer, 1);
    let output = scene.deploy("get agent");
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(scene.proxy.forwarded("GET", "/v2/deployments"), 0, "{:?}", scene.proxy.heads());
}

#[test]
fn listeners() {
    let listener = json!({ "id": INTEGRATION, "compute_type": "k8s", "compute_id": "alpha",
        "compute_config": { "cluster_namespaces": ["one", "two"] } });
    for vocabulary in [Vocabulary::Specification, Vocabulary::Public] {
        let host = Host::start(|options| {
            options.vocabulary = vocabulary;
            options.listeners = vec![serde_json::from_value(listener.clone()).unwrap()];
        });
        let dialect = if vocabulary == Vocabulary::Public { "public" } else { "specification" };
        let list = |option: &str| {
            let arguments = format!("listeners list {option} --vocabulary {dialect}");
            deploy(&TestEnv::empty(), &host.url(), &arguments)
        };
        let table = format!("{:<36}  CLUSTER  NAMESPACES\n{INTEGRATION}  alpha    one, two\n", "ID");
        assert_eq!(list("").out, table);
        assert_eq!(checked("listeners", &list("--json").out), json!({ "listeners": [listener] }));
    }
}

#[test]
fn repos() {
    let scene = Scene::new();
    let output = scene.deploy(&format!("repos {INTEGRATION}"));
    assert_eq!(
        output.out.lines().nth(1),
        Some("somebody  agent  main    https://code.example/somebody/agent")
    );
    let output = scene.deploy(&format!("repos {INTEGRATION} --json"));
    assert_eq!(checked("repos", &output.out)["repositories"][0]["id"], 1);
    assert_eq!(scene.deploy("repos nothing").code, 2);
    // A list of deployments does not help to find an integration.
    let output = scene.deploy(&format!("repos {}", scene.id));
    assert_eq!(output.code, 1, "{output:?}");
    assert!(!output.err.contains("agentcli deploy list"), "{output:?}");
}

#[test]
fn revisions() {
    let scene = Scene::new();
    for index in 0..11 {
        let digit = char::from_digit(index, 16).unwrap();
        let patch = json!({"source_revision_config": {"image_uri": image(digit)}});
        scene.host.expect(200, "PATCH", &format!("/v2/deployments/{}", scene.id), Some(&patch));
    }
    let output = scene.deploy(&format!("revisions list {}", scene.id));
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.out.lines().count(), 11);
    assert!(output.out.lines().nth(1).unwrap().ends_with(&image('a')), "the newest first: {output:?}");
    let output = scene.deploy(&format!("revisions list {} --limit 12 --json", scene.id));
    assert_eq!(checked("revisions", &output.out)["revisions"].as_array().unwrap().len(), 12);
}

#[test]
fn update() {
    let scene = Scene::new();
    let id = &scene.id;
    let output =
        scene.deploy(&format!("update {id} --resource cpu=2 --resource labels={{\"a\":\"b\"}} --yes"));
    assert_eq!(output.code, 0, "{output:?}");
    for told in [
        "source_config.resource_spec.cpu: 1.0 -> 2.0",
        r#"source_config.resource_spec.labels: {"a":"b"}"#,
        "this does not create a new revision",
        "updated `agent`",
    ] {
        assert!(output.err.contains(told), "{told} in {output:?}");
    }
    assert_eq!(scene.revisions(), 1);
    let output = scene.deploy(&format!("update {id} --resource cpu=2 --yes"));
    assert!(output.err.contains("is up to date"), "{output:?}");

    let output = scene.deploy(&format!("update {id} --image {} --yes --json", image('b')));
    let result = checked("update", &output.out);
    assert!(output.err.contains("this creates a new revision"), "{output:?}");
    assert_eq!(result["changes"][0]["field"], "source_revision_config.image_uri");
    assert_eq!(result["new_revision"], result["deployment"]["latest_revision_id"]);
    assert_eq!(scene.revisions(), 2);

    // What lies behind a name may be another image by now.
    let output = scene.deploy(&format!("update {id} --image {} --yes", image('b')));
    assert!(output.err.contains("image_uri: \"") && output.err.contains("\" again\n"), "{output:?}");
    assert_eq!(scene.revisions(), 3);

    let output = scene.deploy(&format!("update {id} --secret OTHER={SECRET} --replace-secrets --yes"));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.err.contains("secrets: sets OTHER; removes TOKEN"), "{output:?}");
    let deployment = scene.host.expect(200, "GET", &format!("/v2/deployments/{id}"), None);
    assert!(deployment["secrets"].to_string().contains("OTHER"), "{deployment}");
}

#[test]
fn update_from_files() {
    let scene = Scene::new();
    let patch = json!({"source_config": {"resource_spec": {"memory_mb": 1024, "cpu": 1}}});
    let env = TestEnv::empty()
        .file("patch.json", patch.to_string())
        .file("secrets", format!("ONE={SECRET}\nTWO=${{ONE}}\nEMPTY=\nAGENT_HOST_API_KEY={SECRET}\n"))
        .variable("THREE", SECRET);
    let arguments = "--file patch.json --resource cpu=4 --secrets-from secrets --secret THREE --replace-secrets --yes --json";
    let output = deploy(&env, &scene.proxy.url(), &format!("update {} {arguments}", scene.id));
    let result = checked("update", &output.out);
    let spec = &result["deployment"]["source_config"]["resource_spec"];
    assert_eq!((&spec["cpu"], &spec["memory_mb"]), (&json!(4.0), &json!(1024)));
    let names: Vec<&str> = ["ONE", "TWO", "THREE"].to_vec();
    let given = result["changes"].as_array().unwrap().iter().find(|it| it["field"] == "secrets").unwrap();
    let found: Vec<&str> =
        given["after"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(found, names);
    assert!(output.err.contains("that the service sets itself: AGENT_HOST_API_KEY\n"), "{output:?}");
    assert!(output.err.contains("without a value: EMPTY\n"), "{output:?}");
}

/// Whatever the service speaks.
#[test]
fn a_patch_may_be_in_the_words_of_the_public_service() {
    let scene = Scene::new();
    let patch = json!({
        "revision_source": "internal_docker",
        "source_revision_config": { "image_uri": image('c') },
    });
    let env = TestEnv::empty().file("patch.json", patch.to_string());
    for arguments in
        ["--file patch.json".to_owned(), format!("--revision-source internal_docker --image {}", image('d'))]
    {
        let arguments = format!("update {} {arguments} --yes --json", scene.id);
        let output = deploy(&env, &scene.proxy.url(), &arguments);
        let result = checked("update", &output.out);
        assert!(result["new_revision"].is_string(), "{output:?}");
        assert!(!output.err.contains("unknown field"), "{output:?}");
    }
}

#[test]
fn misspelt_fields_of_a_patch_are_told() {
    let scene = Scene::new();
    let patch = json!({
        "secret": [],
        "source_config": { "resource_spec": { "cpus": 3 } },
        "source_revision_config": { "image_url": "x" },
    });
    let env = TestEnv::empty().file("patch.json", patch.to_string());
    let output = deploy(&env, &scene.proxy.url(), &format!("update {} --file patch.json --yes", scene.id));
    for told in [
        "unknown field `secret` is sent unchanged; did you mean `secrets`?",
        "unknown field `source_config.resource_spec.cpus` is sent unchanged; did you mean `cpu`?",
        "unknown field `source_revision_config.image_url` is sent unchanged; did you mean `image_uri`?",
        "the service decides whether this creates a new revision",
    ] {
        assert!(output.err.contains(told), "{told} in {output:?}");
    }
    assert_eq!(scene.revisions(), 1);
}

/// Where there is nothing, as in what `deploy get` shows of a field that is not set.
#[test]
fn a_null_that_changes_nothing_is_left_out() {
    let scene = Scene::new();
    let patch = json!({
        "revision_source": null,
        "secret_references": null,
        "source_config": { "install_command": null, "resource_spec": { "cpu": 3, "labels": {}, "memory_mb": null } },
    });
    let env = TestEnv::empty().file("patch.json", patch.to_string());
    let arguments = format!("update {} --file patch.json --yes --json", scene.id);
    let result = checked("update", &deploy(&env, &scene.proxy.url(), &arguments).out);
    assert_eq!(result["deployment"]["source_config"]["resource_spec"]["cpu"], json!(3.0));
    let changed: Vec<_> = result["changes"].as_array().unwrap().iter().map(|it| &it["field"]).collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
}

#[test]
fn updates_that_are_refused() {
    let scene = Scene::new();
    let env = TestEnv::empty()
        .file("null.json", r#"{"source_config": {"resource_spec": {"cpu": null}}}"#)
        .file("name.json", r#"{"name": "other"}"#)
        .file("type.json", format!(r#"{{"secrets": "{SECRET}"}}"#))
        .file("public.json", r#"{"source_revision_config": {"langgraph_config_path": 5}}"#)
        .file("shown.json", r#"{"secrets": [{"name": "TOKEN"}, {"name": "NEW"}]}"#)
        .file(
            "container.json",
            r#"{"source_config": {"resource_spec": {"sidecars": [{"env": [{"name": "TOKEN"}]}]}}}"#,
        )
        .file("broken.json", "{");
    let sent = |method| scene.proxy.forwarded(method, "");
    let sidecars = json!([{"name": 1, "env": [{"name": "A", "value": SECRET}]}]);
    for (arguments, told) in [
        ("", "no changes given"),
        ("--resource cpu=much", "cannot set the resource field `cpu` to `much`"),
        ("--resource memory=1", "unknown resource field `memory`"),
        ("--resource cpu", "`cpu` is not an assignment"),
        (
            &format!("--resource sidecars={sidecars}"),
            "cannot set the resource field `sidecars` to the given value",
        ),
        (&format!("--resource sidecars:{sidecars}"), "a resource is not an assignment"),
        ("--secret NOWHERE", "the secret `NOWHERE` has no value"),
        ("--secret-reference A=b", "`A=b` is not a secret reference"),
        ("--secret-reference A=b/c", "external_container"),
        ("--revision-source internal_template", "cannot make a revision from `internal_template`"),
        ("--file null.json", "cannot clear `/source_config/resource_spec/cpu`: null does not remove a value"),
        ("--file name.json", "cannot change `name` of a deployment"),
        ("--file type.json", "a field at line 1, column 37 does not have the type"),
        ("--file public.json", "a field does not have the type"),
        ("--file shown.json", "the secret `NEW` has no value"),
        ("--file - --secrets-from -", "--file and --secrets-from cannot both read stdin"),
        ("--file container.json", "the variable `TOKEN` of a container has no value"),
        ("--file broken.json", "`broken.json` is not valid JSON"),
        ("--file missing.json", "cannot read `missing.json`"),
        ("--resource cpu=2", "pass --yes"),
    ] {
        let output = deploy(&env, &scene.proxy.url(), &format!("update {} {arguments}", scene.id));
        assert_eq!(output.code, 2, "{arguments}: {output:?}");
        assert!(output.err.contains(told), "{arguments}: {output:?}");
    }
    assert_eq!(sent("PATCH"), 0);
    // At a terminal nobody answers here, which is no.
    let env = env.at_a_terminal();
    let output = deploy(&env, &scene.proxy.url(), &format!("update {} --resource cpu=2", scene.id));
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.err.contains("Apply these changes? [y/N]"), "{output:?}");
    assert_eq!(sent("PATCH"), 0);
}

#[test]
fn delete() {
    let scene = Scene::new();
    let arguments = format!("delete {}", scene.id);
    let output = scene.deploy(&arguments);
    assert_eq!(output.code, 2);
    assert!(output.err.contains("pass --yes"), "{output:?}");
    for arguments in [arguments.clone(), format!("{arguments} --json")] {
        let output = deploy(&TestEnv::empty().at_a_terminal(), &scene.proxy.url(), &arguments);
        assert_eq!((output.code, output.out.as_str()), (1, ""), "{output:?}");
        assert!(output.err.contains("Delete the deployment `agent`"), "{output:?}");
        assert!(output.err.contains("[y/N] \n") && output.err.contains("nothing was changed"), "{output:?}");
    }
    assert_eq!(scene.names(), ["agent"]);
    let output = scene.deploy("rm agent -y --json");
    assert_eq!(checked("delete", &output.out)["name"], "agent");
    assert_eq!(scene.names(), Vec::<String>::new());
    assert_eq!(scene.deploy(&format!("{arguments} --force")).code, 1);
}

/// Every command takes an ID, a name, or the name of the directory.
#[test]
fn one_grammar_for_all_commands() {
    let scene = Scene::new();
    let directory = TestEnv::empty();
    std::fs::create_dir(directory.path("agent")).unwrap();
    let here = TestEnv::inside(&directory.path("agent"));
    for command in [
        "get",
        "status",
        "logs",
        "revisions list",
        "revisions ls",
        "secrets list",
        "update --resource cpu=1 -y",
    ] {
        let (name, arguments) = command.split_once(" --").map_or((command, ""), |(name, rest)| (name, rest));
        let rest = if arguments.is_empty() { String::new() } else { format!("--{arguments}") };
        let outputs =
            [scene.id.as_str(), "agent"].map(|which| scene.deploy(&format!("{name} {which} {rest}")));
        let by_directory = deploy(&here, &scene.proxy.url(), &format!("{name} {rest}"));
        for output in outputs.iter().chain([&by_directory]) {
            assert_eq!(output.code, 0, "{command}: {output:?}");
            assert_eq!(output.out, outputs[0].out, "{command}");
        }
    }
    let output = scene.deploy("ls");
    assert!(output.code == 0 && output.out.contains("agent"), "{output:?}");
}

/// The names of the secrets of the deployment.
fn secrets(scene: &Scene) -> Vec<String> {
    let listed = scene.deploy("secrets list agent --json");
    let listed = checked("secrets", &listed.out);
    listed["secrets"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_update_loses_no_secret_unless_it_is_told_to() {
    let scene = Scene::new();
    let set = scene.deploy("update agent --secret ONE=1 --secret TWO=2 --yes");
    assert_eq!(set.code, 0, "{set:?}");
    assert!(set.err.contains("secrets: sets ONE, TWO; keeps TOKEN\n"), "{set:?}");
    assert_eq!(secrets(&scene), ["ONE", "TWO", "TOKEN"]);
    assert_eq!(scene.deploy("update agent --secret ONE=3 --replace-secrets --yes").code, 0);
    assert_eq!(secrets(&scene), ["ONE"]);
}

#[test]
fn secrets_are_set_and_unset_one_by_one() {
    let scene = Scene::new();
    let env = TestEnv::empty()
        .file("secrets", format!("ONE={SECRET}\nTWO=${{ONE}}\nEMPTY=\n"))
        .variable("THREE", SECRET)
        .input(&format!("FOUR={SECRET}\n"));
    let deploy = |arguments: &str| deploy(&env, &scene.proxy.url(), arguments);
    let before = scene.revisions();
    let set = deploy(&format!("secrets set agent THREE FIVE={SECRET}=5 --secrets-from secrets --yes --json"));
    assert_eq!(set.code, 0, "{set:?}");
    assert!(set.err.contains("secrets: sets ONE, TWO, THREE, FIVE; keeps TOKEN\n"), "{set:?}");
    checked("update", &set.out);
    assert_eq!(secrets(&scene), ["ONE", "TWO", "THREE", "FIVE", "TOKEN"]);
    assert_eq!(scene.revisions(), before + 1);

    let set = deploy("secrets set agent --secrets-from - --yes");
    assert!(set.code == 0 && set.err.contains("sets FOUR; keeps ONE, TWO, THREE, FIVE, TOKEN\n"), "{set:?}");
    let unset = deploy("secrets unset agent ONE FOUR FIVE TWO --yes");
    assert_eq!(unset.code, 0, "{unset:?}");
    assert!(unset.err.contains("secrets: keeps THREE, TOKEN; removes FOUR, ONE, TWO, FIVE\n"), "{unset:?}");
    assert_eq!(secrets(&scene), ["THREE", "TOKEN"]);

    for (arguments, told) in [
        ("secrets set agent", "no secrets given"),
        ("secrets set agent NOWHERE --yes", "the secret `NOWHERE` has no value"),
        ("secrets set agent =1 --yes", "a secret without a name"),
        ("secrets set agent A=1", "pass --yes"),
        ("secrets unset", "no secrets given"),
        (&format!("secrets unset A={SECRET}"), "the name of a secret has no `=`"),
        ("secrets unset agent NOWHERE TOKEN --yes", "has no secret `NOWHERE`"),
        ("secrets unset agent TOKEN", "pass --yes"),
    ] {
        let output = deploy(arguments);
        assert_eq!(output.code, 2, "{arguments}: {output:?}");
        assert!(output.err.contains(told), "{arguments}: {output:?}");
    }
    assert_eq!(secrets(&scene), ["THREE", "TOKEN"]);

    // Without a deployment, it is that of the directory.
    std::fs::create_dir(env.path("agent")).unwrap();
    let here = TestEnv::inside(&env.path("agent"));
    for arguments in ["set A=1", "unset A", "unset THREE", "unset TOKEN"] {
        let output = crate::api::deploy(&here, &scene.proxy.url(), &format!("secrets {arguments} --yes"));
        assert_eq!(output.code, 0, "{arguments}: {output:?}");
    }
    assert_eq!(secrets(&scene), [""; 0]);
}

/// Other services clear secrets that are sent back without their values.
#[test]
fn a_service_that_can_only_replace_secrets_loses_none() {
    let scene = Scene::new();
    let mut record = scene.host.expect(200, "GET", &format!("/v2/deployments/{}", scene.id), None);
    record.as_object_mut().unwrap().remove("merges_secrets").unwrap();
    let answer = Fault::Answer(200, &[("Content-Type", "application/json")], record.to_string().leak());
    scene.proxy.fail("GET", "/v2/deployments/", answer, usize::MAX);
    for (arguments, told) in [
        (
            "update ID --secret ONE=1",
            "would remove the secrets `TOKEN`\nhint: give them too, such as with --secrets-from",
        ),
        ("secrets set ID ONE=1", "would remove the secrets `TOKEN`\nhint: give them too"),
        ("update ID --file kept.json", "the secret `TOKEN` has no value"),
    ] {
        let env = TestEnv::empty().file("kept.json", r#"{"secrets": [{"name": "TOKEN"}]}"#);
        let arguments = format!("{} --yes", arguments.replace("ID", &scene.id));
        let output = deploy(&env, &scene.proxy.url(), &arguments);
        assert!(output.code == 2 && output.err.contains(told), "{arguments}: {output:?}");
    }
    assert_eq!(scene.proxy.forwarded("PATCH", ""), 0);
    assert_eq!(scene.deploy(&format!("secrets unset {} TOKEN --yes", scene.id)).code, 0);
    scene.proxy.mend();
    assert_eq!(scene.deploy("update agent --secret ONE=1 --secret TWO=2 --yes").code, 0);
    record["secrets"] = json!([{"name": "ONE"}, {"name": "TWO"}]);
    let answer = Fault::Answer(200, &[("Content-Type", "application/json")], record.to_string().leak());
    scene.proxy.fail("GET", "/v2/deployments/", answer, usize::MAX);
    let refused = scene.deploy(&format!("secrets unset {} ONE --yes", scene.id));
    assert!(refused.code == 2 && refused.err.contains("can only replace all secrets"), "{refused:?}");
}

#[test]
fn the_public_services_words() {
    let scene = Scene::with(|options| options.vocabulary = Vocabulary::Public);
    let env = TestEnv::empty();
    let run = |arguments: &str| {
        let output = quiet(env.run(&format!(
            "deploy {arguments} --vocabulary public --host-url {} --api-key {KEY}",
            scene.proxy.url()
        )));
        assert_eq!(output.code, 0, "{output:?}");
        output.out
    };
    assert_eq!(checked("get", &run("get agent --json"))["source"], "internal_container");
    assert!(run(&format!("repos {INTEGRATION}")).contains("somebody"));
    run(&format!("update {} --image {} --yes", scene.id, image('b')));
    assert_eq!(scene.revisions(), 2);
}

#[test]
fn options_that_nobody_may_see_are_in_no_usage_error() {
    let env = TestEnv::empty();
    for arguments in
        [format!("list --limit x --api-key {KEY}"), format!("update x --secret A={SECRET} --resource")]
    {
        let output = quiet(env.run(&format!("deploy {arguments}")));
        assert_eq!(output.code, 2, "{output:?}");
    }
}

#[test]
fn a_name_that_no_deployment_has_is_an_error_about_the_name() {
    let scene = Scene::new();
    for command in ["get nope", "logs --name nope"] {
        let output = scene.deploy(command);
        assert_eq!(output.code, 1, "{output:?}");
        let message = "error: there is no deployment named `nope`\nhint: run `agentcli deploy list` to see all deployments\n";
        assert!(output.err.ends_with(message), "{output:?}");
    }
}

#[test]
fn rollback() {
    let host = Host::start(|_| {});
    let path = format!(
        "/v2/deployments/{}",
        host.expect(201, "POST", "/v2/deployments", Some(&creation("app")))["id"].as_str().unwrap()
    );
    let ship = |digit: char| {
        let patch = json!({ "source_revision_config": { "image_uri": image(digit) } });
        let patched = host.expect(200, "PATCH", &path, Some(&patch));
        let id = patched["latest_revision_id"].as_str().unwrap().to_owned();
        host.until(&format!("{path}/revisions/{id}"), |it| it["status"] == "DEPLOYED");
        id
    };
    let env = TestEnv::empty();
    let run = |arguments: &str| deploy(&env, &host.url(), arguments);
    let first = ship('1');
    let none = run("rollback app --yes");
    assert_eq!(none.code, 2, "{none:?}");
    assert!(none.err.contains("has no earlier revision that was deployed"), "{none:?}");
    ship('2');
    let unconfirmed = run("rollback app");
    assert_eq!(unconfirmed.code, 2, "{unconfirmed:?}");
    assert!(unconfirmed.err.contains("pass --yes"), "{unconfirmed:?}");
    let restarted = run("restart app --yes --json");
    assert_eq!(restarted.code, 0, "{restarted:?}");
    let restarted = checked("restart", &restarted.out);
    let now = host.expect(200, "GET", &path, None);
    assert_eq!(now["active_revision_id"], restarted["new_revision"]);
    assert_eq!(now["source_revision_config"]["image_uri"], json!(image('2')));
    let back = checked("rollback", &run(&format!("rollback app --to {first} --yes --json")).out);
    assert_eq!(back["to"], json!(first));
    let now = host.expect(200, "GET", &path, None);
    assert_eq!(now["active_revision_id"], back["new_revision"]);
    assert_eq!(now["source_revision_config"]["image_uri"], json!(image('1')));
    let to = run(&format!("rollback {} --to {first} --yes", path.rsplit('/').next().unwrap()));
    assert_eq!(to.code, 0, "{to:?}");
    assert!(to.err.contains(&format!("back to {first}; new revision")), "{to:?}");
}
