//! Values and weights of a distribution.

mod wide;

use super::{Distribution, Polydispersity, SasError};
use warpstride_core::text::{shortest, significant};
pub(crate) use wide::is_wide;
use wide::{Grid, coarse_step, grid};

/// Values of a parameter and their weights, which sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedValues {
    /// Values.
    pub values: Vec<f64>,
    /// Weights.
    pub weights: Vec<f64>,
}

impl WeightedValues {
    /// A single value of weight 1.
    #[must_use]
    pub fn single(value: f64) -> Self {
        Self {
            values: vec![value],
            weights: vec![1.0],
        }
    }
}

/// Centre of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Centre {
    /// A size: σ = width · size.
    Size(f64),
    /// The mean direction of a particle: values are offsets from it, σ = width in degrees.
    Direction,
}

/// Smallest value of a logarithmic distribution.
const MIN_POSITIVE: f64 = 1e-8;

/// Maximum number of points of one distribution.
pub const MAX_POINTS: usize = 100_000;

/// Values and weights of a distribution; `name` is the parameter's, for errors. Values (offsets,
/// for directions) outside `limits` are dropped.
///
/// # Errors
/// The width is negative or not finite, or the distribution has no value within the limits or is
/// not defined about this centre.
pub fn weighted_values(
    name: &str,
    polydispersity: &Polydispersity,
    about: Centre,
    width: f64,
    limits: (f64, f64),
) -> Result<WeightedValues, SasError> {
    let refuse = |why: String| {
        Err(SasError::Refused(format!(
            "polydispersity of {name}: {why}"
        )))
    };
    if !(width.is_finite() && width >= 0.0) {
        return refuse(format!(
            "width: expected a number, 0 or more, found {width}"
        ));
    }
    let (centre, sigma) = match about {
        Centre::Size(centre) => (centre, (width * centre).abs()),
        Centre::Direction => (0.0, width),
    };
    let within = |x: &f64| *x >= limits.0 && *x <= limits.1;
    let points = polydispersity.points;
    if points > MAX_POINTS {
        return refuse(format!("{points} points: expected at most {MAX_POINTS}"));
    }
    if let Distribution::Array(pairs) = &polydispersity.distribution {
        return array(name, pairs, within);
    }
    if sigma == 0.0 || points < 2 {
        return Ok(WeightedValues::single(centre));
    }
    if !(polydispersity.nsigma.is_finite() && polydispersity.nsigma > 0.0) {
        return refuse(format!(
            "reach of {} standard deviations: expected a number above 0",
            polydispersity.nsigma
        ));
    }
    let size = matches!(about, Centre::Size(_));
    let wide = size.then(|| grid(polydispersity, width)).flatten();
    let (points, nsigma) = match wide {
        Some(Grid::Reach { points, nsigma }) => (points, nsigma),
        _ => (points, polydispersity.nsigma),
    };
    let even = |reach: f64| {
        let step = 2.0 * reach / (points - 1) as f64;
        (0..points).map(move |i| {
            let offset = if 2 * i + 1 == points {
                0.0
            } else {
                i as f64 * step - reach
            };
            centre + offset
        })
    };
    let positive = |x: &f64| within(x) && *x >= MIN_POSITIVE;
    let logarithmic = matches!(
        polydispersity.distribution,
        Distribution::LogNormal | Distribution::Schulz
    );
    if logarithmic && centre <= 0.0 {
        return refuse(match about {
            Centre::Size(_) => {
                format!("expected a centre above 0 for this distribution, found {centre}")
            }
            Centre::Direction => "this is a distribution of sizes, not of angles".to_owned(),
        });
    }
    if let (Some(Grid::Values(ratios)), true) = (&wide, centre > 0.0) {
        let values = ratios
            .iter()
            .map(|(ratio, weight)| (ratio * centre, *weight));
        let (values, weights) = values.filter(|(x, _)| positive(x)).unzip();
        return normalised(name, WeightedValues { values, weights });
    }
    let reach = nsigma * sigma;
    let weighted = |values: Vec<f64>, weight: &dyn Fn(f64) -> f64| WeightedValues {
        weights: values.iter().map(|x| weight(*x)).collect(),
        values,
    };
    let made = match &polydispersity.distribution {
        Distribution::Gaussian => weighted(even(reach).filter(within).collect(), &|x| {
            (-0.5 * ((x - centre) / sigma).powi(2)).exp()
        }),
        Distribution::Boltzmann => weighted(even(reach).filter(within).collect(), &|x| {
            (-(x - centre).abs() / sigma).exp()
        }),
        Distribution::Uniform => weighted(even(sigma).filter(within).collect(), &|_| 1.0),
        Distribution::Rectangle => {
            // A shorter reach truncates the distribution. With a longer one, points beyond its edge
            // are dropped, as sasmodels does.
            let edge = 3.0_f64.sqrt() * sigma * (1.0 + 4.0 * f64::EPSILON);
            let values = even(reach).filter(|x| within(x) && (x - centre).abs() <= edge);
            weighted(values.collect(), &|_| 1.0)
        }
        Distribution::LogNormal => {
            let s = sigma / centre;
            weighted(even(reach).filter(positive).collect(), &|x| {
                (-0.5 * ((x.ln() - centre.ln()) / s).powi(2)).exp() / (x * s)
            })
        }
        Distribution::Schulz => {
            // w ∝ R^(z−1) e^(−zR) with R = x/c. Its maximum, near R = 1, is divided out, so that
            // neither w nor Γ(z) overflows.
            let z = (centre / sigma).powi(2);
            weighted(even(reach).filter(positive).collect(), &|x| {
                let r = x / centre;
                ((z - 1.0) * r.ln() - z * (r - 1.0)).exp()
            })
        }
        Distribution::Array(pairs) => return array(name, pairs, within),
    };
    normalised(name, made)
}

/// Share of a distribution beyond the limits from which on it is noted.
const NOTED_SHARE: f64 = 0.01;
/// Relative error of a mesh from which on it is noted.
const NOTED_ERROR: f64 = 0.02;

/// Notes if the limits of the parameter cut off a part of the distribution of sizes about
/// `centre`, and if its mesh misses a part of it.
pub(crate) fn cut_off(
    name: &str,
    polydispersity: &Polydispersity,
    centre: f64,
    width: f64,
    limits: (f64, f64),
) -> Vec<String> {
    let mut notes = Vec::new();
    if centre * width == 0.0 {
        return notes;
    }
    let about = Centre::Size(centre);
    let everywhere = (f64::NEG_INFINITY, f64::INFINITY);
    let Ok(all) = weighted_values(name, polydispersity, about, width, everywhere) else {
        return notes;
    };
    let pairs = || all.values.iter().zip(&all.weights);
    let beyond = |x: f64| x < limits.0 || x > limits.1;
    let share: f64 = pairs().filter(|(x, _)| beyond(**x)).map(|(_, w)| w).sum();
    if share >= NOTED_SHARE {
        notes.push(format!(
            "{} % of the distribution of {name} are beyond its limits, {} to {}, and left out",
            significant(100.0 * share, 2),
            shortest(limits.0),
            shortest(limits.1)
        ));
    }
    let Some(expected) = polydispersity.distribution.sphere_moment(width) else {
        return notes;
    };
    let moment = |n: i32| -> f64 { pairs().map(|(x, w)| w * (x / centre).powi(n)).sum() };
    let error = moment(6) / moment(3) / expected - 1.0;
    // False for NaN, too.
    let resolved = error.abs() <= NOTED_ERROR;
    if !resolved {
        let remedy = match polydispersity.distribution {
            Distribution::Rectangle | Distribution::Uniform => "give it more points",
            Distribution::Boltzmann => "give it more points and a longer reach",
            _ if !polydispersity.is_given => "choose a smaller width",
            _ => "leave out its points and its reach, and the mesh follows the width",
        };
        notes.push(format!(
            "the mesh does not resolve the distribution of {name}: its mean of {name}^6 over that \
             of {name}^3, to which the intensity of spheres at q = 0 is proportional, is {} % too \
             {}; {remedy}",
            significant(100.0 * error.abs(), 2),
            if error < 0.0 { "small" } else { "large" },
        ));
    }
    if let Some(step) = coarse_step(polydispersity, width) {
        notes.push(format!(
            "the mesh of {name} has steps of {} %: where q times the sizes that scatter exceeds \
             {}, fringes are not resolved, and the intensity is uncertain by several percent; \
             choose a smaller width",
            significant(100.0 * step, 2),
            significant(1.0 / step, 2)
        ));
    }
    notes
}

fn array(
    name: &str,
    pairs: &[(f64, f64)],
    within: impl Fn(&f64) -> bool,
) -> Result<WeightedValues, SasError> {
    if let Some((value, weight)) = pairs
        .iter()
        .find(|(value, weight)| !(value.is_finite() && weight.is_finite() && *weight >= 0.0))
    {
        return Err(SasError::Refused(format!(
            "polydispersity of {name}: expected finite values and weights of 0 or more, found {value} with weight {weight}"
        )));
    }
    let (values, weights) = pairs
        .iter()
        .filter(|(value, _)| within(value))
        .copied()
        .unzip();
    normalised(name, WeightedValues { values, weights })
}

fn normalised(name: &str, mut weighted: WeightedValues) -> Result<WeightedValues, SasError> {
    // The sum of no weights is −0; adding 0 makes it 0.
    let sum = weighted.weights.iter().sum::<f64>() + 0.0;
    if !(sum.is_finite() && sum > 0.0) {
        return Err(SasError::Refused(format!(
            "polydispersity of {name}: sum of its weights within the parameter's limits: expected a number above 0, found {sum}"
        )));
    }
    for weight in &mut weighted.weights {
        *weight /= sum;
    }
    Ok(weighted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: (f64, f64) = (0.0, f64::INFINITY);

    fn with_default_mesh(distribution: Distribution) -> Polydispersity {
        let (points, nsigma) = distribution.default_mesh();
        Polydispersity {
            parameter: 0,
            distribution,
            points,
            nsigma,
            is_given: false,
        }
    }

    fn weights_of(distribution: Distribution, centre: f64, width: f64) -> WeightedValues {
        let about = Centre::Size(centre);
        weighted_values(
            "radius",
            &with_default_mesh(distribution),
            about,
            width,
            FREE,
        )
        .unwrap()
    }

    /// Mean and standard deviation.
    fn moments(all: &WeightedValues) -> (f64, f64) {
        let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
            all.values
                .iter()
                .zip(&all.weights)
                .map(|(x, w)| w * f(*x))
                .sum()
        };
        let mean = sum(&|x| x);
        (mean, sum(&|x| (x - mean).powi(2)).sqrt())
    }

    /// Each distribution has its number of points, its ends, and approximately the moments of its
    /// formula: meshes are coarse and truncated.
    #[test]
    fn distributions_have_their_moments() {
        let centre = 50.0;
        let s: f64 = 0.1;
        // (Points, least value, greatest value, mean, standard deviation).
        let log_mean = centre * (0.5 * s * s).exp();
        let log_sigma = log_mean * ((s * s).exp() - 1.0).sqrt();
        let cases = [
            (Distribution::Gaussian, 35, 35.0, 65.0, centre, 4.93),
            (
                Distribution::Uniform,
                35,
                45.0,
                55.0,
                centre,
                10.0 * (36.0_f64 / (34.0 * 12.0)).sqrt(),
            ),
            (
                Distribution::Rectangle,
                35,
                50.0 - 75.0_f64.sqrt(),
                50.0 + 75.0_f64.sqrt(),
                centre,
                5.14,
            ),
            (Distribution::LogNormal, 80, 10.0, 90.0, log_mean, log_sigma),
            (Distribution::Schulz, 80, 10.0, 90.0, centre, 5.0),
            (Distribution::Boltzmann, 35, 35.0, 65.0, centre, 5.6),
        ];
        for (distribution, points, least, most, mean, sigma) in cases {
            let all = weights_of(distribution.clone(), centre, s);
            let name = format!("{distribution:?}");
            assert_eq!(all.values.len(), points, "{name}");
            assert!(
                (all.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14,
                "{name}"
            );
            assert!((all.values[0] - least).abs() < 1e-12, "{name}");
            assert!((all.values[points - 1] - most).abs() < 1e-12, "{name}");
            let (found_mean, found_sigma) = moments(&all);
            assert!(
                (found_mean / mean - 1.0).abs() < 1e-3,
                "{name}: mean {found_mean}"
            );
            assert!(
                (found_sigma / sigma - 1.0).abs() < 0.02,
                "{name}: {found_sigma}"
            );
        }
    }

    /// Ratios of weights follow the density of each distribution.
    #[test]
    fn weights_follow_the_densities() {
        let (c, sigma) = (50.0, 10.0);
        let s: f64 = sigma / c;
        let z = 1.0 / (s * s);
        type Density = Box<dyn Fn(f64) -> f64>;
        let cases: [(Distribution, Density); 4] = [
            (
                Distribution::Gaussian,
                Box::new(move |x| -0.5 * ((x - c) / sigma).powi(2)),
            ),
            (
                Distribution::LogNormal,
                Box::new(move |x: f64| -0.5 * ((x / c).ln() / s).powi(2) - x.ln()),
            ),
            (
                Distribution::Schulz,
                Box::new(move |x: f64| (z - 1.0) * (x / c).ln() - z * x / c),
            ),
            (
                Distribution::Boltzmann,
                Box::new(move |x: f64| -(x - c).abs() / sigma),
            ),
        ];
        for (distribution, log_density) in cases {
            let all = weights_of(distribution.clone(), c, s);
            let (x0, w0) = (
                all.values[all.values.len() / 2],
                all.weights[all.values.len() / 2],
            );
            for (x, w) in all.values.iter().zip(&all.weights) {
                let expected = (log_density(*x) - log_density(x0)).exp();
                assert!(
                    (w / w0 - expected).abs() < 1e-12 * expected.max(1.0),
                    "{distribution:?}, {x}"
                );
            }
        }
    }

    /// Values beyond the limits are dropped, and the remaining weights sum to 1.
    #[test]
    fn values_beyond_the_limits_are_dropped() {
        let all = weighted_values(
            "radius",
            &with_default_mesh(Distribution::Gaussian),
            Centre::Size(10.0),
            0.5,
            (2.0, 12.0),
        )
        .unwrap();
        assert!(all.values.iter().all(|x| (2.0..=12.0).contains(x)));
        assert!((all.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        let pairs = Distribution::Array(vec![(-1.0, 3.0), (4.0, 1.0), (8.0, 3.0)]);
        let all = weights_of(pairs, 10.0, 0.0);
        assert_eq!(all.values, [4.0, 8.0]);
        assert_eq!(all.weights, [0.25, 0.75]);
    }

    /// A width is relative for sizes and in degrees for angles; width 0 gives a single value.
    #[test]
    fn widths_are_relative_for_sizes_and_degrees_for_angles() {
        let polydispersity = with_default_mesh(Distribution::Gaussian);
        let jitter = weighted_values(
            "theta",
            &polydispersity,
            Centre::Direction,
            10.0,
            (-360.0, 360.0),
        )
        .unwrap();
        assert_eq!((jitter.values[0], jitter.values[34]), (-30.0, 30.0));
        assert_eq!(jitter.values[17], 0.0);
        assert_eq!(
            weights_of(Distribution::Schulz, 20.0, 0.0),
            WeightedValues::single(20.0)
        );
    }

    /// Errors name the parameter.
    #[test]
    fn invalid_distributions_are_refused() {
        let refused = |distribution, about, width, limits| {
            weighted_values(
                "radius",
                &with_default_mesh(distribution),
                about,
                width,
                limits,
            )
            .unwrap_err()
            .to_string()
        };
        let size = Centre::Size(10.0);
        for (text, what) in [
            (
                refused(Distribution::Gaussian, size, -0.1, FREE),
                "found -0.1",
            ),
            (
                refused(Distribution::Gaussian, size, f64::NAN, FREE),
                "found NaN",
            ),
            (
                refused(Distribution::Schulz, Centre::Direction, 5.0, FREE),
                "not of angles",
            ),
            (
                refused(Distribution::LogNormal, Centre::Size(-1.0), 0.1, FREE),
                "above 0 for this distribution, found -1",
            ),
            (
                refused(Distribution::Gaussian, size, 0.1, (50.0, 60.0)),
                "above 0, found 0",
            ),
            (
                refused(Distribution::Array(vec![(1.0, -2.0)]), size, 0.1, FREE),
                "weight -2",
            ),
        ] {
            assert!(
                text.starts_with("polydispersity of radius: ") && text.contains(what),
                "{text}"
            );
        }
    }
}
