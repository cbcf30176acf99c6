//! The options in the parentheses of `#[kernel(…)]`.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Ident, LitInt, Result, Token};

/// Options of a kernel.
pub(crate) struct Options {
    pub(crate) block: [u32; 3],
    pub(crate) exact_block: bool,
    pub(crate) min_blocks: u32,
    pub(crate) hot: bool,
    pub(crate) f64: bool,
    pub(crate) min_arch: u32,
    /// Blocks of a cluster along x; 1: no clusters.
    pub(crate) cluster: u32,
    /// A later architecture that the kernel is built for besides, or 0.
    pub(crate) variant: u32,
    pub(crate) shared: Option<Expr>,
}

/// Architectures that the PTX is built for.
const ARCHITECTURES: [u32; 2] = [80, 90];

/// The first architecture with clusters.
const CLUSTERS_FROM: u32 = 90;

/// Sizes of clusters; every device with clusters has 8.
const CLUSTERS: [u32; 3] = [2, 4, 8];

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut block = None;
        let mut options = Self {
            block: [1; 3],
            exact_block: false,
            min_blocks: 0,
            hot: false,
            f64: false,
            min_arch: ARCHITECTURES[0],
            cluster: 1,
            variant: 0,
            shared: None,
        };
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            if seen.contains(&name) {
                return Err(Error::new(name.span(), format!("`{name}` is given twice")));
            }
            match name.to_string().as_str() {
                "exact_block" => options.exact_block = true,
                "hot" => options.hot = true,
                "f64" => options.f64 = true,
                "block" => {
                    input.parse::<Token![=]>()?;
                    block = Some(block_size(input)?);
                }
                "min_blocks" => options.min_blocks = number(input)?,
                "min_arch" => options.min_arch = one_of(&name, &ARCHITECTURES, input)?,
                "cluster" => options.cluster = one_of(&name, &CLUSTERS, input)?,
                "variant" => options.variant = one_of(&name, &ARCHITECTURES[1..], input)?,
                "shared" => {
                    input.parse::<Token![=]>()?;
                    options.shared = Some(input.parse()?);
                }
                _ => {
                    return Err(Error::new(
                        name.span(),
                        "expected one of `block`, `exact_block`, `min_blocks`, `hot`, `f64`, `min_arch`, `cluster`, `variant`, `shared`",
                    ));
                }
            }
            seen.push(name);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        options.block = block.ok_or_else(|| {
            Error::new(
                Span::call_site(),
                "expected the block: `#[kernel(block = 256)]`",
            )
        })?;
        let clustered = seen.iter().find(|name| *name == "cluster");
        if let Some(name) = clustered
            && options.min_arch < CLUSTERS_FROM
        {
            return Err(Error::new(
                name.span(),
                format!(
                    "`cluster`: expected `min_arch = {CLUSTERS_FROM}`, the first with clusters"
                ),
            ));
        }
        Ok(options)
    }
}

fn one_of(name: &Ident, known: &[u32], input: ParseStream<'_>) -> Result<u32> {
    let value = number(input)?;
    if known.contains(&value) {
        Ok(value)
    } else {
        let message = format!("`{name} = {value}`: expected one of {known:?}");
        Err(Error::new(name.span(), message))
    }
}

fn number(input: ParseStream<'_>) -> Result<u32> {
    input.parse::<Token![=]>()?;
    input.parse::<LitInt>()?.base10_parse()
}

fn block_size(input: ParseStream<'_>) -> Result<[u32; 3]> {
    let span = input.span();
    let mut block = [1_u32; 3];
    if input.peek(LitInt) {
        block[0] = input.parse::<LitInt>()?.base10_parse()?;
    } else {
        let axes;
        syn::parenthesized!(axes in input);
        let axes = axes.parse_terminated(LitInt::parse, Token![,])?;
        if axes.is_empty() || axes.len() > 3 {
            return Err(Error::new(span, "expected one, two or three axes"));
        }
        for (size, axis) in block.iter_mut().zip(&axes) {
            *size = axis.base10_parse()?;
        }
    }
    let threads = block
        .iter()
        .map(|n| u64::from(*n))
        .fold(1, u64::saturating_mul);
    if threads == 0 || threads > 1024 || threads % 32 != 0 {
        return Err(Error::new(
            span,
            format!("a block of {threads} threads: expected a multiple of 32, at most 1024"),
        ));
    }
    Ok(block)
}
