//! Writes the seed corpora: `seeds FOLDER TARGET…`, each to a folder of the target's name in
//! FOLDER; without TARGET, of all.

use std::path::Path;
use warpstride_fuzz::{corpora, targets};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, chosen @ ..] = &arguments[..] else {
        return Err("usage: seeds FOLDER [TARGET...]".into());
    };
    for target in targets::NAMES {
        if chosen.is_empty() || chosen.iter().any(|name| name == target) {
            corpora::write(&Path::new(folder).join(target), target)?;
        }
    }
    Ok(())
}
