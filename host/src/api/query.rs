//! The URLs of requests: IDs in the path, and query parameters.

use std::ops::RangeInclusive;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::Uri;
use axum::http::request::Parts;
use url::form_urlencoded;
use uuid::Uuid;

use super::answer::{Detail, Refusal};

/// The IDs in a path, all valid UUIDs.
pub(super) struct Ids(Vec<(String, String)>);

impl Ids {
    /// The ID of this name.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, id)| id)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Ids {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|_| Refusal::invalid(&["path"], "Must be UTF-8.", "string_unicode"))?;
        let mut ids = Vec::new();
        let mut details = Vec::new();
        for (name, text) in params.iter().filter(|(name, _)| name.ends_with("_id")) {
            match Uuid::parse_str(text) {
                Ok(id) => ids.push((name.to_owned(), id.to_string())),
                Err(_) => details.push(not_a_uuid(&["path", name])),
            }
        }
        if details.is_empty() { Ok(Self(ids)) } else { Err(Refusal::Invalid(details)) }
    }
}

/// The error of a value that is not a UUID.
pub(super) fn not_a_uuid(loc: &[&str]) -> Detail {
    Detail::new(loc, "Must be a UUID.", "uuid_parsing")
}

/// The query parameters of a request. Their errors are collected.
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    details: Vec<Detail>,
}

impl Query {
    /// The parameters of `uri`.
    pub(crate) fn parse(uri: &Uri) -> Self {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        Self { pairs: pairs.into_owned().collect(), details: Vec::new() }
    }

    fn last(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A text, unless it is empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.last(name).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// A whole number in `range` [default: `default`].
    pub(super) fn integer(&mut self, name: &str, range: RangeInclusive<i64>, default: usize) -> usize {
        let Some(text) = self.last(name) else { return default };
        match text.trim().parse::<i64>() {
            Ok(number) if range.contains(&number) => return usize::try_from(number).unwrap_or(usize::MAX),
            Ok(number) if number < *range.start() => {
                let message = format!("Must be at least {}.", range.start());
                self.refuse(name, message, "greater_than_equal");
            }
            Ok(_) => self.refuse(name, format!("Must be at most {}.", range.end()), "less_than_equal"),
            Err(_) => self.refuse(name, "Must be a whole number.".to_owned(), "int_parsing"),
        }
        default
    }

    /// Offset and limit of a page, at most `most`.
    pub(super) fn page(&mut self, most: i64, default: usize) -> (usize, usize) {
        let limit = self.integer("limit", 1..=most, default);
        (self.integer("offset", 0..=i64::MAX, 0), limit)
    }

    /// A boolean.
    pub(super) fn boolean(&mut self, name: &str) -> Option<bool> {
        let text = self.text(name)?;
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" | "t" | "y" => return Some(true),
            "false" | "0" | "no" | "off" | "f" | "n" => return Some(false),
            _ => self.refuse(name, "Must be true or false.".to_owned(), "bool_parsing"),
        }
        None
    }

    /// One of `words`.
    pub(super) fn word(&mut self, name: &str, words: &[&str]) -> Option<String> {
        let text = self.text(name)?;
        if words.contains(&text.as_str()) {
            return Some(text);
        }
        self.refuse(name, format!("Must be one of {}.", words.join(", ")), "literal_error");
        None
    }

    /// Comma-separated IDs.
    pub(super) fn ids(&mut self, name: &str) -> Option<Vec<String>> {
        let ids = self.list(name)?.into_iter().map(|id| Uuid::parse_str(&id).map(|id| id.to_string()));
        let ids: Result<Vec<String>, _> = ids.collect();
        if ids.is_err() {
            self.details.push(not_a_uuid(&["query", name]));
        }
        ids.ok()
    }

    /// Comma-separated words.
    pub(super) fn list(&self, name: &str) -> Option<Vec<String>> {
        let text = self.text(name)?;
        Some(text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect())
    }

    /// Adds an error about a parameter.
    pub(super) fn refuse(&mut self, name: &str, msg: String, kind: &'static str) {
        self.details.push(Detail::new(&["query", name], msg, kind));
    }

    /// The errors, if there are any.
    pub(super) fn done(self) -> Result<(), Refusal> {
        if self.details.is_empty() { Ok(()) } else { Err(Refusal::Invalid(self.details)) }
    }
}
