//! What a project of somebody else can write, what another program would make of it, and what we say. Each row is an attack
//! on the user who runs a command in that project.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use agentcli::compiler::back::lower::lower;
use agentcli::compiler::{Options, analyze};

use agentcli::engine::BuildRequest;
use agentcli::project::{self, Boundary, Project};

use crate::harness::{TestEnv, VALID};

/// A text that leaves this machine, or is shown, in no row.
const SECRET: &str = "hunter2";

/// One attack.
struct Row {
    /// The files of the project, by path; `->` before the content makes a link.
    files: &'static [(&'static str, &'static str)],
    /// What another program would make of it.
    otherwise: &'static str,
    /// What we say.
    told: &'static str,
}

const PACKAGE: &str = "[project]\nname = 'a'\nversion = '1'\n[build-system]\nrequires = ['hatchling']\n\
                       build-backend = 'hatchling.build'\n";

/// Without a repository: `victim/` is beside the project.
const BEYOND: &[Row] = &[
    Row {
        files: &[("agent.json", r#"{"dependencies": [".", "../victim"], "graphs": {"a": "./agent.py:g"}}"#)],
        otherwise: "docker build sends the directory",
        told: "path-outside-project",
    },
    Row {
        files: &[("agent.json", r#"{"dependencies": [".", "../../.."], "graphs": {"a": "./agent.py:g"}}"#)],
        otherwise: "docker build sends all of the directory above",
        told: "path-outside-project",
    },
    Row {
        files: &[
            ("agent.json", r#"{"dependencies": [".", "./x"], "graphs": {"a": "./agent.py:g"}}"#),
            ("x", "->../victim"),
        ],
        otherwise: "pip follows the link",
        told: "path-outside-project",
    },
    Row {
        files: &[("agent.json", VALID), ("requirements.txt", "-r x/../../victim/.env\n"), ("x/y", "")],
        otherwise: "pip reads the file, and shows its lines as broken requirements",
        told: "path-outside-project",
    },
    Row {
        files: &[("agent.json", VALID), ("requirements.txt", "-c ./../victim/id\n-e ../victim\n")],
        otherwise: "pip reads the file",
        told: "path-outside-project",
    },
    Row {
        files: &[
            ("agent.json", VALID),
            ("pyproject.toml", "[tool.uv.workspace]\nmembers = ['../victim', '../*']\n"),
            ("requirements.txt", "-r ../victim/.env\n"),
        ],
        otherwise: "uv takes the directory for a member of the workspace",
        told: "path-outside-project",
    },
    Row {
        files: &[
            (
                "agent.json",
                r#"{"dependencies": [".", "../victim"], "env": "../victim/.env", "graphs": {"a": "../victim/a.py:g"}}"#,
            ),
            ("package.json", r#"{"workspaces": ["../victim", "../../*"]}"#),
        ],
        otherwise: "npm takes the directory for a workspace",
        told: "path-outside-project",
    },
    Row {
        files: &[
            ("agent.json", r#"{"source": {"kind": "uv", "root": ".."}, "graphs": {"a": "./agent.py:g"}}"#),
            ("requirements.txt", "-r ../victim/.env\n"),
        ],
        otherwise: "uv reads the workspace above",
        told: "path-outside-project",
    },
];

fn project(row: &Row, below: &str) -> TestEnv {
    let mut env = TestEnv::empty().file(&format!("{below}agent.py"), "g = graph = object()\n");
    for (path, content) in row.files {
        let path = format!("{below}{path}");
        match content.strip_prefix("->") {
            Some(target) => {
                fs::create_dir_all(env.path(&path).parent().unwrap()).unwrap();
                symlink(target, env.path(&path)).unwrap();
            }
            None => env = env.file(&path, content),
        }
    }
    env
}

#[test]
fn without_a_repository_nothing_beside_the_project_is_read() {
    for row in BEYOND {
        let env = project(row, "work/project/")
            .file("work/victim/.env", format!("{SECRET} = {SECRET} {SECRET}\n"))
            .file("work/victim/id", format!("{SECRET} {SECRET}\n"))
            .file("work/victim/a.py", format!("g = {SECRET}\n"))
            .file("work/victim/pyproject.toml", PACKAGE);
        for command in ["validate work/project/agent.json", "plan -c work/project/agent.json"] {
            let output = env.run(command);
            let said = output.out + &output.err;
            assert!(said.contains(row.told), "{} ({}): {said}", row.files[0].1, row.otherwise);
            assert!(!said.contains(SECRET), "{} ({}): {said}", row.files[0].1, row.otherwise);
        }
    }
}

/// The build context of the project, as path and content.
fn context(env: &TestEnv) -> Vec<(String, String)> {
    let project = Project::load(&env.path(""), Path::new("agent.json"), Boundary::Project).unwrap();
    let analysis = analyze("agent.json", &project.source.text, &project.files);
    assert!(analysis.is_usable(), "{:#?}", analysis.diagnostics);
    let plan = lower(&analysis.config, &project.files, "agent.json", &Options::default());
    let context = BuildRequest::of_plan(&plan, env.path(&plan.context.root)).unwrap().context;
    let listing = context.list().unwrap();
    let entries = listing.entries().iter().map(|entry| {
        let content = String::from_utf8_lossy(&listing.contents(entry).unwrap()).into_owned();
        (entry.path.to_string_lossy().into_owned(), content)
    });
    entries.collect()
}

/// Files that hold credentials, in a project.
const CREDENTIALS: &[&str] = &[
    ".env",
    ".env.local",
    "sub/.env",
    "prod.env",
    ".git/config",
    "sub/.git/config",
    ".npmrc",
    "sub/.npmrc",
    ".yarnrc.yml",
    ".netrc",
    ".pypirc",
    ".envrc",
    ".git-credentials",
    ".ssh/id_rsa",
    ".aws/credentials",
    ".docker/config.json",
    ".config/gcloud/x.json",
    "key.pem",
    "certs/server.key",
    "client.p12",
    "client.pfx",
    "id_ed25519",
];

/// What a .dockerignore says, which other programs follow to the letter.
#[test]
fn no_dockerignore_puts_credentials_into_an_image_without_their_names() {
    for ignore in [
        None,
        Some(""),
        Some("*.log\n"),
        Some("# nothing\n\n"),
        Some("*\n!*\n"),
        Some("**\n!**\n"),
        Some("!.\n!sub\n!sub/**\n!.*\n!*.*\n"),
        Some("\u{feff}*\r\n!**/*\r\n"),
        Some("!**/.e*\n!**/*v\n!.[n]pmrc\n!?netrc\n"),
        // What is named is excluded again.
        Some("!.env\n.env\n"),
        // What only begins like a name.
        Some("!x.pem/../**\n![x.pem/]*\n!\\.env\n!sub/[.]env\n"),
    ] {
        let mut env = TestEnv::project().file("agent.json", VALID).file("sub/kept.txt", "kept");
        for path in CREDENTIALS {
            env = env.file(path, SECRET);
        }
        if let Some(ignore) = ignore {
            env = env.file(".dockerignore", ignore);
        }
        let context = context(&env);
        assert!(context.iter().any(|(path, _)| path == "sub/kept.txt"), "{ignore:?}: {context:?}");
        let leaked: Vec<&String> =
            context.iter().filter(|(_, content)| content.contains(SECRET)).map(|(path, _)| path).collect();
        assert!(leaked.is_empty(), "{ignore:?}: {leaked:?}");
    }
}

#[test]
fn credentials_that_are_named_are_in_the_image_and_validate_says_so() {
    for (line, path) in [
        ("!.env", ".env"),
        ("! ./sub/.env", "sub/.env"),
        ("!**/*.pem", "key.pem"),
        ("!/certs/server.key", "certs/server.key"),
        ("!.git", ".git/config"),
    ] {
        let mut env = TestEnv::project().file(".dockerignore", format!("*.log\n{line}\n"));
        for path in CREDENTIALS {
            env = env.file(path, SECRET);
        }
        let found = context(&env);
        assert!(found.iter().any(|(it, _)| it == path), "{line}: {found:?}");
        let output = env.run("validate");
        assert!(output.out.contains("[credentials-in-image]") && output.out.contains(line), "{}", output.out);
    }
    let env = TestEnv::project().file(".dockerignore", "!.env.example\n").file(".env.example", "A=\n");
    assert!(context(&env).iter().any(|(path, _)| path == ".env.example"));
    assert!(!env.run("validate").out.contains("credentials-in-image"));
}

/// Files with values of `env` that agentcli writes, under any name, and what a killed run leaves of them.
#[test]
fn generated_files_with_values_are_private_and_in_no_image() {
    let config = VALID.replace("\"graphs\"", &format!("\"env\": {{\"TOKEN\": \"{SECRET}\"}}, \"graphs\""));
    let env = TestEnv::project().file("agent.json", &config).file("c.txt", "old\n");
    fs::set_permissions(env.path("c.txt"), fs::Permissions::from_mode(0o644)).unwrap();
    let written = ["c.yaml", "sub/other", "c.txt"];
    fs::create_dir(env.path("sub")).unwrap();
    for name in written {
        assert_eq!(env.run(&format!("compose {name} --force")).code, 0);
    }
    assert_eq!(env.run("manifests k8s.yaml --image r.example/a:1 --with-secrets").code, 0);
    for name in written.iter().chain(&["k8s.yaml"]) {
        let mode = env.path(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
        assert!(fs::read_to_string(env.path(name)).unwrap().contains(SECRET), "{name}");
    }
    // Copies, leftovers of a kill, one with a line before it, and a hard link.
    let text = fs::read_to_string(env.path("c.yaml")).unwrap();
    let env = env
        .file(".c.yaml.Ab3xYz.tmp", &text)
        .file("copy.yaml.bak", &text)
        .file("edited.yaml", format!("# mine\n{text}"));
    fs::hard_link(env.path("c.yaml"), env.path("sub/linked")).unwrap();
    let leaked: Vec<String> =
        context(&env).into_iter().filter(|(_, text)| text.contains(SECRET)).map(|(path, _)| path).collect();
    assert!(leaked.is_empty(), "{leaked:?}");
    // The next run removes what the killed one left, and nothing that only looks like it.
    let env =
        env.file(".c.yaml.tmp", "mine").file(".other.Ab3xYz.tmp", "mine").file(".c.yaml.a-3xYz.tmp", "mine");
    assert_eq!(env.run("compose c.yaml").code, 0);
    assert!(!env.path(".c.yaml.Ab3xYz.tmp").exists());
    for kept in [".c.yaml.tmp", ".other.Ab3xYz.tmp", ".c.yaml.a-3xYz.tmp"] {
        assert!(env.path(kept).exists(), "{kept}");
    }
    // Without values, they are files as any other.
    let plain = TestEnv::project();
    assert_eq!(plain.run("compose c.yaml").code, 0);
    assert_ne!(plain.path("c.yaml").metadata().unwrap().permissions().mode() & 0o044, 0);
    assert!(context(&plain).iter().any(|(path, _)| path == "c.yaml"));
}

#[test]
fn copies_of_a_configuration_with_values_are_told() {
    let config = VALID.replace("\"graphs\"", &format!("\"env\": {{\"TOKEN\": \"{SECRET}\"}}, \"graphs\""));
    for name in ["agent.prod.json", "agent.json.bak", "deploy/other.json", ".agent.json.swp"] {
        let env = TestEnv::project().file(name, &config);
        let output = env.run("plan --json");
        let note = format!("`{name}` is copied into the image with its values of `env`");
        assert!(output.out.contains(&note) && !(output.out + &output.err).contains(SECRET), "{name}");
    }
    for (name, text) in
        [("other.json", VALID), ("launch.json", r#"{"env": {"A": "b"}}"#), ("copy.txt", &config)]
    {
        let output = TestEnv::project().file(name, text).run("plan --json");
        assert!(!output.out.contains("is copied into the image"), "{name}: {}", output.out);
    }
}

/// What `up` writes for docker compose, where the project has links in its place.
#[test]
fn nothing_of_up_is_written_through_a_link() {
    for (link, target) in [
        (".agentcli", "../victim"),
        (".agentcli", "../victim/none"),
        (".agentcli/compose.yaml", "../../victim/.env"),
        (".agentcli/compose.yaml", "../../victim/none"),
        (".agentcli/compose.yaml", "linked"),
        (".agentcli/.gitignore", "../../victim/none"),
    ] {
        let env = TestEnv::empty()
            .file("project/agent.json", VALID)
            .file("project/agent.py", "graph = object()\n")
            .file("project/compose.yaml", "services: {}\n")
            .file("victim/.env", SECRET);
        if link.contains('/') {
            fs::create_dir(env.path("project/.agentcli")).unwrap();
            symlink("../../victim/.env", env.path("project/.agentcli/linked")).unwrap();
        }
        symlink(target, env.path("project").join(link)).unwrap();
        let path = env.path("project/.agentcli");
        let written = project::hidden_directory(&path);
        let written = written.map(|()| project::write_hidden(&path.join("compose.yaml"), b"services: {}\n"));
        assert_eq!(written.is_err(), link == ".agentcli", "{link} {target}: {written:?}");
        if let Ok(written) = written {
            written.unwrap();
            let file = path.join("compose.yaml");
            assert!(!file.is_symlink() && fs::read_to_string(file).unwrap() == "services: {}\n");
        }
        let names: Vec<_> =
            fs::read_dir(env.path("victim")).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(names, [".env"], "{link} {target}");
        assert_eq!(fs::read_to_string(env.path("victim/.env")).unwrap(), SECRET, "{link} {target}");
    }
}

/// A service that notes the requests that it gets.
fn listener() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(String::new()));
    let noted = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
            while let Ok(length) = stream.read(&mut part) {
                bytes.extend_from_slice(&part[..length]);
                if length == 0 {
                    break;
                }
            }
            noted.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes));
            stream
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .ok();
        }
    });
    (address, requests)
}

/// What `.env` of a project sends to the service that it names: nothing of the user's.
#[test]
fn a_project_does_not_send_the_users_environment_to_its_service() {
    for lines in [
        "PLATFORM_TENANT_ID=${STOLEN}",
        "X=${STOLEN}\nPLATFORM_TENANT_ID=id-${X:-y}",
        "PLATFORM_DEPLOYMENT_NAME=${STOLEN}",
        "PLATFORM_DEPLOYMENT_NAME='a-${NONE:-x}${STOLEN}'",
        "LANGSMITH_TENANT_ID=${STOLEN}",
        "PLATFORM_AGENT_ID=${STOLEN}\nPLATFORM_AGENT_ENVIRONMENT=production",
        "TOKEN=${STOLEN}",
        "AGENT_HOST_API_KEY=${STOLEN}",
        "AGENT_HOST_URL=${ADDRESS}/${STOLEN}",
    ] {
        let (address, requests) = listener();
        let config = VALID.replace("\"graphs\"", "\"env\": \".env\", \"graphs\"");
        let env = TestEnv::project()
            .file("agent.json", &config)
            .file(".env", format!("AGENT_HOST_URL={address}\nAGENT_HOST_API_KEY=any\n{lines}\n"))
            .variable("ADDRESS", &address)
            .variable("STOLEN", SECRET);
        for command in [
            "deploy list",
            "deploy logs",
            "deploy --remote",
            "deploy --remote --yes",
            "deploy --remote --dry-run",
            "deploy update 11111111-1111-4111-8111-111111111111 --secret STOLEN --yes",
            "invoke --deployment x {}",
            "manifests - --image r.example/a:1 --deployment x",
        ] {
            let output = env.run(command);
            assert!(!requests.lock().unwrap().contains(SECRET), "{lines}: {command}");
            assert!(!(output.out + &output.err).contains(SECRET), "{lines}: {command}");
            assert_ne!(output.code, 0, "{lines}: {command}");
        }
    }
}

#[test]
fn a_deployment_to_the_service_of_a_project_is_asked_for_by_name() {
    let (address, requests) = listener();
    let config = VALID.replace("\"graphs\"", "\"env\": \".env\", \"graphs\"");
    let env = TestEnv::project()
        .file("agent.json", &config)
        .file(".env", format!("AGENT_HOST_URL={address}\nAGENT_HOST_API_KEY=any\nTOKEN=own\n"));
    for command in ["deploy --remote", "deploy --remote --yes"] {
        let output = env.run(command);
        assert_eq!(output.code, 2, "{output:?}");
        let message = format!(
            "refusing to send the project with the secrets TOKEN to {address} (AGENT_HOST_URL in .env)"
        );
        assert!(output.err.contains(&message) && output.err.contains("--host-url"), "{}", output.err);
        assert_eq!(*requests.lock().unwrap(), "");
    }
    // A workspace of the user's is not for it, either.
    let env = env.variable("PLATFORM_TENANT_ID", SECRET);
    let output = env.run("deploy list");
    assert_eq!((output.code, &*requests.lock().unwrap().clone()), (2, ""), "{output:?}");
    assert!(output.err.contains("the workspace by PLATFORM_TENANT_ID in the environment"), "{}", output.err);
    assert_eq!(env.run(&format!("deploy list --host-url {address}")).code, 1);
    assert!(requests.lock().unwrap().contains("x-tenant-id: hunter2"));
}

/// Inputs that other programs take, and that would take a reader of ours much time.
#[test]
fn large_inputs_take_seconds_at_most() {
    let extras = |count: usize| format!("a[{}]\n", vec!["b"; count].join(","));
    let env_file = VALID.replace("\"graphs\"", "\"env\": \".env\", \"graphs\"");
    for (path, text, told) in [
        ("requirements.txt", extras(400_000), "extras of more than 8 KiB"),
        ("requirements.txt", format!("a[{}", "b,".repeat(400_000)), "missing `]`"),
        ("requirements.txt", format!("a{}\n", " >=1,".repeat(400_000)), ""),
        ("requirements.txt", format!("a; {}x", "(".repeat(400_000)), ""),
        (".dockerignore", "a".repeat(8 << 20), "more than 4096 bytes"),
        (".dockerignore", "**/*a*/?b\n".repeat(200_000), "patterns"),
        (".dockerignore", "*\n!a\n".repeat(100_000), "patterns"),
        (".dockerignore", format!("{}\n", "[a]".repeat(1 << 20)), "file-too-large"),
        (".dockerignore", format!("{}x\n", "**/".repeat(1000)), ""),
        (".env", "A=${A}${A}\n".repeat(300_000), "valid"),
        (".env", format!("A={}}}\n", "${B:x".repeat(1 << 19)), "valid"),
        (".env", format!("A=0123456789\n{}", "B=${A}${A}\nA=${B}${B}\n".repeat(100_000)), "valid"),
    ] {
        let env = TestEnv::project().file("agent.json", &env_file).file(".env", "A=1\n").file(path, &text);
        let start = Instant::now();
        let output = env.run("validate");
        let took = start.elapsed();
        let begins: String = text.chars().take(20).collect();
        let said = output.out + &output.err;
        assert!(said.contains(told), "{path} {begins}: {said}");
        assert!(took < Duration::from_secs(20), "{path} {begins}: {took:?}");
    }
}

/// What the report says in a job of GitHub, which takes a line that starts with `::` for a command.
#[test]
fn reports_contain_no_commands_for_the_runner() {
    for key in ["x\\n::error::y", "x\\r\\n::set-output name=a::b", "x\\u2028::warning::z\\n  ::error::y"] {
        let config = VALID.replace("\"graphs\"", &format!("\"{key}\": 1, \"graphs\""));
        let env = TestEnv::project().file("agent.json", config);
        for format in ["junit", "text", "gitlab", "json"] {
            let output = env.run(&format!("validate --format {format}"));
            let is_command = |line: &str| line.trim_start().starts_with("::");
            assert!(!output.out.lines().any(is_command), "{format}: {}", output.out);
        }
    }
}

#[test]
fn names_and_addresses_are_printed_without_escapes_and_passwords() {
    let env = TestEnv::empty();
    for name in ["\u{1b}[31m", "a\u{202e}b", "a\u{9b}0m"] {
        let output = env.run_with(&["new", name]);
        assert!(output.code == 0 && output.err.contains("wrote "), "{output:?}");
        assert!(!output.err.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{output:?}");
    }
    for host in ["tcp://u:hunter2@127.0.0.1:1", "tcp://:hunter2@127.0.0.1:1", "http://u:hunter2@127.0.0.1:1"]
    {
        let env = TestEnv::project().variable("DOCKER_HOST", host);
        for command in ["doctor build", "doctor build --json", "build -t a"] {
            let output = env.run(command);
            assert!(!(output.out + &output.err).contains(SECRET), "{host}: {command}");
        }
    }
}
