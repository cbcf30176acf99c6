//! Where the windows of the frames lie on the object, how they move during the exposures, and the
//! slices of the object.

use super::fly::{FlyPaths, to_middles};
use super::multislice::SlicePlan;
use crate::data::{PixelPositions, Scan};
use crate::{ProblemError, Recipe};

/// Where frames and slices lie.
pub(crate) struct ObjectLayout {
    /// Object pixel (row, column), m.
    pub(crate) pixel: [f64; 2],
    /// Windows of the frames on the object.
    pub(crate) positions: PixelPositions,
    /// Motion during the exposures.
    pub(crate) fly: FlyPaths,
    /// The slices of a thick specimen; `None` for a thin one.
    pub(crate) slices: Option<SlicePlan>,
}

impl ObjectLayout {
    /// That of `scan` with `recipe`.
    ///
    /// # Errors
    /// Returns [`ProblemError`] if the scan's positions or sizes, or options of the recipe, do not
    /// go with each other.
    pub(crate) fn new(scan: &Scan, recipe: &Recipe) -> Result<Self, ProblemError> {
        let [frames, rows, columns] = scan.shape();
        let mut centring = recipe
            .engines
            .iter()
            .map(|spec| spec.probe_centre_tolerance);
        if let (true, Some(tolerance)) = (
            scan.geometry().is_near_field(),
            centring.find_map(|tolerance| tolerance),
        ) {
            return Err(ProblemError::Centring(tolerance));
        }
        if recipe.slices.are_on() && scan.geometry().is_near_field() {
            return Err(ProblemError::NearSlices(recipe.slices.count));
        }
        let pixel = scan.object_pixel();
        let mut middles = scan.positions().clone();
        if let Some(shifts) = to_middles(scan, &recipe.fly) {
            for (mut position, by) in middles.rows_mut().into_iter().zip(shifts) {
                position[0] += by[0];
                position[1] += by[1];
            }
        }
        let positions = PixelPositions::new(&middles, pixel, [rows, columns], recipe.margin())
            .map_err(|error| ProblemError::of_positions(error, scan))?;
        let fly = FlyPaths::new(scan, &recipe.fly, pixel);
        let beyond =
            |path: &&[f64; 2]| path[0].abs() > rows as f64 || path[1].abs() > columns as f64;
        if let Some(path) = fly.paths().iter().find(beyond) {
            return Err(ProblemError::LongPath {
                window: [rows, columns],
                found: path.map(f64::abs),
            });
        }
        let slices = SlicePlan::new(&recipe.slices, scan.geometry().wavelength, pixel);
        // Kernels count pixels, parts and layers in 32 bits, with a margin for the stride.
        let limit = i32::MAX as usize;
        let object_elements = (positions.object_shape[0])
            .saturating_mul(positions.object_shape[1])
            .saturating_mul(recipe.object_layers());
        for (what, elements) in [
            ("object", object_elements),
            (
                "frame",
                rows.saturating_mul(columns)
                    .saturating_mul(recipe.probe_modes)
                    .saturating_mul(recipe.waves_of_mode()),
            ),
            ("list of frames", frames),
        ] {
            if elements > limit {
                return Err(ProblemError::TooMany {
                    what,
                    elements,
                    limit,
                });
            }
        }
        Ok(Self {
            pixel,
            positions,
            fly,
            slices,
        })
    }
}
