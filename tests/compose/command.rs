//! `agentcli compose`.

use std::fs;

use serde_json::json;

use super::{config, environment};
use crate::harness::{TestEnv, copy};
use crate::output::compose_file::{assert_valid, parsed};

const ENV_MAP: &str = r#"{
  "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" },
  "env": { "PLAIN": "x", "NASTY": "it's $HOME: ${X} #1 \"q\"\n\\", "PORT": "3000" }
}"#;

fn read(env: &TestEnv, file: &str) -> String {
    fs::read_to_string(env.path(file)).unwrap()
}

#[test]
fn it_writes_what_compose_takes() {
    let env = TestEnv::project();
    let run = env.run("compose compose.yaml --debugger-port 8124 --port 8125");
    assert_eq!((run.code, run.out.as_str()), (0, "docker compose up --wait\n"), "{}", run.err);
    assert_eq!(read(&env, "Dockerfile"), env.run("dockerfile -").out);
    assert!(env.path("Dockerfile.dockerignore").exists());
    assert_valid(&parsed(&read(&env, "compose.yaml")));
    let compose = config(&env.path(""), &[("LANGSMITH_API_KEY", "key $1")], "compose.yaml").unwrap();
    let services: Vec<&String> = compose["services"].as_object().unwrap().keys().collect();
    assert_eq!(services, ["langgraph-api", "langgraph-debugger", "langgraph-postgres", "langgraph-redis"]);
    assert_eq!(environment(&compose, "langgraph-api")["LANGSMITH_API_KEY"], "key $1");
    let server = &compose["services"]["langgraph-api"];
    assert_eq!(server["ports"][0]["published"], "8125");
    assert_eq!(server["ports"][0]["host_ip"], "127.0.0.1");
    assert_eq!(compose["services"]["langgraph-debugger"]["ports"][0]["host_ip"], "127.0.0.1");
    assert_eq!(server["depends_on"]["langgraph-postgres"]["condition"], "service_healthy");
    assert_eq!(compose["services"]["langgraph-postgres"]["ports"], json!(null));
    let url = &environment(&compose, "langgraph-debugger")["VITE_STUDIO_LOCAL_GRAPH_URL"];
    assert_eq!(url, "http://127.0.0.1:8125");
}

#[test]
fn the_file_is_the_same_wherever_it_is_written() {
    let env = TestEnv::project();
    let plain = env.run("compose -");
    assert!(plain.err.contains("agentcli dockerfile Dockerfile"), "{}", plain.err);
    let other = TestEnv::project().variable("PLATFORM_API_KEY", "secret").run("compose -");
    assert_eq!(plain.out, other.out);
    assert!(!plain.out.contains("\nname:"));
    assert!(env.run("compose - -P mine").out.contains("\nname: mine\n"));
    let bad = env.run("compose - -P Mine");
    assert_eq!(bad.code, 2, "{}", bad.err);
}

#[test]
fn what_is_there_is_checked_and_kept() {
    let env = TestEnv::project().file("compose.yaml", "services: {}\n");
    let refused = env.run("compose compose.yaml");
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(!env.path("Dockerfile").exists(), "nothing is written where one file is refused");
    assert_eq!(env.run("compose --check compose.yaml").code, 1);
    assert_eq!(env.run("compose --force compose.yaml").code, 0);
    assert_eq!(env.run("compose --check compose.yaml").code, 0);
    let stale = env.run("compose --check compose.yaml --port 9999");
    assert_eq!(stale.code, 1);
    assert!(stale.err.contains(":\n  +     ports: [\"127.0.0.1:9999:8000\"]"), "{}", stale.err);
    assert!(stale.err.contains("without --check"), "{}", stale.err);
}

#[test]
fn the_configuration_is_never_overwritten() {
    let env = TestEnv::project();
    let before = read(&env, "agent.json");
    std::os::unix::fs::symlink("agent.json", env.path("link")).unwrap();
    for command in ["dockerfile", "compose"] {
        for arguments in ["--force agent.json", "--force ./agent.json", "--force link", "agent.json"] {
            let run = env.run(&format!("{command} {arguments}"));
            assert_eq!(run.code, 2, "{command} {arguments}: {}", run.err);
            assert!(run.err.contains("is the configuration itself"), "{}", run.err);
        }
    }
    assert_eq!(read(&env, "agent.json"), before);
}

#[test]
fn what_is_printed_cannot_be_checked() {
    for command in ["dockerfile", "compose"] {
        let run = TestEnv::project().run(&format!("{command} --check -"));
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{}", run.err);
        assert!(run.err.contains("--check"), "{}", run.err);
    }
}

#[test]
fn a_database_of_the_users_own_stands_in_no_file() {
    let env = TestEnv::project();
    let run = env.run("compose compose.yaml --postgres-uri postgres://me:s3cret@db/x");
    assert_eq!(run.code, 0, "{}", run.err);
    let text = read(&env, "compose.yaml");
    assert!(!text.contains("s3cret") && !run.err.contains("s3cret") && !run.out.contains("s3cret"));
    let refused = config(&env.path(""), &[], "compose.yaml").unwrap_err();
    assert!(refused.contains("POSTGRES_URI"), "{refused}");
    let uri = "postgres://me:s3$cret@db/x";
    let compose = config(&env.path(""), &[("POSTGRES_URI", uri)], "compose.yaml").unwrap();
    let variables = environment(&compose, "langgraph-api");
    assert_eq!((variables["POSTGRES_URI"].as_str(), variables.get("DATABASE_URI")), (uri, None));
    assert_eq!(compose["services"]["langgraph-postgres"], json!(null));
    let bad = env.run("compose - --postgres-uri s3cret");
    assert!(bad.code == 2 && !bad.err.contains("s3cret"), "{}", bad.err);
}

#[test]
fn values_of_the_configuration_arrive_and_are_warned_of() {
    let env = TestEnv::project().file("agent.json", ENV_MAP);
    let run = env.run("compose compose.yaml");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("a .env file keeps secrets out of both"), "{}", run.err);
    assert!(run.err.contains("ignoring `PORT` of `env`"), "{}", run.err);
    let compose = config(&env.path(""), &[("X", "replaced")], "compose.yaml").unwrap();
    let variables = environment(&compose, "langgraph-api");
    assert_eq!(variables["NASTY"], "it's $HOME: ${X} #1 \"q\"\n\\");
    assert_eq!((variables["PLAIN"].as_str(), variables["PORT"].as_str()), ("x", "8000"));
}

#[test]
fn the_env_file_is_named() {
    let config_text = r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}, "env": "../.env"}"#;
    let env = TestEnv::empty()
        .file(".git/HEAD", "")
        .file("app/agent.json", config_text)
        .file("app/agent.py", "graph = object()\n")
        .file(".env", "LANGSMITH_API_KEY=mine\nPASSWORD=p$w0rd\n");
    let run = env.run("compose deploy.yml -c app/agent.json");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(!run.err.contains("w0rd"), "{}", run.err);
    let compose = config(&env.path(""), &[("LANGSMITH_API_KEY", "other")], "deploy.yml").unwrap();
    let variables = environment(&compose, "langgraph-api");
    assert_eq!(variables["LANGSMITH_API_KEY"], "mine", "what env says is not written over");
    assert!(!read(&env, "deploy.yml").contains("mine"));
    let build = &compose["services"]["langgraph-api"]["build"];
    assert_eq!(build["context"].as_str().unwrap(), env.path("app").canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn every_valid_project_has_a_compose_file_that_compose_takes() {
    for case in crate::output::goldens::cases() {
        let env = TestEnv::empty();
        copy(&case, &env.path(""));
        let at = crate::output::goldens::config_of(&case);
        let run = env.run(&format!("compose compose.yaml -c {}", at.display()));
        assert_eq!(run.code, 0, "{}: {}", case.display(), run.err);
        let taken = config(&env.path(""), &[], "compose.yaml");
        assert!(taken.is_ok(), "{}: {}", case.display(), taken.unwrap_err());
    }
}

#[test]
fn an_empty_key_is_none() {
    let plain = r#""dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}"#;
    let of =
        |config: &str| TestEnv::project().file("agent.json", config).file(".env", "LANGSMITH_API_KEY=\n");
    for env in [
        of(&format!(r#"{{ {plain}, "env": ".env" }}"#)),
        of(&format!(r#"{{ {plain}, "env": {{ "LANGSMITH_API_KEY": "" }} }}"#)),
    ] {
        let run = env.run("compose compose.yaml");
        assert_eq!(run.code, 0, "{}", run.err);
        let compose = config(&env.path(""), &[("LANGSMITH_API_KEY", "real")], "compose.yaml").unwrap();
        assert_eq!(environment(&compose, "langgraph-api")["LANGSMITH_API_KEY"], "real");
    }
}

#[test]
fn the_note_of_a_database_says_what_the_command_line_says() {
    let config = r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}, "env": {"POSTGRES_URI": "postgres://x"}}"#;
    let env = TestEnv::project().file("agent.json", config);
    let own = env.run("compose -").err;
    assert!(own.contains("the setup has its own database; use --postgres-uri"), "{own}");
    let named = env.run("compose - --postgres-uri postgres://me@db/x").err;
    assert!(named.contains("--postgres-uri takes precedence"), "{named}");
}

#[test]
fn what_is_no_image_is_not_run() {
    let env = TestEnv::project();
    for image in ["UPPER:x,y", "$X", "a|b"] {
        let run = env.run(&format!("compose - --image {image}"));
        assert_eq!(run.code, 2, "{image}: {}", run.err);
    }
    let upper = env.run("build -t Agent:V1");
    assert_eq!(upper.code, 2);
    let message = "invalid value 'Agent:V1' for '--tag <TAG>': the repository must be lowercase";
    assert!(upper.err.contains(message), "{}", upper.err);
    assert_eq!(env.run("compose - --image registry.example/a:1").code, 0);
}

#[test]
fn a_server_waits_for_the_end_of_its_migrations() {
    let env = TestEnv::project();
    let run = env.run("compose compose.yaml --server pg");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_valid(&parsed(&read(&env, "compose.yaml")));
    let compose = config(&env.path(""), &[], "compose.yaml").unwrap();
    let services = &compose["services"];
    let condition = |service: &str, other: &str| services[service]["depends_on"][other]["condition"].clone();
    assert_eq!(condition("langgraph-api", "langgraph-migrations"), "service_completed_successfully");
    assert_eq!(condition("langgraph-migrations", "langgraph-postgres"), "service_healthy");
    assert_eq!(services["langgraph-migrations"]["healthcheck"], json!({ "disable": true }));
    assert_eq!(environment(&compose, "langgraph-api").get("LANGSMITH_API_KEY"), None);

    let run = env.run("compose alone.yaml --server memory");
    assert_eq!(run.code, 0, "{}", run.err);
    let compose = config(&env.path(""), &[], "alone.yaml").unwrap();
    assert_eq!(compose["services"].as_object().unwrap().keys().collect::<Vec<_>>(), ["langgraph-api"]);
    assert_eq!(compose["services"]["langgraph-api"]["volumes"][0]["target"], "/data");
}

#[test]
fn values_of_env_are_not_shown_by_check() {
    let env = TestEnv::project().file("agent.json", ENV_MAP);
    assert_eq!(env.run("compose compose.yaml").code, 0);
    let text = read(&env, "compose.yaml");
    std::fs::write(env.path("compose.yaml"), text.replace("PLAIN: x", "PLAIN: y")).unwrap();
    let stale = env.run("compose --check compose.yaml");
    assert_eq!(stale.code, 1);
    assert!(stale.err.contains("is out of date at line ") && !stale.err.contains("PLAIN"), "{}", stale.err);
}

#[test]
fn a_person_can_read_it() {
    let env = TestEnv::project().file(".env", "A=1\n");
    let config = read(&env, "agent.json").replacen('{', r#"{"env": ".env", "#, 1);
    fs::write(env.path("agent.json"), config).unwrap();
    for (server, most) in [("licensed", 30), ("memory", 30), ("pg", 55)] {
        let text = env.run(&format!("compose - --server {server}")).out;
        assert!(text.lines().count() <= most, "{text}");
        for once in ["/postgres?sslmode=disable", "redis://", "env_file: .env", "cap_drop: [ALL]"] {
            assert!(text.matches(once).count() <= 1, "{once}: {text}");
        }
        assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
    }
}

#[test]
fn each_file_builds_a_dockerfile_of_its_own() {
    let env = TestEnv::project().file("Dockerfile", "FROM scratch\n");
    let refused = env.run("compose compose.yaml");
    assert!(
        refused.code == 2 && refused.err.contains("`Dockerfile` is there and was not written"),
        "{}",
        refused.err
    );
    let other = env.run("compose deploy.yaml --server memory");
    assert_eq!(other.code, 0, "{}", other.err);
    assert_eq!(read(&env, "Dockerfile"), "FROM scratch\n");
    assert!(read(&env, "deploy.yaml").contains("build: {context: ., dockerfile: ./deploy.Dockerfile}\n"));
    assert!(read(&env, "deploy.yaml").contains("Start: docker compose -f deploy.yaml up --wait."));
    assert!(env.path("deploy.Dockerfile").exists());
}
