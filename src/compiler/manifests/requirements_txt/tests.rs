use super::*;
use crate::compiler::files::MemoryFiles;

#[test]
fn includes_are_followed() {
    let found = |main| {
        let tree = [("requirements.txt", main), ("req/base.txt", "-r ../requirements.txt\nhttpx\n")];
        find(".", &MemoryFiles::new(tree)).unwrap()
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
    let files = MemoryFiles::new(tree.iter().map(|(path, text)| (&**path, &**text)));
    let wanted: Vec<_> = tree.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(find(".", &files).unwrap().files, wanted);
}

#[test]
fn paths_are_told_from_packages() {
    let is_local = |line: &str| read(line).iter().any(|entry| entry.kind == Kind::Path);
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
