//! The names of curves, in as many lines as they take.

use super::super::canvas::width_of;

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
pub(super) fn entries(names: &[&str], width: usize, key: usize, gap: usize) -> Vec<Entry> {
    let (mut left, mut line) = (0, 0);
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        let name = shortened(name);
        let taken = key + width_of(&name);
        if left > 0 && left + taken > width {
            (left, line) = (0, line + 1);
        }
        entries.push(Entry { name, left, line });
        left += taken + gap;
    }
    entries
}

/// Long names differ at their ends more often than in the middle.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= MOST {
        return name.to_owned();
    }
    let behind = MOST / 2;
    let before = MOST - 1 - behind;
    let end = &letters[letters.len() - behind..];
    letters[..before].iter().chain(&['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_middle_and_lines_are_no_wider_than_asked() {
        let host = "a-datacentre.with.a-long-name.host-";
        let names: Vec<String> = (0..8).map(|n| format!("{host}{n}.cpu")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let entries = entries(&names, 1400, 22, 32);
        for (n, entry) in entries.iter().enumerate() {
            assert_eq!(entry.name.chars().count(), MOST);
            assert!(entry.name.starts_with("a-datacentre") && entry.name.contains('…'));
            assert!(entry.name.ends_with(&format!("-{n}.cpu")), "{}", entry.name);
            assert!(entry.left + 22 + width_of(&entry.name) <= 1400);
            assert_eq!((entry.line, entry.left > 0), (n / 2, n % 2 == 1));
        }
        let short = super::entries(&["a", "bc"], 1400, 22, 32);
        assert_eq!(short[1].left, 22 + width_of("a") + 32);
        assert_eq!((short[1].line, short[1].name.as_str()), (0, "bc"));
    }
}
