//! Copies to, on and from a machine.

use super::Size;
use super::bench::{Bench, Case, all_wide};
use super::shape::Source;
use crate::gpu::{Fetch, Machine, Result};
use num_complex::Complex;
use warpstride_device::Complex32;

/// Elements.
const SMALL: [usize; 4] = [0, 1, 37, 4099];
/// More than one piece of page-locked memory.
const LARGE: usize = (1 << 23) + 5;

pub(super) fn cases<M: Machine>(bench: &mut Bench<'_, M>, size: Size) -> Result<()> {
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
            |machine, buffer| machine.upload(buffer, &values),
            |on, buffer| on.error(buffer, &reference),
        )?;
        let from = on.upload(&values)?;
        bench.run(
            case("copy").timed(timed, 16 * elements),
            on.poisoned::<Complex32>(elements)?,
            |machine, to| machine.copy(&from, to),
            |on, to| on.error(to, &reference),
        )?;
        bench.run(
            case("zero").timed(timed, 8 * elements),
            on.poisoned::<Complex32>(elements)?,
            |machine, buffer| machine.zero(buffer),
            |on, buffer| on.error(buffer, &nothing),
        )?;
        // The values at the call, not those at the end.
        bench.run(
            case("fetch"),
            (on.upload(&values)?, on.poisoned::<Complex32>(elements)?),
            |machine, (buffer, fetched)| {
                let late = machine.fetch(buffer)?;
                machine.zero(buffer)?;
                machine.upload(fetched, &late.wait()?)
            },
            |on, (buffer, fetched)| {
                Ok(on
                    .error(fetched, &reference)?
                    .max(on.error(buffer, &nothing)?))
            },
        )?;
    }
    Ok(())
}
