//! The engine of several sets of data, each with its calculation.

use super::{Calculation, Engine, SasError, Vector};
use std::collections::HashMap;
use warpstride_core::run::Setup;

/// Distinct vectors, and for each vector the index of its equal among them. Equal means the same
/// bits.
pub(super) fn distinct<'a>(vectors: impl Iterator<Item = &'a Vector>) -> (Vec<Vector>, Vec<usize>) {
    let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut distinct: Vec<Vector> = Vec::new();
    let indices = vectors.map(|vector| {
        let numbers = vector.values.iter().chain(&vector.widths);
        let bits = numbers.map(|number| number.to_bits()).collect();
        *known.entry(bits).or_insert_with(|| {
            distinct.push(vector.clone());
            distinct.len() - 1
        })
    });
    let indices = indices.collect();
    (distinct, indices)
}

struct Member {
    engine: Box<dyn Engine>,
    /// Numbers of values and of widths of its vectors.
    sizes: (usize, usize),
}

/// Evaluates several calculations. Its vectors have the values of all, one after another, and so
/// have their widths and its intensities. Vectors that agree in one of the calculations share its
/// evaluation.
pub struct JointEngine {
    members: Vec<Member>,
}

impl JointEngine {
    /// From an engine for each calculation.
    #[must_use]
    pub fn new(members: Vec<(&Calculation, Box<dyn Engine>)>) -> Self {
        let member = |(calculation, engine): (&Calculation, Box<dyn Engine>)| Member {
            engine,
            sizes: (
                calculation.definition.rows().len(),
                calculation.polydispersity.len(),
            ),
        };
        Self {
            members: members.into_iter().map(member).collect(),
        }
    }
}

/// Splits the values and widths of several calculations with these numbers of each.
pub(super) fn split(
    vector: &Vector,
    sizes: impl Iterator<Item = (usize, usize)>,
) -> Option<Vec<Vector>> {
    let (mut values, mut widths) = (vector.values.as_slice(), vector.widths.as_slice());
    let mut found = Vec::new();
    for (value_count, width_count) in sizes {
        let (of_values, of_widths);
        (of_values, values) = values.split_at_checked(value_count)?;
        (of_widths, widths) = widths.split_at_checked(width_count)?;
        found.push(Vector {
            values: of_values.to_vec(),
            widths: of_widths.to_vec(),
        });
    }
    (values.is_empty() && widths.is_empty()).then_some(found)
}

impl Engine for JointEngine {
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
        let sizes = || self.members.iter().map(|member| member.sizes);
        let parts = vectors.iter().map(|vector| split(vector, sizes()));
        let Some(parts) = parts.collect::<Option<Vec<_>>>() else {
            let count = sizes().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            return Err(SasError::Refused(format!(
                "expected vectors of {} values and {} widths, found others",
                count.0, count.1
            )));
        };
        let mut all = vec![Vec::new(); vectors.len()];
        for (at, member) in self.members.iter_mut().enumerate() {
            let (distinct, indices) = distinct(parts.iter().map(|of_vector| &of_vector[at]));
            let computed = member.engine.evaluate(&distinct)?;
            for (intensities, index) in all.iter_mut().zip(indices) {
                intensities.extend_from_slice(&computed[index]);
            }
        }
        Ok(all)
    }

    /// That of the first engine.
    fn setup(&self) -> Setup {
        let first = self.members.first();
        first.map_or_else(Setup::default, |member| member.engine.setup())
    }

    fn batch(&self) -> usize {
        let batches = self.members.iter().map(|member| member.engine.batch());
        batches.min().unwrap_or(1)
    }
}
