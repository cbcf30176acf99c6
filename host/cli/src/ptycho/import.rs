//! `warpstride ptycho import`.

use super::interruption::stops_at_once;
use super::recipe_arguments::{read_recipe, set};
use super::recipe_origin::RecipeOrigin;
use super::scan_arguments;
use crate::args::ImportArgs;
use crate::failure::Failure;
use crate::output::{facts, note_lines, say};
use crate::paths::{self, OutputFile};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpstride::io::check_memory;
use warpstride::ptycho::data::Scan;
use warpstride::ptycho::io::provenance::{Process, processes};
use warpstride::ptycho::io::scan::{self, ScanFile};
use warpstride::ptycho::{
    BadFrameSetting, HotPixelSetting, HotPixels, Recipe, check_scan, fingerprint, masked_pixels,
};
use warpstride::system::Memory;
use warpstride::text::{length, shortest, significant};

/// A checked conversion of a scan to CXI.
#[derive(Debug)]
pub(crate) struct Import {
    file: PathBuf,
    /// All files that are read.
    sources: Vec<PathBuf>,
    out: PathBuf,
    origin: RecipeOrigin,
    recipe: Recipe,
    quiet: bool,
}

impl Import {
    /// Checks options and output.
    pub(crate) fn from_args(args: ImportArgs) -> Result<Self, Failure> {
        let origin = RecipeOrigin::of(args.recipe.as_deref(), &args.set).with_reading(&args.scan);
        origin.check_single()?;
        let mut recipe = args
            .recipe
            .as_deref()
            .map_or_else(|| Ok(Recipe::default()), read_recipe)?;
        scan_arguments::scan(&args.scan, &mut recipe.data)?;
        set(&mut recipe, &args.set)?;
        recipe.check().map_err(|error| origin.failure(&error))?;
        let output = OutputFile::new("-o", &args.output, &[paths::SCAN]);
        let others = recipe.data.other_files();
        let inputs: Vec<&Path> = std::iter::once(args.file.as_path())
            .chain(args.recipe.as_deref())
            .chain(others.iter().map(PathBuf::as_path))
            .collect();
        paths::check(&[output], &inputs)?;
        Ok(Self {
            sources: inputs.into_iter().map(Path::to_owned).collect(),
            file: args.file,
            out: args.output,
            origin,
            recipe,
            quiet: args.quiet,
        })
    }

    /// Reads the scan, writes it, and checks that the written file gives the same scan.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let memory = Memory::available();
        let name = self.out.display();
        let part = stops_at_once(format!("stopped before {name} was written"))?;
        let mut read = scan::read_within(&self.file, &self.recipe.data, memory)
            .map_err(|error| self.origin.of_reading(error))?;
        let checks = check_scan(&read.scan, &self.recipe).map_err(Failure::failed)?;
        if let Err(error) = &checks.object_shape {
            let name = self.file.display().to_string();
            return Err(self.origin.of_problem(&name, error));
        }
        // Those of the written file.
        read.scan = read.scan.by_itself();
        let [frames, rows, columns] = read.scan.shape();
        // The file that is built in memory, and the counts that are read back.
        let bytes = 2 * size_of::<f32>() as u128 * frames as u128 * (rows * columns) as u128;
        check_memory(
            memory,
            &self.file.display().to_string(),
            "the frames",
            bytes,
        )?;
        let mut made = processes(&self.file, memory);
        made.push(self.process(&read)?);
        drop(part);
        scan::write_with(&self.out, &read.scan, &made)?;
        let _part = stops_at_once(format!(
            "stopped; {name} was written, but not read back to check it"
        ))?;
        self.check(&read.scan)?;
        if self.quiet {
            return Ok(());
        }
        let (bad, of) = masked_pixels(&read.scan);
        let geometry = read.scan.geometry();
        let [pixel_rows, pixel_columns] = geometry.pixel_size;
        let sums = read.scan.sums();
        let mut lines = vec![
            ("frames", format!("{frames} of {rows} x {columns} pixels")),
            (
                "bad pixels",
                format!(
                    "{bad} ({} %)",
                    significant(100.0 * bad as f64 / of as f64, 3)
                ),
            ),
            (
                "counts",
                format!(
                    "{} in total, {} at most in a pixel",
                    significant(sums.total(), 4),
                    significant(f64::from(sums.largest), 4)
                ),
            ),
            (
                "wavelength",
                match read.scan.voltage() {
                    Some(volts) => format!(
                        "{} (electrons of {} kV)",
                        length(geometry.wavelength, 5),
                        shortest(volts / 1e3)
                    ),
                    None => length(geometry.wavelength, 5),
                },
            ),
            ("distance", length(geometry.distance, 4)),
            (
                "detector pixel",
                format!("{} x {}", length(pixel_rows, 4), length(pixel_columns, 4)),
            ),
        ];
        lines.extend((checks.problems.into_iter()).map(|problem| ("problem", problem)));
        lines.push(("written", self.out.display().to_string()));
        say(&(note_lines(&read.notes) + &facts(&lines)))
    }

    /// What the written file says about this run.
    fn process(&self, read: &ScanFile) -> Result<Process, Failure> {
        let options = BTreeMap::from([("data", &self.recipe.data)]);
        let recipe = toml::to_string(&options).map_err(Failure::failed)?;
        let sources = self.sources.iter().map(PathBuf::as_path);
        Ok(Process {
            scan_sha256: fingerprint(&read.scan).map_err(Failure::failed)?,
            ..Process::of_this_program(sources, recipe, &read.notes)
        })
    }

    /// Reads the written file and compares it with `scan`.
    fn check(&self, scan: &Scan) -> Result<(), Failure> {
        let name = self.out.display();
        // Pixels without data are masked already, and every count is one.
        let mut options = scan::ReadOptions {
            no_data: scan::NoData::Setting(scan::NoDataSetting::Off),
            empty_frames: scan::EmptyFrames::Keep,
            bad_frames: BadFrameSetting::Keep,
            hot_pixels: HotPixels::Setting(HotPixelSetting::Keep),
            ..scan::ReadOptions::default()
        };
        options.near_field = Some(scan.geometry().is_near_field());
        let back = scan::read(&self.out, &options)?;
        if back.scan.by_itself() == *scan {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "{name}: expected the scan of {}, found another when it was read back; check the storage and write it again",
            self.file.display()
        )))
    }
}
