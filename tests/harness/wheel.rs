//! A wheel with one module.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes version 1.0 of the package with the module `sys.argv[2]` to the directory `sys.argv[1]`.
const SCRIPT: &str = r#"
import sys, zipfile
directory, name, version = sys.argv[1], sys.argv[2], "1.0"
with zipfile.ZipFile(f"{directory}/{name}-{version}-py3-none-any.whl", "w") as wheel:
    info = f"{name}-{version}.dist-info"
    wheel.writestr(f"{name}.py", "WORD = 'private'\n")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
"#;

/// Writes the wheel of a package with this module, whose `WORD` is `private`, to `directory`.
pub(crate) fn write_wheel(directory: &Path, module: &str) -> PathBuf {
    std::fs::create_dir_all(directory).unwrap();
    let status = Command::new("python3").args(["-c", SCRIPT]).arg(directory).arg(module).status();
    assert!(status.unwrap().success());
    directory.join(format!("{module}-1.0-py3-none-any.whl"))
}
