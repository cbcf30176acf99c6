//! A model by its name, with all its parameters.

mod diameter;
mod sum;

pub use sum::{Part, Term};

use super::SasError;
use super::magnetism::{MOMENT_NAMES, SPIN_NAMES};
use warpstride_kernels::sas::catalogue::{self, AnyModel};
use warpstride_kernels::sas::model::{Kind, Symmetry};

/// Meaning of a parameter in the computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Factor of the intensity.
    Scale,
    /// Factor of a term of a sum, by its index.
    PartScale(usize),
    /// Constant added to the intensity, 1/cm.
    Background,
    /// Index among the values of the form factor.
    Form(usize),
    /// Orientation of the particle, degrees: 0 θ, 1 φ, 2 ψ; two dimensions only.
    Angle(usize),
    /// Index among the values of the structure factor; 0 and 1 are always `radius_effective` and
    /// `volfraction`. If the form factor has its own `volfraction`, that value serves both, and the
    /// structure factor's has no row.
    Structure(usize),
    /// 0: P·S; 1: decoupling, P (1 + β (S − 1)).
    StructureFactorMode,
    /// 0: `radius_effective` as set; 1, 2, …: an effective radius of the form factor.
    RadiusEffectiveMode,
    /// Index of a beam parameter, in the order of
    /// [`magnetism::SPIN_NAMES`](super::magnetism::SPIN_NAMES); two dimensions only.
    Spin(usize),
    /// Component of a magnetic moment; two dimensions only.
    Moment {
        /// Index among the form factor's scattering length densities.
        sld: usize,
        /// 0: size; 1: angle to the beam; 2: angle about the beam.
        part: usize,
    },
}

/// A row of a definition's parameter table.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterRow {
    /// Name, as in `--set`; elements of arrays are numbered: `thickness3`.
    pub name: String,
    /// `Ang`, `1/Ang`, `1e-6/Ang^2`, `degrees`, `1/cm` or empty.
    pub units: &'static str,
    /// Default value.
    pub default: f64,
    /// Least and greatest value.
    pub limits: (f64, f64),
    /// Description.
    pub about: &'static str,
    /// Meaning in the computation.
    pub role: Role,
    /// Whether the parameter can be polydisperse: sizes in one dimension, sizes and angles in two.
    pub polydisperse: bool,
    /// Whether the parameter is a scattering length density.
    pub sld: bool,
    /// The part of a sum or a product of models to which the parameter belongs, by its index; the
    /// first part of a product for its scale.
    pub part: Option<usize>,
}

impl ParameterRow {
    /// Whether the parameter is a number of shells, layers, …, for which derivatives have no
    /// meaning.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        INTEGER_PARAMETERS.contains(&self.base_name())
    }

    /// The name without the letter of a part: `radius` of `A_radius`.
    #[must_use]
    pub fn base_name(&self) -> &str {
        match self.part {
            Some(_) => self
                .name
                .split_once('_')
                .map_or(&self.name, |(_, name)| name),
            None => &self.name,
        }
    }
}

/// A model: a form factor, a product `P@S` with a structure factor, or a sum `A+B` or product `A*B`
/// of such models.
#[derive(Clone)]
pub struct Definition {
    name: String,
    form: &'static dyn AnyModel,
    structure: Option<&'static dyn AnyModel>,
    rows: Vec<ParameterRow>,
    /// Parts of a sum or a product of models; empty for any other model.
    parts: Vec<Part>,
    terms: Vec<Term>,
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Definition").field(&self.name).finish()
    }
}

/// Integer parameters.
const INTEGER_PARAMETERS: [&str; 6] = [
    "n",
    "n_shells",
    "n_steps",
    "n_stacking",
    "num_pearls",
    "Nlayers",
];

/// Category of the structure factors.
const STRUCTURE_FACTOR: &str = "structure-factor";

fn find(name: &str) -> Result<&'static dyn AnyModel, SasError> {
    catalogue::model(name).ok_or_else(|| {
        let near = catalogue::models()
            .iter()
            .map(|model| model.info().name)
            .find(|known| known.contains(name) || name.contains(known));
        SasError::NoModel {
            name: name.to_owned(),
            hint: near.map_or_else(String::new, |known| format!(" (did you mean {known}?)")),
        }
    })
}

fn rows_of(model: &dyn AnyModel, role: impl Fn(usize) -> Role) -> Vec<ParameterRow> {
    let (mut rows, mut value, mut angle) = (Vec::new(), 0, 0);
    for row in model.info().parameters {
        for i in 1..=row.length {
            let role = if row.kind == Kind::Orientation {
                angle += 1;
                Role::Angle(angle - 1)
            } else {
                value += 1;
                role(value - 1)
            };
            rows.push(ParameterRow {
                name: match row.length {
                    1 => row.name.to_owned(),
                    _ => format!("{}{i}", row.name),
                },
                units: row.units,
                default: row.default,
                limits: row.limits,
                about: row.about,
                role,
                polydisperse: matches!(
                    row.kind,
                    Kind::Volume | Kind::Polydisperse | Kind::Orientation
                ),
                sld: row.kind == Kind::Sld,
                part: None,
            });
        }
    }
    rows
}

/// A row of a number that is no part of the form factor.
fn plain(
    name: &str,
    units: &'static str,
    default: f64,
    limits: (f64, f64),
    about: &'static str,
    role: Role,
) -> ParameterRow {
    ParameterRow {
        name: name.to_owned(),
        units,
        default,
        limits,
        about,
        role,
        polydisperse: false,
        sld: false,
        part: None,
    }
}

/// The first two rows of every model.
fn scale_and_background(background: f64) -> Vec<ParameterRow> {
    let free = (f64::NEG_INFINITY, f64::INFINITY);
    vec![
        plain(
            "scale",
            "",
            1.0,
            free,
            "Factor on the model: the volume fraction where SLDs are absolute",
            Role::Scale,
        ),
        plain(
            "background",
            "1/cm",
            background,
            free,
            "Added to every intensity",
            Role::Background,
        ),
    ]
}

impl Definition {
    /// The model of that name, `P`, `P@S`, or a sum `A+B`, product `A*B` or sum of products `A*B+C`
    /// of these.
    ///
    /// # Errors
    /// A model does not exist, S is not a structure factor, or P is one; too many models.
    pub fn parse(name: &str) -> Result<Self, SasError> {
        if name.contains(['(', ')']) {
            return Err(SasError::Refused(format!(
                "{name}: expected models joined by @, * and + without parentheses, such as sphere*hardsphere+lamellar, found some"
            )));
        }
        if name.contains(['+', '*']) {
            Self::parse_sum(name)
        } else {
            Self::parse_single(name)
        }
    }

    fn parse_single(name: &str) -> Result<Self, SasError> {
        let (form_name, structure_name) = match name.split_once('@') {
            Some((form, structure)) => (form, Some(structure)),
            None => (name, None),
        };
        if structure_name.is_some_and(str::is_empty) || form_name.is_empty() {
            return Err(SasError::Refused(format!(
                "{name}: expected a model, or a form factor and a structure factor on both sides of @, such as sphere@hardsphere, found none"
            )));
        }
        let form = find(form_name)?;
        let structure = structure_name.map(find).transpose()?;
        if let Some(structure) = structure {
            if structure.info().category != STRUCTURE_FACTOR {
                return Err(SasError::Refused(format!(
                    "{name}: expected a structure factor after @, found {}",
                    structure.info().name
                )));
            }
            if form.info().category == STRUCTURE_FACTOR {
                return Err(SasError::Refused(format!(
                    "{name}: expected a form factor before @, found the structure factor {form_name}"
                )));
            }
        }
        let mut rows = scale_and_background(form.info().background);
        rows.extend(rows_of(form, Role::Form));
        if let Some(structure) = structure {
            let own_volfraction = rows.iter().any(|row| row.name == "volfraction");
            for row in rows_of(structure, Role::Structure) {
                if !(own_volfraction && row.name == "volfraction") {
                    rows.push(row);
                }
            }
            if form.has_amplitude() {
                rows.push(plain(
                    "structure_factor_mode",
                    "",
                    0.0,
                    (0.0, 1.0),
                    "0: P S; 1: decoupling, P (1 + β (S − 1))",
                    Role::StructureFactorMode,
                ));
            }
            let modes = form.info().radius_modes.len();
            if modes > 0 {
                rows.push(plain(
                    "radius_effective_mode",
                    "",
                    1.0,
                    (0.0, modes as f64),
                    "0: radius_effective as set; 1, 2, ...: of the form factor",
                    Role::RadiusEffectiveMode,
                ));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            form,
            structure,
            rows,
            parts: Vec::new(),
            terms: Vec::new(),
        })
    }

    /// Appends the parameters of polarised beams and magnetic moments, for two dimensions. A model
    /// without scattering length densities has none.
    #[must_use]
    pub fn with_magnetism(mut self) -> Self {
        if !self.parts.is_empty() {
            let parts = self.parts.iter();
            let parts = parts.map(|part| part.definition().clone().with_magnetism());
            let lengths: Vec<usize> = self.terms.iter().map(|term| term.parts.len()).collect();
            return Self::sum(&self.name, parts.collect(), &lengths);
        }
        let slds: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.sld && matches!(row.role, Role::Form(_)))
            .map(|row| row.name.clone())
            .collect();
        if slds.is_empty()
            || self
                .rows
                .iter()
                .any(|row| matches!(row.role, Role::Spin(_)))
        {
            return self;
        }
        let row = |name: String, units, default, limits, about, role| ParameterRow {
            name,
            units,
            default,
            limits,
            about,
            role,
            polydisperse: false,
            sld: false,
            part: None,
        };
        let spins: [(f64, (f64, f64), &str, &str); 4] = [
            (0.0, (0.0, 1.0), "", "Share of spin up before the sample"),
            (0.0, (0.0, 1.0), "", "Share of spin up after the sample"),
            (
                90.0,
                (-180.0, 180.0),
                "degrees",
                "Angle of the polarisation to the beam",
            ),
            (
                0.0,
                (-360.0, 360.0),
                "degrees",
                "Angle of the polarisation about the beam",
            ),
        ];
        for (i, (default, limits, units, about)) in spins.into_iter().enumerate() {
            let name = SPIN_NAMES[i].to_owned();
            self.rows
                .push(row(name, units, default, limits, about, Role::Spin(i)));
        }
        let infinite = (f64::NEG_INFINITY, f64::INFINITY);
        let moments: [((f64, f64), &str, &str); 3] = [
            (infinite, "1e-6/Ang^2", "Magnetic scattering length density"),
            (
                (-180.0, 180.0),
                "degrees",
                "Angle of the magnetic moment to the beam",
            ),
            (
                (-360.0, 360.0),
                "degrees",
                "Angle of the magnetic moment about the beam",
            ),
        ];
        for (sld, of) in slds.iter().enumerate() {
            for (part, (limits, units, about)) in moments.into_iter().enumerate() {
                let name = format!("{of}{}", MOMENT_NAMES[part]);
                self.rows.push(row(
                    name,
                    units,
                    0.0,
                    limits,
                    about,
                    Role::Moment { sld, part },
                ));
            }
        }
        self
    }

    /// The name of the model.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The form factor; of a sum or a product of models, that of its first part.
    #[must_use]
    pub fn form(&self) -> &'static dyn AnyModel {
        self.form
    }

    /// The structure factor of `P@S`; of a sum or a product of models, that of its first part.
    #[must_use]
    pub fn structure(&self) -> Option<&'static dyn AnyModel> {
        self.structure
    }

    /// The parameter table, in the order of the values of a [`Vector`](super::Vector).
    #[must_use]
    pub fn rows(&self) -> &[ParameterRow] {
        &self.rows
    }

    /// Index of a parameter in the table.
    ///
    /// # Errors
    /// The model has no such parameter.
    pub fn parameter_index(&self, name: &str) -> Result<usize, SasError> {
        self.rows
            .iter()
            .position(|row| row.name == name)
            .ok_or_else(|| SasError::NoParameter {
                model: self.name.clone(),
                name: name.to_owned(),
                known: self
                    .rows
                    .iter()
                    .map(|row| row.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }

    /// The default values.
    #[must_use]
    pub fn defaults(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.default).collect()
    }

    /// Whether the intensity depends on orientation in two dimensions.
    #[must_use]
    pub fn oriented(&self) -> bool {
        let parts = self.parts.iter();
        self.form.symmetry() != Symmetry::Isotropic
            || parts.map(Part::definition).any(Self::oriented)
    }
}
