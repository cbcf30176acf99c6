//! Large spheres with small ones on their surface.

use crate::model_values;
use crate::sas::functions::{ball, sinc, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    sld_lg: Sld, "1e-6/Ang^2", -0.4, -INF => INF, "Scattering length density of a large sphere";
    sld_sm: Sld, "1e-6/Ang^2", 3.5, -INF => INF, "Scattering length density of a small sphere";
    sld_solvent: Sld, "1e-6/Ang^2", 6.36, -INF => INF, "Scattering length density of the solvent";
    volfraction_lg: Plain, "", 0.05, -INF => INF, "Volume fraction of large spheres";
    volfraction_sm: Plain, "", 0.005, -INF => INF, "Volume fraction of small spheres";
    surface_fraction: Plain, "", 0.4, -INF => INF, "Share of the small spheres that sit on large ones";
    radius_lg: Volume, "Ang", 5000.0, 0.0 => INF, "Radius of a large sphere";
    radius_sm: Volume, "Ang", 100.0, 0.0 => INF, "Radius of a small sphere";
    penetration: Volume, "Ang", 0.0, -1.0 => 1.0, "How far the centre of a small sphere is outside the large one, in small radii";
    }
}

/// Large spheres with small ones on their surface, and free small ones.
pub struct Raspberry;

/// Radii and the distance between centres, and factors of the products of amplitudes.
#[derive(Clone, Copy)]
pub struct State<R> {
    large_radius: R,
    small_radius: R,
    distance: R,
    large: R,
    small: R,
    between_small: R,
    crossed: R,
}

impl Model for Raspberry {
    const INFO: Info = Info {
        name: "raspberry",
        category: "shape:sphere",
        title: "Pickering emulsions: large spheres with small ones on their surface",
        formula: "I = (φL ΔL² VL + φS f N ΔS² VS) P + φS (1 − f) ΔS² VS ψS², P = [ΔL² VL² ψL² + N ΔS² VS² ψS² + N (N − 1) ΔS² VS² ψS² s² + 2 N ΔL ΔS VL VS ψL ψS s]/(ΔL VL + N ΔS VS)², N = φS f VL/(φL VS), f = surface_fraction, s = sin x/x, x = q (radius_lg + penetration radius_sm), ψ = f₃(q radius), Δ = |sld − sld_solvent|",
        source: "K. Larson-Smith, A. Jackson and D. C. Pozzo, J. Colloid Interface Sci. 343 (2010) 36",
        parameters: TABLE,
        radius_modes: &["radius_large", "radius_outer"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let (large_volume, small_volume) = (ball(p.radius_lg), ball(p.radius_sm));
        let large_contrast = (p.sld_lg - p.sld_solvent).abs();
        let small_contrast = (p.sld_sm - p.sld_solvent).abs();
        let large = large_contrast * large_volume;
        let small = small_contrast * small_volume;
        let bound = p.volfraction_sm * p.surface_fraction;
        let number = bound * large_volume / (p.volfraction_lg * small_volume);
        // 10⁻⁴ of the units.
        let scale = (p.volfraction_lg * large_contrast * large
            + bound * number * small_contrast * small)
            .times(1e-4)
            / (large + number * small).squared();
        let free = (p.volfraction_sm - bound) * small_contrast * small;
        State {
            large_radius: p.radius_lg,
            small_radius: p.radius_sm,
            distance: p.penetration.mul_add(p.radius_sm, p.radius_lg),
            large: scale * large.squared(),
            small: (scale * number).mul_add(small.squared(), free.times(1e-4)),
            between_small: scale * number * number.plus(-1.0) * small.squared(),
            crossed: (scale * number * large * small).times(2.0),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_p: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let large = sphere_form(wave.q * s.large_radius);
        let small = sphere_form(wave.q * s.small_radius);
        let placed = small * sinc(wave.q * s.distance);
        Form::of_intensity(
            s.large * large.squared()
                + s.small * small.squared()
                + s.between_small * placed.squared()
                + s.crossed * large * placed,
        )
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        match mode {
            1 => p.radius_lg,
            // As far as a small sphere reaches where the formula places it.
            _ => p.radius_lg + (1.0 + p.penetration) * p.radius_sm,
        }
    }
}
