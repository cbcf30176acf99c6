//! Extents: `usize` expressions whose arithmetic is checked.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{BinOp, Error, Expr, Ident, Result};

/// The expression with checked operators, for a context where `?` returns `None`; collects the names in it.
pub(crate) fn checked(expr: &Expr, names: &mut Vec<Ident>) -> Result<TokenStream> {
    match expr {
        Expr::Lit(literal) => Ok(quote!(#literal)),
        Expr::Path(path) => {
            if let Some(name) = path.path.get_ident() {
                names.push(name.clone());
            }
            Ok(quote!(#path))
        }
        Expr::Paren(inner) => checked(&inner.expr, names),
        Expr::Group(inner) => checked(&inner.expr, names),
        Expr::Binary(binary) => {
            let left = checked(&binary.left, names)?;
            let right = checked(&binary.right, names)?;
            let operation = match binary.op {
                BinOp::Add(_) => quote!(checked_add),
                BinOp::Sub(_) => quote!(checked_sub),
                BinOp::Mul(_) => quote!(checked_mul),
                BinOp::Div(_) => quote!(checked_div),
                BinOp::Rem(_) => quote!(checked_rem),
                _ => return Err(unsupported(expr)),
            };
            Ok(quote!(usize::#operation(#left, #right)?))
        }
        Expr::MethodCall(call) if call.turbofish.is_none() => {
            let receiver = checked(&call.receiver, names)?;
            let arguments = call
                .args
                .iter()
                .map(|argument| checked(argument, names))
                .collect::<Result<Vec<_>>>()?;
            let method = &call.method;
            Ok(quote!(usize::#method(#receiver, #(#arguments),*)))
        }
        Expr::Call(call) => {
            // `size_of::<T>()` and other constant functions.
            let arguments = call
                .args
                .iter()
                .map(|argument| checked(argument, names))
                .collect::<Result<Vec<_>>>()?;
            let function = &call.func;
            Ok(quote!(#function(#(#arguments),*)))
        }
        _ => Err(unsupported(expr)),
    }
}

fn unsupported(expr: &Expr) -> Error {
    Error::new(
        expr.span(),
        "expected an extent of integer arguments, constants, `+ - * / %`, parentheses, methods of \
         usize and calls",
    )
}
