//! Builds whose sources the engine decides about, whatever the Dockerfile says.

use std::fs;
use std::net::TcpListener;

use agentcli::engine::{BuildRequest, Engine, Settings};
use tempfile::TempDir;

use super::{BASE, build, docker, env, fresh, hosts, request, try_docker, wait};

/// Engines that decide: those whose API has version 1.43 or later, as Docker has since version 24.
fn deciding() -> Vec<String> {
    let decides = |host: &String| {
        wait(async { Engine::connect(&env(host)).await.unwrap().has_source_policies().await.unwrap() })
    };
    let found: Vec<String> = hosts().into_iter().filter(decides).collect();
    assert!(!found.is_empty(), "no engine of AGENTCLI_TEST_ENGINES has source policies");
    for host in hosts() {
        let version = docker(&host, &["version", "-f", "{{.Server.Version}}"]);
        let major: u32 = version.split('.').next().unwrap().parse().unwrap();
        assert_eq!(found.contains(&host), major >= 24, "{host}: {version}");
    }
    found
}

fn confined(root: &TempDir, dockerfile: &str) -> BuildRequest {
    let settings = Settings { sources: Some(vec![BASE.to_owned()]), ..Settings::default() };
    BuildRequest { settings, images: vec![BASE.to_owned()], ..request(root.path(), dockerfile) }
}

#[test]
fn a_build_of_its_own_sources_goes_on() {
    for host in deciding() {
        let root = TempDir::new().unwrap();
        let tag = format!("agentcli-test/sources:{}", fresh());
        fs::write(root.path().join("file"), &tag).unwrap();
        fs::write(root.path().join("large"), vec![b'x'; 5 << 20]).unwrap();
        let dockerfile = format!(
            "FROM {BASE} AS one\nARG A\nRUN echo \"$A é\" > /a\nFROM {BASE}\nCOPY --from=one /a /a\n\
             COPY file large /sent/\nRUN --mount=type=cache,target=/c --mount=from=one,target=/o cat /o/a && echo said\n"
        );
        let mut request = confined(&root, &dockerfile);
        request.tags = vec![tag.clone(), format!("{tag}-two")];
        request.settings.arguments.insert("A".to_owned(), "argument".to_owned());
        request.settings.labels.insert("l".to_owned(), "label".to_owned());
        let (built, events) = build(&host, request);
        let built = built.unwrap_or_else(|error| panic!("{host}: {error}\n{events:?}"));
        let inspect = |name: &str, format: &str| docker(&host, &["image", "inspect", "-f", format, name]);
        assert_eq!(inspect(&tag, "{{.Id}}").trim(), built.id, "{host}");
        assert_eq!(inspect(&format!("{tag}-two"), "{{.Config.Labels.l}}").trim(), "label", "{host}");
        let seen = docker(&host, &["run", "--rm", "--entrypoint", "cat", &tag, "/a", "/sent/file"]);
        assert_eq!(seen, format!("argument é\n{tag}"), "{host}");
        assert!(format!("{events:?}").contains("said"), "{host}: {events:?}");
        for name in [&tag, &format!("{tag}-two")] {
            docker(&host, &["rmi", "-f", name]);
        }
    }
}

#[test]
fn a_failed_step_and_a_lost_context_have_their_reasons() {
    for host in deciding() {
        let root = TempDir::new().unwrap();
        let error =
            build(&host, confined(&root, &format!("FROM {BASE}\nRUN echo why && exit 7\n"))).0.unwrap_err();
        assert!(error.to_string().contains("exit 7"), "{host}: {error}");
        let error = build(&host, confined(&root, &format!("FROM {BASE}\nCOPY missing /x\n"))).0.unwrap_err();
        assert!(error.to_string().contains("missing"), "{host}: {error}");
    }
}

/// Instructions that name an image of others, or a URL, for BuildKit but not for every reader of the text.
#[test]
fn all_other_sources_are_denied() {
    for host in deciding() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let other = format!("operator-{}.invalid/secret:1", fresh());
        docker(&host, &["tag", BASE, &other]);
        let id = docker(&host, &["image", "inspect", "-f", "{{.Id}}", &other]);
        let rows = [
            format!("COPY --from={other} /etc/hostname /x"),
            format!("COPY --from={} /etc/hostname /x", &id.trim_start_matches("sha256:")[..12]),
            format!(
                "RUN --mount=type=tmpfs,target=/tmp/à--mount=from={other},type=bind,target=/x cat /x/etc/hostname"
            ),
            format!("RUN --mount=target=/x\u{2003}y,from={other},type=bind cat /x*/etc/hostname"),
            format!("RUN --mount=type=bind,\"from={other}\",target=/x cat /x/etc/hostname"),
            format!("FROM {other}"),
            format!("ADD --chown=à{url}/latest /m"),
            format!("ADD {url}/latest /m"),
            format!("ADD --checksum=sha256:{} {url}/latest /m", "0".repeat(64)),
            format!("ADD {}/a.git /m", url.replace("http", "git")),
            format!("ADD {url}/a.git /m"),
            format!("ADD [\"{url}/latest\", \"/m\"]"),
            "ADD http://buildkit-session/other /m".to_owned(),
            "RUN --network=host cat /etc/hostname".to_owned(),
            "RUN --security=insecure cat /etc/hostname".to_owned(),
            "RUN --mount=target=/x\u{a0}--network=host cat /etc/hostname".to_owned(),
        ];
        for row in &rows {
            let root = TempDir::new().unwrap();
            let dockerfile = format!("FROM {BASE}\n{row}\nRUN echo reached {}; exit 7\n", fresh());
            let (built, events) = build(&host, confined(&root, &dockerfile));
            let error = built.expect_err(row).to_string();
            let denials = ["denied by policy", "due to policy", "is not allowed", "unknown flag: security"];
            let is_denied = denials.iter().any(|denial| error.contains(denial));
            assert!(is_denied, "{host}: {row}: {error}\n{events:?}");
        }
        assert!(listener.accept().is_err(), "{host}: the engine fetched a URL");
        try_docker(&host, &["rmi", &other]).ok();
    }
}
