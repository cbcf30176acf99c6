//! The example of `docs/adding-a-kernel.md` compiles, is right, and is what the guide shows.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "a kernel, as in the crate itself"
)]

#[path = "guide/scale_waves.rs"]
mod scale_waves;

mod scale_waves_test {
    use super::scale_waves::ScaleWaves;

    include!("guide/scale_waves_test.rs");
}

#[test]
fn the_guide_shows_this_code() {
    let guide = include_str!("../../docs/adding-a-kernel.md");
    assert!(guide.contains(include_str!("guide/scale_waves.rs")));
    assert!(guide.contains(include_str!("guide/scale_waves_test.rs")));
}
