//! Structure factors whose closure has no solution.

use super::plan::Plan;
use super::product::isotropic;
use super::{Calculation, Role, Vector};

/// The structure factor that is −1, at every q, where its closure has no solution.
const STICKY: &str = "stickyhardsphere";
/// Any q, 1/Å.
const Q: f64 = 0.01;

/// Whether the structure factor has no solution for the values of `vector`: the intensities have no
/// meaning then.
#[must_use]
pub fn is_unsolved(calculation: &Calculation, vector: &Vector) -> bool {
    let definition = &calculation.definition;
    if !definition.parts().is_empty() {
        let vectors = calculation.part_vectors(vector);
        let mut parts = calculation.parts().into_iter().zip(vectors);
        return parts.any(|(part, (factor, vector))| factor != 0.0 && is_unsolved(&part, &vector));
    }
    if definition.form().info().name == STICKY {
        let mut values = vec![0.0; definition.form().count()];
        for (row, value) in definition.rows().iter().zip(&vector.values) {
            if let Role::Form(index) = row.role {
                values[index] = *value;
            }
        }
        return definition.form().form(&isotropic(Q), &values).intensity < 0.0;
    }
    let sticky = definition
        .structure()
        .is_some_and(|s| s.info().name == STICKY);
    // A vector that cannot be planned fails elsewhere, with its reason.
    let product = || Plan::new(calculation, vector).ok()?.product;
    sticky && product().is_some_and(|p| p.structure_factors(&[Q]).iter().any(|s| *s < 0.0))
}

/// The sentence about it.
#[must_use]
pub fn unsolved(calculation: &Calculation) -> String {
    format!(
        "{}: expected values for which {STICKY} has a solution, found none; raise stickiness or lower volfraction",
        calculation.definition.name()
    )
}
