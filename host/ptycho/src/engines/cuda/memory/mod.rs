//! Device memory of an engine, and what travels to it in blocks.

pub(super) mod buffers;
pub(super) mod frame_stream;
pub(super) mod frames;
pub(super) mod layout;
pub(super) mod wave_stream;
