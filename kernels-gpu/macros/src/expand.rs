//! The code that a kernel becomes on each target.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Error, Expr, Ident, LitByteStr, Result};

use crate::attribute::Options;
use crate::extent::checked;
use crate::signature::{Argument, Kind, Signature};

pub(crate) fn expand(options: &Options, signature: &Signature) -> Result<TokenStream> {
    let device = device(options, signature);
    let host = host(options, signature)?;
    Ok(quote!(#device #host))
}

fn device(options: &Options, signature: &Signature) -> TokenStream {
    let function = &signature.function;
    let (attributes, name, inputs, body) = (
        &function.attrs,
        &function.sig.ident,
        &function.sig.inputs,
        &function.block,
    );
    // A kernel for a later architecture only is compiled too, and left out of texts for lower ones when their code is
    // generated: a feature of the kernel's crate would have to have a fixed name.
    let when = quote!(#[cfg(target_arch = "nvptx64")]);
    let safety = safety();
    let (symbol, record, bytes) = record(options, name);
    // Makes names in extents count as used on the device too; otherwise the compiler would warn about their imports.
    let integers = signature
        .arguments
        .iter()
        .filter_map(|argument| match argument.kind {
            Kind::Integer => Some(&argument.name),
            _ => None,
        });
    let extents = signature
        .arguments
        .iter()
        .filter_map(|argument| match &argument.kind {
            Kind::Pointer { len, .. } => Some(&**len),
            _ => None,
        });
    let shared = options.shared.iter();
    quote! {
        #when
        #(#attributes)*
        #safety
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn #name(#inputs) #body

        #when
        #[doc(hidden)]
        #[allow(non_upper_case_globals, reason = "named after the kernel")]
        #[unsafe(no_mangle)]
        pub static #symbol: [u8; #bytes] = *#record;

        #when
        const _: () = {
            #[allow(dead_code, unused_variables, reason = "only the names matter")]
            fn extents(#(#integers: usize,)* block_threads: usize) {
                #(let _: usize = #extents;)*
                #(let _: usize = #shared;)*
            }
        };
    }
}

/// The description of a kernel for the device linker: the name of a static, its text, and the text's length.
///
/// The linker (`warpstride-build-ptx`, `src/kernel.rs`) reads the text from the linked bitcode and removes the static
/// before code is generated.
fn record(options: &Options, name: &Ident) -> (Ident, LitByteStr, usize) {
    let [x, y, z] = options.block;
    let text = format!(
        "{name} block={x},{y},{z} exact_block={} min_blocks={} hot={} f64={} min_arch={} cluster={} variant={}",
        u32::from(options.exact_block),
        options.min_blocks,
        u32::from(options.hot),
        u32::from(options.f64),
        options.min_arch,
        options.cluster,
        options.variant,
    );
    (
        format_ident!("__warpstride_kernel_{name}", span = name.span()),
        LitByteStr::new(text.as_bytes(), name.span()),
        text.len(),
    )
}

fn safety() -> TokenStream {
    quote! {
        #[doc = ""]
        #[doc = "# Safety"]
        #[doc = "Called by a launch only, with the extents that its launcher checks."]
    }
}

fn host(options: &Options, signature: &Signature) -> Result<TokenStream> {
    let function = &signature.function;
    let name = &function.sig.ident;
    let (inputs, body) = (&function.sig.inputs, &function.block);
    let attributes = &function.attrs;
    let launcher = format_ident!("{}", camel_case(&name.to_string()), span = name.span());
    let entry = name.to_string();
    let Options {
        exact_block,
        min_blocks,
        hot,
        f64: f64_allowed,
        min_arch,
        cluster,
        ..
    } = options;
    let [x, y, z] = options.block;

    let fields = signature.arguments.iter().map(field);
    let checks = signature
        .arguments
        .iter()
        .map(|argument| check(&entry, &signature.arguments, argument))
        .collect::<Result<Vec<_>>>()?;
    let elements = signature.arguments.iter().filter_map(|a| match &a.kind {
        Kind::Pointer { element, .. } => Some(quote!(launch::require_pod::<#element>();)),
        _ => None,
    });
    let names: Vec<_> = signature.arguments.iter().map(|a| &a.name).collect();
    let values: Vec<_> = signature
        .arguments
        .iter()
        .map(|Argument { name, kind, .. }| match kind {
            Kind::Pointer { .. } => quote!(self.#name.as_ptr()),
            _ => quote!(self.#name),
        })
        .collect();
    let shared = match &options.shared {
        None => quote!(0),
        Some(expr) => {
            let value = extent(&signature.arguments, expr, true)?;
            quote!(#value)
        }
    };
    let docs: Vec<&Attribute> = attributes
        .iter()
        .filter(|a| a.path().is_ident("doc"))
        .collect();
    let values_to_inspect = signature.arguments.iter().map(inspected);
    let summary = format!("A launch of the kernel `{entry}` with its arguments.");
    let safety = safety();

    Ok(quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #(#attributes)*
        #safety
        #[allow(clippy::too_many_arguments, reason = "the arguments of a launch")]
        pub unsafe fn #name(#inputs) #body

        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #summary]
        #[doc = ""]
        #(#docs)*
        pub struct #launcher<'a, S: ::warpstride_device::launch::Space> {
            #(#fields)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            use ::warpstride_device::launch;

            const _: () = {
                #(#elements)*
            };

            #[allow(
                unsafe_code,
                clippy::undocumented_unsafe_blocks,
                reason = "hands the trait's contract on to the kernel"
            )]
            // SAFETY: extents as stated with `#[len(…)]`, which is the kernel's contract; parameters as in the
            // kernel's own signature.
            unsafe impl<S: launch::Space> launch::Launch<S> for #launcher<'_, S> {
                const INFO: launch::KernelInfo = launch::KernelInfo {
                    entry: #entry,
                    block: [#x, #y, #z],
                    exact_block: #exact_block,
                    min_blocks: #min_blocks,
                    hot: #hot,
                    f64_allowed: #f64_allowed,
                    min_arch: #min_arch,
                    cluster: #cluster,
                };

                fn check(&self) -> ::core::result::Result<(), launch::ExtentError> {
                    #(#checks)*
                    ::core::result::Result::Ok(())
                }

                fn with_params<R>(
                    &self,
                    launch: impl FnOnce(&mut [*mut ::core::ffi::c_void]) -> R,
                ) -> R {
                    #(let #names = #values;)*
                    launch(&mut [#((&raw const #names).cast_mut().cast()),*])
                }

                fn arguments(&self) -> ::std::vec::Vec<launch::Argument> {
                    ::std::vec![#(#values_to_inspect),*]
                }

                fn dynamic_shared_bytes(&self, block_threads: u32) -> usize {
                    let _ = block_threads;
                    #shared
                }

                unsafe fn run_thread(&self) {
                    unsafe { #name(#(#values),*) }
                }
            }
        };
    })
}

/// The argument's value for `Launch::arguments`.
fn inspected(argument: &Argument) -> TokenStream {
    let Argument { name, kind, .. } = argument;
    match kind {
        Kind::Pointer { .. } => quote!(launch::Argument::Address(self.#name.as_ptr().addr())),
        Kind::Integer => quote!(launch::Argument::Integer(self.#name as i128)),
        Kind::Float => quote!(launch::Argument::Float(f64::from(self.#name))),
    }
}

fn field(argument: &Argument) -> TokenStream {
    let Argument { name, ty, kind } = argument;
    match kind {
        Kind::Pointer {
            element,
            written,
            len,
        } => {
            let wrapper = if *written {
                quote!(Write)
            } else {
                quote!(Read)
            };
            let text = quote!(#len).to_string();
            let does = if *written { "Written" } else { "Read" };
            let doc = format!("{does}: `{text}` elements.");
            quote! {
                #[doc = #doc]
                pub #name: ::warpstride_device::launch::#wrapper<'a, S, #element>,
            }
        }
        _ => {
            let doc = "By value.";
            quote! {
                #[doc = #doc]
                pub #name: #ty,
            }
        }
    }
}

fn check(entry: &str, arguments: &[Argument], argument: &Argument) -> Result<TokenStream> {
    let Kind::Pointer { len, .. } = &argument.kind else {
        return Ok(TokenStream::new());
    };
    let needed = extent(arguments, len, false)?;
    let name = &argument.name;
    let text = name.to_string();
    Ok(quote! {
        let needed = #needed;
        if self.#name.len() < needed {
            return ::core::result::Result::Err(launch::ExtentError {
                kernel: #entry,
                argument: #text,
                needed,
                found: self.#name.len(),
            });
        }
    })
}

/// A `usize` computed from the arguments of `self`, or `usize::MAX` after an overflow.
fn extent(arguments: &[Argument], expr: &Expr, block_threads: bool) -> Result<TokenStream> {
    let mut names = Vec::new();
    let value = checked(expr, &mut names)?;
    let mut bindings = Vec::new();
    for name in distinct(names) {
        let argument = arguments.iter().find(|a| a.name == name);
        match argument.map(|a| &a.kind) {
            Some(Kind::Integer) => bindings.push(quote! {
                let #name = usize::try_from(self.#name).ok()?;
            }),
            Some(_) => {
                return Err(Error::new(
                    name.span(),
                    format!("`{name}`: expected an integer argument"),
                ));
            }
            None if block_threads && name == "block_threads" => bindings.push(quote! {
                let #name = usize::try_from(#name).ok()?;
            }),
            None => {}
        }
    }
    Ok(quote! {
        launch::extent(|| {
            #(#bindings)*
            let value = #value;
            ::core::option::Option::Some(value)
        })
    })
}

fn distinct(names: Vec<Ident>) -> Vec<Ident> {
    let mut distinct: Vec<Ident> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

fn camel_case(name: &str) -> String {
    name.split('_')
        .flat_map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase())
                .into_iter()
                .chain(letters)
        })
        .collect()
}
