//! Neighbouring numbers that load and store by one 16-byte instruction.

/// Four neighbouring numbers in single precision.
#[derive(Debug, Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
pub struct F32x4(pub [f32; 4]);

/// Two neighbouring numbers in double precision.
#[derive(Debug, Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
pub struct F64x2(pub [f64; 2]);

/// Four neighbouring integers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
pub struct U32x4(pub [u32; 4]);

/// Two neighbouring integers of 64 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
pub struct U64x2(pub [u64; 2]);
