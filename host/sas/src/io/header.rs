//! What the lines around columns of numbers say about them: names of columns, and units.

mod remarks;

pub(crate) use remarks::UNIT_NOTES;

use super::names::{self, Foreign, Name, Role, is_known_other, is_sentence, letters};
use super::names::{
    is_calculated, is_other_quantity, is_unit_of_other, other_coordinate, rank_of_intensity,
    role_in_front,
};
use super::units;

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
    /// The first column of the last line that names all of them but neither q nor I, and its name.
    unlike: Option<(Foreign, String)>,
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
    /// The unit of the column of q in a line of units, if it is no inverse length.
    other_unit: Option<String>,
    /// Units of all columns in the last line of nothing else.
    units: Vec<String>,
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
        let coordinate = header.column(Role::Q).or_else(|| header.column(Role::Qx));
        let mut lines = before.iter().rev();
        if let Some(words) = lines.find_map(|line| unit_line(line, columns, coordinate)) {
            header.take_units(words, coordinate.unwrap_or(0));
        }
        if !header.q_unit_is_named && header.assumed.is_none() {
            let at = coordinate;
            let lines = before.iter().rev();
            let alone = || before.iter().rev().find_map(|line| other_unit_alone(line));
            header.other_unit = at.and_then(|at| {
                let of_all = lines.clone().find_map(|line| other_unit(line, columns, at));
                of_all.or_else(alone)
            });
        }
        if header.q_unit.is_none() {
            header.q_unit = before.iter().chain(&after).find_map(|line| mentioned(line));
        }
        header
    }

    /// Takes the units of a line that has those of all columns; q is column `at`. Units beside the
    /// names are preferred.
    fn take_units(&mut self, words: Vec<String>, at: usize) {
        let unit = |text: &String, factor: Option<f64>| {
            let text = text.clone();
            factor.map(|factor| Unit { text, factor })
        };
        if !self.q_unit_is_named {
            self.q_unit = unit(&words[at], units::of_q(&words[at]));
            self.q_unit_is_named = true;
        }
        let intensity = self.column(Role::Intensity).map(|at| &words[at]);
        if self.intensity_unit.is_none() {
            self.intensity_unit = intensity.and_then(|word| unit(word, units::of_intensity(word)));
        }
        let names = self.columns.iter_mut().flat_map(|of| &mut of.names);
        for (name, word) in names.zip(&words) {
            name.set_percent(word == "%");
        }
        self.units = words;
    }

    /// The unit of a column, beside its name or in a line of units.
    fn unit(&self, column: usize) -> Option<&str> {
        let names = self.columns.as_ref().map(|columns| &columns.names);
        let beside = names.and_then(|names| names.get(column)?.unit.as_ref());
        beside
            .or_else(|| self.units.get(column))
            .map(String::as_str)
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
        let mut of_intensity = places(&roles, Role::Intensity);
        let of_q = places(&roles, Role::Q);
        // Counts behind another name may be those of its mean: `q mean std count`.
        if let ([at], [q]) = (&of_intensity[..], &of_q[..])
            && ["count", "counts"].contains(&names[*at].text.as_str())
            && complete
            && !settings
        {
            let sigma = places(&roles, Role::Sigma);
            let end = sigma.first().map_or(*at, |sigma| *sigma.min(at));
            let unknown = |i: usize| roles[i].is_none() && !is_other_quantity(&names[i].text);
            if (q + 1..end).any(unknown) {
                roles[*at] = Some(Role::Unused);
                of_intensity.clear();
            }
        }
        // In `i q I`, i is an index.
        let coordinate = roles
            .iter()
            .position(|role| matches!(role, Some(Role::Q | Role::Qx)));
        let is_index = |at: usize| names[at].text == "i" && coordinate.is_some_and(|q| at < q);
        let surest = of_intensity
            .iter()
            .min_by_key(|at| (is_index(**at), rank_of_intensity(&names[**at].text)));
        for at in of_intensity.iter().filter(|at| Some(*at) != surest) {
            roles[*at] = Some(Role::Unused);
        }
        if of_intensity.is_empty()
            && let Some(at) = unnamed_intensity(&names, &roles)
            && names.len() == columns
            && (roles[0] == Some(Role::Q) && (has(&roles, Role::Sigma) || has(&roles, Role::Width))
                || complete && !settings && columns > 2)
        {
            roles[at] = Some(Role::Intensity);
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
        // `q (1/nm)` may have a line of its own.
        let is_alone = names.len() == 1;
        if coordinate.is_some() && (intensity.is_some() || is_alone || names.len() == columns) {
            let of_q = |at: Option<usize>| at.and_then(|at| unit(at, &units::of_q));
            if let Some(unit) = of_q(coordinate).or_else(|| of_q(qy)) {
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
        self.unlike = None;
        if q.is_none() && !is_pixel {
            let texts: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
            let of = other_coordinate(&texts).filter(|_| !settings);
            self.unlike = of.map(|of| (of, names[0].text.clone()));
            let first = foreign(0);
            let any = || {
                (0..columns)
                    .find_map(foreign)
                    .filter(|_| intensity.is_some())
            };
            // Numbers before the intensity, and nothing that could be q.
            let number = || {
                let is_number = roles[0] == Some(Role::Unused) && names[0].text != "qz";
                let numbers = is_number && names_it && !settings;
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
            let has_width = has(&roles, Role::Sigma) || has(&roles, Role::Width);
            let is_order = |q| q == 0 || columns == 2 || has_width;
            if q.is_some_and(is_order) && columns > 1 && !settings {
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
}

/// The column that is most likely I in a line with q whose names do not say which is: the first
/// unknown name behind q, rather than one of a calculated or another quantity, or one that is known
/// to be something else. A function of I in the line speaks against all but the name behind q.
fn unnamed_intensity(names: &[Name], roles: &[Option<Role>]) -> Option<usize> {
    let q = roles.iter().position(|role| *role == Some(Role::Q))?;
    if roles[..q].iter().any(|role| *role != Some(Role::Unused)) {
        return None;
    }
    let foreign = |role: &Option<Role>| matches!(role, Some(Role::Foreign(_)));
    if roles.iter().any(foreign) {
        return Some(q + 1).filter(|at| roles.get(*at) == Some(&None));
    }
    let rank = |at: &usize| {
        let name = names[*at].text.as_str();
        // The uncertainty of another column, such as `dF` of `F(q)`.
        let of_another = name.strip_prefix('d').is_some_and(|rest| {
            !rest.is_empty() && names.iter().any(|other| other.text.starts_with(rest))
        });
        let other = is_calculated(name) || is_other_quantity(name) || of_another;
        (roles[*at].is_some(), other, *at)
    };
    let unnamed = |at: &usize| matches!(roles[*at], None | Some(Role::Unused));
    (q + 1..roles.len()).filter(unnamed).min_by_key(rank)
}

fn mentions_components(line: &str) -> bool {
    let has = |wanted: [&str; 2]| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| wanted.contains(&word.to_ascii_lowercase().as_str()))
    };
    has(["qx", "q_x"]) && has(["qy", "q_y"])
}

/// The words of a line of units.
fn unit_words(line: &str) -> Vec<&str> {
    let separators = |c: char| c.is_whitespace() || ",;|#\"'".contains(c);
    line.split(separators).filter(|w| !w.is_empty()).collect()
}

/// A unit without its brackets, in lower case.
fn plain(word: &str) -> String {
    word.trim_matches(['(', ')', '[', ']']).to_lowercase()
}

/// Whether a word is the unit of q, of an intensity or of its uncertainty.
fn is_unit(word: &str) -> bool {
    let others = ["a.u.", "au", "arb.u.", "arb.", "counts", "-", "1", "%"];
    let word = plain(word);
    units::of_q(&word).or(units::of_intensity(&word)).is_some() || others.contains(&word.as_str())
}

/// The units of a line that has only those of all columns; that of q, which is column `at` if it is
/// known, must be an inverse length.
fn unit_line(line: &str, columns: usize, at: Option<usize>) -> Option<Vec<String>> {
    let words = unit_words(line);
    if words.len() != columns || columns < 2 || !words.iter().all(|word| is_unit(word)) {
        return None;
    }
    let words: Vec<String> = words.into_iter().map(plain).collect();
    units::of_q(&words[at.unwrap_or(0)])?;
    Some(words)
}

/// The unit of the column of q, `at`, in a line that has only units, if it is no inverse length.
fn other_unit(line: &str, columns: usize, at: usize) -> Option<String> {
    let words = unit_words(line);
    let are_units = |word: &&str| is_unit(word) || is_known_other(&plain(word));
    let unit = words.get(at).filter(|_| words.len() == columns)?;
    let others = (words.iter().enumerate()).filter(|(place, _)| *place != at);
    let is_line = others.map(|(_, word)| word).all(are_units);
    let is_other = is_unit_of_other(&plain(unit)) && !is_unit(unit);
    (columns > 1 && is_line && is_other).then(|| plain(unit))
}

/// The unit in a line of nothing else, if it is a known one that is no inverse length.
fn other_unit_alone(line: &str) -> Option<String> {
    let [word] = unit_words(line)[..] else {
        return None;
    };
    let word = plain(word);
    let is_short = word.is_ascii() && word.len() < 2;
    (!is_short && is_known_other(&word) && is_unit_of_other(&word)).then_some(word)
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
        let factor = factor.filter(|f| *f != 1.0 && *f > units::INVERSE_MM)?;
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
mod tests;
