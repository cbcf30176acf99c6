//! Numbers of things.

use std::fmt::Display;

/// `1 row`, `2 rows`: a number and the noun that agrees with it, from its singular and plural.
#[must_use]
pub fn count<N: Display + PartialEq + From<u8>>(number: N, [one, several]: [&str; 2]) -> String {
    let noun = if number == N::from(1) { one } else { several };
    format!("{number} {noun}")
}

/// Most ranges of numbers that a text lists.
const MOST_RANGES: usize = 40;

/// `7-9,30-31,50`: numbers in ascending order, of which those that follow one another are a range;
/// of many ranges the first ones.
#[must_use]
pub fn ranges(numbers: &[usize]) -> String {
    let mut ranges: Vec<[usize; 2]> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some([_, last]) if *last + 1 == *number => *last = *number,
            _ => ranges.push([*number; 2]),
        }
    }
    let more = if ranges.len() > MOST_RANGES {
        ",…"
    } else {
        ""
    };
    let each: Vec<String> = (ranges.iter().take(MOST_RANGES))
        .map(|[first, last]| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    each.join(",") + more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_number() {
        let batches = ["batch", "batches"];
        assert_eq!(count(0_usize, batches), "0 batches");
        assert_eq!(count(1_u64, batches), "1 batch");
        assert_eq!(count(2_usize, batches), "2 batches");
    }

    #[test]
    fn numbers_that_follow_one_another_are_ranges() {
        assert_eq!(ranges(&[7, 8, 9, 30, 31, 50]), "7-9,30-31,50");
        assert_eq!(ranges(&[]), "");
        let many: Vec<usize> = (0..100).map(|n| 2 * n).collect();
        assert!(ranges(&many).ends_with(",76,78,…"));
    }
}
