//! Numbers such as `1.440089182e9` without their exponent.

/// Most digits of a number without its exponent.
const MOST: usize = 40;

/// A number without an exponent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// `1440089182`, `1440089182.5`.
    pub(super) digits: Vec<u8>,
    /// Number of zeros that stand for digits that were not written.
    pub(super) zeros: u32,
}

/// The number without its exponent; `None` if it has none, or is no such number from 1 on.
pub(super) fn plain(text: &[u8]) -> Option<Plain> {
    let mark = text.iter().position(|b| matches!(b, b'e' | b'E'))?;
    let (mantissa, exponent) = (&text[..mark], std::str::from_utf8(&text[mark + 1..]).ok()?);
    let exponent: usize = exponent
        .strip_prefix('+')
        .unwrap_or(exponent)
        .parse()
        .ok()?;
    let point = mantissa
        .iter()
        .position(|b| *b == b'.')
        .unwrap_or(mantissa.len());
    let (whole, decimals) = mantissa.split_at(point);
    let decimals = decimals.get(1..).unwrap_or_default();
    let all_digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    if whole.is_empty() || !all_digits(whole) || !all_digits(decimals) {
        return None;
    }
    if exponent + whole.len() + decimals.len() > MOST {
        return None;
    }
    let moved = exponent.min(decimals.len());
    let zeros = exponent - moved;
    let mut digits = [whole, &decimals[..moved]].concat();
    digits.resize(digits.len() + zeros, b'0');
    if moved < decimals.len() {
        digits.push(b'.');
        digits.extend_from_slice(&decimals[moved..]);
    }
    Some(Plain {
        digits,
        zeros: zeros as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_moved_by_exponents() {
        for (text, expected) in [
            ("1.440089182e9", Some(("1440089182", 0))),
            ("1.440089182E+09", Some(("1440089182", 0))),
            ("1.4400891825e9", Some(("1440089182.5", 0))),
            ("1.44009e+09", Some(("1440090000", 4))),
            ("17e8", Some(("1700000000", 8))),
            ("1.5e0", Some(("1.5", 0))),
            ("1440089182", None),
            ("1.5e-3", None),
            ("e9", None),
            ("1.2.3e9", None),
            ("-1e9", None),
            ("1e", None),
            ("1e99", None),
        ] {
            let found = plain(text.as_bytes());
            let expected = expected.map(|(digits, zeros): (&str, u32)| Plain {
                digits: digits.as_bytes().to_vec(),
                zeros,
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}
