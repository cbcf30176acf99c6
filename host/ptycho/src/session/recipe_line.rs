//! The line of an option in a recipe's text.

use crate::EngineName;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line, from 1, on which `text` sets `option`, such as `data.paths.mask` or `dm.alpha`. `None`
/// if it does not, or if several engines of the name do.
pub(crate) fn line_of(text: &str, option: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut keys: Vec<&str> = option.split('.').collect();
    let last = keys.pop()?;
    let start = match keys[..] {
        [engine] if EngineName::from_name(engine).is_some() => {
            engine_option(root.get_ref(), engine, last)?
        }
        _ => {
            let mut table = root.get_ref();
            for key in keys {
                table = table.get(key)?.get_ref().as_table()?;
            }
            table.get(last)?.span().start
        }
    };
    let before = text.as_bytes().get(..start)?;
    Some(before.iter().filter(|byte| **byte == b'\n').count() + 1)
}

/// Where the only engine `name` that sets `option` does so.
fn engine_option(root: &DeTable<'_>, name: &str, option: &str) -> Option<usize> {
    let engines = root.get("engines")?.get_ref().as_array()?;
    let named = |engine: &&DeTable<'_>| {
        let found = engine.get("name").map(Spanned::get_ref);
        found.and_then(DeValue::as_str) == Some(name)
    };
    let tables = engines.iter().filter_map(|e| e.get_ref().as_table());
    let mut starts = tables
        .filter(named)
        .filter_map(|engine| Some(engine.get(option)?.span().start));
    let first = starts.next()?;
    starts.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_in_tables_and_engines() {
        let text = "seed = 1\n[data]\ncrop = [\n 0, 1]\n[[engines]]\nname = \"dm\"\niterations = 3\nalpha = 0.0\n[[engines]]\nname = \"raar\"\niterations = 3\n";
        for (option, line) in [
            ("seed", Some(1)),
            ("data.crop", Some(3)),
            ("dm.alpha", Some(8)),
            ("raar.iterations", Some(11)),
            ("raar.beta", None),
            ("probe.aperture", None),
        ] {
            assert_eq!(line_of(text, option), line, "{option}");
        }
        let twice = text.replace("raar", "dm");
        assert_eq!(line_of(&twice, "dm.iterations"), None);
    }
}
