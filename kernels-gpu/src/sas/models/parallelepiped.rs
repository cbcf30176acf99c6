//! Rectangular blocks of one density.

use crate::model_values;
use crate::sas::functions::{sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::radii;
use crate::sas::real::Real;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the particle";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    length_a: Volume, "Ang", 35.0, 0.0 => INF, "Edge along a";
    length_b: Volume, "Ang", 75.0, 0.0 => INF, "Edge along b";
    length_c: Volume, "Ang", 400.0, 0.0 => INF, "Edge along c";
    }
    orientation {
    theta: 60.0, "Angle of the axis c to the beam";
    phi: 60.0, "Rotation of the axis c about the beam";
    psi: 60.0, "Rotation about the axis c";
    }
}

/// Rectangular blocks of one density.
pub struct Parallelepiped;

/// Half edges, and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    a: R,
    b: R,
    c: R,
    weight: R,
}

impl Model for Parallelepiped {
    const INFO: Info = Info {
        name: "parallelepiped",
        category: "shape:parallelepiped",
        title: "Rectangular blocks of one scattering length density",
        formula: "F = (sld − sld_solvent) V Π sin(xᵢ)/xᵢ, xᵢ = qᵢ lengthᵢ/2",
        source: "P. Mittelbach and G. Porod, Acta Phys. Austriaca 14 (1961) 185",
        parameters: TABLE,
        radius_modes: &["equivalent cylinder excluded volume", "equivalent volume sphere", "half length_a", "half length_b", "half length_c", "equivalent circular cross-section", "half ab diagonal", "half diagonal"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Triaxial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            a: p.length_a.times(0.5),
            b: p.length_b.times(0.5),
            c: p.length_c.times(0.5),
            weight: (p.sld - p.sld_solvent) * Self::volume(p).material,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(p.length_a * p.length_b * p.length_c)
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_amplitude(
            s.weight * sinc(wave.a * s.a) * sinc(wave.b * s.b) * sinc(wave.c * s.c),
        )
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        let (a, b, c) = (p.length_a, p.length_b, p.length_c);
        if mode == 1 {
            radii::sorted_block(a, b, c)
        } else {
            radii::block(a, b, c, mode)
        }
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        0.5 * libm::hypot(libm::hypot(p.length_a, p.length_b), p.length_c)
    }
}
