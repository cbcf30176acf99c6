//! The position of rows in a device's block.

/// A block of rows with its halos.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// Number of the block's own rows.
    pub(super) rows: i32,
    /// Halo rows above, and as many below.
    pub(super) halo: i32,
    /// Whether the block is its own neighbour; then the halos are not used.
    pub(super) wraps: bool,
    /// Vectors in a row.
    pub(super) pitch: u32,
}

impl Block {
    /// Vectors before row `y`, which is at most one halo (or, if the block wraps, one block) away.
    #[inline(always)]
    pub(super) fn offset(&self, y: i32) -> usize {
        let y = match self.wraps {
            true if y < 0 => y + self.rows,
            true if y >= self.rows => y - self.rows,
            _ => y,
        };
        self.offset_in_halos(y)
    }

    /// [`Block::offset`] for a row of the buffer.
    #[inline(always)]
    pub(super) fn offset_in_halos(&self, y: i32) -> usize {
        (y + self.halo) as usize * self.pitch as usize
    }
}
