//! Reading and checking the kernel function.

use quote::{ToTokens as _, quote};
use syn::spanned::Spanned;
use syn::{Error, Expr, FnArg, Ident, ItemFn, Pat, Result, ReturnType, Type, Visibility};

use crate::attribute::Options;

/// A kernel's argument.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// The type as written.
    pub(crate) ty: Type,
    pub(crate) kind: Kind,
}

/// The kind of an argument.
pub(crate) enum Kind {
    Pointer {
        element: Box<Type>,
        written: bool,
        len: Box<Expr>,
    },
    Integer,
    Float,
}

/// A kernel function without its `#[len]` attributes.
pub(crate) struct Signature {
    pub(crate) function: ItemFn,
    pub(crate) arguments: Vec<Argument>,
}

impl Signature {
    pub(crate) fn read(options: &Options, mut function: ItemFn) -> Result<Self> {
        let signature = &function.sig;
        if !matches!(function.vis, Visibility::Public(_)) || signature.unsafety.is_none() {
            return Err(Error::new(signature.span(), "expected a `pub unsafe fn`"));
        }
        if signature.constness.is_some()
            || signature.asyncness.is_some()
            || signature.abi.is_some()
            || signature.variadic.is_some()
            || !signature.generics.params.is_empty()
        {
            return Err(Error::new(
                signature.span(),
                "expected a plain function without generics or ABI",
            ));
        }
        if !matches!(signature.output, ReturnType::Default) {
            return Err(Error::new(
                signature.output.span(),
                "expected no return type: a kernel returns nothing",
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
        return Err(Error::new(
            input.span(),
            "expected a function, found a method",
        ));
    };
    let Pat::Ident(pattern) = &*input.pat else {
        return Err(Error::new(
            input.pat.span(),
            "expected a plain name as argument",
        ));
    };
    let name = pattern.ident.clone();
    let mut len = None;
    for attribute in &input.attrs {
        if attribute.path().is_ident("len") {
            if len.is_some() {
                return Err(Error::new(attribute.span(), "`len` is given twice"));
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
                    format!("the pointer `{name}`: expected its extent, `#[len(…)] {name}: …`"),
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
                    "expected an argument of type `*const T`, `*mut T`, `u32`, `i32`, `f32`, `u64` or `usize` \
                     (or `f64` with the option `f64`)",
                ));
            }
        },
    };
    if let Some(len) = len {
        return Err(Error::new(
            len.span(),
            format!(
                "`{name}`: expected a pointer for `#[len({})]`",
                quote!(#len)
            ),
        ));
    }
    Ok(Argument { name, ty, kind })
}
