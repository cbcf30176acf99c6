//! The command as the user gave it, with further arguments.

use warpstride::text::shell_quoted;

/// The command with the arguments `remedy`, which take the place of the same option.
pub(super) fn given_with(remedy: &str) -> String {
    let mut words = given();
    if let Some(flag) = remedy.split(' ').next() {
        remove(&mut words, flag);
    }
    format!("{} {remedy}", quoted(&words))
}

/// The command with options and values that are missing, as one that reconstructs if it describes
/// the scan.
pub(super) fn given_and_missing(missing: &[(&'static str, String)]) -> String {
    quoted(&completed(given(), missing))
}

fn given() -> Vec<String> {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    std::iter::once("warpstride".to_owned())
        .chain(words)
        .collect()
}

fn quoted(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| shell_quoted(word)).collect();
    words.join(" ")
}

/// Where the option is, and how many words it has with its value.
fn place(words: &[String], flag: &str) -> Option<(usize, usize)> {
    let joined = |word: &String| {
        word.strip_prefix(flag)
            .is_some_and(|rest| rest.starts_with('='))
    };
    let at = words.iter().position(|word| word == flag || joined(word))?;
    Some((at, if joined(&words[at]) { 1 } else { 2 }))
}

fn remove(words: &mut Vec<String>, flag: &str) {
    if let Some((at, count)) = place(words, flag) {
        words.drain(at..(at + count).min(words.len()));
    }
}

fn completed(mut words: Vec<String>, missing: &[(&'static str, String)]) -> Vec<String> {
    let describes = words.get(2).is_some_and(|word| word == "info");
    if describes {
        "reconstruct".clone_into(&mut words[2]);
        words.retain(|word| word != "--json");
    }
    let mut further = Vec::new();
    if describes {
        further.extend(["-o", "result.h5"].map(str::to_owned));
    }
    for (flag, value) in missing {
        // One that was given, such as --raster without a step, is right as it is.
        if place(&words, flag).is_none() {
            further.extend([(*flag).to_owned(), value.clone()]);
        }
    }
    // What is behind `--` are files.
    let end = words.iter().position(|word| word == "--");
    let end = end.unwrap_or(words.len());
    words.splice(end..end, further);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_kept_and_missing_ones_follow() {
        let of = |text: &str| {
            let words = text.split(' ').map(str::to_owned).collect();
            let missing = [("--raster", "3x4".to_owned()), ("--step", "1um".to_owned())];
            quoted(&completed(words, &missing))
        };
        assert_eq!(
            of("warpstride ptycho info a.npy --json --mask m.npy --every 2"),
            "warpstride ptycho reconstruct a.npy --mask m.npy --every 2 -o result.h5 --raster 3x4 --step 1um"
        );
        assert_eq!(
            of("warpstride ptycho info --raster=4x3 -- -a.npy"),
            "warpstride ptycho reconstruct --raster=4x3 -o result.h5 --step 1um -- -a.npy"
        );
        assert_eq!(
            of("warpstride ptycho reconstruct a.npy -o r.h5"),
            "warpstride ptycho reconstruct a.npy -o r.h5 --raster 3x4 --step 1um"
        );
    }

    #[test]
    fn an_option_is_removed_with_its_value() {
        for text in [
            "a --pair by-index b",
            "a --pair=by-index b",
            "a b --pair first",
        ] {
            let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            remove(&mut words, "--pair");
            assert_eq!(words, ["a", "b"]);
        }
    }
}
