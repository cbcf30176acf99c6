//! The data of a fit: intensities with their standard deviations.

use crate::data::{Curve, Scattering, ScatteringImage, Smearing};
use crate::{Points, SasError};
use serde::Serialize;

/// Origin of the points' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weighting {
    /// The standard deviations of the data; √|I| if there are none.
    #[default]
    Data,
    /// σ = √|I|, as for counts.
    Root,
    /// σ = |I|: the same relative weight for every point.
    Relative,
    /// σ = 1.
    Unit,
}

/// Selection of the fitted points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// Least and greatest |q|, 1/Å, both included.
    pub q: Option<(f64, f64)>,
    /// Whether points with I ≤ 0 are left out. They belong to a fit (without them the background is
    /// too high); this option is for comparison with programs that omit them.
    pub positive: bool,
    /// One entry per point of the data: `true` for points to fit.
    pub mask: Option<Vec<bool>>,
}

impl Selection {
    /// The selected points of `data`, with a note on the others.
    ///
    /// # Errors
    /// An empty range, a mask of another length, or no points left.
    pub fn of(&self, data: &Scattering) -> Result<Scattering, SasError> {
        let (intensity, q): (&[f64], Vec<f64>) = match data {
            Scattering::Curve(curve) => (&curve.intensity, curve.q.clone()),
            Scattering::Image(image) => {
                let pairs = image.qx.iter().zip(&image.qy);
                (&image.intensity, pairs.map(|(x, y)| x.hypot(*y)).collect())
            }
        };
        let total = intensity.len();
        if let Some((low, high)) = self.q
            && (low >= high || low.is_nan() || high.is_nan())
        {
            return Err(SasError::Refused(format!(
                "the range of q: expected a first value less than the second, found {low} to {high}"
            )));
        }
        if let Some(mask) = &self.mask
            && mask.len() != total
        {
            return Err(SasError::Refused(format!(
                "the mask: expected {total} points as in the data, found {}",
                mask.len()
            )));
        }
        let kept: Vec<bool> = (0..total)
            .map(|i| {
                self.q
                    .is_none_or(|(low, high)| (low..=high).contains(&q[i]))
                    && (!self.positive || intensity[i] > 0.0)
                    && self.mask.as_ref().is_none_or(|mask| mask[i])
            })
            .collect();
        let count = kept.iter().filter(|kept| **kept).count();
        if count == 0 {
            let (low, high) = q.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), q| {
                (low.min(*q), high.max(*q))
            });
            return Err(SasError::Refused(format!(
                "expected at least one selected point, found none: the q of the data is {low} to {high} 1/Å"
            )));
        }
        let mut selected = match data {
            Scattering::Curve(curve) => Scattering::Curve(part_of_curve(curve, &kept)),
            Scattering::Image(image) => Scattering::Image(part_of_image(image, &kept)),
        };
        if count < total {
            let note = format!("{count} of {total} points of the data are fitted");
            match &mut selected {
                Scattering::Curve(curve) => curve.notes.push(note),
                Scattering::Image(image) => image.notes.push(note),
            }
        }
        Ok(selected)
    }
}

fn part(values: &[f64], kept: &[bool]) -> Vec<f64> {
    let pairs = values.iter().zip(kept);
    pairs.filter(|(_, kept)| **kept).map(|(v, _)| *v).collect()
}

fn part_of_curve(curve: &Curve, kept: &[bool]) -> Curve {
    Curve {
        q: part(&curve.q, kept),
        intensity: part(&curve.intensity, kept),
        sigma: curve.sigma.as_ref().map(|sigma| part(sigma, kept)),
        smearing: curve.smearing.as_ref().map(|smearing| match smearing {
            Smearing::Pinhole(sigma) => Smearing::Pinhole(part(sigma, kept)),
            Smearing::Slit { length, width } => Smearing::Slit {
                length: part(length, kept),
                width: part(width, kept),
            },
        }),
        title: curve.title.clone(),
        notes: curve.notes.clone(),
    }
}

fn part_of_image(image: &ScatteringImage, kept: &[bool]) -> ScatteringImage {
    ScatteringImage {
        qx: part(&image.qx, kept),
        qy: part(&image.qy, kept),
        intensity: part(&image.intensity, kept),
        sigma: image.sigma.as_ref().map(|sigma| part(sigma, kept)),
        resolution: image
            .resolution
            .as_ref()
            .map(|(along, across)| (part(along, kept), part(across, kept))),
        title: image.title.clone(),
        notes: image.notes.clone(),
    }
}

/// Intensities with standard deviations.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Points of the measurement.
    pub points: Points,
    /// Intensities, 1/cm.
    pub intensity: Vec<f64>,
    /// Standard deviations, positive.
    pub sigma: Vec<f64>,
    /// Whether `sigma` comes from the data. Otherwise χ² has no absolute meaning, and uncertainties
    /// are scaled so that the reduced χ² is 1.
    pub known_sigma: bool,
    /// Title of the data, or name of the file.
    pub title: String,
    /// Notes on the data.
    pub notes: Vec<String>,
}

impl Measured {
    /// Takes data as read, or the part that a [`Selection`] left.
    ///
    /// # Errors
    /// Lengths that differ, a standard deviation that is not positive, or values that are not
    /// finite.
    pub fn new(data: &Scattering, weighting: Weighting) -> Result<Self, SasError> {
        let (points, intensity, sigma, title, notes) = match data {
            Scattering::Curve(of) => {
                let points = Points::Curve(of.q.clone());
                (points, &of.intensity, &of.sigma, &of.title, &of.notes)
            }
            Scattering::Image(of) => {
                let points = Points::Pixels {
                    qx: of.qx.clone(),
                    qy: of.qy.clone(),
                };
                (points, &of.intensity, &of.sigma, &of.title, &of.notes)
            }
        };
        let mut notes = notes.clone();
        let of_data = sigma.as_ref().filter(|_| weighting == Weighting::Data);
        let known_sigma = of_data.is_some();
        let sigma = match (of_data, weighting) {
            (Some(sigma), _) => sigma.clone(),
            (None, Weighting::Unit) => vec![1.0; intensity.len()],
            (None, weighting) => {
                if weighting == Weighting::Data {
                    notes.push(
                        "the data have no uncertainties: weights assume σ = √|I|, and the parameters' uncertainties assume that the model is correct"
                            .to_owned(),
                    );
                }
                let size = |value: &f64| match weighting {
                    Weighting::Relative => value.abs(),
                    _ => value.abs().sqrt(),
                };
                estimated_sigma(intensity, size)
            }
        };
        for (name, values) in [("intensities", intensity), ("standard deviations", &sigma)] {
            if values.len() != points.len() {
                return Err(SasError::Refused(format!(
                    "{title}: {name}: expected one for each point, found {} for {}",
                    values.len(),
                    points.len()
                )));
            }
        }
        let bad = |i: &usize| {
            let (value, sigma): (f64, f64) = (intensity[*i], sigma[*i]);
            !(value.is_finite() && sigma.is_finite() && sigma > 0.0)
        };
        if let Some(at) = (0..intensity.len()).find(bad) {
            return Err(SasError::Refused(format!(
                "{title}: point {}: expected a finite intensity and a standard deviation above 0, found {} and {}",
                at + 1,
                intensity[at],
                sigma[at]
            )));
        }
        Ok(Self {
            points,
            intensity: intensity.clone(),
            sigma,
            known_sigma,
            title: title.clone(),
            notes,
        })
    }
}

/// σ by a rule; where the rule gives 0, the smallest positive σ.
fn estimated_sigma(intensity: &[f64], size: impl Fn(&f64) -> f64) -> Vec<f64> {
    let sizes: Vec<f64> = intensity.iter().map(size).collect();
    let least = sizes.iter().copied().filter(|s| *s > 0.0);
    let least = least.fold(f64::INFINITY, f64::min);
    let least = if least.is_finite() { least } else { 1.0 };
    sizes.into_iter().map(|s| s.max(least)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Scattering {
        Scattering::Curve(Curve {
            q: vec![0.1, 0.2, 0.3, 0.4],
            intensity: vec![4.0, 0.0, -1.0, 16.0],
            sigma: None,
            smearing: Some(Smearing::Pinhole(vec![1.0, 2.0, 3.0, 4.0])),
            title: "a".to_owned(),
            notes: Vec::new(),
        })
    }

    #[test]
    fn a_selection_applies_to_all_columns_and_is_noted() {
        let selection = Selection {
            q: Some((0.2, 0.4)),
            positive: true,
            mask: None,
        };
        let Scattering::Curve(part) = selection.of(&curve()).unwrap() else {
            panic!("a curve stays one")
        };
        assert_eq!(part.q, [0.4]);
        assert_eq!(part.smearing, Some(Smearing::Pinhole(vec![4.0])));
        assert_eq!(part.notes, ["1 of 4 points of the data are fitted"]);
    }

    #[test]
    fn selections_without_points_are_refused() {
        let cases = [
            (Some((0.3, 0.2)), None, "first value less than the second"),
            (Some((0.5, 0.6)), None, "0.1 to 0.4"),
            (None, Some(vec![true]), "as in the data, found 1"),
        ];
        for (q, mask, word) in cases {
            let selection = Selection {
                q,
                mask,
                positive: false,
            };
            let refused = selection.of(&curve()).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }

    #[test]
    fn missing_uncertainties_become_roots_with_a_note() {
        let measured = Measured::new(&curve(), Weighting::Data).unwrap();
        assert_eq!(measured.sigma, [2.0, 1.0, 1.0, 4.0]);
        assert!(!measured.known_sigma && measured.notes.len() == 1);
        let relative = Measured::new(&curve(), Weighting::Relative).unwrap();
        assert_eq!(relative.sigma, [4.0, 1.0, 1.0, 16.0]);
        let unit = Measured::new(&curve(), Weighting::Unit).unwrap();
        assert_eq!(unit.sigma, [1.0; 4]);
    }

    #[test]
    fn a_standard_deviation_of_zero_is_refused_with_its_point() {
        let Scattering::Curve(mut of) = curve() else {
            panic!("a curve")
        };
        of.sigma = Some(vec![1.0, 1.0, 0.0, 1.0]);
        let refused = Measured::new(&Scattering::Curve(of), Weighting::Data).unwrap_err();
        assert!(refused.to_string().contains("point 3"), "{refused}");
    }
}
