//! Times in milliseconds since 1970 UTC, and their text.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The formats of dates in HTTP headers: that of today, and the obsolete ones that recipients must accept.
const HTTP_DATES: [&str; 3] =
    ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// The current time.
pub fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

/// The current time in microseconds: `2026-11-21T10:00:00.000000Z`.
pub fn now_as_text() -> String {
    format!("{:.6}", Timestamp::now())
}

/// `2026-11-21T10:00:00.000Z`; a time outside of the years -9999 to 9999 stays a number.
pub fn format(milliseconds: i64) -> String {
    let time = Timestamp::from_millisecond(milliseconds);
    time.map_or_else(|_| milliseconds.to_string(), |time| format!("{time:.3}"))
}

/// The time of an ISO 8601 date, or date and time. Without an offset it is in UTC.
pub fn parse(text: &str) -> Option<i64> {
    let with_offset = text.parse::<Timestamp>();
    let time = with_offset.or_else(|_| TimeZone::UTC.to_timestamp(text.parse::<DateTime>()?));
    time.ok().map(Timestamp::as_millisecond)
}

/// The time of a date in an HTTP header.
pub(super) fn parse_http_date(text: &str) -> Option<i64> {
    let parsed = HTTP_DATES.iter().find_map(|format| strtime::parse(format, text).ok())?;
    let date = TimeZone::UTC.to_timestamp(parsed.to_datetime().ok()?).ok()?;
    Some(date.as_millisecond())
}

/// The time from `now` to a date in an HTTP header, or zero if it is in the past.
pub(super) fn until_http_date(text: &str, now: i64) -> Option<Duration> {
    let left = SignedDuration::from_millis(parse_http_date(text)?.saturating_sub(now));
    Some(Duration::try_from(left).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_8601_is_parsed_and_formatted() {
        for (text, formatted) in [
            ("1970-01-01", "1970-01-01T00:00:00.000Z"),
            ("2026-11-21T10:00", "2026-11-21T10:00:00.000Z"),
            ("2024-02-29 23:59:59.9", "2024-02-29T23:59:59.900Z"),
            ("2024-02-29T23:59:59.123456Z", "2024-02-29T23:59:59.123Z"),
            ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"),
            ("2025-12-31T23:30:00-0030", "2026-01-01T00:00:00.000Z"),
            ("1969-12-31T23:59:59.999z", "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(parse(text).map(format).as_deref(), Some(formatted), "{text}");
        }
        for wrong in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1",
            "2026-01-01T",
            "2026-01-01T24:00",
            "2026-01-01T10:00:00.",
            "2026-01-01T10:00+1",
            "2026-01-01T10:00+30:00",
            "2026-01-01T10:00:00ZZ",
            "+026-01-01",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(format(i64::MAX), i64::MAX.to_string());
    }

    #[test]
    fn http_dates_are_parsed() {
        let now = 784_111_747_000;
        let seconds = |text| until_http_date(text, now).map(|it| it.as_secs());
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(30));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:49:37 GMT"), Some(30));
        assert_eq!(seconds("Sun Nov  6 08:49:37 1994"), Some(30));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        assert_eq!(seconds("soon"), None);
    }
}
