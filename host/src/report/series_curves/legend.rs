//! The names of curves, in as many lines as they take.

use super::super::canvas::width_of;
use std::ops::Range;

/// Most letters of a name: two of them fit into a line.
const MOST: usize = 36;

/// Where a name stands.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// From the left, pixels.
    pub(super) left: usize,
    /// From 0.
    pub(super) line: usize,
}

/// Places for names in lines of `width` pixels, each with `key` pixels before it and `gap` behind it.
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

/// Names without what they have in common, as far as they are too long; what makes them differ stays if it can.
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

/// The letters `own` of a name and as many around them as fit; their ends, if even they do not.
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
    fn what_makes_long_names_differ_stays() {
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
        // Where all of it differs, and where nothing does.
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
    fn lines_are_no_wider_than_asked() {
        let names = vec!["n".repeat(MOST); 8];
        for (n, entry) in entries(&names, 1400, 22, 32).iter().enumerate() {
            assert!(entry.left + 22 + width_of(&entry.name) <= 1400);
            assert_eq!((entry.line, entry.left > 0), (n / 2, n % 2 == 1));
        }
        let short = entries(&["a".to_owned(), "bc".to_owned()], 1400, 22, 32);
        assert_eq!((short[1].left, short[1].line), (22 + width_of("a") + 32, 0));
    }
}
