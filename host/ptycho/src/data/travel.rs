//! The direction in which a scan travels, from its positions in their order.

use ndarray::Array2;

/// Steps longer than this many times the median are jumps from one line of a scan to the next.
const JUMP: f64 = 2.0;
/// Cosine of the angle between two steps below which a line ends.
const TURN: f64 = 0.5;

/// The step along the scan's direction of travel from each of `positions` (frame, (row, column)):
/// to the next position or, where a line ends, that of the position before. Steps of more than
/// twice the median, and those that turn from both neighbouring steps, go from one line to the
/// next. 0 where there is no step.
pub(crate) fn travel(positions: &Array2<f64>) -> Vec<[f64; 2]> {
    let positions: Vec<[f64; 2]> = positions.rows().into_iter().map(|p| [p[0], p[1]]).collect();
    let steps: Vec<[f64; 2]> = (positions.windows(2))
        .map(|pair| [0, 1].map(|axis| pair[1][axis] - pair[0][axis]))
        .collect();
    let length = |step: &[f64; 2]| step[0].hypot(step[1]);
    let mut lengths: Vec<f64> = steps.iter().map(length).filter(|v| *v > 0.0).collect();
    lengths.sort_by(f64::total_cmp);
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    let short = |number: Option<usize>| -> Option<[f64; 2]> {
        let step = steps.get(number?)?;
        (length(step) > 0.0 && length(step) <= JUMP * median).then_some(*step)
    };
    let along = |number: Option<usize>| -> Option<[f64; 2]> {
        let step = short(number)?;
        let neighbours = [number?.checked_sub(1), number?.checked_add(1)].map(short);
        let turns = |other: &[f64; 2]| {
            let product = step[0] * other[0] + step[1] * other[1];
            product < TURN * length(&step) * length(other)
        };
        let mut others = neighbours.iter().flatten().peekable();
        (others.peek().is_none() || !others.all(turns)).then_some(step)
    };
    (0..positions.len())
        .map(|number| {
            let (next, before) = (Some(number), number.checked_sub(1));
            (along(next).or_else(|| along(before)))
                .or_else(|| short(next))
                .or_else(|| short(before))
                .unwrap_or_default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(snake: bool, rows: f64) -> (Vec<[f64; 2]>, Vec<[f64; 2]>) {
        let (mut positions, mut expected) = (Vec::new(), Vec::new());
        for line in 0..4 {
            for place in 0..6 {
                let back = snake && line % 2 == 1;
                let column = if back { 5 - place } else { place };
                // Not quite on a line.
                positions.push([f64::from(line) * rows, 3.0 * f64::from(column)]);
                expected.push([0.0, if back { -3.0 } else { 3.0 }]);
            }
        }
        (positions, expected)
    }

    #[test]
    fn frames_travel_along_their_line() {
        for (snake, rows) in [(false, 3.0), (true, 3.0), (true, 8.0), (false, 1.0)] {
            let (positions, expected) = lines(snake, rows);
            assert_eq!(
                travel(&ndarray::arr2(&positions)),
                expected,
                "{snake} {rows}"
            );
        }
        assert_eq!(travel(&ndarray::arr2(&[[1.0, 2.0]])), [[0.0; 2]]);
        assert_eq!(travel(&ndarray::arr2(&[[1.0, 2.0]; 3])), [[0.0; 2]; 3]);
    }
}
