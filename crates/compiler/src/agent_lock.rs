//! `agent.lock`: the images of a project by digest, and the version of its server. No other lock file has these.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use toml::Spanned;

use crate::front::base_image;
use crate::front::config::{Config, Variant};
use crate::manifests::Broken;
use crate::manifests::image_name::{ImageName, is_sha256, without_digest};
use crate::server::product::State;
use crate::server::setup;

/// The name of the file, which is beside the configuration.
pub const NAME: &str = "agent.lock";

/// The version of the format.
const VERSION: u32 = 1;

/// The first line of the file.
const HEADING: &str = "# Written by `agentcli lock`. Commit it: builds with --locked use these images.";

/// The content of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentLock {
    server: Server,
    /// Sorted by name.
    images: Vec<LockedImage>,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The name, as for `--server`.
    name: String,
    /// The version, if it is known without the image.
    version: Option<String>,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedImage {
    /// The name without a digest.
    pub name: String,
    /// The digest of the image, or of the index of several platforms.
    pub digest: String,
    /// The digests of the platforms, such as `linux/amd64`.
    pub platforms: BTreeMap<String, String>,
}

/// What the file of a configuration has to hold.
#[derive(Clone, Debug)]
pub struct Wanted {
    server: Server,
    /// Base image.
    pub base: String,
    /// Images of the services beside the server, which `up`, `compose` and `manifests` run.
    pub services: Vec<String>,
}

impl Wanted {
    /// For `config`.
    pub fn new(config: &Config) -> Self {
        let installation =
            config.server.installation.as_ref().filter(|_| config.variant() != Variant::Javascript);
        let installed = installation.map(|it| it.version.to_owned());
        let version = installed.or_else(|| base_image::server_version(config));
        let services = match config.server.state {
            State::Databases { .. } => setup::DATABASES,
            State::Directory { .. } => &[],
        };
        Self {
            server: Server { name: config.server.name.to_owned(), version },
            base: base_image::base_image(config).reference,
            services: services.iter().map(|service| service.image.to_owned()).collect(),
        }
    }

    /// The names of all images.
    pub fn images(&self) -> impl Iterator<Item = &String> {
        [&self.base].into_iter().chain(&self.services)
    }
}

impl AgentLock {
    /// The file for `wanted` with these images.
    pub fn new(wanted: &Wanted, mut images: Vec<LockedImage>) -> Self {
        images.sort_by(|one, other| one.name.cmp(&other.name));
        images.dedup_by(|one, other| one.name == other.name);
        Self { server: wanted.server.clone(), images }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// The text is not TOML, or of another form or version.
    pub fn parse(text: &str) -> Result<Self, Broken> {
        let Head { version } = toml::from_str(text).map_err(broken)?;
        if version.get_ref() != &i64::from(VERSION) {
            return Err(Broken {
                message: format!("it has version {}, and this agentcli reads {VERSION}", version.get_ref()),
                span: version.span(),
                help: Some("use the agentcli that wrote it, or a newer one".to_owned()),
            });
        }
        let Text { server, image, .. } = toml::from_str(text).map_err(broken)?;
        check(&server.name, is_word(server.name.get_ref()), "invalid server name")?;
        if let Some(version) = &server.version {
            check(version, is_word(version.get_ref()), "invalid server version")?;
        }
        let mut images: Vec<LockedImage> = Vec::new();
        for Entry { name, digest, platforms } in image {
            let is_name = ImageName::parse(name.get_ref()).is_ok_and(|it| it.digest.is_none());
            check(&name, is_name, "invalid image name; it must not have a digest")?;
            let is_new = images.iter().all(|it| it.name != *name.get_ref());
            check(&name, is_new, "duplicate image name")?;
            for digest in platforms.values().chain([&digest]) {
                check(
                    digest,
                    is_sha256(digest.get_ref()),
                    "invalid digest; expected `sha256:` and 64 hex digits",
                )?;
            }
            for (platform, digest) in &platforms {
                check(digest, is_word(platform), "invalid platform; expected one such as `linux/amd64`")?;
            }
            let platforms = platforms.into_iter().map(|(name, digest)| (name, digest.into_inner())).collect();
            images.push(LockedImage { name: name.into_inner(), digest: digest.into_inner(), platforms });
        }
        images.sort_by(|one, other| one.name.cmp(&other.name));
        let version = server.version.map(Spanned::into_inner);
        Ok(Self { server: Server { name: server.name.into_inner(), version }, images })
    }

    /// The text of the file.
    pub fn write(&self) -> String {
        let mut text =
            format!("{HEADING}\nversion = {VERSION}\n\n[server]\nname = \"{}\"\n", self.server.name);
        if let Some(version) = &self.server.version {
            text += &format!("version = \"{version}\"\n");
        }
        for LockedImage { name, digest, platforms } in &self.images {
            text += &format!("\n[[image]]\nname = \"{name}\"\ndigest = \"{digest}\"\n");
            text += "\n[image.platforms]\n";
            text.extend(platforms.iter().map(|(name, digest)| format!("\"{name}\" = \"{digest}\"\n")));
        }
        text
    }

    /// The images, by name.
    pub fn images(&self) -> &[LockedImage] {
        &self.images
    }

    /// The image that `name` asks for, which may have a digest.
    pub fn image(&self, name: &str) -> Option<&LockedImage> {
        self.images.iter().find(|image| image.is_asked_for_by(name))
    }

    /// `name` with its digest, if it is here.
    pub fn pinned(&self, name: &str) -> String {
        self.image(name).map_or_else(|| name.to_owned(), LockedImage::pinned)
    }

    /// The names with digests, by name.
    pub fn pins(&self) -> BTreeMap<String, String> {
        self.images.iter().map(|image| (image.name.clone(), image.pinned())).collect()
    }

    /// The differences to the file that `wanted` asks for, as lines that start with `-` for what only this file has, and
    /// with `+` for what it lacks. Services that it lacks count if their image `is_needed`.
    pub fn differences(&self, wanted: &Wanted, is_needed: impl Fn(&str) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        if self.server != wanted.server {
            lines.extend([format!("- server {}", self.server), format!("+ server {}", wanted.server)]);
        }
        for image in &self.images {
            if wanted.images().any(|name| image.is_asked_for_by(name)) {
                continue;
            }
            let has_name = wanted.images().any(|name| without_digest(name) == image.name);
            lines.push(format!("- {}", if has_name { image.pinned() } else { image.name.clone() }));
        }
        let needed = wanted.images().filter(|name| **name == wanted.base || is_needed(name));
        lines.extend(needed.filter(|name| self.image(name).is_none()).map(|name| format!("+ {name}")));
        lines
    }
}

impl LockedImage {
    /// The name with the digest.
    pub fn pinned(&self) -> String {
        format!("{}@{}", self.name, self.digest)
    }

    /// Whether it has an image for `platform`, as far as is known. A variant may be left out.
    pub fn has_platform(&self, platform: &str) -> bool {
        let is_part = |whole: &str, part: &str| {
            whole.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut known = self.platforms.keys();
        self.platforms.is_empty() || known.any(|it| is_part(it, platform) || is_part(platform, it))
    }

    /// Whether `name` asks for it, which may have a digest.
    fn is_asked_for_by(&self, name: &str) -> bool {
        let digest = ImageName::parse(name).ok().and_then(|name| name.digest);
        without_digest(name) == self.name && digest.is_none_or(|digest| digest == self.digest)
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.version.iter().try_for_each(|version| write!(f, " {version}"))
    }
}

/// Whether this can be a platform, or a name or version of a server, which a file has in quotes.
pub fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+".contains(c))
}

/// The part of the file that all versions have.
#[derive(Deserialize)]
struct Head {
    version: Spanned<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(rename = "version")]
    _version: u32,
    server: ServerEntry,
    #[serde(default)]
    image: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerEntry {
    name: Spanned<String>,
    version: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    digest: Spanned<String>,
    #[serde(default)]
    platforms: BTreeMap<String, Spanned<String>>,
}

fn broken(error: toml::de::Error) -> Broken {
    let message = error.message().lines().next().unwrap_or_default().to_owned();
    Broken { message, span: error.span().unwrap_or_default(), help: None }
}

fn check(value: &Spanned<String>, is_right: bool, message: &str) -> Result<(), Broken> {
    if is_right {
        return Ok(());
    }
    Err(Broken { message: message.to_owned(), span: value.span(), help: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::dialect::Dialect;
    use crate::server::product::Product;

    fn wanted(members: &str, server: &str) -> Wanted {
        let value =
            serde_json::from_str(&format!(r#"{{ "graphs": {{ "a": "a.py:g" }} {members} }}"#)).unwrap();
        let config = Config::new(value, Dialect::default());
        Wanted::new(&Config { server: Product::named(server).unwrap(), ..config })
    }

    fn digest(digit: char) -> String {
        format!("sha256:{}", digit.to_string().repeat(64))
    }

    fn image(name: &str, digit: char) -> LockedImage {
        let platforms = [("linux/arm64", 'b'), ("linux/amd64", 'a')];
        let platforms = platforms.map(|(name, digit)| (name.to_owned(), digest(digit)));
        LockedImage { name: name.to_owned(), digest: digest(digit), platforms: platforms.into() }
    }

    fn all(wanted: &Wanted) -> AgentLock {
        AgentLock::new(wanted, wanted.images().map(|name| image(without_digest(name), '0')).collect())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let wanted = wanted(r#", "api_version": "0.8""#, "licensed");
        let lock = all(&wanted);
        let text = lock.write();
        let (index, amd64, arm64) = (digest('0'), digest('a'), digest('b'));
        let start = format!(
            "{HEADING}\nversion = 1\n\n[server]\nname = \"licensed\"\nversion = \"0.8\"\n\n[[image]]\n\
             name = \"langchain/langgraph-api:0.8-py3.11\"\ndigest = \"{index}\"\n\n[image.platforms]\n\
             \"linux/amd64\" = \"{amd64}\"\n\"linux/arm64\" = \"{arm64}\"\n\n[[image]]\nname = \"pgvector/"
        );
        assert!(text.starts_with(&start), "{text}");
        assert_eq!(AgentLock::parse(&text), Ok(lock.clone()));
        assert_eq!(lock.differences(&wanted, |_| true), [""; 0]);
        assert_eq!(lock.pinned(&wanted.base), format!("{}@{index}", wanted.base));
        assert_eq!(lock.pinned("other"), "other");
        let image = lock.image(&wanted.base).unwrap();
        assert!(["linux/amd64", "linux/arm64", "linux/arm64/v8"].iter().all(|it| image.has_platform(it)));
        assert!(["linux/arm", "linux/s390x", "windows/amd64"].iter().all(|it| !image.has_platform(it)));
    }

    #[test]
    fn differences_name_both_sides() {
        let lock = all(&wanted("", "licensed"));
        let changed = |members: &str, server: &str| lock.differences(&wanted(members, server), |_| true);
        assert_eq!(
            changed(r#", "python_version": "3.12""#, "licensed"),
            ["- langchain/langgraph-api:3.11", "+ langchain/langgraph-api:3.12"]
        );
        let memory = changed("", "memory");
        assert_eq!(memory[..2], ["- server licensed", "+ server memory 0.16.7"]);
        assert_eq!(memory[2..].iter().filter(|line| line.starts_with("- ")).count(), 3);
        assert_eq!(memory[5..], ["+ python:3.11-slim"]);
        let pinned = |digit| format!(r#", "base_image": "langchain/langgraph-api:3.11@{}""#, digest(digit));
        assert_eq!(changed(&pinned('0'), "licensed"), [""; 0]);
        assert_eq!(
            changed(&pinned('1'), "licensed"),
            ['0', '1'].map(|it| format!(
                "{} langchain/langgraph-api:3.11@{}",
                if it == '0' { '-' } else { '+' },
                digest(it)
            ))
        );
        let wanted = wanted("", "licensed");
        let lock = AgentLock::new(&wanted, vec![image(&wanted.base, '0')]);
        assert_eq!(lock.differences(&wanted, |_| false), [""; 0]);
        assert_eq!(lock.differences(&wanted, |_| true), ["+ redis:6", "+ pgvector/pgvector:pg16"]);
    }

    #[test]
    fn broken_files_are_refused_with_the_place() {
        let good = all(&wanted("", "licensed")).write();
        for (from, to, at, message) in [
            ("version = 1", "version = 2", "2", "it has version 2, and this agentcli reads 1"),
            ("version = 1", "version = \"1\"", "\"1\"", "invalid type: string \"1\", expected i64"),
            ("version = 1", "versions = 1", "# W", "missing field `version`"),
            ("[server]", "[server", "\nname", "unclosed table"),
            ("\"redis:6\"", "\"redis:6@a\"", "\"redis:6@a\"", "invalid image name"),
            (
                "\"redis:6\"",
                "\"pgvector/pgvector:pg16\"",
                "\"pgvector/pgvector:pg16\"",
                "duplicate image name",
            ),
            ("digest = \"sha256:0", "digest = \"sha256:Z", "\"sha256:Z", "invalid digest"),
            ("\"linux/amd64\" = \"sha256:a", "\"linux/amd64\" = \"md5:a", "\"md5:a", "invalid digest"),
            ("digest = ", "hash = ", "hash", "unknown field `hash`"),
            ("\"linux/amd64\"", "'a\"b'", "\"sha256:a", "invalid platform"),
            ("\"licensed\"", "'a\"b'", "'a\"b'", "invalid server name"),
        ] {
            let text = good.replacen(from, to, 1);
            let broken = AgentLock::parse(&text).unwrap_err();
            assert!(broken.message.starts_with(message), "{to}: {broken:?}");
            assert!(
                text[broken.span.start..].starts_with(at),
                "{to}: {broken:?} {}",
                &text[broken.span.start..]
            );
        }
    }
}
