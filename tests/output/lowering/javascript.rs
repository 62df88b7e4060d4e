//! Package managers of JavaScript, and what they install.

use agentcli::compiler::Options;
use agentcli::compiler::back::emit::dockerfile::dockerfile;
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::tree::Tree;

use super::{JS_GRAPHS, Nested, TYPESCRIPT, has, has_not, in_order, javascript, plan_with};

#[test]
fn javascript_package_managers() {
    for (files, install) in [
        (&[("package-lock.json", "")][..], "npm ci"),
        (&[("npm-shrinkwrap.json", "")], "npm ci"),
        (&[], "npm i"),
        (&[("yarn.lock", "")], "yarn install --frozen-lockfile"),
        (&[("pnpm-lock.yaml", "")], "pnpm i --frozen-lockfile"),
        (&[("bun.lockb", "")], "bun i"),
        (&[("bun.lock", "")], "bun i"),
    ] {
        let files: Vec<_> = files.iter().copied().chain([("package.json", "{}")]).collect();
        let plan = javascript("", &files);
        for (name, _) in files {
            in_order(&plan, &format!("copy {name}\n"), &format!(" {install}"));
        }
        in_order(&plan, install, "source");
    }
    for (manifest, install) in [
        (r#"{"packageManager": "pnpm@10.0.0"}"#, " pnpm i"),
        (r#"{"packageManager": "yarn@1.22.22+sha1.abc"}"#, " yarn install"),
        (r#"{"packageManager": "bun@1.2"}"#, " bun i"),
        (r#"{"packageManager": "unknown@1"}"#, " npm i"),
        (r#"{"devEngines": {"packageManager": {"name": "pnpm"}}}"#, " pnpm i"),
        ("\u{feff}{\"packageManager\": \"pnpm@9\"}", " pnpm i"),
    ] {
        has(&javascript("", &[("package.json", manifest)]), install);
    }
    // A lock file takes precedence over `packageManager`.
    has(
        &javascript("", &[("package.json", r#"{"packageManager": "yarn@4"}"#), ("package-lock.json", "")]),
        " npm ci",
    );
}

/// `dev` changes no file of the user's. Yarn 2 and later write a lock file, and refuse `--no-lockfile`.
#[test]
fn javascript_package_managers_of_dev() {
    for (manager, file, install, package) in [
        ("yarn@1.22.22", None, "yarn install --no-lockfile", "yarn@1.22.22"),
        ("yarn@4.9.1+sha224.abc", None, "npm install --no-package-lock --no-save", "@yarnpkg/cli-dist@4.9.1"),
        ("yarn", Some(".yarnrc.yml"), "npm install --no-package-lock --no-save", "@yarnpkg/cli-dist@4"),
        (
            "yarn@4.9.1",
            Some("yarn.lock"),
            "npx --yes @yarnpkg/cli-dist@4.9.1 install --immutable",
            "@yarnpkg/cli-dist@4.9.1",
        ),
        ("pnpm@10.0.0", None, "pnpm install --no-lockfile", "pnpm@10.0.0"),
        ("pnpm@1;rm", None, "pnpm install --no-lockfile", "pnpm@10"),
        ("npm@10", Some("bun.lock"), "bun install --frozen-lockfile", "bun@1"),
    ] {
        let manifest = format!(r#"{{"packageManager": "{manager}", "dependencies": {{"a": "1"}}}}"#);
        let files: Vec<_> =
            [("package.json", manifest.as_str())].into_iter().chain(file.map(|file| (file, ""))).collect();
        let project = javascript("", &files).local.javascript.unwrap().project.unwrap();
        assert!(project.install.join(" ").starts_with(install), "{manager}: {:?}", project.install);
        assert_eq!(project.package, package, "{manager}");
    }
}

#[test]
fn javascript_packages_that_need_their_source() {
    for (manifest, file) in [
        (r#"{"scripts": {"postinstall": "node build.js"}}"#, None),
        (r#"{"scripts": {"prepare": "husky && npm run build"}}"#, None),
        (r#"{"dependencies": {"a": "file:../a"}}"#, None),
        (r#"{"dependencies": {"a": "vendor/a.tgz"}}"#, None),
        (r#"{"optionalDependencies": {"a": "/opt/a"}}"#, None),
        (r#"{"overrides": {"b": {"a": "file:./vendor/a"}}}"#, None),
        (r#"{"pnpm": {"overrides": {"a": "link:./vendor/a"}}}"#, None),
        ("{}", Some((".pnpmfile.cjs", ""))),
        ("{}", Some(("pnpm-workspace.yaml", "overrides: {a: 'link:./vendor/a'}"))),
    ] {
        let files: Vec<_> = [("package.json", manifest)].into_iter().chain(file).collect();
        let plan = javascript("", &files);
        assert_eq!(plan.notes.len(), 1, "{manifest}: {:?}", plan.notes);
        in_order(&plan, "source", " i");
    }
    let plain = r#"{"scripts": {"build": "tsc", "test": "x"}, "dependencies": {"a": "^1", "b": "npm:c@2", "d": "git+ssh://x", "e": "f/g", "h": "https://host/h.tgz"}, "overrides": {"a": {"b": "1", ".": "2"}, "c": "$c"}, "resolutions": {"**/a": "1"}}"#;
    let plan = javascript("", &[("package.json", plain)]);
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    in_order(&plan, "npm i", "source");
}

#[test]
fn javascript_commands_of_the_user() {
    let files = Tree::new(MemoryFiles::new([TYPESCRIPT, ("package.json", "{}")]));
    let options = |install: Option<&str>, build: Option<&str>, called_from: &str| Options {
        install_command: install.map(str::to_owned),
        build_command: build.map(str::to_owned),
        called_from: called_from.to_owned(),
        ..Options::default()
    };
    let plan =
        plan_with(JS_GRAPHS, &files, &options(Some("make 'a  b' && echo $X"), Some("[ -f x ] || true"), "."));
    assert!(dockerfile(&plan).contains("\nRUN make 'a  b' && echo $X\n"));
    assert!(dockerfile(&plan).contains("\nRUN sh -c '[ -f x ] || true'\n"), "{}", dockerfile(&plan));
    has_not(&plan, "npm i");
    in_order(&plan, "source", ": make");
    in_order(&plan, ": make", ": [ -f x ]");
    let secret = Tree::new(MemoryFiles::new([
        TYPESCRIPT,
        ("package.json", "{}"),
        (".npmrc", "//npm.example/:_authToken=abc"),
    ]));
    let plan = plan_with(JS_GRAPHS, &secret, &options(Some("make"), Some("npm run build"), "."));
    for command in ["make", "npm run build"] {
        let text = format!(
            "RUN --mount=type=bind,from=secrets,source=/.npmrc,target=/root/.npmrc \\\n    {command}\n"
        );
        assert!(dockerfile(&plan).contains(&text), "{}", dockerfile(&plan));
    }
    has(&plan, "secret .npmrc\n");
    // From the root of the repository: the installation runs there, everything else in the project.
    let nested = Tree::new(Nested(MemoryFiles::new([
        ("apps/agent/graph.ts", TYPESCRIPT.1),
        ("apps/agent/package.json", "{}"),
    ])));
    let plan =
        plan_with(JS_GRAPHS, &nested, &options(Some("npm ci --workspaces"), Some("npm run build"), "../.."));
    assert_eq!((plan.context.root.as_str(), plan.context.project.as_str()), ("../..", "apps/agent"));
    assert_eq!(plan.context.include, ["."]);
    in_order(&plan, "source\nnpm /deps/app: npm ci --workspaces", "npm /deps/app/apps/agent: npm run build");
}
