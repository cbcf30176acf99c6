//! Options of the detector's model: blur and background.

use super::RecipeError;
use serde::{Deserialize, Serialize};
use warpstride_core::text::shortest;

/// Largest standard deviation of the blur, pixels.
const MOST_BLUR: f64 = 100.0;
/// Largest given background, photons.
const MOST_BACKGROUND: f64 = 1e9;

/// Standard deviation of the Gaussian by which the detector blurs intensities, pixels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number of pixels, or two for rows and columns"
)]
pub enum Blur {
    /// The same along both axes.
    Same(f64),
    /// Along rows' direction (vertical) and columns' direction (horizontal).
    Axes([f64; 2]),
}

impl Blur {
    /// The standard deviations (row direction, column direction), pixels.
    #[must_use]
    pub fn sigmas(self) -> [f64; 2] {
        match self {
            Self::Same(sigma) => [sigma; 2],
            Self::Axes(sigmas) => sigmas,
        }
    }
}

/// How a background is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackgroundFit {
    /// There is none.
    Off,
    /// One number of photons for all pixels.
    Uniform,
    /// A number of photons for each pixel, where the frames determine it.
    Pixels,
}

/// The background of the detector.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"off\", \"uniform\", \"pixels\" or a number of photons"
)]
pub enum Background {
    /// Whether it is fitted, and how.
    Fit(BackgroundFit),
    /// It is known: photons in each pixel of each frame.
    Known(f64),
}

/// How the detector measures intensities: I = G ∗ S + b, with a Gaussian G and a background b.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DetectorOptions {
    /// Standard deviation of the Gaussian blur, pixels of the detector.
    pub blur: Blur,
    /// The background.
    pub background: Background,
    /// First iteration of the run that updates a fitted background.
    pub background_from: usize,
}

impl Default for DetectorOptions {
    fn default() -> Self {
        Self {
            blur: Blur::Same(0.0),
            background: Background::Fit(BackgroundFit::Off),
            background_from: 5,
        }
    }
}

impl DetectorOptions {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether frames are the model's intensities themselves.
    #[must_use]
    pub fn is_ideal(&self) -> bool {
        !self.blurs() && !self.has_background()
    }

    /// Whether the intensities are blurred.
    #[must_use]
    pub fn blurs(&self) -> bool {
        self.blur.sigmas().iter().any(|sigma| *sigma > 0.0)
    }

    /// Whether there is a background.
    #[must_use]
    pub fn has_background(&self) -> bool {
        !matches!(
            self.background,
            Background::Fit(BackgroundFit::Off) | Background::Known(0.0)
        )
    }

    /// Whether a background is fitted.
    #[must_use]
    pub fn fits_background(&self) -> bool {
        matches!(
            self.background,
            Background::Fit(BackgroundFit::Uniform | BackgroundFit::Pixels)
        )
    }

    /// Checks all values.
    pub(super) fn check(&self, most_iterations: usize) -> Result<(), RecipeError> {
        let sigmas = self.blur.sigmas();
        if let Some(wrong) = (sigmas.iter()).find(|sigma| !(0.0..=MOST_BLUR).contains(*sigma)) {
            return Err(RecipeError::new(
                "detector.blur",
                "0 to 100 pixels",
                shortest(*wrong),
            ));
        }
        if let Background::Known(photons) = self.background
            && !(0.0..=MOST_BACKGROUND).contains(&photons)
        {
            return Err(RecipeError::new(
                "detector.background",
                "off, uniform, pixels, or 0 to 1e9 photons",
                shortest(photons),
            ));
        }
        if !(1..=most_iterations).contains(&self.background_from) {
            return Err(RecipeError::new(
                "detector.background_from",
                format!("1 to {most_iterations}"),
                self.background_from.to_string(),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recipe;

    #[test]
    fn every_form_of_the_options_is_read_and_written() {
        for (text, sigmas, background) in [
            (
                "blur = 0.7",
                [0.7, 0.7],
                Background::Fit(BackgroundFit::Off),
            ),
            (
                "blur = [1, 0.5]\nbackground = \"pixels\"",
                [1.0, 0.5],
                Background::Fit(BackgroundFit::Pixels),
            ),
            ("background = 2", [0.0, 0.0], Background::Known(2.0)),
        ] {
            let recipe = Recipe::from_toml(&format!("[detector]\n{text}\n")).unwrap();
            assert_eq!(recipe.detector.blur.sigmas(), sigmas);
            assert_eq!(recipe.detector.background, background);
            recipe.check().unwrap();
            let again = Recipe::from_toml(&recipe.to_toml().unwrap()).unwrap();
            assert_eq!(again, recipe);
        }
        let plain = Recipe::default().to_toml().unwrap();
        assert!(!plain.contains("detector"), "{plain}");
        let mut recipe = Recipe::default();
        recipe.set("detector.background=uniform").unwrap();
        recipe.set("detector.blur=0.7").unwrap();
        assert!(recipe.detector.fits_background() && recipe.detector.blurs());
        for wrong in [
            "detector.blur=-1",
            "detector.blur=nan",
            "detector.background=-2",
            "detector.background_from=0",
        ] {
            let mut recipe = Recipe::default();
            let option = wrong.split('=').next().unwrap();
            recipe.set(wrong).unwrap();
            assert_eq!(recipe.check().unwrap_err().option(), option, "{wrong}");
        }
        assert!(recipe.set("detector.background=sometimes").is_err());
    }
}
