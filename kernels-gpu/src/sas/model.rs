//! Scattering models: a table of parameters and a form factor.

use super::real::Real;

/// How a particle's scattering depends on its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetry {
    /// It does not: a function of |q|.
    Isotropic,
    /// A body of revolution about its axis c, with a mirror across it: [`Wave::along`] and [`Wave::across`].
    Axial,
    /// Three axes, each with a mirror: [`Wave::a`], [`Wave::b`], [`Wave::c`].
    Triaxial,
}

/// A wave vector in the particle's frame, 1/Å.
///
/// Fields that do not apply to a model's [`Symmetry`] are 0.
#[derive(Debug, Clone, Copy)]
pub struct Wave<R> {
    /// |q|.
    pub q: R,
    /// |component across the axis c|; axial only.
    pub across: R,
    /// Component along the axis c; axial only.
    pub along: R,
    /// Component along a; triaxial only.
    pub a: R,
    /// Component along b; triaxial only.
    pub b: R,
    /// Component along c; triaxial only.
    pub c: R,
}

/// The scattering of a particle at one wave vector.
#[derive(Debug, Clone, Copy)]
pub struct Form<R> {
    /// Amplitude F with the factor 10⁻²; 0 for a model without one ([`Model::AMPLITUDE`]).
    pub amplitude: R,
    /// Intensity F² with the factor 10⁻⁴, so that scale · ⟨F²⟩/⟨V⟩ is in 1/cm. For models that are a formula for
    /// I(q), that intensity.
    pub intensity: R,
}

impl<R: Real> Form<R> {
    /// The form with an amplitude in 10⁻⁶/Å² · Å³.
    #[inline(always)]
    pub fn of_amplitude(amplitude: R) -> Self {
        let amplitude = amplitude.times(1e-2);
        Self {
            amplitude,
            intensity: amplitude * amplitude,
        }
    }

    /// The form with an intensity in 1/cm (times volume) and no amplitude.
    #[inline(always)]
    pub fn of_intensity(intensity: R) -> Self {
        Self {
            amplitude: R::zero(),
            intensity,
        }
    }
}

/// Volumes of a particle, Å³.
#[derive(Debug, Clone, Copy)]
pub struct Volume<R> {
    /// Volume of the material, by which the intensity is divided.
    pub material: R,
    /// Volume of the outline, including hollows, which counts for the volume fraction of a structure factor.
    pub outline: R,
}

impl<R: Real> Volume<R> {
    /// The volumes of a particle without hollows.
    #[inline(always)]
    pub fn solid(volume: R) -> Self {
        Self {
            material: volume,
            outline: volume,
        }
    }

    /// The volumes of a model that does not describe particles.
    #[inline(always)]
    pub fn none() -> Self {
        Self::solid(R::one())
    }
}

/// The kind of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A scattering length density.
    Sld,
    /// Part of the volume; may be polydisperse.
    Volume,
    /// Not part of the volume, but may be polydisperse.
    Polydisperse,
    /// A number that is never polydisperse.
    Plain,
    /// Degrees, for data in two dimensions: `theta`, `phi`, `psi`.
    Orientation,
}

/// A row of a model's table.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// The name as in `--set`; for an array without its number.
    pub name: &'static str,
    /// `Ang`, `1/Ang`, `1e-6/Ang^2`, `degrees` or nothing.
    pub units: &'static str,
    /// The default value.
    pub default: f64,
    /// The least and the greatest value.
    pub limits: (f64, f64),
    /// Its kind.
    pub kind: Kind,
    /// Its meaning.
    pub about: &'static str,
    /// The number of elements: 1, or the length of an array (`name1`, `name2`, …).
    pub length: usize,
}

/// The description of a model.
#[derive(Debug)]
pub struct Info {
    /// The name that users give.
    pub name: &'static str,
    /// `shape:sphere`, `structure-factor`, ….
    pub category: &'static str,
    /// A title in one line.
    pub title: &'static str,
    /// The formula, in text.
    pub formula: &'static str,
    /// The paper or book that it comes from.
    pub source: &'static str,
    /// In the order of the model's values, then the angles of its orientation.
    pub parameters: &'static [Parameter],
    /// The meanings of `radius_effective_mode` 1, 2, …; empty if there is no effective radius.
    pub radius_modes: &'static [&'static str],
    /// The default background: 0.001, and 0 for structure factors.
    pub background: f64,
}

/// Parameter values in the form that a model takes.
pub trait Values<R: Real>: Copy {
    /// The number of values.
    const COUNT: usize;
    /// Indices of the values that are scattering length densities.
    const SLDS: &'static [usize];
    /// Reads the values; `get(i)` is the value with index i, below [`Values::COUNT`].
    fn read(get: impl Fn(usize) -> R) -> Self;
}

/// A scattering model, written once for the CPU and the GPU.
pub trait Model: 'static {
    /// Its table.
    const INFO: Info;
    /// Its symmetry.
    const SYMMETRY: Symmetry;
    /// Whether the model has an amplitude in [`Form::amplitude`], so that ⟨F⟩² and β(q) exist.
    const AMPLITUDE: bool;
    /// Its values, made by [`crate::model_values`].
    type Values<R: Real>: Values<R>;
    /// Quantities derived from the values, independent of the wave vector: computed once for a particle.
    type State<R: Real>: Copy;

    /// The state of a particle.
    fn prepare<R: Real>(values: &Self::Values<R>) -> Self::State<R>;

    /// Whether such a particle can exist, beyond the limits of single values: impossible particles of a distribution
    /// are left out. The first numbers of a pack decide: values are the same in all.
    #[inline(always)]
    fn valid<R: Real>(_values: &Self::Values<R>) -> bool {
        true
    }

    /// Its volume; [`Volume::none`] if I(q) does not describe particles.
    fn volume<R: Real>(values: &Self::Values<R>) -> Volume<R>;

    /// Its scattering at a wave vector.
    fn form<R: Real>(wave: &Wave<R>, state: &Self::State<R>) -> Form<R>;

    /// Radius of the sphere that represents it in a structure factor, by `mode` 1, 2, … of [`Info::radius_modes`];
    /// host only.
    fn effective_radius(_values: &Self::Values<f64>, _mode: u32) -> f64 {
        0.0
    }

    /// Largest distance from its centre, Å: together with q it determines the order of the orientation average.
    fn largest_half_size(_values: &Self::Values<f64>) -> f64 {
        0.0
    }
}

/// The struct of a model's values and its table of parameters, from one list.
///
/// ```text
/// model_values! {
///     values {
///         sld: Sld, "1e-6/Ang^2", 4.0, -INF => INF, "Scattering length density of the cylinder";
///         radius: Volume, "Ang", 20.0, 0.0 => INF, "Radius of the cylinder";
///         thickness[10]: Volume, "Ang", 40.0, 0.0 => INF, "Thickness of each shell";
///     }
///     orientation { theta: 60.0, "Angle of the axis to the beam"; … }
/// }
/// ```
/// makes `pub struct Parameters<R>` with a field of type `R` (or `[R; 10]`) for each row, its [`Values`], and the
/// constant `TABLE: &[Parameter]`.
#[macro_export]
macro_rules! model_values {
    (
        values {
            $($name:ident $([$length:literal])? : $kind:ident, $units:literal, $default:expr, $low:expr => $high:expr, $about:literal;)*
        }
        $(orientation { $($angle:ident : $angle_default:expr, $angle_about:literal;)* })?
    ) => {
        #[allow(dead_code, reason = "tables without limits do not use it")]
        const INF: f64 = f64::INFINITY;

        /// The model's values.
        #[allow(missing_docs, reason = "the table says what each is")]
        pub struct Parameters<R> {
            $(pub $name: $crate::model_values!(@type R $([$length])?),)*
        }

        impl<R: Copy> Clone for Parameters<R> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<R: Copy> Copy for Parameters<R> {}

        impl<R: $crate::sas::real::Real> $crate::sas::model::Values<R> for Parameters<R> {
            const COUNT: usize = 0 $(+ $crate::model_values!(@length $([$length])?))*;
            const SLDS: &'static [usize] = &{
                const KINDS: &[($crate::sas::model::Kind, usize)] =
                    &[$(($crate::sas::model::Kind::$kind, $crate::model_values!(@length $([$length])?))),*];
                const COUNT: usize = $crate::sas::model::slds(KINDS);
                $crate::sas::model::sld_indices::<COUNT>(KINDS)
            };

            #[inline(always)]
            #[allow(unused_assignments, unused_mut, unused_variables, reason = "after the last row, and without rows")]
            fn read(get: impl Fn(usize) -> R) -> Self {
                let mut at = 0;
                $(let $name = $crate::model_values!(@read get, at, $([$length])?);)*
                Self { $($name),* }
            }
        }

        /// The table.
        pub const TABLE: &[$crate::sas::model::Parameter] = &[
            $($crate::sas::model::Parameter {
                name: stringify!($name),
                units: $units,
                default: $default,
                limits: ($low, $high),
                kind: $crate::sas::model::Kind::$kind,
                about: $about,
                length: $crate::model_values!(@length $([$length])?),
            },)*
            $($($crate::sas::model::Parameter {
                name: stringify!($angle),
                units: "degrees",
                default: $angle_default,
                limits: $crate::sas::model::turn_limits(stringify!($angle)),
                kind: $crate::sas::model::Kind::Orientation,
                about: $angle_about,
                length: 1,
            },)*)?
        ];
    };
    (@type $r:ident) => { $r };
    (@type $r:ident [$length:literal]) => { [$r; $length] };
    (@length) => { 1 };
    (@length [$length:literal]) => { $length };
    (@read $get:ident, $at:ident,) => {{
        let value = $get($at);
        $at += 1;
        value
    }};
    (@read $get:ident, $at:ident, [$length:literal]) => {{
        let mut values = [$get($at); $length];
        for i in 0..$length {
            values[i] = $get($at + i);
        }
        $at += $length;
        values
    }};
}

/// Limits of an angle in degrees: θ half a turn each way, φ and ψ a whole one; for [`crate::model_values`].
#[doc(hidden)]
#[must_use]
pub const fn turn_limits(angle: &str) -> (f64, f64) {
    if matches!(angle.as_bytes(), b"theta") {
        (-180.0, 180.0)
    } else {
        (-360.0, 360.0)
    }
}

/// The number of scattering length densities among rows of a table; for [`crate::model_values`].
#[doc(hidden)]
#[must_use]
pub const fn slds(rows: &[(Kind, usize)]) -> usize {
    let (mut count, mut row) = (0, 0);
    while row < rows.len() {
        if matches!(rows[row].0, Kind::Sld) {
            count += rows[row].1;
        }
        row += 1;
    }
    count
}

/// The indices of the scattering length densities; for [`crate::model_values`].
#[doc(hidden)]
#[must_use]
pub const fn sld_indices<const N: usize>(rows: &[(Kind, usize)]) -> [usize; N] {
    let mut places = [0; N];
    let (mut found, mut at, mut row) = (0, 0, 0);
    while row < rows.len() {
        let mut i = 0;
        while i < rows[row].1 {
            if matches!(rows[row].0, Kind::Sld) {
                places[found] = at;
                found += 1;
            }
            at += 1;
            i += 1;
        }
        row += 1;
    }
    places
}
