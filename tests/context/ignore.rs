//! `.dockerignore`: the cases of moby's own tests, and properties. The engine's own answers are in `engine_ignore`.

use agentcli::compiler::manifests::dockerignore::Ignore;
use proptest::prelude::*;

use crate::harness::random_cases;

fn excludes(pattern: &str, path: &str) -> bool {
    Ignore::parse(pattern).unwrap().excludes(path)
}

/// Pattern, path, whether it is left out. Several patterns are separated by spaces.
const CASES: &[(&str, &str, bool)] = &[
    ("**", "file", true),
    ("**/", "file", true),
    ("**", "dir/file", true),
    ("**/**", "dir/file", true),
    ("dir/**", "dir/file", true),
    ("dir/**", "dir/dir2/file", true),
    ("dir/**", "dir", false),
    ("**/dir", "dir/file", true),
    ("**/dir2/*", "dir/dir2/file", true),
    ("**/dir2/**", "dir/dir2/dir3/file", true),
    ("**file", "dir/dir/file", true),
    ("**file", "dir/afile", true),
    ("**/file", "dir/afile", false),
    ("**/file*txt", "dir/dir/file.txt", true),
    ("**/**/*.txt", "dir/dir/file.txt", true),
    ("**/**/*.txt2", "dir/dir/file.txt", false),
    ("a**/*.txt", "a/dir/dir/file.txt", true),
    ("a/*.txt", "a/dir/file.txt", false),
    ("a/*.txt**", "a/file.txt", true),
    ("a[b-d]e", "ae", false),
    ("a[b-d]e", "ace", true),
    ("a[^b-d]e", "aze", true),
    ("a[^b-d]e", "ace", false),
    (".*", ".foo", true),
    (".*", "foo", false),
    ("abc.def", "abcZdef", false),
    ("abc?def", "abcZdef", true),
    ("a?b", "a/b", false),
    ("a*b", "a/b", false),
    ("a?b", "a☺b", true),
    ("a[^a]b", "a☺b", true),
    ("[a-ζ]*", "α", true),
    ("*[a-ζ]", "A", false),
    ("a\\*b", "a*b", true),
    ("a\\*b", "acb", false),
    ("[\\]a]", "]", true),
    ("[\\-x]", "-", true),
    ("[[:digit:]]x", "7x", true),
    ("\\dx", "7x", true),
    ("[a*b]", "a/b]", true),
    ("[a*b]", "aab]", true),
    ("a(b)c/def", "a(b)c/def", true),
    ("a.|)$(}+{bc", "a.|)$(}+{bc", true),
    ("dist/*.whl", "dist/a-2.4.0rc3.dev36+g08acad9-py3-none-any.whl", true),
    ("/docs/", "docs/a", true),
    ("./docs/../src", "src/a", true),
    (".", "a", false),
    ("..", "a", false),
    ("docs !docs/README.md", "docs/README.md", false),
    ("docs/* !docs/README.md", "docs/README.md", false),
    ("!README.md *.md", "README.md", true),
    ("** !util/docker/web", "util/docker/web/foo", false),
    ("** !util/docker/web util/docker/web/foo", "util/docker/web/foo", true),
    // BuildKit's walk forgets an exception that changed nothing at the directory above.
    ("foo/* !foo", "foo/x", true),
];

#[test]
fn mobys_cases() {
    for &(patterns, path, expected) in CASES {
        assert_eq!(excludes(&patterns.replace(' ', "\n"), path), expected, "{patterns} on {path}");
    }
}

#[test]
fn lines() {
    let ignore =
        Ignore::parse("\u{feff}# a comment\r\n  \n  #no comment  \n\t! #no comment/keep\r\n").unwrap();
    assert!(ignore.excludes("#no comment"));
    assert!(ignore.excludes("#no comment/drop"));
    assert!(!ignore.excludes("#no comment/keep"));
    assert!(!ignore.excludes("# a comment"));
}

#[test]
fn what_docker_refuses() {
    let bad =
        ["!", "! ", "!/", "[", "[^", "[^bc", "a[", "[]a]", "[-]", "[x-]", "[-x]", "\\", "[a-b-c]", "a\\"];
    for line in bad.into_iter().chain(["[Local-Only]", "dist\\o*"]) {
        let error = Ignore::parse(&format!("ok\n\n{line}\n")).unwrap_err();
        assert_eq!((error.line, &*error.pattern), (3, line.trim()), "{error}");
    }
    let error = Ignore::parse("a[").unwrap_err();
    assert_eq!(error.to_string(), "line 1: `a[` is not a valid pattern: a `[` is not closed");
}

#[test]
fn directories_worth_walking() {
    let below = |text: &str, dir: &str| Ignore::parse(text).unwrap().may_include_below(dir);
    assert!(!below("*", "a"));
    assert!(below("*\n!a/b/c", "a/b"));
    assert!(below("*\n!a/b/**", "a/b"));
    assert!(!below("*\n!a/b/c", "a/bc"));
    assert!(!below("*\n!a", "b"));
    assert!(below("*\n!**/x", "b"));
}

#[test]
fn many_patterns_are_fast() {
    let text: String = (0..8).map(|n| format!("**/*cache{n}*/**/x?\n*.tmp{n}\nbuild{n}/**\n")).collect();
    let ignore = Ignore::parse(&text).unwrap();
    let start = std::time::Instant::now();
    for n in 0..10_000 {
        assert!(!ignore.excludes(&format!("src/package/module_{n}.py")));
    }
    // A pattern that is tried in all ways takes minutes; a busy machine is no reason to fail.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

fn line() -> impl Strategy<Value = String> {
    let part =
        prop_oneof!["[ab.]{1,2}", Just("*".to_owned()), Just("**".to_owned()), "[ab]\\?", "\\[[ab]\\]"];
    (any::<bool>(), proptest::collection::vec(part, 1..4))
        .prop_map(|(exception, parts)| format!("{}{}", if exception { "!" } else { "" }, parts.join("/")))
}

proptest! {
    #![proptest_config(random_cases(200))]

    #[test]
    fn any_text_is_taken_or_refused(text in any::<String>(), path in "\\PC{0,20}") {
        if let Ok(ignore) = Ignore::parse(&text) {
            ignore.excludes(&path);
        }
        let _ = Ignore::parse(&Ignore::rebased(&text, &path));
    }

    #[test]
    fn pattern_characters_are_taken_or_refused(
        text in "[\\[\\]^\\-\\\\*?/!#.:abdwz\n ]{0,24}",
        path in "[ab/^\\]\\-]{0,12}",
    ) {
        if let Ok(ignore) = Ignore::parse(&text) {
            ignore.excludes(&path);
        }
    }

    #[test]
    fn rebasing_changes_nothing(
        lines in proptest::collection::vec(line(), 1..5),
        prefix in "[ab!# \\[*(.é]{0,3}[a(]",
        path in "[ab]\\.?(/\\.?[ab]){0,3}",
    ) {
        let text = lines.join("\n");
        let Ok(plain) = Ignore::parse(&text) else { return Ok(()) };
        let rebased = Ignore::rebased(&text, &prefix);
        let above = Ignore::parse(&rebased).unwrap();
        prop_assert_eq!(plain.excludes(&path), above.excludes(&format!("{prefix}/{path}")), "{}", rebased);
    }

    #[test]
    fn a_skipped_directory_hides_nothing(
        lines in proptest::collection::vec(line(), 1..5),
        path in "[ab]\\.?(/\\.?[ab]){1,3}",
    ) {
        // Docker itself takes `!b/*/**` for an exception of `b` alone, and never looks into the `b/a` that it leaves
        // out: with `*` before it, `b/a/a` matches and is lost all the same.
        prop_assume!(!lines.iter().any(|line| line.starts_with('!') && line.ends_with("/*/**")));
        let Ok(ignore) = Ignore::parse(&lines.join("\n")) else { return Ok(()) };
        for (end, _) in path.match_indices('/') {
            if ignore.excludes(&path[..end]) && !ignore.may_include_below(&path[..end]) {
                prop_assert!(ignore.excludes(&path));
            }
        }
    }
}
