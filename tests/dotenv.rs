//! `.env` files beside python-dotenv itself.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use agentcli::compiler::manifests::dotenv::parse;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{python, random_cases};

/// The environment on both sides.
const OUTSIDE: &[(&str, &str)] =
    &[("OUT", "outside ${A} 'x' \"y\" # z"), ("EMPTY", ""), ("A", "a of outside")];

/// Files that somebody wrote, or might.
const FILES: &[&str] = &[
    "",
    " \n\n\t\n",
    "\u{feff}A=1\nB=2\n",
    "\u{feff}\u{feff}A=1",
    "A=1\r\nB=\"1\r\n2\"\r\nC='x\ry'\rD=4",
    "# comment\n  # another\nexport # third\nA=1 # fourth\nB='1'# fifth\n",
    "export A=1\nexport\tB=2\nexport\nexport=3\nexport =4\nexport export E=5\nexporting=6",
    "A\nB \nC # comment\n'D E'\n'F'=1\n''=2\n'G\nH'=3\n'I' = 4\n\"J\"=5",
    "A==1\nB= =1\n=1\n= 1\n#=1\nC #=1",
    "A=#1\nB= #1\nC=1#1\nD=1 #1\nE=1\t# 1 # 2\nF=\u{a0}#1\nG=1\u{a0}#1\nH=  x  ",
    r#"A="1 \" 2"
B='1 \' 2'
C="\\"
D='\\'
E="\\\""
F="\a\b\f\n\r\t\v\0\x41\u0041\$\
"
G='\a\n\"\$'
H=1\n2\t\"
I=a"b"c'd'"#,
    "A=\"unterminated\nB=2\nC='too\nD=4",
    "A=\"unterminated\nB=\"2\"\nC=3",
    "A=\"1\n# no comment\nB=2\n\" # comment\nC=3",
    "A='1' 2\nB=\"1\"2\nC='1' # 2\nD='1'#2\nE='1''2'\nF 1=2",
    "A=\"\\\nB=\"\\\"",
    "A=1\nB=2\nA=3\nC=${A}\nA=4\nA",
    "A=${A}\nA=${A}1\nA=${A}2\nB=${A}\nC='${B}'\nD=\"${C}\"",
    "A=${OUT}\nB=${EMPTY:-x}\nC=${NOWHERE:-x}\nD=${NOWHERE}\nE=${NOWHERE:-}\nF=${NOWHERE:-${OUT}}\nG=${:-x}${}",
    "NONE\nA=${NONE:-x}|${NONE}\nOUT\nB=${OUT}",
    "A=$OUT ${OUT ${OUT:x} ${OUT:=x} ${OUT-x} $${OUT} \\${OUT} ${ OUT }",
    "A=\"${NO\nNAME:-x\ny}\"\nB='${NOWHERE:-\\'}'",
    "A=1\x0bB=2\nC=1\x0cD=2\nE=1\x1cF\nG=1\u{85}H\nI=1\u{2028}J\n\u{2028}K=\u{3000}1\u{3000}\nL\u{a0}=1\nM\x1f=\x1d1\x1e#",
    "Ä=ö\n日本=語 # コメント\nE=e\u{301}😀\nS=\"\\😀\"",
    "A: 1\nB = 1; C = 2\n- D=1\n{\"E\": 1}\n[section]\nF=[1, 2]\nPATH=$PATH:/x\nset G=1\n<<<<<<< HEAD",
    "KEY=\"-----BEGIN KEY-----\nMIIB\n-----END KEY-----\n\"\nURL=https://u:p@h/x?a=b&c=d#e\nJSON={\"a\": \"b # c\"}\n",
    "A=\0\nB=\"\0\"",
    "A=1 \\\nB=2",
];

/// The one Python process of a test.
struct Peer {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    _directory: TempDir,
}

impl Peer {
    fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let mut process = Command::new(python())
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dotenv/peer.py"))
            .arg(directory.path().join(".env"))
            .env_clear()
            .envs(OUTSIDE.iter().copied())
            // The encoding of files, whatever the machine's locale is.
            .env("PYTHONUTF8", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = process.stdin.take().unwrap();
        let from = BufReader::new(process.stdout.take().unwrap());
        Self { process, to, from, _directory: directory }
    }

    fn parse(&mut self, text: &str) -> Value {
        writeln!(self.to, "{}", json!(text)).unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("no answer to {text:?}: {error}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn ours(text: &str) -> Value {
    let outside =
        |name: &str| OUTSIDE.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
    let found = parse(text, outside);
    let mistakes: Vec<usize> = found.mistakes.iter().map(|mistake| mistake.line).collect();
    json!({ "variables": found.variables.iter().collect::<Vec<_>>(), "mistakes": mistakes })
}

/// Pieces that mean something in such a file.
fn file() -> impl Strategy<Value = String> {
    let pieces = [
        "A",
        "B",
        "OUT",
        "EMPTY",
        "NOWHERE",
        "export",
        "export ",
        "=",
        "=",
        "=",
        "\"",
        "\"",
        "'",
        "'",
        "#",
        " #",
        "\\",
        "\\n",
        "\\\"",
        "\\'",
        "\\\\",
        "${",
        "}",
        ":-",
        ":",
        "-",
        "$",
        "${A}",
        "${OUT:-x}",
        "${NOWHERE:-x}",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "\t",
        "\x0b",
        "\x0c",
        "\x1c",
        "\u{85}",
        "\u{a0}",
        "\u{2028}",
        "\u{feff}",
        "\0",
        "日本",
        "x y",
    ];
    let piece = prop_oneof![
        12 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn known_files_are_read_as_python_dotenv_reads_them() {
    let mut peer = Peer::start();
    for text in FILES {
        assert_eq!(ours(text), peer.parse(text), "{text:?}");
    }
}

#[test]
fn generated_files_are_read_as_python_dotenv_reads_them() {
    let peer = RefCell::new(Peer::start());
    let result = TestRunner::new(random_cases(500)).run(&file(), |text| {
        prop_assert_eq!(ours(&text), peer.borrow_mut().parse(&text), "{:?}", text);
        Ok(())
    });
    result.unwrap();
}
