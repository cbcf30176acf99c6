//! The matrix of the image, which the arrays do not state.

use super::layout;
use crate::data::{KSpace, KUnit};
use crate::io::faulty_readouts::{far, farther};
use std::f64::consts::{PI, TAU};
use warpstride_core::text::significant;
use warpstride_files::IoError;
use warpstride_files::cfl::CflFile;

/// Excess of |k| over a whole number, cycles per field of view, that is rounding.
const ROUNDING: f64 = 1e-3;
/// Share by which the largest |k| of a trajectory per pixel may be below 1/2 cycle or π.
const PER_PIXEL: f64 = 0.02;

/// A |k|, cycles per field of view, that a readout far beyond the others has at least.
const FAR_AT_LEAST: f64 = 500.0;

/// Voxels of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixSize {
    /// Slices, rows, columns.
    pub shape: [usize; 3],
    /// 3 for a volume, 2 for a plane of one slice.
    pub axes: usize,
}

impl MatrixSize {
    /// Parses `ROWSxCOLUMNS`, or `SLICESxROWSxCOLUMNS` for a volume; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let sides: Option<Vec<usize>> = text
            .split('x')
            .map(|side| side.parse().ok())
            .map(|side| side.filter(|side| (1..=KSpace::MOST).contains(side)))
            .collect();
        match sides?[..] {
            [rows, columns] => Some(Self {
                shape: [1, rows, columns],
                axes: 2,
            }),
            [slices, rows, columns] => Some(Self {
                shape: [slices, rows, columns],
                axes: 3,
            }),
            _ => None,
        }
    }

    /// Voxels along kx, ky, kz.
    pub(in crate::io) fn along_k(self) -> [usize; 3] {
        let [slices, rows, columns] = self.shape;
        [columns, rows, slices]
    }
}

/// The matrix that a trajectory resolves: 2 |k| voxels for the largest |k|, of kx and ky together
/// and of kz; a plane if kz is 0 everywhere.
pub(super) fn resolved(
    trajectory: &mut CflFile,
    unit: Option<KUnit>,
    notes: &mut Vec<String>,
) -> Result<MatrixSize, IoError> {
    let stated = unit;
    let unit = unit.unwrap_or(KUnit::CYCLES_PER_FOV);
    let value = |found: String, expected: String, trajectory: &CflFile| IoError::Value {
        file: trajectory.name().to_owned(),
        dataset: "the largest |k|".to_owned(),
        found,
        expected,
    };
    // Cycles per field of view are those per pixel of a single one.
    let Some(cycle) = unit
        .of_cycle(1, None)
        .filter(|_| unit.is_per_field_of_view())
    else {
        let expected = "--matrix, as only positions per fov tell the number of voxels".to_owned();
        return Err(value(
            format!("--k-unit {unit} without it"),
            expected,
            trajectory,
        ));
    };
    // The largest |k| of each readout.
    let length = 3 * trajectory.dimensions()[layout::PHS1].max(1);
    let mut reaches = vec![[0.0_f64; 3]; trajectory.count().div_ceil(length)];
    let mut at = 0;
    trajectory.read(0, trajectory.count(), |value| {
        let most = &mut reaches[at / length][at % 3];
        *most = farther(*most, f64::from(value.re) / cycle);
        at += 1;
    })?;
    // Readouts with NaN or an infinite position, or far beyond the others, are left out.
    let largest = |[kx, ky, kz]: &[f64; 3]| kx.max(*ky).max(*kz);
    let limit = far(reaches.iter().map(largest).collect(), FAR_AT_LEAST);
    let kept = reaches.iter().filter(|readout| largest(readout) <= limit);
    let [kx, ky, kz] = kept.fold([0.0_f64; 3], |most, readout| {
        [0, 1, 2].map(|axis| most[axis].max(readout[axis]))
    });
    let largest = kx.max(ky).max(kz);
    let per_pixel = [
        (0.5, "cycles-per-pixel"),
        (1.0, "fraction-of-kmax"),
        (PI, "radians-per-pixel"),
    ]
    .into_iter()
    .find(|(end, _)| ((1.0 - PER_PIXEL) * end..=(1.0 + ROUNDING) * end).contains(&largest));
    if let (None, Some((_, name))) = (stated, per_pixel) {
        let expected = format!(
            "cycles per field of view (with --matrix ROWSxCOLUMNS, --k-unit {name} takes them as {name})"
        );
        return Err(value(significant(largest, 4), expected, trajectory));
    }
    let side = |k: f64| (2.0 * (k - ROUNDING).ceil()).max(0.0) as usize;
    let plane = kx.max(ky);
    for k in [kx, ky, kz] {
        if !(k.is_finite() && side(k) <= KSpace::MOST) || side(plane) == 0 {
            let expected = format!(
                "above 0 and at most {} cycles per field of view (--matrix gives the voxels)",
                KSpace::MOST / 2
            );
            return Err(value(k.to_string(), expected, trajectory));
        }
    }
    let side_of_plane = side(plane);
    let (matrix, text) = if side(kz) == 0 {
        let matrix = MatrixSize {
            shape: [1, side_of_plane, side_of_plane],
            axes: 2,
        };
        (matrix, format!("{side_of_plane} x {side_of_plane}"))
    } else {
        let matrix = MatrixSize {
            shape: [side(kz), side_of_plane, side_of_plane],
            axes: 3,
        };
        let slices = side(kz);
        (
            matrix,
            format!("{slices} x {side_of_plane} x {side_of_plane}"),
        )
    };
    let is_whole = |k: f64| (k - k.round()).abs() < ROUNDING;
    let radians = if unit == KUnit::CYCLES_PER_FOV && is_whole(largest / TAU) && !is_whole(largest)
    {
        "; if k is in radians, use --k-unit radians-per-fov"
    } else {
        ""
    };
    notes.push(format!(
        "the matrix is {text}: twice the largest |k| of the trajectory (to change this, use --matrix{radians})"
    ));
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_planes_or_volumes() {
        let plane = MatrixSize::parse("64x48").unwrap();
        assert_eq!((plane.shape, plane.axes), ([1, 64, 48], 2));
        let volume = MatrixSize::parse("1x64x48").unwrap();
        assert_eq!((volume.shape, volume.axes), ([1, 64, 48], 3));
        for wrong in [
            "",
            "64",
            "64x",
            "0x64",
            "64x-1",
            "64X64",
            "64x64x64x64",
            "64x2000000",
            "6.5x6",
        ] {
            assert_eq!(MatrixSize::parse(wrong), None, "{wrong}");
        }
    }
}
