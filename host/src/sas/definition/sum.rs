//! Sums of models: `sphere+lamellar`, I = scale · (A_scale · A + B_scale · B) + background.

use super::{Definition, ParameterRow, Role};
use crate::sas::SasError;

/// Greatest number of parts of a sum; each has a letter.
const MAX_PARTS: usize = 8;

/// A part of a sum.
#[derive(Debug, Clone)]
pub struct Part {
    definition: Definition,
    /// Index in the sum's table of each row of the part's; none of scale and background.
    rows: Vec<Option<usize>>,
    /// Index in the sum's table of the part's scale.
    scale: usize,
}

impl Part {
    /// The model of the part.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Index of the part's scale among the values of the sum.
    #[must_use]
    pub fn scale(&self) -> usize {
        self.scale
    }

    /// Index of a parameter of the sum among those of the part, if it is one of them.
    #[must_use]
    pub fn index_of(&self, in_sum: usize) -> Option<usize> {
        self.rows.iter().position(|row| *row == Some(in_sum))
    }

    /// The part's values among those of the sum, with scale 1 and background 0.
    #[must_use]
    pub fn values(&self, of_sum: &[f64]) -> Vec<f64> {
        let rows = self.definition.rows.iter().zip(&self.rows);
        rows.map(|(row, from)| match from {
            Some(at) => of_sum.get(*at).copied().unwrap_or(f64::NAN),
            None if row.role == Role::Scale => 1.0,
            None => 0.0,
        })
        .collect()
    }
}

/// `A_` of the first part, `B_` of the second, ….
fn prefix(part: usize) -> String {
    let letter = u8::try_from(part).map_or('?', |part| char::from(b'A' + part));
    format!("{letter}_")
}

impl Definition {
    /// The parts of a sum; empty for any other model.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Parses `A+B+…`.
    pub(super) fn parse_sum(name: &str) -> Result<Self, SasError> {
        let names: Vec<&str> = name.split('+').map(str::trim).collect();
        if names.iter().any(|part| part.is_empty()) {
            return Err(SasError::Refused(format!(
                "{name}: expected models on both sides of +, such as sphere+lamellar, found none"
            )));
        }
        if names.len() > MAX_PARTS {
            return Err(SasError::Refused(format!(
                "{name}: expected a sum of at most {MAX_PARTS} models, found {}",
                names.len()
            )));
        }
        let joined = names.join("+");
        let parts = names.into_iter().map(Self::parse_single);
        Ok(Self::sum(&joined, parts.collect::<Result<Vec<_>, _>>()?))
    }

    /// The sum of the parts. Its own rows come first, then those of the parts, then the magnetic
    /// ones.
    pub(super) fn sum(name: &str, parts: Vec<Self>) -> Self {
        let background = parts.iter().filter_map(|part| part.rows.get(1));
        let background = background.map(|row| row.default).fold(0.0, f64::max);
        let mut rows = super::scale_and_background(background);
        rows[0].about = "Factor on the sum of all parts";
        let is_own = |role| matches!(role, Role::Scale | Role::Background);
        let of_part = |part: usize, row: &ParameterRow| ParameterRow {
            name: prefix(part) + &row.name,
            part: Some(part),
            ..row.clone()
        };
        let mut scales = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate() {
            scales.push(rows.len());
            for row in &part.rows {
                if row.role == Role::Scale {
                    rows.push(ParameterRow {
                        role: Role::PartScale(at),
                        ..of_part(at, row)
                    });
                } else if !is_own(row.role) && !is_magnetic(row.role) {
                    rows.push(of_part(at, row));
                }
            }
        }
        // The beam is common to all parts.
        let spins = |part: &Self| -> Vec<ParameterRow> {
            let rows = part.rows.iter();
            rows.filter(|row| matches!(row.role, Role::Spin(_)))
                .cloned()
                .collect()
        };
        let spins = parts.iter().map(spins).find(|rows| !rows.is_empty());
        rows.extend(spins.into_iter().flatten());
        for (at, part) in parts.iter().enumerate() {
            let moments = part.rows.iter();
            rows.extend(
                moments
                    .filter(|row| matches!(row.role, Role::Moment { .. }))
                    .map(|row| of_part(at, row)),
            );
        }
        let first = parts.first().map(|part| (part.form, part.structure));
        let resolved = parts.into_iter().zip(scales).enumerate();
        let parts: Vec<Part> = resolved
            .map(|(at, (definition, scale))| {
                let place = |row: &ParameterRow| {
                    let name = match row.role {
                        Role::Scale | Role::Background => return None,
                        Role::Spin(_) => row.name.clone(),
                        _ => prefix(at) + &row.name,
                    };
                    rows.iter().position(|of_sum| of_sum.name == name)
                };
                Part {
                    rows: definition.rows.iter().map(place).collect(),
                    definition,
                    scale,
                }
            })
            .collect();
        let (form, structure) =
            first.unwrap_or((warpstride_kernels::sas::catalogue::models()[0], None));
        Self {
            name: name.to_owned(),
            form,
            structure,
            rows,
            parts,
        }
    }
}

fn is_magnetic(role: Role) -> bool {
    matches!(role, Role::Spin(_) | Role::Moment { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_the_rows_of_its_parts_with_letters() {
        let sum = Definition::parse("sphere@hardsphere+lamellar").unwrap();
        let names: Vec<&str> = sum.rows().iter().map(|row| row.name.as_str()).collect();
        let expected = [
            "scale",
            "background",
            "A_scale",
            "A_sld",
            "A_sld_solvent",
            "A_radius",
            "A_radius_effective",
            "A_volfraction",
            "A_structure_factor_mode",
            "A_radius_effective_mode",
            "B_scale",
            "B_thickness",
            "B_sld",
            "B_sld_solvent",
        ];
        assert_eq!(names, expected);
        let mut values: Vec<f64> = (0..14).map(f64::from).collect();
        values[8] = 1.0;
        let [a, b] = sum.parts() else {
            panic!("two parts")
        };
        assert_eq!(
            a.values(&values),
            [1.0, 0.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1.0, 9.0]
        );
        assert_eq!(b.values(&values), [1.0, 0.0, 11.0, 12.0, 13.0]);
        assert_eq!((a.scale(), b.scale()), (2, 10));
        assert_eq!((b.index_of(11), b.index_of(5)), (Some(2), None));
        assert_eq!(sum.rows()[11].base_name(), "thickness");
        assert!(sum.rows()[8].part == Some(0));
    }

    #[test]
    fn moments_have_letters_and_the_beam_is_common() {
        let plain = Definition::parse("sphere+guinier+cylinder").unwrap();
        let sum = plain.clone().with_magnetism();
        assert_eq!(sum.rows()[..plain.rows().len()], *plain.rows());
        let count = |name: &str| sum.rows().iter().filter(|row| row.name == name).count();
        for name in ["up_frac_i", "A_sld_M0", "C_sld_solvent_mphi"] {
            assert_eq!(count(name), 1, "{name}");
        }
        let at = sum.parameter_index("up_frac_i").unwrap();
        for part in [0, 2] {
            let part = &sum.parts()[part];
            let own = part.index_of(at).unwrap();
            assert_eq!(part.definition().rows()[own].name, "up_frac_i");
        }
        assert_eq!(sum.parts()[1].index_of(at), None);
    }

    #[test]
    fn bad_sums_are_refused() {
        let nine = ["sphere"; 9].join("+");
        for (name, words) in [
            ("sphere+", "models on both sides of +"),
            ("+sphere", "models on both sides of +"),
            ("sphere+banana", "banana: expected the name of a model"),
            ("sphere+sphere@cylinder", "after @, found cylinder"),
            (&nine, "at most 8 models, found 9"),
        ] {
            let refused = Definition::parse(name).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
