//! The examples of `docs/adding-a-kernel.md` and `docs/adding-a-model.md` compile, are right, and are what the guides
//! show.

#![cfg(feature = "sas")]
#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "a kernel, as in the crate itself"
)]
#![allow(unreachable_pub, reason = "a model, as in the crate itself")]

// A model names the crate that it stands in.
use warpstride_kernels::{model_values, sas};

#[path = "guide/gaussian_rod.rs"]
mod gaussian_rod;

mod gaussian_rod_test {
    use super::gaussian_rod::GaussianRod;

    include!("guide/gaussian_rod_test.rs");
}

#[path = "guide/scale_waves.rs"]
mod scale_waves;

mod scale_waves_test {
    use super::scale_waves::PtychoScaleWaves;

    include!("guide/scale_waves_test.rs");
}

#[test]
fn the_guide_shows_this_code() {
    let guide = include_str!("../../docs/adding-a-kernel.md");
    assert!(guide.contains(include_str!("guide/scale_waves.rs")));
    assert!(guide.contains(include_str!("guide/scale_waves_test.rs")));
}

#[test]
fn the_guide_of_models_shows_this_code() {
    let guide = include_str!("../../docs/adding-a-model.md");
    assert!(guide.contains(include_str!("guide/gaussian_rod.rs")));
    assert!(guide.contains(include_str!("guide/gaussian_rod_test.rs")));
}
