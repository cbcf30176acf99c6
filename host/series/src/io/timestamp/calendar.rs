//! The calendar.

pub(super) const SECOND: i64 = 1_000_000_000;
pub(super) const DAY_SECONDS: i64 = 86_400;

/// Year, month, day.
pub(super) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (era * 400 + year + i64::from(month < 3), month, day)
}

/// Number of days of a month.
pub(super) fn days_of_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years start in March, so that the leap day is the last day.
pub(super) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month < 3);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Whether a number is `YYYYMMDD` of 1900 to 2100.
pub(super) fn is_date(number: u64) -> bool {
    let (year, month, day) = (number / 10_000, number / 100 % 100, number % 100);
    (1900..=2100).contains(&year)
        && (1..=12).contains(&month)
        && day >= 1
        && day as i64 <= days_of_month(year as i64, month as i64)
}

/// Whether a number is `YYYYMMDDhhmm`.
#[cold]
pub(super) fn is_minute(number: u64) -> bool {
    is_date(number / 10_000) && number / 100 % 100 < 24 && number % 100 < 60
}
