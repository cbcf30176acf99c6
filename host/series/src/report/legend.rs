//! The legend: names of curves on as many lines as needed.

use std::ops::Range;
use warpstride_report::canvas::width_of;

/// Largest number of letters in a name, so that two names fit on a line.
const MOST: usize = 36;

/// A name and its position.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Distance from the left in pixels.
    pub(super) left: usize,
    /// Line number, from 0.
    pub(super) line: usize,
}

/// Positions names on lines of `width` pixels, each with `key` pixels before it and `gap` pixels
/// after it.
pub(super) fn entries(names: &[String], width: usize, key: usize, gap: usize) -> Vec<Entry> {
    let (mut left, mut line) = (0, 0);
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        let taken = key + width_of(name);
        if left > 0 && left + taken > width {
            (left, line) = (0, line + 1);
        }
        let name = name.clone();
        entries.push(Entry { name, left, line });
        left += taken + gap;
    }
    entries
}

/// Shortens long names by omitting their common parts, and keeps the distinguishing parts if
/// possible.
pub(super) fn shortened(names: &[&str]) -> Vec<String> {
    let letters: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let Some((first, others)) = letters.split_first() else {
        return Vec::new();
    };
    let same = |a: &mut dyn Iterator<Item = &char>, b: &mut dyn Iterator<Item = &char>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let shortest = letters.iter().map(Vec::len).min().unwrap_or(0);
    let ahead = others
        .iter()
        .map(|o| same(&mut first.iter(), &mut o.iter()));
    let ahead = ahead.min().unwrap_or(shortest).min(shortest);
    let behind = others
        .iter()
        .map(|o| same(&mut first.iter().rev(), &mut o.iter().rev()));
    let behind = behind.min().unwrap_or(0).min(shortest - ahead);
    let short = |name: &Vec<char>| match name.len() {
        ..=MOST => name.iter().collect(),
        length => around(name, ahead..length - behind),
    };
    letters.iter().map(short).collect()
}

/// The letters `own` of a name and as many around them as fit; if they do not fit, the ends of the
/// name.
fn around(name: &[char], own: Range<usize>) -> String {
    if own.is_empty() || own.len() + 2 > MOST {
        let behind = MOST / 2;
        let before = MOST - 1 - behind;
        let end = &name[name.len() - behind..];
        return name[..before].iter().chain(&['…']).chain(end).collect();
    }
    let spare = MOST - 2 - own.len();
    let after = (name.len() - own.end).min(spare / 2);
    let before = own.start.min(spare - after);
    let after = (name.len() - own.end).min(spare - before);
    let (begin, end) = (own.start - before, own.end + after);
    let mut text = String::new();
    text.extend((begin > 0).then_some('…'));
    text.extend(&name[begin..end]);
    text.extend((end < name.len()).then_some('…'));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishing_parts_of_long_names_are_kept() {
        let names: Vec<String> = (0..8)
            .map(|n| format!("a-datacentre.with-a-long-name.host-{n}.example.com/cpu/load/1m"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let short = shortened(&names);
        for (n, name) in short.iter().enumerate() {
            assert_eq!(name.chars().count(), MOST, "{name}");
            assert!(name.starts_with('…') && name.ends_with('…'), "{name}");
            assert!(name.contains(&format!(".host-{n}.")), "{name}");
        }
        // Names that differ completely, and equal names.
        let own = ["x".repeat(50), "y".repeat(60)];
        for names in [
            vec![own[0].as_str(), own[1].as_str()],
            vec![names[0]; 2],
            vec![names[0]],
        ] {
            for name in shortened(&names) {
                assert_eq!(name.chars().count(), MOST, "{name}");
                assert!(name.contains('…') && !name.starts_with('…'), "{name}");
            }
        }
        assert_eq!(shortened(&["a", "a.b"]), ["a", "a.b"]);
        assert!(shortened(&[]).is_empty());
    }

    #[test]
    fn lines_fit_the_width() {
        let names = vec!["n".repeat(MOST); 8];
        for (n, entry) in entries(&names, 1400, 22, 32).iter().enumerate() {
            assert!(entry.left + 22 + width_of(&entry.name) <= 1400);
            assert_eq!((entry.line, entry.left > 0), (n / 2, n % 2 == 1));
        }
        let short = entries(&["a".to_owned(), "bc".to_owned()], 1400, 22, 32);
        assert_eq!((short[1].left, short[1].line), (22 + width_of("a") + 32, 0));
    }
}
