//! Spreading and interpolation against the weights of each point and cell, in both orders of threads
//! and with watched borders: a missing barrier of the warp, or a cell beyond the tile, shows here.

#![cfg(feature = "mri")]

use warpstride_device::Complex32;
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};
use warpstride_kernels::mri::nufft_interpolate::{
    MriNufftInterpolate2dW5, MriNufftInterpolate2dW7, MriNufftInterpolate3dW3,
    MriNufftInterpolate3dW8,
};
use warpstride_kernels::mri::nufft_spread::{
    MriNufftSpread2dW5, MriNufftSpread2dW7, MriNufftSpread3dW3, MriNufftSpread3dW8,
};
use warpstride_kernels::mri::nufft_tile::{
    FRACTION_BITS, NufftPoint, NufftSubproblem, TileLayout, own_cells, terms,
};

fn number(i: usize) -> f32 {
    ((i * 7919 + 13) % 1009) as f32 / 504.5 - 1.0
}

fn values(count: usize, seed: usize) -> Vec<Complex32> {
    (0..count)
        .map(|i| Complex32::new(number(i + seed), number(3 * i + seed + 1)))
        .collect()
}

struct Case {
    axes: usize,
    width: usize,
    tiles: [u32; 3],
    points: Vec<NufftPoint>,
    heaps: Vec<NufftSubproblem>,
    coefficients: Vec<f32>,
}

impl Case {
    /// Subproblems of 1, 31, 32, 33 and 70 points in the corners of the grid; every third point in one cell.
    fn new(axes: usize, width: usize) -> Self {
        let layout = TileLayout::new(width as u32, axes as u32);
        let tiles = [2, 1, if axes == 3 { 2 } else { 1 }];
        let counts = [1_u32, 31, 32, 33, 70];
        let mut points = Vec::new();
        let mut heaps = Vec::new();
        for (h, count) in counts.into_iter().enumerate() {
            let h = h as u32;
            let tile = [h % tiles[0], 0, h / 2 % tiles[2]];
            heaps.push(NufftSubproblem {
                first: points.len() as u32,
                points: count,
                origin: std::array::from_fn(|axis| tile[axis] * layout.own[axis]),
            });
            for _ in 0..count {
                let p = points.len() as u32;
                let place = std::array::from_fn(|axis| {
                    if axis >= axes {
                        return 0;
                    }
                    let own = layout.own[axis];
                    let cell = if p.is_multiple_of(3) {
                        own - 1
                    } else {
                        (p * 5 + p / 7) % own
                    };
                    cell << FRACTION_BITS | p.wrapping_mul(0x9E37_79B9 << axis) >> 4
                });
                points.push(NufftPoint { place, sample: p });
            }
        }
        // Samples in another order than points.
        let count = points.len() as u32;
        for point in &mut points {
            point.sample = (point.sample * 5 + 3) % count;
        }
        Self {
            axes,
            width,
            tiles,
            points,
            heaps,
            coefficients: (0..width * terms(width)).map(number).collect(),
        }
    }

    /// Calls `take(cell in the tile, weight)`.
    fn footprint(&self, point: &NufftPoint, mut take: impl FnMut([usize; 3], f64)) {
        let weight = |axis: usize, piece: usize| -> f64 {
            if axis >= self.axes {
                return 1.0;
            }
            let row = &self.coefficients[piece * terms(self.width)..][..terms(self.width)];
            let t = f64::from(point.argument(axis));
            row.iter().rev().fold(0.0, |sum, c| sum * t + f64::from(*c))
        };
        let deep = if self.axes == 3 { self.width } else { 1 };
        for dz in 0..deep {
            for dy in 0..self.width {
                for dx in 0..self.width {
                    let steps = [dx, dy, dz];
                    let cell = std::array::from_fn(|axis| point.cell(axis) as usize + steps[axis]);
                    take(cell, weight(0, dx) * weight(1, dy) * weight(2, dz));
                }
            }
        }
    }
}

fn close(found: &[Complex32], expected: &[[f64; 2]]) {
    assert_eq!(found.len(), expected.len());
    let mut away = 0.0;
    let mut norm = 0.0;
    for (f, e) in found.iter().zip(expected) {
        away += (f64::from(f.re) - e[0]).powi(2) + (f64::from(f.im) - e[1]).powi(2);
        norm += e[0].powi(2) + e[1].powi(2);
    }
    assert!(away <= 1e-12 * norm, "{away} of {norm}");
}

macro_rules! both {
    ($test:ident, $axes:literal, $width:literal, $spread:ident, $interpolate:ident) => {
        #[test]
        fn $test() {
            let case = Case::new($axes, $width);
            let layout = TileLayout::new($width, $axes);
            let count = case.points.len();
            let images = 2;
            let samples = values(images * count, 5);
            let mut slots = vec![[0.0; 2]; images * case.heaps.len() * layout.slot_cells()];
            let [pitch, tall] = [layout.slot_pitch as usize, layout.padded[1] as usize];
            let fine_size: [usize; 3] =
                std::array::from_fn(|axis| (case.tiles[axis] * layout.own[axis]) as usize);
            let cells = case.tiles.iter().product::<u32>() as usize * own_cells($axes);
            let fine = values(images * cells, 11);
            let mut expected = vec![[0.0; 2]; images * count];
            for image in 0..images {
                for (h, heap) in case.heaps.iter().enumerate() {
                    for point in &case.points[heap.first as usize..][..heap.points as usize] {
                        let sample = image * count + point.sample as usize;
                        case.footprint(point, |cell, weight| {
                            let slot = (image * case.heaps.len() + h) * layout.slot_cells();
                            let at = slot + (cell[2] * tall + cell[1]) * pitch + cell[0];
                            slots[at][0] += weight * f64::from(samples[sample].re);
                            slots[at][1] += weight * f64::from(samples[sample].im);
                            let place: [usize; 3] = std::array::from_fn(|axis| {
                                (heap.origin[axis] as usize + cell[axis]) % fine_size[axis]
                            });
                            let at = (place[2] * fine_size[1] + place[1]) * fine_size[0] + place[0];
                            let value = fine[image * cells + at];
                            expected[sample][0] += weight * f64::from(value.re);
                            expected[sample][1] += weight * f64::from(value.im);
                        });
                    }
                }
            }

            let points = Memory::try_copy_of(&case.points).unwrap();
            let heaps = Memory::try_copy_of(&case.heaps).unwrap();
            let coefficients = Memory::try_copy_of(&case.coefficients).unwrap();
            let no_weights = Memory::<f32>::try_copy_of(&[]).unwrap();
            let given = Memory::try_copy_of(&samples).unwrap();
            let grid = Memory::try_copy_of(&fine).unwrap();
            let mut bits: Option<(Vec<Complex32>, Vec<Complex32>)> = None;
            for (blocks, order) in [(1, Order::Ascending), (3, Order::Descending)] {
                let mut out = Memory::try_poisoned(slots.len()).unwrap();
                let launch = $spread {
                    slots: out.write(),
                    samples: given.read(),
                    points: points.read(),
                    heaps: heaps.read(),
                    weights: no_weights.read(),
                    coefficients: coefficients.read(),
                    count: count as u32,
                    heap_count: case.heaps.len() as u32,
                    weighted: 0,
                    first_image: 0,
                    images: images as u32,
                };
                let config = LaunchConfig::linear(&launch, blocks, 32);
                emulator::launch_in(&launch, config, order).unwrap();
                assert_eq!(out.check_canaries(), Ok(()));
                close(out.as_slice(), &slots);

                let mut back = Memory::try_poisoned(images * count).unwrap();
                let launch = $interpolate {
                    samples: back.write(),
                    fine: grid.read(),
                    points: points.read(),
                    heaps: heaps.read(),
                    coefficients: coefficients.read(),
                    count: count as u32,
                    heap_count: case.heaps.len() as u32,
                    tiles_x: case.tiles[0],
                    tiles_y: case.tiles[1],
                    tiles_z: case.tiles[2],
                    first_image: 0,
                    images: images as u32,
                };
                let config = LaunchConfig::linear(&launch, blocks, 64);
                emulator::launch_in(&launch, config, order).unwrap();
                assert_eq!(back.check_canaries(), Ok(()));
                close(back.as_slice(), &expected);

                // Sums have one order, whatever the launch.
                let now = (out.as_slice().to_vec(), back.as_slice().to_vec());
                if let Some(before) = &bits {
                    assert!(*before == now);
                }
                bits = Some(now);
            }
        }
    };
}

both!(
    two_axes_width_5,
    2,
    5,
    MriNufftSpread2dW5,
    MriNufftInterpolate2dW5
);
both!(
    two_axes_width_7,
    2,
    7,
    MriNufftSpread2dW7,
    MriNufftInterpolate2dW7
);
both!(
    three_axes_width_3,
    3,
    3,
    MriNufftSpread3dW3,
    MriNufftInterpolate3dW3
);
both!(
    three_axes_width_8,
    3,
    8,
    MriNufftSpread3dW8,
    MriNufftInterpolate3dW8
);
