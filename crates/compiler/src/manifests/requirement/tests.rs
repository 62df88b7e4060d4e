use super::*;
use proptest::prelude::*;

#[test]
fn requirements() {
    for text in [
        "langchain",
        "langchain>=0.3",
        " langchain >= 0.3, <1 ",
        "langchain[openai, x]~=0.3.1",
        "a[]",
        "a (>=1,<2)",
        "a==1.*",
        "a===1.0",
        "a===foobar",
        "a === 1.0-weird , >=1",
        "a===x,y;os_name=='nt'",
        "a (===x)",
        "a ()",
        "a( );os_name=='nt'",
        "a>=1,",
        "a (>=1 , ) ; os_name=='nt'",
        "a; implementation_name === 'cpython'",
        "a @ https://example.com/a.whl",
        "a@git+https://example.com/a@v1#egg=a ; os_name == 'posix'",
        "git+https://example.com/a",
        "a; python_version > '3.11' and (sys_platform != \"win32\" or extra == 'x')",
        "a>=1; 'linux' in sys_platform and os_name not  in 'nt'",
    ] {
        assert!(read(text).is_ok(), "{text}: {:?}", read(text));
    }
    assert_eq!(read("Lang_Chain").unwrap().name.as_deref(), Some("lang-chain"));
}

#[test]
fn broken_requirements() {
    for (text, part) in [
        ("", ""),
        ("  ", "  "),
        ("-r x", "-"),
        ("foo- >1", "-"),
        ("é", "é"),
        ("foo=1", "="),
        ("foo@1.0", "1.0"),
        ("foo @", "@"),
        ("foo 1.0", "1.0"),
        ("foo^1.0", "^1.0"),
        ("foo>=", ">="),
        ("foo=>1", "=>"),
        ("foo>=1,,", ","),
        ("foo>=1,,<2", ","),
        ("foo(,)", ","),
        ("foo>=1 <2", "1 <2"),
        ("foo>=1.*", ">=1.*"),
        ("foo~=1", "~=1"),
        ("foo==latest", "latest"),
        ("foo==https://me:secret@host", "https://me:secret@host"),
        ("foo[a", "[a"),
        ("foo[a-]", "a-"),
        ("foo[a- b]", "a- b"),
        ("foo[a-", "[a-"),
        ("foo[a,,b]", ","),
        ("foo(>=1", "("),
        ("foo; python_versoin > '3'", "python_versoin"),
        ("foo; python_version > 3.8", "3.8"),
        ("foo; python_version > '3", "'"),
        ("foo; (python_version > '3'", "("),
        ("foo; python_version '3'", "'"),
        ("foo; python_version > '3' x", "x"),
        ("foo; https://me:secret@host > '3'", "https://me:secret@host"),
        ("foo https://me:secret@host", "https://me:secret@host"),
        ("foo-1.0.tar.gz", "foo-1.0.tar.gz"),
        ("foo @ https://example.com/a b", "b"),
    ] {
        let broken = read(text).expect_err(text);
        assert_eq!(&text[broken.span.clone()], part, "{text}: {broken:?}");
        assert!(!format!("{broken:?}").contains("secret"), "{broken:?}");
    }
}

#[test]
fn conditions_that_the_parser_cannot_read_are_not_checked() {
    let nested = format!("a; {}os_name == 'x'{}", "(".repeat(100_000), ")".repeat(100_000));
    let deep = format!("a; {}os_name == 'x'{}", "(".repeat(32), ")".repeat(32));
    // `pep508_rs` would need exponential time and space for many of these.
    let pairs =
        |count: usize| (0..count).map(|n| format!("extra=='a{n}'and extra=='b{n}'or ")).collect::<String>();
    let long = format!("a; {}os_name == 'x'", pairs(12));
    let longer = format!("a; {}os_name == 'x'", pairs(1000));
    // In 320 bytes, they take some 10 ms, and a project may have many of them.
    let invalid = format!("a; {}os_name =! 'x'", pairs(11));
    // It slices within characters that are longer than a byte.
    let other_script = "a; os_name == 'x'é".to_owned();
    for text in [nested, deep, long, longer, invalid, other_script] {
        assert!(read(&text).is_ok(), "{:?}", read(&text));
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "([a-c0-9<>=~!@\\[\\]();,.'\" é-]|and|python_version|https://){0,16}") {
        if let Err(broken) = read(&text) {
            prop_assert!(text.get(broken.span).is_some());
        }
        parts(&text);
    }
}

#[test]
fn parts_of_requirements() {
    for (text, name, extras, moved) in [
        ("My_Lib", Some("my-lib"), "", "My_Lib @ u"),
        ("a[x, y]>=1,<2 ; os_name == 'n@t'", Some("a"), "x y", "a[x, y] @ u ; os_name == 'n@t'"),
        ("a[x] @ {root:uri}/../a", Some("a"), "x", "a[x] @ u"),
        ("a (>=1)", Some("a"), "", "a @ u"),
        ("a; extra == '[x]'", Some("a"), "", "a @ u ; extra == '[x]'"),
    ] {
        assert_eq!(written_name(text).as_deref(), name, "{text}");
        assert_eq!(super::extras(text).join(" "), extras, "{text}");
        assert_eq!(with_url(text, "u"), moved);
    }
    assert_eq!(written_name("https://host/a.whl"), None);
    for text in ["httpx.", "a[x.]", "a-@ u", ""] {
        assert_eq!(parts(text), None, "{text}");
    }
}
