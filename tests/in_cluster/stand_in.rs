//! All commands of `deploy`, with stand-ins of the server that are made of busybox (see `tests/in_cluster/image`), so that only
//! the cluster is on trial.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::{Place, answers, outside, succeeds, under_load};
use crate::harness::{ended, lines};

/// A server that ends at SIGTERM.
pub(super) const SERVES: &str = "trap 'exit 0' TERM; echo serving; httpd -f -p 8000 -h /srv & wait";

/// A server that ends as one does whose graph cannot be imported.
const CRASHES: &str = r#"echo 'Traceback (most recent call last):'
echo '  File "/deps/app/agent.py", line 3, in <module>'
echo '    import nothing'
echo "ModuleNotFoundError: No module named 'nothing'"
exit 1"#;

/// Makes an image that answers with its name.
pub(super) fn image(name: &str, script: &str) -> String {
    let name = format!("agentcli.test/{name}");
    let socket = outside("AGENTCLI_TEST_CLUSTER").with_file_name("data").join("containerd.sock");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/in_cluster/image");
    succeeds(Command::new(program).arg(socket).args([&name, script]));
    name
}

/// The words of a deploy with replicas, whose databases are those of somebody else.
pub(super) fn deploy(image: &str) -> String {
    let references = "--secret-reference POSTGRES_URI=db/pg --secret-reference REDIS_URI=db/redis";
    format!("--name shop --server pg --image {image} {references} --yes --timeout 120")
}

#[test]
fn a_deployment_lives_from_its_first_answer_to_its_end() {
    let place = Place::shop("life");
    let [one, two, three] = ["life-1", "life-2", "life-3"].map(|name| image(&format!("{name}:1"), SERVES));
    let broken = image("life-broken:1", CRASHES);
    let start = Instant::now();
    let host = "--resource min_scale=2 --host shop.example.test";
    let first = place.succeeds(&format!("{} {host}", deploy(&one)));
    assert!(first.contains("http://shop.example.test\n"), "{first}");
    let address = place.expose("shop");
    answers(&address, &one);
    eprintln!("from nothing to the first answer: {:.1} s", start.elapsed().as_secs_f64());
    place.is_as_applied();
    let ingress = place.get(&["ingress", "shop"]);
    assert_eq!(ingress["spec"]["rules"][0]["host"], "shop.example.test");
    let digest = |kind: &str| place.get(&[kind])["metadata"]["annotations"]["agentcli/digest"].clone();
    assert!(digest("deployment/shop").is_string());
    assert_eq!(digest("deployment/shop"), digest("configmap/shop-revision-1"));

    assert!(place.succeeds(&deploy(&one)).contains("revision 1 is up to date"));
    let dry = place.succeeds(&format!("{} --dry-run", deploy(&two)));
    let row = |text: &str, words: &[&str]| {
        text.lines().any(|line| line.split_whitespace().eq(words.iter().copied()))
    };
    let field = "spec.template.spec.containers.server.image";
    assert!(row(&dry, &["update", "Deployment", "shop", field, &one, &two]), "{dry}");

    let (failures, ((edited, text), crashed)) =
        under_load(&address, 50, || (place.run(&deploy(&two)), place.run(&deploy(&broken))));
    assert_eq!(edited, 0, "{text}");
    let cause = "agent.py:3: ModuleNotFoundError: No module named 'nothing'";
    assert!(crashed.0 == 1 && crashed.1.contains(cause), "{crashed:?}");
    assert_eq!(failures, Vec::<String>::new());
    answers(&address, &two);

    place.fails(&format!("{} --atomic", deploy(&broken)), 1, "went back to revision 2, which serves");
    place.succeeds("rollback shop --yes");
    answers(&address, &one);
    place.succeeds("secrets set shop TOKEN=other-value-of-a-secret --yes");
    assert_eq!(place.get(&["secret", "shop-env"])["data"].as_object().unwrap().len(), 3);
    let pod = place.get(&["deployment", "shop"])["spec"]["template"]["spec"].clone();
    assert_eq!(pod["terminationGracePeriodSeconds"], 50);
    place.succeeds("update shop --resource min_scale=3 --yes");
    assert_eq!(place.get(&["deployment", "shop"])["status"]["readyReplicas"], 3);
    // Whatever others change is mended.
    place.kubectl(&["scale", "deployment", "shop", "--replicas=1"]);
    place.succeeds(&deploy(&three));
    place.kubectl(&["delete", "poddisruptionbudget", "shop"]);
    place.succeeds(&deploy(&three));
    place.is_as_applied();
    let records = place.get(&["configmaps"]).to_string();
    assert!(!records.contains(super::SECRET) && records.contains("life-3"));
    let revisions: Value = serde_json::from_str(&place.succeeds("revisions list shop --json")).unwrap();
    assert_eq!(revisions["revisions"][0]["status"], "DEPLOYED", "{revisions}");
    let list: Value = serde_json::from_str(&place.succeeds("list --json")).unwrap();
    assert_eq!(list["deployments"][0]["name"], "shop");

    place.succeeds("delete shop --yes");
    let left = place.ours(super::OBJECTS);
    // The Service of the test has copied the labels.
    assert!(left.len() == 1 && left[0]["metadata"]["name"] == "outside", "{left:?}");
    place.fails("get shop", 1, "there is no deployment `shop`");
}

#[test]
fn logs_are_followed_from_pod_to_pod_and_a_port_leads_to_the_server() {
    let place = Place::shop("logs");
    let images =
        ["logs-1", "logs-2"].map(|name| image(&format!("{name}:1"), &SERVES.replace("serving", name)));
    place.succeeds(&deploy(&images[0]));
    assert!(place.succeeds("logs shop").contains("logs-1"));
    assert!(place.succeeds("logs shop --revision-id 7").contains("no log entries found"));

    let mut follow = place.command("logs shop --follow --json").stdout(Stdio::piped()).spawn().unwrap();
    let entries = lines(follow.stdout.take().unwrap());
    let next = |text: &str| entries.iter().find(|line| line.contains(text)).expect("the log ends");
    next("logs-1");
    place.succeeds(&deploy(&images[1]));
    let entry: Value = serde_json::from_str(&next("logs-2")).unwrap();
    assert_eq!(entry["message"], "logs-2");
    interrupt(&follow);
    ended(&mut follow, |_| "logs --follow".to_owned());

    let mut open = place.command("open shop --json").stdout(Stdio::piped()).spawn().unwrap();
    let opened: Value = serde_json::from_str(&lines(open.stdout.take().unwrap()).recv().unwrap()).unwrap();
    answers(opened["url"].as_str().unwrap().trim_start_matches("http://"), &images[1]);
    interrupt(&open);
    ended(&mut open, |_| "open".to_owned());
}

pub(super) fn interrupt(child: &std::process::Child) {
    succeeds(Command::new("kill").args(["-INT", &child.id().to_string()]));
}

#[test]
fn doctor_tells_what_a_cluster_lacks() {
    let place = Place::shop("doctor");
    let doctor = |words: &str| {
        let output = place.agentcli(&format!("doctor {words}")).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, text) = doctor(&format!("--namespace {}", place.namespace));
    assert!(
        code == Some(0) && text.contains("Kubernetes v1.34") && text.contains(&place.namespace),
        "{text}"
    );
    let (code, text) = doctor("--namespace absent");
    assert!(code == Some(1) && text.contains("there is no namespace `absent`"), "{text}");
    assert_eq!(place.ours(super::OBJECTS), Vec::<Value>::new());
}
