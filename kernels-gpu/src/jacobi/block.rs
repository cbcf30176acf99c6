//! Where the rows of a device's block lie.

/// A block of rows with its halos.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// Own rows.
    pub(super) rows: i32,
    /// Rows of the neighbours above, and as many below.
    pub(super) halo: i32,
    /// Whether the block is its own neighbour; the halos are not used then.
    pub(super) wraps: bool,
    /// Vectors of a row.
    pub(super) pitch: u32,
}

impl Block {
    /// Vectors before row `y`, which is at most one halo (or, where it wraps, one block) away.
    #[inline(always)]
    pub(super) fn offset(&self, y: i32) -> usize {
        let y = match self.wraps {
            true if y < 0 => y + self.rows,
            true if y >= self.rows => y - self.rows,
            _ => y,
        };
        self.offset_in_halos(y)
    }

    /// As [`Block::offset`], for a row of the buffer.
    #[inline(always)]
    pub(super) fn offset_in_halos(&self, y: i32) -> usize {
        (y + self.halo) as usize * self.pitch as usize
    }
}
