//! The files of a project that decide how Node.js and the TypeScript loader resolve and transform its imports. A process that
//! has read them works with what they were.

use std::fs;
use std::path::{Path, PathBuf};

/// A tsconfig.json that extends more files than these does not count.
const MOST: usize = 1000;

/// The files for the code in these directories. They need not exist.
pub(super) fn files(directories: &[PathBuf]) -> Vec<PathBuf> {
    let above = directories.iter().flat_map(|directory| directory.ancestors());
    let mut files: Vec<PathBuf> = above
        .flat_map(|directory| ["package.json", "tsconfig.json"].map(|name| directory.join(name)))
        .collect();
    files.sort();
    files.dedup();
    let mut read = 0;
    while read < files.len() && files.len() < MOST {
        let extended = extended(&files[read]);
        files.extend(extended);
        read += 1;
    }
    files
}

/// The places of the files that a tsconfig.json may extend.
fn extended(file: &Path) -> Vec<PathBuf> {
    let (Ok(text), Some(directory)) = (fs::read_to_string(file), file.parent()) else { return Vec::new() };
    // With comments, it is not JSON. What is found too much does no harm.
    let Some((_, after)) = text.split_once("\"extends\"") else { return Vec::new() };
    let value = after.trim_start().trim_start_matches(':').trim_start();
    let value = if value.starts_with('[') { value.split(']').next() } else { value.split(',').next() };
    let names = value.unwrap_or_default().split('"').skip(1).step_by(2);
    names.flat_map(|name| places(directory, name)).collect()
}

fn places(directory: &Path, name: &str) -> Vec<PathBuf> {
    let bases = if name.starts_with('.') || Path::new(name).is_absolute() {
        vec![directory.join(name)]
    } else {
        directory.ancestors().map(|above| above.join("node_modules").join(name)).collect()
    };
    let forms = |base: PathBuf| [base.with_added_extension("json"), base.join("tsconfig.json"), base];
    bases.into_iter().flat_map(forms).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_tsconfig_extends() {
        let directory = tempfile::TempDir::new().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "tsconfig.json",
            "{ // ours\n \"extends\": [\"./base\", \"@acme/config\"], \"files\": [\"./no\"] }",
        );
        write("base.json", "{\"extends\":\"../up.json\"}");
        write("node_modules/@acme/config/tsconfig.json", "{}");
        let src = directory.path().join("src");
        let found = files(std::slice::from_ref(&src));
        let has = |path: &str| found.contains(&directory.path().join(path));
        for path in
            ["package.json", "tsconfig.json", "./base.json", "node_modules/@acme/config/tsconfig.json"]
        {
            assert!(has(path), "{path}: {found:?}");
        }
        assert!(
            found.contains(&src.join("tsconfig.json")) && found.iter().any(|it| it.ends_with("../up.json"))
        );
        assert!(!has("./no"), "{found:?}");
    }

    #[test]
    fn a_circle_ends() {
        let directory = tempfile::TempDir::new().unwrap();
        fs::write(directory.path().join("tsconfig.json"), "{\"extends\": \"./tsconfig\"}").unwrap();
        assert!(files(&[directory.path().to_owned()]).len() < 2 * MOST);
    }
}
