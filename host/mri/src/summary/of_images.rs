//! What the summary says of each of several images.

use super::{ImageSummary, MriSummary};
use crate::data::ImageIndex;

impl MriSummary {
    /// The summary of a run of several images from those of each: times, iterations, readouts and
    /// samples are sums, notes and problems are listed once, and what each image has of its own is
    /// in `images`. `None` without images.
    #[must_use]
    pub fn of_images(parts: Vec<(ImageIndex, Self)>) -> Option<Self> {
        let mut all = parts.first()?.1.clone();
        let record = &mut all.record;
        (record.seconds, record.setup_seconds) = (0.0, 0.0);
        (all.iterations, all.readouts, all.samples) = (0, 0, 0);
        all.residuals = Vec::new();
        all.data_residual = None;
        (all.nrmse, all.magnitude_nrmse, all.psnr, all.ssim) = (None, None, None, None);
        let sets = all.coil_map_sets;
        for (index, part) in parts {
            all.record.seconds += part.record.seconds;
            all.record.setup_seconds += part.record.setup_seconds;
            all.iterations += part.iterations;
            all.readouts += part.readouts;
            all.samples += part.samples;
            if part.coil_map_sets != sets {
                all.coil_map_sets = None;
            }
            add(&mut all.record.notes, part.record.notes);
            add(&mut all.problems, part.problems);
            all.images.push(ImageSummary {
                index,
                iterations: part.iterations,
                residuals: part.residuals,
                data_residual: part.data_residual,
                readouts: part.readouts,
                samples: part.samples,
                coil_map_sets: part.coil_map_sets,
                seconds: part.record.seconds,
                nrmse: part.nrmse,
                magnitude_nrmse: part.magnitude_nrmse,
                psnr: part.psnr,
                ssim: part.ssim,
            });
        }
        all.ms_per_iteration =
            (all.iterations > 0).then(|| 1e3 * all.record.seconds / all.iterations as f64);
        Some(all)
    }
}

/// Adds the sentences that are not there yet.
fn add(to: &mut Vec<String>, sentences: Vec<String>) {
    for sentence in sentences {
        if !to.contains(&sentence) {
            to.push(sentence);
        }
    }
}
