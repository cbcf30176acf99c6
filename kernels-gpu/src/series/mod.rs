//! Time series: buckets, their aggregates, and the order of points.
//!
//! CPU and GPU share what must agree to the bit: the bucket of a timestamp ([`bucket`]), the order of floating-point
//! values ([`order`]), the order of additions ([`sums`]), and interpolation between order statistics ([`quantile`]).

pub mod bucket;
pub mod check_sorted;
pub mod compact;
pub mod ladder;
pub mod lookback;
pub mod methods;
pub mod order;
pub mod order_block;
pub mod order_distinct;
pub mod order_long;
pub mod order_query;
pub mod order_select;
pub mod order_short;
pub mod order_warp;
pub mod partial;
pub mod quantile;
pub mod reduce_long;
pub mod reduce_tiles;
pub mod scan;
pub mod series_of;
mod short_bucket;
pub mod sort;
mod sorting_network;
pub mod starts;
pub mod sums;
pub mod tile;
pub mod tile_block;
mod tile_heads;
mod tile_stage;
pub mod unpack;
mod warp_sort;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod registry;
#[cfg(not(target_arch = "nvptx64"))]
pub use registry::registry;
