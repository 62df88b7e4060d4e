//! Times, as the wire has them.

use time::OffsetDateTime;
use time::format_description::well_known::{Iso8601, Rfc3339};

/// Now, to the microsecond: ISO 8601, UTC.
pub(super) fn now() -> String {
    let now = OffsetDateTime::now_utc();
    let now = now.replace_nanosecond(now.nanosecond() / 1000 * 1000).unwrap_or(now);
    now.format(&Rfc3339).unwrap_or_default()
}

/// Milliseconds since 1970, UTC.
pub(super) fn milliseconds() -> i64 {
    of(OffsetDateTime::now_utc())
}

/// The milliseconds since 1970 that an ISO 8601 time names; without an offset it is UTC.
pub(super) fn parse(text: &str) -> Option<i64> {
    // A `+` in a query that was not encoded has become a space.
    let text = text.trim().replace(' ', "+");
    let parsed = OffsetDateTime::parse(&text, &Iso8601::DEFAULT);
    parsed.or_else(|_| OffsetDateTime::parse(&format!("{text}Z"), &Iso8601::DEFAULT)).ok().map(of)
}

fn of(time: OffsetDateTime) -> i64 {
    i64::try_from(time.unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn iso_8601() {
        let noon = Some(1_772_971_200_000);
        for text in [
            "2026-03-08T12:00:00Z",
            "2026-03-08T12:00:00",
            "2026-03-08T12:00:00.000+00:00",
            "2026-03-08T14:00:00 02:00",
        ] {
            assert_eq!(parse(text), noon, "{text}");
        }
        for text in ["", "yesterday", "2026-13-08T12:00:00Z", "12:00"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
