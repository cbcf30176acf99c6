//! `warpstride ptycho predict`.

use crate::args::PredictArgs;
use crate::failure::Failure;
use crate::output::{facts, note_lines, say};
use crate::paths::{self, OutputFile};
use std::path::PathBuf;
use warpstride::io::check_memory;
use warpstride::ptycho::io::provenance::{Process, processes};
use warpstride::ptycho::{Recipe, predict};
use warpstride::system::Memory;
use warpstride::text::significant;

/// A checked prediction.
#[derive(Debug)]
pub(crate) struct Predict {
    result: PathBuf,
    scan: PathBuf,
    out: PathBuf,
    quiet: bool,
}

impl Predict {
    /// Checks the output.
    pub(crate) fn from_args(args: PredictArgs) -> Result<Self, Failure> {
        let output = OutputFile::new("-o", &args.output, &[paths::SCAN]);
        paths::check(&[output], &[args.result.as_path(), args.scan.as_path()])?;
        Ok(Self {
            result: args.result,
            scan: args.scan,
            out: args.output,
            quiet: args.quiet,
        })
    }

    /// Reads result and scan, and writes the intensities.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let result = warpstride::ptycho::io::results::read(&self.result)?;
        let name = self.result.display();
        // The frames are cropped and oriented as for the reconstruction.
        let recipe = Recipe::from_toml(&result.recipe)
            .map_err(|e| Failure::failed(format!("{name}: the recipe in the result: {e}")))?;
        let read = warpstride::ptycho::io::scan::read(&self.scan, &recipe.data)?;
        // The intensities, and the file that is built in memory.
        let [frames, rows, columns] = read.scan.shape();
        let bytes = 2 * size_of::<f32>() as u128 * frames as u128 * (rows * columns) as u128;
        check_memory(
            Memory::available(),
            &self.scan.display().to_string(),
            "model intensities",
            bytes,
        )?;
        let prediction =
            predict(&result, &read.scan).map_err(|e| Failure::failed(format!("{name}: {e}")))?;
        let mut made = processes(&self.scan, Memory::available());
        let sources = [self.result.as_path(), &self.scan];
        made.push(Process::of_this_program(
            sources,
            result.recipe.clone(),
            &read.notes,
        ));
        warpstride::ptycho::io::scan::write_with(&self.out, &prediction.scan, &made)?;
        if self.quiet {
            return Ok(());
        }
        let r_factor = prediction.r_factor;
        say(&(note_lines(&read.notes)
            + &facts(&[
                ("frames", format!("{frames} of {rows} x {columns} pixels")),
                (
                    "R",
                    r_factor.map_or_else(|| "no counts".to_owned(), |r| significant(r, 4)),
                ),
                ("written", self.out.display().to_string()),
            ])))
    }
}
