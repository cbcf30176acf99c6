//! Stacks of discs, each a core between two layers.

use crate::model_values;
use crate::sas::functions::{j1c, sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    thick_core: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of the core";
    thick_layer: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of each of its two layers";
    radius: Volume, "Ang", 15.0, 0.0 => INF, "Radius of the discs";
    n_stacking: Volume, "", 1.0, 1.0 => INF, "Discs in a stack, rounded";
    sigma_d: Plain, "Ang", 0.0, 0.0 => INF, "Standard deviation of the spacing, over the spacing";
    sld_core: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the core";
    sld_layer: Sld, "1e-6/Ang^2", 0.0, -INF => INF, "Scattering length density of the layers";
    sld_solvent: Sld, "1e-6/Ang^2", 5.0, -INF => INF, "Scattering length density of the solvent";
    }
    orientation {
    theta: 0.0, "Angle of the axis to the beam";
    phi: 0.0, "Rotation of the axis about the beam";
    }
}

/// Discs beyond it do not count.
const MOST_DISCS: f64 = 10_000.0;

/// Discs in a stack.
#[inline(always)]
fn discs<R: Real>(p: &Parameters<R>) -> R {
    p.n_stacking.round().max(R::one()).min(R::of(MOST_DISCS))
}

/// Stacks of discs, each a core between two layers.
pub struct StackedDisks;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    radius: R,
    half_core: R,
    half_total: R,
    core: R,
    total: R,
    spacing: R,
    blur: R,
    discs: R,
}

impl Model for StackedDisks {
    const INFO: Info = Info {
        name: "stacked_disks",
        category: "shape:cylinder",
        title: "Stacks of discs, each a core between two layers",
        formula: "I = n S F²/(n V), F = Δlayer (Vₜ fₜ − V_c f_c) + Δcore V_c f_c, f = sin(x)/x 2 J₁(y)/y, S = 1 + (2/n) Σ (n − k) cos(k D q∥) exp(−k (q∥ D sigma_d)²/2), D = thick_core + 2 thick_layer",
        source: "O. Kratky and G. Porod, J. Colloid Sci. 4 (1949) 35",
        parameters: TABLE,
        radius_modes: &[],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Axial;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let spacing = p.thick_layer.mul_add(R::of(2.0), p.thick_core);
        let area = p.radius.squared().times(PI);
        let discs = discs(p);
        State {
            radius: p.radius,
            half_core: p.thick_core.times(0.5),
            half_total: spacing.times(0.5),
            core: (p.sld_core - p.sld_layer) * area * p.thick_core,
            total: (p.sld_layer - p.sld_solvent) * area * spacing,
            spacing,
            blur: (spacing * p.sigma_d).squared().times(-0.5),
            discs,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        let discs = discs(p);
        let thickness = p.thick_layer.mul_add(R::of(2.0), p.thick_core);
        Volume::solid(discs * thickness * p.radius.squared().times(PI))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let disc = j1c(wave.across * s.radius)
            * (s.total * sinc(wave.along * s.half_total) + s.core * sinc(wave.along * s.half_core));
        // Σ (n − k) cos kφ eᵏ with cos and damping by recurrence.
        let (sin, cos) = (wave.along * s.spacing).sin_cos();
        let damp = (wave.along.squared() * s.blur).exp();
        let (step_sin, step_cos) = (sin * damp, cos * damp);
        let (mut sin, mut cos) = (step_sin, step_cos);
        let mut left = s.discs.plus(-1.0);
        let mut order = R::zero();
        for _ in 1..s.discs.count(MOST_DISCS as u32) {
            order = left.mul_add(cos, order);
            left = left.plus(-1.0);
            (sin, cos) = (
                sin * step_cos + cos * step_sin,
                cos * step_cos - sin * step_sin,
            );
        }
        Form::of_intensity(disc.squared() * order.mul_add(R::of(2.0), s.discs).times(1e-4))
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        let stack = p.n_stacking * (p.thick_core + 2.0 * p.thick_layer);
        p.radius.max(0.5 * stack)
    }
}
