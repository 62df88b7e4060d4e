//! Times in ISO 8601, in UTC where nothing else is said.

use crate::api::wire::Timestamp;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// A time of the service's, as it is asked for and shown.
pub(super) fn of(timestamp: &Timestamp) -> String {
    match timestamp {
        Timestamp::Milliseconds(time) => iso(*time),
        Timestamp::Fraction(time) => iso(time.floor() as i64),
        Timestamp::Text(time) => time.clone(),
    }
}

/// Milliseconds since 1970 as `2026-11-21T10:00:00.000Z`.
pub(super) fn iso(milliseconds: i64) -> String {
    let (days, rest) = (milliseconds.div_euclid(DAY), milliseconds.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (seconds, milliseconds) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// The date of a number of days since 1970. Years begin in March here, so that the leap day is the last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + i64::from(month >= 10);
    (year, if month < 10 { month + 3 } else { month - 9 }, day)
}

/// The days since 1970 of a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A time of the user's in milliseconds since 1970: a date, or a date and a time, with an offset or in UTC.
pub(super) fn parse(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let at = days(year, month, day);
    let of_day = time.map_or(Some(0), of_day)?;
    ((1..=12).contains(&month) && civil(at) == (year, month, day)).then_some(at * DAY + of_day)
}

/// `10:00`, `10:00:00`, `10:00:00.123`, each with `Z`, `+01:00` or nothing behind it.
fn of_day(time: &str) -> Option<i64> {
    let (time, offset) = match time.rfind(['Z', 'z', '+', '-']) {
        None => (time, 0),
        Some(at) => (&time[..at], offset(&time[at..])?),
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let milliseconds: i64 = format!("{fraction:0<3}").get(..3).filter(|_| digits)?.parse().ok()?;
    let [hour, minute, second] = match time.len() {
        5 => numbers(&format!("{time}:00"), ':', [2, 2, 2])?,
        _ => numbers(time, ':', [2, 2, 2])?,
    };
    let is_time = hour < 24 && minute < 60 && second < 60;
    is_time.then_some(((hour * 60 + minute) * 60 + second) * 1000 + milliseconds - offset)
}

/// An offset from UTC in milliseconds.
fn offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let text = text[1..].replace(':', "");
    let (hours, minutes) = (text.get(..2)?, text.get(2..).filter(|rest| !rest.is_empty()).unwrap_or("00"));
    let [hours, minutes] = numbers(&format!("{hours}:{minutes}"), ':', [2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60_000)
}

/// Numbers of just so many digits.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[i64; N]> {
    let parts: Vec<&str> = text.split(separator).collect();
    let mut numbers = [0; N];
    if parts.len() != N {
        return None;
    }
    for (index, part) in parts.iter().enumerate() {
        let is_number = part.len() == digits[index] && part.bytes().all(|byte| byte.is_ascii_digit());
        numbers[index] = part.parse().ok().filter(|_| is_number)?;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, written) in [
            ("1970-01-01", "1970-01-01T00:00:00.000Z"),
            ("2026-11-21T10:00", "2026-11-21T10:00:00.000Z"),
            ("2024-02-29 23:59:59.9", "2024-02-29T23:59:59.900Z"),
            ("2024-02-29T23:59:59.123456Z", "2024-02-29T23:59:59.123Z"),
            ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"),
            ("2025-12-31T23:30:00-0030", "2026-01-01T00:00:00.000Z"),
            ("1969-12-31T23:59:59.999z", "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(parse(text).map(iso).as_deref(), Some(written), "{text}");
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
            "2026-01-01T10:00+25:00",
            "2026-01-01T10:00:00ZZ",
            "+026-01-01",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn every_day_is_one_date() {
        for day in -200_000..200_000 {
            let (year, month, date) = civil(day);
            assert_eq!(days(year, month, date), day);
        }
    }
}
