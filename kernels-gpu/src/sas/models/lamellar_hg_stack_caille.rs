//! Stacks of lamellae with head groups and Caillé’s thermal disorder.
#![allow(non_snake_case, reason = "parameters as the field names them")]

use crate::model_values;
use crate::sas::functions::{sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    length_tail: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of the tails of one side";
    length_head: Volume, "Ang", 2.0, 0.0 => INF, "Thickness of the head groups of one side";
    Nlayers: Plain, "", 30.0, 1.0 => INF, "Layers in a stack, rounded";
    d_spacing: Volume, "Ang", 40.0, 0.0 => INF, "Distance of the layers";
    Caille_parameter: Plain, "", 0.001, 0.0 => 0.8, "Caillé’s η";
    sld: Sld, "1e-6/Ang^2", 0.4, -INF => INF, "Scattering length density of the tails";
    sld_head: Sld, "1e-6/Ang^2", 2.0, -INF => INF, "Scattering length density of the heads";
    sld_solvent: Sld, "1e-6/Ang^2", 6.0, -INF => INF, "Scattering length density of the solvent";
    }
}

/// Euler’s constant.
const EULER: f64 = 0.577_215_664_901_532_9;
/// Layers beyond it do not count.
const MOST_LAYERS: f64 = 10_000.0;

/// Stacks of lamellae with head groups and Caillé’s thermal disorder.
pub struct LamellarHgStackCaille;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    tail: R,
    total: R,
    head_weight: R,
    tail_weight: R,
    scale: R,
    spacing: R,
    caille: R,
    layers: R,
}

impl Model for LamellarHgStackCaille {
    const INFO: Info = Info {
        name: "lamellar_hg_stack_caille",
        category: "shape:lamellae",
        title: "Stacked lamellae with head groups, Caillé disorder",
        formula: "I = 2π P S/(q² d), P = 4 (ΔH (sin(q(H + T)) − sin(qT)) + ΔT sin(qT))²/q², S = 1 + 2 Σ (1 − n/N) cos(q d n) exp(−q² d² α(n)), α = η/(4π²) (ln(πn) + 0.5772…)",
        source: "F. Nallet, R. Laversanne and D. Roux, J. Phys. II France 3 (1993) 487",
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
        let total = p.length_tail + p.length_head;
        let layers = p.Nlayers.round().max(R::one()).min(R::of(MOST_LAYERS));
        State {
            tail: p.length_tail,
            total,
            head_weight: (p.sld_head - p.sld_solvent) * total,
            tail_weight: (p.sld - p.sld_head) * p.length_tail,
            scale: R::of(8e-4 * PI) / p.d_spacing,
            spacing: p.d_spacing,
            caille: p.d_spacing.squared() * p.Caille_parameter.times(0.25 / (PI * PI)),
            layers,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let amplitude = s.head_weight * sinc(wave.q * s.total) + s.tail_weight * sinc(wave.q * s.tail);
        let decay = wave.q.squared() * s.caille;
        let phase = wave.q * s.spacing;
        let inverse = R::one() / s.layers;
        let mut order = R::zero();
        for n in 1..s.layers.count(MOST_LAYERS as u32) {
            let n = R::of(f64::from(n));
            let damped = (decay * n.times(PI).ln().plus(EULER)).times(-1.0).exp();
            order += (R::one() - n * inverse) * (phase * n).cos() * damped;
        }
        Form::of_intensity(
            s.scale * (amplitude / wave.q).squared() * order.times(2.0).plus(1.0),
        )
    }
}
