//! Installs packages where this program may: as root on Debian and its derivatives.

use std::path::Path;
use std::process::Command;
use std::sync::Once;

use anyhow::{Context, Result};

use crate::process;

/// Whether packages may be installed: the user is root and apt exists.
pub fn may_install() -> bool {
    let root = process::output(Command::new("id").arg("-u")).is_ok_and(|uid| uid.trim() == "0");
    root && Path::new("/usr/bin/apt-get").is_file()
}

/// Installs `packages` and reports it; never removes an installed package.
pub fn install(packages: &[&str]) -> Result<()> {
    static UPDATE: Once = Once::new();
    println!("Installing by apt: {}", packages.join(" "));
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    // Stale lists name packages that the mirror no longer has. After a failed update (no network) the old lists may
    // still be usable, so the installation decides.
    UPDATE.call_once(|| {
        if let Err(error) = process::run(apt().args(["update", "-q"])) {
            println!("{error:#}; continuing with the present package lists");
        }
    });
    process::run(
        apt()
            .args([
                "install",
                "-q",
                "-y",
                "--no-install-recommends",
                "--no-remove",
            ])
            .args(packages),
    )
    .with_context(|| format!("cannot install {}", packages.join(" ")))
}
