//! Arrays of an engine: windows on the object, sums of parts, products.

pub(super) mod complex_products;
pub(super) mod part_sums;
pub(super) mod scratch_pool;
pub(super) mod simd;
pub(super) mod window;
