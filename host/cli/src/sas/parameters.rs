//! Option `--pd`: distributions of a model's parameters; and what lists of options have in common.

use super::names;
use crate::failure::Failure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use warpstride::sas::dispersion::MAX_POINTS;
use warpstride::sas::mesh::MAX_POLYDISPERSE;
use warpstride::sas::{Definition, Distribution, Polydispersity, Role};
use warpstride::text::shortest;

/// Maximum size of a distribution's file, bytes: two columns of [`MAX_POINTS`] numbers and
/// comments.
const MAX_ARRAY_BYTES: u64 = 64 * MAX_POINTS as u64;

/// The items `NAME=VALUE` of all lists, which commas or spaces separate.
pub(super) fn items(lists: &[String]) -> impl Iterator<Item = &str> {
    lists
        .iter()
        .flat_map(|list| list.split(|c: char| c == ',' || c.is_whitespace()))
        .filter(|item| !item.is_empty())
}

/// Parses a finite number; `what` describes it in the error.
pub(super) fn number(option: &str, text: &str, what: &str) -> Result<f64, Failure> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(Failure::usage(format!(
            "{option}: expected {what}, found {text:?}"
        ))),
    }
}

/// A parsed `--pd` option.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PolydispersityArg {
    option: String,
    parameter: usize,
    name: String,
    width: f64,
    shape: DistributionArg,
    /// Limits of the parameter; for an angle, whose values are offsets, none.
    limits: Option<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
enum DistributionArg {
    Known {
        distribution: Distribution,
        points: usize,
        nsigma: f64,
        is_given: bool,
    },
    File(PathBuf),
}

impl PolydispersityArg {
    /// The file that holds an array of values and weights.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.shape {
            DistributionArg::File(path) => Some(path),
            DistributionArg::Known { .. } => None,
        }
    }

    /// The polydispersity and its width; reads the file of an array.
    pub(super) fn read(&self) -> Result<(Polydispersity, f64), Failure> {
        let polydispersity = match &self.shape {
            DistributionArg::Known {
                distribution,
                points,
                nsigma,
                is_given,
            } => Polydispersity {
                parameter: self.parameter,
                distribution: distribution.clone(),
                points: *points,
                nsigma: *nsigma,
                is_given: *is_given,
            },
            DistributionArg::File(path) => {
                let distribution = Distribution::Array(array(path, &self.name, self.limits)?);
                let (points, nsigma) = distribution.default_mesh();
                Polydispersity {
                    parameter: self.parameter,
                    distribution,
                    points,
                    nsigma,
                    is_given: true,
                }
            }
        };
        Ok((polydispersity, self.width))
    }

    /// The complete argument of `--pd`, with another width.
    pub(super) fn to_arg(&self, width: f64) -> String {
        let name = &self.name;
        match &self.shape {
            DistributionArg::File(path) => format!("{name}=array:{}", path.display()),
            DistributionArg::Known {
                distribution,
                points,
                nsigma,
                is_given,
            } => {
                let mesh = match (is_given, distribution) {
                    (false, _) => String::new(),
                    (true, Distribution::Uniform) => format!(":{points}"),
                    (true, _) => format!(":{points}:{nsigma}"),
                };
                format!("{name}={width}:{}{mesh}", distribution_name(distribution))
            }
        }
    }

    /// Index of the parameter in the model's table.
    pub(super) fn parameter_index(&self) -> usize {
        self.parameter
    }
}

/// The name of a distribution in `--pd`.
pub(super) fn distribution_name(distribution: &Distribution) -> &'static str {
    match distribution {
        Distribution::Gaussian => "gaussian",
        Distribution::Rectangle => "rectangle",
        Distribution::Uniform => "uniform",
        Distribution::LogNormal => "lognormal",
        Distribution::Schulz => "schulz",
        Distribution::Boltzmann => "boltzmann",
        Distribution::Array(_) => "array",
    }
}

/// Parses all `--pd` options; `pixels`: in two dimensions.
pub(super) fn polydispersity_args(
    definition: &Definition,
    args: &[OsString],
    pixels: bool,
) -> Result<Vec<PolydispersityArg>, Failure> {
    let mut all: Vec<PolydispersityArg> = Vec::new();
    for text in args {
        let Some(text) = text.to_str() else {
            return Err(Failure::usage(format!(
                "--pd {}: expected UTF-8, found other bytes; rename the file",
                text.display()
            )));
        };
        let polydispersity = polydispersity_arg(definition, text, pixels)?;
        if all
            .iter()
            .any(|other| other.parameter == polydispersity.parameter)
        {
            return Err(Failure::usage(format!(
                "{}: expected one distribution of each parameter, found two of {}",
                polydispersity.option, polydispersity.name
            )));
        }
        all.push(polydispersity);
    }
    // Each part of a sum has its own mesh.
    let part = |of: &PolydispersityArg| definition.rows()[of.parameter].part;
    for of in &all {
        let count = all.iter().filter(|other| part(other) == part(of)).count();
        if count > MAX_POLYDISPERSE {
            return Err(Failure::usage(format!(
                "--pd: expected at most {MAX_POLYDISPERSE} parameters with a distribution, found {count}"
            )));
        }
    }
    Ok(all)
}

fn polydispersity_arg(
    definition: &Definition,
    text: &str,
    pixels: bool,
) -> Result<PolydispersityArg, Failure> {
    let option = format!("--pd {text}");
    let refuse = |why: String| Err(Failure::usage(format!("{option}: {why}")));
    let Some((name, shape)) = text.split_once('=') else {
        return refuse(
            "expected NAME=WIDTH:KIND, such as radius=0.1:gaussian or theta=15:gaussian:15:3"
                .to_owned(),
        );
    };
    let parameter = names::parameter_index(definition, &option, name)?;
    let row = &definition.rows()[parameter];
    if !row.polydisperse {
        let others: Vec<&str> = definition
            .rows()
            .iter()
            .filter(|row| row.polydisperse)
            .map(|row| row.name.as_str())
            .collect();
        return refuse(if others.is_empty() {
            format!(
                "expected a parameter that can have a distribution, and {} has none",
                definition.name()
            )
        } else {
            format!(
                "expected a parameter of {} that can have a distribution: {}",
                definition.name(),
                others.join(", ")
            )
        });
    }
    let angle = matches!(row.role, Role::Angle(_));
    if angle && !pixels {
        return refuse(format!(
            "expected --q2d for an image, as {name} is an angle, and a curve is averaged over all directions"
        ));
    }
    let arg = |width, shape| PolydispersityArg {
        option: option.clone(),
        parameter,
        name: name.to_owned(),
        width,
        shape,
        limits: (!angle).then_some(row.limits),
    };
    if let Some(path) = array_file(shape) {
        if path.is_empty() {
            return refuse("expected the name of a file after array:".to_owned());
        }
        return Ok(arg(0.0, DistributionArg::File(PathBuf::from(path))));
    }
    let mut parts = shape.split(':');
    let width_text = parts.next().unwrap_or_default();
    let what = if angle {
        "a width in degrees, 0 or more"
    } else {
        "a relative width, 0 or more (0.1: a tenth of the value)"
    };
    let width = number(&option, width_text, what)?;
    if width < 0.0 {
        return refuse(format!("expected {what}, found {}", shortest(width)));
    }
    let distribution = match parts.next() {
        None => Distribution::Gaussian,
        Some(name) => distribution_kind(name).ok_or_else(|| {
            Failure::usage(format!(
                "{option}: expected gaussian, rectangle, uniform, lognormal, schulz, boltzmann or array:FILE, found {name:?}"
            ))
        })?,
    };
    let (mut points, mut nsigma) = distribution.default_mesh();
    let mut is_given = false;
    if let Some(text) = parts.next() {
        is_given = true;
        points = match text.parse() {
            Ok(points) if (1..=MAX_POINTS).contains(&points) => points,
            _ => {
                return refuse(format!("expected 1 to {MAX_POINTS} points, found {text:?}"));
            }
        };
    }
    if let Some(text) = parts.next() {
        nsigma = number(
            &option,
            text,
            "a reach of the mesh in standard deviations, above 0",
        )?;
        if nsigma <= 0.0 {
            return refuse(format!(
                "expected a reach of the mesh in standard deviations, above 0, found {}",
                shortest(nsigma)
            ));
        }
        if distribution == Distribution::Uniform {
            return refuse(
                "expected no NSIGMA, as uniform extends one standard deviation to either side"
                    .to_owned(),
            );
        }
    }
    if parts.next().is_some() {
        return refuse("expected at most NAME=WIDTH:KIND:POINTS:NSIGMA".to_owned());
    }
    if angle && matches!(distribution, Distribution::LogNormal | Distribution::Schulz) {
        return refuse(format!(
            "expected a distribution of angles, found {}, which is one of sizes",
            distribution_name(&distribution)
        ));
    }
    Ok(arg(
        width,
        DistributionArg::Known {
            distribution,
            points,
            nsigma,
            is_given,
        },
    ))
}

/// FILE of `array:FILE`, or of `WIDTH:array:FILE`, which the pattern of the other kinds suggests.
fn array_file(shape: &str) -> Option<&str> {
    let behind = |text: &'_ str| text.strip_prefix("array").map(str::len);
    if let Some(rest) = shape.strip_prefix("array:") {
        return Some(rest);
    }
    let (width, rest) = shape.split_once(':')?;
    width.parse::<f64>().ok()?;
    match behind(rest) {
        Some(0) => Some(""),
        _ => rest.strip_prefix("array:"),
    }
}

fn distribution_kind(name: &str) -> Option<Distribution> {
    Some(match name {
        "gaussian" => Distribution::Gaussian,
        "rectangle" => Distribution::Rectangle,
        "uniform" => Distribution::Uniform,
        "lognormal" => Distribution::LogNormal,
        "schulz" => Distribution::Schulz,
        "boltzmann" => Distribution::Boltzmann,
        _ => return None,
    })
}

/// Reads values and weights of the parameter `name`: two columns, comments after `#`.
fn array(path: &Path, name: &str, limits: Option<(f64, f64)>) -> Result<Vec<(f64, f64)>, Failure> {
    let (low, high) = limits.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let file = path.display();
    let failed = |why: &dyn std::fmt::Display| Failure::failed(format!("{file}: {why}"));
    let metadata = std::fs::metadata(path).map_err(|e| failed(&format!("cannot be read: {e}")))?;
    // Reading a device or a pipe may never end.
    if !metadata.is_file() {
        return Err(failed(
            &"expected a distribution, found a folder, device or pipe",
        ));
    }
    let size = metadata.len();
    if size > MAX_ARRAY_BYTES {
        return Err(failed(&format!(
            "expected a distribution of at most {MAX_ARRAY_BYTES} bytes, found {size}"
        )));
    }
    let bytes = std::fs::read(path).map_err(|e| failed(&format!("cannot be read: {e}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| failed(&"expected text, found bytes that are not UTF-8"))?;
    let mut pairs = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let fields: Vec<&str> = line
            .split(|c: char| c == ',' || c == ';' || c.is_whitespace())
            .filter(|field| !field.is_empty())
            .collect();
        if fields.is_empty() {
            continue;
        }
        let numbers: Vec<f64> = fields
            .iter()
            .filter_map(|field| field.parse().ok())
            .filter(|value: &f64| value.is_finite())
            .collect();
        match numbers[..] {
            [value, weight]
                if fields.len() == 2 && weight > 0.0 && !(low..=high).contains(&value) =>
            {
                return Err(failed(&format!(
                    "line {}: expected a value from {} to {} (the limits of {name}), found {}",
                    at + 1,
                    shortest(low),
                    shortest(high),
                    shortest(value)
                )));
            }
            [value, weight] if fields.len() == 2 && weight >= 0.0 => pairs.push((value, weight)),
            _ => {
                return Err(failed(&format!(
                    "line {}: expected a value and a weight, 0 or more, found {:?}",
                    at + 1,
                    line.trim()
                )));
            }
        }
    }
    if pairs.is_empty() || pairs.len() > MAX_POINTS {
        return Err(failed(&format!(
            "expected 1 to {MAX_POINTS} pairs of value and weight, found {}",
            pairs.len()
        )));
    }
    if pairs.iter().all(|(_, weight)| *weight == 0.0) {
        return Err(failed(&"expected at least one weight above 0, found none"));
    }
    Ok(pairs)
}
