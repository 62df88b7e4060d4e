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

/// A platform in the form `os/arch` or `os/arch/variant`.
///
/// # Errors
///
/// It is of another form.
pub fn platform(text: &str) -> Result<String, Error> {
    let platform = text.trim();
    let parts: Vec<&str> = platform.split('/').collect();
    let is_word =
        |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if (2..=3).contains(&parts.len()) && parts.iter().all(is_word) {
        return Ok(platform.to_owned());
    }
    let hint = "write it as os/arch, such as linux/amd64 or linux/arm64";
    Err(Error::usage(format!("`{platform}` is not a platform"), hint))
}
