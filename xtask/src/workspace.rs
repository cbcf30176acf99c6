//! Paths in the checkout.

use std::path::PathBuf;

/// The checkout to which this `xtask` belongs.
pub(crate) fn root() -> PathBuf {
    // `cargo run` states the folder of the package; an executable started directly uses the folder
    // of its build.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or(package.clone(), PathBuf::from)
}

/// The folder for build results and downloads; never committed.
pub(crate) fn target() -> PathBuf {
    root().join("target")
}

/// The folder of downloaded tools.
pub(crate) fn tools() -> PathBuf {
    target().join("tools")
}

/// The folder of the committed PTX.
pub(crate) fn ptx() -> PathBuf {
    root().join("kernels-gpu").join("ptx")
}

/// The cargo that runs this command, so that both use one toolchain.
pub(crate) fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}
