//! What the lines around columns of numbers say about them: names of columns, and units.

use super::names::{self, Foreign, Name, Role, is_sentence, letters};
use super::names::{is_other_quantity, may_be_intensity};
use super::names::{rank_of_intensity, role_in_front};
use super::{IoError, QUnit, ReadOptions, shorten, units};

/// Most lines that are searched on either side of the data, and most characters of each.
const MOST_LINES: usize = 200;
const MOST_CHARACTERS: usize = 400;

/// A unit, as written, and its factor to 1/Å or 1/cm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unit {
    pub(super) text: String,
    pub(super) factor: f64,
}

/// The last line before the data that names all columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    pub(super) roles: Vec<Role>,
    names: Vec<Name>,
    /// Whether `sigma(q)` was taken for σ(I) although I is not written as a function of q.
    guessed: bool,
}

/// What the header says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Header {
    pub(super) columns: Option<Columns>,
    /// A column that has another coordinate in the place of q, from 0, and its name.
    foreign: Option<(usize, Foreign, String)>,
    /// A column that is taken for q although its name does not say so, from 0, and its name.
    assumed: Option<(usize, String)>,
    /// The column of I by its place, from 0, in a line that names q but no intensity, and its name.
    by_place: Option<(usize, String)>,
    /// Keys of an image of a detector without q.
    detector: Vec<String>,
    /// Whether the columns begin with qx, qy and an intensity.
    pub(super) image: bool,
    /// Whether `Qx` and `Qy` occur in the text, as names of columns or not.
    pub(super) mentions_components: bool,
    pub(super) q_unit: Option<Unit>,
    /// Whether it is the unit of the column of q, and not one that a sentence mentions.
    q_unit_is_named: bool,
    /// Unit of the column of intensities, if it is known.
    pub(super) intensity_unit: Option<Unit>,
}

/// Keys of files that hold the pixels of a detector (DANSE).
const DETECTOR: [&str; 2] = ["pixelsizex", "locationx"];

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
            header.add(names::names(line, columns), columns);
            header.mentions_components |= mentions_components(line);
            let key = line.split_once(':').map(|(key, _)| letters(key));
            let key = key.filter(|key| DETECTOR.contains(&key.as_str()));
            header.detector.extend(key);
        }
        let of_columns = || {
            before
                .iter()
                .rev()
                .find_map(|line| unit_line(line, columns))
        };
        if !header.q_unit_is_named
            && header.column(Role::Q).is_none_or(|at| at == 0)
            && let Some(unit) = of_columns()
        {
            header.q_unit = Some(unit);
            header.q_unit_is_named = true;
        }
        if header.q_unit.is_none() {
            header.q_unit = before.iter().chain(&after).find_map(|line| mentioned(line));
        }
        header
    }

    /// Takes what a line says; a later line replaces what an earlier one said.
    fn add(&mut self, names: Vec<Name>, columns: usize) {
        let mut roles: Vec<Option<Role>> = names.iter().map(|name| name.role).collect();
        let places = |roles: &[Option<Role>], wanted: Role| -> Vec<usize> {
            let found = roles.iter().enumerate();
            found
                .filter(|(_, role)| **role == Some(wanted))
                .map(|(at, _)| at)
                .collect()
        };
        // The mean q of a bin beside q itself.
        let of_q = places(&roles, Role::Q);
        if of_q.len() > 1 {
            let means = ["meanq", "qmean", "qbar"];
            for at in of_q {
                if means.contains(&names[at].text.as_str()) {
                    roles[at] = Some(Role::Unused);
                }
            }
        }
        let complete = names.len() == columns && !is_sentence(&names);
        let has = |roles: &[Option<Role>], wanted: Role| roles.contains(&Some(wanted));
        let is_pixel = has(&roles, Role::Qx) && has(&roles, Role::Qy);
        let without_q = !has(&roles, Role::Q) && !is_pixel;
        // A line of settings, `Wavelength (A) 6.0`, has numbers.
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let settings = names.iter().any(|name| is_number(&name.text));
        let in_front = names.first().and_then(|name| role_in_front(&name.text));
        if let Some(role) = in_front.filter(|_| complete && without_q && !settings) {
            roles[0] = Some(role);
        }
        // Of several intensities, the first with the surest name; behind q, one with an unknown
        // name before its σ, or before others that are unknown: samples, most often.
        let of_intensity = places(&roles, Role::Intensity);
        let surest = of_intensity
            .iter()
            .min_by_key(|at| rank_of_intensity(&names[**at].text));
        for at in of_intensity.iter().filter(|at| Some(*at) != surest) {
            roles[*at] = Some(Role::Unused);
        }
        if of_intensity.is_empty()
            && names.len() == columns
            && roles.first() == Some(&Some(Role::Q))
            && roles.get(1) == Some(&None)
            && (has(&roles, Role::Sigma)
                || has(&roles, Role::Width)
                || (complete && !settings && roles[2..].contains(&None)))
        {
            roles[1] = Some(Role::Intensity);
        }
        let only = |wanted: Role| match places(&roles, wanted)[..] {
            [at] => Some(at),
            _ => None,
        };
        let intensity = only(Role::Intensity);
        let names_it = intensity.is_some_and(|at| rank_of_intensity(&names[at].text) == 0)
            || intensity.is_some() && has(&roles, Role::Sigma);
        let known_q = only(Role::Q);
        // Without a q: the first unknown name before the intensity.
        let taken = match known_q {
            Some(at) => Some(at).filter(|_| without_q),
            None if complete && without_q && names_it => {
                (0..intensity.unwrap_or(0)).find(|at| roles[*at].is_none())
            }
            None => None,
        };
        let of_other = matches!(roles.first(), Some(Some(Role::Foreign(_))));
        let taken = taken.filter(|_| !of_other && !settings);
        let q = known_q.or(taken);
        let (qx, qy) = (only(Role::Qx), only(Role::Qy));
        let starts_an_image = (qx, qy, intensity) == (Some(0), Some(1), Some(2));
        self.image |= starts_an_image;
        let unit = |at: usize, factor: &dyn Fn(&str) -> Option<f64>| {
            let text = names[at].unit.clone()?;
            let factor = factor(&text)?;
            Some(Unit { text, factor })
        };
        let coordinate = q.or(qx);
        if coordinate.is_some() && (intensity.is_some() || names.len() == columns) {
            if let Some(unit) = coordinate.and_then(|at| unit(at, &units::of_q)) {
                self.q_unit = Some(unit);
                self.q_unit_is_named = true;
            }
            let of_intensity = intensity.and_then(|at| unit(at, &units::of_intensity));
            self.intensity_unit = of_intensity.or(self.intensity_unit.take());
        }
        if !complete {
            return;
        }
        let has_logarithm = has(&roles, Role::Foreign(Foreign::Logarithm));
        let sure = names_it || has_logarithm || has(&roles, Role::Sigma) || known_q.is_some();
        let foreign = |at: usize| match roles[at] {
            _ if settings => None,
            Some(Role::Foreign(of)) => {
                let known = of.is_named_alone() || sure || at == 0 && names[at].unit.is_some();
                known.then(|| (at, of, names[at].text.clone()))
            }
            _ => None,
        };
        if q.is_none() && !is_pixel {
            let first = foreign(0);
            let any = || {
                (0..columns)
                    .find_map(foreign)
                    .filter(|_| intensity.is_some())
            };
            // Numbers before the intensity, and nothing that could be q.
            let number = || {
                let numbers = roles[0] == Some(Role::Unused) && names_it && !settings;
                numbers.then(|| (0, Foreign::Number, names[0].text.clone()))
            };
            let found = first.or_else(any).or_else(number);
            if found.is_some() && self.assumed.take().is_some() {
                self.columns = None;
            }
            self.foreign = found.or(self.foreign.take());
            return;
        }
        let Some(intensity) = intensity else {
            if q == Some(0) && columns > 1 && !settings {
                self.by_place = Some((1, names[1].text.clone()));
            }
            // A function of I beside q.
            let of_i = |(_, of, _): &(usize, Foreign, String)| {
                use Foreign::{Logarithm, OfIntensity, Power};
                matches!(of, Logarithm | Power | OfIntensity)
            };
            let beside = match q {
                Some(0) if columns > 1 => foreign(1),
                Some(1) => foreign(0),
                _ => None,
            };
            if self.columns.is_none() {
                self.foreign = beside.filter(of_i).or(self.foreign.take());
            }
            return;
        };
        if let Some(at) = taken {
            // A line that names q is better than one that does not.
            if self.columns.is_some() && self.assumed.is_none() {
                return;
            }
            self.assumed = Some((at, names[at].text.clone()));
            if known_q.is_none() && places(&roles, Role::Sigma).is_empty() {
                return;
            }
            roles[at] = Some(Role::Q);
        } else {
            self.assumed = None;
        }
        // σ as a function of q, `sigma(q)`, is that of I(q), unless the line has σ(I), too.
        let doubtful: Vec<usize> = (0..columns).filter(|at| names[*at].of_q).collect();
        let mut guessed = false;
        if let [at] = doubtful[..]
            && places(&roles, Role::Sigma).is_empty()
        {
            roles[at] = Some(Role::Sigma);
            guessed = names[intensity].text == "i";
        }
        self.foreign = None;
        self.image |= is_pixel;
        self.columns = Some(Columns {
            roles: roles
                .into_iter()
                .map(|role| role.unwrap_or(Role::Unused))
                .collect(),
            names,
            guessed,
        });
    }

    /// Index of the column with this meaning.
    pub(super) fn column(&self, role: Role) -> Option<usize> {
        self.columns.as_ref()?.roles.iter().position(|r| *r == role)
    }

    /// The name of a column.
    pub(super) fn name(&self, column: usize) -> Option<&str> {
        let names = &self.columns.as_ref()?.names;
        names.get(column).map(|name| name.text.as_str())
    }

    /// The factor of I if a column has its standard deviation as a share of it.
    pub(super) fn relative(&self, column: usize) -> Option<f64> {
        self.columns.as_ref()?.names.get(column)?.relative
    }

    /// Refuses data that the header names as no function of q; `first` is the first column.
    pub(super) fn check(&self, file: &str, first: &[f64]) -> Result<(), IoError> {
        if let (Some((column, of, name)), None) = (&self.foreign, &self.columns) {
            let (found, expected) = of.messages();
            return Err(IoError::Value {
                file: file.to_owned(),
                dataset: format!("column {}", column + 1),
                found: format!("{found}, as the header says ({})", shorten(name)),
                expected: expected.to_owned(),
            });
        }
        let ascends = first.windows(2).all(|pair| pair[0] <= pair[1]);
        match (&self.columns, &self.detector[..]) {
            (None, [_, _, ..]) if !ascends => Err(IoError::Value {
                file: file.to_owned(),
                dataset: "the columns".to_owned(),
                found: format!(
                    "the pixels of a detector without q (the header gives {})",
                    self.detector.join(", ")
                ),
                expected:
                    "q, I and its uncertainty, or Qx, Qy and I, as a reduction program writes them"
                        .to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses a unit of the column of q that is a length of nm or µm, or written in an unknown
    /// way, unless the unit is given.
    pub(super) fn check_unit(&self, file: &str, options: &ReadOptions) -> Result<(), IoError> {
        let named = self.column(Role::Q).or_else(|| self.column(Role::Qx));
        let names = self.columns.as_ref().map(|columns| &columns.names);
        let named = named.and_then(|at| Some((at, names?.get(at)?)));
        let (at, written) = match (named, &self.assumed) {
            (Some((at, name)), _) => (at, name.unit.as_ref().unwrap_or(&name.text)),
            (None, Some((at, text))) => (*at, text),
            (None, None) => return Ok(()),
        };
        if !written
            .to_lowercase()
            .starts_with(['q', 'n', 'u', 'µ', 'μ', 'm', '1', '[', '('])
        {
            return Ok(());
        }
        let length = |word: &&str| written.to_lowercase().contains(*word);
        let lengths = ["nm", "um", "µm", "μm", "nano", "micro"];
        if options.q_unit.is_some()
            || self.q_unit_is_named
            || units::of_q(written).is_some()
            || !lengths.iter().any(length)
        {
            return Ok(());
        }
        Err(IoError::Value {
            file: file.to_owned(),
            dataset: format!("column {}", at + 1),
            found: format!("a unit that is not known ({})", shorten(written)),
            expected: "q in 1/Å or 1/nm: give its unit, such as --q-unit 1/nm".to_owned(),
        })
    }

    /// Factor of q to 1/Å: the given unit, or that of the column of q.
    pub(super) fn factor(&self, options: &ReadOptions) -> f64 {
        match (&self.q_unit, options.q_unit) {
            (_, Some(given)) => given.factor(),
            (Some(unit), None) if self.q_unit_is_named => unit.factor,
            _ => 1.0,
        }
    }

    /// Factor of the resolution in a column: that of its own unit, or of q.
    pub(super) fn factor_of_width(&self, column: usize, options: &ReadOptions) -> f64 {
        let names = self.columns.as_ref().map(|columns| &columns.names);
        let unit = names.and_then(|names| names.get(column)?.unit.as_deref());
        let own = unit
            .and_then(units::of_q)
            .filter(|_| options.q_unit.is_none());
        own.unwrap_or_else(|| self.factor(options))
    }

    /// Notes on units that the header gives.
    pub(super) fn notes_on_units(&self, options: &ReadOptions) -> Vec<String> {
        let mut notes = Vec::new();
        match (&self.q_unit, options.q_unit) {
            (Some(unit), None) if unit.factor != 1.0 && self.q_unit_is_named => {
                notes.push(format!(
                    "q is converted from {} to 1/Å, as the header names its unit",
                    shorten(&unit.text)
                ))
            }
            (Some(unit), None) if unit.factor != 1.0 => {
                let nm = unit.factor == QUnit::InverseNanometre.factor();
                notes.push(format!(
                    "the header mentions {}, but q is read as 1/Å: {}",
                    shorten(&unit.text),
                    if nm {
                        "if that is its unit, give --q-unit 1/nm"
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

    /// A note if the column of q has a name that does not say so.
    pub(super) fn note_on_q(&self, column: Option<usize>) -> Option<String> {
        let (at, name) = self
            .assumed
            .as_ref()
            .filter(|(at, _)| Some(*at) == column)?;
        let at = at + 1;
        Some(match name.as_str() {
            "s" | "sexp" | "h" | "k" => format!(
                "column {at} ({name}) is taken for q = 4π sin(θ)/λ, as ATSAS names it; if it is 2 sin(θ)/λ, multiply it by 2π"
            ),
            _ => format!("column {at} ({}) is taken for q", shorten(name)),
        })
    }

    /// A note if the header gives the column of I a name of another quantity, or of none that is known.
    pub(super) fn note_on_intensity(&self, column: Option<usize>) -> Option<String> {
        let at = column?;
        let name = match (&self.columns, &self.by_place) {
            (Some(columns), _) => {
                let name = &columns.names.get(at)?.text;
                is_other_quantity(name).then_some(name)?
            }
            (None, Some((place, name))) if *place == at && !may_be_intensity(name) => name,
            (None, _) => return None,
        };
        Some(format!(
            "column {} ({}) is read as I, although the header does not call it so: models do not describe other quantities, such as a structure factor S(q)",
            at + 1,
            shorten(name)
        ))
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
        let guessed = self.columns.as_ref().is_some_and(|columns| columns.guessed);
        guessed.then(|| {
            "the column that the header names as σ(q) is read as the uncertainty of I, as the header names no other"
                .to_owned()
        })
    }
}

fn mentions_components(line: &str) -> bool {
    let has = |wanted: [&str; 2]| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| wanted.contains(&word.to_ascii_lowercase().as_str()))
    };
    has(["qx", "q_x"]) && has(["qy", "q_y"])
}

/// The unit of the first column in a line that has only the units of all columns.
fn unit_line(line: &str, columns: usize) -> Option<Unit> {
    let separators = |c: char| c.is_whitespace() || ",;|#\"'".contains(c);
    let words: Vec<&str> = line.split(separators).filter(|w| !w.is_empty()).collect();
    let plain = |word: &str| word.trim_matches(['(', ')', '[', ']']).to_lowercase();
    let others = ["a.u.", "au", "arb.u.", "counts", "-", "1", "%"];
    let is_unit = |word: &&str| {
        let word = plain(word);
        units::of_q(&word).or(units::of_intensity(&word)).is_some()
            || others.contains(&word.as_str())
    };
    if words.len() != columns || columns < 2 || !words.iter().all(is_unit) {
        return None;
    }
    let factor = units::of_q(&plain(words[0]))?;
    Some(Unit {
        text: words[0].to_owned(),
        factor,
    })
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
        use Role::{Intensity, Q, Qx, Qy, Sigma, Unused, Width, WidthAcross, WidthAlong};
        for (line, roles) in [
            ("q,intensity,sigma,dq", vec![Q, Intensity, Sigma, Width]),
            ("<X>\t<Y>\t<dY>\t<dsigQ>", vec![Q, Intensity, Sigma, Width]),
            ("# sigma I q", vec![Sigma, Intensity, Q]),
            ("# q dq I dI", vec![Q, Width, Intensity, Sigma]),
            ("q [1/A]; I [1/cm]; err(I)", vec![Q, Intensity, Sigma]),
            ("Q/nm^-1 I/cm^-1 sigma(Q)", vec![Q, Intensity, Sigma]),
            ("q(A-1)\tI(q)\tSig(q)", vec![Q, Intensity, Sigma]),
            (
                "q(A-1) I(q) dI(q) sigma(q)",
                vec![Q, Intensity, Sigma, Width],
            ),
            ("q I temperature dI", vec![Q, Intensity, Unused, Sigma]),
            ("temperature q I", vec![Unused, Q, Intensity]),
            (
                "Data columns are Qx - Qy - I(Qx,Qy) - Qz - SigmaQx - SigmaQy - fSubS(beam stop shadow)",
                vec![Qx, Qy, Intensity, Unused, WidthAlong, WidthAcross, Unused],
            ),
            (
                "The 6 columns are | Q (1/A) | I(Q) (1/cm) | std. dev. I(Q) (1/cm) | sigmaQ | meanQ | ShadowFactor|",
                vec![Q, Intensity, Sigma, Width, Unused, Unused],
            ),
            ("index Q I", vec![Unused, Q, Intensity]),
            (
                "Data columns are Qx - Qy - I(Qx,Qy) - err(I) - Qz - SigmaQ_parall - SigmaQ_perp - fSubS(beam stop shadow)",
                vec![
                    Qx,
                    Qy,
                    Intensity,
                    Sigma,
                    Unused,
                    WidthAlong,
                    WidthAcross,
                    Unused,
                ],
            ),
            (
                "Data columns Qx - Qy - I(Qx,Qy) - err(I)",
                vec![Qx, Qy, Intensity, Sigma],
            ),
        ] {
            let found = header(line, roles.len());
            let found_roles = found.columns.map(|columns| columns.roles);
            assert_eq!(found_roles, Some(roles.clone()), "{line}");
            assert_eq!(found.image, roles[0] == Qx, "{line}");
        }
        for line in [
            "radial average of the Qx Qy image",
            "q versus I",
            "two words",
        ] {
            let found = header(line, 3);
            assert!(found.columns.is_none() && !found.image, "{line}");
        }
    }

    #[test]
    fn quantities_that_are_no_intensity_are_named() {
        for (text, columns) in [
            ("q S(q)", 2),
            ("# Q (1/A)\tS(Q)", 2),
            ("q,F(q),dF", 3),
            ("q T(q) err", 3),
            ("q chi(q) sigma", 3),
            ("q transmission", 2),
            ("q R", 2),
            ("q structure_factor error", 3),
        ] {
            let found = header(text, columns).note_on_intensity(Some(1));
            let note = found.unwrap_or_default();
            assert!(note.starts_with("column 2 ("), "{text}: {note}");
        }
        for (text, columns) in [
            ("q I", 2),
            ("q I_abs", 2),
            ("Q (1/A), Intensit\u{e4}t", 2),
            ("q dSigma/dOmega", 2),
            ("q d\u{3a3}/d\u{3a9} error", 3),
            ("q water err", 3),
            ("q P(q) S(q) I", 4),
            ("q S(q)\nq I(q)", 2),
            ("two words", 2),
            ("1/A 1/cm", 2),
        ] {
            let header = header(text, columns);
            let column = header.column(Role::Intensity).or(Some(1));
            assert_eq!(header.note_on_intensity(column), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_function_of_q_is_refused() {
        for (text, words) in [
            ("2theta(deg) I s", "an angle"),
            (
                "#2th_deg         I               sigma",
                "needs the wavelength",
            ),
            ("r_mm I sigma", "distance of the detector"),
            ("SpinEchoLength Depolarisation Error", "SESANS"),
            ("LOCATIONX:5.4\nPIXELSIZEX:5.0", "pixels of a detector"),
            ("log10(q) log10(I) s", "q and I themselves"),
        ] {
            let why = header(text, 3)
                .check("a.dat", &[2.0, 1.0])
                .unwrap_err()
                .to_string();
            assert!(why.contains(words), "{why}");
        }
        let pixels = header("LOCATIONX:5.4\nPIXELSIZEX:5.0", 3);
        assert!(pixels.check("a.dat", &[1.0, 2.0]).is_ok());
        for text in [
            "# q I 2theta",
            "# r_mm I s\n# q I s",
            "wavelength: 1.34",
            "angle of incidence",
        ] {
            assert!(
                header(text, 3).check("a.dat", &[2.0, 1.0]).is_ok(),
                "{text}"
            );
        }
    }

    #[test]
    fn other_coordinates_need_evidence_beside_their_names() {
        for (text, columns, words) in [
            ("lambda_nm I err", 3, "a wavelength"),
            ("energy_MeV I err", 3, "an energy"),
            ("time,I,err", 3, "a time"),
            ("pixel I err", 3, "a number of a row"),
            ("channel I err", 3, "a number of a row"),
            ("q^2 I err", 3, "a power of q"),
            ("q2 lnI", 2, "a power of q"),
            ("q I*q^4 err", 3, "a power of q"),
            ("I*q^4 q", 2, "a power of q"),
            ("q I*q^4", 2, "a power of q"),
            ("# q I·q²", 2, "a power of q"),
            ("Iq4 q", 2, "a power of q"),
            ("Q\tI(Q)*Q^4", 2, "a power of q"),
            ("q I*q", 2, "a power of q"),
            ("q,q4I", 2, "a power of q"),
            ("q 1/I", 2, "a function of the intensity"),
            ("q sqrt(I) err", 3, "a function of the intensity"),
            ("q I^-1", 2, "a function of the intensity"),
            ("q ln(I*q^2)", 2, "a logarithm"),
            ("q ln(I) err", 3, "a logarithm"),
            ("sin(theta)/lambda I err", 3, "sin(θ)/λ"),
            ("d_A I err", 3, "a spacing d"),
            ("delta(A) P", 2, "a length in real space"),
            ("SEL P err", 3, "SESANS"),
        ] {
            let refused = header(text, columns).check("a.dat", &[1.0, 2.0]);
            let why = refused.unwrap_err().to_string();
            assert!(why.contains(words), "{text}: {why}");
        }
        for (text, columns) in [
            ("Wavelength (A) 6.0", 2),
            ("wavelength: 1.34", 2),
            ("Time 12 s", 3),
            ("Energy: 12.4 keV", 3),
            ("time of day", 3),
            ("d 4.5 m", 3),
            ("lambda_nm I err\nq I err", 3),
            ("q I I*q^4", 3),
            ("I*q^4 q\nq I", 2),
            ("q I(q)", 2),
            ("q I(1/cm)", 2),
            ("Q I*", 2),
        ] {
            let found = header(text, columns);
            assert!(found.check("a.dat", &[1.0, 2.0]).is_ok(), "{text}");
            assert_eq!(found.note_on_q(Some(0)), None, "{text}");
        }
    }

    #[test]
    fn an_unknown_name_before_the_intensity_is_taken_for_q() {
        use Role::{Intensity, Q, Sigma, Unused};
        for (text, roles) in [
            ("foo I err model", vec![Q, Intensity, Sigma, Unused]),
            ("n foo I err", vec![Unused, Q, Intensity, Sigma]),
            (
                "sExp | iExp | Err | iFit(+Const)",
                vec![Q, Intensity, Sigma, Unused],
            ),
            (
                "S J EXP ERROR J REG I REG",
                vec![Q, Intensity, Sigma, Unused, Unused],
            ),
            (
                "S    J EXP    ERROR    J REG   I REG",
                vec![Q, Intensity, Sigma, Unused, Unused],
            ),
            ("s Iexp err Ifit", vec![Q, Intensity, Sigma, Unused]),
        ] {
            let found = header(text, roles.len());
            let q = found.column(Q);
            assert!(
                found.note_on_q(q).unwrap().contains("is taken for q"),
                "{text}"
            );
            assert_eq!(found.columns.unwrap().roles, roles, "{text}");
        }
        for text in [
            "Phase I 3",
            "My sample data",
            "Scattering vector (1/A) I err",
        ] {
            assert_eq!(header(text, 3).note_on_q(Some(0)), None, "{text}");
        }
        for (text, intensity) in [
            ("q,counts,I,sigma", 2),
            ("q,y,I,err", 2),
            ("q,I_raw,I_sub,sigma", 2),
            ("q,I_0,I_1,sigma", 1),
            ("q,I,model,sigma", 1),
        ] {
            assert_eq!(header(text, 4).column(Intensity), Some(intensity), "{text}");
        }
    }

    #[test]
    fn inverse_nanometres_have_many_spellings() {
        for name in [
            "q_nminv",
            "q_inv_nm",
            "Q_nm_1",
            "q_per_nm",
            "qnm-1",
            "Q.nm-1",
            "h_nm-1",
            "s_nm-1",
            "scattering_vector_nm^-1",
            "q[nm^{-1}]",
            "q_nm^{-1}",
            "Momentum transfer (1/nm)",
        ] {
            let found = header(&format!("{name} I err"), 3);
            assert_eq!(found.factor(&ReadOptions::default()), 0.1, "{name}");
        }
        for lines in [
            "# q I err\n# nm^-1 cm^-1 cm^-1",
            "q,I,err\n(1/nm),(1/cm),(1/cm)",
        ] {
            assert_eq!(
                header(lines, 3).factor(&ReadOptions::default()),
                0.1,
                "{lines}"
            );
        }
        for name in ["q_nm", "q(um)", "q (nm)"] {
            let found = header(&format!("{name} I err"), 3);
            let refused = found.check_unit("a.dat", &ReadOptions::default());
            let why = refused.unwrap_err().to_string();
            assert!(
                why.contains("give its unit, such as --q-unit 1/nm"),
                "{why}"
            );
            let given = ReadOptions {
                q_unit: Some(QUnit::InverseNanometre),
                ..ReadOptions::default()
            };
            assert!(found.check_unit("a.dat", &given).is_ok(), "{name}");
        }
        for name in ["q", "q(A-1)", "Q_A", "environment", "q (1/m)"] {
            let found = header(&format!("{name} I err"), 3);
            let options = ReadOptions::default();
            assert!(found.check_unit("a.dat", &options).is_ok(), "{name}");
        }
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
