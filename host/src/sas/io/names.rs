//! Names of columns in a line of text, with their meanings and units.

use super::units;

/// Meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Q,
    Qx,
    Qy,
    Intensity,
    /// σ(I).
    Sigma,
    /// σ(q).
    Width,
    /// σ of a pixel's q along and across its direction, or along qx and qy.
    WidthAlong,
    WidthAcross,
    /// A coordinate that is not q.
    Foreign(Foreign),
    /// Something that is not read: numbers of rows, qz, shadow, an unknown name.
    Unused,
}

/// A coordinate from which q follows only with other numbers, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Foreign {
    Angle,
    Radius,
    Azimuth,
    Logarithm,
    SpinEcho,
    Correlation,
    Wavelength,
    Energy,
    Time,
    Spacing,
    Power,
    /// Another function of I: its inverse or a root.
    OfIntensity,
    HalfS,
    Number,
}

impl Foreign {
    /// Whether its name alone says so, which does not occur in other lines of a header.
    pub(super) fn is_named_alone(self) -> bool {
        use Foreign::{Angle, Azimuth, Logarithm, Radius, SpinEcho};
        matches!(self, Angle | Azimuth | Logarithm | Radius | SpinEcho)
    }

    /// What the column has in the place of q or I, and what is needed instead.
    pub(super) fn messages(self) -> (&'static str, &'static str) {
        match self {
            Self::Angle => (
                "an angle",
                "q in 1/Å or 1/nm (q = 4π sin(θ)/λ with half the scattering angle needs the wavelength)",
            ),
            Self::Radius => (
                "a distance on the detector",
                "q in 1/Å or 1/nm (which needs the wavelength and the distance of the detector)",
            ),
            Self::Azimuth => ("an azimuth", "q in 1/Å or 1/nm"),
            Self::Logarithm => ("a logarithm", "q and I themselves"),
            Self::SpinEcho => (
                "a spin-echo length (SESANS)",
                "q in 1/Å or 1/nm: models are not transformed to SESANS",
            ),
            Self::Correlation => (
                "a length in real space",
                "q in 1/Å or 1/nm: models are not transformed to SESANS",
            ),
            Self::Wavelength => ("a wavelength", "q in 1/Å or 1/nm (q = 4π sin(θ)/λ)"),
            Self::Energy => ("an energy", "q in 1/Å or 1/nm"),
            Self::Time => ("a time", "q in 1/Å or 1/nm"),
            Self::Spacing => ("a spacing d", "q = 2π/d in 1/Å or 1/nm"),
            Self::Power => ("a power of q or a product with it", "q and I themselves"),
            Self::OfIntensity => ("a function of the intensity", "q and I themselves"),
            Self::HalfS => ("sin(θ)/λ or 2 sin(θ)/λ", "q = 4π sin(θ)/λ in 1/Å or 1/nm"),
            Self::Number => ("a number of a row, pixel or channel", "q in 1/Å or 1/nm"),
        }
    }
}

/// A name in a header, with its unit if there is one: `Q (1/nm)`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) role: Option<Role>,
    pub(super) unit: Option<String>,
    /// Whether it is σ as a function of q, `sigma(q)`: that of q or that of I(q).
    pub(super) of_q: bool,
    /// σ(I) as a share of I, or in percent of it: the factor of I.
    pub(super) relative: Option<f64>,
}

/// Words for a standard deviation.
const SIGMA: [&str; 27] = [
    "sigma",
    "sigmas",
    "sig",
    "σ",
    "err",
    "errs",
    "error",
    "errors",
    "errorbar",
    "errorbars",
    "d",
    "δ",
    "δ",
    "delta",
    "dev",
    "std",
    "sd",
    "stddev",
    "stdev",
    "standarddeviation",
    "esd",
    "unc",
    "uncert",
    "uncertainty",
    "uncertainties",
    "e",
    "s",
];
/// Those that are too short to follow what they belong to: `is`, `id`.
const SHORT: [&str; 5] = ["d", "e", "s", "δ", "δ"];
/// Names of the intensity: those of I(q) itself come first, and then those that also stand for what it was made from.
const INTENSITY: [&str; 23] = [
    "i",
    "iq",
    "iofq",
    "iqxqy",
    "intensity",
    "intensities",
    "int",
    "crosssection",
    "dsigmadomega",
    "dσdω",
    "absint",
    "iexp",
    "jexp",
    "isub",
    "isubtracted",
    "icorrected",
    "counts",
    "count",
    "y",
    "signal",
    "exp",
    "measured",
    "data",
];
/// The number of names of I(q) itself.
const OF_Q: usize = 16;
const Q: [&str; 17] = [
    "q",
    "|q|",
    "qvalue",
    "qvalues",
    "x",
    "qmean",
    "meanq",
    "qbar",
    "modq",
    "scatteringvector",
    "scatteringvectorq",
    "momentumtransfer",
    "momentumtransferq",
    "wavevector",
    "qvector",
    "qsasdata",
    "qdata",
];
const UNUSED: [&str; 35] = [
    "n",
    "index",
    "idx",
    "id",
    "bin",
    "no",
    "nr",
    "num",
    "number",
    "row",
    "point",
    "points",
    "pt",
    "pixel",
    "pixels",
    "npix",
    "npts",
    "qz",
    "shadow",
    "shadowfactor",
    "fsubs",
    "mask",
    "meanqshadow",
    "model",
    "fit",
    "ifit",
    "residual",
    "residuals",
    "ymodel",
    "weight",
    "channel",
    "channels",
    "ch",
    "jreg",
    "ireg",
];

/// The standard deviation of one of `quantities`, in a name of letters.
fn is_sigma_of(name: &str, quantities: &[&str]) -> bool {
    quantities.iter().any(|of| {
        let before = name.strip_suffix(of);
        let after = name.strip_prefix(of);
        before.is_some_and(|word| SIGMA.contains(&word))
            || after.is_some_and(|word| SIGMA.contains(&word) && !SHORT.contains(&word))
    })
}

/// Meaning of a name in lower case without anything but letters, digits and `|`.
fn role(name: &str) -> Option<Role> {
    let foreign = |of| Some(Role::Foreign(of));
    match name {
        "qx" => return Some(Role::Qx),
        "qy" => return Some(Role::Qy),
        // S(q) is a structure factor, and e(q) no usual name.
        "sq" | "eq" | "ex" | "sx" | "d" | "δ" | "delta" | "dev" => return None,
        "2theta" | "twotheta" | "theta" | "2θ" | "θ" | "tth" | "2th" | "ttheta" | "2thdeg"
        | "angle" | "scatteringangle" => return foreign(Foreign::Angle),
        "r" | "radius" | "distance" => return foreign(Foreign::Radius),
        "chi" | "χ" | "azimuth" | "phi" | "azimuthalangle" => return foreign(Foreign::Azimuth),
        _ if name.starts_with("spinecho") || name == "sel" => return foreign(Foreign::SpinEcho),
        "lambda" | "λ" | "wavelength" | "wavelengths" => return foreign(Foreign::Wavelength),
        "energy" => return foreign(Foreign::Energy),
        "time" | "tof" | "timeofflight" => return foreign(Foreign::Time),
        "porod" | "kratky" => return foreign(Foreign::Power),
        "guinier" => return foreign(Foreign::Logarithm),
        "zimm" => return foreign(Foreign::OfIntensity),
        _ if is_product(name) => return foreign(Foreign::Power),
        "ierr" | "idev" | "sigmaint" | "resolutioni" => return Some(Role::Sigma),
        "dsigq" | "qresolution" | "qres" | "resolution" | "res" => return Some(Role::Width),
        _ => {}
    }
    let logarithm = ["log10", "log", "lg", "ln"];
    let of_logarithm = logarithm.iter().find_map(|word| name.strip_prefix(word));
    let is_known = |of: &str| Q.contains(&of) || INTENSITY.contains(&of) || is_product(of);
    if of_logarithm.is_some_and(is_known) {
        return foreign(Foreign::Logarithm);
    }
    let is_along = |ends: &[&str]| {
        let axes: Vec<String> = ends.iter().map(|end| format!("q{end}")).collect();
        is_sigma_of(name, &axes.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // Of several frames: I_0, I_1.
    let frame = name
        .strip_prefix('i')
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()));
    if Q.contains(&name) {
        Some(Role::Q)
    } else if INTENSITY.contains(&name) || frame {
        Some(Role::Intensity)
    } else if UNUSED.contains(&name) {
        Some(Role::Unused)
    } else if SIGMA.contains(&name) || is_sigma_of(name, &INTENSITY) {
        Some(Role::Sigma)
    } else if is_sigma_of(name, &Q) {
        Some(Role::Width)
    } else if is_along(&["x", "par", "para", "parall", "parallel", "along"]) {
        Some(Role::WidthAlong)
    } else if is_along(&["y", "perp", "perpend", "perpendicular", "across"]) {
        Some(Role::WidthAcross)
    } else {
        None
    }
}

/// Whether a name of letters and digits is the product of the intensity and a power of q: `iq4`.
fn is_product(name: &str) -> bool {
    let is_power = |rest: &str| {
        let digit = rest.strip_prefix('q');
        digit.is_some_and(|digit| ["2", "3", "4", "²", "³", "⁴"].contains(&digit))
    };
    let mut intensities = INTENSITY[..OF_Q].iter();
    intensities.any(|of| {
        let power = name.strip_prefix(of).or_else(|| name.strip_suffix(of));
        power.is_some_and(is_power)
    })
}

/// What a name that is written as a formula of the intensity means: `I*q`, `1/I`, `sqrt(I)`.
fn role_of_formula(text: &str) -> Option<Role> {
    let is_intensity = |part: &str| INTENSITY[..OF_Q].contains(&letters(part).as_str());
    let is_power = |part: &str| part.trim_start().starts_with(['q', 'Q']) && !is_intensity(part);
    let factors = || text.split(['*', '·', '⋅', '×']);
    if factors().any(is_intensity) && factors().any(is_power) {
        return Some(Role::Foreign(Foreign::Power));
    }
    let lower = text.to_lowercase();
    let inner = ["1/", "sqrt", "√"]
        .iter()
        .find_map(|function| lower.strip_prefix(function))
        .or_else(|| {
            let (base, exponent) = lower.split_once('^')?;
            let is_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '−' | '+' | '(');
            exponent.starts_with(is_number).then_some(base)
        });
    let of_intensity = inner.is_some_and(is_intensity);
    of_intensity.then_some(Role::Foreign(Foreign::OfIntensity))
}

/// What a name means in the first column, if it has another meaning elsewhere or none: `s I err`.
pub(super) fn role_in_front(name: &str) -> Option<Role> {
    let foreign = |of| Some(Role::Foreign(of));
    match name {
        // ATSAS calls q = 4π sin(θ)/λ s; h and k are older names of it.
        "s" | "sexp" | "h" | "k" => Some(Role::Q),
        "d" | "da" | "dspacing" => foreign(Foreign::Spacing),
        "delta" | "δ" | "z" => foreign(Foreign::Correlation),
        "q2" | "qsq" | "qsquared" | "qsquare" | "q4" => foreign(Foreign::Power),
        _ if ["4pisin", "4πsin"].iter().any(|of| name.contains(of)) => Some(Role::Q),
        _ if name.contains("sintheta") || name.contains("sinθ") => foreign(Foreign::HalfS),
        _ => None,
    }
}

/// Names of quantities that are functions of q, or of r, and no intensities.
const OTHERS: [&str; 24] = [
    "sq",
    "sofq",
    "structurefactor",
    "structfactor",
    "fq",
    "fofq",
    "amplitude",
    "gr",
    "gofr",
    "pr",
    "pofr",
    "tq",
    "t",
    "transmission",
    "trans",
    "absorbance",
    "absorption",
    "chiq",
    "betaq",
    "beta",
    "phase",
    "ratio",
    "reflectivity",
    "visibility",
];

/// Whether a name is that of a quantity other than an intensity.
pub(super) fn is_other_quantity(name: &str) -> bool {
    OTHERS.contains(&name)
}

/// Whether a name that is not known may be that of an intensity: `I_abs`, `Intensität`, `cps`.
pub(super) fn may_be_intensity(name: &str) -> bool {
    let starts = ["i", "abs", "cts", "cps", "cnt", "scatt", "sample"];
    !is_other_quantity(name) && starts.iter().any(|start| name.starts_with(start))
}

/// How surely a name of an intensity stands for I(q): the least is the surest.
pub(super) fn rank_of_intensity(name: &str) -> usize {
    match INTENSITY[..OF_Q].contains(&name) {
        true => 0,
        false => 1 + usize::from(INTENSITY.contains(&name)),
    }
}

/// Words before the names in files of NIST: `Data columns are Qx - Qy - …`.
const PREFIXES: [&str; 8] = [
    "data",
    "columns",
    "column",
    "are",
    "names",
    "ascii",
    "the",
    "variables",
];
/// Words of a sentence, which a line of names does not have.
const SENTENCE: [&str; 16] = [
    "and", "vs", "versus", "in", "of", "is", "as", "for", "with", "to", "by", "from", "at", "per",
    "on", "this",
];
const QUOTES: [char; 11] = ['"', '\'', '<', '>', '#', '%', '!', ':', '=', '*', '.'];
const BRACKETS: [char; 6] = ['(', ')', '[', ']', '{', '}'];

/// The names of a line of `columns` names: its cells between bars, tabs, commas or semicolons if
/// there are as many, otherwise its words.
pub(super) fn names(line: &str, columns: usize) -> Vec<Name> {
    for separator in ['|', '\t', ';', ','] {
        let mut cells = cells(line, separator);
        // Text before the first bar introduces the names: `The columns are | Q | I |`.
        if separator == '|' && cells.len() == columns + 1 {
            cells.remove(0);
        }
        if cells.len() == columns && columns > 1 {
            return cells.into_iter().map(name).collect();
        }
    }
    let words = of_words(line);
    if words.len() <= columns {
        return words;
    }
    let cells = line.split("  ").filter(|cell| !bare(cell).is_empty());
    if cells.clone().count() == columns {
        return cells.map(name).collect();
    }
    // Names of several words: `Scattering vector (1/A)`, or `J EXP` as GNOM writes.
    let mut joined: Vec<Name> = Vec::new();
    for word in words {
        match joined.last_mut() {
            Some(last) if PAIRS.contains(&[&last.text, &word.text]) => {
                last.text += &word.text;
                last.role = role(&last.text);
                last.unit = word.unit;
            }
            _ => joined.push(word),
        }
    }
    joined
}

/// Pairs of words that name one column.
const PAIRS: [[&str; 2]; 6] = [
    ["scattering", "vector"],
    ["momentum", "transfer"],
    ["wave", "vector"],
    ["j", "exp"],
    ["j", "reg"],
    ["i", "reg"],
];

/// The cells of a line that are not empty; none without the separator.
fn cells(line: &str, separator: char) -> Vec<&str> {
    let mut cells: Vec<&str> = Vec::new();
    let (mut depth, mut start) = (0_u32, 0);
    for (at, c) in line.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            c if c == separator && depth == 0 => {
                cells.push(&line[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if cells.is_empty() {
        return cells;
    }
    cells.push(&line[start..]);
    cells.retain(|cell| !bare(cell).is_empty());
    cells
}

/// A cell or word without quotes and comment signs around it.
fn bare(cell: &str) -> &str {
    cell.trim_matches(|c: char| c.is_whitespace() || QUOTES.contains(&c) && c != '%')
        .trim_start_matches('%')
        .trim_start()
}

/// The words of a line as names of columns. Brackets hold a unit, or an argument such as that of
/// `I(Qx,Qy)`; a unit may also follow the name after a blank or a slash.
fn of_words(line: &str) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for word in words(line) {
        // A unit of its own belongs to the name before it.
        let unit = bare(word).trim_matches(BRACKETS);
        let in_brackets = bare(word).starts_with(BRACKETS) && is_foreign_unit(unit);
        if is_unit(unit) || unit == "%" || in_brackets {
            if let Some(last) = names.last_mut() {
                last.unit.get_or_insert(unit.to_owned());
                last.set_percent(unit == "%");
            }
            continue;
        }
        let name = name(word);
        if name.text.trim_matches('|').is_empty() {
            continue;
        }
        if names.is_empty() && PREFIXES.contains(&name.text.as_str()) {
            continue;
        }
        names.push(name);
    }
    names
}

/// Whether the names are words of a sentence.
pub(super) fn is_sentence(names: &[Name]) -> bool {
    (names.iter()).any(|name| SENTENCE.contains(&name.text.as_str()))
}

/// Where the outermost bracket begins that ends the text.
fn last_bracket(text: &str) -> Option<usize> {
    let mut depth = 0;
    let bracket = text.char_indices().rev().find(|(_, c)| {
        match c {
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' => depth -= 1,
            _ => {}
        }
        depth <= 0
    });
    bracket
        .map(|(at, _)| at)
        .filter(|_| text.ends_with([')', ']', '}']))
}

/// A name with its unit, if it has one.
fn name(cell: &str) -> Name {
    let mut rest = bare(cell);
    let mut unit = None;
    // Brackets at the end, unless they hold an argument.
    while let Some(at) = last_bracket(rest)
        && at > 0
    {
        let inside = rest[at + 1..rest.len() - 1].trim();
        // The exponent of `q_nm^{-1}` is part of a unit.
        if is_argument(inside) || rest[..at].ends_with('^') {
            break;
        }
        unit = Some(inside.to_owned());
        rest = rest[..at].trim_end();
    }
    let plain = rest.find(['(', '[', '{']).is_none();
    // `Q/nm^-1` is the quotient of a quantity and its unit, and `q_nm^-1` has it behind a line.
    let joined = |separator: char, is_unit: &dyn Fn(&str) -> bool| {
        let mut at = rest.match_indices(separator);
        at.find(|(at, _)| *at > 0 && is_unit(&rest[at + 1..]))
            .map(|(at, _)| at)
    };
    let known = |unit: &str| is_unit(unit) || is_foreign_unit(unit);
    let braces = |unit: &str| units::of_q(unit).is_some();
    if unit.is_none()
        && let Some(at) = joined('/', &is_unit)
            .or_else(|| joined('_', &known))
            .or_else(|| joined('.', &is_unit))
            .filter(|_| plain)
            .or_else(|| joined('_', &braces))
    {
        unit = Some(rest[at + 1..].to_owned());
        rest = &rest[..at];
    }
    // `qnm-1`.
    if let (None, Some(after)) = (&unit, rest.strip_prefix(['q', 'Q']))
        && units::of_q(after).is_some()
    {
        unit = Some(after.to_owned());
        rest = &rest[..1];
    }
    let text = letters(rest);
    // dI/I, or a relative error.
    let quotient = rest
        .split_once('/')
        .map(|(of, by)| (letters(of), letters(by)));
    let shares = ["relative", "rel", "fractional", "percent", "pct"];
    let share = shares.iter().find_map(|word| text.strip_prefix(word));
    let (text, factor) = match (quotient, share) {
        (Some((of, by)), _) if INTENSITY.contains(&by.as_str()) && of != "1" => (of, Some(1.0)),
        (_, Some(of)) if text.starts_with('p') => (of.to_owned(), Some(0.01)),
        (_, Some(of)) => (of.to_owned(), Some(1.0)),
        _ => (text, None),
    };
    let role = role_of_formula(rest).or_else(|| role(&text));
    let mut name = Name {
        of_q: role == Some(Role::Width) && rest.contains('('),
        relative: factor.filter(|_| role == Some(Role::Sigma)),
        role,
        unit: None,
        text,
    };
    let said = bare(cell).to_lowercase();
    name.set_percent(said.contains('%') || said.contains("percent"));
    name.unit = unit;
    name
}

impl Name {
    /// Takes a standard deviation for one in percent if the name or its unit says so.
    fn set_percent(&mut self, says_so: bool) {
        if says_so && self.role == Some(Role::Sigma) {
            self.relative = Some(0.01);
        }
    }
}

/// Whether brackets hold an argument, as in `I(Qx,Qy)` or `err(I)`, and no unit.
fn is_argument(inside: &str) -> bool {
    let text = letters(inside);
    let is_known = INTENSITY.contains(&text.as_str()) || Q.contains(&text.as_str());
    text == "qxqy" || is_known || is_product(&text)
}

/// The text in lower case without anything but letters, digits and `|`.
pub(super) fn letters(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric() || *c == '|')
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether a word is an inverse length, in any usual form but that of a name.
fn is_unit(word: &str) -> bool {
    units::of_q(word).is_some() || units::of_intensity(word).is_some()
}

/// Whether a word is the unit of an angle or of a distance on a detector.
fn is_foreign_unit(word: &str) -> bool {
    [
        "deg", "rad", "mrad", "degree", "degrees", "mm", "cm", "m", "pixel", "pixels", "px", "nm",
        "um", "µm", "μm", "mum", "å", "kev", "mev", "ev", "ms", "us", "angstrom", "ang",
    ]
    .contains(&word.to_lowercase().as_str())
}

/// The words of a line, which blanks, commas and semicolons outside of brackets separate; a bracket
/// belongs to the word before it.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut depth, mut start) = (0_u32, None);
    for (at, c) in line.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c.is_whitespace() || matches!(c, ',' | ';')) {
            if let Some(start) = start.take() {
                words.push(&line[start..at]);
            }
        } else if start.is_none() {
            start = Some(at);
        }
    }
    words.extend(start.map(|start| &line[start..]));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(line: &str, columns: usize) -> Vec<Option<Role>> {
        names(line, columns)
            .into_iter()
            .map(|name| name.role)
            .collect()
    }

    #[test]
    fn standard_deviations_of_intensities_have_many_names() {
        for name in [
            "sigma",
            "Sig",
            "err(I)",
            "Error",
            "dI",
            "I_error",
            "s(I)",
            "sd",
            "ErrorI",
            "std",
            "dI(q)",
            "sigma_I",
            "I_sigma",
            "IError",
            "Std. Dev. I(Q) (1/cm)",
            "uncertainty",
            "I_err",
            "Idev",
            "σ(I)",
            "intensity_std",
            "esd",
            "errors",
            "dy",
        ] {
            let found = roles(&format!("q\tI\t{name}"), 3);
            assert_eq!(found.get(2), Some(&Some(Role::Sigma)), "{name}: {found:?}");
        }
        for name in [
            "dq",
            "sigmaQ",
            "dQ (1/nm)",
            "q_err",
            "sigma_q",
            "Qdev",
            "resolution",
        ] {
            assert_eq!(
                roles(&format!("q\t{name}"), 2)[1],
                Some(Role::Width),
                "{name}"
            );
        }
        for name in ["is", "T", "S(q)", "id2", "Fehler"] {
            assert_eq!(roles(&format!("q\t{name}"), 2)[1], None, "{name}");
        }
    }

    #[test]
    fn units_may_be_joined_by_an_underscore() {
        for (text, unit) in [
            ("q_nm^-1", "nm^-1"),
            ("Q_nm-1", "nm-1"),
            ("q_A^-1", "A^-1"),
            ("q(nm-1)", "nm-1"),
            ("q [1/nm]", "1/nm"),
            ("\"Q (1/A)\"", "1/A"),
        ] {
            let found = &names(&format!("{text}\tI"), 2)[0];
            assert_eq!(
                (found.role, found.unit.as_deref()),
                (Some(Role::Q), Some(unit)),
                "{text}"
            );
        }
        for (text, what) in [
            ("2th_deg", Foreign::Angle),
            ("2theta(deg)", Foreign::Angle),
            ("2th_rad", Foreign::Angle),
            ("r_mm", Foreign::Radius),
            ("chi_deg", Foreign::Azimuth),
            ("log10(q)", Foreign::Logarithm),
            ("SpinEchoLength", Foreign::SpinEcho),
        ] {
            assert_eq!(
                roles(&format!("{text}\tI"), 2)[0],
                Some(Role::Foreign(what)),
                "{text}"
            );
        }
    }

    #[test]
    fn relative_deviations_have_the_factor_of_the_intensity() {
        for (text, factor) in [
            ("dI/I", Some(1.0)),
            ("err (%)", Some(0.01)),
            ("err%", Some(0.01)),
            ("relative error", Some(1.0)),
            ("percent error", Some(0.01)),
            ("err", None),
            ("dI/cm^-1", None),
        ] {
            let found = &names(&format!("q\tI\t{text}"), 3)[2];
            assert_eq!(
                (found.role, found.relative),
                (Some(Role::Sigma), factor),
                "{text}"
            );
        }
    }
}
