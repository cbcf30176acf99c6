//! Sizes of the cases, their random data, and the array indices of a frame's pixels.

use rand::RngExt;
use std::fmt;
use std::ops::{Deref, DerefMut};
use warpstride_selftest::bench::Size;
use warpstride_selftest::random_data;

/// Sizes in the types that kernels take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) frames: u32,
    pub(super) modes: u32,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) object_rows: u32,
    pub(super) object_columns: u32,
    pub(super) parts: u32,
    pub(super) slices: u32,
    /// Whether the sizes are large enough for meaningful times.
    pub(super) timed: bool,
}

/// Small sizes: 1 × 1, primes, wider and taller than square, no frame, one frame, more parts than
/// pixels, more slices than frames, objects of the frame's size and of several tiles.
const SMALL: [([u32; 4], [u32; 2], [u32; 2]); 10] = [
    ([1, 1, 1, 1], [1, 1], [1, 1]),
    ([2, 1, 1, 3], [4, 5], [5, 2]),
    ([3, 3, 7, 11], [20, 17], [2, 2]),
    ([5, 1, 13, 5], [16, 40], [3, 7]),
    ([0, 2, 6, 4], [9, 10], [2, 3]),
    ([2, 7, 5, 8], [5, 8], [1, 2]),
    ([1, 1, 16, 16], [33, 40], [4, 1]),
    ([6, 2, 9, 12], [19, 35], [1, 3]),
    ([19, 1, 5, 7], [30, 21], [1, 2]),
    ([1, 2, 17, 19], [18, 45], [2, 1]),
];

/// Sizes of typical measured scans.
const LARGE: [([u32; 4], [u32; 2], [u32; 2]); 4] = [
    ([400, 1, 128, 128], [640, 600], [4, 25]),
    ([120, 3, 128, 128], [400, 410], [4, 9]),
    ([61, 2, 127, 131], [301, 407], [5, 61]),
    ([48, 1, 256, 256], [700, 511], [16, 7]),
];

/// Shapes tested for a size.
pub(super) fn shapes(size: Size) -> Vec<Shape> {
    let large: &[_] = if size == Size::Device { &LARGE } else { &[] };
    let small = SMALL.iter().map(|sizes| (sizes, false));
    let all = small.chain(large.iter().map(|sizes| (sizes, true)));
    all.map(|((waves, object, [parts, slices]), timed)| Shape {
        frames: waves[0],
        modes: waves[1],
        rows: waves[2],
        columns: waves[3],
        object_rows: object[0],
        object_columns: object[1],
        parts: *parts,
        slices: *slices,
        timed,
    })
    .collect()
}

/// Array indices of one pixel of one mode of one frame.
pub(super) struct PixelIndices {
    pub(super) frame: usize,
    /// Index in the frame.
    pub(super) pixel: usize,
    /// Index in the exit waves.
    pub(super) wave: usize,
    /// Index in the probe.
    pub(super) probe: usize,
    /// Index in the object.
    pub(super) object: usize,
    /// Whether this is the first mode, for actions once per pixel.
    pub(super) first_mode: bool,
}

impl Shape {
    pub(super) fn pixels(&self) -> usize {
        self.rows as usize * self.columns as usize
    }

    pub(super) fn probe_elements(&self) -> usize {
        self.modes as usize * self.pixels()
    }

    pub(super) fn wave_elements(&self) -> usize {
        self.frames as usize * self.probe_elements()
    }

    pub(super) fn frame_elements(&self) -> usize {
        self.frames as usize * self.pixels()
    }

    pub(super) fn object_elements(&self) -> usize {
        self.object_rows as usize * self.object_columns as usize
    }

    /// Length of each of `count` slices of `all` frames or pixels.
    pub(super) fn slice_length(all: usize, count: u32) -> usize {
        all.div_ceil(count as usize).max(1)
    }

    /// Indices of every element of the exit waves, in order.
    pub(super) fn indices<'a>(
        &self,
        corners: &'a [[u32; 2]],
    ) -> impl Iterator<Item = PixelIndices> + 'a {
        let Self {
            modes,
            columns,
            object_columns,
            ..
        } = *self;
        let pixels = self.pixels();
        let layers = corners.iter().enumerate().flat_map(move |(frame, corner)| {
            (0..modes as usize).map(move |mode| (frame, corner, mode))
        });
        layers.flat_map(move |(frame, corner, mode)| {
            let [top, left] = corner.map(|v| v as usize);
            (0..pixels).map(move |pixel| PixelIndices {
                frame,
                pixel,
                wave: (frame * modes as usize + mode) * pixels + pixel,
                probe: mode * pixels + pixel,
                object: (top + pixel / columns as usize) * object_columns as usize
                    + left
                    + pixel % columns as usize,
                first_mode: mode == 0,
            })
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            frames,
            modes,
            rows,
            columns,
            object_rows,
            object_columns,
            ..
        } = self;
        write!(
            f,
            "{frames} × {modes} × {rows} × {columns} on {object_rows} × {object_columns}"
        )
    }
}

/// Random data of a scan.
pub(super) struct Source(random_data::Source);

impl Deref for Source {
    type Target = random_data::Source;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Source {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Source {
    /// Random data of the case `name` at a shape.
    pub(super) fn new(name: &str, shape: &impl std::fmt::Display) -> Self {
        Self(random_data::Source::new(name, shape))
    }

    /// Windows at random positions on the object, the first two at opposite corners.
    pub(super) fn corners(&mut self, shape: &Shape) -> Vec<[u32; 2]> {
        let largest = [
            shape.object_rows - shape.rows,
            shape.object_columns - shape.columns,
        ];
        (0..shape.frames)
            .map(|frame| match frame {
                0 => largest,
                1 => [0, 0],
                _ => largest.map(|most| self.random.random_range(0..=most)),
            })
            .collect()
    }

    /// √counts between 0 and 1; every seventh pixel and the whole second frame are masked, every
    /// fifth of the others is free.
    pub(super) fn magnitudes(&mut self, shape: &Shape) -> Vec<f32> {
        let pixels = shape.pixels();
        let mut values = self.reals(shape.frame_elements(), 0.0, 1.0);
        for (i, value) in values.iter_mut().enumerate() {
            if i % 7 == 3 || i / pixels == 1 {
                *value = -1.0;
            } else if i % 5 == 2 {
                *value = -2.0 - *value;
            }
        }
        values
    }

    /// Random zeros and ones.
    pub(super) fn support(&mut self, len: usize) -> Vec<f32> {
        (0..len)
            .map(|_| f32::from(u8::from(self.random.random_range(0..4) > 0)))
            .collect()
    }
}
