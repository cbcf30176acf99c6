//! Launches of a model's kernels by its name, for the host.

use super::finish;
use super::member::{HEADING, SasMember};
use super::model_kernels;
use crate::{for_each_sas_model, info};
use pastey::paste;
use warpstride_device::launch::{AnyLaunch, Emulated, KernelInfo, Read, Space, Work, Write};

/// A function that takes a launch whose kernel is known at run time.
pub type Launcher<'t, S> = &'t mut dyn FnMut(&(dyn AnyLaunch<S> + Sync), Work);

/// Arguments of the kernel of a curve.
#[allow(missing_docs, reason = "the kernel's own")]
pub struct CurveArguments<'a, S: Space, R> {
    pub partial: Write<'a, S, R>,
    pub members: Read<'a, S, SasMember>,
    pub columns: Read<'a, S, u32>,
    pub table: Read<'a, S, R>,
    pub headings: Read<'a, S, R>,
    pub directions: Read<'a, S, R>,
    pub q: Read<'a, S, R>,
    pub partials: u32,
    pub points: u32,
    pub count: u32,
    pub items: u32,
    pub cutoff: R,
}

/// Arguments of the kernel of an image.
#[allow(missing_docs, reason = "the kernel's own")]
pub struct ImageArguments<'a, S: Space, R> {
    pub partial: Write<'a, S, R>,
    pub members: Read<'a, S, SasMember>,
    pub columns: Read<'a, S, u32>,
    pub table: Read<'a, S, R>,
    pub headings: Read<'a, S, R>,
    pub rotations: Read<'a, S, R>,
    pub qx: Read<'a, S, R>,
    pub qy: Read<'a, S, R>,
    pub points: u32,
    pub count: u32,
    pub items: u32,
    pub cutoff: R,
}

/// Arguments of the kernel that computes intensities.
#[allow(missing_docs, reason = "the kernel's own")]
pub struct FinishArguments<'a, S: Space, R> {
    pub out: Write<'a, S, f64>,
    pub partial: Read<'a, S, R>,
    pub members: Read<'a, S, SasMember>,
    pub structure_partial: Read<'a, S, R>,
    pub structure_members: Read<'a, S, SasMember>,
    pub finals: Read<'a, S, f64>,
    /// For curves, and for images with a structure factor.
    pub ranks: Read<'a, S, u32>,
    pub partials: u32,
    pub structure_partials: u32,
    pub structures: u32,
    pub sections: u32,
    pub smeared: u32,
    pub points: u32,
    pub vectors: u32,
}

/// Threads in a block of these kernels.
const BLOCK: usize = 128;
/// Warps in a block.
const WARPS: usize = BLOCK / 32;

/// A precision and its kernels.
pub trait Arithmetic: bytemuck::Pod + Send + Sync + Copy + 'static {
    /// `f32` or `f64`.
    const NAME: &'static str;
    /// The value rounded to this precision.
    fn of(value: f64) -> Self;
    /// The value in double precision.
    fn wide(self) -> f64;
    /// Passes the curve kernel of the model with this name to `to`; returns `false` if there is no such model.
    fn curve<S: Space>(
        model: &str,
        arguments: CurveArguments<'_, S, Self>,
        to: Launcher<'_, S>,
    ) -> bool;
    /// Passes the image kernel of the model with this name to `to`; returns `false` also if the model has none.
    fn image<S: Space>(
        model: &str,
        arguments: ImageArguments<'_, S, Self>,
        to: Launcher<'_, S>,
    ) -> bool;
    /// Passes the kernel that computes intensities of an image or of a curve from partial sums to `to`.
    fn finish<S: Space>(image: bool, arguments: FinishArguments<'_, S, Self>, to: Launcher<'_, S>);
}

macro_rules! curve_case {
    ($file:ident $r:ident $model:ident $a:ident $to:ident) => {
        paste! {
            if $model == stringify!($file) {
                let launch = model_kernels::[<Sas $file:camel $r:camel>] {
                    columns_len: length(&$a.columns),
                    table_len: length(&$a.table),
                    headings_len: length(&$a.headings) / HEADING as u32,
                    directions_len: length(&$a.directions) / 4,
                    partial: $a.partial,
                    members: $a.members,
                    columns: $a.columns,
                    table: $a.table,
                    headings: $a.headings,
                    directions: $a.directions,
                    q: $a.q,
                    partials: $a.partials,
                    points: $a.points,
                    count: $a.count,
                    items: $a.items,
                    cutoff: $a.cutoff,
                };
                let blocks = ($a.items as usize).div_ceil(WARPS);
                $to(&launch, Work::Blocks(blocks));
                return true;
            }
        }
    };
}

macro_rules! image_case {
    (isotropic $($rest:tt)*) => {};
    ($symmetry:ident $file:ident $r:ident $model:ident $a:ident $to:ident) => {
        paste! {
            if $model == stringify!($file) {
                let launch = model_kernels::[<Sas $file:camel 2d $r:camel>] {
                    columns_len: length(&$a.columns),
                    table_len: length(&$a.table),
                    headings_len: length(&$a.headings) / HEADING as u32,
                    rotations_len: length(&$a.rotations) / 8,
                    partial: $a.partial,
                    members: $a.members,
                    columns: $a.columns,
                    table: $a.table,
                    headings: $a.headings,
                    rotations: $a.rotations,
                    qx: $a.qx,
                    qy: $a.qy,
                    points: $a.points,
                    count: $a.count,
                    items: $a.items,
                    cutoff: $a.cutoff,
                };
                let tiles = ($a.points as usize).div_ceil(BLOCK);
                $to(&launch, Work::Blocks(tiles * $a.items as usize));
                return true;
            }
        }
    };
}

/// The number of elements; the launch refuses longer arguments.
fn length<S: Space, T>(argument: &Read<'_, S, T>) -> u32 {
    u32::try_from(argument.len()).unwrap_or(u32::MAX)
}

macro_rules! arithmetic {
    ($r:ident of $($file:ident $model:ident $symmetry:ident;)*) => { paste! {
        impl Arithmetic for $r {
            const NAME: &'static str = stringify!($r);
            fn of(value: f64) -> Self {
                value as Self
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn curve<S: Space>(
                model: &str,
                a: CurveArguments<'_, S, Self>,
                to: Launcher<'_, S>,
            ) -> bool {
                $(curve_case!($file $r model a to);)*
                false
            }
            fn image<S: Space>(
                model: &str,
                a: ImageArguments<'_, S, Self>,
                to: Launcher<'_, S>,
            ) -> bool {
                $(image_case!($symmetry $file $r model a to);)*
                false
            }
            fn finish<S: Space>(
                image: bool,
                a: FinishArguments<'_, S, Self>,
                to: Launcher<'_, S>,
            ) {
                let points = a.points as usize * a.vectors as usize;
                if image {
                    let launch = finish::[<SasFinishImage $r:camel>] {
                        out: a.out,
                        partial: a.partial,
                        members: a.members,
                        structure_partial: a.structure_partial,
                        structure_members: a.structure_members,
                        finals: a.finals,
                        ranks: a.ranks,
                        partials: a.partials,
                        structure_partials: a.structure_partials,
                        structures: a.structures,
                        sections: a.sections,
                        smeared: a.smeared,
                        points: a.points,
                        vectors: a.vectors,
                    };
                    to(&launch, Work::Elements(points));
                    return;
                }
                let launch = finish::[<SasFinishCurve $r:camel>] {
                    out: a.out,
                    partial: a.partial,
                    members: a.members,
                    structure_partial: a.structure_partial,
                    structure_members: a.structure_members,
                    finals: a.finals,
                    ranks: a.ranks,
                    partials: a.partials,
                    structure_partials: a.structure_partials,
                    structures: a.structures,
                    sections: a.sections,
                    smeared: a.smeared,
                    points: a.points,
                    vectors: a.vectors,
                };
                to(&launch, Work::Blocks(points.div_ceil(WARPS)));
            }
        }
    } };
}

macro_rules! both {
    ($($rows:tt)*) => {
        arithmetic!(f64 of $($rows)*);
        arithmetic!(f32 of $($rows)*);
    };
}
for_each_sas_model!(both);

macro_rules! infos {
    (isotropic $file:ident) => {
        paste! { &[
            info::<model_kernels::[<Sas $file:camel F64>]<'static, Emulated>>(),
            info::<model_kernels::[<Sas $file:camel F32>]<'static, Emulated>>(),
        ] }
    };
    ($symmetry:ident $file:ident) => {
        paste! { &[
            info::<model_kernels::[<Sas $file:camel F64>]<'static, Emulated>>(),
            info::<model_kernels::[<Sas $file:camel F32>]<'static, Emulated>>(),
            info::<model_kernels::[<Sas $file:camel 2d F64>]<'static, Emulated>>(),
            info::<model_kernels::[<Sas $file:camel 2d F32>]<'static, Emulated>>(),
        ] }
    };
}

macro_rules! list {
    ($($file:ident $model:ident $symmetry:ident;)*) => {
        /// The kernels of every model.
        pub(crate) const OF_MODELS: &[&[KernelInfo]] = &[$(infos!($symmetry $file)),*];
    };
}
for_each_sas_model!(list);
