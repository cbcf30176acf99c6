//! Rectangular blocks of one density, by ratios of their edges.

use crate::model_values;
use crate::sas::functions::{sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::radii;
use crate::sas::real::Real;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 6.3, -INF => INF, "Scattering length density of the particle";
    sld_solvent: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the solvent";
    length_a: Volume, "Ang", 35.0, 0.0 => INF, "Edge along a";
    b2a_ratio: Volume, "", 1.0, 0.0 => INF, "Edge along b over that along a";
    c2a_ratio: Volume, "", 1.0, 0.0 => INF, "Edge along c over that along a";
    }
    orientation {
    theta: 0.0, "Angle of the axis c to the beam";
    phi: 0.0, "Rotation of the axis c about the beam";
    psi: 0.0, "Rotation about the axis c";
    }
}

/// Rectangular blocks of one density, by ratios of their edges.
pub struct RectangularPrism;

/// Half edges, and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    a: R,
    b: R,
    c: R,
    weight: R,
}

impl Model for RectangularPrism {
    const INFO: Info = Info {
        name: "rectangular_prism",
        category: "shape:parallelepiped",
        title: "Rectangular blocks by ratios of their edges",
        formula: "F = (sld − sld_solvent) V Π sin(xᵢ)/xᵢ, xᵢ = qᵢ lengthᵢ/2",
        source: "P. Mittelbach and G. Porod, Acta Phys. Austriaca 14 (1961) 185; R. Nayuk and K. Huber, Z. Phys. Chem. 226 (2012) 837",
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
        let a = p.length_a.times(0.5);
        State {
            a,
            b: a * p.b2a_ratio,
            c: a * p.c2a_ratio,
            weight: (p.sld - p.sld_solvent) * Self::volume(p).material,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(p.length_a.cubed() * p.b2a_ratio * p.c2a_ratio)
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        Form::of_amplitude(
            s.weight * sinc(wave.a * s.a) * sinc(wave.b * s.b) * sinc(wave.c * s.c),
        )
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        let a = p.length_a;
        radii::block(a, a * p.b2a_ratio, a * p.c2a_ratio, mode)
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        0.5 * p.length_a * libm::hypot(libm::hypot(1.0, p.b2a_ratio), p.c2a_ratio)
    }
}
