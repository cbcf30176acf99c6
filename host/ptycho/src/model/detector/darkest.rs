//! The darkest pixels of a scan, which show the background.

/// Their share of all pixels.
const SHARE: f64 = 0.25;

/// Sorts pixels by their `mean` counts, and returns the darkest quarter of them: at least one, if
/// there are any.
pub(super) fn darkest_quarter<T>(pixels: &mut [T], mean: impl Fn(&T) -> f64) -> &[T] {
    pixels.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let count = ((pixels.len() as f64 * SHARE).ceil() as usize).min(pixels.len());
    &pixels[..count]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_rounded_up() {
        let mut pixels = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(darkest_quarter(&mut pixels, |v| *v), [1.0, 2.0]);
        assert_eq!(darkest_quarter(&mut [7.0], |v| *v), [7.0]);
        let mut none: [f64; 0] = [];
        assert!(darkest_quarter(&mut none, |v| *v).is_empty());
    }
}
