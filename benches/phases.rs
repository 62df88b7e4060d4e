//! How long each phase of the compiler takes, in memory, on a small project and on one that uses every key.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use agentcli::compiler::back::emit::dockerfile;
use agentcli::compiler::back::lower;
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::front::config::Config;
use agentcli::compiler::front::dialect::Dialect;
use agentcli::compiler::front::document::{self, Document};
use agentcli::compiler::front::{check, schema};
use agentcli::compiler::tree::Tree;
use agentcli::compiler::{Options, analyze};
use criterion::{Criterion, criterion_group, criterion_main};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/valid");
const CONFIG: &str = "agent.json";

/// A project in memory: the text of its configuration, and its tree.
struct Project {
    text: String,
    files: MemoryFiles,
}

impl Project {
    fn read(name: &str) -> io::Result<Self> {
        let root = Path::new(FIXTURES).join(name);
        let mut files = Vec::new();
        collect(&root, "", &mut files)?;
        let tree = MemoryFiles::new(files.iter().map(|(path, text)| (path.as_str(), text.as_str())));
        Ok(Self { text: fs::read_to_string(root.join(CONFIG))?, files: tree })
    }
}

/// The path below the root and the text of every file in `directory`.
fn collect(directory: &Path, prefix: &str, files: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else {
            files.push((path, fs::read_to_string(entry.path())?));
        }
    }
    Ok(())
}

fn typed(document: &Document) -> Config {
    Config::new(schema::check(document, Dialect::default()).value, Dialect::default())
}

fn phases(criterion: &mut Criterion) {
    for name in ["hello", "every-key"] {
        let Project { text, files } = Project::read(name).expect("a fixture can be read");
        let tree = || Tree::new(files.clone());
        let analysis = analyze("agent.json", &text, &tree());
        assert!(analysis.is_usable(), "{name} has errors");
        let document = document::parse(&text).0;
        let config = typed(&document);
        let options = Options::default();
        let plan = lower::lower(&config, &tree(), CONFIG, &options);

        let mut group = criterion.benchmark_group(name);
        group.bench_function("parse", |b| b.iter(|| document::parse(&text)));
        group.bench_function("schema", |b| b.iter(|| schema::check(&document, Dialect::default())));
        group.bench_function("checks", |b| {
            b.iter(|| check::check(&document, &config, &tree(), &BTreeSet::new()))
        });
        group.bench_function("lower", |b| b.iter(|| lower::lower(&config, &tree(), CONFIG, &options)));
        group.bench_function("emit", |b| b.iter(|| dockerfile::dockerfile(&plan)));
        group.bench_function("whole", |b| {
            b.iter(|| {
                let files = tree();
                let analysis = analyze("agent.json", &text, &files);
                dockerfile::dockerfile(&lower::lower(&analysis.config, &files, CONFIG, &options))
            });
        });
        group.finish();
    }
}

criterion_group!(benches, phases);
criterion_main!(benches);
