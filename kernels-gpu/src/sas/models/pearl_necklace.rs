//! Spheres on freely jointed strings.

use crate::model_values;
use crate::sas::functions::{ball, rod, sinc, sine_integral, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

/// The most pearls that are summed.
const MOST_PEARLS: u32 = 10_000;

model_values! {
    values {
    radius: Volume, "Ang", 80.0, 0.0 => INF, "Radius of a pearl";
    edge_sep: Volume, "Ang", 350.0, 0.0 => INF, "Length of a string, between the surfaces of pearls";
    thick_string: Volume, "Ang", 2.5, 0.0 => INF, "Diameter of a string; below the radius of a pearl";
    num_pearls: Volume, "", 3.0, 1.0 => INF, "Number of pearls, rounded to a whole one; at most 10 000";
    sld: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of a pearl";
    sld_string: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of a string";
    sld_solvent: Sld, "1e-6/Ang^2", 6.3, -INF => INF, "Scattering length density of the solvent";
    }
}

/// Spheres joined freely by strings.
pub struct PearlNecklace;

/// Pearls, their radius, the length of a string, and contrast times volume of a pearl and of a string.
#[derive(Clone, Copy)]
pub struct State<R> {
    pearls: u32,
    radius: R,
    string: R,
    pearl_weight: R,
    string_weight: R,
}

/// Mean of sin x/x from `start` over `width`; by Gauss's rule of two points where Si differs too little.
#[inline(always)]
fn mean_sinc<R: Real>(start: R, width: R) -> R {
    R::choose(
        width.less(R::of(0.1)),
        #[inline(always)]
        || {
            let middle = width.mul_add(R::of(0.5), start);
            let aside = width.times(0.288_675_134_594_812_9);
            (sinc(middle - aside) + sinc(middle + aside)).times(0.5)
        },
        #[inline(always)]
        || (sine_integral(start + width) - sine_integral(start)) / width,
    )
}

impl Model for PearlNecklace {
    const INFO: Info = Info {
        name: "pearl_necklace",
        category: "shape:cylinder",
        title: "Spheres joined freely by thin strings",
        formula: "F² = ms² ψ² [N + 2 s T] + mf² [M (2 Λ − (sin x/x)²) + 2 β² (T − Σ sᵏ)] + 4 ms ψ mf β T, T = Σ (N − 1 − k) sᵏ, k from 0 to N − 2, M = N − 1, s = sin(q A)/(q A), A = edge_sep + 2 radius, x = q edge_sep/2, ψ = f₃(q radius), Λ = Si(q edge_sep)/(q edge_sep), β = [Si(q (A − radius)) − Si(q radius)]/(q edge_sep), m = contrast times volume, over the volume of all",
        source: "R. Schweins and K. Huber, Macromol. Symp. 211 (2004) 25",
        parameters: TABLE,
        radius_modes: &["equivalent volume sphere"],
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
            string: p.edge_sep,
            pearl_weight: (p.sld - p.sld_solvent) * ball(p.radius),
            string_weight: (p.sld_string - p.sld_solvent)
                * rod(p.thick_string.times(0.5), p.edge_sep),
        }
    }

    #[inline(always)]
    fn valid<R: Real>(p: &Parameters<R>) -> bool {
        p.thick_string.first() < p.radius.first()
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        let pearls = p.num_pearls.count(MOST_PEARLS);
        let strings = f64::from(pearls.saturating_sub(1));
        Volume::solid(
            ball(p.radius).times(f64::from(pearls))
                + rod(p.thick_string.times(0.5), p.edge_sep).times(strings),
        )
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let radius = wave.q * s.radius;
        let string = wave.q * s.string;
        let link = sinc(radius.mul_add(R::of(2.0), string));
        // Σ (N − 1 − k) sᵏ and Σ sᵏ: the closed forms of the paper lose all digits as s → 1.
        let (mut pairs, mut powers) = (R::zero(), R::zero());
        for n in 1..s.pearls {
            pairs = pairs.mul_add(link, R::of(f64::from(n)));
            powers = powers.mul_add(link, R::one());
        }
        let pearl = s.pearl_weight * sphere_form(radius);
        let end_on = s.string_weight * mean_sinc(radius, string);
        let strings = mean_sinc(R::zero(), string).times(2.0) - sinc(string.times(0.5)).squared();
        let of_pearls = (link * pairs).times(2.0).plus(f64::from(s.pearls)) * pearl.squared();
        let of_strings = s.string_weight.squared()
            * strings.times(f64::from(s.pearls.saturating_sub(1)))
            + end_on.squared() * (pairs - powers).times(2.0);
        let of_both = (pearl * end_on * pairs).times(4.0);
        Form::of_intensity((of_pearls + of_strings + of_both).times(1e-4))
    }

    fn effective_radius(p: &Parameters<f64>, _mode: u32) -> f64 {
        crate::sas::radii::of_volume(Self::volume(p).outline)
    }
}
