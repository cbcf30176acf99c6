//! Names of columns in a line of text, with their meanings and units.

mod foreign;
mod roles;

use super::units;
pub(super) use foreign::Foreign;
use roles::{INTENSITY, Q, is_product, role, role_of_formula};
pub(super) use roles::{
    Role, is_calculated, is_intensity, is_other_quantity, letters, may_be_intensity,
    other_coordinate, rank_of_intensity, role_in_front,
};

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
    // SPEC writes `#L` before its names.
    let spec = line.trim_start().strip_prefix("#L");
    let line = spec
        .filter(|rest| rest.starts_with([' ', '\t']))
        .unwrap_or(line);
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
        let is_unknown =
            || is_unknown_unit(unit) && names.last().is_some_and(|of| of.unit.is_none());
        let in_brackets =
            bare(word).starts_with(BRACKETS) && (is_foreign_unit(unit) || is_unknown());
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
    pub(super) fn set_percent(&mut self, says_so: bool) {
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

/// Units that are no inverse lengths, besides those of [`is_foreign_unit`].
const OTHER_UNITS: [&str; 22] = [
    "°", "radian", "radians", "mrads", "urad", "µrad", "μrad", "nrad", "arcsec", "arcmin", "ch",
    "channel", "channels", "bin", "bins", "s", "sec", "min", "hz", "k", "pt", "cps",
];

/// Whether the unit of a column of q is none of q: an angle, a length on a detector, or the inverse
/// of something else. `q_nm` may be short for the inverse.
pub(super) fn is_unit_of_other(unit: &str) -> bool {
    let lower = unit.trim().to_lowercase();
    if ["nm", "um", "µm", "μm", "mum"].contains(&lower.as_str()) {
        return false;
    }
    let inverse = lower
        .strip_prefix("1/")
        .or_else(|| lower.strip_suffix("-1"));
    let inverse = inverse.map(|of| of.trim_end_matches(['^', '*']).trim());
    let is_inverse = inverse.is_some_and(|of| !of.is_empty() && is_known_other(of));
    let is_square = ["^-2", "^2"].iter().any(|end| lower.ends_with(end));
    units::of_q(unit).is_none() && (is_known_other(&lower) || is_inverse || is_square)
}

/// Whether a text in brackets is a unit, but none that is known: `furlong^-1`, `10^-2 1/A`. Other
/// words may describe the quantity.
pub(super) fn is_unknown_unit(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let is_power = lower.contains(['/', '^']) || lower.ends_with("-1") || lower.ends_with("-2");
    let arbitrary = ["a.u.", "a.u", "arb. units", "arb. u.", "arb.u."].contains(&lower.as_str());
    let of_q = units::of_q(text).or(units::of_intensity(text));
    // The definition of q: `2pi/d`, `4 pi sin(theta)/lambda`.
    let is_formula = ["pi", "sin", "lambda"].iter().any(|of| lower.contains(of));
    text.is_ascii() && !is_formula && of_q.is_none() && (is_power || arbitrary)
}

/// Whether a word in lower case is a unit of another coordinate than q.
pub(super) fn is_known_other(word: &str) -> bool {
    is_foreign_unit(word) || OTHER_UNITS.contains(&word)
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
mod tests;
