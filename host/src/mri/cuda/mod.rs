//! On a [`Machine`](crate::gpu::Machine): mirrors `cpu/`.

pub mod direct;
