//! Numbers of things.

use std::fmt::Display;

/// `1 row`, `2 rows`: a number and the noun that agrees with it, from its singular and plural.
#[must_use]
pub fn count<N: Display + PartialEq + From<u8>>(number: N, [one, several]: [&str; 2]) -> String {
    let noun = if number == N::from(1) { one } else { several };
    format!("{number} {noun}")
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
}
