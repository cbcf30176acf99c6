//! Finds a compiler for device code: a rustc with the sources of `core`, and LLVM tools of the same LLVM version.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::debian;
use crate::process;

/// The LLVM tools that the build calls.
const LLVM_TOOLS: [&str; 4] = ["llvm-link", "llvm-ar", "opt", "llc"];

/// A device compiler with all its parts.
#[derive(Debug, Clone)]
pub struct DeviceCompiler {
    /// The compiler.
    pub rustc: PathBuf,
    /// Its cargo.
    pub cargo: PathBuf,
    /// Folder of the LLVM tools.
    pub llvm: PathBuf,
    /// First line of `rustc --version`.
    pub rustc_version: String,
    /// Version of the LLVM tools.
    pub llvm_version: String,
    /// The sources of the standard library, whose paths must not enter the PTX.
    pub library: PathBuf,
}

impl fmt::Display for DeviceCompiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}), LLVM tools {} in {}",
            self.rustc_version,
            self.rustc.display(),
            self.llvm_version,
            self.llvm.display()
        )
    }
}

/// Finds the device compiler; installs Debian's packages if that is possible and no other compiler is found.
///
/// # Errors
///
/// One message with everything that was examined and what to install.
pub fn find() -> Result<DeviceCompiler> {
    if let Some(compiler) = from_override()? {
        return Ok(compiler);
    }
    let mut passed_over = Vec::new();
    if let Some(compiler) = from_rustup(&mut passed_over) {
        return Ok(compiler);
    }
    match from_debian() {
        Ok(compiler) => return Ok(compiler),
        Err(error) => passed_over.push(format!("Debian's packages: {error:#}")),
    }
    if debian::may_install() {
        println!("No device compiler is installed; installing Debian's.");
        install_debian()?;
        return from_debian().context(
            "the device compiler of Debian's packages, which were just installed, cannot be used",
        );
    }
    bail!(
        "no compiler for device code was found.\nExamined:\n  {}\nInstall either of\n  \
         rustup toolchain install nightly --component rust-src --component llvm-tools\n  \
         apt-get install rustc-web rust-web-src cargo-web llvm-22   (Debian)\nor name one with \
         WARPSTRIDE_DEVICE_RUSTC, WARPSTRIDE_DEVICE_CARGO and WARPSTRIDE_LLVM_BIN \
         (docs/toolchain.md). Only changing kernels needs it: their PTX is in the repository.",
        passed_over.join("\n  ")
    )
}

fn from_override() -> Result<Option<DeviceCompiler>> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let Some(rustc) = variable("WARPSTRIDE_DEVICE_RUSTC") else {
        return Ok(None);
    };
    let cargo = match variable("WARPSTRIDE_DEVICE_CARGO") {
        Some(cargo) => cargo,
        None => beside(&rustc, "cargo").context(
            "WARPSTRIDE_DEVICE_RUSTC names a compiler without a cargo beside it: set \
             WARPSTRIDE_DEVICE_CARGO",
        )?,
    };
    inspect(&rustc, &cargo, variable("WARPSTRIDE_LLVM_BIN"))
        .map(Some)
        .context("WARPSTRIDE_DEVICE_RUSTC names a compiler that cannot be used")
}

fn beside(program: &Path, name: &str) -> Option<PathBuf> {
    Some(program.parent()?.join(name)).filter(|path| path.is_file())
}

fn from_rustup(passed_over: &mut Vec<String>) -> Option<DeviceCompiler> {
    let Ok(toolchains) = process::output(Command::new("rustup").args(["toolchain", "list"])) else {
        passed_over.push("rustup: not installed".into());
        return None;
    };
    let nightlies: Vec<&str> = toolchains
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.starts_with("nightly"))
        .collect();
    if nightlies.is_empty() {
        passed_over.push("rustup: no nightly toolchain".into());
    }
    for name in nightlies {
        let found =
            process::output(Command::new("rustup").args(["which", "--toolchain", name, "rustc"]))
                .and_then(|rustc| {
                    let rustc = PathBuf::from(rustc.trim());
                    let cargo = beside(&rustc, "cargo").context("expected a cargo beside it")?;
                    inspect(&rustc, &cargo, None)
                });
        match found {
            Ok(compiler) => return Some(compiler),
            Err(error) => passed_over.push(format!("rustup's {name}: {error:#}")),
        }
    }
    None
}

fn from_debian() -> Result<DeviceCompiler> {
    // By absolute path: on PATH the same names are rustup's proxies.
    let rustc = Path::new("/usr/bin/rustc");
    let cargo = Path::new("/usr/bin/cargo");
    if !(rustc.is_file() && cargo.is_file()) {
        bail!("rustc-web and cargo-web are not installed");
    }
    inspect(rustc, cargo, None)
}

fn install_debian() -> Result<()> {
    debian::install(&["rustc-web", "rust-web-src", "cargo-web"])?;
    let version = process::output(clean(Command::new("/usr/bin/rustc").arg("-vV")))?;
    let llvm = major(&field(&version, "LLVM version: ")?)?;
    debian::install(&[&format!("llvm-{llvm}")])
}

/// Checks whether `rustc`, `cargo` and LLVM tools make a device compiler together.
///
/// Without `llvm`, the tools are expected where rustup and Debian put them.
fn inspect(rustc: &Path, cargo: &Path, llvm: Option<PathBuf>) -> Result<DeviceCompiler> {
    let verbose = process::output(clean(Command::new(rustc).arg("-vV")))?;
    let release = field(&verbose, "release: ")?;
    let wanted = env!("CARGO_PKG_RUST_VERSION");
    if number_pair(&release)? < number_pair(wanted)? {
        bail!("expected rustc {wanted} or newer, found {release}");
    }
    let sysroot = process::output(clean(Command::new(rustc).args(["--print", "sysroot"])))?;
    let rustlib = Path::new(sysroot.trim()).join("lib").join("rustlib");
    let library = rustlib.join("src").join("rust").join("library");
    if !library.join("core").is_dir() {
        bail!(
            "expected the sources of the standard library (rustup: component rust-src; Debian: rust-web-src)"
        );
    }
    let compiler_llvm = field(&verbose, "LLVM version: ")?;
    let wanted = major(&compiler_llvm)?;
    let llvm = match llvm {
        Some(folder) => folder,
        None => {
            let host = field(&verbose, "host: ")?;
            [
                rustlib.join(host).join("bin"),
                PathBuf::from(format!("/usr/lib/llvm-{wanted}/bin")),
            ]
            .into_iter()
            .find(|folder| LLVM_TOOLS.iter().all(|tool| folder.join(tool).is_file()))
            .with_context(|| {
                format!(
                    "its LLVM is {compiler_llvm}, but LLVM {wanted} tools were not found (rustup: \
                     component llvm-tools; Debian: llvm-{wanted})"
                )
            })?
        }
    };
    for tool in LLVM_TOOLS {
        if !llvm.join(tool).is_file() {
            bail!("{}: expected the LLVM tool {tool}", llvm.display());
        }
    }
    let llvm_version = tool_version(&process::output(
        Command::new(llvm.join("llc")).arg("--version"),
    )?)?;
    if major(&llvm_version)? != wanted {
        bail!(
            "its LLVM is {compiler_llvm}, but the tools in {} are of LLVM {llvm_version}: expected equal major versions",
            llvm.display()
        );
    }
    Ok(DeviceCompiler {
        rustc: rustc.to_owned(),
        cargo: cargo.to_owned(),
        llvm,
        rustc_version: verbose.lines().next().unwrap_or_default().to_owned(),
        llvm_version,
        library: library.canonicalize()?,
    })
}

/// Removes from `command` the environment of the host's cargo and rustup, which would affect another toolchain.
pub fn clean(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if belongs_to_the_host(&name) {
            command.env_remove(name);
        }
    }
    command
}

fn belongs_to_the_host(name: &OsStr) -> bool {
    /// How crates are downloaded; every cargo needs these.
    const KEPT: [&str; 5] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
    ];
    let Some(name) = name.to_str() else {
        return false;
    };
    let toolchain = ["CARGO", "RUSTC", "RUSTFLAGS", "RUSTDOC", "RUSTUP_TOOLCHAIN"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    // `cargo run` puts its own toolchain's libraries first on this path.
    let libraries = name == "LD_LIBRARY_PATH";
    libraries || (toolchain && !KEPT.iter().any(|kept| name.starts_with(kept)))
}

fn field(verbose: &str, name: &str) -> Result<String> {
    verbose
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .map(|value| value.trim().to_owned())
        .with_context(|| format!("rustc -vV: expected a line {name:?}"))
}

/// The version in what an LLVM tool prints for `--version`.
fn tool_version(printed: &str) -> Result<String> {
    printed
        .lines()
        .find_map(|line| line.split_once("LLVM version "))
        .map(|(_, version)| version.trim().to_owned())
        .context("llc --version: expected a version")
}

fn major(version: &str) -> Result<u32> {
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits
        .parse()
        .with_context(|| format!("{version:?}: expected a version number"))
}

/// Major and minor number, for comparing.
pub fn number_pair(version: &str) -> Result<(u32, u32)> {
    let mut parts = version.split('.');
    let mut next = || major(parts.next().unwrap_or_default());
    Ok((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERBOSE: &str = "rustc 1.96.0 (ac68faa20 2026-05-25)\nbinary: rustc\n\
        host: x86_64-unknown-linux-gnu\nrelease: 1.96.0\nLLVM version: 22.1.8\n";

    #[test]
    fn rustc_versions_are_read() {
        assert_eq!(field(VERBOSE, "LLVM version: ").unwrap(), "22.1.8");
        assert!(field("rustc 1.96.0\n", "LLVM version: ").is_err());
    }

    #[test]
    fn llvm_versions_are_read() {
        let debian = "Debian LLVM version 22.1.8\n  Optimized build.\n";
        let rust = "LLVM (http://llvm.org/):\n  LLVM version 22.1.4-rust-1.97.0-nightly\n";
        assert_eq!(major(&tool_version(debian).unwrap()).unwrap(), 22);
        assert_eq!(major(&tool_version(rust).unwrap()).unwrap(), 22);
        assert!(tool_version("opt: command not found").is_err());
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(number_pair("1.100.0").unwrap() > number_pair("1.95").unwrap());
        assert!(number_pair("1.63.0").unwrap() < number_pair("1.95").unwrap());
        assert!(number_pair("nightly").is_err());
    }

    #[test]
    fn fetching_settings_stay_in_the_environment() {
        let gone = |name: &str| belongs_to_the_host(OsStr::new(name));
        for name in [
            "CARGO",
            "CARGO_BUILD_BUILD_DIR",
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
        ] {
            assert!(gone(name), "{name}");
        }
        for name in ["CARGO_HOME", "CARGO_NET_OFFLINE", "PATH", "RUSTUP_HOME"] {
            assert!(!gone(name), "{name}");
        }
    }

    #[test]
    fn a_compiler_that_is_not_there_is_an_error() {
        let nowhere = Path::new("nowhere");
        assert!(inspect(&nowhere.join("rustc"), &nowhere.join("cargo"), None).is_err());
    }
}
