//! Intensities as plain columns for the terminal.

use std::fmt::Write as _;
use warpstride::sas::Points;

/// `q intensity`, or `qx qy intensity`.
pub(super) fn columns(points: &Points, intensity: &[f64]) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    match points {
        Points::Curve(q) => {
            let _ = writeln!(text, "{:>14}  {:>18}", "q, 1/Å", "intensity, 1/cm");
            for (q, i) in q.iter().zip(intensity) {
                let _ = writeln!(text, "{:>14}  {:>18}", digits(*q), digits(*i));
            }
        }
        Points::Pixels { qx, qy } => {
            let _ = writeln!(
                text,
                "{:>14}  {:>14}  {:>18}",
                "qx, 1/Å", "qy, 1/Å", "intensity, 1/cm"
            );
            for ((qx, qy), i) in qx.iter().zip(qy).zip(intensity) {
                let _ = writeln!(
                    text,
                    "{:>14}  {:>14}  {:>18}",
                    digits(*qx),
                    digits(*qy),
                    digits(*i)
                );
            }
        }
    }
    text
}

/// Ten digits, more than any measurement has.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    format!("{value:.9e}")
}
