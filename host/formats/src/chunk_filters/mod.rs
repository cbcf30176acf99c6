//! Undoing of HDF5's filters on the stored bytes of a chunk.
//!
//! A [`Pipeline`] is made once from the filters of a dataset and decodes any number of chunks, from
//! several threads at once, each with its own [`Scratch`]. The decoded size of a chunk is known
//! from its dataset, and the caller provides memory of that size: sizes that compressed data
//! declare are compared with it before anything is decompressed, and the memory of a [`Scratch`]
//! stays within a few times that size.
//!
//! | identifier | filter | format |
//! |---|---|---|
//! | 1 | deflate | zlib stream, RFC 1950 |
//! | 2 | shuffle | HDF5 specification |
//! | 3 | Fletcher-32 | HDF5 specification |
//! | 32000 | LZF | stream of LibLZF |
//! | 32001 | Blosc | chunk of Blosc 1 |
//! | 32004 | LZ4 | blocks of LZ4 |
//! | 32008 | bitshuffle | alone, with LZ4, with Zstandard |
//! | 32015 | Zstandard | frames, RFC 8878 |
//! | 32026 | Blosc2 | frame of Blosc 2 with one chunk |
//!
//! ```
//! use warpstride_formats::chunk_filters::{FilterSpec, Pipeline, Scratch};
//!
//! let shuffle = FilterSpec { id: 2, cd_values: vec![2], optional: true };
//! let pipeline = Pipeline::new(&[shuffle], 2, 4)?;
//! let mut decoded = [0; 4];
//! pipeline.decode(0, &[1, 2, 0, 0], &mut decoded, &mut Scratch::default())?;
//! assert_eq!(decoded, [1, 0, 2, 0]);
//! # Ok::<(), warpstride_formats::chunk_filters::FilterError>(())
//! ```

mod bitshuffle;
mod blosc;
mod blosc2;
mod blosc2_frame;
mod blosclz;
mod codecs;
mod error;
mod filter;
mod fletcher32;
mod lz4;
mod lz4_block;
mod lzf;
mod pipeline;
mod read;
mod scratch;
mod shuffle;
mod transpose;
mod unchanged;

pub use error::FilterError;
pub use filter::FilterSpec;
pub use pipeline::Pipeline;
pub use scratch::Scratch;
