//! The filters of a dataset in their order.

use super::filter::Filter;
use super::scratch::at_least;
use super::unchanged::copy;
use super::{FilterError, FilterSpec, Scratch};

/// The greatest number of filters in HDF5, one for each bit of a chunk's filter mask.
const MOST_FILTERS: usize = 32;

/// The filters of a dataset, ready to decode its chunks.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// In the order in which they were applied.
    filters: Vec<Filter>,
    chunk_bytes: usize,
}

/// What is known of the size of data between two filters, bytes.
#[derive(Clone, Copy)]
struct Size {
    greatest: usize,
    /// Whether it is exactly the greatest size.
    exact: bool,
}

impl Pipeline {
    /// Prepares the filters of a dataset, given in the order in which they were applied (HDF5's
    /// own).
    ///
    /// `element_size` is the size of an element in bytes, `chunk_bytes` that of a decoded chunk. An
    /// unknown filter is accepted where it is optional; chunks are then read if their mask says
    /// that they were stored without it.
    ///
    /// # Errors
    /// A filter is unknown or has parameters that are not valid, or there are more than 32.
    pub fn new(
        filters: &[FilterSpec],
        element_size: usize,
        chunk_bytes: usize,
    ) -> Result<Self, FilterError> {
        if filters.len() > MOST_FILTERS {
            return Err(FilterError::TooMany {
                found: filters.len(),
            });
        }
        let filters = filters
            .iter()
            .map(|spec| Filter::new(spec, element_size))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            filters,
            chunk_bytes,
        })
    }

    /// Size of a decoded chunk, bytes.
    #[must_use]
    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Decodes a chunk from its stored bytes `raw` into `out`, which has the size of a decoded
    /// chunk.
    ///
    /// Bit n of `filter_mask` says that the chunk was stored without filter n. After an error the
    /// contents of `out` are not defined.
    ///
    /// # Errors
    /// `out` has another size, or `raw` is not what the filters make of a chunk of this size.
    pub fn decode(
        &self,
        filter_mask: u32,
        raw: &[u8],
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), FilterError> {
        if out.len() != self.chunk_bytes {
            return Err(FilterError::Output {
                expected: self.chunk_bytes,
                found: out.len(),
            });
        }
        let mut active = [(
            Filter::Deflate,
            Size {
                greatest: 0,
                exact: true,
            },
        ); MOST_FILTERS];
        let mut count = 0;
        let mut size = Size {
            greatest: self.chunk_bytes,
            exact: true,
        };
        for (n, filter) in self.filters.iter().enumerate() {
            if filter_mask >> n & 1 == 0 {
                active[count] = (*filter, size);
                count += 1;
                size = Size {
                    greatest: filter.greatest_size(size.greatest),
                    exact: size.exact && filter.exact_size(size.greatest).is_some(),
                };
            }
        }
        let Some(((first, _), others)) = active[..count].split_first() else {
            return copy("no", raw, out).and_then(|found| whole("no", out.len(), found));
        };
        let Scratch {
            stages: [one, two],
            tools,
        } = scratch;
        let (mut from, mut to) = (one, two);
        // Bytes in `from`; none of them before the first filter has been undone.
        let mut in_scratch = None;
        for (filter, size) in others.iter().rev() {
            let input = in_scratch.map_or(raw, |length| &from[..length]);
            let found = filter.undo(input, at_least(to, size.greatest), tools)?;
            if size.exact {
                whole(filter.name(), size.greatest, found)?;
            }
            in_scratch = Some(found);
            std::mem::swap(&mut from, &mut to);
        }
        let input = in_scratch.map_or(raw, |length| &from[..length]);
        let found = first.undo(input, out, tools)?;
        whole(first.name(), out.len(), found)
    }
}

/// Checks the size of decoded data.
fn whole(filter: &'static str, expected: usize, found: usize) -> Result<(), FilterError> {
    if found == expected {
        Ok(())
    } else {
        Err(FilterError::length(filter, expected, found as u64))
    }
}
