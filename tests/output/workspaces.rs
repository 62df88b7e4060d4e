//! JavaScript workspaces: the members, and what the image and `dev` make of them.

use agentcli::compiler::Options;
use agentcli::compiler::analyze;
use agentcli::compiler::back::emit::dockerfile::dockerfile;
use agentcli::compiler::back::plan::Plan;
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::tree::Tree;

use super::lowering::{Nested, has, has_not, in_order, plan_with, sees};

const GRAPHS: &str = r#""graphs": {"agent": "./graph.ts:graph"}, "node_version": "20""#;
const GRAPH: (&str, &str) = ("apps/agent/graph.ts", "export const graph = {};");
const AGENT: (&str, &str) =
    ("apps/agent/package.json", r#"{"name": "agent", "dependencies": {"shared": "*"}}"#);
const SHARED: (&str, &str) = ("packages/shared/package.json", r#"{"name": "shared"}"#);

/// The plan of `apps/agent` in a repository of these files.
fn plan(files: &[(&str, &str)]) -> Plan {
    let files = files.iter().copied().chain([GRAPH]);
    plan_with(GRAPHS, &Tree::new(Nested(MemoryFiles::new(files))), &Options::default())
}

/// The plan of a workspace with this package.json and file at its root.
fn workspace(manifest: &str, file: (&str, &str)) -> Plan {
    plan(&[("package.json", manifest), file, AGENT, SHARED])
}

fn is_member(plan: &Plan) -> bool {
    plan.local.javascript.as_ref().unwrap().project.as_ref().unwrap().root == "../.."
}

const NPM: &str = r#"{"workspaces": ["apps/*", "packages/*"]}"#;
/// One that names a package, and is the root of no workspace.
const NAMED: &str = r#"{"dependencies": {"@langchain/langgraph": "1.1.0"}}"#;
const NPM_CI: &str = "npm ci --workspace apps/agent --include-workspace-root";
const PNPM_I: &str = "pnpm i --frozen-lockfile --filter '{.}' --filter agent...";
const PNPM: &str = "packages: ['apps/*', 'packages/*']";

#[test]
fn the_lock_file_of_the_root_is_installed() {
    for (manifest, lock, settings, install, here) in [
        (NPM, "package-lock.json", None, NPM_CI, "npm ci --no-audit --no-fund"),
        (NPM, "yarn.lock", None, "yarn install --frozen-lockfile", "yarn install --frozen-lockfile"),
        (NPM, "bun.lock", None, "bun i --frozen-lockfile", "bun install --frozen-lockfile"),
        ("{}", "pnpm-lock.yaml", Some(PNPM), PNPM_I, "pnpm install --frozen-lockfile"),
        (NPM, "none", None, "npm i", "npm install --no-package-lock --no-save --no-audit --no-fund"),
    ] {
        let settings = settings.map(|text| ("pnpm-workspace.yaml", text));
        let files = [("package.json", manifest), (lock, "{}"), AGENT, SHARED];
        let plan = plan(&files.into_iter().chain(settings).collect::<Vec<_>>());
        assert_eq!((plan.context.root.as_str(), plan.context.project.as_str()), ("../..", "apps/agent"));
        assert_eq!(plan.server.directory, "/deps/app/apps/agent");
        assert_eq!(plan.context.include, ["."]);
        has(&plan, "copy package.json");
        has(&plan, "copy apps/agent/package.json\n");
        has(&plan, "copy packages/shared/package.json\n");
        in_order(&plan, &format!(" {install}"), "source");
        has(&plan, "npm /deps/app: ");
        let project = plan.local.javascript.unwrap().project.unwrap();
        assert_eq!((project.root.as_str(), project.install.join(" ").as_str()), ("../..", here));
        for file in ["../../package.json", "package.json", "../../packages/shared/package.json"] {
            assert!(plan.local.watch.files.iter().any(|watched| watched == file), "{file}");
        }
    }
}

#[test]
fn patterns_select_the_members() {
    for (patterns, is_expected) in [
        (r#"["apps/agent"]"#, true),
        (r#"["./apps/*/"]"#, true),
        (r#"["apps/**"]"#, true),
        (r#"["**"]"#, true),
        (r#"["{apps,packages}/*"]"#, true),
        (r#"{"packages": ["apps/*"], "nohoist": []}"#, true),
        (r#"["!packages/*", "apps/*"]"#, true),
        (r#"["apps/*", "!apps/agent"]"#, false),
        (r#"["apps/*", "!**/agent"]"#, false),
        (r#"["*"]"#, false),
        (r#"["apps/*/*"]"#, false),
        (r#"["packages/*"]"#, false),
        ("[]", false),
        (r#""apps/*""#, false),
    ] {
        let manifest = format!(r#"{{"workspaces": {patterns}}}"#);
        assert_eq!(is_member(&workspace(&manifest, ("yarn.lock", ""))), is_expected, "{patterns}");
    }
    // Only pnpm reads its own list, and it reads no other.
    let lists = ("pnpm-workspace.yaml", PNPM);
    assert!(is_member(&workspace("{}", lists)));
    assert!(!is_member(&workspace(r#"{"packageManager": "npm@10"}"#, lists)));
    let pnpm = r#"{"packageManager": "pnpm@10", "workspaces": ["apps/*"]}"#;
    assert!(!is_member(&workspace(pnpm, ("pnpm-workspace.yaml", "packages: ['packages/*']"))));
}

#[test]
fn a_directory_that_no_pattern_matches_is_installed_alone() {
    let plan = workspace(r#"{"workspaces": ["packages/*"]}"#, ("package-lock.json", "{}"));
    assert_eq!(plan.context.root, ".");
    has(&plan, "copy package.json\nnpm /deps/app: npm i");
    has_not(&plan, "packages/shared");
}

#[test]
fn the_innermost_workspace_counts() {
    let inner = r#"{"workspaces": ["tools/*"], "packageManager": "yarn@1.22.22"}"#;
    let files = [("package.json", NPM), ("package-lock.json", "{}"), ("apps/agent/package.json", inner)];
    let tool = ("apps/agent/tools/a/package.json", "{}");
    let plan =
        plan(&[&files[..], &[tool, ("apps/agent/tools/a/node_modules/b/package.json", "{}")]].concat());
    assert_eq!(plan.context.root, ".");
    has(&plan, "copy tools/a/package.json\n");
    has_not(&plan, "node_modules");
    has(&plan, "yarn install");
    in_order(&plan, "yarn install", "source");
}

#[test]
fn a_workspace_has_the_packages_that_are_required_of_it() {
    let own = ("apps/agent/package.json", r#"{"dependencies": {"shared": "workspace:*"}}"#);
    let files =
        [("pnpm-workspace.yaml", "packages: ['apps/*', 'packages/*']"), ("package.json", "{}"), own, SHARED];
    let inner = [("apps/package.json", "{}"), ("apps/pnpm-workspace.yaml", "packages: ['*']")];
    let outer = plan(&[&files[..], &inner].concat());
    assert_eq!(outer.context.root, "../..");
    has(&outer, "copy packages/shared/package.json");
}

#[test]
fn settings_patches_and_releases_are_there_before_the_installation() {
    let manifest = r#"{"workspaces": ["apps/*"], "packageManager": "yarn@4.9.1",
        "resolutions": {"a": "patch:a@npm%3A1#~/patches/a.patch", "b": "patch:b@1#./.yarn/patches/b.patch"}}"#;
    let files = [
        (".yarnrc.yml", "yarnPath: .yarn/releases/yarn-4.9.1.cjs"),
        (".yarn/releases/yarn-4.9.1.cjs", ""),
        (".yarn/plugins/@yarnpkg/plugin-a.cjs", ""),
        (".yarn/patches/b.patch", ""),
        (".yarn/cache/a.zip", ""),
        ("patches/a.patch", ""),
        ("package.json", manifest),
        ("yarn.lock", ""),
        ("apps/agent/.npmrc", "save-exact=true"),
        AGENT,
    ];
    let yarn = plan(&files);
    has(&yarn, "copy package.json\n");
    has(&yarn, "copy yarn.lock\n");
    has(&yarn, "copy .yarnrc.yml\n");
    has(&yarn, "copy patches/a.patch\n");
    has(&yarn, "copy apps/agent/package.json\n");
    has(&yarn, "copy apps/agent/.npmrc\n");
    has(&yarn, "copy .yarn/releases/yarn-4.9.1.cjs\n");
    has(&yarn, "copy .yarn/plugins/@yarnpkg/plugin-a.cjs\n");
    has(&yarn, "copy .yarn/patches/b.patch\n");
    has_not(&yarn, "a.zip");
    in_order(&yarn, ".yarn/patches/b.patch", "YARN_NODE_LINKER=node-modules yarn workspaces focus agent");
    assert!(yarn.notes.is_empty(), "{:?}", yarn.notes);

    let settings = format!("{PNPM}\npatchedDependencies:\n  c@1.0.0: patches/c.patch\n");
    let old = r#"{"pnpm": {"patchedDependencies": {"d@1": "patches/d.patch"}}}"#;
    let patches = [("patches/c.patch", ""), ("patches/d.patch", "")];
    let pnpm = [("package.json", old), ("pnpm-workspace.yaml", settings.as_str()), AGENT, SHARED];
    let pnpm = plan(&[&pnpm[..], &patches].concat());
    has(&pnpm, "copy patches/d.patch\n");
    has(&pnpm, "copy patches/c.patch\n");
    in_order(&pnpm, "patches/d.patch", "pnpm i");
}

#[test]
fn a_member_that_needs_its_source_makes_all_wait() {
    let built = ("packages/shared/package.json", r#"{"name": "shared", "scripts": {"prepare": "tsc"}}"#);
    let late = plan(&[("package.json", NPM), AGENT, built]);
    in_order(&late, "source", "npm /deps/app: ");
    assert_eq!(
        late.notes[0].message,
        "each edit of the source installs the JavaScript packages again: ../../packages/shared/package.json \
         runs `prepare` during the installation"
    );
    // The manifest of a member is there, whichever way it is required.
    let linked = ("apps/agent/package.json", r#"{"dependencies": {"shared": "file:../../packages/shared"}}"#);
    let early = plan(&[("package.json", NPM), linked, SHARED]);
    assert!(early.notes.is_empty(), "{:?}", early.notes);
    let root = r#"{"workspaces": ["apps/*", "packages/*"], "scripts": {"prepare": "husky install || true"}}"#;
    assert!(plan(&[("package.json", root), AGENT, SHARED]).notes.is_empty());
}

/// What the package does not need neither makes it wait nor is installed; what others hoist may be imported.
#[test]
fn only_what_the_package_needs_is_installed() {
    const FOCUS: &str = " workspaces focus agent root";
    let built = ("packages/other/package.json", r#"{"name": "other", "scripts": {"prepare": "tsc"}}"#);
    let pnpm = ("pnpm-lock.yaml", "{}");
    let yarn = |version: &str| {
        format!(
            r#"{{"name": "root", "workspaces": ["apps/*", "packages/*"], "packageManager": "yarn@{version}"}}"#
        )
    };
    let (third, fourth) = (yarn("3.8.0"), yarn("4.9.1"));
    for (manifest, file, more, command, waits) in [
        (NPM, ("package-lock.json", "{}"), ("x", ""), NPM_CI, false),
        ("{}", pnpm, ("pnpm-workspace.yaml", PNPM), PNPM_I, false),
        (&fourth, ("yarn.lock", ""), ("x", ""), FOCUS, false),
        (&third, ("yarn.lock", ""), ("x", ""), " install --immutable", true),
        (
            "{}",
            pnpm,
            ("pnpm-workspace.yaml", &format!("{PNPM}\nnodeLinker: hoisted")),
            "pnpm i --frozen-lockfile\n",
            true,
        ),
        (NPM, ("yarn.lock", ""), ("x", ""), "yarn install --frozen-lockfile", true),
    ] {
        let plan = plan(&[("package.json", manifest), file, more, AGENT, SHARED, built]);
        has(&plan, command);
        assert_eq!(!plan.notes.is_empty(), waits, "{command}: {:?}", plan.notes);
    }
    let required = ("apps/agent/package.json", r#"{"name": "agent", "devDependencies": {"other": "*"}}"#);
    let plan = plan(&[("package.json", NPM), ("package-lock.json", "{}"), required, SHARED, built]);
    assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
}

#[test]
fn a_workspace_of_many_packages_is_installed_after_the_copy() {
    let paths: Vec<String> = (0..70).map(|number| format!("packages/p{number}/package.json")).collect();
    let many: Vec<_> = paths.iter().map(|path| (path.as_str(), "{}")).collect();
    let plan = plan(&[&many[..], &[("package.json", NPM), AGENT]].concat());
    in_order(&plan, "source", "npm i");
    assert!(plan.notes[0].message.ends_with("its workspace has 72 packages"), "{:?}", plan.notes);
}

#[test]
fn no_installed_packages_of_this_machine_are_in_the_context() {
    let files = [("package.json", NPM), AGENT, SHARED, (".dockerignore", ".git\napps/web\n")];
    let web = ("apps/web/package.json", "{}");
    let plan = plan(&[&files[..], &[web]].concat());
    for directory in ["", "apps/agent/", "packages/shared/"] {
        assert!(!sees(&plan, &format!("{directory}node_modules/a/b.js")), "{directory}");
    }
    has_not(&plan, "apps/web");
}

#[test]
fn dev_runs_a_server_that_works_with_the_graph_library() {
    let server = |version: &str, lock: Option<(&str, &str)>, members: &str| {
        let manifest = format!(r#"{{"dependencies": {{"@langchain/langgraph": "{version}"}}}}"#);
        let files = [GRAPH, ("apps/agent/package.json", manifest.as_str())].into_iter().chain(lock);
        let plan = plan_with(
            &format!("{GRAPHS}{members}"),
            &Tree::new(Nested(MemoryFiles::new(files))),
            &Options::default(),
        );
        plan.local.javascript.unwrap().server["@langchain/langgraph-api"].clone()
    };
    let lock = ("apps/agent/yarn.lock", "\"@langchain/langgraph@^0.2.41\":\n  version \"0.2.44\"\n");
    for (version, lock, members, expected) in [
        ("0.2.44", None, "", "0.0.40"),
        ("^0.2.41", Some(lock), "", "0.0.40"),
        ("~0.1.9", None, "", "0.0.40"),
        ("^0.2.41", None, "", "2.0.0"),
        ("1.4.17", None, "", "2.0.0"),
        ("next", None, "", "2.0.0"),
        ("1.4.18", None, "", "1.5.1"),
        ("^1.0.0", None, "", "1.5.1"),
        (">=0.2.44", None, "", "1.5.1"),
        ("0.2.44", None, r#", "api_version": "0.5""#, "0.0.40"),
    ] {
        assert_eq!(server(version, lock, members), expected, "{version} {members}");
    }
}

/// Whether the image mounts `file` at `place` and has it in no layer.
#[track_caller]
fn is_mounted(plan: &Plan, file: &str, place: &str) {
    has(plan, &format!("secret {file}\n"));
    has_not(plan, &format!("copy {file}\n"));
    let text = dockerfile(plan);
    for part in [
        &format!("FROM scratch AS secrets\nCOPY {file} /{file}\n"),
        &format!("RUN rm -f /source/{file}\n"),
        &format!("--mount=type=bind,from=secrets,source=/{file},target={place} "),
        "COPY --from=source /source/ ./\n",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(!text.contains("COPY . .\n"), "{text}");
}

#[test]
fn credentials_of_package_managers_are_in_no_layer() {
    for (text, is_secret) in [
        ("//npm.example/:_authToken=abc", true),
        ("; comment\n//npm.example/:_password = \"abc\"", true),
        ("registry=https://me:abc@npm.example/", true),
        ("//npm.example/:_authToken=${NPM_TOKEN}\nalways-auth=true", false),
        ("# //npm.example/:_authToken=abc\nregistry=https://npm.example/", false),
    ] {
        let files = [("package.json", NPM), AGENT, SHARED, (".npmrc", text)];
        let early = plan(&files);
        let needs_source = ("packages/shared/package.json", r#"{"scripts": {"prepare": "tsc"}}"#);
        let late = plan(&[("package.json", NPM), AGENT, needs_source, (".npmrc", text)]);
        for plan in [early, late] {
            if is_secret {
                is_mounted(&plan, ".npmrc", "/root/.npmrc");
            } else {
                has_not(&plan, "secret ");
            }
            assert!(sees(&plan, ".npmrc"), "{text}");
        }
    }
    for (name, text) in [
        (".yarnrc.yml", "npmRegistries:\n  //npm.example:\n    npmAuthToken: abc\n"),
        ("bunfig.toml", "[install.scopes]\nmine = { token = 'abc', url = 'https://npm.example/' }\n"),
    ] {
        let plan = plan(&[("package.json", NPM), AGENT, SHARED, (name, text)]);
        is_mounted(&plan, name, &format!("/deps/app/{name}"));
    }
    let hidden = [("package.json", NPM), AGENT, (".npmrc", "_auth=abc"), (".dockerignore", ".npmrc")];
    has_not(&plan(&hidden), ".npmrc");
}

#[test]
fn the_javascript_half_of_a_python_server_is_installed_at_the_root() {
    let config = r#""dependencies": ["."], "node_version": "20",
        "graphs": {"python": "./agent.py:graph", "typescript": "./graph.ts:graph"}"#;
    let python = [("apps/agent/agent.py", "graph = object()"), ("apps/agent/requirements.txt", "")];
    let files = [("package.json", NPM), ("package-lock.json", "{}"), AGENT, SHARED, GRAPH];
    let files = MemoryFiles::new(files.into_iter().chain(python));
    let plan = plan_with(config, &Tree::new(Nested(files)), &Options::default());
    assert_eq!(plan.context.root, "../..");
    in_order(&plan, "copy packages/shared/package.json", "npm /deps/app: ");
    in_order(&plan, NPM_CI, "source");
    assert!(is_member(&plan));
}

#[test]
fn a_package_that_is_not_built_is_reported() {
    let is_reported = |entry: &str, file: &str| {
        let shared = format!(r#"{{"name": "shared", {entry}}}"#);
        let shared = ("packages/shared/package.json", shared.as_str());
        let files = MemoryFiles::new([("package.json", NPM), AGENT, shared, (file, ""), GRAPH]);
        let found = analyze("agent.json", &format!("{{{GRAPHS}}}"), &Tree::new(Nested(files))).diagnostics;
        found.iter().any(|it| it.rule.code == "workspace-package-not-built")
    };
    for (entry, file, expected) in [
        (r#""main": "dist/index.js""#, "none", true),
        (r#""main": "./dist/index.js""#, "packages/shared/dist/index.js", false),
        (r#""main": "src/index.ts""#, "none", false),
        (r#""exports": {".": {"types": "./x.d.ts", "import": "./dist/index.mjs"}}"#, "none", true),
        (
            r#""exports": {".": {"require": "./src/a.cjs", "import": {"default": "./dist/a.mjs"}}}"#,
            "none",
            true,
        ),
        (r#""exports": {"node": {"types": "./x.d.ts"}, "default": ["./dist/index.js"]}"#, "none", true),
        (r#""exports": {"development": "./src/a.ts", "default": "./dist/a.js"}"#, "none", true),
        (r#""exports": {"node": "./src/a.ts", "default": "./dist/a.js"}"#, "none", false),
        (r#""exports": "./dist/index.js""#, "none", true),
        (r#""exports": {"./a": "./dist/a.js"}, "main": "dist/index.js""#, "none", false),
        (r#""main": "dist/index.js", "scripts": {"prepare": "tsc"}"#, "none", false),
    ] {
        assert_eq!(is_reported(entry, file), expected, "{entry}");
    }
}

#[test]
fn the_nearest_package_json_above_is_installed() {
    let lock = |directory: &str| format!("{directory}package-lock.json");
    let deep =
        |extra: &[(&str, &str)]| plan(&[&[("package.json", NAMED), (&*lock(""), "{}")], extra].concat());
    let far = deep(&[]);
    assert_eq!((far.context.root.as_str(), far.context.project.as_str()), ("../..", "apps/agent"));
    has(&far, "copy package.json\n");
    has(&far, "copy package-lock.json\n");
    has(&far, "npm /deps/app: npm ci");
    assert_eq!(far.local.javascript.unwrap().project.unwrap().root, "../..");

    let near = deep(&[("apps/package.json", NAMED), (&lock("apps/"), "{}")]);
    assert_eq!(near.context.root, "..");
    has(&near, "copy package.json\n");
    has(&near, "copy package-lock.json\n");

    // One without packages only says how Node.js reads the files beside it.
    let of_sources = deep(&[("apps/agent/package.json", r#"{"type": "module"}"#)]);
    assert_eq!(of_sources.context.root, "../..");
    // It is in another repository.
    let outside = deep(&[("apps/.git/HEAD", "")]);
    assert_eq!(outside.context.root, ".");
    has_not(&outside, "npm ci");
}

#[test]
fn a_member_of_a_workspace_above_the_configuration_is_installed() {
    let files = [("package.json", NPM), ("package-lock.json", "{}"), SHARED, GRAPH];
    let member = ("apps/package.json", r#"{"name": "agent", "dependencies": {"shared": "*"}}"#);
    let npm = ("package.json", r#"{"workspaces": ["apps", "packages/*"]}"#);
    let files = MemoryFiles::new(files.into_iter().chain([member, npm]));
    let plan = plan_with(GRAPHS, &Tree::new(Nested(files)), &Options::default());
    assert_eq!(plan.context.root, "../..");
    has(&plan, "copy apps/package.json\n");
    has(&plan, "copy packages/shared/package.json\n");
}

#[test]
fn the_package_json_of_a_listed_directory_is_installed() {
    let config = r#""dependencies": ["./libs", "./web"], "graphs": {"agent": "./web/graph.ts:graph"}"#;
    let files = [
        ("apps/agent/libs/package.json", NAMED),
        ("apps/agent/web/package.json", NAMED),
        ("apps/agent/web/graph.ts", GRAPH.1),
        ("package.json", NAMED),
    ];
    let plan = plan_with(config, &Tree::new(Nested(MemoryFiles::new(files))), &Options::default());
    assert_eq!(plan.context.root, ".");
    has(&plan, "copy web/package.json\nnpm /deps/app/web: ");
}

#[test]
fn a_package_json_above_a_python_project_is_not_its_own() {
    let config = r#""dependencies": ["."], "node_version": "20", "graphs": {"agent": "./agent.py:graph"}"#;
    let files = [
        ("apps/agent/agent.py", "graph = object()"),
        ("apps/agent/requirements.txt", ""),
        ("package.json", NAMED),
    ];
    let plan = plan_with(config, &Tree::new(Nested(MemoryFiles::new(files))), &Options::default());
    assert_eq!(plan.context.root, ".");
    has_not(&plan, "npm i");
}

#[test]
fn an_old_lock_file_of_pnpm_is_read_by_its_pnpm() {
    let lock = |format: &str| format!("lockfileVersion: {format}\n\nimporters: {{}}\n");
    for (format, manifest, install, here) in [
        ("'6.0'", "{}", "npx --yes pnpm@8 i --frozen-lockfile", "npx --yes pnpm@8 install --frozen-lockfile"),
        ("5.4", "{}", "npx --yes pnpm@7 i --frozen-lockfile", "npx --yes pnpm@7 install --frozen-lockfile"),
        ("'9.0'", "{}", " pnpm i --frozen-lockfile", "pnpm install --frozen-lockfile"),
        (
            "'6.0'",
            r#"{"packageManager": "pnpm@8.15.9"}"#,
            " pnpm i --frozen-lockfile",
            "pnpm install --frozen-lockfile",
        ),
    ] {
        let lock = lock(format);
        let files = [("package.json", manifest), ("pnpm-workspace.yaml", PNPM), AGENT, SHARED];
        let plan = plan(&[&files[..], &[("pnpm-lock.yaml", lock.as_str())]].concat());
        has(&plan, install);
        let project = plan.local.javascript.unwrap().project.unwrap();
        assert_eq!(project.install.join(" "), here, "{format}");
    }
}

/// The server joins them to its working directory, and searches the graph library from the first of them.
#[test]
fn javascript_graphs_are_named_from_the_working_directory() {
    let python = r#""dependencies": ["."], "graphs": {"python": "./agent.py:graph",
        "one": "./graph.ts:graph", "two": {"path": "src/two.ts:graph"}}, "node_version": "20""#;
    let files = [
        ("apps/agent/agent.py", "graph = object()"),
        ("apps/agent/requirements.txt", ""),
        ("apps/agent/src/two.ts", GRAPH.1),
        ("apps/agent/package.json", NAMED),
        GRAPH,
    ];
    let plan = plan_with(python, &Tree::new(Nested(MemoryFiles::new(files))), &Options::default());
    let expected = r#"{"one":"./graph.ts:graph","two":{"path":"./src/two.ts:graph"},"python":"/deps/app/agent.py:graph"}"#;
    assert_eq!(plan.contract["LANGSERVE_GRAPHS"].to_string(), expected);
}
