//! Fixes the scale between object and probe of one probe mode: the probe gets the power it had at the start, the object the
//! inverse factor.
//!
//! A thread processes one value: reads 8 bytes, writes 8. The factor is the same for all threads and computed by each, in
//! double precision. Block of 256: the threads are independent.

use warpstride_device::prelude::*;

/// `probe *= √(power/gram)` and `object /= √(power/gram)`, and the velocities (which may be empty) along with them. `gram`
/// is Σ |P|² (re, im), as `gram` leaves it. A dark probe or a power that is not finite changes nothing.
#[kernel(block = 256, f64)]
pub unsafe fn ptycho_scale_to_power(
    #[len(elements)] object: *mut Complex32,
    #[len(pixels)] probe: *mut Complex32,
    #[len(velocities)] object_velocity: *mut Complex32,
    #[len(probe_velocities)] probe_velocity: *mut Complex32,
    #[len(1)] gram: *const [f64; 2],
    elements: u32,
    pixels: u32,
    velocities: u32,
    probe_velocities: u32,
    power: f64,
) {
    let found = (*gram)[0];
    // Also false for a found power that is not a number.
    let usable = found > 0.0 && found < f64::INFINITY && power > 0.0;
    if !usable {
        return;
    }
    let factor = (power / found).sqrt();
    let (of_probe, of_object) = (factor as f32, (1.0 / factor) as f32);
    for at in thread::grid_stride(elements as usize + pixels as usize) {
        if at < elements as usize {
            *object.add(at) = (*object.add(at)).scale(of_object);
            if at < velocities as usize {
                *object_velocity.add(at) = (*object_velocity.add(at)).scale(of_object);
            }
        } else {
            let at = at - elements as usize;
            *probe.add(at) = (*probe.add(at)).scale(of_probe);
            if at < probe_velocities as usize {
                *probe_velocity.add(at) = (*probe_velocity.add(at)).scale(of_probe);
            }
        }
    }
}
