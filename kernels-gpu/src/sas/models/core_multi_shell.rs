//! Spheres with up to ten shells.

use crate::model_values;
use crate::sas::functions::{ball, sphere_form};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::real::Real;

/// The most shells there can be.
const SHELLS: usize = 10;

model_values! {
    values {
    sld_core: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the core";
    radius: Volume, "Ang", 200.0, 0.0 => INF, "Radius of the core";
    sld_solvent: Sld, "1e-6/Ang^2", 6.4, -INF => INF, "Scattering length density of the solvent";
    n: Plain, "", 1.0, 0.0 => 10.0, "Number of shells";
    sld[10]: Sld, "1e-6/Ang^2", 1.7, -INF => INF, "Scattering length density of each shell";
    thickness[10]: Volume, "Ang", 40.0, 0.0 => INF, "Thickness of each shell";
    }
}

/// Spheres with up to ten shells.
pub struct CoreMultiShell;

/// Radius of each surface, and the step of density at it times the volume within; shells from the core outwards.
#[derive(Clone, Copy)]
pub struct State<R> {
    shells: u32,
    radii: [R; SHELLS + 1],
    weights: [R; SHELLS + 1],
}

/// Radius of the whole.
#[inline(always)]
fn outer_radius<R: Real>(p: &Parameters<R>) -> R {
    let shells = p.n.count(SHELLS as u32);
    let mut radius = p.radius;
    for i in 0..SHELLS {
        if (i as u32) < shells {
            radius += p.thickness[i];
        }
    }
    radius
}

impl Model for CoreMultiShell {
    const INFO: Info = Info {
        name: "core_multi_shell",
        category: "shape:sphere",
        title: "Spheres of a core and one to ten shells",
        formula: "F = Σ (ρᵢ − ρᵢ₊₁) Vᵢ f₃(q rᵢ) over all surfaces, from sld_core to sld_solvent, rᵢ = radius + Σ thickness, f₃(x) = 3 (sin x − x cos x)/x³",
        source: "L. A. Feigin and D. I. Svergun, Structure Analysis by Small-Angle X-Ray and Neutron Scattering, Plenum 1987",
        parameters: TABLE,
        radius_modes: &["outer radius", "core radius"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let shells = p.n.count(SHELLS as u32);
        let (mut radius, mut inside) = (p.radius, p.sld_core);
        let mut radii = [radius; SHELLS + 1];
        let mut weights = [R::zero(); SHELLS + 1];
        for i in 0..SHELLS {
            let there = (i as u32) < shells;
            let outside = if there { p.sld[i] } else { p.sld_solvent };
            weights[i] = (inside - outside) * ball(radius);
            if there {
                radius += p.thickness[i];
            }
            inside = outside;
            radii[i + 1] = radius;
        }
        weights[SHELLS] = (inside - p.sld_solvent) * ball(radius);
        State {
            shells,
            radii,
            weights,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        Volume::solid(ball(outer_radius(p)))
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let mut sum = R::zero();
        for i in 0..=SHELLS {
            if i as u32 <= s.shells {
                sum = sphere_form(wave.q * s.radii[i]).mul_add(s.weights[i], sum);
            }
        }
        Form::of_amplitude(sum)
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        match mode {
            1 => outer_radius(p),
            _ => p.radius,
        }
    }
}
