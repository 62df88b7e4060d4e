//! Names and platforms of images in options.

use crate::compiler::manifests::image_name::ImageName;
use crate::error::Error;

/// Returns the name of an image unchanged.
///
/// # Errors
///
/// Why it is not a valid name, as a lowercase fragment.
pub fn parse(text: &str) -> Result<String, String> {
    ImageName::parse(text).map(|_| text.to_owned()).map_err(str::to_owned)
}

/// Names of architectures that kernels have, and engines' names for them.
const ARCHITECTURES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];

/// A platform in the form `os/arch` or `os/arch/variant`, with the name of the architecture that engines have.
///
/// # Errors
///
/// It is of another form.
pub fn platform(text: &str) -> Result<String, Error> {
    let platform = text.trim();
    let mut parts: Vec<&str> = platform.split('/').collect();
    let is_word =
        |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if (2..=3).contains(&parts.len()) && parts.iter().all(is_word) {
        if let Some((_, name)) = ARCHITECTURES.iter().find(|(other, _)| *other == parts[1]) {
            parts[1] = name;
        }
        return Ok(parts.join("/"));
    }
    let hint = "write it as os/arch, such as linux/amd64 or linux/arm64";
    Err(Error::usage(format!("`{platform}` is not a platform"), hint))
}
