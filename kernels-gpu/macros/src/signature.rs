//! The kernel function, read and checked.

use quote::{ToTokens as _, quote};
use syn::spanned::Spanned;
use syn::{Error, Expr, FnArg, Ident, ItemFn, Pat, Result, ReturnType, Type, Visibility};

use crate::attribute::Options;

/// A kernel's argument.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// As written.
    pub(crate) ty: Type,
    pub(crate) kind: Kind,
}

/// What an argument is.
pub(crate) enum Kind {
    Pointer {
        element: Box<Type>,
        written: bool,
        len: Box<Expr>,
    },
    Integer,
    Float,
}

/// A kernel function whose `#[len]` attributes have been taken off.
pub(crate) struct Signature {
    pub(crate) function: ItemFn,
    pub(crate) arguments: Vec<Argument>,
}

impl Signature {
    pub(crate) fn read(options: &Options, mut function: ItemFn) -> Result<Self> {
        let signature = &function.sig;
        if !matches!(function.vis, Visibility::Public(_)) || signature.unsafety.is_none() {
            return Err(Error::new(
                signature.span(),
                "a kernel is a `pub unsafe fn`",
            ));
        }
        if signature.constness.is_some()
            || signature.asyncness.is_some()
            || signature.abi.is_some()
            || signature.variadic.is_some()
            || !signature.generics.params.is_empty()
        {
            return Err(Error::new(
                signature.span(),
                "a kernel is a plain function without generics or ABI",
            ));
        }
        if !matches!(signature.output, ReturnType::Default) {
            return Err(Error::new(
                signature.output.span(),
                "a kernel returns nothing",
            ));
        }
        let arguments = function
            .sig
            .inputs
            .iter_mut()
            .map(|input| argument(options, input))
            .collect::<Result<Vec<_>>>()?;
        if !arguments
            .iter()
            .any(|a| matches!(a.kind, Kind::Pointer { .. }))
        {
            return Err(Error::new(
                function.sig.span(),
                "a kernel without a pointer argument has no effect",
            ));
        }
        Ok(Self {
            function,
            arguments,
        })
    }
}

fn argument(options: &Options, input: &mut FnArg) -> Result<Argument> {
    let FnArg::Typed(input) = input else {
        return Err(Error::new(input.span(), "a kernel is no method"));
    };
    let Pat::Ident(pattern) = &*input.pat else {
        return Err(Error::new(input.pat.span(), "an argument is a plain name"));
    };
    let name = pattern.ident.clone();
    let mut len = None;
    for attribute in &input.attrs {
        if attribute.path().is_ident("len") {
            if len.is_some() {
                return Err(Error::new(attribute.span(), "`len` stands twice"));
            }
            len = Some(attribute.parse_args::<Expr>()?);
        }
    }
    input.attrs.retain(|a| !a.path().is_ident("len"));
    let ty = (*input.ty).clone();
    let kind = match &ty {
        Type::Ptr(pointer) => Kind::Pointer {
            element: pointer.elem.clone(),
            written: pointer.mutability.is_some(),
            len: len.take().map(Box::new).ok_or_else(|| {
                Error::new(
                    name.span(),
                    format!("the pointer `{name}` needs its extent: `#[len(…)] {name}: …`"),
                )
            })?,
        },
        other => match other.to_token_stream().to_string().as_str() {
            "u32" | "i32" | "u64" | "usize" => Kind::Integer,
            "f32" => Kind::Float,
            "f64" if options.f64 => Kind::Float,
            _ => {
                return Err(Error::new(
                    other.span(),
                    "arguments are `*const T`, `*mut T`, `u32`, `i32`, `f32`, `u64`, `usize` \
                     (and `f64` with the option `f64`)",
                ));
            }
        },
    };
    if let Some(len) = len {
        return Err(Error::new(
            len.span(),
            format!(
                "`{name}` is no pointer: `#[len({})]` says nothing",
                quote!(#len)
            ),
        ));
    }
    Ok(Argument { name, ty, kind })
}
