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
    let sum: f64 = weighted.weights.iter().sum();
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
