//! The rows that the race detection assumes a launch to access are those that the kernel accesses.

use warpstride_device::F32x4;
use warpstride_device::launch::Emulated;

use super::NX;
use super::group::{Behaviour, RaceGroup};
use super::order::{Access, Step, Touch};
use crate::cuda::kernels::{Geometry, GpuReal, Memory, Part};
use warpstride_cuda::gpu::{Buffer as _, DeviceGroup as _, EmulatedGroupBuffer, StreamId};

/// A value that the kernel never writes.
const UNTOUCHED: F32x4 = F32x4([7.0; 4]);
const ONE: F32x4 = F32x4([1.0; 4]);
const NAN: F32x4 = F32x4([f32::NAN; 4]);

/// Whether each row of the buffer, which is one element, is accessed.
fn rows_of(touched: &[Touch], buffer: &EmulatedGroupBuffer<F32x4>, access: Access) -> Vec<bool> {
    let start = buffer.read().as_ptr().addr();
    let touches = |row: usize| {
        let at = start + row * size_of::<F32x4>();
        let mut touched = touched.iter();
        touched.any(|touch| touch.access == access && touch.bytes.contains(&at))
    };
    (0..buffer.len()).map(touches).collect()
}

fn memory<'a>(
    input: &'a EmulatedGroupBuffer<F32x4>,
    out: &'a mut EmulatedGroupBuffer<F32x4>,
    sums: &'a mut EmulatedGroupBuffer<f64>,
) -> Memory<'a, Emulated, F32x4> {
    Memory {
        input: input.read(),
        out: out.write(),
        source: None,
        sums: sums.write(),
    }
}

/// The result of a pass, and the rows that it is assumed to read and to write.
fn pass(sweeps: usize, geometry: Geometry, values: &[F32x4]) -> (Vec<F32x4>, [Vec<bool>; 2]) {
    let group = RaceGroup::new(Behaviour {
        devices: 1,
        ..Behaviour::default()
    });
    let field = || group.alloc::<F32x4>(0, "the field", values.len()).unwrap();
    let (mut input, mut out) = (field(), field());
    let mut sums = group.alloc(0, "the norms", sweeps).unwrap();
    let emulated = group.emulated();
    emulated.upload(&mut input, 0, values).unwrap();
    let untouched = vec![UNTOUCHED; values.len()];
    emulated.upload(&mut out, 0, &untouched).unwrap();
    let part = Part {
        first_row: sweeps as u32,
        end_row: 2 * sweeps as u32 + 1,
        strips: 1,
        norm_mask: 1,
        sums_stride: 1,
        sums_offset: 0,
    };
    let (device, stream) = (0, StreamId::Bulk);
    f32::pass(
        emulated,
        device,
        stream,
        sweeps,
        geometry,
        part,
        memory(&input, &mut out, &mut sums),
    )
    .unwrap();
    let steps = group
        .capture(&mut || {
            f32::pass(
                &group,
                device,
                stream,
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

/// The result depends on the first and the last of the rows that are read and on no row beyond
/// them, and exactly the rows that are written change.
#[test]
fn launches_access_the_rows_that_they_are_assumed_to_access() {
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
                fixed_below: -1000,
                fixed_from: 1000,
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
                let depends = found.iter().any(|quad| quad.0.iter().any(|x| x.is_nan()));
                assert!(depends, "{sweeps} sweeps, row {row} is not needed");
            }
        }
    }
}
