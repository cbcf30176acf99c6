//! The outputs of a reconstruction: image, picture, summary, report, and the text on the terminal.

use crate::failure::Failure;
use crate::output::{facts, note_lines};
use crate::paths::{self, OutputFile};
use std::path::{Path, PathBuf};
use warpstride::io::cfl;
use warpstride::mri::data::{ImageIndex, MriImage};
use warpstride::mri::io::images::{self, NiftiValues};
use warpstride::mri::report::{modulus_png, mri_images_report, mri_report, result};
use warpstride::mri::{ImageSummary, MriSummary};
use warpstride::system::write_whole;
use warpstride::text::{count, significant};

/// Paths of the output files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    pub(super) image: PathBuf,
    /// What a voxel of a NIfTI file holds.
    pub(super) nifti: NiftiValues,
    pub(super) summary: Option<PathBuf>,
    pub(super) report: Option<PathBuf>,
    pub(super) png: Option<PathBuf>,
}

impl Files {
    /// Checks, before any work, that every file can be written and that none of them is an input or
    /// given twice.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<(), Failure> {
        let header = self.header();
        let outputs = [
            Some(OutputFile::new(
                "-o",
                &self.image,
                &[paths::HDF5, paths::NPY, paths::CFL, paths::NIFTI],
            )),
            OutputFile::given("-o", header.as_deref(), &[]),
            OutputFile::given("--summary", self.summary.as_deref(), &[paths::JSON]),
            OutputFile::given("--report", self.report.as_deref(), &[paths::HTML]),
            OutputFile::given("--png", self.png.as_deref(), &[paths::PNG]),
        ];
        let outputs: Vec<OutputFile<'_>> = outputs.into_iter().flatten().collect();
        paths::check(&outputs, inputs)
    }

    /// The text beside an image that is a BART array.
    fn header(&self) -> Option<PathBuf> {
        cfl::is_cfl(&self.image).then(|| cfl::header_path(&self.image))
    }

    /// Writes the image first, then what is made from it, and enters the files in the summary;
    /// returns the text to print.
    pub(super) fn write(
        &self,
        image: &MriImage,
        summary: &mut MriSummary,
    ) -> Result<String, Failure> {
        let images = std::slice::from_ref(image);
        let of_images = images::write_images(&self.image, images, &[], self.nifti)?;
        let noted = note_lines(&of_images.notes);
        summary.record.notes.extend(of_images.notes);
        let files = of_images.files.iter();
        let mut written: Vec<String> = files.map(|path| path.display().to_string()).collect();
        written.extend(self.header().map(|path| path.display().to_string()));
        if let Some(path) = &self.png {
            write_whole(path, &modulus_png(image.image.view())?)?;
            written.push(path.display().to_string());
        }
        if let Some(path) = &self.report {
            write_whole(path, mri_report(image, summary)?.as_bytes())?;
            written.push(path.display().to_string());
        }
        written.extend(self.summary.iter().map(|path| path.display().to_string()));
        summary.record.outputs = written;
        if let Some(path) = &self.summary {
            write_whole(path, summary.to_json()?.as_bytes())?;
        }
        Ok(noted + &text(summary))
    }
}

impl Files {
    /// The names of the pictures of several images, after checking that they can be written.
    pub(super) fn check_pictures(
        &self,
        planned: &[ImageIndex],
        inputs: &[PathBuf],
    ) -> Result<Vec<PathBuf>, Failure> {
        let Some(path) = &self.png else {
            return Ok(Vec::new());
        };
        let stem = path.file_stem().unwrap_or_default();
        let name = |index: &ImageIndex| {
            let mut name = stem.to_owned();
            name.push(index.suffix(planned));
            name.push(".");
            name.push(path.extension().unwrap_or_default());
            path.with_file_name(name)
        };
        let names: Vec<PathBuf> = planned.iter().map(name).collect();
        let outputs = names
            .iter()
            .map(|name| OutputFile::new("--png", name, &[paths::PNG]));
        let others = [
            Some(&self.image),
            self.summary.as_ref(),
            self.report.as_ref(),
        ];
        let mut taken: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        taken.extend(others.into_iter().flatten().map(PathBuf::as_path));
        paths::check(&outputs.collect::<Vec<_>>(), &taken)?;
        Ok(names)
    }

    /// Writes several images, a picture of each, and what is made from all; enters the files in the
    /// summary and returns the text to print. `pictures` are the names for the images `planned`, of
    /// which the first ones are there.
    pub(super) fn write_images(
        &self,
        images: &[MriImage],
        planned: &[ImageIndex],
        pictures: &[PathBuf],
        summary: &mut MriSummary,
    ) -> Result<String, Failure> {
        let of_images = images::write_images(&self.image, images, planned, self.nifti)?;
        let noted = note_lines(&of_images.notes);
        summary.record.notes.extend(of_images.notes);
        let files = of_images.files.iter();
        let mut written: Vec<String> = files.map(|path| path.display().to_string()).collect();
        written.extend(self.header().map(|path| path.display().to_string()));
        for (image, path) in images.iter().zip(pictures) {
            write_whole(path, &modulus_png(image.image.view())?)?;
            written.push(path.display().to_string());
        }
        if let Some(path) = &self.report {
            write_whole(path, mri_images_report(images, summary)?.as_bytes())?;
            written.push(path.display().to_string());
        }
        written.extend(self.summary.iter().map(|path| path.display().to_string()));
        summary.record.outputs = written;
        if let Some(path) = &self.summary {
            write_whole(path, summary.to_json()?.as_bytes())?;
        }
        Ok(noted + &text(summary))
    }
}

/// The lines on each of several images.
fn lines_of_images(of: &MriSummary) -> String {
    let all: Vec<ImageIndex> = of.images.iter().map(|image| image.index).collect();
    let line = |image: &ImageSummary| format!("{}: {}\n", image.index.name(&all), result(image));
    of.images.iter().map(line).collect()
}

fn text(of: &MriSummary) -> String {
    let [slices, rows, columns] = of.matrix;
    let matrix = if slices == 1 {
        format!("{rows} x {columns}")
    } else {
        format!("{slices} x {rows} x {columns}")
    };
    let mut lines = vec![
        (
            "image",
            format!(
                "{}{matrix} from {} of {}",
                if of.images.is_empty() {
                    String::new()
                } else {
                    format!("{} of ", of.images.len())
                },
                count(of.samples, ["sample", "samples"]),
                count(of.coils, ["coil", "coils"])
            ),
        ),
        (
            "method",
            match &*of.density {
                "none" => format!("{}, {}", of.method, of.operator),
                density => format!(
                    "{}, {}, density weights by {density}",
                    of.method, of.operator
                ),
            },
        ),
        ("back end", of.record.setup.to_string()),
    ];
    if let Some(last) = of.residuals.last() {
        lines.push(("residual", significant(*last, 4)));
    }
    if let Some(share) = of.data_residual {
        lines.push((
            "data residual",
            format!(
                "{} of the signal's energy is not explained by the image",
                significant(share, 3)
            ),
        ));
    }
    if let (Some(nrmse), Some(magnitude), Some(psnr), Some(ssim)) =
        (of.nrmse, of.magnitude_nrmse, of.psnr, of.ssim)
    {
        lines.push((
            "reference",
            format!(
                "NRMSE {}, magnitude NRMSE {}, PSNR {} dB, SSIM {}",
                significant(nrmse, 4),
                significant(magnitude, 4),
                significant(psnr, 4),
                significant(ssim, 4)
            ),
        ));
    }
    lines.push((
        "time",
        match of.ms_per_iteration {
            Some(per) => format!(
                "{} s, {} of {} ms",
                significant(of.record.seconds, 3),
                count(of.iterations, ["iteration", "iterations"]),
                significant(per, 3)
            ),
            None => format!("{} s", significant(of.record.seconds, 3)),
        },
    ));
    let mut name = "written";
    for path in &of.record.outputs {
        lines.push((std::mem::take(&mut name), path.clone()));
    }
    lines_of_images(of) + &facts(&lines)
}
