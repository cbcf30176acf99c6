//! Spheres with a blurred surface.

use crate::model_values;
use crate::sas::functions::{ball, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    sld: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the sphere";
    sld_solvent: Sld, "1e-6/Ang^2", 3.0, -INF => INF, "Scattering length density of the solvent";
    radius: Volume, "Ang", 60.0, 0.0 => INF, "Radius where the density has fallen to half";
    fuzziness: Volume, "Ang", 10.0, 0.0 => INF, "Standard deviation of the Gaussian that blurs the surface; much less than the radius";
    }
}

/// Spheres with a blurred surface, such as microgels.
pub struct FuzzySphere;

/// Radius, −½ fuzziness², and contrast times volume.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    damping: R,
    weight: R,
}

impl Model for FuzzySphere {
    const INFO: Info = Info {
        name: "fuzzy_sphere",
        category: "shape:sphere",
        title: "Spheres with a Gaussian interface",
        formula: "F = (sld − sld_solvent) V f₃(q radius) exp(−(q fuzziness)²/2), f₃(x) = 3 (sin x − x cos x)/x³",
        source: "M. Stieger, J. S. Pedersen, P. Lindner and W. Richtering, Langmuir 20 (2004) 7283",
        parameters: TABLE,
        radius_modes: &["radius", "radius + fuzziness"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            radius: p.radius,
            damping: p.fuzziness.squared().times(-0.5),
            weight: (p.sld - p.sld_solvent) * ball(p.radius),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(ball(p.radius))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let blur = (wave.q.squared() * s.damping).exp();
        Form::of_amplitude(s.weight * sphere_form(wave.q * s.radius) * blur)
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        match mode {
            1 => p.radius,
            _ => p.radius + p.fuzziness,
        }
    }
}
