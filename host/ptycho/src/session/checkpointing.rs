//! The saved state of a run: everything needed to resume bit for bit and to refuse other scans.

use crate::data::{Mask, Scan};
use crate::io::checkpoint::{self, Checkpoint};
use crate::{EngineState, Progress, Recipe, RecipeError, Values, WaveSpace};
use ndarray::{Array1, ArrayD};
use num_complex::Complex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use warpstride_core::system::{ScratchError, WriteError};
use warpstride_files::IoError;

/// Name of this kind of run in the header of a checkpoint.
const KIND: &str = "ptychography";
/// Exit waves in Fourier space.
const EXIT: &str = "exit";
/// Exit waves in real space, instead of [`EXIT`].
const REAL_EXIT: &str = "exit, real space";
const ARRAYS: [&str; 12] = [
    "object",
    "probe",
    EXIT,
    "object momentum",
    "probe momentum",
    "object gradient",
    "probe gradient",
    "object direction",
    "probe direction",
    "search",
    "positions",
    "frame scales",
];

/// Why a run cannot be saved or resumed.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The counts of the scan are in a temporary file that cannot be read.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The checkpoint belongs to another kind of run.
    #[error("{file}: expected a checkpoint of a ptychographic reconstruction, found {found}")]
    Foreign {
        /// The file, as given.
        file: String,
        /// What is missing or different.
        found: String,
    },
    /// The recipe in the checkpoint is invalid.
    #[error("{file}: recipe: {source}")]
    Recipe {
        /// The file, as given.
        file: String,
        /// What is wrong with it.
        source: RecipeError,
    },
    /// The checkpoint belongs to another scan.
    #[error(
        "{file}: expected a checkpoint of this scan (fingerprint {expected} of counts, mask, positions and geometry), found one of another scan ({source_file}, fingerprint {found})"
    )]
    OtherScan {
        /// The file, as given.
        file: String,
        /// Path of the scan file, as given to the saved run.
        source_file: String,
        /// First digits of the saved fingerprint.
        found: String,
        /// First digits of the current scan's fingerprint.
        expected: String,
    },
}

/// Everything about a saved run except its arrays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    kind: String,
    version: String,
    source: String,
    backend: String,
    fingerprint: String,
    recipe: String,
    #[serde(default)]
    trials: String,
    #[serde(rename = "place")]
    progress: Progress,
}

/// State of a run at the time it was saved.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedRun {
    /// Path of the scan file, as given to the run.
    pub source: String,
    /// `cpu`, `cuda` or `emulator`.
    pub backend: String,
    /// [`fingerprint`] of the scan.
    pub fingerprint: String,
    /// The resolved recipe, TOML.
    pub recipe: String,
    /// What the automatic recipe tried and kept, JSON; empty if the recipe was given, and in
    /// checkpoints of earlier versions.
    pub trials: String,
    /// Progress of the run, with its history.
    pub progress: Progress,
    /// Object, probe and exit waves.
    pub state: EngineState,
}

impl SavedRun {
    /// Writes the run to `path` atomically: on failure the file keeps its earlier contents.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(self, path: &Path) -> Result<(), CheckpointError> {
        let header = Header {
            kind: KIND.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: self.source,
            backend: self.backend,
            fingerprint: self.fingerprint,
            recipe: self.recipe,
            trials: self.trials,
            progress: self.progress,
        };
        let header = serde_json::to_string(&header).map_err(|e| {
            IoError::Write(WriteError {
                file: path.display().to_string(),
                reason: e.to_string(),
            })
        })?;
        let mut file = Checkpoint {
            header,
            ..Checkpoint::default()
        };
        let EngineState {
            object,
            probe,
            exit,
            exit_space,
            momentum: [object_momentum, probe_momentum],
            search:
                [
                    object_gradient,
                    probe_gradient,
                    object_direction,
                    probe_direction,
                ],
            search_numbers,
            positions,
            scales,
            added,
        } = self.state;
        let arrays = [
            object,
            probe,
            exit,
            object_momentum,
            probe_momentum,
            object_gradient,
            probe_gradient,
            object_direction,
            probe_direction,
            search_numbers,
            positions,
            scales,
        ];
        let named = ARRAYS.into_iter().zip(arrays).map(|(name, values)| {
            let in_real_space = name == EXIT && exit_space == WaveSpace::Real;
            let name = if in_real_space { REAL_EXIT } else { name };
            (name.to_owned(), values)
        });
        for (name, values) in named.chain(added) {
            match values {
                Values::F32(v) => drop(file.complex32.insert(name, line(v))),
                Values::F64(v) => drop(file.complex64.insert(name, line(v))),
            }
        }
        Ok(checkpoint::write(path, &file)?)
    }

    /// Reads a run written by [`write`](Self::write).
    ///
    /// # Errors
    /// Returns an error if the file is unreadable, damaged, or of another kind of run.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        let file = || path.display().to_string();
        let mut saved = checkpoint::read(path)?;
        let foreign = |found: String| CheckpointError::Foreign {
            file: file(),
            found,
        };
        let header: Header = serde_json::from_str(&saved.header)
            .map_err(|_| foreign("a header of another form".to_owned()))?;
        if header.kind != KIND {
            return Err(foreign(format!("one of kind {:?}", header.kind)));
        }
        let has = |name| saved.complex32.contains_key(name) || saved.complex64.contains_key(name);
        let exit_space = if has(REAL_EXIT) {
            WaveSpace::Real
        } else {
            WaveSpace::Fourier
        };
        let mut take =
            |name: &str| match (saved.complex32.remove(name), saved.complex64.remove(name)) {
                (Some(v), _) => Ok(Values::F32(v.into_raw_vec_and_offset().0)),
                (None, Some(v)) => Ok(Values::F64(v.into_raw_vec_and_offset().0)),
                (None, None) => Err(foreign(format!("no array {name:?}"))),
            };
        let [
            object,
            probe,
            exit,
            object_momentum,
            probe_momentum,
            object_gradient,
            probe_gradient,
            object_direction,
            probe_direction,
            search_numbers,
            positions,
            scales,
        ] = ARRAYS;
        let mut state = EngineState {
            object: take(object)?,
            probe: take(probe)?,
            exit: take(if exit_space == WaveSpace::Real {
                REAL_EXIT
            } else {
                exit
            })?,
            exit_space,
            momentum: [take(object_momentum)?, take(probe_momentum)?],
            search: [
                take(object_gradient)?,
                take(probe_gradient)?,
                take(object_direction)?,
                take(probe_direction)?,
            ],
            search_numbers: take(search_numbers)?,
            positions: take(positions)?,
            scales: take(scales)?,
            added: BTreeMap::new(),
        };
        let single = (saved.complex32.into_iter())
            .map(|(name, v)| (name, Values::F32(v.into_raw_vec_and_offset().0)));
        let double = (saved.complex64.into_iter())
            .map(|(name, v)| (name, Values::F64(v.into_raw_vec_and_offset().0)));
        state.added = single.chain(double).collect();
        Ok(Self {
            source: header.source,
            backend: header.backend,
            fingerprint: header.fingerprint,
            recipe: header.recipe,
            trials: header.trials,
            progress: header.progress,
            state,
        })
    }

    /// Parses and checks the recipe; errors name `path`.
    ///
    /// # Errors
    /// Returns an error if the recipe does not parse or has a value out of range.
    pub fn recipe(&self, path: &Path) -> Result<Recipe, CheckpointError> {
        let refused = |source| CheckpointError::Recipe {
            file: path.display().to_string(),
            source,
        };
        let recipe = Recipe::from_toml(&self.recipe).map_err(refused)?;
        recipe.check().map_err(refused)?;
        let Progress {
            engine,
            iteration,
            total,
            ..
        } = self.progress;
        let fits = match recipe.engines.get(engine) {
            Some(spec) => iteration < spec.iterations,
            None => engine == recipe.engines.len() && iteration == 0,
        };
        let entries = self.progress.history.len() + usize::from(self.progress.incomplete.is_some());
        if !fits || total != entries {
            return Err(refused(RecipeError::new(
                "engines",
                format!(
                    "iteration {iteration} of engine {} to be one of them, with {total} entries of history",
                    engine.saturating_add(1)
                ),
                format!("{} engines, and {entries} entries", recipe.engines.len()),
            )));
        }
        Ok(recipe)
    }

    /// Checks that the run was saved with the data of `scan`; errors name `path`.
    ///
    /// # Errors
    /// Returns an error if the run was saved with other data.
    pub fn check_scan(&self, path: &Path, scan: &Scan) -> Result<(), CheckpointError> {
        let expected = fingerprint(scan)?;
        if expected == self.fingerprint {
            return Ok(());
        }
        let short = |digits: &str| digits.chars().take(12).collect();
        Err(CheckpointError::OtherScan {
            file: path.display().to_string(),
            source_file: self.source.clone(),
            found: short(&self.fingerprint),
            expected: short(&expected),
        })
    }
}

fn line<T>(values: Vec<Complex<T>>) -> ArrayD<Complex<T>> {
    Array1::from_vec(values).into_dyn()
}

/// SHA-256 of a scan's counts, mask, positions and geometry, hexadecimal; independent of the
/// computer.
///
/// # Errors
/// The counts are in a temporary file that cannot be read.
pub fn fingerprint(scan: &Scan) -> Result<String, ScratchError> {
    let mut sum = Sha256::new();
    for length in scan.shape() {
        sum.update((length as u64).to_le_bytes());
    }
    let mut bytes = Vec::new();
    scan.blocks(|_, block| {
        for frame in block.outer_iter() {
            bytes.clear();
            bytes.extend(frame.iter().flat_map(|count| count.to_le_bytes()));
            sum.update(&bytes);
        }
        Ok::<(), ScratchError>(())
    })?;
    bytes.clear();
    match scan.mask() {
        Mask::Shared(m) => bytes.extend(m.iter().map(|v| u8::from(*v))),
        Mask::PerFrame(m) => bytes.extend(m.iter().map(|v| u8::from(*v))),
    }
    sum.update(&bytes);
    let geometry = scan.geometry();
    let [rows, columns] = geometry.pixel_size;
    for value in
        scan.positions()
            .iter()
            .chain(&[geometry.wavelength, geometry.distance, rows, columns])
    {
        sum.update(value.to_le_bytes());
    }
    if geometry.is_near_field() {
        sum.update(b"near field");
        sum.update(geometry.focus_to_sample().unwrap_or(0.0).to_le_bytes());
    }
    let digits = sum.finalize();
    Ok(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Geometry, HistoryEntry, Propagation};
    use crate::{SimulateOptions, simulate};

    fn saved() -> SavedRun {
        let values = |n: usize| {
            Values::F32(
                (0..n)
                    .map(|i| Complex::new(1.0 / (i as f32 + 3.0), -0.0))
                    .collect(),
            )
        };
        SavedRun {
            source: "a.cxi".into(),
            backend: "cpu".into(),
            fingerprint: "ab".into(),
            recipe: Recipe::default().to_toml().unwrap(),
            trials: "{}".into(),
            progress: Progress {
                engine: 1,
                iteration: 2,
                total: 102,
                seconds: 0.1 + 0.2,
                incomplete: None,
                history: vec![HistoryEntry {
                    iteration: 1,
                    engine: "dm".into(),
                    err_fourier: 1.0 / 3.0,
                    err_exit: Some(1e-300),
                    err_phot: None,
                    r_factor: Some(0.1),
                    r_free: None,
                    seconds: 1e-9,
                }],
            },
            state: EngineState {
                object: values(5),
                probe: values(7),
                exit: values(9),
                exit_space: WaveSpace::Real,
                momentum: [values(5), values(0)],
                search: [values(5), values(7), values(5), values(7)],
                search_numbers: Values::F64(vec![Complex::new(1.5, 3.0), Complex::new(1.0, 0.0)]),
                positions: Values::F64(vec![Complex::new(1.5, 2.0)]),
                scales: Values::F64(vec![Complex::new(0.9, 0.0)]),
                added: [(
                    "more".to_owned(),
                    Values::F64(vec![Complex::new(0.25, 1.0)]),
                )]
                .into(),
            },
        }
    }

    #[test]
    fn a_saved_run_is_read_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.checkpoint");
        saved().write(&path).unwrap();
        assert_eq!(SavedRun::read(&path).unwrap(), saved());
    }

    /// Their entries have all metrics, and null for those of the last one.
    #[test]
    fn the_history_of_older_checkpoints_is_read() {
        let text = r#"{"engine":0,"iteration":2,"total":2,"seconds":0.5,
            "history":[{"iteration":1,"engine":"dm","err_fourier":3.0,"err_exit":2.0,
                "err_phot":1.5,"r_factor":0.1,"seconds":0.25}],
            "open":{"iteration":2,"engine":"dm","err_fourier":2.5,"err_exit":1.0,
                "err_phot":null,"r_factor":null,"seconds":0.5}}"#;
        let progress: Progress = serde_json::from_str(text).unwrap();
        let first = &progress.history[0];
        assert_eq!((first.err_exit, first.r_factor), (Some(2.0), Some(0.1)));
        let last = progress.incomplete.unwrap();
        assert_eq!((last.err_exit, last.r_factor), (Some(1.0), None));
    }

    #[test]
    fn other_kinds_of_checkpoints_are_refused_naming_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.checkpoint");
        let other = Checkpoint {
            header: "{}".into(),
            ..Checkpoint::default()
        };
        checkpoint::write(&path, &other).unwrap();
        let text = SavedRun::read(&path).unwrap_err().to_string();
        assert!(
            text.contains("a.checkpoint: expected a checkpoint"),
            "{text}"
        );
    }

    #[test]
    fn the_fingerprint_depends_only_on_the_data() {
        let options = SimulateOptions {
            frame: 16,
            positions: 3,
            ..SimulateOptions::default()
        };
        let scan = simulate(&options).unwrap();
        let again = simulate(&options).unwrap();
        let other = simulate(&SimulateOptions { seed: 1, ..options }).unwrap();
        assert_eq!(fingerprint(&scan), fingerprint(&again));
        assert_ne!(fingerprint(&scan), fingerprint(&other));
        let near = [None, Some(2e-3), Some(3e-3)].map(|focus_to_sample| {
            let geometry = Geometry {
                propagation: Propagation::NearField { focus_to_sample },
                ..*scan.geometry()
            };
            let counts = scan.frames().unwrap().to_owned();
            Scan::new(counts, None, scan.positions().clone(), geometry, None).unwrap()
        });
        let prints: std::collections::BTreeSet<String> = (near.iter().chain([&scan]))
            .map(|scan| fingerprint(scan).unwrap())
            .collect();
        assert_eq!(prints.len(), 4);
        let run = SavedRun {
            fingerprint: fingerprint(&scan).unwrap(),
            ..saved()
        };
        assert!(run.check_scan(Path::new("c"), &again).is_ok());
        let text = run
            .check_scan(Path::new("c"), &other)
            .unwrap_err()
            .to_string();
        assert!(
            text.starts_with("c: expected a checkpoint of this scan (fingerprint "),
            "{text}"
        );
    }
}
