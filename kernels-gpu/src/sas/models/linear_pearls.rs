//! Spheres on a straight line.

use crate::model_values;
use crate::sas::functions::{ball, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

/// The most pearls that are summed.
const MOST_PEARLS: u32 = 10_000;

model_values! {
    values {
    radius: Plain, "Ang", 80.0, 0.0 => INF, "Radius of a pearl";
    edge_sep: Plain, "Ang", 350.0, 0.0 => INF, "Distance between the surfaces of neighbours";
    num_pearls: Plain, "", 3.0, 1.0 => INF, "Number of pearls, rounded to a whole one; at most 10 000";
    sld: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of a pearl";
    sld_solvent: Sld, "1e-6/Ang^2", 6.3, -INF => INF, "Scattering length density of the solvent";
    }
}

/// Spheres on a straight line.
pub struct LinearPearls;

/// Pearls, their radius, the distance of their centres, and contrast times the volume of one.
#[derive(Clone, Copy)]
pub struct State<R> {
    pearls: u32,
    radius: R,
    distance: R,
    weight: R,
}

impl Model for LinearPearls {
    const INFO: Info = Info {
        name: "linear_pearls",
        category: "shape:sphere",
        title: "Spheres on a straight line, their strings too thin to scatter",
        formula: "F² = ((sld − sld_solvent) V₁ f₃(q radius))² [N + 2 Σ (N − n) sin(q n A)/(q n A)], n from 1 to N − 1, A = edge_sep + 2 radius, over N V₁, f₃(x) = 3 (sin x − x cos x)/x³",
        source: "A. V. Dobrynin, M. Rubinstein and S. P. Obukhov, Macromolecules 29 (1996) 2974",
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
            pearls: p.num_pearls.count(MOST_PEARLS),
            radius: p.radius,
            distance: p.radius.mul_add(R::of(2.0), p.edge_sep),
            weight: (p.sld - p.sld_solvent) * ball(p.radius),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        let pearls = f64::from(p.num_pearls.count(MOST_PEARLS));
        Volume::solid(ball(p.radius).times(pearls))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let pearls = f64::from(s.pearls);
        // As good as 0, but sin x/x needs no series there.
        let phase = (wave.q * s.distance).max(R::of(1e-12));
        let (sin, cos) = phase.sin_cos();
        // sin and cos of n · phase, by turns.
        let (mut sin_n, mut cos_n) = (sin, cos);
        let mut pairs = R::zero();
        for n in 1..s.pearls {
            let n = f64::from(n);
            pairs += sin_n.times((pearls - n) / n);
            (sin_n, cos_n) = (
                sin_n.mul_add(cos, cos_n * sin),
                cos_n.mul_add(cos, -(sin_n * sin)),
            );
        }
        let pearl = Form::of_amplitude(s.weight * sphere_form(wave.q * s.radius));
        let structure = (pairs / phase).times(2.0).plus(pearls);
        Form {
            amplitude: R::zero(),
            intensity: pearl.intensity * structure,
        }
    }
}
