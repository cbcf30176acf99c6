//! The rows that a launch is taken to touch are those that the kernel touches.

use warpstride_device::F32x4;
use warpstride_device::launch::Emulated;

use super::NX;
use super::fleet::{Behaviour, RaceFleet};
use super::order::{Access, Step, Touch};
use crate::gpu::{Buffer as _, Fleet as _, Lane, PlacedBuffer};
use crate::jacobi::cuda::kernels::{Geometry, GpuReal, Memory, Part};

/// Written to no row by the kernel.
const UNTOUCHED: F32x4 = F32x4([7.0; 4]);
const ONE: F32x4 = F32x4([1.0; 4]);
const NAN: F32x4 = F32x4([f32::NAN; 4]);

/// Rows of the buffer, which are its elements.
fn rows_of(touched: &[Touch], buffer: &PlacedBuffer<F32x4>, access: Access) -> Vec<bool> {
    let start = buffer.read().as_ptr().addr();
    let touches = |row: usize| {
        let at = start + row * size_of::<F32x4>();
        let mut touched = touched.iter();
        touched.any(|touch| touch.access == access && touch.bytes.contains(&at))
    };
    (0..buffer.len()).map(touches).collect()
}

fn memory<'a>(
    input: &'a PlacedBuffer<F32x4>,
    out: &'a mut PlacedBuffer<F32x4>,
    sums: &'a mut PlacedBuffer<f64>,
) -> Memory<'a, Emulated, F32x4> {
    Memory {
        input: input.read(),
        out: out.write(),
        source: None,
        sums: sums.write(),
    }
}

/// What a pass makes of the input, and what it is taken to touch.
fn pass(sweeps: usize, geometry: Geometry, values: &[F32x4]) -> (Vec<F32x4>, [Vec<bool>; 2]) {
    let fleet = RaceFleet::new(Behaviour {
        devices: 1,
        ..Behaviour::default()
    });
    let field = || fleet.alloc::<F32x4>(0, "the field", values.len()).unwrap();
    let (mut input, mut out) = (field(), field());
    let mut sums = fleet.alloc(0, "the norms", sweeps).unwrap();
    let emulated = fleet.emulated();
    emulated.upload(&mut input, 0, values).unwrap();
    let untouched = vec![UNTOUCHED; values.len()];
    emulated.upload(&mut out, 0, &untouched).unwrap();
    let part = Part {
        first_row: sweeps as u32,
        end_row: 2 * sweeps as u32 + 1,
        strips: 1,
        wanted: 1,
        sums_stride: 1,
        sums_offset: 0,
    };
    let (device, lane) = (0, Lane::Bulk);
    f32::pass(
        emulated,
        device,
        lane,
        sweeps,
        geometry,
        part,
        memory(&input, &mut out, &mut sums),
    )
    .unwrap();
    let steps = fleet
        .capture(&mut || {
            f32::pass(
                &fleet,
                device,
                lane,
                sweeps,
                geometry,
                part,
                memory(&input, &mut out, &mut sums),
            )
        })
        .unwrap();
    let Some([Step::Touch(_, touched)]) = steps.as_deref() else {
        panic!("one launch is one step: {steps:?}");
    };
    let rows = [
        rows_of(touched, &input, Access::Read),
        rows_of(touched, &out, Access::Write),
    ];
    let mut found = untouched;
    emulated.download(&out, 0, &mut found).unwrap();
    (found, rows)
}

/// No value beyond the rows that are read is seen in the result, the first and the last of them are;
/// just the rows that are written change.
#[test]
fn launches_touch_the_rows_that_they_are_taken_to_touch() {
    for sweeps in 1..=8 {
        for wraps in [false, true] {
            let (rows, halo) = (3 * sweeps + 4, if wraps { 0 } else { sweeps });
            let geometry = Geometry {
                rows: rows as u32,
                halo: halo as u32,
                pitch: 1,
                nx: NX as u32,
                wraps,
                periodic_columns: false,
                held_below: -1000,
                held_from: 1000,
            };
            let ones = vec![ONE; rows + 2 * halo];
            let (_, [read, written]) = pass(sweeps, geometry, &ones);
            let beyond = |read: &bool| if *read { ONE } else { NAN };
            let values: Vec<F32x4> = read.iter().map(beyond).collect();
            let (found, _) = pass(sweeps, geometry, &values);
            for (row, quad) in found.iter().enumerate() {
                let expected = if written[row] { ONE } else { UNTOUCHED };
                assert_eq!(quad.0, expected.0, "{sweeps} sweeps, row {row}");
            }
            let first = read.iter().position(|read| *read).unwrap();
            let last = read.iter().rposition(|read| *read).unwrap();
            for row in [first, last] {
                let mut values = ones.clone();
                values[row] = NAN;
                let (found, _) = pass(sweeps, geometry, &values);
                let seen = found.iter().any(|quad| quad.0.iter().any(|x| x.is_nan()));
                assert!(seen, "{sweeps} sweeps, row {row} is not needed");
            }
        }
    }
}
