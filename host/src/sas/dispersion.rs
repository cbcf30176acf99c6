//! Values and weights of a distribution.

use super::{Distribution, SasError, Spread};

/// Values of a parameter and how often each occurs; the weights' sum is 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighted {
    /// Values.
    pub values: Vec<f64>,
    /// Weights.
    pub weights: Vec<f64>,
}

impl Weighted {
    /// One value.
    #[must_use]
    pub fn single(value: f64) -> Self {
        Self {
            values: vec![value],
            weights: vec![1.0],
        }
    }
}

/// What a distribution is spread about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum About {
    /// A size: σ = width · size.
    Size(f64),
    /// A particle's mean direction: offsets from it, σ = width in degrees.
    Direction,
}

/// Logarithmic distributions begin here: ln of smaller values is not taken.
const LEAST_POSITIVE: f64 = 1e-8;

/// Points of one distribution, at most.
pub const MOST_POINTS: usize = 100_000;

/// Values and weights of a spread; `name` is the parameter's, for errors. Values (of a direction: offsets) out of
/// `limits` are left out.
///
/// # Errors
/// A width that is negative or not finite; a distribution that does not exist about this centre or has no value
/// within the limits.
pub fn weigh(
    name: &str,
    spread: &Spread,
    about: About,
    width: f64,
    limits: (f64, f64),
) -> Result<Weighted, SasError> {
    let refuse = |why: String| Err(SasError::Refused(format!("spread of {name}: {why}")));
    if !(width.is_finite() && width >= 0.0) {
        return refuse(format!("width {width}: a number not below 0 is expected"));
    }
    let (centre, sigma) = match about {
        About::Size(centre) => (centre, (width * centre).abs()),
        About::Direction => (0.0, width),
    };
    let within = |x: &f64| *x >= limits.0 && *x <= limits.1;
    let points = spread.points;
    if points > MOST_POINTS {
        return refuse(format!(
            "{points} points: at most {MOST_POINTS} are computed"
        ));
    }
    if let Distribution::Array(pairs) = &spread.distribution {
        return array(name, pairs, within);
    }
    if sigma == 0.0 || points < 2 {
        return Ok(Weighted::single(centre));
    }
    if !(spread.nsigma.is_finite() && spread.nsigma > 0.0) {
        return refuse(format!(
            "reach of {} standard deviations: a number above 0 is expected",
            spread.nsigma
        ));
    }
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
    let positive = |x: &f64| within(x) && *x >= LEAST_POSITIVE;
    let logarithmic = matches!(
        spread.distribution,
        Distribution::LogNormal | Distribution::Schulz
    );
    if logarithmic && centre <= 0.0 {
        return refuse(match about {
            About::Size(_) => format!("this distribution needs a centre above 0, not {centre}"),
            About::Direction => "this distribution is of sizes, not of angles".to_owned(),
        });
    }
    let reach = spread.nsigma * sigma;
    let weighted = |values: Vec<f64>, weight: &dyn Fn(f64) -> f64| Weighted {
        weights: values.iter().map(|x| weight(*x)).collect(),
        values,
    };
    let made = match &spread.distribution {
        Distribution::Gaussian => weighted(even(reach).filter(within).collect(), &|x| {
            (-0.5 * ((x - centre) / sigma).powi(2)).exp()
        }),
        Distribution::Boltzmann => weighted(even(reach).filter(within).collect(), &|x| {
            (-(x - centre).abs() / sigma).exp()
        }),
        Distribution::Uniform => weighted(even(sigma).filter(within).collect(), &|_| 1.0),
        Distribution::Rectangle => {
            // A shorter reach ends it earlier; at a longer one points beyond are dropped, as users of that
            // option expect of it.
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
            // w ∝ R^(z−1) e^(−zR) with R = x/c. Its greatest value, about R = 1, is divided out, so that neither
            // it nor Γ(z) overflows.
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

fn array(
    name: &str,
    pairs: &[(f64, f64)],
    within: impl Fn(&f64) -> bool,
) -> Result<Weighted, SasError> {
    if let Some((value, weight)) = pairs
        .iter()
        .find(|(value, weight)| !(value.is_finite() && weight.is_finite() && *weight >= 0.0))
    {
        return Err(SasError::Refused(format!(
            "spread of {name}: value {value} with weight {weight}: finite numbers and weights not below 0 are \
             expected"
        )));
    }
    let (values, weights) = pairs
        .iter()
        .filter(|(value, _)| within(value))
        .copied()
        .unzip();
    normalised(name, Weighted { values, weights })
}

fn normalised(name: &str, mut weighted: Weighted) -> Result<Weighted, SasError> {
    // An empty sum is −0.
    let sum = weighted.weights.iter().sum::<f64>() + 0.0;
    if !(sum.is_finite() && sum > 0.0) {
        return Err(SasError::Refused(format!(
            "spread of {name}: the sum of its weights within the parameter's limits is {sum}: a number above 0 is \
             expected"
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

    fn spread(distribution: Distribution) -> Spread {
        let (points, nsigma) = distribution.default_mesh();
        Spread {
            parameter: 0,
            distribution,
            points,
            nsigma,
        }
    }

    fn of(distribution: Distribution, centre: f64, width: f64) -> Weighted {
        let about = About::Size(centre);
        weigh("radius", &spread(distribution), about, width, FREE).unwrap()
    }

    /// Mean and standard deviation.
    fn moments(all: &Weighted) -> (f64, f64) {
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

    /// Points, ends, and the moments that each distribution has by its formula: about as they are, since meshes are
    /// coarse and end somewhere.
    #[test]
    fn moments_of_all() {
        let centre = 50.0;
        let s: f64 = 0.1;
        // Of (points, least, greatest value, mean, standard deviation).
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
            let all = of(distribution.clone(), centre, s);
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

    /// Ratios of weights are those of the formulas.
    #[test]
    fn densities() {
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
            let all = of(distribution.clone(), c, s);
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

    /// Values beyond the limits are dropped, and what is left has weight 1.
    #[test]
    fn limits() {
        let all = weigh(
            "radius",
            &spread(Distribution::Gaussian),
            About::Size(10.0),
            0.5,
            (2.0, 12.0),
        )
        .unwrap();
        assert!(all.values.iter().all(|x| (2.0..=12.0).contains(x)));
        assert!((all.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        let pairs = Distribution::Array(vec![(-1.0, 3.0), (4.0, 1.0), (8.0, 3.0)]);
        let all = of(pairs, 10.0, 0.0);
        assert_eq!(all.values, [4.0, 8.0]);
        assert_eq!(all.weights, [0.25, 0.75]);
    }

    /// A width is a share of a size and degrees of an angle; none is a single value.
    #[test]
    fn widths() {
        let spread = spread(Distribution::Gaussian);
        let jitter = weigh("theta", &spread, About::Direction, 10.0, (-360.0, 360.0)).unwrap();
        assert_eq!((jitter.values[0], jitter.values[34]), (-30.0, 30.0));
        assert_eq!(jitter.values[17], 0.0);
        assert_eq!(of(Distribution::Schulz, 20.0, 0.0), Weighted::single(20.0));
    }

    /// What cannot be is refused in a sentence that names the parameter.
    #[test]
    fn refusals() {
        let refused = |distribution, about, width, limits| {
            weigh("radius", &spread(distribution), about, width, limits)
                .unwrap_err()
                .to_string()
        };
        let size = About::Size(10.0);
        for (text, what) in [
            (
                refused(Distribution::Gaussian, size, -0.1, FREE),
                "width -0.1",
            ),
            (
                refused(Distribution::Gaussian, size, f64::NAN, FREE),
                "width NaN",
            ),
            (
                refused(Distribution::Schulz, About::Direction, 5.0, FREE),
                "not of angles",
            ),
            (
                refused(Distribution::LogNormal, About::Size(-1.0), 0.1, FREE),
                "above 0, not -1",
            ),
            (
                refused(Distribution::Gaussian, size, 0.1, (50.0, 60.0)),
                "limits is 0",
            ),
            (
                refused(Distribution::Array(vec![(1.0, -2.0)]), size, 0.1, FREE),
                "weight -2",
            ),
        ] {
            assert!(
                text.starts_with("spread of radius: ") && text.contains(what),
                "{text}"
            );
        }
    }
}
