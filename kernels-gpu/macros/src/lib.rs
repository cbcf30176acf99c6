//! The `#[kernel]` attribute. Documented where it is re-exported: `warpstride_device::kernel`.

mod attribute;
mod expand;
mod extent;
mod signature;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Makes a kernel of a `pub unsafe fn`.
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
/// Options, all but the first optional:
/// * `block = 256`, `block = (16, 16)`, `block = (8, 8, 4)` – threads of a block;
/// * `exact_block` – the kernel counts on them: the emulated machine does not make the block smaller;
/// * `min_blocks = 4` – launch bound: so many blocks fit on a multiprocessor together;
/// * `hot` – must not use local memory (`cargo xtask build-ptx` fails if it does);
/// * `f64` – may use double precision;
/// * `min_arch = 90` – only for this compute capability (times ten) and later;
/// * `shared = EXPR` – bytes of dynamic shared memory of a block, from the scalar arguments and
///   `block_threads`.
///
/// Arguments are `*const T`, `*mut T` (`T` plain data: `bytemuck::Pod`) and scalars `u32`, `i32`,
/// `f32`, `u64`, `usize` (`f64` with the option `f64`). Every pointer carries `#[len(EXPR)]`: the
/// elements that the kernel may touch, from the integer arguments as `usize`, constants, `+ - * / %`,
/// parentheses and methods of `usize`. An extent that overflows fits no memory.
///
/// For `nvptx64` the function becomes an entry of its own name. On the host it stays a function for
/// the emulator, and beside it stands a struct of its name in camel case with the arguments as
/// fields, which implements `warpstride_device::launch::Launch`.
#[proc_macro_attribute]
pub fn kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as attribute::Options);
    let function = parse_macro_input!(item as ItemFn);
    signature::Signature::read(&options, function)
        .and_then(|signature| expand::expand(&options, &signature))
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
