//! What the lines around columns of numbers say about them: names of columns, and units.

use super::{QUnit, ReadOptions, shorten, units};

/// Most lines that are searched on either side of the data, and most characters of each.
const MOST_LINES: usize = 200;
const MOST_CHARACTERS: usize = 400;

/// Meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Q,
    Qx,
    Qy,
    Intensity,
    Sigma,
    /// σ(q).
    Width,
    /// A scattering angle, which needs a wavelength to become q.
    Angle,
    /// A known name of something that is not read: numbers of rows, qz, shadow.
    Unused,
}

/// A name in a header, with its unit if there is one: `Q (1/nm)`.
#[derive(Debug, Clone, PartialEq)]
struct Name {
    text: String,
    role: Option<Role>,
    unit: Option<String>,
}

/// A unit, as written, and its factor to 1/Å or 1/cm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unit {
    pub(super) text: String,
    pub(super) factor: f64,
}

/// What the header says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Header {
    /// Meaning of each column, from the last line before the data that names all of them.
    pub(super) roles: Option<Vec<Role>>,
    /// A line with as many words as there are columns, q and I among them at other places than the
    /// first two, and other words that are no known names.
    pub(super) unclear: Option<String>,
    /// Whether the columns begin with qx, qy and an intensity.
    pub(super) image: bool,
    /// Whether `Qx` and `Qy` occur in the text, as names of columns or not.
    pub(super) mentions_components: bool,
    pub(super) q_unit: Option<Unit>,
    /// Unit of the column of intensities, if it is known.
    pub(super) intensity_unit: Option<Unit>,
}

impl Header {
    /// Reads the lines `before` and `after` the data, which have this many columns.
    pub(super) fn of<'t>(
        before: impl Iterator<Item = &'t str>,
        after: impl Iterator<Item = &'t str>,
        columns: usize,
    ) -> Self {
        let start = |line: &str| line.chars().take(MOST_CHARACTERS).collect::<String>();
        let before: Vec<String> = before.take(MOST_LINES).map(start).collect();
        let after: Vec<String> = after.take(MOST_LINES).map(start).collect();
        let mut header = Self::default();
        for line in &before {
            header.add(names(line), columns);
            header.mentions_components |= mentions_components(line);
        }
        if header.q_unit.is_none() {
            header.q_unit = before.iter().chain(&after).find_map(|line| mentioned(line));
        }
        header
    }

    /// Takes what a line says; a later line replaces what an earlier one said.
    fn add(&mut self, names: Vec<Name>, columns: usize) {
        let role = |i: usize| names.get(i).and_then(|n: &Name| n.role);
        let only = |wanted: Role| {
            let mut at = (0..names.len()).filter(|i| role(*i) == Some(wanted));
            at.next().filter(|_| at.next().is_none())
        };
        let image = [Role::Qx, Role::Qy, Role::Intensity];
        self.image |= (0..3).all(|i| role(i) == Some(image[i]));
        let unit = |wanted: Role, factor: &dyn Fn(&str) -> Option<f64>| {
            let text = names[only(wanted)?].unit.clone()?;
            let factor = factor(&text)?;
            Some(Unit { text, factor })
        };
        let coordinate = [Role::Q, Role::Qx].into_iter().find(|r| only(*r).is_some());
        let has_intensity = only(Role::Intensity).is_some();
        if coordinate.is_some() && (has_intensity || names.len() == columns) {
            let q_unit = coordinate.and_then(|role| unit(role, &units::of_q));
            self.q_unit = q_unit.or(self.q_unit.take());
            let of_intensity = unit(Role::Intensity, &units::of_intensity);
            self.intensity_unit = of_intensity.or(self.intensity_unit.take());
        }
        let axis = only(Role::Q).or(only(Role::Angle));
        let image = only(Role::Qx).is_some() && only(Role::Qy).is_some();
        if names.len() != columns || !has_intensity || !(axis.is_some() || image) {
            return;
        }
        let known: Option<Vec<Role>> = names.iter().map(|n| n.role).collect();
        let unique = [Role::Sigma, Role::Width]
            .into_iter()
            .all(|wanted| only(wanted).is_some() || (0..columns).all(|i| role(i) != Some(wanted)));
        self.unclear = None;
        self.roles = match known {
            Some(roles) if unique => Some(roles),
            _ => {
                let usual = image || (axis == Some(0) && only(Role::Intensity) == Some(1));
                if !usual {
                    let words: Vec<&str> = names.iter().map(|n| n.text.as_str()).collect();
                    self.unclear = Some(words.join(" "));
                }
                None
            }
        };
    }

    /// Index of the column with this meaning.
    pub(super) fn column(&self, role: Role) -> Option<usize> {
        self.roles.as_ref()?.iter().position(|r| *r == role)
    }

    /// Notes on units that the header gives and that are not converted.
    pub(super) fn notes_on_units(&self, options: &ReadOptions) -> Vec<String> {
        let mut notes = Vec::new();
        match (&self.q_unit, options.q_unit) {
            (Some(unit), None) if unit.factor != 1.0 => {
                let nm = unit.factor == QUnit::InverseNanometre.factor();
                notes.push(format!(
                    "the header mentions {}, but q is read as 1/Å: {}",
                    shorten(&unit.text),
                    if nm {
                        "give its unit, 1/nm"
                    } else {
                        "convert it to 1/Å or 1/nm"
                    }
                ));
            }
            (Some(unit), Some(given)) if unit.factor != given.factor() => notes.push(format!(
                "q is read in the given unit, {}, but the header mentions {}",
                given.name(),
                shorten(&unit.text)
            )),
            _ => {}
        }
        if let Some(unit) = self.intensity_unit.as_ref().filter(|u| u.factor != 1.0) {
            notes.push(format!(
                "the header gives intensities in {}, but they are read as 1/cm",
                shorten(&unit.text)
            ));
        }
        notes
    }

    /// A note if the header seems to name columns that are not read so; `curve`: the columns were
    /// found to be those of a curve.
    pub(super) fn note_on_columns(&self, curve: bool) -> Option<String> {
        if curve && self.mentions_components {
            return Some(
                "the header mentions Qx and Qy, but no line of it names the columns Qx, Qy and I: they are read as q, I, its uncertainty and resolution"
                    .to_owned(),
            );
        }
        self.unclear.as_ref().map(|words| {
            format!(
                "the header line \"{}\" may name the columns, but not in the order q, I, uncertainty, resolution, in which they are read",
                shorten(words)
            )
        })
    }
}

/// Meaning of a name in lower case without anything but letters, digits and `|`.
fn role(name: &str) -> Option<Role> {
    Some(match name {
        "q" | "|q|" | "qvalue" | "qvalues" | "qmean" | "meanq" | "x" => Role::Q,
        "qx" => Role::Qx,
        "qy" => Role::Qy,
        "i" | "iq" | "intensity" | "intensities" | "counts" | "iqxqy" | "y" | "signal"
        | "crosssection" => Role::Intensity,
        "s" | "sigma" | "sig" | "sigmai" | "sigi" | "di" | "idev" | "ierr" | "ierror" | "err"
        | "erri" | "error" | "errors" | "errori" | "dy" | "uncertainty" | "uncertainties"
        | "std" | "stddev" | "stdev" | "deltai" | "sigmaiq" | "erriq" | "erroriq" | "diq" | "σ"
        | "σi" | "δi" | "erriqxqy" => Role::Sigma,
        "dq" | "qdev" | "sigmaq" | "sigq" | "dsigq" | "qerr" | "qerror" | "errq" | "deltaq"
        | "qsigma" | "qresolution" | "qres" | "resolution" | "dx" | "σq" | "δq" => Role::Width,
        "2theta" | "twotheta" | "theta" | "2θ" | "θ" | "tth" | "angle" => Role::Angle,
        "index" | "no" | "nr" | "number" | "row" | "point" | "pt" | "qz" | "shadow"
        | "shadowfactor" | "fsubs" | "meanqshadow" => Role::Unused,
        _ => return None,
    })
}

/// Words before the names in files of NIST: `Data columns are Qx - Qy - …`.
const PREFIXES: [&str; 6] = ["data", "columns", "column", "are", "names", "ascii"];

/// The words of a line as names of columns. Brackets hold a unit, or an argument such as that of
/// `I(Qx,Qy)`; a unit may also follow the name after a blank or a slash.
fn names(line: &str) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for word in words(line) {
        let plain = word.trim_matches(['"', '\'', '<', '>', '#', '%', '!', ':', '=', '*']);
        // A unit of its own belongs to the name before it.
        let bare = plain.trim_matches(BRACKETS);
        if is_unit(bare) {
            if let Some(last) = names.last_mut() {
                last.unit.get_or_insert(bare.to_owned());
            }
            continue;
        }
        let bracket = plain.find(['(', '[', '{']);
        let (mut name, inside) = match bracket {
            Some(at) => (&plain[..at], plain[at..].trim_matches(BRACKETS)),
            None => (plain, ""),
        };
        let mut unit = (!inside.is_empty()).then(|| inside.to_owned());
        if let Some(argument) = unit.as_deref().and_then(argument) {
            let text = format!("{}{argument}", letters(name));
            names.push(named(&text, None));
            continue;
        }
        if letters(name).trim_matches('|').is_empty() {
            continue;
        }
        // `Q/nm^-1`: the quotient of a quantity and its unit.
        if let Some((quantity, rest)) = plain.split_once('/')
            && bracket.is_none()
            && is_unit(rest)
        {
            (name, unit) = (quantity, Some(rest.to_owned()));
        }
        let text = letters(name);
        if names.is_empty() && PREFIXES.contains(&text.as_str()) {
            continue;
        }
        names.push(named(&text, unit));
    }
    names
}

const BRACKETS: [char; 6] = ['(', ')', '[', ']', '{', '}'];

fn named(text: &str, unit: Option<String>) -> Name {
    Name {
        text: text.to_owned(),
        role: role(text),
        unit,
    }
}

/// What is in the brackets of `I(Qx,Qy)` or `err(I)`.
fn argument(inside: &str) -> Option<&'static str> {
    match letters(inside).as_str() {
        "q" => Some("q"),
        "i" => Some("i"),
        "iq" => Some("iq"),
        "qxqy" => Some("qxqy"),
        _ => None,
    }
}

/// The text in lower case without anything but letters, digits and `|`.
fn letters(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric() || *c == '|')
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether a word is an inverse length, in any usual form but that of a name.
fn is_unit(word: &str) -> bool {
    units::of_q(word).is_some() || units::of_intensity(word).is_some()
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

fn mentions_components(line: &str) -> bool {
    let has = |wanted: [&str; 2]| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| wanted.contains(&word.to_ascii_lowercase().as_str()))
    };
    has(["qx", "q_x"]) && has(["qy", "q_y"])
}

/// A unit of q anywhere in a line, other than 1/Å: `q in 1/nm`, `inverse nanometers`. A word like
/// `m-1` or `cm-1` alone may be the unit of something else.
fn mentioned(line: &str) -> Option<Unit> {
    let separators = |c: char| c.is_whitespace() || ",;:=\"'<>()[]".contains(c);
    let words: Vec<&str> = line.split(separators).filter(|w| !w.is_empty()).collect();
    let unit = |text: String, factor: f64| Unit { text, factor };
    let one = words.iter().find_map(|word| {
        let quotient = || units::of_q(word.split_once('/')?.1);
        let factor = units::of_q(word).or_else(quotient);
        let factor = factor.filter(|f| *f != 1.0 && *f > units::INVERSE_CM)?;
        Some(unit((*word).to_owned(), factor))
    });
    let two = || {
        words.windows(2).find_map(|pair| {
            let inverse = ["inverse", "reciprocal"].contains(&pair[0].to_lowercase().as_str());
            let factor = units::of_inverse_length(pair[1]).filter(|f| inverse && *f != 1.0)?;
            Some(unit(pair.join(" "), factor))
        })
    };
    one.or_else(two)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str, columns: usize) -> Header {
        Header::of(text.lines(), std::iter::empty(), columns)
    }

    #[test]
    fn names_of_columns_are_recognised_with_their_units() {
        use Role::{Angle, Intensity, Q, Qx, Qy, Sigma, Unused, Width};
        for (line, roles) in [
            ("q,intensity,sigma,dq", vec![Q, Intensity, Sigma, Width]),
            ("<X>\t<Y>\t<dY>\t<dsigQ>", vec![Q, Intensity, Sigma, Width]),
            ("# sigma I q", vec![Sigma, Intensity, Q]),
            ("# q dq I dI", vec![Q, Width, Intensity, Sigma]),
            ("q [1/A]; I [1/cm]; err(I)", vec![Q, Intensity, Sigma]),
            ("Q/nm^-1 I/cm^-1 sigma(Q)", vec![Q, Intensity, Width]),
            ("index Q I", vec![Unused, Q, Intensity]),
            ("2theta(deg) I s", vec![Angle, Intensity, Sigma]),
            (
                "Data columns Qx - Qy - I(Qx,Qy) - err(I)",
                vec![Qx, Qy, Intensity, Sigma],
            ),
        ] {
            let found = header(line, roles.len());
            assert_eq!(found.roles, Some(roles.clone()), "{line}");
            assert_eq!(found.image, roles[0] == Qx, "{line}");
        }
        for line in [
            "radial average of the Qx Qy image",
            "q I unknown",
            "two words",
        ] {
            let found = header(line, 3);
            assert!(found.roles.is_none() && !found.image, "{line}");
            assert!(found.unclear.is_none(), "{line}");
        }
        assert!(header("temperature q I", 3).unclear.is_some());
    }

    #[test]
    fn units_are_found_beside_names_and_in_sentences() {
        for (line, factor) in [
            ("# Q (um-1) I (1/cm)", 1e-4),
            ("q(m^-1) I", 1e-10),
            ("# q in inverse nanometers", 0.1),
            ("# Q [NM-1]", 0.1),
            ("# q in nm^-1", 0.1),
            ("Q (1/A) I", 1.0),
            ("Q 1/nm I 1/cm", 0.1),
            ("Q (\u{b5}m\u{207b}\u{b9}) I", 1e-4),
        ] {
            let unit = header(line, 3).q_unit.map(|u| u.factor);
            assert_eq!(unit, Some(factor), "{line}");
        }
        for line in [
            "transmission 0.97, sample m-1",
            "Porod constant in cm^-1",
            "1/A^4",
        ] {
            assert_eq!(header(line, 3).q_unit, None, "{line}");
        }
        let unit = header("# q [1/A] I [1/m]", 3).intensity_unit;
        assert_eq!(unit.map(|u| u.factor), Some(0.01));
    }
}
