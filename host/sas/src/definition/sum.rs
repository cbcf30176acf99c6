//! Sums and products of models: `sphere+lamellar`, I = scale · (A_scale · A + B_scale · B) +
//! background; `sphere*hardsphere`, I = scale · A · B + background; `sphere+cylinder*hardsphere`, I =
//! scale · (A_scale · A + BC_scale · B · C) + background.

use super::{Definition, ParameterRow, Role};
use crate::SasError;
use std::ops::Range;

/// Greatest number of parts of sums and products; each has a letter.
const MAX_PARTS: usize = 8;

/// A term of a sum: one of its models, or a product of some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Its parts.
    pub parts: Range<usize>,
    /// Index of its scale among the values; `None` for a product that is no term of a sum, whose
    /// scale is that of the whole.
    pub scale: Option<usize>,
}

/// A part of a sum or a product.
#[derive(Debug, Clone)]
pub struct Part {
    definition: Definition,
    /// Index in the sum's table of each row of the part's; none of scale and background.
    rows: Vec<Option<usize>>,
}

impl Part {
    /// The model of the part.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.definition
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

/// A of the first part, B of the second, ….
fn letter(part: usize) -> char {
    u8::try_from(part).map_or('?', |part| char::from(b'A' + part))
}

/// `A_` of the first part, `B_` of the second, ….
fn prefix(part: usize) -> String {
    format!("{}_", letter(part))
}

impl Definition {
    /// The parts of a sum or a product of models; empty for any other model.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The terms of a sum, in which the parts of a product are together; a product of models is one
    /// term. Empty for any other model.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Indices among the values of the scales of a sum's terms; empty for any other model.
    pub fn term_scales(&self) -> impl Iterator<Item = usize> {
        self.terms.iter().filter_map(|term| term.scale)
    }

    /// Parses `A+B*C+…`, in which products come before sums.
    pub(super) fn parse_sum(name: &str) -> Result<Self, SasError> {
        let terms = name.split('+').map(|term| term.split('*').map(str::trim));
        let terms: Vec<Vec<&str>> = terms.map(Iterator::collect).collect();
        let parts: Vec<&str> = terms.iter().flatten().copied().collect();
        if parts.iter().any(|part| part.is_empty()) {
            let (sign, example) = match name.contains('+') {
                true if name.contains('*') => ("+ and *", "sphere+lamellar*hardsphere"),
                true => ("+", "sphere+lamellar"),
                false => ("*", "sphere*hardsphere"),
            };
            return Err(SasError::Refused(format!(
                "{name}: expected models on both sides of {sign}, such as {example}, found none"
            )));
        }
        if parts.len() > MAX_PARTS {
            let what = if terms.len() == 1 { "product" } else { "sum" };
            return Err(SasError::Refused(format!(
                "{name}: expected a {what} of at most {MAX_PARTS} models, found {}",
                parts.len()
            )));
        }
        let lengths: Vec<usize> = terms.iter().map(Vec::len).collect();
        let joined: Vec<String> = terms.iter().map(|term| term.join("*")).collect();
        let parts = parts.into_iter().map(Self::parse_single);
        Ok(Self::sum(
            &joined.join("+"),
            parts.collect::<Result<Vec<_>, _>>()?,
            &lengths,
        ))
    }

    /// The sum of terms, which are products of so many of the parts each. Its own rows come first,
    /// then those of the parts, then the magnetic ones.
    pub(super) fn sum(name: &str, parts: Vec<Self>, lengths: &[usize]) -> Self {
        let background = parts.iter().filter_map(|part| part.rows.get(1));
        let background = background.map(|row| row.default).fold(0.0, f64::max);
        let mut rows = super::scale_and_background(background);
        let is_sum = lengths.len() > 1;
        rows[0].about = if is_sum {
            "Factor on the sum of all parts"
        } else {
            "Factor on the product of all parts"
        };
        let mut terms: Vec<Term> = Vec::with_capacity(lengths.len());
        for length in lengths {
            let first = terms.last().map_or(0, |term| term.parts.end);
            terms.push(Term {
                parts: first..first + length,
                scale: None,
            });
        }
        let is_own = |role| matches!(role, Role::Scale | Role::Background);
        let of_part = |part: usize, row: &ParameterRow| ParameterRow {
            name: prefix(part) + &row.name,
            part: Some(part),
            ..row.clone()
        };
        for (at, part) in parts.iter().enumerate() {
            let starts = |term: &Term| is_sum && term.parts.start == at;
            for row in &part.rows {
                if row.role == Role::Scale {
                    // One for all parts of a product.
                    if let Some(number) = terms.iter().position(starts) {
                        let term = &mut terms[number];
                        term.scale = Some(rows.len());
                        let letters: String = term.parts.clone().map(letter).collect();
                        rows.push(ParameterRow {
                            name: format!("{letters}_{}", row.name),
                            about: if term.parts.len() > 1 {
                                "Factor on the product"
                            } else {
                                row.about
                            },
                            role: Role::PartScale(number),
                            ..of_part(at, row)
                        });
                    }
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
        let parts: Vec<Part> = (parts.into_iter().enumerate())
            .map(|(at, definition)| {
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
            terms,
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
        assert!(sum.term_scales().eq([2, 10]));
        assert_eq!((b.index_of(11), b.index_of(5)), (Some(2), None));
        assert_eq!(sum.rows()[11].base_name(), "thickness");
        assert!(sum.rows()[8].part == Some(0));
    }

    #[test]
    fn a_product_has_one_scale() {
        let scales = |name: &str| {
            let definition = Definition::parse(name).unwrap();
            let rows = definition.rows().iter();
            let rows = rows.filter(|row| row.base_name() == "scale");
            let names: Vec<String> = rows.map(|row| row.name.clone()).collect();
            let parts = definition.terms().iter().map(|term| term.parts.clone());
            (names.join(" "), parts.collect::<Vec<_>>())
        };
        let (names, terms) = scales("sphere*hardsphere");
        assert_eq!(names.as_str(), "scale");
        assert!(terms.len() == 1 && terms[0] == (0..2), "{terms:?}");
        // Products come before sums.
        let (names, terms) = scales("sphere + cylinder*hardsphere *guinier+ lamellar");
        let expected = "scale A_scale BCD_scale E_scale";
        assert_eq!((names.as_str(), terms), (expected, vec![0..1, 1..4, 4..5]));
        let product = Definition::parse("sphere*lamellar").unwrap();
        let names: Vec<&str> = product.rows().iter().map(|row| row.name.as_str()).collect();
        let expected = ["scale", "background", "A_sld", "A_sld_solvent", "A_radius"];
        assert_eq!(names[..5], expected);
        assert_eq!(names[5], "B_thickness");
        assert_eq!(product.clone().with_magnetism().terms(), product.terms());
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
            ("sphere*", "models on both sides of *"),
            ("sphere+*cylinder", "models on both sides of + and *"),
            ("sphere*(lamellar+sphere)", "without parentheses"),
            ("sphere+sphere@", "on both sides of @"),
            ("sphere+banana", "banana: expected the name of a model"),
            ("sphere*banana", "banana: expected the name of a model"),
            ("sphere+sphere@cylinder", "after @, found cylinder"),
            (&nine, "a sum of at most 8 models, found 9"),
            (
                &nine.replace('+', "*"),
                "a product of at most 8 models, found 9",
            ),
        ] {
            let refused = Definition::parse(name).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
