//! `cargo xtask build-ptx`: builds the kernels of each science to PTX, checks them, and writes or
//! compares the texts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use warpstride_build_ptx::compiler::{self, DeviceCompiler};
use warpstride_build_ptx::kernel::Kernel;
use warpstride_build_ptx::{
    DeviceBuild, Linked, Package, RECIPE, Threading, check, check_barriers, ptxas,
};

use crate::manifest::{self, Manifest, Text};
use crate::workers;
use crate::workspace;

/// The oldest architecture supported. A text for it serves every newer device.
const OLDEST: u32 = 80;

/// The architecture with texts of its own, for the kernels that gain from it.
const NEWEST: u32 = 90;

/// A feature of `warpstride-kernels` that has kernels, the ones that take longest to build first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Science {
    Ptycho,
    Sas,
    Jacobi,
    Mri,
    Series,
    /// Fourier transforms, which several sciences use.
    Fft,
}

impl Science {
    fn name(self) -> &'static str {
        match self {
            Self::Sas => "sas",
            Self::Jacobi => "jacobi",
            Self::Mri => "mri",
            Self::Series => "series",
            Self::Ptycho => "ptycho",
            Self::Fft => "fft",
        }
    }
}

/// What to do with the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Build the sciences that have changed and write them into the repository.
    Changed,
    /// Build all of them and write them into the repository.
    All,
    /// Build all of them and compare them with what the repository holds.
    Check,
}

/// How much depends on the assembler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assembler {
    /// Without it the command fails.
    Required,
    /// Without it the command prints a warning.
    IfAvailable,
    /// It is not called.
    Off,
}

/// Runs the command for `only`, or for all sciences if it is empty.
pub(crate) fn run(only: &[Science], mode: Mode, assembler: Assembler) -> Result<()> {
    let begin = Instant::now();
    let compiler = compiler::find()?;
    println!("Device compiler: {compiler}");
    let manifest = Manifest::read(&workspace::ptx().join("manifest.json"))?;
    let sciences: Vec<Science> = Science::value_variants()
        .iter()
        .copied()
        .filter(|science| only.is_empty() || only.contains(science))
        .filter(|science| mode != Mode::Changed || !up_to_date(*science, &manifest, &compiler))
        .collect();
    if sciences.is_empty() {
        println!("All texts are up to date (--all builds them anyway)");
        return Ok(());
    }
    let ptxas = match assembler {
        Assembler::Off => None,
        Assembler::Required => Some(ptxas::find(&workspace::tools())?),
        Assembler::IfAvailable => match ptxas::find(&workspace::tools()) {
            Ok(path) => Some(path),
            Err(error) => {
                println!("WARNING: registers, spills and assembling are NOT checked: {error:#}");
                None
            }
        },
    };
    let package = Package::read(
        &compiler,
        &workspace::root().join("kernels-gpu").join("Cargo.toml"),
    )?;
    let builder = Builder {
        built: DeviceBuild::new(&compiler, &package, Threading::On, folder("built"))?,
        // The comparison was made when the committed file was written.
        straight: match mode {
            Mode::Check => None,
            _ => Some(DeviceBuild::new(
                &compiler,
                &package,
                Threading::Off,
                folder("straight"),
            )?),
        },
        compiler,
        ptxas,
    };
    let results = builder.build(&sciences)?;
    match mode {
        Mode::Check => {
            for built in &results {
                compare(built, &manifest)?;
            }
            no_other_texts(&manifest)?;
        }
        Mode::Changed | Mode::All => write(&results, manifest, &sciences)?,
    }
    println!("build-ptx: {:.0} s", begin.elapsed().as_secs_f64());
    Ok(())
}

fn folder(name: &str) -> PathBuf {
    workspace::target().join("nvptx").join(name)
}

/// Whether all texts of `science` are the ones that the manifest records, built from the present
/// sources.
fn up_to_date(science: Science, manifest: &Manifest, compiler: &DeviceCompiler) -> bool {
    let mut texts = manifest.of(science.name()).peekable();
    texts.peek().is_some()
        && texts.all(|(file, text)| {
            let sources: Vec<PathBuf> = text
                .sources
                .keys()
                .map(|name| workspace::root().join(name))
                .collect();
            let same_sources = manifest::hash_sources(&workspace::root(), &sources)
                .is_ok_and(|(_, now)| now == text.sources);
            let same_bytes = fs::read(workspace::ptx().join(file))
                .is_ok_and(|bytes| manifest::sha256(&bytes) == text.sha256);
            same_sources && same_bytes && text.recipe == RECIPE && text.built_by(compiler)
        })
}

/// One text, built and checked.
struct Built {
    file: String,
    path: PathBuf,
    text: Text,
}

struct Builder {
    compiler: DeviceCompiler,
    ptxas: Option<PathBuf>,
    built: DeviceBuild,
    /// For the comparison of barriers; `None` if it is left out.
    straight: Option<DeviceBuild>,
}

/// A part of the work that one thread does.
#[derive(Debug, Clone, Copy)]
enum Task {
    Built(Science),
    Straight(Science),
}

impl Builder {
    /// Builds all `sciences`, as many at a time as there are cores.
    fn build(&self, sciences: &[Science]) -> Result<Vec<Built>> {
        let tasks: Vec<Task> = sciences
            .iter()
            .flat_map(|&science| {
                let straight = self.straight.as_ref().map(|_| Task::Straight(science));
                [Some(Task::Built(science)), straight].into_iter().flatten()
            })
            .collect();
        let done = workers::map(&tasks, |task| self.perform(*task))?;
        let mut results = Vec::new();
        for (task, texts) in tasks.iter().zip(&done) {
            let Task::Straight(_) = task else { continue };
            for straight in texts {
                let built = done
                    .iter()
                    .flatten()
                    .find(|built| built.file == straight.file && built.path != straight.path)
                    .context("a text was built once only")?;
                check_barriers(&built.path, &straight.path)?;
            }
        }
        for (task, texts) in tasks.into_iter().zip(done) {
            if let Task::Built(_) = task {
                results.extend(texts);
            }
        }
        Ok(results)
    }

    fn perform(&self, task: Task) -> Result<Vec<Built>> {
        let (science, build, name) = match (task, &self.straight) {
            (Task::Straight(science), Some(straight)) => (science, straight, "straight"),
            (Task::Built(science) | Task::Straight(science), _) => (science, &self.built, "built"),
        };
        let checked = name == "built";
        if checked {
            println!("Building {}", science.name());
        } else {
            println!("Building {} once more, to compare barriers", science.name());
        }
        let linked = build.link(science.name(), Some(science.name()), &[])?;
        let mut texts = vec![self.text(science, &linked, OLDEST, name, checked)?];
        if linked
            .kernels
            .iter()
            .any(|kernel| kernel.gains_from(NEWEST))
        {
            let linked = build.link(
                &format!("{}_sm{NEWEST}", science.name()),
                Some(science.name()),
                &["sm_90"],
            )?;
            texts.push(self.text(science, &linked, NEWEST, name, checked)?);
        }
        Ok(texts)
    }

    /// Generates one text of `linked`; checks it unless it only serves the comparison.
    fn text(
        &self,
        science: Science,
        linked: &Linked,
        arch: u32,
        name: &str,
        checked: bool,
    ) -> Result<Built> {
        let (file, kernels, assemble_for): (_, Vec<&Kernel>, &[u32]) = if arch == OLDEST {
            (
                format!("{}.ptx", science.name()),
                linked.kernels_for(arch),
                &[OLDEST, NEWEST],
            )
        } else {
            let gaining = linked
                .kernels
                .iter()
                .filter(|kernel| kernel.gains_from(arch))
                .collect();
            (
                format!("{}_sm{arch}.ptx", science.name()),
                gaining,
                &[NEWEST],
            )
        };
        let path = folder(name).join(&file);
        linked.generate(&self.compiler, arch, &kernels, &path)?;
        if checked {
            let tables = check(&path, arch, &kernels, self.ptxas.as_deref(), assemble_for)?;
            print!("{tables}");
        }
        let bytes = fs::read(&path)?;
        if checked {
            println!(
                "{file}: {} kernels, {} bytes, no findings",
                kernels.len(),
                bytes.len()
            );
        }
        let (sources_sha256, sources) =
            manifest::hash_sources(&workspace::root(), &linked.sources)?;
        Ok(Built {
            path,
            text: Text {
                science: science.name().to_owned(),
                arch,
                sha256: manifest::sha256(&bytes),
                rustc: self.compiler.rustc_version.clone(),
                llvm: self.compiler.llvm_version.clone(),
                recipe: RECIPE.to_owned(),
                sources_sha256,
                sources,
            },
            file,
        })
    }
}

fn write(results: &[Built], mut manifest: Manifest, sciences: &[Science]) -> Result<()> {
    let folder = workspace::ptx();
    // A science may have lost a text.
    let old: Vec<String> = sciences
        .iter()
        .flat_map(|science| manifest.of(science.name()).map(|(file, _)| file.to_owned()))
        .collect();
    for file in old {
        manifest.texts.remove(&file);
        if results.iter().all(|built| built.file != file) {
            let _ = fs::remove_file(folder.join(file));
        }
    }
    for built in results {
        let file = folder.join(&built.file);
        fs::copy(&built.path, &file).with_context(|| format!("cannot write {}", file.display()))?;
        manifest
            .texts
            .insert(built.file.clone(), built.text.clone());
    }
    manifest.write(&folder.join("manifest.json"))?;
    println!("Written to {}", folder.display());
    Ok(())
}

const REMEDY: &str = "run `cargo xtask build-ptx` and commit kernels-gpu/ptx";

/// Compares `built` with the committed file and its record.
fn compare(built: &Built, manifest: &Manifest) -> Result<()> {
    let file = &built.file;
    let Some(committed) = manifest.texts.get(file) else {
        bail!("{file}: the manifest has no record of it: {REMEDY}");
    };
    let path = workspace::ptx().join(file);
    let bytes =
        fs::read(&path).with_context(|| format!("cannot read {}: {REMEDY}", path.display()))?;
    if manifest::sha256(&bytes) != committed.sha256 {
        bail!("{file}: expected the bytes that the manifest records, found others: {REMEDY}");
    }
    let changed = committed.changed_sources(&built.text);
    if !changed.is_empty() || committed.sources_sha256 != built.text.sources_sha256 {
        bail!(
            "{file}: built from other sources (changed: {}): {REMEDY}",
            changed.join(", ")
        );
    }
    if committed.recipe != built.text.recipe {
        bail!(
            "{file}: built with other options ({}): {REMEDY}",
            committed.recipe
        );
    }
    if !committed.same_compiler(&built.text) {
        println!(
            "NOTE: {file} was built with {} and LLVM {}; this compiler is {} with LLVM {}. The bytes may differ and \
             were not compared; the sources are the same, and this compiler's PTX passed every check.",
            committed.rustc, committed.llvm, built.text.rustc, built.text.llvm
        );
        return Ok(());
    }
    if committed.sha256 != built.text.sha256 {
        bail!("{file}: the same sources and compiler gave other bytes: {REMEDY}");
    }
    println!("{file}: rebuilt, equal byte for byte");
    Ok(())
}

/// Makes sure that the folder has the texts of the manifest and no other.
fn no_other_texts(manifest: &Manifest) -> Result<()> {
    let recorded: BTreeSet<&Path> = manifest.texts.keys().map(Path::new).collect();
    for entry in fs::read_dir(workspace::ptx())? {
        let path = entry?.path();
        let name = path.file_name().map(Path::new).unwrap_or(&path);
        if path.extension().is_some_and(|extension| extension == "ptx") && !recorded.contains(name)
        {
            bail!(
                "{}: the manifest has no record of it: {REMEDY}",
                name.display()
            );
        }
    }
    Ok(())
}
