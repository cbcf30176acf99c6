//! Samples in a row that are 0 in every coil, in readouts with other samples.

use crate::data::Readout;
use ndarray::Array2;
use num_complex::Complex;
use warpstride_core::text::count;

/// Fewest zeros in a row, of all coils together, that are not measured: one alone may be chance
/// where values were whole numbers.
const FEWEST: usize = 4;

/// Runs of samples that are 0 in every coil. Those of a few readouts were not transferred; if most
/// readouts have some, the file was filled up with zeros, and they are used.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ZeroRuns {
    /// Whether each sample belongs to a run; empty without runs.
    samples: Vec<bool>,
    /// How many readouts have runs.
    readouts: usize,
    are_in_most: bool,
}

impl ZeroRuns {
    /// The runs of `samples` (coil, sample). Readouts without any other sample do not count.
    pub(super) fn find(samples: &Array2<Complex<f64>>, readouts: &[Readout]) -> Self {
        let is_zero = |sample: usize| samples.column(sample).iter().all(|v| v.norm_sqr() == 0.0);
        let coils = samples.rows().into_iter();
        let coils = coils.filter(|row| row.iter().any(|v| v.norm_sqr() != 0.0));
        let fewest = FEWEST.div_ceil(coils.count().max(1));
        let mut found = Self::default();
        let mut measured = 0;
        for readout in readouts {
            let zero: Vec<bool> = readout.samples.clone().map(is_zero).collect();
            if zero.iter().all(|zero| *zero) {
                continue;
            }
            measured += 1;
            let (mut begin, mut some) = (readout.samples.start, false);
            for run in zero.chunk_by(|a, b| a == b) {
                if run[0] && run.len() >= fewest {
                    found.samples.resize(samples.ncols(), false);
                    found.samples[begin..begin + run.len()].fill(true);
                    some = true;
                }
                begin += run.len();
            }
            found.readouts += usize::from(some);
        }
        found.are_in_most = 2 * found.readouts > measured;
        found
    }

    /// Whether this sample is left out.
    pub(super) fn leave_out(&self, sample: usize) -> bool {
        !self.are_in_most && self.samples.get(sample).is_some_and(|zero| *zero)
    }

    /// A note that counts the samples, if there are any.
    pub(super) fn note(&self) -> Option<String> {
        let number = self.samples.iter().filter(|zero| **zero).count();
        let samples = count(number, ["sample", "samples"]);
        let readouts = count(self.readouts, ["readout", "readouts"]);
        (number > 0).then(|| match self.are_in_most {
            true => format!(
                "{samples} of {readouts} are 0 in every coil: most readouts are filled up with zeros, which are used as if they were measured"
            ),
            false => format!(
                "{samples} of {readouts} left out, as they are 0 in every coil: the other samples of these readouts are used"
            ),
        })
    }
}
