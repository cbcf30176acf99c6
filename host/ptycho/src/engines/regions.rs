//! Regions of a scan whose mini-batches are worked on side by side, each with its own copy of
//! object and probe, and how the copies become one again (domain decomposition; Nashed et al.,
//! Optics Express 22, 32082 (2014), section 3).
//!
//! The scan is halved twice across its longer side, so that four regions of equal numbers of frames
//! touch along short borders. An iteration has [`MERGES`] segments: in each, every region goes
//! through some of its batches; then the copies are merged. A pixel of the object becomes the mean
//! of its copies, weighted with the windows of each region over it; the probe becomes the mean of
//! the copies. So GPUs that have different regions exchange borders and probes a few times an
//! iteration, instead of sums in every batch. The regions and their order do not depend on the
//! number of devices, so neither do the bits.

pub(crate) use super::batch_shares::REGIONS;
use super::batch_shares::{SHARES, SMALLEST, order_of_devices};
use super::batches::{KeptBatches, split_in_two};
use crate::{BatchMethod, BatchOrder, EngineSpec, Method};
use warpstride_kernels::ptycho::tile_frames::{TILE_COLUMNS, TILE_ROWS};

/// Merges of an iteration.
const MERGES: usize = 4;
/// Values of the exit waves of a scan from which regions are used by themselves: an iteration takes
/// 21 ms on an H100 then, a quarter of what was measured for four times as many.
const LARGE_SCAN: usize = 1 << 28;
/// Windows over each pixel of the object, in the mean, from which regions are used by themselves.
const OVERLAP: usize = 16;
/// Batches of a region from which regions are used by themselves.
const LEAST_BATCHES: usize = 4;
/// Share of the light below which a region has no part in a tile of the object.
const LEAST_SHARE: f64 = 1.0 / 64.0;
/// Pixels of a tile of the object: rows, columns.
pub(crate) const TILE: [usize; 2] = [TILE_ROWS as usize, TILE_COLUMNS as usize];

/// The regions of a scan. They are numbered in the order in which their copies are summed: (0 + 1) +
/// (2 + 3).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Regions {
    /// The frames of each region, ascending.
    frames: [Vec<u32>; REGIONS],
    /// Frames of the scan in the order in which devices have them: by turns from the regions.
    order: Vec<u32>,
    /// (frame): its place in that order.
    places: Vec<u32>,
    /// Rows and columns of the tiles of the object.
    tiles: [usize; 2],
    /// (tile): the regions' weights in a merge; their sum is 1, or 0 beyond all windows.
    shares: Vec<[f64; REGIONS]>,
    /// (region): the rectangle of tiles with its windows.
    extents: [Extent; REGIONS],
    /// Tiles under windows of more than one region.
    shared: Vec<u32>,
}

/// A part of the object, of whole tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// First row and column.
    pub(crate) first: [usize; 2],
    /// Rows and columns.
    pub(crate) shape: [usize; 2],
}

impl Extent {
    /// The number in the extent of a tile of the object, which has `across` tiles in a row; none if
    /// it is not within.
    pub(crate) fn tile(&self, tile: u32, across: usize) -> Option<u32> {
        let tile = tile as usize;
        let places = [tile / across.max(1), tile % across.max(1)];
        let place = |axis: usize| {
            let place = places[axis].checked_sub(self.first[axis] / TILE[axis])?;
            (place < self.shape[axis].div_ceil(TILE[axis])).then_some(place)
        };
        let (row, column) = (place(0)?, place(1)?);
        Some((row * self.shape[1].div_ceil(TILE[1]) + column) as u32)
    }

    /// A window's first row and column in the extent.
    pub(crate) fn corner(&self, corner: [u32; 2], window: [usize; 2]) -> [u32; 2] {
        [0, 1].map(|axis| {
            let within = (corner[axis] as usize).saturating_sub(self.first[axis]);
            within.min(self.shape[axis].saturating_sub(window[axis])) as u32
        })
    }
}

/// The windows of the frames on the object.
pub(crate) struct Windows<'a> {
    /// First row and column of each.
    pub(crate) corners: &'a [[u32; 2]],
    pub(crate) object_shape: [usize; 2],
    /// Rows and columns of each.
    pub(crate) shape: [usize; 2],
    /// By how many pixels positions may change.
    pub(crate) bound: f64,
}

impl Regions {
    pub(crate) fn new(windows: &Windows<'_>) -> Self {
        let corners = windows.corners;
        let frames = halved_twice(corners);
        let tiles = [0, 1].map(|axis| windows.object_shape[axis].div_ceil(TILE[axis]));
        let covered = frames.each_ref().map(|own| covered(windows, own, tiles));
        let lit = frames.each_ref().map(|own| lit(windows, own, tiles));
        let of_tile = |tile: usize| {
            let light = lit.each_ref().map(|of| of[tile]);
            let windows = covered.each_ref().map(|of| f64::from(of[tile]));
            shares(light)
                .or_else(|| shares(windows))
                .unwrap_or_default()
        };
        let count = tiles[0] * tiles[1];
        let is_shared = |tile: &usize| covered.iter().filter(|of| of[*tile] > 0).count() > 1;
        let order = by_turns(&frames);
        let mut places = vec![0; order.len()];
        for (place, frame) in (0..).zip(&order) {
            places[*frame as usize] = place;
        }
        Self {
            order,
            places,
            shares: (0..count).map(of_tile).collect(),
            shared: (0..count)
                .filter(is_shared)
                .map(|tile| tile as u32)
                .collect(),
            extents: covered
                .each_ref()
                .map(|of| extent(of, tiles, windows.object_shape)),
            frames,
            tiles,
        }
    }

    /// Frames of the scan in the order in which devices have them.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// (frame): its place in that order.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// The tiles that a merge is over: those that several regions have windows over, or `all` with
    /// windows.
    pub(crate) fn tiles_of(&self, all: bool) -> Vec<u32> {
        if !all {
            return self.shared.clone();
        }
        let lit = |(_, shares): &(u32, &[f64; REGIONS])| shares.iter().any(|share| *share > 0.0);
        let tiles = (0..).zip(&self.shares).filter(lit);
        tiles.map(|(tile, _)| tile).collect()
    }

    /// The part of the object that a region has a copy of.
    pub(crate) fn extent(&self, region: usize) -> Extent {
        self.extents[region]
    }

    /// The frames of a region, ascending.
    pub(crate) fn frames(&self, region: usize) -> &[u32] {
        &self.frames[region]
    }

    /// Columns of the tiles of the object.
    pub(crate) fn tile_columns(&self) -> usize {
        self.tiles[1]
    }

    /// (tile): the regions' weights in a merge.
    pub(crate) fn shares(&self) -> &[[f64; REGIONS]] {
        &self.shares
    }

    /// The batches of an iteration: of each segment and region. `positions` are those of all
    /// frames, `kept` the regions' batches.
    pub(crate) fn segments(
        &self,
        kept: &mut [KeptBatches; REGIONS],
        method: &BatchMethod,
        positions: &[[f64; 2]],
        (seed, iteration): (u64, usize),
    ) -> Vec<[Vec<Vec<u32>>; REGIONS]> {
        let mut number = 0_u64;
        let of_regions: Vec<Vec<Vec<u32>>> = (self.frames.iter().zip(kept))
            .map(|(frames, kept)| {
                let own: Vec<[f64; 2]> = (frames.iter())
                    .filter_map(|frame| positions.get(*frame as usize).copied())
                    .collect();
                // Regions have random numbers of their own.
                let seed = seed.wrapping_add(number.wrapping_mul(0xD1B5_4A32_D192_ED03));
                number += 1;
                let lists = kept.of(method.order, &own, method.size, seed, iteration);
                let of_scan = |list: &Vec<u32>| -> Vec<u32> {
                    list.iter().map(|frame| frames[*frame as usize]).collect()
                };
                lists.iter().map(of_scan).collect()
            })
            .collect();
        let longest = of_regions.iter().map(Vec::len).max().unwrap_or(0);
        let segments = MERGES.min(longest);
        let part = |lists: &Vec<Vec<u32>>, segment: usize| {
            let [first, end] = [segment, segment + 1].map(|n| n * lists.len() / segments);
            lists[first..end].to_vec()
        };
        (0..segments)
            .map(|segment| std::array::from_fn(|region| part(&of_regions[region], segment)))
            .collect()
    }
}

/// Whether each of so many devices has whole regions, and there are several.
pub(crate) fn regions_divide_among(devices: usize) -> bool {
    devices > 1 && REGIONS.is_multiple_of(devices)
}

/// The regions that one of `devices` devices has, in their order.
pub(crate) fn regions_of(rank: usize, devices: usize) -> Vec<usize> {
    let position = order_of_devices(devices)
        .iter()
        .position(|device| *device == rank);
    let each = REGIONS / devices.clamp(1, REGIONS);
    let first = position.unwrap_or(0) * each;
    (first..first + each).collect()
}

/// The part of each in the sum; none if there is nothing.
fn shares(light: [f64; REGIONS]) -> Option<[f64; REGIONS]> {
    let total: f64 = light.iter().sum();
    if total.is_nan() || total <= 0.0 {
        return None;
    }
    let kept = light.map(|v| if v < LEAST_SHARE * total { 0.0 } else { v });
    let total: f64 = kept.iter().sum();
    Some(kept.map(|v| v / total))
}

/// Four lists of frames, from halving twice; share s of a batch ([`super::batch_shares`]) has as
/// many frames as region `[0, 2, 1, 3][s]`.
fn halved_twice(corners: &[[u32; 2]]) -> [Vec<u32>; REGIONS] {
    let positions: Vec<[f64; 2]> = corners.iter().map(|c| c.map(f64::from)).collect();
    let count = corners.len();
    let of_share = |share: usize| count / SHARES + usize::from(share < count % SHARES);
    let all = (0..count as u32).collect();
    let (low, high) = split_in_two(&positions, all, of_share(0) + of_share(2));
    let (a, b) = split_in_two(&positions, low, of_share(0));
    let (c, d) = split_in_two(&positions, high, of_share(1));
    [a, b, c, d].map(|mut frames| {
        frames.sort_unstable();
        frames
    })
}

/// Frames so that those of share s are the ones whose number, counted from the last, is s modulo 4.
fn by_turns(regions: &[Vec<u32>; REGIONS]) -> Vec<u32> {
    let of_shares = order_of_devices(SHARES)
        .into_iter()
        .map(|region| &regions[region]);
    let mut left: Vec<&[u32]> = of_shares.map(Vec::as_slice).collect();
    let count: usize = left.iter().map(|frames| frames.len()).sum();
    let mut order = vec![0; count];
    for (n, place) in order.iter_mut().rev().enumerate() {
        let of_share = &mut left[n % SHARES];
        if let Some((last, rest)) = of_share.split_last() {
            *place = *last;
            *of_share = rest;
        }
    }
    order
}

/// (tile): how many of the windows of the frames `own` are over it, or within two tiles and the
/// bound of it.
fn covered(windows: &Windows<'_>, own: &[u32], [rows, columns]: [usize; 2]) -> Vec<i32> {
    let shape = windows.shape;
    let margin = [0, 1].map(|axis| (windows.bound / TILE[axis] as f64).ceil() as usize + 1);
    // Differences along both axes, whose sums are the numbers.
    let mut counts = vec![0_i32; (rows + 1) * (columns + 1)];
    for frame in own {
        let corner = windows.corners[*frame as usize].map(|v| v as usize);
        let along = |axis: usize, tiles: usize| {
            let first = (corner[axis] / TILE[axis]).saturating_sub(margin[axis]);
            let last = (corner[axis] + shape[axis]).div_ceil(TILE[axis]) + margin[axis];
            [first.min(tiles), last.min(tiles)]
        };
        let ([top, bottom], [left, right]) = (along(0, rows), along(1, columns));
        for (row, column, step) in [
            (top, left, 1),
            (top, right, -1),
            (bottom, left, -1),
            (bottom, right, 1),
        ] {
            counts[row * (columns + 1) + column] += step;
        }
    }
    let mut covered = vec![0; rows * columns];
    for row in 0..rows {
        let mut sum = 0;
        for column in 0..columns {
            sum += counts[row * (columns + 1) + column];
            let above = if row > 0 {
                covered[(row - 1) * columns + column]
            } else {
                0
            };
            covered[row * columns + column] = above + sum;
        }
    }
    covered
}

/// The smallest rectangle with all tiles that are `covered`.
fn extent(covered: &[i32], [_, columns]: [usize; 2], object_shape: [usize; 2]) -> Extent {
    let (mut low, mut high) = ([usize::MAX; 2], [0; 2]);
    for (tile, _) in covered.iter().enumerate().filter(|(_, count)| **count > 0) {
        for (axis, place) in [tile / columns, tile % columns].into_iter().enumerate() {
            low[axis] = low[axis].min(place);
            high[axis] = high[axis].max(place + 1);
        }
    }
    let first = [0, 1].map(|axis| low[axis].min(high[axis]) * TILE[axis]);
    let end = [0, 1].map(|axis| (high[axis] * TILE[axis]).min(object_shape[axis]));
    Extent {
        first,
        shape: [0, 1].map(|axis| end[axis].saturating_sub(first[axis])),
    }
}

/// (tile): the sum of the windows of the frames `own`, moved to the beginnings of tiles and tapered
/// as cos⁴ along both axes: about the light of the frames. It is the same whatever the probe is,
/// also when a run is resumed.
fn lit(windows: &Windows<'_>, own: &[u32], [rows, columns]: [usize; 2]) -> Vec<f64> {
    let [of_rows, of_columns] = [0, 1].map(|axis| tapered(windows.shape[axis], TILE[axis]));
    let mut windows_at = vec![0_u32; rows * columns];
    for frame in own {
        let [row, column] = windows.corners[*frame as usize].map(|v| v as usize);
        let (row, column) = (row / TILE[0], column / TILE[1]);
        if row < rows && column < columns {
            windows_at[row * columns + column] += 1;
        }
    }
    let mut lit = vec![0.0; rows * columns];
    for (at, count) in windows_at
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
    {
        let (top, left) = (at / columns, at % columns);
        for (row, of_row) in of_rows.iter().enumerate() {
            let Some(to) = lit.get_mut((top + row) * columns + left..) else {
                continue;
            };
            let to = to.iter_mut().take(columns - left);
            for (to, of_column) in to.zip(&of_columns) {
                *to += f64::from(*count) * of_row * of_column;
            }
        }
    }
    lit
}

/// The sums over tiles of `tile` pixels of cos⁴, which is 0 at the ends of a window of `length`
/// pixels.
fn tapered(length: usize, tile: usize) -> Vec<f64> {
    let of_pixel = |pixel: usize| {
        let from_middle = (pixel as f64 + 0.5) / length as f64 - 0.5;
        (from_middle * std::f64::consts::PI).cos().powi(4)
    };
    let pixels: Vec<f64> = (0..length).map(of_pixel).collect();
    pixels
        .chunks(tile)
        .map(|of_tile| of_tile.iter().sum())
        .collect()
}

impl EngineSpec {
    /// Whether the engine works on the regions of a scan of so many frames, modes, rows and
    /// columns. If the recipe does not say, it does so for large scans: those of whose iterations
    /// merges are a small part, and whose regions have enough batches between merges.
    pub fn uses_regions(&self, shape: [usize; 4], object_shape: [usize; 2]) -> bool {
        let [frames, _, rows, columns] = shape;
        let Method::Batches(method) = self.method(frames) else {
            return false;
        };
        // A regulariser acts on the whole object in each batch.
        if method.smoothness().is_some() || frames < REGIONS {
            return false;
        }
        let product = |sizes: &[usize]| sizes.iter().copied().fold(1, usize::saturating_mul);
        let batches = frames / REGIONS / method.size.max(1);
        // Copies of the object are small beside the counts.
        let small = product(&[OVERLAP, object_shape[0], object_shape[1]]);
        match self.regions {
            Some(count) => count == REGIONS,
            None => {
                method.size >= SMALLEST
                    && method.order == BatchOrder::Compact
                    && batches >= LEAST_BATCHES
                    && product(&shape) >= LARGE_SCAN
                    && small <= product(&[frames, rows, columns])
            }
        }
    }
}

/// What is to be said of the engines that work on regions because the scan is large.
pub fn chosen_note(
    engines: &[EngineSpec],
    shape: [usize; 4],
    object_shape: [usize; 2],
) -> Option<String> {
    let chosen =
        |spec: &&EngineSpec| spec.regions.is_none() && spec.uses_regions(shape, object_shape);
    let name = engines.iter().find(chosen)?.name.as_str();
    Some(format!(
        "{name} works on {REGIONS} regions of this large scan (--set {name}.regions=1: on the whole)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::interleaved::Interleaved;
    use crate::engines::method::BatchUpdate;
    use std::sync::Arc;

    /// Frames on a grid of so many rows and columns, 11 and 17 pixels from each other.
    fn regions([rows, columns]: [u32; 2]) -> Regions {
        let corners: Vec<[u32; 2]> = (0..rows * columns)
            .map(|n| [n / columns * 11, n % columns * 17])
            .collect();
        Regions::new(&Windows {
            corners: &corners,
            object_shape: [11 * rows as usize + 40, 17 * columns as usize + 60],
            shape: [40, 60],
            bound: 3.0,
        })
    }

    const SHAPES: [[u32; 2]; 6] = [[1, 4], [5, 1], [2, 3], [7, 9], [12, 12], [3, 31]];

    #[test]
    fn every_device_has_whole_regions() {
        for shape in SHAPES {
            let regions = Arc::new(regions(shape));
            let count = (shape[0] * shape[1]) as usize;
            for devices in [1, 2, 4] {
                for rank in 0..devices {
                    let division = Interleaved::new(count, [rank, devices])
                        .with_regions(Some(Arc::clone(&regions)));
                    let mut own = division.own();
                    own.sort_unstable();
                    let of_regions = regions_of(rank, devices).into_iter();
                    let mut expected: Vec<usize> = of_regions
                        .flat_map(|region| regions.frames[region].iter().map(|f| *f as usize))
                        .collect();
                    expected.sort_unstable();
                    assert_eq!(own, expected, "{shape:?}, {rank} of {devices}");
                }
            }
        }
    }

    #[test]
    fn regions_divide_the_frames_and_their_shares_are_a_whole() {
        for shape in SHAPES {
            let regions = regions(shape);
            let lengths = regions.frames.each_ref().map(Vec::len);
            let (low, high) = (lengths.iter().min(), lengths.iter().max());
            assert!(high.unwrap() - low.unwrap() <= 1, "{lengths:?}");
            let mut all = regions.frames.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..shape[0] * shape[1]));
            for shares in &regions.shares {
                let sum: f64 = shares.iter().sum();
                assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-12, "{shares:?}");
            }
            // A region has a copy of all tiles in which it has a share.
            for (tile, shares) in (0..).zip(&regions.shares) {
                for region in (0..REGIONS).filter(|region| shares[*region] > 0.0) {
                    assert!(
                        regions
                            .extent(region)
                            .tile(tile, regions.tiles[1])
                            .is_some()
                    );
                }
            }
            // A tile of which a region has a part but not the whole is under windows of several.
            for (tile, shares) in (0..).zip(&regions.shares) {
                let parted = shares.iter().any(|share| *share > 0.0 && *share < 1.0);
                assert!(
                    !parted || regions.shared.contains(&tile),
                    "{tile} {shares:?}"
                );
            }
        }
    }

    #[test]
    fn a_large_scan_has_borders_and_insides() {
        let regions = regions([40, 40]);
        let whole = |shares: &&[f64; REGIONS]| shares.contains(&1.0);
        let inside = regions.shares.iter().filter(whole).count();
        assert!(inside > regions.shares.len() / 2 && inside < regions.shares.len());
        assert!(regions.shared.len() < regions.shares.len() / 2);
    }

    #[test]
    fn every_frame_is_in_one_batch_of_its_region() {
        let regions = regions([9, 9]);
        let positions: Vec<[f64; 2]> = (0..81)
            .map(|n| [f64::from(n / 9), f64::from(n % 9)])
            .collect();
        for (order, size) in [
            (BatchOrder::Spread, 1),
            (BatchOrder::Compact, 3),
            (BatchOrder::Compact, 100),
        ] {
            let method = BatchMethod {
                size,
                order,
                update: BatchUpdate::Pie {
                    object_alpha: 1.0,
                    probe_alpha: 1.0,
                    object_step: 1.0,
                    probe_step: 1.0,
                },
                regions: true,
            };
            let mut kept = <[KeptBatches; REGIONS]>::default();
            let segments = regions.segments(&mut kept, &method, &positions, (7, 3));
            assert_eq!(segments.len(), MERGES.min(21_usize.div_ceil(size)));
            for region in 0..REGIONS {
                let lists = segments.iter().flat_map(|segment| &segment[region]);
                assert!(lists.clone().all(|list| list.len() <= size));
                let mut frames: Vec<u32> = lists.flatten().copied().collect();
                frames.sort_unstable();
                assert_eq!(frames, regions.frames[region]);
            }
        }
    }
}
