//! The `#[kernel]` attribute, documented where it is re-exported: `warpstride_device::kernel`.

mod attribute;
mod expand;
mod extent;
mod signature;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Makes a kernel from a `pub unsafe fn`.
///
/// ```text
/// #[kernel(block = 256, min_blocks = 4, hot)]
/// pub unsafe fn scale_values(
///     #[len(count)] values: *mut f32,
///     count: u32,
///     factor: f32,
/// ) { … }
/// ```
///
/// Options, all optional except the first:
///
/// * `block = 256`, `block = (16, 16)`, `block = (8, 8, 4)` – threads in a block;
/// * `exact_block` – the kernel relies on this block: the emulated device does not use a smaller one;
/// * `min_blocks = 4` – launch bound: this many blocks fit on a multiprocessor together;
/// * `hot` – the kernel must not use local memory (the build of the PTX fails if it does);
/// * `f64` – the kernel may use double precision;
/// * `min_arch = 90` – the kernel exists only for this compute capability (times ten) and later;
/// * `cluster = 4` – the grid consists of thread block clusters of 2, 4 or 8 blocks along x
///   (`warpstride_device::cluster`); needs `min_arch = 90`;
/// * `variant = 90` – the kernel is built for this compute capability (times ten) as well, because it calls a
///   function with a faster instruction there (`atomic::add_global_complex`);
/// * `shared = EXPR` – bytes of dynamic shared memory in a block, computed from the scalar arguments and
///   `block_threads`.
///
/// Arguments are `*const T`, `*mut T` (`T` plain data: `bytemuck::Pod`) and scalars `u32`, `i32`, `f32`, `u64`,
/// `usize` (`f64` with the option `f64`). Every pointer has `#[len(EXPR)]`: the number of elements that the kernel
/// may access, computed from the integer arguments as `usize`, constants, `+ - * / %`, parentheses and methods of
/// `usize`. An extent that overflows exceeds every memory.
///
/// For `nvptx64` the function becomes an entry of the same name. On the host it remains a function for the emulator,
/// and a struct with its name in camel case and the arguments as fields implements
/// `warpstride_device::launch::Launch`.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as attribute::Options);
    let function = parse_macro_input!(item as ItemFn);
    signature::Signature::read(&options, function)
        .and_then(|signature| expand::expand(&options, &signature))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
