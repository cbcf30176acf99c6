//! Where things lie in the checkout.

use std::path::PathBuf;

/// The checkout this `xtask` belongs to.
pub(crate) fn root() -> PathBuf {
    // `cargo run` states the folder of the package; a copied executable falls back on its build.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or(package.clone(), PathBuf::from)
}

/// The folder for what the commands build and download; never committed.
pub(crate) fn target() -> PathBuf {
    root().join("target")
}

/// The folder of the committed PTX.
pub(crate) fn ptx() -> PathBuf {
    root().join("kernels-gpu").join("ptx")
}

/// The host's cargo: the one that runs this command, so that both use one toolchain.
pub(crate) fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}
