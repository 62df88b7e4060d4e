//! A package index that asks for a password: three ways to give it, and none leaves it anywhere.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tempfile::TempDir;

use super::{Copy, found_in};
use crate::engine::{BASE, docker, hosts_for, output_in};
use crate::harness::TestEnv;
use crate::harness::wheel::write_wheel;

/// The name of the package that only this index has.
const PACKAGE: &str = "agentcli-private-thing";

/// An index on loopback that serves until the test ends.
struct Index {
    port: u16,
    password: String,
}

impl Index {
    fn start() -> Self {
        let password = format!("p4ss-{:016x}", fastrand::u64(..));
        let directory = TempDir::new().unwrap();
        let wheel = write_wheel(directory.path(), "agentcli_private_thing");
        let wheel = fs::read(wheel).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let expected = format!("Basic {}", STANDARD.encode(format!("me:{password}")));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (wheel, expected) = (wheel.clone(), expected.clone());
                thread::spawn(move || answer(client, &wheel, &expected));
            }
        });
        Self { port, password }
    }

    fn url(&self, user: &str) -> String {
        format!("http://{user}127.0.0.1:{}/simple", self.port)
    }
}

/// Answers one request.
fn answer(client: TcpStream, wheel: &[u8], expected: &str) -> Option<()> {
    let mut reader = BufReader::new(client);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        (reader.by_ref().take(8192).read_line(&mut head).ok()? > 0).then_some(())?;
    }
    let path = head.split(' ').nth(1)?;
    let given = head
        .lines()
        .find_map(|line| line.split_once(": ").filter(|it| it.0.eq_ignore_ascii_case("authorization")));
    let page = b"<!DOCTYPE html><a href=\"/files/agentcli_private_thing-1.0-py3-none-any.whl\">agentcli_private_thing-1.0-py3-none-any.whl</a>";
    let (status, kind, body): (_, _, &[u8]) = match path.trim_end_matches('/') {
        _ if given.is_none_or(|(_, value)| value != expected) => ("401 Unauthorized", "text/plain", b""),
        "/simple/agentcli-private-thing" => ("200 OK", "text/html", page),
        path if path.starts_with("/files/") => ("200 OK", "application/octet-stream", wheel),
        _ => ("404 Not Found", "text/plain", b""),
    };
    let mut client = reader.into_inner();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nWWW-Authenticate: Basic\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .ok()?;
    if head.starts_with("HEAD") { Some(()) } else { client.write_all(body).ok() }
}

#[test]
fn the_password_of_an_index_stays_outside() {
    let index = Index::start();
    let with_password = index.url(&format!("me:{}@", index.password));
    let netrc = format!("machine 127.0.0.1 login me password {}\n", index.password);
    let public = "extra-index-url = https://pypi.org/simple";
    for (way, member, file, text, is_netrc) in [
        (
            "config",
            json!({ "pip_config_file": "pip.conf" }),
            "pip.conf",
            format!("[global]\nindex-url = {with_password}\n{public}\n"),
            false,
        ),
        (
            "netrc",
            json!({ "pip_config_file": "pip.conf" }),
            "pip.conf",
            format!("[global]\nindex-url = {}\n{public}\n", index.url("")),
            true,
        ),
        (
            "uv",
            json!({}),
            "uv.toml",
            format!("[[index]]\nname = 'private'\nurl = '{}'\n", index.url("")),
            true,
        ),
    ] {
        let copy = Copy::of("hello");
        copy.configure(&member);
        copy.configure(&json!({ "dependencies": [".", PACKAGE] }));
        fs::write(copy.directory.path().join(file), &text).unwrap();
        let outside = TempDir::new().unwrap();
        fs::write(outside.path().join("netrc"), &netrc).unwrap();
        let secret = format!("--secret=id=netrc,src={}", outside.path().join("netrc").display());
        for host in hosts_for(way) {
            let tag = format!("agentcli-test-private-{way}-{}", std::process::id());
            let cache = outside.path().join("cache");
            let env = TestEnv::inside(copy.directory.path())
                .variable("DOCKER_HOST", &host)
                .variable("XDG_CACHE_HOME", cache.to_str().unwrap());
            // The index is on this machine's loopback.
            let mut arguments =
                vec!["build", "--no-pull", "--progress", "plain", "-v", "-t", &tag, "--network=host"];
            if is_netrc {
                let refused = env.run_with(&arguments);
                assert_eq!(refused.code, 1, "{way}: {}", refused.err);
                assert!(
                    way == "netrc" || refused.err.contains("--secret id=netrc"),
                    "{way}: {}",
                    refused.err
                );
                arguments.push(&secret);
            }
            let done = env.run_with(&arguments);
            assert_eq!(done.code, 0, "{way}: {}", done.err);
            let word = "import agentcli_private_thing as it; print(it.WORD)";
            assert_eq!(output_in(&host, &[&tag], &["python3", "-c", word]), "private\n");
            let texts = [
                &done.out,
                &done.err,
                &docker(&host, &["history", "--no-trunc", &tag]),
                &docker(&host, &["inspect", &tag]),
            ];
            assert!(texts.iter().all(|text| !text.contains(&index.password)), "{way}: {texts:?}");
            let found = found_in(&host, &tag, BASE, &[&index.password, "agentcli_private_thing"]);
            assert_eq!(found, ["agentcli_private_thing"], "{way}");
            let records =
                Command::new("grep").args(["-r", "-l", &index.password]).arg(&cache).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&records.stdout), "", "{way}");
            docker(&host, &["rmi", "-f", &tag]);
        }
    }
}

/// A source of Poetry, and a variable of a requirements file that is a secret of the build.
#[test]
fn indexes_of_other_tools_and_variables_are_used() {
    let index = Index::start();
    let agent = "graph = object()\n";
    let poetry = format!(
        "[tool.poetry]\nname = \"thing-agent\"\nversion = \"1\"\ndescription = \"\"\nauthors = []\npackages = [{{ include = \"agent.py\" }}]\n\n\
         [tool.poetry.dependencies]\npython = \">=3.11\"\nlanggraph = \"*\"\nagentcli-private-thing = {{ version = \"^1\", source = \"private\" }}\n\n\
         [[tool.poetry.source]]\nname = \"private\"\nurl = \"{}\"\npriority = \"explicit\"\n\n\
         [build-system]\nrequires = [\"poetry-core\"]\nbuild-backend = \"poetry.core.masonry.api\"\n",
        index.url("")
    );
    let requirements =
        format!("--extra-index-url {}\nlanggraph\n{PACKAGE}\n", index.url("me:${INDEX_PASSWORD}@"));
    let netrc = format!("machine 127.0.0.1 login me password {}\n", index.password);
    for (way, file, text, id, value) in [
        ("poetry", "pyproject.toml", &poetry, "netrc", &netrc),
        ("variable", "requirements.txt", &requirements, "INDEX_PASSWORD", &index.password),
    ] {
        let config = r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#;
        let outside = TempDir::new().unwrap();
        let secret = outside.path().join("secret");
        fs::write(&secret, value).unwrap();
        let secret = format!("--secret=id={id},src={}", secret.display());
        for host in hosts_for(way) {
            let tag = format!("agentcli-test-source-{way}-{}", std::process::id());
            let env = TestEnv::empty().file("agent.json", config).file("agent.py", agent).file(file, text);
            let env = env.variable("DOCKER_HOST", &host);
            let unused = "--secret=id=unused,src=agent.json";
            let arguments = ["build", "--no-pull", "-t", &tag, "--network=host", &secret, unused];
            let done = env.run_with(&arguments);
            assert_eq!(done.code, 0, "{way}: {}", done.err);
            assert!(done.err.contains("no step uses the secret `unused`"), "{way}: {}", done.err);
            let word = "import agentcli_private_thing as it; print(it.WORD)";
            assert_eq!(output_in(&host, &[&tag], &["python3", "-c", word]), "private\n");
            let history = docker(&host, &["history", "--no-trunc", &tag]);
            assert!(!history.contains(&index.password), "{way}: {history}");
            docker(&host, &["rmi", "-f", &tag]);
        }
    }
}

/// A version that its back end reads from git, which an image does not have.
#[test]
fn versions_from_git_are_not_needed() {
    let config = r#"{ "dependencies": ["."], "graphs": { "agent": "./src/agent/graph.py:graph" } }"#;
    let manifest = "[project]\nname = \"agent\"\ndynamic = [\"version\"]\ndependencies = [\"langgraph\"]\n\n\
         [build-system]\nrequires = [\"hatchling\", \"hatch-vcs\"]\nbuild-backend = \"hatchling.build\"\n\n\
         [tool.hatch.version]\nsource = \"vcs\"\n";
    for host in hosts_for("versions") {
        let tag = format!("agentcli-test-version-{}", std::process::id());
        let env = TestEnv::empty()
            .file("agent.json", config)
            .file("pyproject.toml", manifest)
            .file("src/agent/__init__.py", "")
            .file("src/agent/graph.py", "graph = object()\n")
            .variable("DOCKER_HOST", &host);
        let done = env.run_with(&["build", "--no-pull", "-t", &tag]);
        assert_eq!(done.code, 0, "{}", done.err);
        let version = "import importlib.metadata as it; print(it.version('agent'))";
        assert_eq!(output_in(&host, &[&tag], &["python3", "-c", version]), "0.0.0\n");
        docker(&host, &["rmi", "-f", &tag]);
    }
}
