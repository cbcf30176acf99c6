//! The orientation in the options of a scan file and in a recipe.

use super::Orientation;
use crate::{ReadOptions, Recipe};

impl Orientation {
    /// The orientation in the options of a scan file.
    #[must_use]
    pub fn of(options: &ReadOptions) -> Self {
        Self::new(options.swap_axes, options.flip_rows, options.flip_columns)
    }

    /// Puts the orientation into the options of a scan file.
    pub fn set(self, options: &mut ReadOptions) {
        options.swap_axes = self.swap_axes;
        options.flip_rows = self.flip_rows;
        options.flip_columns = self.flip_columns;
    }

    /// Puts the orientation into a recipe, and turns with the positions what is given in their
    /// directions: the path of the exposures (`fly.shift`), which then has the directions of the
    /// turned positions.
    pub fn turn(self, recipe: &mut Recipe) {
        let change = self.after(Self::of(&recipe.data).inverse()).matrix();
        if let Some(shift) = &mut recipe.fly.shift {
            let [row, column] = *shift;
            // No −0.
            *shift = change.map(|of| of[0] * row + of[1] * column + 0.0);
        }
        self.set(&mut recipe.data);
    }
}
