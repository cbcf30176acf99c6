//! On a [`Machine`](crate::gpu::Machine): mirrors `cpu/`.
