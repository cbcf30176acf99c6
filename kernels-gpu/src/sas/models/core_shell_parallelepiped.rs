//! Rectangular blocks with a slab on each face; the edges between slabs stay empty.

use crate::model_values;
use crate::sas::functions::{sinc};
use crate::sas::model::{Form, Info, Model, Symmetry, Volume, Wave};
use crate::sas::radii;
use crate::sas::real::Real;
use core::f64::consts::PI;

model_values! {
    values {
    sld_core: Sld, "1e-6/Ang^2", 1.0, -INF => INF, "Scattering length density of the core";
    sld_a: Sld, "1e-6/Ang^2", 2.0, -INF => INF, "Scattering length density of the slabs along a";
    sld_b: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the slabs along b";
    sld_c: Sld, "1e-6/Ang^2", 2.0, -INF => INF, "Scattering length density of the slabs along c";
    sld_solvent: Sld, "1e-6/Ang^2", 6.0, -INF => INF, "Scattering length density of the solvent";
    length_a: Volume, "Ang", 35.0, 0.0 => INF, "Edge of the core along a";
    length_b: Volume, "Ang", 75.0, 0.0 => INF, "Edge of the core along b";
    length_c: Volume, "Ang", 400.0, 0.0 => INF, "Edge of the core along c";
    thick_rim_a: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of each slab along a";
    thick_rim_b: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of each slab along b";
    thick_rim_c: Volume, "Ang", 10.0, 0.0 => INF, "Thickness of each slab along c";
    }
    orientation {
    theta: 0.0, "Angle of the axis c to the beam";
    phi: 0.0, "Rotation of the axis c about the beam";
    psi: 0.0, "Rotation about the axis c";
    }
}

/// Rectangular blocks with a slab on each face; the edges between slabs stay empty.
pub struct CoreShellParallelepiped;

/// Edges of the core and with its slabs, and contrasts.
#[derive(Clone, Copy)]
pub struct State<R> {
    a: R,
    b: R,
    c: R,
    outer_a: R,
    outer_b: R,
    outer_c: R,
    core: R,
    rim_a: R,
    rim_b: R,
    rim_c: R,
}

impl Model for CoreShellParallelepiped {
    const INFO: Info = Info {
        name: "core_shell_parallelepiped",
        category: "shape:parallelepiped",
        title: "Rectangular blocks with a slab on each face",
        formula: "F = (sld_core − sld_solvent) SₐS_bS_c + (sld_a − sld_solvent)(S(a + 2tₐ) − Sₐ)S_bS_c + the same of b and of c, S(L) = L sin(x)/x, x = qᵢL/2",
        source: "P. Mittelbach and G. Porod, Acta Phys. Austriaca 14 (1961) 185",
        parameters: TABLE,
        radius_modes: &["equivalent cylinder excluded volume", "equivalent volume sphere", "half outer length_a", "half outer length_b", "half outer length_c", "equivalent circular cross-section", "half outer ab diagonal", "half outer diagonal"],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Triaxial;
    const AMPLITUDE: bool = true;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = State<R>;

    #[inline(always)]
    fn prepare<R: Real>(p: &Parameters<R>) -> State<R> {
        let outer = |length: R, rim: R| rim.mul_add(R::of(2.0), length);
        State {
            a: p.length_a,
            b: p.length_b,
            c: p.length_c,
            outer_a: outer(p.length_a, p.thick_rim_a),
            outer_b: outer(p.length_b, p.thick_rim_b),
            outer_c: outer(p.length_c, p.thick_rim_c),
            core: p.sld_core - p.sld_solvent,
            rim_a: p.sld_a - p.sld_solvent,
            rim_b: p.sld_b - p.sld_solvent,
            rim_c: p.sld_c - p.sld_solvent,
        }
    }

    #[inline(always)]
    fn volume<R: Real>(p: &Parameters<R>) -> Volume<R> {
        let across = p.length_a * p.length_b
            + (p.thick_rim_a * p.length_b + p.thick_rim_b * p.length_a).times(2.0);
        Volume::solid(
            across * p.length_c + (p.length_a * p.length_b * p.thick_rim_c).times(2.0),
        )
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, s: &State<R>) -> Form<R> {
        let slab = |q: R, length: R| length * sinc(q * length.times(0.5));
        let (a, b, c) = (slab(wave.a, s.a), slab(wave.b, s.b), slab(wave.c, s.c));
        let rim_a = s.rim_a * (slab(wave.a, s.outer_a) - a);
        let rim_b = s.rim_b * (slab(wave.b, s.outer_b) - b);
        let rim_c = s.rim_c * (slab(wave.c, s.outer_c) - c);
        let inner = s.core.mul_add(a, rim_a) * b * c;
        Form::of_amplitude(inner + a * (rim_b * c + b * rim_c))
    }

    fn effective_radius(p: &Parameters<f64>, mode: u32) -> f64 {
        let a = p.length_a + 2.0 * p.thick_rim_a;
        let b = p.length_b + 2.0 * p.thick_rim_b;
        let c = p.length_c + 2.0 * p.thick_rim_c;
        match mode {
            1 => radii::sorted_block(a, b, c),
            2 => radii::of_volume(Self::volume(p).material),
            // Without the empty edges.
            6 => libm::sqrt(
                (a * b - 4.0 * p.thick_rim_a * p.thick_rim_b) / PI,
            ),
            _ => radii::block(a, b, c, mode),
        }
    }

    fn largest_half_size(p: &Parameters<f64>) -> f64 {
        let a = p.length_a + 2.0 * p.thick_rim_a;
        let b = p.length_b + 2.0 * p.thick_rim_b;
        let c = p.length_c + 2.0 * p.thick_rim_c;
        0.5 * libm::hypot(libm::hypot(a, b), c)
    }
}
