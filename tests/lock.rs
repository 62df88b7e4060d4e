//! `agentcli lock`, and the commands that use its file.

#[cfg(feature = "system-tests")]
mod registry;
mod usage;

/// The text of a file for this server with these images, and the digest of each.
fn text(server: &str, images: &[(&str, char)]) -> String {
    let image = |(name, digit): &(&str, char)| {
        let digest = digest(*digit);
        format!(
            "\n[[image]]\nname = \"{name}\"\ndigest = \"{digest}\"\n\n[image.platforms]\n\"linux/amd64\" = \"{digest}\"\n"
        )
    };
    let images: String = images.iter().map(image).collect();
    format!("version = 1\n\n[server]\nname = \"{server}\"\n{images}")
}

/// A digest of one digit.
fn digest(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}
