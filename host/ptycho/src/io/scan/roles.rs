//! Guesses which datasets of a file are frames, positions and geometry, by their names, shapes and
//! element types.

use super::{MaskPolarity, Paths};
use crate::session::read_options::Datasets;
use warpstride_files::source::{ElementKind, ListedDataset};

/// Names of frames in files of laboratories and programs.
const FRAMES: [&str; 14] = [
    "dp",
    "data",
    "frames",
    "images",
    "image",
    "i",
    "intensity",
    "intensities",
    "counts",
    "fmag",
    "diff",
    "patterns",
    "diffraction",
    "raw",
];
/// Parts of the names of positions, the best first.
const POSITIONS: [&str; 8] = [
    "probe_positions",
    "positions",
    "translation",
    "position",
    "coords",
    "pos",
    "ppos",
    "xy",
];
/// Most datasets that are looked at for one role, of a file that may have endless ones; the largest
/// come first.
const MOST_CANDIDATES: usize = 100;
/// Fewest pixels in a row or column of frames.
const SMALLEST_FRAME: usize = 4;

/// Frames in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FramesRole {
    pub(super) path: String,
    /// Axes of frame, row and column, if it has three.
    pub(super) axes: [usize; 3],
    /// Numbers of frames, rows and columns.
    pub(super) shape: [usize; 3],
    /// Whether the first and the last axis suit the frames equally well.
    pub(super) either_end: bool,
    /// Points of a raster, if it has four axes: (slow, fast, row, column).
    pub(super) raster: Option<[usize; 2]>,
}

/// What the datasets of a file may be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Roles {
    pub(super) frames: Option<FramesRole>,
    pub(super) positions: Option<Datasets>,
    /// Indices of the row and the column in positions of one dataset.
    pub(super) position_order: [usize; 2],
    /// Number of positions, if it is not that of the frames.
    pub(super) other_count: Option<usize>,
    pub(super) mask: Option<(String, MaskPolarity)>,
    pub(super) probe: Option<String>,
    pub(super) wavelength: Option<String>,
    pub(super) energy: Option<String>,
    pub(super) distance: Option<String>,
    pub(super) pixel_size: Option<Datasets>,
}

impl Roles {
    /// The paths of what a scan must have and of the rest, and the axes of the frames; `None`
    /// without frames, or without positions unless these are `elsewhere`.
    pub(super) fn paths(&self, elsewhere: bool) -> Option<(Paths, [usize; 3])> {
        let frames = self.frames.as_ref()?;
        let mask = self.mask.clone();
        let paths = Paths {
            frames: frames.path.clone(),
            positions: match &self.positions {
                Some(positions) => positions.clone(),
                None if elsewhere => Datasets::default(),
                None => return None,
            },
            position_order: self.position_order,
            position_unit: None,
            mask_marks: mask.as_ref().map_or_else(MaskPolarity::default, |m| m.1),
            mask: mask.map(|m| m.0),
            probe: self.probe.clone(),
            wavelength: self.wavelength.clone(),
            energy: self.energy.clone(),
            distance: self.distance.clone(),
            pixel_size: self.pixel_size.clone(),
        };
        Some((paths, frames.axes))
    }

    /// The roles of `listed`; `column_major` if the axes are stored in reverse, as MATLAB does.
    pub(super) fn guess(listed: &[ListedDataset], column_major: bool) -> Self {
        let stacks = (listed.iter())
            .filter(|of| matches!(of.shape.len(), 3 | 4))
            .take(MOST_CANDIDATES)
            .filter_map(|of| Some((of, frames_role(of, listed, column_major)?)));
        let frames = stacks
            .max_by_key(|(of, _)| {
                let known = FRAMES.contains(&of.name().to_lowercase().as_str());
                let short = std::cmp::Reverse(of.path.len());
                (
                    known || of.kind == ElementKind::Integer,
                    of.elements(),
                    short,
                )
            })
            .map(|(_, role)| role);
        let Some(frames) = frames else {
            return Self::default();
        };
        let exact = positions(listed, frames.shape[0], column_major);
        let other = (exact.is_none()).then(|| named_positions(listed, column_major));
        let other_count = other.as_ref().and_then(|of| of.as_ref().map(|of| of.1));
        let positions = exact.or_else(|| Some(other??.0));
        let scalar = |names: &[&str], exact: &[&str], other: &[&str]| {
            lone_numbers(listed, frames.shape[0], 1).find_map(|of| {
                let name = of.name().to_lowercase();
                let named = exact.contains(&name.as_str())
                    || names.iter().any(|part| name.contains(part))
                        && !other.iter().any(|part| name.contains(part));
                named.then(|| of.path.clone())
            })
        };
        let transposed = frames.axes[1] > frames.axes[2];
        let [_, rows, columns] = frames.shape;
        let plane = if transposed {
            [columns, rows]
        } else {
            [rows, columns]
        };
        let (positions, position_order) = match positions {
            Some((positions, order)) => (Some(positions), order),
            None => (None, [0, 1]),
        };
        Self {
            mask: mask(listed, plane),
            probe: probe(listed, plane),
            wavelength: scalar(
                &["wavelength", "wavelen", "lambda"],
                &["lam", "wl"],
                &["spread"],
            ),
            energy: scalar(
                &["energy"],
                &["kev", "e_kev", "ev"],
                &["spread", "threshold", "resolution"],
            ),
            distance: scalar(
                &["distance", "camera_length", "det_dist"],
                &["z", "dist"],
                &["focus", "step"],
            )
            .or_else(|| scalar(&["z_"], &[], &["size", "pixel"])),
            pixel_size: pixel_size(listed, frames.shape[0]),
            frames: Some(frames),
            positions,
            position_order,
            other_count,
        }
    }
}

/// A start probe: complex numbers with the rows and columns of the frames `plane`, as stored, that
/// are not called an object.
fn probe(listed: &[ListedDataset], plane: [usize; 2]) -> Option<String> {
    let name = |of: &ListedDataset| of.name().to_lowercase();
    let found = listed.iter().filter(|of| {
        let fits = of.shape.ends_with(&plane) && of.shape.len() <= 3;
        fits && of.kind == ElementKind::Complex && !name(of).contains("obj")
    });
    let known = |of: &&ListedDataset| {
        ["probe", "illum"]
            .iter()
            .any(|part| name(of).contains(part))
    };
    let mut found = found.take(MOST_CANDIDATES);
    let first = found.next()?;
    let named = std::iter::once(first).chain(found).find(known);
    Some(named.unwrap_or(first).path.clone())
}

/// Frames, if `of` can be that.
fn frames_role(
    of: &ListedDataset,
    listed: &[ListedDataset],
    column_major: bool,
) -> Option<FramesRole> {
    if !matches!(of.kind, ElementKind::Integer | ElementKind::Float) {
        return None;
    }
    let role = match *of.shape.as_slice() {
        [slow, fast, rows, columns] if !column_major => FramesRole {
            path: of.path.clone(),
            axes: [0, 1, 2],
            shape: [slow.checked_mul(fast)?, rows, columns],
            either_end: false,
            raster: Some([slow, fast]),
        },
        [a, b, c] => {
            // The axis with as many frames as there are positions.
            let first = positions(listed, a, column_major).is_some();
            let last = positions(listed, c, column_major).is_some();
            let axes = match (column_major, first || !last) {
                (false, true) => [0, 1, 2],
                (false, false) => [2, 0, 1],
                (true, true) => [0, 2, 1],
                (true, false) => [2, 1, 0],
            };
            FramesRole {
                path: of.path.clone(),
                axes,
                shape: axes.map(|axis| [a, b, c][axis]),
                either_end: first == last,
                raster: None,
            }
        }
        _ => return None,
    };
    let [count, rows, columns] = role.shape;
    (count > 0 && rows >= SMALLEST_FRAME && columns >= SMALLEST_FRAME).then_some(role)
}

/// Real datasets of at most `most` numbers, or of one for each of `frames` frames.
fn lone_numbers(
    listed: &[ListedDataset],
    frames: usize,
    most: usize,
) -> impl Iterator<Item = &ListedDataset> {
    listed.iter().filter(move |of| {
        let real = matches!(of.kind, ElementKind::Integer | ElementKind::Float);
        let count = of.elements();
        real && ((1..=most).contains(&count) || (count == frames && of.shape.len() == 1))
    })
}

/// A dataset that is called positions, if there are not as many as frames, and how many there are.
fn named_positions(
    listed: &[ListedDataset],
    column_major: bool,
) -> Option<((Datasets, [usize; 2]), usize)> {
    let named = listed.iter().filter(|of| {
        let name = of.name().to_lowercase();
        POSITIONS.iter().any(|part| name.contains(part))
    });
    let named: Vec<ListedDataset> = named.take(MOST_CANDIDATES).cloned().collect();
    named.iter().find_map(|of| {
        let number = of.shape.iter().copied().max()?;
        Some((positions(&named, number, column_major)?, number))
    })
}

/// Positions of `frames` frames, and the indices of the row and column in one dataset: x is the
/// column, y the row.
fn positions(
    listed: &[ListedDataset],
    frames: usize,
    column_major: bool,
) -> Option<(Datasets, [usize; 2])> {
    let real = |of: &&ListedDataset| matches!(of.kind, ElementKind::Integer | ElementKind::Float);
    let rank = |of: &ListedDataset| {
        let name = of.name().to_lowercase();
        let found = POSITIONS.iter().position(|part| name.contains(part));
        found.unwrap_or(POSITIONS.len())
    };
    let together = (listed.iter().filter(real))
        .filter_map(|of| {
            let coordinates = match *of.shape.as_slice() {
                [n, c @ 2..=3] if n == frames && n > 3 => c,
                [c @ 2..=3, n] if n == frames && n > 3 => c,
                _ => return None,
            };
            Some((of, coordinates))
        })
        .min_by_key(|(of, _)| rank(of));
    if let Some((of, coordinates)) = together {
        let name = of.name().to_lowercase();
        let x_first = column_major
            || coordinates == 3
            || ["xy", "translation"].iter().any(|part| name.contains(part));
        let order = if x_first { [1, 0] } else { [0, 1] };
        return Some((Datasets::from(of.path.as_str()), order));
    }
    let apart = |of: &&ListedDataset| of.elements() == frames && frames > 1;
    let vectors: Vec<&ListedDataset> = (listed.iter().filter(real).filter(apart))
        .take(MOST_CANDIDATES)
        .collect();
    pairs(&vectors, ElementKind::Float)
        .or_else(|| pairs(&vectors, ElementKind::Integer))
        .map(|pair| (pair, [0, 1]))
}

/// Two of `datasets` of one kind whose paths differ in `y` and `x`, or `row` and `col`: (rows,
/// columns).
fn pairs(datasets: &[&ListedDataset], kind: ElementKind) -> Option<Datasets> {
    let of_kind = || datasets.iter().filter(|of| of.kind == kind);
    let exists = |path: &str| of_kind().any(|of| of.path == path);
    of_kind().find_map(|of| {
        let row = &of.path;
        let begin = row.len() - of.name().len();
        let replaced = [("y", "x"), ("Y", "X"), ("row", "col"), ("row", "column")];
        let mut columns = replaced.iter().flat_map(|(y, x)| {
            let places = row[begin..].match_indices(y);
            places.map(move |(at, _)| {
                let at = begin + at;
                format!("{}{x}{}", &row[..at], &row[at + y.len()..])
            })
        });
        let column = columns.find(|column| column != row && exists(column))?;
        Some(Datasets::Two([row.clone(), column]))
    })
}

/// A mask of frames of the stored shape `plane`.
fn mask(listed: &[ListedDataset], plane: [usize; 2]) -> Option<(String, MaskPolarity)> {
    let candidates = listed.iter().filter(|of| {
        let name = of.name().to_lowercase();
        let other = ["flat", "dark", "gain", "background"];
        of.shape == plane
            && (of.kind == ElementKind::Integer || name.contains("mask"))
            && of.kind != ElementKind::Complex
            && !other.iter().any(|part| name.contains(part))
    });
    let best = candidates.max_by_key(|of| of.name().to_lowercase().contains("mask"))?;
    let name = best.name().to_lowercase();
    let valid =
        ["valid", "good"].iter().any(|part| name.contains(part)) && !name.contains("invalid");
    let marks = if valid {
        MaskPolarity::Valid
    } else {
        MaskPolarity::Bad
    };
    Some((best.path.clone(), marks))
}

/// Sides of a detector pixel: two datasets, or one.
fn pixel_size(listed: &[ListedDataset], frames: usize) -> Option<Datasets> {
    let named = |of: &&ListedDataset| {
        let name = of.name().to_lowercase();
        let parts = ["pixel", "psize", "px_size", "pix_size"];
        let other = ["mask", "number", "count", "bad", "dead", "center", "centre"];
        ["dx", "dy", "ds", "px"].contains(&name.as_str())
            || parts.iter().any(|part| name.contains(part))
                && !other.iter().any(|part| name.contains(part))
    };
    let found: Vec<&ListedDataset> = lone_numbers(listed, frames, 2).filter(named).collect();
    pairs(&found, ElementKind::Float)
        .or_else(|| found.first().map(|of| Datasets::from(of.path.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(path: &str, shape: &[usize], kind: ElementKind) -> ListedDataset {
        ListedDataset {
            path: path.to_owned(),
            shape: shape.to_vec(),
            kind,
            element: String::new(),
            units: None,
        }
    }

    use ElementKind::{Complex, Float, Integer};

    #[test]
    fn a_flat_file_is_recognised() {
        let roles = Roles::guess(
            &[
                listed("/scan/eiger/distance_mm", &[], Float),
                listed("/scan/eiger/images", &[160, 128, 128], Integer),
                listed("/scan/eiger/mean", &[1600, 128, 128], Float),
                listed("/scan/eiger/pixel_um", &[], Float),
                listed("/scan/eiger/flatfield", &[128, 128], Integer),
                listed("/scan/eiger/pixel_mask", &[128, 128], Integer),
                listed("/scan/guess", &[2, 128, 128], Complex),
                listed("/scan/mono/energy_kev", &[], Float),
                listed("/scan/mono/energy_spread", &[], Float),
                listed("/scan/stage/x_um", &[160], Float),
                listed("/scan/stage/y_um", &[160], Float),
            ],
            false,
        );
        let frames = roles.frames.unwrap();
        assert_eq!(
            (frames.path.as_str(), frames.axes),
            ("/scan/eiger/images", [0, 1, 2])
        );
        let stage = ["/scan/stage/y_um", "/scan/stage/x_um"].map(str::to_owned);
        assert_eq!(roles.positions, Some(Datasets::Two(stage)));
        let mask = ("/scan/eiger/pixel_mask".to_owned(), MaskPolarity::Bad);
        assert_eq!(roles.mask, Some(mask));
        assert_eq!(roles.probe.as_deref(), Some("/scan/guess"));
        assert_eq!(roles.energy.as_deref(), Some("/scan/mono/energy_kev"));
        assert_eq!(roles.distance.as_deref(), Some("/scan/eiger/distance_mm"));
        assert_eq!(roles.pixel_size, Some("/scan/eiger/pixel_um".into()));
        assert_eq!(roles.wavelength, None);
    }

    #[test]
    fn matlab_stores_axes_in_reverse() {
        let file = |dp: &[usize], positions: &[usize]| {
            Roles::guess(
                &[
                    listed("/dp", dp, Float),
                    listed("/positions", positions, Float),
                    listed("/lambda", &[1, 1], Float),
                    listed("/z", &[1, 1], Float),
                    listed("/det_pixel", &[1, 1], Float),
                    listed("/mask", &[30, 20], Float),
                ],
                true,
            )
        };
        // dp(row, column, frame), positions(frame, (x, y)).
        let roles = file(&[160, 30, 20], &[2, 160]);
        let frames = roles.frames.unwrap();
        assert_eq!((frames.axes, frames.shape), ([0, 2, 1], [160, 20, 30]));
        assert_eq!(roles.position_order, [1, 0]);
        assert!(roles.mask.is_some());
        assert_eq!(roles.wavelength.as_deref(), Some("/lambda"));
        assert_eq!(roles.distance.as_deref(), Some("/z"));
        assert_eq!(roles.pixel_size, Some("/det_pixel".into()));
        // dp(frame, row, column).
        let frames = file(&[30, 20, 160], &[2, 160]).frames.unwrap();
        assert_eq!((frames.axes, frames.shape), ([2, 1, 0], [160, 20, 30]));
    }

    #[test]
    fn pairs_of_vectors_are_positions() {
        let two = |row: &str, column: &str| {
            let file = [
                listed("/data", &[9, 8, 8], Integer),
                listed(row, &[1, 9], Float),
                listed("/time", &[9], Float),
                listed(column, &[1, 9], Float),
            ];
            Roles::guess(&file, false).positions
        };
        for (row, column) in [
            ("/ppY", "/ppX"),
            ("/m/samy", "/m/samx"),
            ("/row", "/column"),
            ("/pos_y", "/pos_x"),
        ] {
            let expected = Datasets::Two([row, column].map(str::to_owned));
            assert_eq!(two(row, column), Some(expected), "{row}");
        }
        assert_eq!(two("/a", "/b"), None);
        // A raster without positions, and nothing at all.
        let raster = Roles::guess(&[listed("/data", &[28, 28, 160, 160], Integer)], false);
        assert_eq!(raster.frames.unwrap().raster, Some([28, 28]));
        assert_eq!(
            Roles::guess(&[listed("/x", &[3, 1, 1], Integer)], false),
            Roles::default()
        );
    }
}
