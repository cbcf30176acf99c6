//! Fractal aggregates of spheres.

use crate::model_values;
use crate::sas::functions::{atan, gamma, power_of, sinc, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    volfraction: Plain, "", 0.05, 0.0 => 1.0, "Volume fraction of the blocks";
    radius: Volume, "Ang", 5.0, 0.0 => INF, "Radius of the blocks";
    fractal_dim: Plain, "", 2.0, 0.0 => 6.0, "Fractal dimension";
    cor_length: Plain, "Ang", 100.0, 0.0 => INF, "Cluster size";
    sld_block: Sld, "1e-6/Ang^2", 2.0, -INF => INF, "Scattering length density of the blocks";
    sld_solvent: Sld, "1e-6/Ang^2", 6.4, -INF => INF, "Scattering length density of the solvent";
    }
}

/// sin(d t)/(d x) (1 + x²)^(−d/2) with t = atan x: the Fourier transform of a fractal’s pair correlation, 1 at x = 0
/// and without poles in the dimension d + 1.
#[inline(always)]
pub(super) fn cluster<R: Real>(x: R, d: R) -> R {
    let t = atan(x);
    let slope = R::choose(x.less(R::of(1e-6)), R::one, #[inline(always)] || t / x);
    slope * sinc(d * t) * x.squared().plus(1.0).powf(d.times(-0.5))
}

/// Fractal aggregates of spheres.
pub struct Fractal;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    weight: R,
    length: R,
    less_one: R,
    clusters: R,
}

impl Model for Fractal {
    const INFO: Info = Info {
        name: "fractal",
        category: "shape-independent",
        title: "Fractal aggregates of spheres",
        formula: "I = volfraction V Δ² f₃(q radius)² S, S = 1 + D Γ(D − 1) sin((D − 1) atan x)/((1 + 1/x²)^((D−1)/2) (q radius)^D), x = q cor_length, D = fractal_dim",
        source: "J. Teixeira, J. Appl. Cryst. 21 (1988) 781",
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
        let ratio = power_of(p.cor_length / p.radius, p.fractal_dim);
        let volume = Self::volume(p).material;
        State {
            radius: p.radius,
            weight: p.volfraction
                * ((p.sld_block - p.sld_solvent) * volume).squared().times(1e-4),
            length: p.cor_length,
            less_one: p.fractal_dim.plus(-1.0),
            clusters: gamma(p.fractal_dim.plus(1.0)) * ratio,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(p.radius.cubed().times(4.0 / 3.0 * PI))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let structure = s.clusters.mul_add(cluster(wave.q * s.length, s.less_one), R::one());
        let form = sphere_form(wave.q * s.radius);
        Form::of_intensity(s.weight * form.squared() * structure)
    }
}
