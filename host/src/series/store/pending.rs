//! Points in the order of reading, until they are a batch.

use super::super::{Batch, SeriesError};

/// What memory is asked for.
const WHAT: &str = "a batch of points";

/// Points of many series, mixed, each with the number of its series.
#[derive(Debug, Default)]
pub struct Pending {
    series: Vec<u32>,
    times: Vec<i64>,
    values: Vec<f64>,
}

impl Pending {
    /// Bytes that a point takes: as it waits, and once more when all are sorted by their series.
    pub const BYTES_OF_A_POINT: usize = 52;

    /// Appends points: (point) numbers of their series, nanoseconds since 1970, values. Three equal lengths are expected;
    /// what is more is left out.
    ///
    /// # Errors
    /// No memory.
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

    /// Points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// All of them as a batch, with the numbers of its series, rising; the points of each keep their order. None is left.
    ///
    /// # Errors
    /// A timestamp before 1970, no memory.
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
        let mut places = Vec::new();
        reserve(&mut places, series.len())?;
        let mut last = (0, 0);
        for (point, number) in series.iter().enumerate() {
            // Neighbours are of one series mostly.
            if point == 0 || last.0 != *number {
                let place = numbers.binary_search(number).unwrap_or_else(|place| place);
                last = (*number, place);
            }
            places.push(last.1);
            offsets[last.1 + 1] += 1;
        }
        for place in 1..offsets.len() {
            offsets[place] += offsets[place - 1];
        }
        let mut next = offsets.clone();
        let (mut sorted_times, mut sorted_values) = (Vec::new(), Vec::new());
        reserve(&mut sorted_times, times.len())?;
        reserve(&mut sorted_values, values.len())?;
        sorted_times.resize(times.len(), 0);
        sorted_values.resize(values.len(), 0.0);
        for (point, place) in places.into_iter().enumerate() {
            sorted_times[next[place]] = times[point];
            sorted_values[next[place]] = values[point];
            next[place] += 1;
        }
        Ok((numbers, Batch::new(sorted_times, sorted_values, offsets)?))
    }
}

/// Room for more elements, or the error that there is none.
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
