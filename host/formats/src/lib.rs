//! Files as detectors write them, without any knowledge of a science.
//!
//! * [`chunk_filters`] undoes the filters of HDF5 on the bytes of chunks, so that several threads can
//!   decompress: HDF5 itself applies them one chunk at a time.

pub mod chunk_filters;
