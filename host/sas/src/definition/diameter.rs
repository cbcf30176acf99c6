//! The size of the particles of a model.

use super::{Definition, Part, Role};

impl Definition {
    /// Diameter, Å, of particles with these values (parameter); 0 if the model has no size. Fringes
    /// of their intensities have periods of 2π/diameter.
    #[must_use]
    pub fn diameter(&self, values: &[f64]) -> f64 {
        if !self.parts().is_empty() {
            // Fringes of a product are as dense as those of all its parts together.
            let of_part = |part: &Part| part.definition().diameter(&part.values(values));
            let parts = self.parts();
            let terms = self.terms().iter();
            let of_terms =
                terms.map(|term| parts[term.parts.clone()].iter().map(of_part).sum::<f64>());
            return of_terms.fold(0.0, f64::max);
        }
        let form = self.form();
        let mut of_form = vec![0.0; form.count()];
        for (row, value) in self.rows().iter().zip(values) {
            if let Role::Form(index) = row.role {
                of_form[index] = *value;
            }
        }
        let modes = form.info().radius_modes.len();
        let radius = if modes > 0 {
            form.effective_radius(&of_form, 1)
        } else {
            0.0
        };
        2.0 * form.largest_half_size(&of_form).max(radius)
    }
}
