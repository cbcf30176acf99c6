//! Vesicles of several concentric shells.

use crate::model_values;
use crate::sas::functions::{ball, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

/// The most shells that are summed.
const MOST_SHELLS: u32 = 10_000;

model_values! {
    values {
    volfraction: Plain, "", 0.05, 0.0 => 1.0, "Volume fraction of the vesicles, solvent inside included";
    radius: Volume, "Ang", 60.0, 0.0 => INF, "Radius of the core, which holds solvent";
    thick_shell: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of a shell";
    thick_solvent: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of the solvent between shells";
    sld_solvent: Sld, "1e-6/Ang^2", 6.4, -INF => INF, "Scattering length density of the solvent";
    sld: Sld, "1e-6/Ang^2", 0.4, -INF => INF, "Scattering length density of a shell";
    n_shells: Volume, "", 2.0, 1.0 => INF, "Number of shells, rounded to a whole one; at most 10 000";
    }
}

/// Multilamellar vesicles.
pub struct MultilayerVesicle;

/// Shells, inner radius of the first, thickness and period of all, and the contrast, which has the volume
/// fraction in it by its root.
#[derive(Clone, Copy)]
pub struct State<R> {
    shells: u32,
    radius: R,
    thickness: R,
    period: R,
    contrast: R,
}

/// Radius of the whole.
#[inline(always)]
fn outer_radius<R: Real>(p: &Parameters<R>) -> R {
    let shells = R::of(f64::from(p.n_shells.count(MOST_SHELLS)));
    (p.thick_shell + p.thick_solvent).mul_add(shells, p.radius - p.thick_solvent)
}

impl Model for MultilayerVesicle {
    const INFO: Info = Info {
        name: "multilayer_vesicle",
        category: "shape:sphere",
        title: "Vesicles of several concentric shells with solvent between",
        formula: "F = √volfraction (sld − sld_solvent) Σ [V(Rᵢ) f₃(q Rᵢ) − V(rᵢ) f₃(q rᵢ)], rᵢ = radius + (i − 1)(thick_shell + thick_solvent), Rᵢ = rᵢ + thick_shell, over V(R of the last), f₃(x) = 3 (sin x − x cos x)/x³",
        source: "B. Cabane, in R. Zana (ed.), Surfactant Solutions: New Methods of Investigation, M. Dekker 1987, ch. 2",
        parameters: TABLE,
        radius_modes: &["outer radius"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        State {
            shells: p.n_shells.count(MOST_SHELLS),
            radius: p.radius,
            thickness: p.thick_shell,
            period: p.thick_shell + p.thick_solvent,
            contrast: (p.sld - p.sld_solvent) * p.volfraction.sqrt(),
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(ball(outer_radius(p)))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let mut inner = s.radius;
        let mut sum = R::zero();
        for _ in 0..s.shells {
            let outer = inner + s.thickness;
            let hollow = ball(inner) * sphere_form(wave.q * inner);
            sum += sphere_form(wave.q * outer).mul_add(ball(outer), -hollow);
            inner += s.period;
        }
        Form::of_amplitude(s.contrast * sum)
    }

    fn effective_radius(p: &Parameters<f64>, _mode: u32) -> f64 {
        outer_radius(p)
    }
}
