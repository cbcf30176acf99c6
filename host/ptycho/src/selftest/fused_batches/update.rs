//! The kernels `ptycho_batch_finish` and `ptycho_batch_advance`.

use super::super::shape::{Shape, Source};
use super::values::clipped;
use num_complex::Complex;
use warpstride_cuda::gpu::{Buffer, Device, Result};
use warpstride_device::Complex32;
use warpstride_device::launch::{Emulated, Work};
use warpstride_kernels::ptycho::{
    batch_advance::PtychoBatchAdvance,
    batch_finish::PtychoBatchFinish,
    pie_pass::{OBJECT, PROBE},
};
use warpstride_selftest::bench::{Bench, Case, all_wide, wide};

/// Updates, momentum, limits of the object's modulus (none if the upper one is negative), and
/// whether the momentum beyond the tiles of the bounds is deferred.
pub(super) type Advance = (u32, f32, [f32; 2], bool);

pub(super) const ADVANCES: [Advance; 4] = [
    (OBJECT | PROBE, 0.0, [0.4, 0.9], false),
    (OBJECT, 0.9, [0.0, -1.0], false),
    (PROBE, 0.6, [0.3, 1.1], false),
    (OBJECT | PROBE, 0.7, [0.2, 0.8], true),
];

/// Updates, extra weight and floor, and α of object and probe (negative: the floor).
pub(super) const DENOMINATORS: [(u32, [f32; 2], [f32; 2]); 3] = [
    (OBJECT | PROBE, [0.2, 0.1], [-1.0, -1.0]),
    (OBJECT, [0.0, 0.3], [0.1, 1.0]),
    (PROBE, [0.0, 0.0], [1.0, 0.4]),
];

/// Bounds on an object: the second and third quarter of rows and columns, so that there are pixels
/// beyond them on every side.
pub(super) fn bounds(shape: &Shape) -> [u32; 4] {
    let [rows, columns] = [shape.object_rows, shape.object_columns];
    [
        rows / 4,
        columns / 4,
        rows - rows / 4,
        columns - columns / 4,
    ]
}

/// Whether place `at` of the object is within [`bounds`].
fn is_within(shape: &Shape, at: usize) -> bool {
    let [top, left, bottom, right] = bounds(shape);
    let columns = shape.object_columns as usize;
    let (row, column) = ((at / columns) as u32, (at % columns) as u32);
    (top..bottom).contains(&row) && (left..right).contains(&column)
}

/// Whether place `at` of the object is in the tiles of [`bounds`], which go on below and to the
/// right.
fn is_in_tiles(shape: &Shape, at: usize) -> bool {
    let [top, left, bottom, right] = bounds(shape);
    let columns = shape.object_columns as usize;
    let (row, column) = ((at / columns) as u32, (at % columns) as u32);
    (top..bottom.next_multiple_of(8)).contains(&row)
        && (left..right.next_multiple_of(32)).contains(&column)
}

/// Sums that are divided, of object and probe.
pub(super) struct Divided {
    shape: Shape,
    options: (u32, [f32; 2], [f32; 2]),
    pub(super) before: [Vec<Complex32>; 2],
    pub(super) weights: [Vec<f32>; 2],
}

impl Divided {
    pub(super) fn new(
        source: &mut Source,
        shape: &Shape,
        options: (u32, [f32; 2], [f32; 2]),
    ) -> Self {
        let lengths = [shape.object_elements(), shape.probe_elements()];
        let of_weights = [lengths[0], shape.pixels()];
        Self {
            shape: *shape,
            options,
            before: lengths.map(|len| source.complex(len)),
            weights: of_weights.map(|len| source.reals(len, 0.05, 1.0)),
        }
    }

    /// The largest weights.
    pub(super) fn most(&self) -> [f32; 2] {
        (self.weights.each_ref()).map(|of| of.iter().copied().fold(0.0, f32::max))
    }

    /// The directions; the object's within the bounds.
    pub(super) fn reference(&self) -> [Vec<Complex<f64>>; 2] {
        let (updates, [extra, floor], alpha) = self.options;
        let most = self.most();
        [0, 1].map(|n| {
            let add = if n == 0 { f64::from(extra) } else { 0.0 };
            let mixed = f64::from(alpha[n]);
            let top = f64::from(most[n]) + add;
            let one = |(at, (value, weight)): (usize, (&Complex32, &f32))| {
                if n == 0 && !is_within(&self.shape, at) {
                    return wide(*value);
                }
                let w = f64::from(*weight) + add;
                let divisor = if mixed < 0.0 {
                    w.hypot(f64::from(floor) * top)
                } else {
                    (1.0 - mixed) * w + mixed * top
                };
                if updates & [OBJECT, PROBE][n] != 0 {
                    wide(*value) / divisor
                } else {
                    Complex::default()
                }
            };
            (self.before[n].iter().zip(self.weights[n].iter().cycle()))
                .enumerate()
                .map(one)
                .collect()
        })
    }
}

pub(super) fn finish<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    options: (u32, [f32; 2], [f32; 2]),
) -> Result<()> {
    let on = bench.on();
    let (updates, [extra, floor], alpha) = options;
    let lengths = [shape.object_elements(), shape.pixels()];
    let data = Divided::new(&mut Source::new("batch finish", &shape), &shape, options);
    let reference = data.reference();
    let largest = on.upload(&data.most().map(f32::to_bits))?;
    let bounds = on.upload(&[bounds(&shape)])?;
    let [of_object, of_probe] = data.weights.each_ref().map(|of| on.upload(of));
    let (of_object, of_probe) = (of_object?, of_probe?);
    let total = lengths[0] + lengths[1];
    bench.run(
        Case::of::<PtychoBatchFinish<'_, Emulated>>(format!(
            "{} + {}, updates {updates}, extra {extra}, floor {floor}, alpha {alpha:?}",
            lengths[0], lengths[1]
        ))
        .timed(shape.timed, 20 * total),
        (on.upload(&data.before[0])?, on.upload(&data.before[1])?),
        |device, (object, probe)| {
            let launch = PtychoBatchFinish {
                object: object.write(),
                probe: probe.write(),
                weights: of_object.read(),
                probe_weights: of_probe.read(),
                largest: largest.read(),
                bounds: bounds.read(),
                elements: lengths[0] as u32,
                columns: shape.object_columns,
                pixels: lengths[1] as u32,
                updates,
                extra,
                floor,
                object_alpha: alpha[0],
                probe_alpha: alpha[1],
            };
            device.launch(&launch, Work::Elements(total))
        },
        |on, (object, probe)| {
            Ok(on
                .error(object, &reference[0])?
                .max(on.error(probe, &reference[1])?))
        },
    )
}

/// Object and probe that are changed along their directions.
pub(super) struct Advanced {
    shape: Shape,
    options: Advance,
    /// Steps of object and probe.
    pub(super) sizes: [f32; 2],
    pub(super) before: [Vec<Complex32>; 2],
    pub(super) change: [Vec<Complex32>; 2],
    /// Empty without momentum.
    pub(super) speed: [Vec<Complex32>; 2],
    pub(super) support: Vec<f32>,
}

impl Advanced {
    pub(super) fn new(source: &mut Source, shape: &Shape, options: Advance) -> Self {
        let lengths = [shape.object_elements(), shape.probe_elements()];
        let velocities = lengths.map(|len| if options.1 > 0.0 { len } else { 0 });
        Self {
            shape: *shape,
            options,
            sizes: [0.7, -0.4],
            before: lengths.map(|len| source.complex(len)),
            change: lengths.map(|len| source.complex(len)),
            speed: velocities.map(|len| source.complex(len)),
            support: source.support(shape.pixels()),
        }
    }

    /// Object and probe: values and velocities afterwards.
    pub(super) fn reference(&self) -> [[Vec<Complex<f64>>; 2]; 2] {
        let (updates, momentum, limits, deferred) = self.options;
        [0, 1].map(|n| {
            let (before, speed) = (&self.before[n], &self.speed[n]);
            if updates & [OBJECT, PROBE][n] == 0 {
                return [all_wide(before), all_wide(speed)];
            }
            let stays = |at: usize| n == 0 && deferred && !is_in_tiles(&self.shape, at);
            let speeds: Vec<Complex<f64>> = (0..before.len())
                .map(|at| {
                    if stays(at) {
                        return wide(speed[at]);
                    }
                    let last = speed.get(at).copied().map_or(Complex::default(), wide);
                    let change = if n == 0 && !is_within(&self.shape, at) {
                        Complex::default()
                    } else {
                        wide(self.change[n][at]) * f64::from(self.sizes[n])
                    };
                    last * f64::from(momentum) + change
                })
                .collect();
            let value = |(at, value): (usize, &Complex32)| {
                if stays(at) {
                    return wide(*value);
                }
                let value = wide(*value) + speeds[at];
                if n == 0 {
                    clipped(value, limits)
                } else {
                    value * f64::from(self.support[at % self.support.len()])
                }
            };
            let values = before.iter().enumerate().map(value).collect();
            [values, speeds[..speed.len()].to_vec()]
        })
    }
}

pub(super) fn advance<M: Device>(
    bench: &mut Bench<'_, M>,
    shape: Shape,
    options: Advance,
) -> Result<()> {
    let on = bench.on();
    let (updates, momentum, limits, deferred) = options;
    let data = Advanced::new(&mut Source::new("batch advance", &shape), &shape, options);
    let reference = data.reference();
    let lengths = data.before.each_ref().map(Vec::len);
    let velocities = data.speed.each_ref().map(Vec::len);
    let [along_object, along_probe] = data.change.each_ref().map(|values| on.upload(values));
    let (along_object, along_probe) = (along_object?, along_probe?);
    let support = on.upload(&data.support)?;
    let steps = on.upload(&data.sizes)?;
    let bounds = on.upload(&[bounds(&shape)])?;
    let total = lengths[0] + lengths[1];
    bench.run(
        Case::of::<PtychoBatchAdvance<'_, Emulated>>(format!(
            "{} + {}, updates {updates}, momentum {momentum}, limits {limits:?}, deferred {deferred}",
            lengths[0], lengths[1]
        ))
        .timed(
            shape.timed && !deferred,
            24 * total + 16 * (velocities[0] + velocities[1]),
        ),
        (
            (on.upload(&data.before[0])?, on.upload(&data.before[1])?),
            (on.upload(&data.speed[0])?, on.upload(&data.speed[1])?),
        ),
        |device, ((object, probe), (object_velocity, probe_velocity))| {
            let launch = PtychoBatchAdvance {
                object: object.write(),
                probe: probe.write(),
                object_velocity: object_velocity.write(),
                probe_velocity: probe_velocity.write(),
                object_direction: along_object.read(),
                probe_direction: along_probe.read(),
                support: support.read(),
                steps: steps.read(),
                bounds: bounds.read(),
                elements: lengths[0] as u32,
                columns: shape.object_columns,
                pixels: lengths[1] as u32,
                velocities: velocities[0] as u32,
                probe_velocities: velocities[1] as u32,
                updates,
                deferred: u32::from(deferred),
                momentum,
                clip_low: limits[0],
                clip_high: limits[1],
            };
            device.launch(&launch, Work::Elements(total))
        },
        |on, ((object, probe), (of_object, of_probe))| {
            let mut worst = on.error(object, &reference[0][0])?;
            worst = worst.max(on.error(of_object, &reference[0][1])?);
            worst = worst.max(on.error(probe, &reference[1][0])?);
            Ok(worst.max(on.error(of_probe, &reference[1][1])?))
        },
    )
}
