//! Parses values.

/// Powers of ten that are exact as doubles.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The double nearest to `text`, parsed like `str::parse`: `-12.5`, `1e-3`, `inf`, `nan`; `None` if
/// digits exceed the largest double.
///
/// If the digits without the point are at most 2⁵³ and there are up to 22 decimals, digits and
/// power of ten are exact doubles, so their quotient is correctly rounded (W. D. Clinger, PLDI
/// 1990). The standard library parses the rest.
#[inline]
pub(super) fn value(text: &[u8]) -> Option<f64> {
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    // 18 digits and a point; more could overflow.
    if (1..=19).contains(&unsigned.len()) {
        let (mut digits, mut point) = (0_u64, usize::MAX);
        for (position, byte) in unsigned.iter().enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit <= 9 {
                digits = digits * 10 + u64::from(digit);
            } else if *byte == b'.' && point == usize::MAX {
                point = position;
            } else {
                return other(text);
            }
        }
        let decimals = unsigned.len().saturating_sub(point.saturating_add(1));
        let has_digits = point == usize::MAX || unsigned.len() > 1;
        if has_digits && digits <= 1 << 53 {
            let value = digits as f64 / EXACT[decimals];
            return Some(if negative { -value } else { value });
        }
    }
    other(text)
}

/// The same with a comma before the decimals: `-12,5`. A point is refused, as it may separate
/// thousands.
pub(super) fn value_with_comma(text: &[u8]) -> Option<f64> {
    if text.contains(&b'.') {
        return None;
    }
    match text.iter().position(|b| *b == b',') {
        None => value(text),
        Some(at) => {
            let mut text = text.to_vec();
            text[at] = b'.';
            value(&text)
        }
    }
}

#[cold]
fn other(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    // Digits that exceed the largest double are not an infinity.
    (value.is_finite() || !text.iter().any(u8::is_ascii_digit)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(text: &str) {
        let digits = text.bytes().any(|b| b.is_ascii_digit());
        let expected = text.parse::<f64>().ok();
        let expected = expected
            .filter(|v| !(v.is_infinite() && digits))
            .map(f64::to_bits);
        assert_eq!(
            value(text.as_bytes()).map(f64::to_bits),
            expected,
            "{text:?}"
        );
    }

    #[test]
    fn agrees_with_the_standard_library() {
        for text in [
            "",
            "-",
            ".",
            "-.",
            "5.",
            ".5",
            "-.5",
            "+5",
            "0",
            "-0",
            "-0.0",
            "00012.50",
            "1.5.5",
            "1,5",
            "9007199254740992",
            "9007199254740993",
            "9007199254740991.5",
            "999999999999999999",
            "9999999999999999999",
            "18446744073709551616",
            "0.30000000000000004",
            "1e5",
            "1E-5",
            "1e400",
            "2.2250738585072014e-308",
            "4.9e-324",
            "1e-400",
            "inf",
            "-inf",
            "Infinity",
            "nan",
            "NaN",
            "-nan",
            "1_000",
            " 1",
            "1 ",
            "0x10",
            "1e",
            "e5",
            "--5",
            "0.1234567890123456789",
            "123456789012345678.",
        ] {
            same(text);
        }
        assert_eq!(value(b"\xff"), None);
    }

    #[test]
    fn commas_stand_before_decimals_if_asked() {
        for (text, expected) in [
            ("1,5", Some(1.5)),
            ("-0,25", Some(-0.25)),
            ("7", Some(7.0)),
            ("1,5e3", Some(1500.0)),
            ("1.234", None),
            ("1.234,5", None),
            ("1,234,5", None),
        ] {
            assert_eq!(value_with_comma(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn shortest_representations_are_restored(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            same(&format!("{number}"));
            same(&format!("{number:e}"));
        }

        #[test]
        fn decimals_are_correctly_rounded(whole in any::<u64>(), point in 0_usize..20, negative: bool) {
            let digits = whole.to_string();
            let point = point.min(digits.len());
            let sign = if negative { "-" } else { "" };
            same(&format!("{sign}{}.{}", &digits[..point], &digits[point..]));
            same(&format!("{sign}{whole}"));
        }

        #[test]
        fn agrees_with_the_standard_library_on_any_text(text in "[0-9.eE+\\-naif]{0,24}") {
            same(&text);
        }
    }
}
