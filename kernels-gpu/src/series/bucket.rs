//! The bucket that a timestamp belongs to: a multiple of a granularity from the epoch, or a week, month, quarter,
//! half year or year of the calendar (UTC, proleptic Gregorian; weeks begin on Sunday).
//!
//! Timestamps are nanoseconds since 1970 and not negative. Days are converted to dates in eras of 400 years (146 097
//! days), with the year starting in March; see E. G. Richards, Mapping Time (Oxford 1998).

use bytemuck::{Pod, Zeroable};

/// Nanoseconds in a day.
pub const DAY: u64 = 86_400_000_000_000;

/// A rule that assigns timestamps to buckets, as kernels receive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Bucketing {
    /// Length of a bucket in nanoseconds; 0 for calendar rules.
    pub step: u64,
    /// ⌈2^(63 + shift)/step⌉, which makes the division a multiplication.
    pub magic: u64,
    /// ⌈log₂ step⌉.
    pub shift: u32,
    /// For calendar rules: [`WEEKS`], or the months in a bucket (1, 3, 6, 12).
    pub calendar: u32,
}

/// The value of [`Bucketing::calendar`] for weeks.
pub const WEEKS: u32 = 7;

impl Bucketing {
    /// Buckets of `step` nanoseconds, 1 … 2⁶³ − 1.
    #[must_use]
    pub const fn fixed(step: u64) -> Self {
        let shift = if step <= 1 { 0 } else { (step - 1).ilog2() + 1 };
        // Divisors between 2^(shift − 1) and 2^shift: the quotient has at most 64 bits (Granlund and Montgomery, PLDI
        // 1994, theorem 4.2, for dividends of 63 bits).
        let step_wide = if step == 0 { 1 } else { step as u128 };
        let magic = (1_u128 << (63 + shift)).div_ceil(step_wide) as u64;
        Self {
            step,
            magic,
            shift,
            calendar: 0,
        }
    }

    /// Buckets of `calendar` months (1, 3, 6 or 12), or [`WEEKS`].
    #[must_use]
    pub const fn calendar(calendar: u32) -> Self {
        Self {
            step: 0,
            magic: 0,
            shift: 0,
            calendar,
        }
    }

    /// The bucket's number. Later buckets have greater numbers, and consecutive buckets consecutive ones.
    #[inline(always)]
    #[must_use]
    pub fn index(&self, time: u64) -> u64 {
        match self.calendar {
            0 => ((u128::from(self.magic) * u128::from(time << 1)) >> 64) as u64 >> self.shift,
            // 1970-01-01 was a Thursday: four days after a Sunday.
            WEEKS => (time / DAY + 4) / 7,
            months => u64::from(months_of((time / DAY) as u32) / months),
        }
    }

    /// The first moment of a bucket, in nanoseconds since 1970. It is negative for the week in which 1970 began.
    #[inline(always)]
    #[must_use]
    pub fn start(&self, index: u64) -> i64 {
        match self.calendar {
            0 => (index * self.step) as i64,
            // The bucket after the last moment begins beyond 63 bits, as with the other rules.
            WEEKS => (index as i64 * 7 - 4).wrapping_mul(DAY as i64),
            months => (days_before_month(index * u64::from(months)) * DAY) as i64,
        }
    }
}

/// Months from January 1970 to the month of the day `days` after 1970-01-01. 63 bits of nanoseconds are less than 2¹⁷
/// days.
#[inline(always)]
fn months_of(days: u32) -> u32 {
    // Days from 0000-03-01, divided into eras.
    let z = days + 719_468;
    let of_era = z % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let year = z / 146_097 * 400 + year_of_era;
    // March is month 2 of the year, counted from 0.
    year * 12 + from_march + 2 - 1970 * 12
}

/// Days from 1970-01-01 to the first day of the month that is `months` after January 1970.
#[inline(always)]
fn days_before_month(months: u64) -> u64 {
    let from_march = months + 1970 * 12 - 2;
    let (year, month) = (from_march / 12, from_march % 12);
    let of_era = year % 400;
    let day = (153 * month + 2) / 5 + 365 * of_era + of_era / 4 - of_era / 100;
    year / 400 * 146_097 + day - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_by_multiplication_is_division() {
        let steps = [
            1,
            2,
            3,
            5,
            7,
            35_000_000_000,
            60_000_000_000,
            (1 << 62) - 1,
            1 << 62,
            (1 << 63) - 1,
        ];
        let times = [
            0,
            1,
            2,
            34_999_999_999,
            35_000_000_000,
            1 << 62,
            (1 << 63) - 2,
            (1 << 63) - 1,
        ];
        for step in steps {
            let rule = Bucketing::fixed(step);
            let near = [step - 1, step, step.saturating_mul(2).min((1 << 63) - 1)];
            for time in times.into_iter().chain(near) {
                assert_eq!(rule.index(time), time / step, "{time} / {step}");
                assert_eq!(rule.start(rule.index(time)), (time / step * step) as i64);
            }
        }
    }

    #[test]
    fn months_begin_where_the_calendar_says() {
        // Counts day by day from 1970 to the last year that 63 bits can express.
        let (mut year, mut month, mut day_of_month) = (1970_u64, 0_u64, 0_u64);
        for day in 0..106_751 {
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let lengths = [
                31,
                28 + u64::from(leap),
                31,
                30,
                31,
                30,
                31,
                31,
                30,
                31,
                30,
                31,
            ];
            for months in [1, 3, 6, 12] {
                let rule = Bucketing::calendar(months);
                let index = rule.index(day * DAY + DAY - 1);
                assert_eq!(index, ((year - 1970) * 12 + month) / u64::from(months));
                if day_of_month == 0 && month % u64::from(months) == 0 {
                    assert_eq!(rule.start(index), (day * DAY) as i64, "{year}-{month}");
                }
            }
            let week = Bucketing::calendar(WEEKS);
            let start = week.start(week.index(day * DAY)) / DAY as i64;
            assert!(start <= day as i64 && day as i64 - start < 7);
            assert_eq!((start + 4).rem_euclid(7), 0);
            day_of_month += 1;
            if day_of_month == lengths[month as usize] {
                (day_of_month, month) = (0, month + 1);
            }
            if month == 12 {
                (month, year) = (0, year + 1);
            }
        }
    }
}
