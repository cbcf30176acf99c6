//! Copies to, on and from a device.

use crate::bench::Size;
use crate::bench::{Bench, Case, all_wide};
use crate::random_data::Source;
use num_complex::Complex;
use warpstride_cuda::gpu::{Device, ReadBack, Result};
use warpstride_device::Complex32;

/// Numbers of elements.
const SMALL: [usize; 4] = [0, 1, 37, 4099];
/// More than one piece of page-locked memory.
const LARGE: usize = (1 << 23) + 5;

/// The cases of copies between host and device.
///
/// # Errors
/// An error of the device.
pub fn cases<M: Device>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
    let large: &[_] = if size == Size::Device { &[LARGE] } else { &[] };
    for elements in SMALL.iter().chain(large).copied() {
        let timed = elements == LARGE;
        let on = bench.on();
        let text = format!("{elements} elements");
        let values = Source::new("copies", &text).complex(elements);
        let reference = all_wide(&values);
        let nothing = vec![Complex::default(); elements];

        let case = |what| Case::named(what, text.clone()).exact();
        bench.run(
            case("upload and download").timed(timed, 8 * elements),
            on.poisoned::<Complex32>(elements)?,
            |device, buffer| device.upload(buffer, &values),
            |on, buffer| on.error(buffer, &reference),
        )?;
        let from = on.upload(&values)?;
        bench.run(
            case("copy").timed(timed, 16 * elements),
            on.poisoned::<Complex32>(elements)?,
            |device, to| device.copy(&from, to),
            |on, to| on.error(to, &reference),
        )?;
        bench.run(
            case("zero").timed(timed, 8 * elements),
            on.poisoned::<Complex32>(elements)?,
            |device, buffer| device.zero(buffer),
            |on, buffer| on.error(buffer, &nothing),
        )?;
        // The read-back must return the values at the call, not those written later.
        bench.run(
            case("read back"),
            (on.upload(&values)?, on.poisoned::<Complex32>(elements)?),
            |device, (buffer, copy)| {
                let pending = device.read_back(buffer)?;
                device.zero(buffer)?;
                device.upload(copy, &pending.wait()?)
            },
            |on, (buffer, copy)| Ok(on.error(copy, &reference)?.max(on.error(buffer, &nothing)?)),
        )?;
    }
    Ok(())
}
