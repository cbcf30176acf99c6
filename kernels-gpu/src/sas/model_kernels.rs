//! The kernels of each model, in both precisions: of curves, and of images if the model has an axis.
//!
//! They are generated from the rows of [`for_each_sas_model`]: `cylinder` has `sas_cylinder_f64`, `sas_cylinder_f32`,
//! `sas_cylinder_2d_f64` and `sas_cylinder_2d_f32`. Their bodies are in `curve.rs` and `image.rs`.

use super::curve::{Curve, average};
use super::image::{Image, project};
use super::member::{HEADING, SasMember};
use super::mesh::Tables;
use super::models;
use crate::for_each_sas_model;
use pastey::paste;
use warpstride_device::prelude::*;

/// `$to!([hot] …)`, or `$to!([min_blocks = 2] …)` for models whose arrays or rare functions are in local memory, for
/// which the build would refuse a `hot` kernel.
macro_rules! by_hotness {
    ($to:ident barbell $($rest:tt)*) => { $to!([min_blocks = 2] barbell $($rest)*); };
    ($to:ident capped_cylinder $($rest:tt)*) => { $to!([min_blocks = 2] capped_cylinder $($rest)*); };
    ($to:ident core_multi_shell $($rest:tt)*) => { $to!([min_blocks = 2] core_multi_shell $($rest)*); };
    ($to:ident fractal $($rest:tt)*) => { $to!([min_blocks = 2] fractal $($rest)*); };
    ($to:ident mass_fractal $($rest:tt)*) => { $to!([min_blocks = 2] mass_fractal $($rest)*); };
    ($to:ident onion $($rest:tt)*) => { $to!([min_blocks = 2] onion $($rest)*); };
    ($to:ident $($rest:tt)*) => { $to!([min_blocks = 4, hot] $($rest)*); };
}

macro_rules! curve_kernel {
    ([$($option:tt)*] $file:ident $model:ident $r:ident) => {
        paste! {
            #[doc = "Partial sums (task, 2) of `" $file "` over directions and mesh at |q|, in `" $r "`."]
            #[kernel(block = 128, $($option)*, f64)]
            #[allow(clippy::too_many_arguments, reason = "members, their tables, directions and wave vectors")]
            pub unsafe fn [<sas_ $file _ $r>](
                #[len(2 * partials)] partial: *mut $r,
                #[len(count)] members: *const SasMember,
                #[len(columns_len)] columns: *const u32,
                #[len(table_len)] table: *const $r,
                #[len(HEADING * headings_len)] headings: *const $r,
                #[len(4 * directions_len)] directions: *const $r,
                #[len(points)] q: *const $r,
                partials: u32,
                columns_len: u32,
                table_len: u32,
                headings_len: u32,
                directions_len: u32,
                points: u32,
                count: u32,
                items: u32,
                cutoff: $r,
            ) {
                let _ = (partials, columns_len, table_len, headings_len, directions_len, points);
                let tables = Tables { columns, table, headings };
                average::<models::$file::$model, $r>(&Curve {
                    partial, members, tables, directions, q, count, items, cutoff,
                });
            }
        }
    };
}

macro_rules! image_kernel {
    ([$($option:tt)*] $file:ident $model:ident $r:ident) => {
        paste! {
            #[doc = "Partial sums (item, pixel, 2) of oriented `" $file "` over rotations and mesh, in `" $r "`."]
            #[kernel(block = 128, $($option)*, f64)]
            #[allow(clippy::too_many_arguments, reason = "members, their tables, rotations and wave vectors")]
            pub unsafe fn [<sas_ $file _2d_ $r>](
                #[len(2 * items * points)] partial: *mut $r,
                #[len(count)] members: *const SasMember,
                #[len(columns_len)] columns: *const u32,
                #[len(table_len)] table: *const $r,
                #[len(HEADING * headings_len)] headings: *const $r,
                #[len(8 * rotations_len)] rotations: *const $r,
                #[len(points)] qx: *const $r,
                #[len(points)] qy: *const $r,
                columns_len: u32,
                table_len: u32,
                headings_len: u32,
                rotations_len: u32,
                points: u32,
                count: u32,
                items: u32,
                cutoff: $r,
            ) {
                let _ = (columns_len, table_len, headings_len, rotations_len);
                let tables = Tables { columns, table, headings };
                project::<models::$file::$model, $r>(&Image {
                    partial, members, tables, rotations, qx, qy, pixels: points, count, items, cutoff,
                });
            }
        }
    };
}

macro_rules! kernels_of {
    (isotropic $file:ident $model:ident) => {
        by_hotness!(curve_kernel $file $model f64);
        by_hotness!(curve_kernel $file $model f32);
    };
    ($symmetry:ident $file:ident $model:ident) => {
        kernels_of!(isotropic $file $model);
        by_hotness!(image_kernel $file $model f64);
        by_hotness!(image_kernel $file $model f32);
    };
}

macro_rules! all_kernels {
    ($($file:ident $model:ident $symmetry:ident;)*) => {
        $(kernels_of!($symmetry $file $model);)*
    };
}
for_each_sas_model!(all_kernels);
