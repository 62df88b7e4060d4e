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
        assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
    }
    assert_eq!(parse("Lang_Chain").unwrap().name.as_deref(), Some("lang-chain"));
}

#[test]
fn faults() {
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
        ("foo=>1", "="),
        ("foo>=1,,", ","),
        ("foo>=1,,<2", ","),
        ("foo(,)", "("),
        ("foo===", "==="),
        ("foo===a b", "a b"),
        ("foo>=1 <2", "1 <2"),
        ("foo>=1.*", ">=1.*"),
        ("foo~=1", "~=1"),
        ("foo==latest", "latest"),
        ("foo==https://me:secret@host", "https://me:secret@host"),
        ("foo[a", "[a"),
        ("foo[a-]", "a-"),
        ("foo[a,,b]", ","),
        ("foo(>=1", "(>=1"),
        ("foo; python_versoin > '3'", "python_versoin"),
        ("foo; python_version > 3.8", "3.8"),
        ("foo; python_version > '3", "'3"),
        ("foo; (python_version > '3'", "("),
        ("foo; python_version '3'", "'"),
        ("foo; python_version > '3' x", "x"),
        ("foo @ https://example.com/a b", "b"),
    ] {
        let fault = parse(text).expect_err(text);
        assert_eq!(&text[fault.part.clone()], part, "{text}: {fault:?}");
        assert!(!fault.message.contains("secret"), "{fault:?}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(text in "([a-c0-9<>=~!@\\[\\]();,.'\" é-]|and|python_version|https://){0,16}") {
        if let Err(fault) = parse(&text) {
            prop_assert!(text.get(fault.part).is_some());
        }
    }
}
