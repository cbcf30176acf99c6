//! Mass fractals of spheres.

use crate::model_values;
use super::fractal::cluster;
use crate::sas::functions::{gamma, power_of, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    radius: Plain, "Ang", 10.0, 0.0 => INF, "Radius of the blocks";
    fractal_dim_mass: Plain, "", 1.9, 1.0 => 6.0, "Mass fractal dimension";
    cutoff_length: Plain, "Ang", 100.0, 0.0 => INF, "Cut-off length";
    }
}

/// Mass fractals of spheres.
pub struct MassFractal;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    length: R,
    less_one: R,
    weight: R,
}

impl Model for MassFractal {
    const INFO: Info = Info {
        name: "mass_fractal",
        category: "shape-independent",
        title: "Mass fractals of spheres",
        formula: "I = f₃(q radius)² Γ(D − 1) ζ^(D−1) sin((D − 1) atan(q ζ))/(q (1 + (q ζ)²)^((D−1)/2)), ζ = cutoff_length, D = fractal_dim_mass",
        source: "D. F. R. Mildner and P. L. Hall, J. Phys. D 19 (1986) 1535",
        parameters: TABLE,
        radius_modes: &[],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            radius: p.radius,
            length: p.cutoff_length,
            less_one: p.fractal_dim_mass.plus(-1.0),
            weight: gamma(p.fractal_dim_mass) * power_of(p.cutoff_length, p.fractal_dim_mass),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let form = sphere_form(wave.q * s.radius);
        Form::of_intensity(s.weight * form.squared() * cluster(wave.q * s.length, s.less_one))
    }
}
