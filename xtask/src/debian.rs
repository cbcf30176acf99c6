//! Installing packages where that is this program's to do: as root on Debian and its kin.

use std::path::Path;
use std::process::Command;
use std::sync::Once;

use anyhow::{Context, Result};

use crate::process;

/// Whether packages may be installed: root, and apt is there.
pub(crate) fn may_install() -> bool {
    let root = process::output(Command::new("id").arg("-u")).is_ok_and(|uid| uid.trim() == "0");
    root && Path::new("/usr/bin/apt-get").is_file()
}

/// Installs `packages`, saying so; never removes one that is installed.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    static UPDATE: Once = Once::new();
    println!("Installing by apt: {}", packages.join(" "));
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    // Stale lists name packages that the mirror no longer has; a failing update (no network) may
    // still leave usable ones, so that the installation decides.
    UPDATE.call_once(|| {
        if let Err(error) = process::run(apt().args(["update", "-q"])) {
            println!("{error:#}; trying with the package lists that are there");
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
