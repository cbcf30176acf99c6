//! From what, and how, a file was made: groups of the class NXprocess in scans and results.
//!
//! NeXus: <https://manual.nexusformat.org/classes/base_classes/NXprocess.html> (program, version,
//! sequence_index, and notes of the class NXnote). There is no date, so that nothing in a file
//! depends on when it was written but what HDF5 itself notes.

use hdf5_metno as hdf5;
use serde::Serialize;
use std::fmt;
use std::path::Path;
use warpstride_core::system::{Bytes, Memory};
use warpstride_core::text::visible;
use warpstride_files::output;
use warpstride_files::source::{Source, is_hdf5};

const PROGRAM: &str = "warpstride";
/// The class of the group of a step of processing.
const CLASS: &str = "NXprocess";
/// Most groups that are read.
const MOST_PROCESSES: usize = 99;
/// Most files that the text of a process names.
const MOST_NAMED: usize = 4;

/// A file from which another one was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceFile {
    /// The file, as given.
    pub name: String,
    /// Its length; `None` if it is not known.
    pub bytes: Option<u64>,
}

/// A run of a program that has made a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Process {
    /// Name of the program.
    pub program: String,
    /// Version of the program.
    pub version: String,
    /// The files that were read.
    pub sources: Vec<SourceFile>,
    /// The options, TOML; empty if they are elsewhere.
    pub recipe: String,
    /// What was read and done, one sentence each.
    pub notes: Vec<String>,
    /// SHA-256 of counts, mask, positions and geometry, hexadecimal ([`crate::fingerprint`]); empty
    /// if it was not computed.
    pub scan_sha256: String,
}

impl Process {
    /// A run of this program that has read these files.
    #[must_use]
    pub fn of_this_program<'p>(
        sources: impl IntoIterator<Item = &'p Path>,
        recipe: String,
        notes: &[String],
    ) -> Self {
        let source = |path: &Path| SourceFile {
            name: path.display().to_string(),
            bytes: std::fs::metadata(path).ok().map(|of| of.len()),
        };
        Self {
            program: PROGRAM.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sources: sources.into_iter().map(source).collect(),
            recipe,
            notes: notes.to_vec(),
            scan_sha256: String::new(),
        }
    }
}

/// `warpstride 0.1.0 from a.h5 (1.2 MB) and 3 other files`
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program, self.version)?;
        for (number, source) in self.sources.iter().take(MOST_NAMED).enumerate() {
            let before = if number == 0 { " from" } else { "," };
            write!(f, "{before} {}", source.name)?;
            if let Some(bytes) = source.bytes {
                write!(f, " ({})", Bytes(bytes.into()))?;
            }
        }
        match self.sources.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The runs that have made the file `path`, the first one first; none of a file that does not say
/// it.
#[must_use]
pub fn processes(path: &Path, memory: Memory) -> Vec<Process> {
    if !is_hdf5(path) {
        return Vec::new();
    }
    match Source::open_unclosed(path, memory) {
        Ok(source) => (1..=MOST_PROCESSES)
            .map_while(|number| read(&source, &group(number)))
            .collect(),
        Err(_) => Vec::new(),
    }
}

/// Path of the group with this number.
fn group(number: usize) -> String {
    format!("/entry_1/process_{number}")
}

/// Reads one group.
fn read(source: &Source, group: &str) -> Option<Process> {
    let class = source.attribute(group, "NX_class").ok()??;
    if class != CLASS {
        return None;
    }
    let label = |name: &str| source.label(&format!("{group}/{name}")).ok().flatten();
    let text = |name: &str| source.lone_text(&format!("{group}/{name}")).ok().flatten();
    let lines = |name: &str| text(&format!("{name}/data")).unwrap_or_default();
    let source_of = |line: &str| match line.rsplit_once('\t') {
        Some((name, bytes)) => SourceFile {
            name: name.to_owned(),
            bytes: bytes.parse().ok(),
        },
        None => SourceFile {
            name: line.to_owned(),
            bytes: None,
        },
    };
    Some(Process {
        program: label("program")?,
        version: label("version").unwrap_or_default(),
        sources: lines("sources").lines().map(source_of).collect(),
        recipe: text("recipe").unwrap_or_default(),
        notes: lines("notes").lines().map(str::to_owned).collect(),
        scan_sha256: label("scan_sha256").unwrap_or_default(),
    })
}

/// Writes the runs that have made the file, the first one first.
pub(super) fn write(file: &hdf5::File, processes: &[Process]) -> hdf5::Result<()> {
    for (number, process) in (1..).zip(processes) {
        let group = file.create_group(&group(number))?;
        output::text(&group, "program", &visible(&process.program))?;
        output::text(&group, "version", &visible(&process.version))?;
        if !process.recipe.is_empty() {
            output::text(&group, "recipe", &process.recipe)?;
        }
        if !process.scan_sha256.is_empty() {
            output::text(&group, "scan_sha256", &visible(&process.scan_sha256))?;
        }
        annotate(&group, number, process)?;
    }
    Ok(())
}

/// Gives the group of a run, which has program and version, its class, its number, the files and
/// the notes.
pub(super) fn annotate(group: &hdf5::Group, number: usize, process: &Process) -> hdf5::Result<()> {
    output::attribute(group, "NX_class", CLASS)?;
    output::number(group, "sequence_index", number as u64)?;
    let source = |of: &SourceFile| match of.bytes {
        Some(bytes) => format!("{}\t{bytes}\n", visible(&of.name)),
        None => format!("{}\n", visible(&of.name)),
    };
    let sources: String = process.sources.iter().map(source).collect();
    note(
        group,
        "sources",
        "the files that were read, with their bytes",
        "text/tab-separated-values",
        &sources,
    )?;
    let notes = process.notes.iter();
    let notes: String = notes.map(|note| format!("{}\n", visible(note))).collect();
    note(
        group,
        "notes",
        "what was read and done, a line each",
        "text/plain",
        &notes,
    )
}

/// Writes a note, unless it is empty.
fn note(
    group: &hdf5::Group,
    name: &str,
    description: &str,
    kind: &str,
    data: &str,
) -> hdf5::Result<()> {
    if data.is_empty() {
        return Ok(());
    }
    let note = group.create_group(name)?;
    output::attribute(&note, "NX_class", "NXnote")?;
    output::text(&note, "description", description)?;
    output::text(&note, "type", kind)?;
    output::text(&note, "data", data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{results, scan};

    fn process(name: &str) -> Process {
        Process {
            program: "warpstride".to_owned(),
            version: "0.0.1".to_owned(),
            sources: vec![
                SourceFile {
                    name: format!("{name}\u{202e}\t1.h5"),
                    bytes: Some(12_000),
                },
                SourceFile {
                    name: "b c".to_owned(),
                    bytes: None,
                },
            ],
            recipe: "[data]\nbin = 2\n".to_owned(),
            notes: vec!["2 x 2\npixels".to_owned(), "é".to_owned()],
            scan_sha256: "ab12".to_owned(),
        }
    }

    /// What is read back: names and notes are lines without marks.
    fn lines(of: &Process) -> Process {
        let mut of = of.clone();
        for source in &mut of.sources {
            source.name = visible(&source.name).into_owned();
        }
        for note in &mut of.notes {
            *note = visible(note).into_owned();
        }
        of
    }

    #[test]
    fn runs_are_read_back_from_scans_and_results() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scan.cxi");
        let made = [process("a"), process("z")];
        let scan = scan::tests::small(3, false, 1.0);
        scan::write_with(&path, &scan, &made).unwrap();
        let memory = Memory::available();
        let found = processes(&path, memory);
        assert_eq!(found, made.each_ref().map(lines));
        assert!(
            found[0].to_string().contains("(11.7 KiB), b c"),
            "{}",
            found[0]
        );
        let read_back = scan::read(&path, &scan::ReadOptions::default()).unwrap();
        assert_eq!(read_back.scan, scan);
        let result = folder.path().join("result.h5");
        let (given, own) = (results::tests::large(), process("r"));
        results::write_with(&result, &given, (&found, &own)).unwrap();
        assert_eq!(processes(&result, memory), found);
        let source = Source::open(&result, memory).unwrap();
        let number = source.numbers("/entry_1/image_1/process_1/sequence_index");
        assert_eq!(number.unwrap().unwrap().common_value().unwrap(), 3.0);
        let own = lines(&Process {
            recipe: given.recipe.clone(),
            version: given.version.clone(),
            scan_sha256: String::new(),
            ..own
        });
        assert_eq!(read(&source, "/entry_1/image_1/process_1"), Some(own));
        // Files of other programs, and files without anything.
        scan::write(&path, &scan).unwrap();
        assert_eq!(processes(&path, memory), []);
        assert_eq!(processes(&folder.path().join("none"), memory), []);
        let file = hdf5::File::open_rw(&path).unwrap();
        let group = file.create_group("/entry_1/process_1").unwrap();
        output::attribute(&group, "NX_class", CLASS).unwrap();
        output::number(&group, "program", 3.0).unwrap();
        file.close().unwrap();
        assert_eq!(processes(&path, memory), []);
    }
}
