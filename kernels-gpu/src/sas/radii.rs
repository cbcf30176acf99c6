//! Effective radii that several shapes share; used on the host only.

use core::f64::consts::PI;

/// Radius of the sphere whose excluded volume equals that of a cylinder: second virial coefficient of Isihara, J.
/// Chem. Phys. 18 (1950) 1446.
#[must_use]
pub fn cylinder_excluded_volume(radius: f64, length: f64) -> f64 {
    let volume_term =
        0.75 * radius * (2.0 * radius * length + (radius + length) * (PI * radius + length));
    0.5 * libm::cbrt(volume_term)
}

/// Radius of the sphere of the same volume.
#[must_use]
pub fn of_volume(volume: f64) -> f64 {
    libm::cbrt(0.75 * volume / PI)
}

/// Radii of a cylinder, in the order: excluded volume, equivalent volume, radius, half length, half the lesser and
/// half the greater dimension, half the diagonal.
#[must_use]
pub fn cylinder(radius: f64, length: f64, mode: u32) -> f64 {
    match mode {
        1 => cylinder_excluded_volume(radius, length),
        2 => of_volume(PI * radius * radius * length),
        3 => radius,
        4 => 0.5 * length,
        5 => radius.min(0.5 * length),
        6 => radius.max(0.5 * length),
        7 => libm::sqrt(radius * radius + 0.25 * length * length),
        _ => 0.0,
    }
}

/// Radii of an ellipsoid of revolution, in the order: average curvature, equivalent volume, the lesser and the
/// greater radius. The first is that of the sphere with the same second virial coefficient: Isihara, J. Chem. Phys.
/// 18 (1950) 1446, which is the same for a prolate and an oblate ellipsoid of equal eccentricity and volume.
#[must_use]
pub fn spheroid(polar: f64, equatorial: f64, mode: u32) -> f64 {
    let (least, greatest) = (polar.min(equatorial), polar.max(equatorial));
    let cubed = polar * equatorial * equatorial;
    match mode {
        1 => {
            let ratio = least / greatest;
            let eccentricity = libm::sqrt((1.0 - ratio) * (1.0 + ratio));
            // Both factors are 2 for a sphere.
            let (surface, width) = if eccentricity < 1e-4 {
                (2.0, 2.0)
            } else {
                (
                    1.0 + libm::asin(eccentricity) / (eccentricity * ratio),
                    1.0 + ratio * ratio * libm::atanh(eccentricity) / eccentricity,
                )
            };
            libm::cbrt(0.25 * cubed * (1.0 + 0.75 * surface * width))
        }
        2 => libm::cbrt(cubed),
        3 => least,
        4 => greatest,
        _ => 0.0,
    }
}
/// Radii of a rectangular block, in the order: excluded volume of the cylinder along c of the same cross-section,
/// equivalent volume, half a, half b, half c, circle of the area a b, half the diagonal of a and b, half the
/// diagonal.
#[must_use]
pub fn block(a: f64, b: f64, c: f64, mode: u32) -> f64 {
    let circle = libm::sqrt(a * b / PI);
    match mode {
        1 => cylinder_excluded_volume(circle, c),
        2 => of_volume(a * b * c),
        3 => 0.5 * a,
        4 => 0.5 * b,
        5 => 0.5 * c,
        6 => circle,
        7 => 0.5 * libm::hypot(a, b),
        8 => 0.5 * libm::hypot(libm::hypot(a, b), c),
        _ => 0.0,
    }
}

/// Excluded volume of the cylinder that a block resembles most: along its longest edge, or, if the middle edge is
/// nearer to the longest than to the shortest, along the shortest.
#[must_use]
pub fn sorted_block(a: f64, b: f64, c: f64) -> f64 {
    let (short, long) = (a.min(b).min(c), a.max(b).max(c));
    let middle = a + b + c - short - long;
    if middle - short < long - middle {
        block(short, middle, long, 1)
    } else {
        block(middle, long, short, 1)
    }
}
