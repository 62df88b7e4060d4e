//! Compatibility of wheels, by the tags in their names.

/// Whether the wheel with this file name can be installed on Linux with CPython `python`, given as major.minor. The C
/// library of the image is not known.
pub(super) fn fits(name: &str, python: &str, machine: &str) -> bool {
    let Some(minor) = python.strip_prefix("3.").and_then(|it| it.parse().ok()) else { return true };
    let mut parts = name.trim_end_matches(".whl").rsplit('-');
    let (Some(platforms), Some(abis), Some(pythons)) = (parts.next(), parts.next(), parts.next()) else {
        return true;
    };
    let is_platform = |platform: &str| {
        platform == "any" || (platform.contains("linux") && platform.ends_with(&format!("_{machine}")))
    };
    let is_python = |tag: &str| abis.split('.').any(|abi| is_compatible(tag, abi, minor));
    platforms.split('.').any(is_platform) && pythons.split('.').any(is_python)
}

/// Whether CPython 3.`minor` loads modules with this Python tag and ABI tag.
fn is_compatible(tag: &str, abi: &str, minor: u32) -> bool {
    let own = format!("cp3{minor}");
    let is_up_to = |prefix: &str| {
        let version = tag.strip_prefix(prefix);
        version.is_some_and(|it| it.is_empty() || it.parse().is_ok_and(|version: u32| version <= minor))
    };
    match abi {
        "none" => tag == own || tag == "cp3" || is_up_to("py3"),
        "abi3" => is_up_to("cp3"),
        _ => tag == own && (abi == own || abi == format!("{own}m")),
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn tags() {
        for (name, is_fit) in [
            ("a-1-py3-none-any.whl", true),
            ("a-1-py2.py3-none-any.whl", true),
            ("a-1-py2-none-any.whl", false),
            ("a-1-py311-none-any.whl", true),
            ("a-1-py313-none-any.whl", false),
            ("a-1-1-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", true),
            ("a-1-cp312-cp312-musllinux_1_2_x86_64.whl", true),
            ("a-1-cp312-cp312-manylinux_2_17_aarch64.whl", false),
            ("a-1-cp312-cp312-macosx_11_0_x86_64.whl", false),
            ("a-1-cp312-cp312-win_amd64.whl", false),
            ("a-1-cp311-cp311-linux_x86_64.whl", false),
            ("a-1-cp37-abi3-manylinux2014_x86_64.whl", true),
            ("a-1-cp313-abi3-manylinux2014_x86_64.whl", false),
            ("a-1-cp312-cp312t-manylinux2014_x86_64.whl", false),
            ("a-1-pp310-pypy310_pp73-manylinux2014_x86_64.whl", false),
            ("a-1-py3-none-manylinux2014_x86_64.whl", true),
            ("strange.whl", true),
        ] {
            assert_eq!(fits(name, "3.12", "x86_64"), is_fit, "{name}");
        }
    }
}
