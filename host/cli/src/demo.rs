//! `warpstride demo`: an example of every science, computed by this program's own commands.

use super::args::DemoArgs;
use super::failure::Failure;
use super::output::say;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};
use warpstride::text::{shell_quoted, visible};

/// The program and the folder of a demo.
#[derive(Debug)]
pub(crate) struct Demo {
    program: PathBuf,
    folder: PathBuf,
}

/// What a science's part of the demo has computed.
#[derive(Debug)]
pub(crate) struct DemoPart {
    /// The heading, without the time: `Time series: a day of three series aggregated twice`.
    pub(crate) heading: &'static str,
    /// Seconds that it took.
    pub(crate) seconds: f64,
    /// The results in one or two lines.
    pub(crate) lines: String,
    /// The HTML reports.
    pub(crate) reports: Vec<PathBuf>,
}

/// A science's part of the demo.
pub(crate) type DemoFn = fn(&Demo) -> Result<DemoPart, Failure>;

/// Runs the parts of all sciences with `executable`, or the running one, and prints their results.
pub(crate) fn run(
    options: &DemoArgs,
    sciences: &[DemoFn],
    executable: Option<&Path>,
) -> Result<(), Failure> {
    let folder = options.output.clone();
    let option = format!("-o {}", folder.display());
    if fs::metadata(&folder).is_ok_and(|found| !found.is_dir()) {
        return Err(Failure::failed(format!(
            "{option}: expected a folder, found a file"
        )));
    }
    fs::create_dir_all(&folder)
        .map_err(|why| Failure::failed(format!("{option}: the folder cannot be created: {why}")))?;
    let demo = Demo {
        program: executable.map_or_else(env::current_exe, |path| Ok(path.to_owned()))?,
        folder,
    };
    let parts = sciences.iter().map(|science| science(&demo));
    let parts = parts.collect::<Result<Vec<DemoPart>, Failure>>()?;
    say(&report(&parts, &pictures(&demo.folder)?))
}

impl Demo {
    /// A file in the demo's folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a command of this program, which prints to the terminal.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<(), Failure> {
        self.output(arguments, Stdio::inherit()).map(drop)
    }

    /// Runs a command of this program and returns its standard output.
    pub(crate) fn read<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, Failure> {
        Ok(self.output(arguments, Stdio::piped())?.stdout)
    }

    fn output<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        stdout: Stdio,
    ) -> Result<Output, Failure> {
        let mut command = Command::new(&self.program);
        command.args(arguments).stdout(stdout);
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .map_err(|why| Failure::failed(format!("{}: {why}", shown(&command))))?;
        if output.status.success() {
            return Ok(output);
        }
        let status = output.status;
        Err(Failure::failed(format!("{}: {status}", shown(&command))))
    }
}

/// The command as a user would type it in a shell.
fn shown(command: &Command) -> String {
    let arguments = command.get_args().map(OsStr::to_string_lossy);
    std::iter::once("warpstride".to_owned())
        .chain(arguments.map(|word| shell_quoted(&word).into_owned()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The results of all parts, and the files to look at.
fn report(parts: &[DemoPart], pictures: &[PathBuf]) -> String {
    let mut text = String::new();
    for part in parts {
        let DemoPart { heading, lines, .. } = part;
        text += &format!("\n{heading} in {:.1} s\n{lines}\n", part.seconds);
    }
    let reports: Vec<_> = parts.iter().flat_map(|part| &part.reports).collect();
    if !pictures.is_empty() {
        text += "Pictures:\n";
    }
    for picture in pictures {
        text += &format!("  {}\n", visible(&picture.display().to_string()));
    }
    if !reports.is_empty() {
        text += "Reports (open in a browser):\n";
    }
    for report in reports {
        text += &format!("  {}\n", visible(&report.display().to_string()));
    }
    text
}

fn pictures(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut pictures = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "png") {
            pictures.push(path);
        }
    }
    pictures.sort();
    Ok(pictures)
}

/// The JSON summary of a run.
#[derive(Debug)]
pub(crate) struct Summary {
    source: String,
    /// The summary's fields.
    pub(crate) value: serde_json::Value,
}

impl Summary {
    /// Reads the file that a command wrote with `--summary`.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let source = path.display().to_string();
        let text = fs::read(path).map_err(|why| Failure::failed(format!("{source}: {why}")))?;
        Self::parse(source, &text)
    }

    /// Parses `text`; `source` names it in errors.
    pub(crate) fn parse(source: impl Into<String>, text: &[u8]) -> Result<Self, Failure> {
        let source = source.into();
        let value = serde_json::from_slice(text)
            .map_err(|why| Failure::failed(format!("{source}: expected JSON: {why}")))?;
        Ok(Self { source, value })
    }

    /// The number in the field `name`.
    pub(crate) fn number(&self, name: &str) -> Result<f64, Failure> {
        self.checked(name, self.value[name].as_f64())
    }

    /// `number`, unless it is absent: `name` names it in the error.
    pub(crate) fn checked(&self, name: &str, number: Option<f64>) -> Result<f64, Failure> {
        number.ok_or_else(|| Failure::failed(format!("{}: expected a number {name}", self.source)))
    }

    /// The text in the field `name`.
    pub(crate) fn word(&self, name: &str) -> &str {
        self.value[name].as_str().unwrap_or("unnamed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pictures_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.png", "a.png", "scan.cxi"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let listed = pictures(folder.path()).unwrap();
        assert_eq!(
            listed,
            [folder.path().join("a.png"), folder.path().join("b.png")]
        );
    }

    #[test]
    fn the_report_has_every_part_and_file() {
        let part = |heading, reports| DemoPart {
            heading,
            seconds: 1.25,
            lines: "Backend cpu".to_owned(),
            reports,
        };
        let parts = [
            part("Waves: computed", vec![PathBuf::from("waves.html")]),
            part("Grids: relaxed", Vec::new()),
        ];
        let expected = "\nWaves: computed in 1.2 s\nBackend cpu\n\
                        \nGrids: relaxed in 1.2 s\nBackend cpu\n\
                        Pictures:\n  a.png\n\
                        Reports (open in a browser):\n  waves.html\n";
        assert_eq!(report(&parts, &[PathBuf::from("a.png")]), expected);
    }

    #[test]
    fn a_missing_number_is_an_error() {
        let summary = Summary::parse("s.json", br#"{"backend": "cpu", "r_factor": 1}"#).unwrap();
        assert_eq!(summary.number("r_factor").unwrap(), 1.0);
        let error = summary.number("relative_l2").unwrap_err().to_string();
        assert_eq!(error, "s.json: expected a number relative_l2");
    }
}
