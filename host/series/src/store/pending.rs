//! Collects points in reading order until they form a batch.

use super::super::{Batch, SeriesError};

/// Purpose of the allocations, for errors.
const WHAT: &str = "a batch of points";

/// Interleaved points of many series, each with the index of its series.
#[derive(Debug, Default)]
pub struct Pending {
    series: Vec<u32>,
    times: Vec<i64>,
    values: Vec<f64>,
}

impl Pending {
    /// Bytes per point: once while pending, and once more while sorted by series.
    pub const BYTES_PER_POINT: usize = 52;

    /// Appends points: (point) series indices, nanoseconds since 1970, values. The lengths should
    /// be equal; excess elements are ignored.
    ///
    /// # Errors
    /// If memory is insufficient.
    pub fn extend(
        &mut self,
        series: &[u32],
        times: &[i64],
        values: &[f64],
    ) -> Result<(), SeriesError> {
        let points = series.len().min(times.len()).min(values.len());
        reserve(&mut self.series, points)?;
        reserve(&mut self.times, points)?;
        reserve(&mut self.values, points)?;
        self.series.extend_from_slice(&series[..points]);
        self.times.extend_from_slice(&times[..points]);
        self.values.extend_from_slice(&values[..points]);
        Ok(())
    }

    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Returns all points as a batch, and the rising indices of its series. Points of a series keep
    /// their order. No points remain.
    ///
    /// # Errors
    /// If a timestamp is before 1970 or memory is insufficient.
    pub fn take(&mut self) -> Result<(Vec<u32>, Batch), SeriesError> {
        let Self {
            series,
            times,
            values,
        } = std::mem::take(self);
        let mut numbers = Vec::new();
        reserve(&mut numbers, series.len())?;
        numbers.extend_from_slice(&series);
        numbers.sort_unstable();
        numbers.dedup();
        let mut offsets = vec![0; numbers.len() + 1];
        let mut positions = Vec::new();
        reserve(&mut positions, series.len())?;
        let mut last = (0, 0);
        for (point, number) in series.iter().enumerate() {
            // Consecutive points mostly belong to the same series.
            if point == 0 || last.0 != *number {
                let position = numbers
                    .binary_search(number)
                    .unwrap_or_else(|position| position);
                last = (*number, position);
            }
            positions.push(last.1);
            offsets[last.1 + 1] += 1;
        }
        for position in 1..offsets.len() {
            offsets[position] += offsets[position - 1];
        }
        let mut next = offsets.clone();
        let (mut sorted_times, mut sorted_values) = (Vec::new(), Vec::new());
        reserve(&mut sorted_times, times.len())?;
        reserve(&mut sorted_values, values.len())?;
        sorted_times.resize(times.len(), 0);
        sorted_values.resize(values.len(), 0.0);
        for (point, position) in positions.into_iter().enumerate() {
            sorted_times[next[position]] = times[point];
            sorted_values[next[position]] = values[point];
            next[position] += 1;
        }
        Ok((numbers, Batch::new(sorted_times, sorted_values, offsets)?))
    }
}

/// Reserves capacity for more elements.
fn reserve<T>(vector: &mut Vec<T>, more: usize) -> Result<(), SeriesError> {
    vector
        .try_reserve(more)
        .map_err(|_| SeriesError::HostMemory {
            what: WHAT,
            needed: (vector.len() + more).saturating_mul(size_of::<T>()),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_a_series_keep_their_order() {
        let mut pending = Pending::default();
        pending
            .extend(&[7, 2, 7], &[5, 1, 3], &[0.5, 0.1, 0.3])
            .unwrap();
        pending
            .extend(&[2, 9, 7, 4], &[1, 6, 4], &[0.2, 0.6, 0.4])
            .unwrap();
        assert_eq!(pending.len(), 6);
        let (numbers, batch) = pending.take().unwrap();
        assert!(pending.is_empty());
        assert_eq!(numbers, [2, 7, 9]);
        assert_eq!(batch.offsets(), [0, 2, 5, 6]);
        assert_eq!(batch.times(), [1, 1, 5, 3, 4, 6]);
        assert_eq!(batch.values(), [0.1, 0.2, 0.5, 0.3, 0.4, 0.6]);
        assert_eq!(pending.take().unwrap().1.offsets(), [0]);
    }
}
