//! Hard spheres with an attractive square well.

use crate::model_values;
use crate::sas::functions::{moments, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    radius_effective: Volume, "Ang", 50.0, 0.0 => INF, "Radius of the spheres";
    volfraction: Plain, "", 0.04, 0.0 => 0.08, "Volume fraction of the spheres";
    welldepth: Plain, "kT", 1.5, 0.0 => 1.5, "Depth of the well";
    wellwidth: Plain, "diameters", 1.2, 1.0 => INF, "Distance of its outer edge, at least 1";
    }
}

/// The structure factor of spheres with a square well.
pub struct SquareWell;

/// Diameter; 24φ times the coefficients of −c(x) within a sphere, 1, x and x³; the well's width and 8φ times its
/// depth.
#[derive(Clone, Copy)]
pub struct State<R> {
    diameter: R,
    constant: R,
    slope: R,
    cube: R,
    width: R,
    well: R,
}

impl Model for SquareWell {
    const INFO: Info = Info {
        name: "squarewell",
        category: "structure-factor",
        title: "Hard spheres with a square well, mean spherical approximation",
        formula: "1/S = 1 − 24φ ∫₀^wellwidth c(x) x² sin(yx)/(yx) dx, y = 2q radius_effective; c = −α − βx − φαx³/2 for x < 1 with α = ((1 + 2φ)² + φ³(φ − 4))/(1 − φ)⁴, β = −φ(18 + 20φ − 12φ² + φ⁴)/(3(1 − φ)⁴); welldepth beyond",
        source: "R. V. Sharma and K. C. Sharma, Physica A 89 (1977) 213",
        parameters: TABLE,
        radius_modes: &[],
        background: 0.0,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let phi = p.volfraction;
        let square = phi.squared();
        let weight = phi.times(24.0) / (R::one() - phi).squared().squared();
        let constant = weight
            * (phi.mul_add(R::of(2.0), R::one()).squared() + phi.cubed() * phi.plus(-4.0));
        let bracket = phi.mul_add(R::of(20.0), R::of(18.0)) + square * square.plus(-12.0);
        State {
            diameter: p.radius_effective.times(2.0),
            constant,
            slope: weight * bracket * phi.times(-1.0 / 3.0),
            cube: constant * phi.times(0.5),
            width: p.wellwidth,
            well: phi.times(8.0) * p.welldepth,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let y = wave.q * s.diameter;
        let [second, third, fifth] = moments(y);
        let well = s.width.cubed() * sphere_form(s.width * y) - second.times(3.0);
        let core = s.constant * second + s.slope * third + s.cube * fifth;
        Form::of_intensity(R::one() / (R::one() + core - s.well * well))
    }
}
