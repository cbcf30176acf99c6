//! Generator of small-angle scattering files, canSAS XML and NXcanSAS, with invalid contents.
//!
//! A byte string determines the whole file, so that a fuzzer and a property test can both drive the
//! generator; zeros choose the contents of a valid file.

use hdf5_metno as hdf5;
use hdf5_metno::types::{FixedAscii, VarLenAscii, VarLenUnicode};
use ndarray::{ArrayD, IxDyn};
use std::fmt::Write as _;
use std::path::Path;
use std::str::FromStr;

/// A byte string of choices, followed by unlimited zeros.
struct Choices<'c>(&'c [u8]);

impl Choices<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A choice below `count`; 0 for a valid file.
    fn of(&mut self, count: u8) -> u8 {
        self.next() % count
    }

    /// `usual` or another value.
    fn word<'w>(&mut self, usual: &'w str, others: &[&'w str]) -> &'w str {
        let place = usize::from(self.of(24));
        match place.checked_sub(1).and_then(|i| others.get(i)) {
            Some(other) => other,
            None => usual,
        }
    }

    /// `usual` or another value.
    fn number(&mut self, usual: f64) -> f64 {
        match self.of(64) {
            1 => f64::NAN,
            2 => f64::INFINITY,
            3 => 0.0,
            4 => -usual,
            5 => 1e-320,
            6 => f64::MAX,
            7 => -1.0,
            8 => usual * 1.5,
            _ => usual,
        }
    }
}

const Q_UNITS: [&str; 8] = ["1/nm", "nm^-1", "", "A", "1/cm", "furlong", "Å^-1", "1/"];
const I_UNITS: [&str; 4] = ["1/m", "Counts", "", "none"];

/// The text of a canSAS XML file, as chosen by `bytes`.
pub fn xml(bytes: &[u8]) -> String {
    let mut choices = Choices(bytes);
    let mut text = String::from("<?xml version=\"1.0\"?>\n");
    if choices.of(24) == 1 {
        text.push_str("<!DOCTYPE a [<!ENTITY b \"0.1\"><!ENTITY c \"&b;&b;&b;\">]>\n");
    }
    let root = choices.word("SASroot", &["SASentry", "root", "s:SASroot"]);
    let space = choices.word("urn:cansas1d:1.1", &["cansas1d/1.0", "", "x"]);
    let _ = writeln!(text, "<{root} version=\"1.1\" xmlns=\"{space}\">");
    for _ in 0..1 + choices.of(3) {
        let title = choices.word("a", &["", "b", "2", "\u{1f52c}"]);
        let _ = writeln!(text, "<SASentry name=\"{title}\"><Title>{title}</Title>");
        for _ in 0..1 + choices.of(2) {
            let _ = writeln!(text, "<SASdata name=\"{title}\">");
            rows(&mut text, &mut choices);
            text.push_str("</SASdata>\n");
        }
        text.push_str("</SASentry>\n");
    }
    if choices.of(24) != 1 {
        let _ = writeln!(text, "</{root}>");
    }
    if choices.of(24) == 1 {
        let mut end = usize::from(choices.next()) * 16 % text.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}

fn rows(text: &mut String, choices: &mut Choices<'_>) {
    let count = match choices.of(16) {
        1 => 0,
        2 => 1,
        _ => 4,
    };
    let extra = choices.of(4);
    for i in 0..count {
        let usual = f64::from(i + 1) * 0.01;
        let names = [
            ("Q", 0),
            ("I", 1),
            ("Idev", 1),
            ("Qdev", 0),
            ("dQl", 0),
            ("dQw", 0),
        ];
        text.push_str("<Idata>");
        for (name, kind) in &names[..3 + usize::from(extra)] {
            if choices.of(48) == 1 {
                continue;
            }
            let unit = if *kind == 0 {
                choices.word("1/A", &Q_UNITS)
            } else {
                choices.word("1/cm", &I_UNITS)
            };
            let value = choices.number(usual);
            let shown = match choices.of(48) {
                1 => String::new(),
                2 => "&b;".to_owned(),
                3 => "<x/>".to_owned(),
                4 => "1e400".to_owned(),
                5 => "many".to_owned(),
                _ => format!("{value}"),
            };
            let _ = write!(text, "<{name} unit=\"{unit}\">{shown}</{name}>");
        }
        text.push_str("</Idata>\n");
    }
}

/// Writes a file to `path`, as chosen by `bytes`.
///
/// # Errors
/// HDF5 refuses the chosen contents.
pub fn build(path: &Path, bytes: &[u8]) -> hdf5::Result<()> {
    let mut choices = Choices(bytes);
    let file = hdf5::File::with_options()
        .with_fapl(|p| p.core_options(1 << 16, true))
        .create(path)?;
    for number in 0..1 + choices.of(2) {
        let entry = file.create_group(&format!("entry{number}"))?;
        let class = choices.word("SASentry", &["SASroot", "", "NXentry"]);
        attribute(&entry, "canSAS_class", class, &mut choices)?;
        attribute(&entry, "NX_class", "NXentry", &mut choices)?;
        if choices.of(4) == 1 {
            attribute(&entry, "title", "a", &mut choices)?;
        }
        match choices.of(12) {
            1 => entry.link_soft("/entry0", "again")?,
            2 => entry.link_soft("again", "again")?,
            3 => entry.link_external("elsewhere.h5", "/entry0", "again")?,
            _ => {}
        }
        data(&entry, &mut choices)?;
    }
    file.close()
}

/// Writes a string attribute on `on`, in one of the types that programs use.
fn attribute(
    on: &hdf5::Location,
    name: &str,
    value: &str,
    choices: &mut Choices<'_>,
) -> hdf5::Result<()> {
    let unicode = VarLenUnicode::from_str(value).unwrap_or_default();
    match choices.of(16) {
        1 => Ok(()),
        2 => {
            let text = FixedAscii::<12>::from_ascii(value.as_bytes()).unwrap_or_default();
            let attribute = on.new_attr::<FixedAscii<12>>().create(name)?;
            attribute.write_scalar(&text)
        }
        3 => {
            let attribute = on.new_attr::<VarLenUnicode>().shape(2).create(name)?;
            attribute.write_raw(&[unicode.clone(), unicode])
        }
        4 => on.new_attr::<f64>().create(name)?.write_scalar(&1.5),
        5 => on
            .new_attr::<VarLenUnicode>()
            .shape(0)
            .create(name)
            .map(drop),
        6 => {
            let text = VarLenAscii::from_ascii(value.as_bytes()).unwrap_or_default();
            on.new_attr::<VarLenAscii>()
                .create(name)?
                .write_scalar(&text)
        }
        7 => on.new_attr::<VarLenUnicode>().create(name).map(drop),
        _ => on
            .new_attr::<VarLenUnicode>()
            .create(name)?
            .write_scalar(&unicode),
    }
}

fn data(entry: &hdf5::Group, choices: &mut Choices<'_>) -> hdf5::Result<()> {
    let group = entry.create_group("data")?;
    let image = choices.of(3) == 1;
    attribute(&group, "canSAS_class", "SASdata", choices)?;
    attribute(&group, "NX_class", "NXdata", choices)?;
    let signal = choices.word("I", &["J", "../data/I", "", "Q"]);
    attribute(&group, "signal", signal, choices)?;
    let axes = if image { "Qx,Qy" } else { "Q" };
    let axes = choices.word(axes, &["Q,Q", "Qy,Qx", "Temperature,Q", ",", "Q"]);
    attribute(&group, "I_axes", axes, choices)?;
    let shape = if image { vec![3, 4] } else { vec![6] };
    numbers(&group, "I", &shape, 1.0, choices, "1/cm", &I_UNITS)?;
    if choices.of(3) != 1 {
        let name = choices.word("Idev", &["", "Q", "none", "I"]);
        if let Ok(intensity) = group.dataset("I") {
            attribute(&intensity, "uncertainties", name, choices)?;
        }
        numbers(&group, "Idev", &shape, 0.1, choices, "1/cm", &I_UNITS)?;
    }
    if image {
        let axis = choices.of(4) == 1;
        let (x, y) = if axis {
            (vec![4], vec![3])
        } else {
            (shape.clone(), shape.clone())
        };
        numbers(&group, "Qx", &x, 0.01, choices, "1/A", &Q_UNITS)?;
        numbers(&group, "Qy", &y, 0.02, choices, "1/A", &Q_UNITS)?;
        if choices.of(3) == 1 {
            numbers(&group, "dQx", &shape, 0.001, choices, "1/A", &Q_UNITS)?;
            numbers(&group, "dQy", &shape, 0.001, choices, "1/A", &Q_UNITS)?;
        }
        return Ok(());
    }
    numbers(&group, "Q", &shape, 0.01, choices, "1/A", &Q_UNITS)?;
    let names: &[&str] = match choices.of(4) {
        1 => &["Qdev"],
        2 => &["dQl", "dQw"],
        3 => &["dQl"],
        _ => &[],
    };
    for name in names {
        numbers(&group, name, &shape, 0.001, choices, "1/A", &Q_UNITS)?;
    }
    if choices.of(3) == 1
        && let Ok(q) = group.dataset("Q")
    {
        let name = choices.word("Qdev", &["dQw,dQl", "", "none", ",,"]);
        attribute(&q, "resolutions", name, choices)?;
    }
    Ok(())
}

fn numbers(
    group: &hdf5::Group,
    name: &str,
    shape: &[usize],
    usual: f64,
    choices: &mut Choices<'_>,
    unit: &str,
    units: &[&'static str],
) -> hdf5::Result<()> {
    let mut shape = shape.to_vec();
    match choices.of(48) {
        1 => shape.push(1),
        2 => shape = vec![0],
        3 => shape = vec![],
        4 => shape[0] += 1,
        5 => shape = vec![1, 6, 1],
        6 => shape.reverse(),
        _ => {}
    }
    let length: usize = shape.iter().product();
    let values: Vec<f64> = (0..length)
        .map(|i| choices.number(usual * (i + 1) as f64))
        .collect();
    let failed = |e: ndarray::ShapeError| hdf5::Error::from(e.to_string());
    let array = ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(failed)?;
    match choices.of(24) {
        1 => return Ok(()),
        2 => return group.create_group(name).map(drop),
        3 => return group.link_soft(name, name),
        4 => {
            let single = array.mapv(|v| v as f32);
            let builder = group.new_dataset_builder().with_data(single.view());
            builder.create(name)?;
        }
        5 => {
            let whole = array.mapv(|v| v as i16);
            let builder = group.new_dataset_builder().with_data(whole.view());
            builder.create(name)?;
        }
        6 => {
            let text = array.mapv(|v| VarLenUnicode::from_str(&v.to_string()).unwrap_or_default());
            let builder = group.new_dataset_builder().with_data(text.view());
            builder.create(name)?;
        }
        7 => {
            let side = 1_usize << choices.of(45);
            let chunk = side.min(1 << choices.of(20));
            let builder = group.new_dataset::<f64>().chunk(chunk);
            builder.shape(side).create(name)?;
        }
        8 if !shape.is_empty() && !shape.contains(&0) => {
            let builder = group.new_dataset_builder().chunk(vec![1; shape.len()]);
            let builder = builder.deflate(2).with_data(array.view());
            builder.create(name)?;
        }
        _ => {
            let builder = group.new_dataset_builder().with_data(array.view());
            builder.create(name)?;
        }
    }
    let unit = choices.word(unit, units);
    attribute(&*group.dataset(name)?, "units", unit, choices)
}
