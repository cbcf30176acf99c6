//! `warpstride sas models`.

use super::names;
use crate::args::SasModelsArgs;
use crate::failure::Failure;
use crate::output::{facts, say, say_json};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use warpstride::sas::magnetism::{MOMENT_NAMES, SPIN_NAMES};
use warpstride::sas::{Definition, ParameterRow, Role};
use warpstride::text::{Table, shortest};
use warpstride_kernels::sas::catalogue::{self, AnyModel};
use warpstride_kernels::sas::model::Symmetry;

/// The models to describe.
#[derive(Debug)]
pub(crate) struct Models {
    /// One model; `None`: all.
    one: Option<Definition>,
    json: bool,
}

#[derive(Serialize)]
struct Described {
    name: String,
    category: &'static str,
    title: &'static str,
    formula: &'static str,
    source: &'static str,
    /// `isotropic`, `axial` or `triaxial`.
    symmetry: &'static str,
    /// Whether the intensity depends on orientation in two dimensions.
    oriented: bool,
    /// Whether the model has an amplitude, so that β(q) exists.
    amplitude: bool,
    /// Meanings of `radius_effective_mode` 1, 2, ….
    radius_modes: &'static [&'static str],
    /// For a product: its factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    factors: Option<[Factor; 2]>,
    /// The models of the parts, of a sum.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Self>,
    parameters: Vec<DescribedParameter>,
    /// Parameters of polarised beams and magnetic moments, for two dimensions.
    magnetism: Vec<DescribedParameter>,
}

#[derive(Serialize)]
struct Factor {
    name: &'static str,
    title: &'static str,
    formula: &'static str,
    source: &'static str,
}

#[derive(Serialize)]
struct DescribedParameter {
    name: String,
    units: &'static str,
    default: f64,
    /// `null`: unlimited.
    limits: [Option<f64>; 2],
    about: &'static str,
    /// `scale`, `background`, `form`, `angle`, `structure`, `mode` or `magnetism`.
    role: &'static str,
    polydisperse: bool,
    sld: bool,
}

impl Models {
    /// Looks up the model.
    pub(crate) fn from_args(args: &SasModelsArgs) -> Result<Self, Failure> {
        Ok(Self {
            one: args.name.as_deref().map(names::definition).transpose()?,
            json: args.json,
        })
    }

    /// Prints the list or the description.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match (&self.one, self.json) {
            (Some(definition), true) => say_json(&Described::new(definition)),
            (Some(definition), false) => say(&text(definition)),
            (None, true) => {
                let all = catalogue::models()
                    .iter()
                    .map(|model| Ok(Described::new(&Definition::parse(model.info().name)?)))
                    .collect::<Result<Vec<_>, Failure>>()?;
                say_json(&all)
            }
            (None, false) => say(&list()),
        }
    }
}

impl Described {
    fn new(definition: &Definition) -> Self {
        if !definition.parts().is_empty() {
            return Self::of_sum(definition);
        }
        let form = definition.form();
        let info = form.info();
        Self {
            name: definition.name().to_owned(),
            category: info.category,
            title: info.title,
            formula: info.formula,
            source: info.source,
            symmetry: match form.symmetry() {
                Symmetry::Isotropic => "isotropic",
                Symmetry::Axial => "axial",
                Symmetry::Triaxial => "triaxial",
            },
            oriented: definition.oriented(),
            amplitude: form.has_amplitude(),
            radius_modes: info.radius_modes,
            factors: definition
                .structure()
                .map(|structure| [Factor::new(form), Factor::new(structure)]),
            parts: Vec::new(),
            parameters: definition
                .rows()
                .iter()
                .map(DescribedParameter::new)
                .collect(),
            magnetism: magnetism(definition),
        }
    }
}

impl Described {
    fn of_sum(definition: &Definition) -> Self {
        let [category, title, formula] = about_parts(definition);
        let parts = definition.parts().iter();
        let parts: Vec<Self> = parts.map(|part| Self::new(part.definition())).collect();
        let symmetries = ["triaxial", "axial"];
        let mut found = symmetries.into_iter();
        let found = found.find(|of| parts.iter().any(|part| part.symmetry == *of));
        let rows = definition.rows().iter();
        Self {
            name: definition.name().to_owned(),
            category,
            title,
            formula,
            source: "",
            symmetry: found.unwrap_or("isotropic"),
            oriented: definition.oriented(),
            amplitude: false,
            radius_modes: &[],
            factors: None,
            parts,
            parameters: rows.map(DescribedParameter::new).collect(),
            magnetism: magnetism(definition),
        }
    }
}

/// Category, title and formula of a sum or a product of models.
fn about_parts(definition: &Definition) -> [&'static str; 3] {
    let terms = definition.terms();
    if terms.len() == 1 {
        return [
            "product",
            "Product of models",
            "I = scale A B ... + background",
        ];
    }
    if terms.iter().any(|term| term.parts.len() > 1) {
        return [
            "sum",
            "Sum of products of models",
            "I = scale (A_scale A + BC_scale B C + ...) + background",
        ];
    }
    [
        "sum",
        "Sum of models",
        "I = scale (A_scale A + B_scale B + ...) + background",
    ]
}

impl Factor {
    fn new(model: &dyn AnyModel) -> Self {
        let info = model.info();
        Self {
            name: info.name,
            title: info.title,
            formula: info.formula,
            source: info.source,
        }
    }
}

impl DescribedParameter {
    fn new(row: &ParameterRow) -> Self {
        let limit = |value: f64| value.is_finite().then_some(value);
        Self {
            name: row.name.clone(),
            units: row.units,
            default: row.default,
            limits: [limit(row.limits.0), limit(row.limits.1)],
            about: row.about,
            role: match row.role {
                Role::Scale | Role::PartScale(_) => "scale",
                Role::Background => "background",
                Role::Form(_) => "form",
                Role::Angle(_) => "angle",
                Role::Structure(_) => "structure",
                Role::StructureFactorMode | Role::RadiusEffectiveMode => "mode",
                Role::Spin(_) | Role::Moment { .. } => "magnetism",
            },
            polydisperse: row.polydisperse,
            sld: row.sld,
        }
    }
}

/// The parameters that [`Definition::with_magnetism`] adds.
fn magnetism(definition: &Definition) -> Vec<DescribedParameter> {
    let magnetic = definition.clone().with_magnetism();
    let added = &magnetic.rows()[definition.rows().len()..];
    added.iter().map(DescribedParameter::new).collect()
}

/// All models by category, shapes first.
fn list() -> String {
    let mut categories: BTreeMap<(bool, &str), Vec<&dyn AnyModel>> = BTreeMap::new();
    for model in catalogue::models() {
        let category = model.info().category;
        let shape = category.starts_with("shape:");
        categories
            .entry((!shape, category))
            .or_default()
            .push(*model);
    }
    let mut text = String::new();
    for ((_, category), models) in categories {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{category}");
        let width = 26;
        for model in models {
            let info = model.info();
            let _ = writeln!(text, "  {:<width$} {}", info.name, info.title);
        }
        text.push('\n');
    }
    text + "P@S multiplies a form factor with a structure factor: sphere@hardsphere.\n\
            A+B adds models, each with its own scale: sphere@hardsphere+lamellar.\n\
            A*B multiplies models, before sums are formed: sphere*hardsphere+lamellar.\n\
            `warpstride sas models NAME` shows the parameters of a model.\n"
}

/// Description of one model with its parameter table.
fn text(definition: &Definition) -> String {
    let lines = if definition.parts().is_empty() {
        lines_of_model(definition)
    } else {
        lines_of_sum(definition)
    };
    let mut table = Table::new(&["parameter", "default", "units", "limits", "--pd", "meaning"]);
    for group in grouped(definition.rows()) {
        let row = group[0];
        let last = group[group.len() - 1];
        let name = if group.len() > 1 {
            format!("{} … {}", row.name, last.name)
        } else {
            row.name.clone()
        };
        table.row([
            name,
            shortest(row.default),
            row.units.to_owned(),
            limits(row.limits),
            match (row.polydisperse, row.role) {
                (true, Role::Angle(_)) => "2-D",
                (true, _) => "yes",
                _ => "",
            }
            .to_owned(),
            row.about.to_owned(),
        ]);
    }
    format!("{}\n{table}", facts(&lines))
}

fn lines_of_sum(definition: &Definition) -> Vec<(&'static str, String)> {
    let [category, title, formula] = about_parts(definition);
    let mut lines = vec![
        ("model", definition.name().to_owned()),
        ("category", category.to_owned()),
        ("title", title.to_owned()),
        ("formula", formula.to_owned()),
    ];
    for (part, letter) in definition.parts().iter().zip('A'..) {
        let part = part.definition();
        let info = part.form().info();
        lines.push(("part", format!("{letter}: {}: {}", part.name(), info.title)));
        lines.push(("formula", info.formula.to_owned()));
        if let Some(structure) = part.structure() {
            lines.push(("times", structure.info().formula.to_owned()));
        }
    }
    lines
}

fn lines_of_model(definition: &Definition) -> Vec<(&'static str, String)> {
    let form = definition.form();
    let info = form.info();
    let mut lines = vec![
        ("model", definition.name().to_owned()),
        ("category", info.category.to_owned()),
        ("title", info.title.to_owned()),
        ("formula", info.formula.to_owned()),
        ("source", info.source.to_owned()),
    ];
    if let Some(structure) = definition.structure() {
        let info = structure.info();
        lines.extend([
            ("times", format!("{}: {}", info.name, info.title)),
            ("formula", info.formula.to_owned()),
            ("source", info.source.to_owned()),
        ]);
    }
    lines.push((
        "in 2-D",
        match form.symmetry() {
            Symmetry::Isotropic => "depends on |q| only".to_owned(),
            Symmetry::Axial => "oriented by theta and phi".to_owned(),
            Symmetry::Triaxial => "oriented by theta, phi and psi".to_owned(),
        },
    ));
    lines.push((
        "beta(q)",
        if form.has_amplitude() {
            "available: structure_factor_mode=1 of a product P@S"
        } else {
            "not available: the model has no amplitude"
        }
        .to_owned(),
    ));
    if info.radius_modes.is_empty() {
        lines.push((
            "radius modes",
            "none: set radius_effective of a product".to_owned(),
        ));
    } else {
        let mut name = "radius modes";
        for (at, mode) in info.radius_modes.iter().enumerate() {
            lines.push((std::mem::take(&mut name), format!("{}: {mode}", at + 1)));
        }
    }
    if !magnetism(definition).is_empty() {
        lines.push((
            "magnetism",
            format!(
                "in 2-D: {} of the beam; {} of each scattering length density",
                SPIN_NAMES.join(", "),
                MOMENT_NAMES.map(|name| format!("NAME{name}")).join(", ")
            ),
        ));
    }
    lines
}

/// The rows, with the elements of an array in one group.
fn grouped(rows: &[ParameterRow]) -> Vec<Vec<&ParameterRow>> {
    let mut groups: Vec<Vec<&ParameterRow>> = Vec::new();
    for row in rows {
        match groups.last_mut() {
            Some(group) if follows(group[group.len() - 1], row) => group.push(row),
            _ => groups.push(vec![row]),
        }
    }
    groups
}

/// Whether `b` is the element after `a` in the same array.
fn follows(a: &ParameterRow, b: &ParameterRow) -> bool {
    let element = |row: &ParameterRow| -> Option<(String, usize)> {
        let stem = row.name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = row.name[stem.len()..].parse().ok()?;
        Some((stem.to_owned(), number))
    };
    match (element(a), element(b)) {
        (Some((stem, i)), Some((other, j))) => {
            stem == other && i + 1 == j && (a.about, a.units) == (b.about, b.units)
        }
        _ => false,
    }
}

fn limits((low, high): (f64, f64)) -> String {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("{low} to {high}"),
        (true, false) => format!("from {low}"),
        (false, true) => format!("to {high}"),
        (false, false) => String::new(),
    }
}
