//! Options of the start probe that have no effect.

use crate::session::recipe::{ApertureShape, ProbeSource, ProbeStart};

/// Notes options of the start probe that are set, but have no effect on one from `source`.
pub(super) fn unused(source: ProbeSource, options: &ProbeStart, notes: &mut Vec<String>) {
    let default = ProbeStart::default();
    let propagated = !matches!(source, ProbeSource::Auto | ProbeSource::File);
    let aperture = source == ProbeSource::Aperture;
    let rectangle = aperture && options.shape == ApertureShape::Rectangle;
    let zone_plate = source == ProbeSource::ZonePlate;
    let gaussian = source == ProbeSource::Gaussian;
    let aberrations = source == ProbeSource::Aberrations;
    for (option, set, used) in [
        ("aperture", options.aperture != default.aperture, aperture),
        ("defocus", options.defocus != default.defocus, propagated),
        ("shape", options.shape != default.shape, aperture),
        ("central_stop", options.central_stop != 0.0, aperture),
        ("diameter", options.diameter.is_some(), zone_plate),
        (
            "outermost_zone",
            options.outermost_zone.is_some(),
            zone_plate,
        ),
        ("stop_diameter", options.stop_diameter != 0.0, zone_plate),
        ("waist_radius", options.waist_radius.is_some(), gaussian),
        ("semi_angle", options.semi_angle.is_some(), aberrations),
        ("c3", options.c3 != 0.0, aberrations),
        ("astigmatism", options.astigmatism != 0.0, aberrations),
        ("coma", options.coma != 0.0, aberrations),
    ] {
        if set && !used {
            notes.push(format!(
                "probe.{option} has no effect on this start probe (probe.source chooses another)"
            ));
        }
    }
    for (option, of, angle, size) in [
        (
            "astigmatism_angle",
            "astigmatism",
            options.astigmatism_angle,
            options.astigmatism,
        ),
        ("coma_angle", "coma", options.coma_angle, options.coma),
    ] {
        if angle != 0.0 && !(aberrations && size != 0.0) {
            notes.push(format!(
                "probe.{option} has no effect on this start probe: expected probe.source = \"aberrations\" and probe.{of}"
            ));
        }
    }
    if options.aperture_height.is_some() && !rectangle {
        notes.push(
            "probe.aperture_height has no effect on this start probe: expected probe.source = \"aperture\" and probe.shape = \"rectangle\""
                .to_owned(),
        );
    }
}
