use super::*;
use crate::files::MemoryFiles;
use crate::tree::Tree;

#[test]
fn includes_are_followed() {
    let found = |main| {
        let tree = [("requirements.txt", main), ("req/base.txt", "-r ../requirements.txt\nhttpx\n")];
        find(".", &Tree::new(MemoryFiles::new(tree))).unwrap()
    };
    for line in [
        "-r req/base.txt\nlangchain>=0.3",
        "-r req/base.txt  # the base",
        "-c req/base.txt\t# x",
        "-r \"req/base.txt\"",
        "-r 'req'/base.txt",
        "-r req/b\\ase.txt",
        "-rreq/base.txt",
        "-r=req/base.txt",
        "--requirement=req/base.txt",
        "--requirement req/base.txt",
        "--constraint='req/base.txt'",
        "--no-index -r req/base.txt",
        "-r \\\n  req/base.txt",
        "# a comment \\\n-r req/base.txt",
        "\u{feff}  -r req/base.txt",
        "-r req/base.txt \\",
    ] {
        let found = found(line);
        assert_eq!(found.files, ["requirements.txt", "req/base.txt"], "{line}");
        assert!(!found.is_local(), "{line}");
    }
    for line in [
        "# -r req/base.txt",
        "-r https://host/req/base.txt",
        "--requirements-of req/base.txt",
        "x # -r req/base.txt",
        "x \\\n# -r req/base.txt",
        "-r",
    ] {
        assert_eq!(found(line).files, ["requirements.txt"], "{line}");
    }
}

#[test]
fn long_chains_of_includes_are_followed() {
    let name = |n: usize| if n == 0 { "requirements.txt".to_owned() } else { format!("{n}.txt") };
    let tree: Vec<_> = (0..1000).map(|n| (name(n), format!("-r {}", name(n + 1)))).collect();
    let files = Tree::new(MemoryFiles::new(tree.iter().map(|(path, text)| (&**path, &**text))));
    let wanted: Vec<_> = tree.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(find(".", &files).unwrap().files, wanted);
}

#[test]
fn paths_are_told_from_packages() {
    let is_path = |kind: &Kind| matches!(kind, Kind::Path | Kind::Local(_));
    let is_local = |line: &str| read(line).iter().any(|entry| is_path(&entry.kind));
    for line in [
        "-e .",
        ".",
        "./lib",
        "..",
        "/srv/lib",
        "--editable=./x",
        "-e libs/shared",
        "-e libs",
        "-elibs/shared",
        "--editable libs/shared  # ours",
        "-e \"my libs/shared[x]\"",
        "libs/shared",
        "libs/shared[x] ; python_version > '3'",
        "libs\\shared",
        "x @ file:///y",
        "x@file:///y",
        "x @ ./y",
        "-e file:///y",
        "wheels/x.whl",
        "x-1.0.tar.gz",
        "x.whl --hash=sha256:00",
        "-f wheels",
        "--find-links=./wheels",
        "--no-index --find-links wheels",
        "--find-links \\\n wheels",
        "--extra-index-url ./simple",
    ] {
        assert!(is_local(line), "{line}");
    }
    for line in [
        "x @ https://host/x.whl",
        "x@https://host/x.whl",
        "x[y] @ git+ssh://git@host/x.git@main",
        "https://host/x.whl",
        "# ./x",
        "x  # see ./x",
        "x; platform_release == 'a/b'",
        "x==1 --config-settings=a=b/c",
        "--index-url https://user@host/simple",
        "-i https://host/simple",
        "--index-url ${INDEX}",
        "-f https://host/wheels",
        "-e git+https://host/x",
        "-e git+ssh://git@host/x#egg=x",
        "--pre",
        "x",
    ] {
        assert!(!is_local(line), "{line}");
    }
}

#[test]
fn entries_have_the_range_of_their_line() {
    let text = "a # one\r\n\n  b==1 \\\n  --hash=sha256:0 \\\n  --hassh=x\n#c\n--pre --index u -p";
    let entries = read(text);
    let shown: Vec<_> = entries.iter().map(|it| (&text[it.line.clone()], &it.kind)).collect();
    let second = "b==1 \\\n  --hash=sha256:0 \\\n  --hassh=x";
    let last = "--pre --index u -p";
    assert_eq!(
        shown,
        [
            ("a # one", &Kind::Requirement("a".to_owned())),
            (second, &Kind::Requirement("b==1".to_owned())),
            (second, &Kind::Known),
            (second, &Kind::Unknown("--hassh".to_owned())),
            (last, &Kind::Known),
            (last, &Kind::Known),
            (last, &Kind::Unknown("-p".to_owned())),
        ]
    );
}

#[test]
fn directories_are_told_from_other_requirements() {
    let found = |text: &str| {
        let tree =
            [("sub/requirements.txt", text), ("sub/more.txt", "b\n-e ../three"), ("libs/one/setup.py", "")];
        find(
            "sub",
            &Tree::new(MemoryFiles::new(
                tree.into_iter().chain([("three/setup.py", ""), ("sub/two/a.py", "")]),
            )),
        )
        .unwrap()
    };
    let file = found("a>=1\n-e ../libs/one[x]  # ours\n./two\nn[y] @ file:../three\n-r more.txt\n");
    let locals: Vec<_> = file.locals.iter().map(|it| (it.path.as_str(), it.extras.join(" "))).collect();
    assert_eq!(
        locals,
        [
            ("libs/one", "x".to_owned()),
            ("sub/two", String::new()),
            ("three", "y".to_owned()),
            ("three", String::new())
        ]
    );
    assert_eq!(file.others.as_deref(), Some(&["a>=1".to_owned(), "b".to_owned()][..]));
    assert!(!file.is_local());
    // From the directory of the configuration, where it is not found beside the file.
    assert_eq!(found("-e libs/one").locals[0].path, "libs/one");
    for text in ["-e ../three\n--pre", "-e ../three\n-c more.txt", "-e ../three\nx.whl"] {
        assert!(found(text).others.is_none() && found(text).is_local(), "{text}");
    }
    assert!(found("a\n--pre").others.is_none() && !found("a\n--pre").is_local());
}
