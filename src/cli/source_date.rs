//! The time of what is made, if it is given, so that it can be made again.

use jiff::Timestamp;

use super::console::visible_line;
use super::env::Env;
use crate::error::Error;

/// The variable, in seconds since 1970.
/// Source: the specification of SOURCE_DATE_EPOCH by Reproducible Builds.
const VARIABLE: &str = "SOURCE_DATE_EPOCH";

/// The time that the environment gives.
pub(super) fn source_date(env: &Env) -> Result<Option<Timestamp>, Error> {
    let Some(text) = env.variable(VARIABLE) else { return Ok(None) };
    let time = text.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let invalid = || {
        let hint = "set it to seconds since 1970, or unset it";
        Error::usage(format!("{VARIABLE} is not a time: `{}`", visible_line(&text)), hint)
    };
    time.map(Some).ok_or_else(invalid)
}
