//! Distribution of the rows over the devices.

use std::ops::Range;

/// The rows cannot be distributed over the devices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecompositionError {
    /// There is no device.
    #[error("expected at least one device, found none")]
    NoDevice,
    /// A device would have no row.
    #[error(
        "expected at most {rows} devices, as each needs one of the inner rows of the grid (ny − 2), \
         found {devices}"
    )]
    TooManyDevices {
        /// The number of devices.
        devices: usize,
        /// The number of rows that a sweep computes.
        rows: usize,
    },
}

/// Rows 1…ny−2 in blocks, one per device, in the order of the devices. Each device gets
/// ⌊rows/devices⌋ rows; the remaining rows go to the last devices, one each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decomposition {
    first_rows: Vec<usize>,
}

impl Decomposition {
    /// Distributes the inner rows of a grid of `ny` ≥ 2 rows.
    ///
    /// # Errors
    /// There is no device, or more devices than inner rows.
    pub fn new(ny: usize, devices: usize) -> Result<Self, DecompositionError> {
        let rows = ny.saturating_sub(2);
        if devices == 0 {
            return Err(DecompositionError::NoDevice);
        }
        if devices > rows {
            return Err(DecompositionError::TooManyDevices { devices, rows });
        }
        let (floor, larger) = (rows / devices, rows % devices);
        let mut next = 1;
        let mut first_rows = vec![next];
        for device in 0..devices {
            next += floor + usize::from(device >= devices - larger);
            first_rows.push(next);
        }
        Ok(Self { first_rows })
    }

    /// The number of devices.
    #[must_use]
    pub fn devices(&self) -> usize {
        self.first_rows.len() - 1
    }

    /// The rows of the grid that a device computes.
    #[must_use]
    pub fn rows(&self, device: usize) -> Range<usize> {
        self.first_rows[device]..self.first_rows[device + 1]
    }

    /// The number of rows of the smallest block.
    #[must_use]
    pub fn fewest(&self) -> usize {
        self.rows(0).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_contiguous_and_differ_by_at_most_one_row() {
        for ny in 3..80 {
            for devices in 1..=ny - 2 {
                let blocks = Decomposition::new(ny, devices).unwrap();
                let lengths: Vec<usize> = (0..devices).map(|d| blocks.rows(d).len()).collect();
                assert_eq!(lengths.iter().sum::<usize>(), ny - 2);
                assert_eq!(blocks.rows(0).start, 1);
                assert_eq!(blocks.rows(devices - 1).end, ny - 1);
                assert!(lengths.is_sorted() && lengths[devices - 1] - lengths[0] <= 1);
                assert_eq!(blocks.fewest(), lengths[0]);
                for pair in 1..devices {
                    assert_eq!(blocks.rows(pair - 1).end, blocks.rows(pair).start);
                }
            }
        }
    }

    #[test]
    fn more_devices_than_rows_are_an_error() {
        let error = Decomposition::new(5, 4).unwrap_err();
        assert_eq!(
            error,
            DecompositionError::TooManyDevices {
                devices: 4,
                rows: 3
            }
        );
        assert_eq!(Decomposition::new(5, 0), Err(DecompositionError::NoDevice));
    }
}
