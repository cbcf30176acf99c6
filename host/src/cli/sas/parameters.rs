//! `--set` and `--pd`: values and distributions of a model's parameters.

use super::names;
use crate::cli::failure::Failure;
use std::path::{Path, PathBuf};
use warpstride::sas::dispersion::MOST_POINTS;
use warpstride::sas::mesh::MOST_SPREADS;
use warpstride::sas::{Definition, Distribution, Role, Spread};

/// Bytes of a file with a distribution, at most: two columns of [`MOST_POINTS`] numbers with room for comments.
const LARGEST_ARRAY: u64 = 64 * MOST_POINTS as u64;

/// `NAME=VALUE` of a list, and of lists in a row, parted by commas or spaces.
pub(super) fn items(lists: &[String]) -> impl Iterator<Item = &str> {
    lists
        .iter()
        .flat_map(|list| list.split(|c: char| c == ',' || c.is_whitespace()))
        .filter(|item| !item.is_empty())
}

/// A finite number.
pub(super) fn number(option: &str, text: &str, what: &str) -> Result<f64, Failure> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(Failure::usage(format!(
            "{option}: found {text:?}; {what} is expected"
        ))),
    }
}

/// The values of all parameters: defaults, and what `--set` says.
pub(super) fn values(definition: &Definition, set: &[String]) -> Result<Values, Failure> {
    let mut values = definition.defaults();
    let mut typed = vec![false; values.len()];
    for item in items(set) {
        let option = format!("--set {item}");
        let Some((name, text)) = item.split_once('=') else {
            return Err(Failure::usage(format!(
                "{option}: NAME=VALUE is expected, like radius=60"
            )));
        };
        refuse_width(definition, &option, name)?;
        let place = names::place(definition, &option, name)?;
        let row = &definition.rows()[place];
        let value = number(&option, text, "a number")?;
        let (low, high) = row.limits;
        if !(low..=high).contains(&value) {
            return Err(Failure::usage(format!(
                "{option}: {name} of {} is from {low} to {high}",
                definition.name()
            )));
        }
        if matches!(
            row.role,
            Role::StructureFactorMode | Role::RadiusEffectiveMode
        ) && value.fract() != 0.0
        {
            return Err(Failure::usage(format!(
                "{option}: a whole number from {low} to {high} is expected"
            )));
        }
        if std::mem::replace(&mut typed[place], true) {
            return Err(Failure::usage(format!(
                "{option}: {name} has a value from another --set already"
            )));
        }
        values[place] = value;
    }
    Ok(Values { values, typed })
}

/// A value for every parameter.
#[derive(Debug, Clone)]
pub(super) struct Values {
    pub(super) values: Vec<f64>,
    /// Which of them were typed.
    pub(super) typed: Vec<bool>,
}

impl Values {
    /// Which of them change something; `pixels`: in two dimensions.
    pub(super) fn effective(&self, definition: &Definition, pixels: bool) -> Vec<bool> {
        let rows = definition.rows();
        let own_radius = rows
            .iter()
            .zip(&self.values)
            .any(|(row, value)| row.role == Role::RadiusEffectiveMode && *value > 0.0);
        rows.iter()
            .map(|row| match row.role {
                Role::Angle(_) | Role::Spin(_) | Role::Moment { .. } => pixels,
                Role::Structure(0) => !own_radius,
                _ => true,
            })
            .collect()
    }

    /// What was typed and changes nothing, in sentences; `pixels`: in two dimensions.
    pub(super) fn without_effect(&self, definition: &Definition, pixels: bool) -> Vec<String> {
        let effective = self.effective(definition, pixels);
        let rows = definition.rows().iter().zip(&self.typed).zip(effective);
        rows.filter(|((_, typed), effective)| **typed && !effective)
            .map(|((row, _), _)| {
                let name = &row.name;
                match row.role {
                    Role::Angle(_) => format!(
                        "--set {name}: a curve is the mean over all directions, on which angles have no effect; --q2d computes an image"
                    ),
                    Role::Structure(_) => format!(
                        "--set {name}: not used, because the form factor gives the radius; radius_effective_mode=0 uses it"
                    ),
                    _ => format!(
                        "--set {name}: magnetism is computed in two dimensions only (--q2d) and has no effect on a curve"
                    ),
                }
            })
            .collect()
    }
}

/// A name like `radius_pd` is a width.
fn refuse_width(definition: &Definition, option: &str, name: &str) -> Result<(), Failure> {
    if let Some(of) = name.strip_suffix("_pd")
        && definition.place(of).is_ok()
        && definition.place(name).is_err()
    {
        return Err(Failure::usage(format!(
            "{option}: {name} is a width: --pd {of}=WIDTH:KIND is expected"
        )));
    }
    Ok(())
}

/// A `--pd` as typed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Typed {
    option: String,
    place: usize,
    name: String,
    width: f64,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Known {
        distribution: Distribution,
        points: usize,
        nsigma: f64,
    },
    File(PathBuf),
}

impl Typed {
    /// The file of an array.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.shape {
            Shape::File(path) => Some(path),
            Shape::Known { .. } => None,
        }
    }

    /// The spread and its width, from the file where there is one.
    pub(super) fn read(&self) -> Result<(Spread, f64), Failure> {
        let spread = match &self.shape {
            Shape::Known {
                distribution,
                points,
                nsigma,
            } => Spread {
                parameter: self.place,
                distribution: distribution.clone(),
                points: *points,
                nsigma: *nsigma,
            },
            Shape::File(path) => {
                let distribution = Distribution::Array(array(path)?);
                let (points, nsigma) = distribution.default_mesh();
                Spread {
                    parameter: self.place,
                    distribution,
                    points,
                    nsigma,
                }
            }
        };
        Ok((spread, self.width))
    }

    /// As it can be typed again, complete, with another width.
    pub(super) fn words(&self, width: f64) -> String {
        let name = &self.name;
        match &self.shape {
            Shape::File(path) => format!("{name}=array:{}", path.display()),
            Shape::Known {
                distribution,
                points,
                nsigma,
            } => {
                let reach = match distribution {
                    Distribution::Uniform => String::new(),
                    _ => format!(":{nsigma}"),
                };
                format!("{name}={width}:{}:{points}{reach}", word(distribution))
            }
        }
    }

    /// Place of the parameter in the model's table.
    pub(super) fn place(&self) -> usize {
        self.place
    }
}

/// As in `--pd`.
pub(super) fn word(distribution: &Distribution) -> &'static str {
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

/// What `--pd` says; `pixels`: in two dimensions.
pub(super) fn spreads(
    definition: &Definition,
    typed: &[String],
    pixels: bool,
) -> Result<Vec<Typed>, Failure> {
    let mut spreads: Vec<Typed> = Vec::new();
    for text in typed {
        let spread = spread(definition, text, pixels)?;
        if spreads.iter().any(|other| other.place == spread.place) {
            return Err(Failure::usage(format!(
                "{}: {} has a distribution from another --pd already",
                spread.option, spread.name
            )));
        }
        spreads.push(spread);
    }
    if spreads.len() > MOST_SPREADS {
        return Err(Failure::usage(format!(
            "--pd: {} parameters have a distribution; {MOST_SPREADS} at most are possible",
            spreads.len()
        )));
    }
    Ok(spreads)
}

fn spread(definition: &Definition, text: &str, pixels: bool) -> Result<Typed, Failure> {
    let option = format!("--pd {text}");
    let refuse = |why: String| Err(Failure::usage(format!("{option}: {why}")));
    let Some((name, shape)) = text.split_once('=') else {
        return refuse(
            "NAME=WIDTH:KIND is expected, like radius=0.1:gaussian or theta=15:gaussian:15:3"
                .to_owned(),
        );
    };
    let place = names::place(definition, &option, name)?;
    let row = &definition.rows()[place];
    if !row.spreads {
        let others: Vec<&str> = definition
            .rows()
            .iter()
            .filter(|row| row.spreads)
            .map(|row| row.name.as_str())
            .collect();
        return refuse(if others.is_empty() {
            format!(
                "no parameter of {} can have a distribution",
                definition.name()
            )
        } else {
            format!(
                "{name} of {} cannot have a distribution; those that can: {}",
                definition.name(),
                others.join(", ")
            )
        });
    }
    let angle = matches!(row.role, Role::Angle(_));
    if angle && !pixels {
        return refuse(format!(
            "{name} is an angle, and a curve is the mean over all directions; --q2d computes an image"
        ));
    }
    let typed = |width, shape| Typed {
        option: option.clone(),
        place,
        name: name.to_owned(),
        width,
        shape,
    };
    if let Some(path) = array_file(shape) {
        if path.is_empty() {
            return refuse("the name of a file is expected after array:".to_owned());
        }
        return Ok(typed(0.0, Shape::File(PathBuf::from(path))));
    }
    let mut parts = shape.split(':');
    let width_text = parts.next().unwrap_or_default();
    let what = if angle {
        "a width in degrees, 0 or more,"
    } else {
        "a relative width, 0 or more (0.1: a tenth of the value),"
    };
    let width = number(&option, width_text, what)?;
    if width < 0.0 {
        return refuse(format!("found the width {width}; {what} is expected"));
    }
    let distribution = match parts.next() {
        None => Distribution::Gaussian,
        Some(word) => kind(word).ok_or_else(|| {
            Failure::usage(format!(
                "{option}: found the distribution {word:?}; gaussian, rectangle, uniform, lognormal, schulz, boltzmann or array:FILE is expected"
            ))
        })?,
    };
    let (mut points, mut nsigma) = distribution.default_mesh();
    if let Some(text) = parts.next() {
        points = match text.parse() {
            Ok(points) if (1..=MOST_POINTS).contains(&points) => points,
            _ => {
                return refuse(format!(
                    "found {text:?} points; a whole number from 1 to {MOST_POINTS} is expected"
                ));
            }
        };
    }
    if let Some(text) = parts.next() {
        nsigma = number(
            &option,
            text,
            "the reach of the mesh in standard deviations, above 0,",
        )?;
        if nsigma <= 0.0 {
            return refuse(format!(
                "found a reach of {nsigma} standard deviations; a number above 0 is expected"
            ));
        }
        if distribution == Distribution::Uniform {
            return refuse(
                "uniform reaches to one standard deviation on either side; it takes no NSIGMA"
                    .to_owned(),
            );
        }
    }
    if parts.next().is_some() {
        return refuse("NAME=WIDTH:KIND:POINTS:NSIGMA is all that is expected".to_owned());
    }
    if angle && matches!(distribution, Distribution::LogNormal | Distribution::Schulz) {
        return refuse(format!(
            "{} is a distribution of sizes, not of angles",
            word(&distribution)
        ));
    }
    Ok(typed(
        width,
        Shape::Known {
            distribution,
            points,
            nsigma,
        },
    ))
}

/// FILE of `array:FILE` or, because the other kinds have a width, of `WIDTH:array:FILE`.
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

fn kind(word: &str) -> Option<Distribution> {
    Some(match word {
        "gaussian" => Distribution::Gaussian,
        "rectangle" => Distribution::Rectangle,
        "uniform" => Distribution::Uniform,
        "lognormal" => Distribution::LogNormal,
        "schulz" => Distribution::Schulz,
        "boltzmann" => Distribution::Boltzmann,
        _ => return None,
    })
}

/// Values and weights: two columns, comments after `#`.
fn array(path: &Path) -> Result<Vec<(f64, f64)>, Failure> {
    let file = path.display();
    let failed = |why: &dyn std::fmt::Display| Failure::failed(format!("{file}: {why}"));
    let size = std::fs::metadata(path)
        .map_err(|e| failed(&format!("cannot be read: {e}")))?
        .len();
    if size > LARGEST_ARRAY {
        return Err(failed(&format!(
            "{size} bytes are too many for a distribution; {LARGEST_ARRAY} at most are read"
        )));
    }
    let bytes = std::fs::read(path).map_err(|e| failed(&format!("cannot be read: {e}")))?;
    let text = String::from_utf8(bytes).map_err(|_| failed(&"is no text"))?;
    let mut pairs = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line
            .split(|c: char| c == ',' || c == ';' || c.is_whitespace())
            .filter(|word| !word.is_empty())
            .collect();
        if words.is_empty() {
            continue;
        }
        let numbers: Vec<f64> = words
            .iter()
            .filter_map(|word| word.parse().ok())
            .filter(|value: &f64| value.is_finite())
            .collect();
        match numbers[..] {
            [value, weight] if words.len() == 2 && weight >= 0.0 => pairs.push((value, weight)),
            _ => {
                return Err(failed(&format!(
                    "line {}: found {:?}; a value and a weight, 0 or more, are expected",
                    at + 1,
                    line.trim()
                )));
            }
        }
    }
    if pairs.is_empty() || pairs.len() > MOST_POINTS {
        return Err(failed(&format!(
            "{} pairs of value and weight; 1 to {MOST_POINTS} are expected",
            pairs.len()
        )));
    }
    if pairs.iter().all(|(_, weight)| *weight == 0.0) {
        return Err(failed(
            &"every weight is 0; some weight above 0 is expected",
        ));
    }
    Ok(pairs)
}
