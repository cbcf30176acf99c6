//! Options `--q`, `--points` and `--q2d`: the points at which intensities are computed.

use super::parameters::number;
use crate::failure::Failure;
use warpstride::sas::{Points, points};
use warpstride::text::{shell_quoted, shortest};

/// Grid of `--q` by default.
const DEFAULT: &str = "0.001:0.5:200:log";
/// Maximum number of points of a curve or an image: each takes three numbers, and rows of text in a
/// file.
const MAX_POINTS: usize = 1 << 24;

/// The points at which intensities are computed, and the option that gave them.
#[derive(Debug, Clone)]
pub(super) struct PointsConfig {
    pub(super) points: Points,
    /// The complete option.
    pub(super) option: String,
    /// Pixels along each side if they form a square image.
    pub(super) side: Option<usize>,
}

impl PointsConfig {
    /// Parses the three options, of which at most one is given.
    pub(super) fn from_args(
        q: Option<&str>,
        points: Option<&str>,
        q2d: Option<&str>,
    ) -> Result<Self, Failure> {
        match (q, points, q2d) {
            (_, Some(list), _) => listed(list),
            (_, _, Some(square)) => square_image(square),
            (q, ..) => grid(q.unwrap_or(DEFAULT)),
        }
    }

    /// The complete option, quoted for a shell.
    pub(super) fn quoted_option(&self) -> String {
        let (name, value) = self.option.split_once(' ').unwrap_or((&self.option, ""));
        format!("{name} {}", shell_quoted(value))
    }

    /// Whether the points are pixels.
    pub(super) fn pixels(&self) -> bool {
        matches!(self.points, Points::Pixels { .. })
    }
}

fn grid(text: &str) -> Result<PointsConfig, Failure> {
    let option = format!("--q {text}");
    let refuse = |why: &str| Err(Failure::usage(format!("{option}: {why}")));
    let parts: Vec<&str> = text.split(':').collect();
    let (logarithmic, [first, last, count]) = match parts[..] {
        [first, last, count] => (false, [first, last, count]),
        [first, last, count, "log"] => (true, [first, last, count]),
        [first, last, count, "lin"] => (false, [first, last, count]),
        _ => {
            return refuse(
                "expected FIRST:LAST:COUNT or FIRST:LAST:COUNT:log, such as 0.001:0.5:200:log",
            );
        }
    };
    let (first, last) = (
        number(&option, first, "a first q in 1/A")?,
        number(&option, last, "a last q in 1/A")?,
    );
    let count = point_count(&option, count)?;
    if first <= 0.0 {
        return refuse("expected a first q above 0");
    }
    if last <= first {
        return refuse("expected a last q greater than the first");
    }
    let points = if logarithmic {
        points::logarithmic(first, last, count)
    } else {
        points::linear(first, last, count)
    };
    Ok(PointsConfig {
        points: points.map_err(|e| Failure::usage(format!("{option}: {e}")))?,
        option,
        side: None,
    })
}

fn point_count(option: &str, text: &str) -> Result<usize, Failure> {
    match text.parse() {
        Ok(count) if (2..=MAX_POINTS).contains(&count) => Ok(count),
        _ => Err(Failure::usage(format!(
            "{option}: expected a count from 2 to {MAX_POINTS}, found {text:?}"
        ))),
    }
}

/// The words between two commas, or one empty word if there are none.
fn words(item: &str) -> impl Iterator<Item = &str> {
    let empty = item.trim().is_empty().then_some("");
    empty.into_iter().chain(item.split_whitespace())
}

/// Parses `0.01,0.1`, or pixels `0.01:0.02,…`.
fn listed(text: &str) -> Result<PointsConfig, Failure> {
    let option = format!("--points {text}");
    let items: Vec<&str> = text.split(',').flat_map(words).collect();
    if text.trim().is_empty() {
        return Err(Failure::usage(format!(
            "{option}: expected values of q, such as 0.01,0.1"
        )));
    }
    let pixels = items.iter().any(|item| item.contains(':'));
    let points = if pixels {
        let pairs = items
            .iter()
            .map(|item| {
                let Some((qx, qy)) = item.split_once(':') else {
                    return Err(Failure::usage(format!(
                        "{option}: expected QX:QY for each pixel, found {item:?}"
                    )));
                };
                Ok((
                    number(&option, qx, "a qx in 1/A")?,
                    number(&option, qy, "a qy in 1/A")?,
                ))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let (qx, qy) = pairs.into_iter().unzip();
        Points::Pixels { qx, qy }
    } else {
        let q = items
            .iter()
            .map(|item| number(&option, item, "a q in 1/A"))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(below) = q.iter().find(|q| **q < 0.0) {
            return Err(Failure::usage(format!(
                "{option}: expected |q| of 0 or more, found {}",
                shortest(*below)
            )));
        }
        Points::Curve(q)
    };
    Ok(PointsConfig {
        points,
        option,
        side: None,
    })
}

fn square_image(text: &str) -> Result<PointsConfig, Failure> {
    let option = format!("--q2d {text}");
    let Some((most, side)) = text.split_once(':') else {
        return Err(Failure::usage(format!(
            "{option}: expected MAX:N, such as 0.2:128"
        )));
    };
    let most = number(&option, most, "a greatest qx in 1/A")?;
    if most <= 0.0 {
        return Err(Failure::usage(format!(
            "{option}: expected a greatest qx above 0, found {}",
            shortest(most)
        )));
    }
    let side = point_count(&option, side)?;
    if side
        .checked_mul(side)
        .is_none_or(|pixels| pixels > MAX_POINTS)
    {
        return Err(Failure::usage(format!(
            "{option}: expected at most {MAX_POINTS} pixels, found {side} x {side}"
        )));
    }
    Ok(PointsConfig {
        points: points::square(most, side).map_err(|e| Failure::usage(format!("{option}: {e}")))?,
        option,
        side: Some(side),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(q: Option<&str>, points: Option<&str>) -> Vec<f64> {
        match PointsConfig::from_args(q, points, None).unwrap().points {
            Points::Curve(q) => q,
            Points::Pixels { .. } => panic!("pixels"),
        }
    }

    #[test]
    fn grids_have_their_ends_and_even_steps_or_ratios() {
        let q = curve(Some("0.1:0.5:5"), None);
        assert_eq!((q[0], q[4]), (0.1, 0.5));
        for (a, b) in q.iter().zip([0.1, 0.2, 0.3, 0.4, 0.5]) {
            assert!((a - b).abs() < 1e-15);
        }
        let q = curve(None, None);
        assert_eq!((q.len(), q[0], q[199]), (200, 0.001, 0.5));
        for three in q.windows(3) {
            assert!((three[1] * three[1] / (three[0] * three[2]) - 1.0).abs() < 1e-12);
        }
        assert_eq!(curve(None, Some("0.01, 0.1")), [0.01, 0.1]);
    }
}
