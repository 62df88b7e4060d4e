//! `agentcli sbom` on real engines: it names the packages that are installed, and its documents are valid.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use agentcli::engine::{Engine, EngineEnv, Error};
use agentcli::live::Stop;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Copy;
use super::push::Stage;
use crate::engine::{docker, hosts, hosts_for, try_docker};
use crate::harness::{TestEnv, python};
use crate::proxy::{Fault, Proxy};
use crate::registry::{PASSWORD, Registry};

/// Validates documents: CycloneDX by the published schema, SPDX by the project's own tools.
const VALIDATE: &str = "
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
for path in sys.argv[1:]:
    if path.endswith('.spdx.json'):
        wrong = [it.validation_message for it in validate_full_spdx_document(parse_file(path))]
    else:
        wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(path).read())
    assert not wrong, (path, wrong)
";

/// A project whose bill has hashes of a lock file.
const LOCKED: &str = "uv-workspace";

/// The formats of a bill.
const FORMATS: [&str; 2] = ["cyclonedx-json", "spdx-json"];

/// The bill of `arguments` in both formats, which are valid; returns that in CycloneDX.
fn bill(env: &TestEnv, arguments: &str) -> Value {
    let files = ["a.cdx.json", "a.spdx.json"].map(|name| env.path(name));
    for (file, format) in files.iter().zip(FORMATS) {
        let written = env.run(&format!("sbom {arguments} --format {format} -o {}", file.display()));
        assert_eq!(written.code, 0, "{arguments}: {}", written.err);
    }
    let valid = Command::new(python()).args(["-c", VALIDATE]).args(&files).output().unwrap();
    assert!(valid.status.success(), "{arguments}: {}", String::from_utf8_lossy(&valid.stderr));
    let [cyclonedx, spdx] = files.map(|file| {
        let document: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        fs::remove_file(file).unwrap();
        document
    });
    let packages = spdx["packages"].as_array().unwrap();
    assert_eq!(components(&cyclonedx).len() + 1, packages.len(), "the image and its packages");
    cyclonedx
}

fn components(bill: &Value) -> &Vec<Value> {
    bill["components"].as_array().unwrap()
}

/// The component with this name, and the values of one of its properties.
fn find<'a>(bill: &'a Value, name: &str, property: &str) -> (&'a Value, Vec<&'a str>) {
    let component = components(bill).iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}"));
    let properties = component["properties"].as_array().into_iter().flatten();
    let values = properties.filter(|it| it["name"] == property).map(|it| it["value"].as_str().unwrap());
    (component, values.collect())
}

/// Name and version of the Python packages in a directory of the image.
fn packages_in(bill: &Value, directory: &str) -> BTreeSet<String> {
    let is_there = |it: &&Value| {
        let places = it["evidence"]["occurrences"].as_array().unwrap();
        places.iter().any(|place| place["location"] == directory)
    };
    let found = components(bill).iter().filter(is_there);
    found
        .map(|it| format!("{} {}", normalized(it["name"].as_str().unwrap()), it["version"].as_str().unwrap()))
        .collect()
}

fn normalized(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// The directory of Python packages of an image, and what `uv pip list` shows there.
fn listed(host: &str, image: &str) -> (String, BTreeSet<String>) {
    let uv = python().parent().unwrap().join("uv");
    let script = "cat > /tmp/uv; chmod +x /tmp/uv; python3 -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))'; \
                  /tmp/uv pip list --system --format json";
    let output = Command::new("docker")
        .args(["-H", host, "run", "-i", "--rm", "-u", "0", "--entrypoint", "sh", image, "-c", script])
        .stdin(File::open(uv).unwrap())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let (directory, list) = output.split_once('\n').unwrap();
    let list: Vec<Value> = serde_json::from_str(list).unwrap();
    let package = |it: &Value| {
        format!("{} {}", normalized(it["name"].as_str().unwrap()), it["version"].as_str().unwrap())
    };
    (directory.to_owned(), list.iter().map(package).collect())
}

/// Builds a project; its bill has the packages that `uv pip list` shows in the image.
fn bill_of(fixture: &str, directory: &str, change: impl Fn(&Path)) -> Value {
    let host = &hosts_for(fixture)[0];
    let project = Copy::of(fixture);
    change(project.directory.path());
    let tag = format!("agentcli-test-sbom-{fixture}");
    let cache = TempDir::new().unwrap();
    let env = TestEnv::inside(&project.directory.path().join(directory))
        .variable("DOCKER_HOST", host)
        .variable("XDG_CACHE_HOME", cache.path().to_str().unwrap());
    let built = env.run(&format!("build -t {tag} --no-pull"));
    assert_eq!(built.code, 0, "{fixture}: {}{}", built.out, built.err);
    // The image of the last build.
    let bill = bill(&env, "");
    if fixture == LOCKED {
        let again = env.run("sbom");
        assert_eq!(serde_json::from_str::<Value>(&again.out).unwrap(), bill, "the same again");
    }
    assert_eq!(bill["metadata"]["component"]["name"], tag);
    let (site, expected) = listed(host, &tag);
    assert_eq!(packages_in(&bill, &site), expected, "{fixture}");
    bill
}

#[test]
fn packages_of_a_project_without_a_lock() {
    let bill = bill_of("hello", ".", |_| {});
    let (_, origins) = find(&bill, "hello", "agentcli:origin");
    assert_eq!(origins, ["project"]);
    let (server, origins) = find(&bill, "langgraph-api", "agentcli:origin");
    assert_eq!((origins, server.get("hashes")), (vec!["base-image:langchain/langgraph-api:3.11"], None));
}

#[test]
fn packages_of_a_uv_workspace_have_the_hashes_of_its_lock() {
    let bill = bill_of(LOCKED, "apps/agent", |_| {});
    let lock = fs::read_to_string(crate::harness::fixtures("valid").join("uv-workspace/uv.lock")).unwrap();
    let (tabulate, origins) = find(&bill, "tabulate", "agentcli:origin");
    assert_eq!(origins, ["lock:../../uv.lock"]);
    let hash = tabulate["hashes"][0]["content"].as_str().unwrap();
    assert!(lock.contains(&format!("hash = \"sha256:{hash}\"")), "{hash}");
    assert_eq!(tabulate["hashes"][0]["alg"], "SHA-256");
}

/// requirements.txt has the hashes of a wheel and of a source archive, but no names of files.
#[test]
fn packages_of_requirements_with_hashes() {
    let requirement = "tabulate==0.9.0 \\\n    --hash=sha256:024ca478df22e9340661486f85298cff5f6dcdba14f3813e8830015b9ed1948f \\\n    \
                       --hash=sha256:0095b12bf5966de529c0feb1fa08671671b3368eec77d7ef7ab114be2c068b3c\n";
    let bill = bill_of("requirements-only", ".", |root| {
        fs::write(root.join("requirements.txt"), requirement).unwrap()
    });
    let (tabulate, origins) = find(&bill, "tabulate", "agentcli:origin");
    assert_eq!((origins, tabulate.get("hashes")), (vec!["lock:requirements.txt"], None));
    let (_, locked) = find(&bill, "tabulate", "agentcli:locked-hash");
    assert_eq!(locked.len(), 2, "{locked:?}");
}

/// A lock file of poetry with both files of its only package.
const POETRY: &str = "
[[package]]
name = 'tomli-w'
version = '1.2.0'
optional = false
groups = ['main']
files = [
    {file = 'tomli_w-1.2.0-py3-none-any.whl', hash = 'sha256:188306098d013b691fcadc011abd66727d3c414c571bb01b1a174ba8c983cf90'},
    {file = 'tomli_w-1.2.0.tar.gz', hash = 'sha256:2dd14fac5a47c27be9cd4c976af5a12d87fb1f0b4512f81d69cce3b35ae25021'},
]
[metadata]
lock-version = '2.1'
python-versions = '>=3.11'
content-hash = 'x'
";

#[test]
fn packages_of_a_poetry_project() {
    let bill = bill_of("backend-poetry", ".", |root| {
        let manifest = root.join("pyproject.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, text.replace("\"langgraph>=0.3\", ", "")).unwrap();
        fs::write(root.join("poetry.lock"), POETRY).unwrap();
    });
    let (package, origins) = find(&bill, "tomli_w", "agentcli:origin");
    assert_eq!(origins, ["lock:poetry.lock"]);
    let wheel = "188306098d013b691fcadc011abd66727d3c414c571bb01b1a174ba8c983cf90";
    assert_eq!(package["hashes"], json!([{ "alg": "SHA-256", "content": wheel }]));
}

#[test]
fn packages_of_a_project_with_javascript() {
    let bill = bill_of("mixed", ".", |_| {});
    let directory = "/deps/app/node_modules/@langchain/langgraph";
    let found: Vec<String> = packages_in(&bill, directory).into_iter().collect();
    assert!(matches!(&found[..], [one] if one.starts_with("@langchain/langgraph 1.")), "{found:?}");
}

/// An image of these files, given by path and content.
fn import(host: &str, name: &str, files: &[(&str, &[u8])]) {
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("empty")).unwrap();
    for (path, content) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let archive = Command::new("tar").arg("-C").arg(root.path()).args(["-c", "."]).output().unwrap().stdout;
    let mut child = Command::new("docker")
        .args(["-H", host, "import", "-", name])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&archive).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn metadata_that_nobody_should_write_makes_valid_documents() {
    let site = "usr/lib/python3.12/site-packages";
    let odd = |info: &str, name: &str| format!("{site}/{info}.dist-info/{name}");
    let git =
        json!({ "url": "https://me:s3cret@git.example.com/z?t=s3cret", "vcs_info": { "vcs": "git", "commit_id": "ab" } })
            .to_string();
    for host in hosts() {
        let name = "agentcli-test-sbom-odd";
        let files: &[(&str, &[u8])] = &[
            (&odd("broken_name-1.2", "METADATA"), b"\xff\xfe\x00Name"),
            (
                &odd("odd-1", "METADATA"),
                "Name: \u{1f40d} a&b\"<c>/%\nVersion: 1!2.0+ü\nLicense: x\ty".as_bytes(),
            ),
            (&odd("bare-1", "METADATA"), b"Name: bare\nVersion: 1\nLicense-Expression: MIT OR"),
            (&odd("git-1", "METADATA"), b"Name: git\nVersion: 1\nLicense: Custom, all rights (c)"),
            (&odd("git-1", "direct_url.json"), git.as_bytes()),
            (
                "app/node_modules/@a/b/package.json",
                b"{\"name\": \"@a/b\", \"version\": \"1\", \"license\": \"UNLICENSED\"}",
            ),
            ("app/node_modules/c/package.json", b"{{{"),
            ("lib/apk/db/installed", b"P:x\nV:1-r0\nL:GPL-2.0-only AND MIT\n"),
        ];
        import(&host, name, files);
        let env = TestEnv::empty().variable("DOCKER_HOST", &host);
        let bill = bill(&env, name);
        for format in FORMATS {
            let [once, again] = [(); 2].map(|()| env.run(&format!("sbom {name} --format {format}")).out);
            assert!(!once.is_empty() && once == again, "{format}: {once}{again}");
        }
        let found: Vec<&str> = components(&bill).iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(found, ["x", "@a/b", "bare", "broken_name", "git", "\u{1f40d} a&b\"<c>/%"]);
        assert!(!bill.to_string().contains("s3cret"), "{bill}");
        assert_eq!(
            find(&bill, "git", "").0["externalReferences"][0]["url"],
            "git+https://git.example.com/z@ab"
        );

        import(&host, name, &[]);
        let empty = env.run(&format!("sbom {name}"));
        assert_eq!(empty.code, 0, "{}", empty.err);
        assert!(empty.err.contains("has no packages of Python, JavaScript, dpkg or apk"), "{}", empty.err);
        docker(&host, &["rmi", name]);
    }
}

/// A full disk.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_not_there_or_not_valid_is_an_error() {
    let host = &hosts()[0];
    let env = TestEnv::project().variable("DOCKER_HOST", host);
    for (arguments, code, message) in [
        ("sbom agentcli-test-nothing:1", 1, "there is no local image `agentcli-test-nothing:1`"),
        ("sbom nothing.json", 1, "there is no local image `nothing.json`"),
        ("sbom nothing/X", 2, "`nothing/X` is neither an image nor a file"),
        ("sbom", 2, "no build of `agent.json` with this engine is recorded on this machine"),
        ("sbom agent.json", 2, "no build of `agent.json` with this engine is recorded on this machine"),
        ("sbom agent.json -c agent.json", 2, "the configuration is given twice"),
    ] {
        let failed = env.run(arguments);
        assert_eq!(failed.code, code, "{arguments}: {}", failed.err);
        assert!(failed.err.contains(message), "{arguments}: {}", failed.err);
    }
    let full = env.run_into("sbom langchain/langgraph-api:3.11", Box::new(Full));
    assert_eq!(full.code, 1);
    assert!(full.err.contains("cannot write the output: "), "{}", full.err);
    let late = env.variable("SOURCE_DATE_EPOCH", "soon").run("sbom langchain/langgraph-api:3.11");
    assert_eq!(late.code, 2, "{}", late.err);
}

#[test]
fn the_time_is_that_of_the_environment() {
    let env =
        TestEnv::empty().variable("DOCKER_HOST", &hosts()[0]).variable("SOURCE_DATE_EPOCH", "1700000000");
    let bill = bill(&env, "langchain/langgraph-api:3.11");
    assert_eq!(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
}

#[test]
fn an_interrupted_command_leaves_no_container() {
    for host in hosts() {
        let name = "agentcli-test-sbom-interrupted";
        import(&host, name, &[("file", b"x")]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let env = EngineEnv { host: Some(host.clone()), ..EngineEnv::default() };
        let engine = runtime.block_on(Engine::connect(&env)).unwrap();
        let stop = Stop::default();
        stop.raise();
        let exported = runtime.block_on(engine.read_files(name, &stop, |_| Ok(())));
        assert!(matches!(exported, Err(Error::Interrupted(_))), "{exported:?}");
        let left = docker(&host, &["ps", "-aq", "--filter", &format!("ancestor={name}")]);
        assert_eq!(left, "", "{host}");
        docker(&host, &["rmi", name]);
    }
}

const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The documents that a client finds under the tag for `digest`.
pub(super) fn attached(registry: &Registry, digest: &str) -> Vec<Value> {
    let index = registry.get("team/agent", &format!("manifests/{}", digest.replace(':', "-")));
    let index: Value = serde_json::from_slice(&index).unwrap_or_default();
    assert!(index.is_null() || index["mediaType"] == INDEX, "{index}");
    index["manifests"].as_array().cloned().unwrap_or_default()
}

#[test]
fn documents_are_attached_to_the_image_in_its_registry() {
    for host in hosts() {
        let registry = Registry::start();
        let proxy = Proxy::start(registry.address.parse().unwrap());
        let address = proxy.address().to_string();
        let stage =
            Stage::with_registries(Copy::of("hello"), &host, &[&registry.address, &address], PASSWORD);
        let own = format!("{}/team/agent:1", registry.address);
        let import = |name: &str, text: &[u8]| {
            import(&host, name, &[("usr/lib/python3/site-packages/a-1.dist-info/METADATA", text)])
        };
        import(&own, b"Name: a");
        stage.docker(&host, &["push", "-q", &own]);
        let digest = registry.digest("team/agent", "1").unwrap();

        let pushed = stage.run(&format!("sbom --push {own}"));
        assert_eq!(pushed.code, 0, "{}", pushed.err);
        let manifests = attached(&registry, &digest);
        let [entry] = &manifests[..] else { panic!("{manifests:?}") };
        let document = entry["digest"].as_str().unwrap();
        assert_eq!(pushed.out, format!("{}/team/agent@{document}\n", registry.address));
        assert_eq!(entry["artifactType"], "application/vnd.cyclonedx+json");
        let manifest = registry.get("team/agent", &format!("manifests/{document}"));
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        assert_eq!(manifest["subject"]["digest"], digest);
        let blob = manifest["layers"][0]["digest"].as_str().unwrap();
        let blob = String::from_utf8(registry.get("team/agent", &format!("blobs/{blob}"))).unwrap();
        assert_eq!(blob, stage.run(&format!("sbom {own}")).out);
        assert_eq!(registry.digest("team/agent", "1"), Some(digest.clone()), "the image is the same");

        // The same is attached once, and another beside it.
        assert_eq!(stage.run(&format!("sbom --push {own}")).out, pushed.out);
        assert_eq!(attached(&registry, &digest), manifests);
        assert_eq!(stage.run(&format!("sbom --push {own} --format spdx-json")).code, 0);
        assert_eq!(attached(&registry, &digest).len(), 2);

        // A registry that lists the documents itself needs no tag.
        let other = format!("{address}/team/agent:1");
        docker(&host, &["tag", &own, &other]);
        proxy.fail(
            "GET",
            "/v2/team/agent/referrers/",
            Fault::Answer(200, &[("Content-Type", "application/json")], "{}"),
            1,
        );
        assert_eq!(stage.run(&format!("sbom --push {other}")).code, 0);
        assert_eq!(attached(&registry, &digest).len(), 2);

        // Of an index, the image of the platform.
        let size = registry.get("team/agent", "manifests/1").len();
        let media_type = manifest["subject"]["mediaType"].clone();
        let entry = |architecture: &str| {
            let platform = json!({ "os": "linux", "architecture": architecture });
            json!({ "mediaType": media_type, "digest": digest, "size": size, "platform": platform })
        };
        let index =
            json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [entry("arm64"), entry("amd64")] });
        registry.put_manifest("team/agent", "all", INDEX, &index.to_string());
        let all = format!("{}/team/agent:all", registry.address);
        docker(&host, &["tag", &own, &all]);
        let of_index = stage.run(&format!("sbom --push {all}"));
        assert_eq!(of_index.code, 0, "{}", of_index.err);
        let document = of_index.out.trim().rsplit_once('@').unwrap().1.to_owned();
        let manifest = registry.get("team/agent", &format!("manifests/{document}"));
        assert_eq!(serde_json::from_slice::<Value>(&manifest).unwrap()["subject"]["digest"], digest);

        import(&own, b"Name: b");
        let changed = stage.run(&format!("sbom --push {own}"));
        assert_eq!(changed.code, 1, "{}", changed.err);
        assert!(changed.err.contains("the registry has another image under this name"), "{}", changed.err);
        let absent = format!("{}/team/absent:1", registry.address);
        docker(&host, &["tag", &own, &absent]);
        let missing = stage.run(&format!("sbom --push {absent}"));
        assert!(missing.err.contains("the registry has no such image"), "{}", missing.err);
        [own, other, all, absent].iter().for_each(|name| drop(try_docker(&host, &["rmi", name])));
    }
}
