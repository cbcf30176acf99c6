//! A model's formula runs on vector units only if all of it is inlined there: functions of numbers, and the closures
//! that `choose` takes, say so. Without the attribute nothing is wrong but the speed, by a factor of a hundred.

#![cfg(feature = "sas")]

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn formulas_are_inlined() {
    let sas = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sas");
    let mut missing = Vec::new();
    for path in [sas.join("models"), sas.join("functions")]
        .iter()
        .flat_map(|f| sources(f))
    {
        let text = fs::read_to_string(&path).expect("a source");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (i, line) in lines.iter().enumerate() {
            let closure =
                line.starts_with("|| ") || line.contains("(|| ") || line.contains(", || ");
            let function =
                line.contains("fn ") && line.contains("<R: Real") && !line.ends_with(';');
            let said = line.contains("#[inline(always)] ||")
                || lines[i.saturating_sub(4)..i].contains(&"#[inline(always)]");
            if (closure || function) && !line.starts_with("//") && !said {
                missing.push(format!("{}:{}: {line}", path.display(), i + 1));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "#[inline(always)] is missing:\n{}",
        missing.join("\n")
    );
}
