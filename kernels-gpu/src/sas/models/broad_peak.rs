//! A broad peak on a power law.

use crate::model_values;
use crate::sas::functions::{power_of};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

model_values! {
    values {
    porod_scale: Plain, "", 1e-05, -INF => INF, "Weight of the power law";
    porod_exp: Plain, "", 3.0, -INF => INF, "Exponent of the power law";
    peak_scale: Plain, "", 10.0, -INF => INF, "Height of the peak";
    correlation_length: Plain, "Ang", 50.0, -INF => INF, "Screening length";
    peak_pos: Plain, "1/Ang", 0.1, -INF => INF, "Position of the peak";
    width_exp: Plain, "", 2.0, -INF => INF, "Exponent of the distance from the peak";
    shape_exp: Plain, "", 1.0, -INF => INF, "Exponent of the whole peak";
    }
}

/// A broad peak on a power law.
pub struct BroadPeak;

/// What does not depend on q.
#[derive(Clone, Copy)]
pub struct State<R> {
    porod: R,
    porod_power: R,
    peak: R,
    length: R,
    position: R,
    width: R,
    shape: R,
}

impl Model for BroadPeak {
    const INFO: Info = Info {
        name: "broad_peak",
        category: "shape-independent",
        title: "Broad peak on a power law",
        formula: "I = porod_scale/q^porod_exp + peak_scale/(1 + (|q − peak_pos| correlation_length)^width_exp)^shape_exp",
        source: "None: empirical",
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
            porod: p.porod_scale,
            porod_power: -p.porod_exp,
            peak: p.peak_scale,
            length: p.correlation_length,
            position: p.peak_pos,
            width: p.width_exp,
            shape: -p.shape_exp,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let distance = ((wave.q - s.position) * s.length).abs();
        let peak = power_of(distance, s.width).plus(1.0).powf(s.shape);
        Form::of_intensity(s.porod * power_of(wave.q, s.porod_power) + s.peak * peak)
    }
}
