//! NIfTI-1 files, as the published header of 348 bytes defines them (R. W. Cox et al., nifti1.h of
//! the NIfTI Data Format Working Group): voxels as moduli or as complex numbers in single
//! precision.
//!
//! The axes are column, row, slice and image, the first running fastest. Slices of one scan that
//! are images of their own are stacked along the third axis if they are parallel and equidistant. A
//! file has one position: images that have others are in files of their own. Positions are in mm in
//! the coordinates of NIfTI, x to the right, y to the front and z to the head: x and y have the
//! opposite sign of those of ISMRMRD.

use super::Written;
use crate::data::{ImageIndex, MriImage, Placement};
use flate2::{Compression, GzBuilder};
use std::io::Write;
use std::path::{Path, PathBuf};
use warpstride_core::system::{atomic_file, write_whole};
use warpstride_files::IoError;

/// Largest number of voxels or images along an axis: the header counts them in 16 bits.
const MOST: usize = 32_767;
/// Bytes of the header.
const HEADER: usize = 348;
/// Offset of the first voxel: the header and four bytes that say that no extensions follow.
const OFFSET: usize = 352;
/// The header's names of the types of a voxel, and their bits.
const FLOAT32: [i16; 2] = [16, 32];
const COMPLEX64: [i16; 2] = [32, 64];
/// The unit of lengths, mm.
const MILLIMETRES: u8 = 2;
/// The coordinates are those of the scanner.
const SCANNER: i16 = 1;
/// Largest relative deviation of the steps from slice to slice.
const UNEVEN: f64 = 1e-2;

/// What a voxel holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NiftiValues {
    /// The modulus, f32.
    #[default]
    Magnitude,
    /// The complex number, in single precision.
    Complex,
}

/// Whether `path` names a NIfTI file, and whether it is compressed with gzip.
pub fn is_nifti(path: &Path) -> Option<bool> {
    let is = |path: &Path, ending: &str| {
        path.extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(ending))
    };
    if is(path, "nii") {
        return Some(false);
    }
    let inner = path.file_stem().map(Path::new)?;
    (is(path, "gz") && is(inner, "nii")).then_some(true)
}

/// Distance of positions that is rounding, m.
const NEAR: f64 = 1e-5;

/// Writes `images`, all of one size and sorted, each file atomically: one, or one for each position
/// that images have.
pub(super) fn write(
    path: &Path,
    images: &[MriImage],
    values: NiftiValues,
    gzip: bool,
) -> Result<Written, IoError> {
    let parts = by_position(images);
    let mut written = Written::default();
    if let [only] = &*parts {
        written.notes = write_one(path, only, values, gzip)?;
        written.files.push(path.to_owned());
        return Ok(written);
    }
    let first = |part: &[&MriImage]| {
        part.first()
            .and_then(|image| image.index)
            .unwrap_or_default()
    };
    let all: Vec<ImageIndex> = parts.iter().map(|part| first(part)).collect();
    for (part, index) in parts.iter().zip(&all) {
        let own = beside(path, &index.suffix(&all));
        for note in write_one(&own, part, values, gzip)? {
            if !written.notes.contains(&note) {
                written.notes.push(note);
            }
        }
        written.files.push(own);
    }
    written.notes.push(format!(
        "the images have {} positions, and a NIfTI file has one: each position has a file of its own",
        parts.len()
    ));
    Ok(written)
}

/// `OUT-slice3.nii` for `OUT.nii` and `-slice3`.
fn beside(path: &Path, part: &str) -> PathBuf {
    let mut endings = Vec::new();
    let mut stem = path.to_owned();
    while let Some(ending) = stem.extension().filter(|_| is_nifti(path).is_some()) {
        let is_last = ending.eq_ignore_ascii_case("nii");
        endings.push(ending.to_owned());
        stem = stem.with_extension("");
        if is_last {
            break;
        }
    }
    let mut name = stem.file_name().unwrap_or_default().to_owned();
    name.push(part);
    for ending in endings.iter().rev() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

/// The images of each file: those of one position, in their order. All are in one file if no
/// position is known.
fn by_position(images: &[MriImage]) -> Vec<Vec<&MriImage>> {
    let images: Vec<&MriImage> = images.iter().collect();
    let near = |a: &MriImage, b: &MriImage| match (a.placement, b.placement) {
        (Some(a), Some(b)) => a.is_near(&b, NEAR),
        (a, b) => a.is_none() && b.is_none(),
    };
    let count = stacked(&images);
    let stack = images.get(..count).unwrap_or_default();
    let uneven = count > 1
        && step(stack).is_none()
        && stack.iter().all(|image| image.placement.is_some())
        && !stack.iter().all(|image| near(image, stack[0]));
    let together = if uneven { 1 } else { count };
    let mut parts: Vec<Vec<&MriImage>> = Vec::new();
    for volume in images.chunks(together.max(1)) {
        let same = |part: &&mut Vec<&MriImage>| {
            part.len() >= volume.len() && volume.iter().zip(part.iter()).all(|(a, b)| near(a, b))
        };
        match parts.iter_mut().find(same) {
            Some(part) => part.extend_from_slice(volume),
            None => parts.push(volume.to_vec()),
        }
    }
    parts
}

/// Writes the images of one position. Returns notes for the user.
fn write_one(
    path: &Path,
    images: &[&MriImage],
    values: NiftiValues,
    gzip: bool,
) -> Result<Vec<String>, IoError> {
    let (layout, notes) = Layout::of(images);
    check(path, layout.sides)?;
    let bytes = bytes(&layout, images, values);
    let bytes = if gzip {
        // No time of writing: the same image is the same file.
        let encoder = GzBuilder::new().mtime(0);
        let mut encoder = encoder.write(Vec::new(), Compression::default());
        let packed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
        packed.map_err(|e| atomic_file::refusal::<IoError>(path, &e))?
    } else {
        bytes
    };
    write_whole(path, &bytes)?;
    Ok(notes)
}

/// Checks that the header can state `sides`.
pub(super) fn check(path: &Path, sides: impl IntoIterator<Item = usize>) -> Result<(), IoError> {
    match sides.into_iter().find(|side| *side > MOST) {
        None => Ok(()),
        Some(side) => Err(atomic_file::refusal(
            path,
            &format!(
                "expected at most {MOST} voxels or images along each axis of a NIfTI file, found {side}"
            ),
        )),
    }
}

/// The axes of the file and what they mean.
#[derive(Debug, Clone, PartialEq)]
struct Layout {
    /// Columns, rows, slices, images.
    sides: [usize; 4],
    /// Size of a voxel along the first three, mm; 0 if unknown.
    voxel: [f64; 3],
    /// Rows of the matrix from indices to mm, to the right, front and head.
    affine: Option<[[f64; 4]; 3]>,
}

impl Layout {
    fn of(images: &[&MriImage]) -> (Self, Vec<String>) {
        let mut notes = Vec::new();
        let Some(first) = images.first() else {
            let sides = [0; 4];
            let voxel = [0.0; 3];
            let affine = None;
            return (
                Self {
                    sides,
                    voxel,
                    affine,
                },
                notes,
            );
        };
        let (slices, rows, columns) = first.image.dim();
        let view = first.field_of_view.map(|view| view.map(|side| 1e3 * side));
        let voxel = view.map(|[z, y, x]| {
            let size = |view: f64, side: usize| view / side as f64;
            [size(x, columns), size(y, rows), size(z, slices)]
        });
        let stacked = stacked(images);
        let step = (stacked > 1).then(|| step(&images[..stacked])).flatten();
        let mut size = voxel.unwrap_or_default();
        let mut affine = None;
        match (voxel, first.placement) {
            (None, _) => notes.push(
                "the file has no size of a voxel and no position: the samples do not state the field of view"
                    .to_owned(),
            ),
            (Some(_), None) => notes.push(
                "the file has no position: the samples do not state the directions of the axes"
                    .to_owned(),
            ),
            (Some(voxel), Some(placement)) => {
                let slice = match (stacked, step) {
                    (1, _) => Some(placement.directions()[2].map(|v| v * voxel[2])),
                    (_, Some(step)) => Some(step),
                    (_, None) => {
                        notes.push(
                            "the file has no position: its slices are not parallel and equidistant"
                                .to_owned(),
                        );
                        None
                    }
                };
                if let Some(slice) = slice {
                    size[2] = slice.iter().map(|v| v * v).sum::<f64>().sqrt();
                    affine = Some(matrix(&placement, voxel, slice, first));
                }
            }
        }
        let sides = if stacked > 1 {
            [columns, rows, stacked, images.len() / stacked]
        } else {
            [columns, rows, slices, images.len()]
        };
        let layout = Self {
            sides,
            voxel: size,
            affine,
        };
        (layout, notes)
    }
}

/// The number of slices that are images of their own and make a volume together: 1 if there is one
/// only, or if not every other counter has the same slices.
fn stacked(images: &[&MriImage]) -> usize {
    let slice = |image: &MriImage| image.index.map(|index| index.slice);
    let rest = |image: &MriImage| {
        let index = image.index.unwrap_or_default();
        (index.set, index.repetition, index.phase, index.contrast)
    };
    let Some(first) = images.first() else {
        return 1;
    };
    let count = images
        .iter()
        .take_while(|image| rest(image) == rest(first))
        .count();
    let same = images.chunks(count).all(|part| {
        part.len() == count
            && part
                .iter()
                .zip(images)
                .all(|(a, b)| slice(a) == slice(b) && rest(a) == rest(part[0]))
    });
    if same && images.iter().all(|image| !image.volume) {
        count
    } else {
        1
    }
}

/// The step from one of `slices` to the next, mm; `None` if they are not parallel and equidistant,
/// or their placement is not known.
fn step(slices: &[&MriImage]) -> Option<[f64; 3]> {
    let placed: Option<Vec<Placement>> = slices.iter().map(|image| image.placement).collect();
    let placed = placed?;
    let first = placed.first()?;
    let length = |step: [f64; 3]| step.iter().map(|v| v * v).sum::<f64>().sqrt();
    let between = |a: &Placement, b: &Placement| {
        [0, 1, 2].map(|axis| 1e3 * (b.centre()[axis] - a.centre()[axis]))
    };
    let step = between(first, placed.get(1)?);
    let most = UNEVEN * length(step);
    let even = placed.windows(2).all(|pair| {
        let other = between(&pair[0], &pair[1]);
        let difference = [0, 1, 2].map(|axis| other[axis] - step[axis]);
        pair[0].is_parallel(&pair[1]) && length(difference) <= most
    });
    (even && most > 0.0).then_some(step)
}

/// The matrix from indices to mm: voxel ⌊N/2⌋ of each axis lies at the centre of `placement`; along
/// a stack the first slice does.
fn matrix(
    placement: &Placement,
    voxel: [f64; 3],
    slice: [f64; 3],
    first: &MriImage,
) -> [[f64; 4]; 3] {
    let (slices, rows, columns) = first.image.dim();
    let [x, y, _] = placement.directions();
    let steps = [x.map(|v| v * voxel[0]), y.map(|v| v * voxel[1]), slice];
    let middle = [columns / 2, rows / 2, slices / 2];
    [0, 1, 2].map(|axis| {
        // To the right and to the front, where the coordinates of DICOM go to the left and to the
        // back.
        let sign = if axis < 2 { -1.0 } else { 1.0 };
        let before = steps
            .iter()
            .zip(middle)
            .map(|(step, n)| step[axis] * n as f64);
        let origin = 1e3 * placement.centre()[axis] - before.sum::<f64>();
        let [a, b, c] = steps.map(|step| sign * step[axis]);
        [a, b, c, sign * origin]
    })
}

/// The rotation of an affine matrix as a quaternion (b, c, d) with a ≥ 0, and the sign of its third
/// axis; `None` if the axes are not at right angles. The formulas are those of the header's
/// definition.
fn quaternion(affine: &[[f64; 4]; 3]) -> Option<([f64; 3], f64)> {
    let mut r = [[0.0; 3]; 3];
    for axis in 0..3 {
        let column = [0, 1, 2].map(|row: usize| affine[row][axis]);
        let length = column.iter().map(|v| v * v).sum::<f64>().sqrt();
        for (row, value) in r.iter_mut().zip(column) {
            row[axis] = value / length;
        }
    }
    let product = |a: usize, b: usize| (0..3).map(|row| r[row][a] * r[row][b]).sum::<f64>();
    let right = [(0, 1), (0, 2), (1, 2)];
    if !right.iter().all(|(a, b)| product(*a, *b).abs() <= 1e-3) {
        return None;
    }
    let determinant = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1])
        - r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0])
        + r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
    let sign = if determinant < 0.0 { -1.0 } else { 1.0 };
    for row in &mut r {
        row[2] *= sign;
    }
    let half = |sum: f64| 0.5 * sum.max(0.0).sqrt();
    // The largest of the four is computed from the diagonal, the others from sums and differences
    // beside it.
    let squares = [
        1.0 + r[0][0] + r[1][1] + r[2][2],
        1.0 + r[0][0] - r[1][1] - r[2][2],
        1.0 - r[0][0] + r[1][1] - r[2][2],
        1.0 - r[0][0] - r[1][1] + r[2][2],
    ];
    let largest = (0..4).fold(0, |most, at| {
        if squares[at] > squares[most] {
            at
        } else {
            most
        }
    });
    let known = half(squares[largest]);
    let part = |sum: f64| sum / (4.0 * known);
    let (x, y, z) = (r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]);
    let (xy, xz, yz) = (r[0][1] + r[1][0], r[0][2] + r[2][0], r[1][2] + r[2][1]);
    let [a, b, c, d] = match largest {
        0 => [known, part(x), part(y), part(z)],
        1 => [part(x), known, part(xy), part(xz)],
        2 => [part(y), part(xy), known, part(yz)],
        _ => [part(z), part(xz), part(yz), known],
    };
    let turn = if a < 0.0 { -1.0 } else { 1.0 };
    Some(([b, c, d].map(|v| v * turn), sign))
}

/// The whole file.
fn bytes(layout: &Layout, images: &[&MriImage], values: NiftiValues) -> Vec<u8> {
    let [kind, bits] = match values {
        NiftiValues::Magnitude => FLOAT32,
        NiftiValues::Complex => COMPLEX64,
    };
    let voxels: usize = images.iter().map(|image| image.image.len()).sum();
    let mut bytes = vec![0; OFFSET];
    bytes.reserve_exact(voxels * bits as usize / 8);
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    let float = |value: f64| (value as f32).to_le_bytes();
    let short = |value: usize| i16::try_from(value).unwrap_or(i16::MAX).to_le_bytes();
    // sizeof_hdr, and `regular` of the older format.
    put(0, &(HEADER as i32).to_le_bytes());
    put(38, b"r");
    // dim: the number of axes and their sides.
    let axes = if layout.sides[3] > 1 { 4 } else { 3 };
    put(40, &short(axes));
    for axis in 0..7 {
        put(
            42 + 2 * axis,
            &short(layout.sides.get(axis).copied().unwrap_or(1)),
        );
    }
    put(70, &kind.to_le_bytes());
    put(72, &bits.to_le_bytes());
    let rotation = layout.affine.as_ref().and_then(quaternion);
    // pixdim: the sign of the third axis, the sizes of a voxel.
    put(76, &float(rotation.map_or(1.0, |(_, sign)| sign)));
    for (axis, size) in layout.voxel.iter().enumerate() {
        put(80 + 4 * axis, &float(*size));
    }
    put(108, &float(OFFSET as f64));
    // scl_slope 1, scl_inter 0.
    put(112, &float(1.0));
    if layout.voxel[0] > 0.0 {
        put(123, &[MILLIMETRES]);
    }
    let version = images.first().map_or("", |image| image.version.as_str());
    let text: String = format!("warpstride {version}").chars().take(79).collect();
    // The field is 80 bytes; the version is ASCII.
    put(148, &text.as_bytes()[..text.len().min(79)]);
    if let (Some(affine), Some(([b, c, d], _))) = (&layout.affine, rotation) {
        put(252, &SCANNER.to_le_bytes());
        let offset = affine.map(|row| row[3]);
        for (at, value) in [b, c, d].iter().chain(&offset).enumerate() {
            put(256 + 4 * at, &float(*value));
        }
    }
    if let Some(affine) = &layout.affine {
        put(254, &SCANNER.to_le_bytes());
        for (at, value) in affine.iter().flatten().enumerate() {
            put(280 + 4 * at, &float(*value));
        }
    }
    put(344, b"n+1\0");
    for value in images.iter().flat_map(|image| image.image.iter()) {
        match values {
            NiftiValues::Magnitude => bytes.extend((value.norm() as f32).to_le_bytes()),
            NiftiValues::Complex => {
                bytes.extend((value.re as f32).to_le_bytes());
                bytes.extend((value.im as f32).to_le_bytes());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
