//! Generator of XML with many attributes and namespaces, and with parts that contain what looks
//! like tags.
//!
//! A byte string determines the whole document. The generator knows whether its document is well
//! formed and within the limits of the readers, so that a fuzz target can check that the readers
//! accept it, or refuse it.

use std::fmt::Write as _;
use std::path::Path;
use warpstride::mri::io::ismrmrd;
use warpstride::sas::io as sas;
use warpstride::system::Memory;

/// Most attributes of an element that the readers accept.
const MOST_ATTRIBUTES: usize = 256;
/// Most namespace prefixes declared by an element and those around it that they accept.
const MOST_PREFIXES: usize = 32;
/// Most elements inside each other.
const DEPTH: usize = 6;
/// Bytes after which no more is added: time is spent on structure, not on length.
const LENGTH: usize = 40_000;

/// What the readers must do with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Accepted,
    /// It has an element with too many attributes, or too many prefixes.
    Refused,
    /// Part of it is malformed.
    Either,
}

/// A document.
#[derive(Debug, Clone)]
pub struct Document {
    pub text: String,
    pub verdict: Verdict,
}

/// Values of attributes with characters that end tags and attributes elsewhere.
const VALUES: [&str; 9] = ["", "1", ">", "/>", "=", "a=b", "-->", "]]>", "xmlns:"];
const COUNTS: [u16; 10] = [0, 1, 2, 3, 15, 16, 33, 255, 256, 257];

const CANSAS: &str = "<SASentry><Title>a</Title><SASdata><Idata><Q unit=\"1/A\">0.01</Q><I unit=\"1/cm\">2</I></Idata><Idata><Q unit=\"1/A\">0.02</Q><I unit=\"1/cm\">1</I></Idata></SASdata></SASentry>";
const ISMRMRD: &str = "<encoding><encodedSpace><matrixSize><x>8</x><y>8</y><z>1</z></matrixSize><fieldOfView_mm><x>200</x><y>200</y><z>5</z></fieldOfView_mm></encodedSpace><reconSpace><matrixSize><x>8</x><y>8</y><z>1</z></matrixSize><fieldOfView_mm><x>200</x><y>200</y><z>5</z></fieldOfView_mm></reconSpace><encodingLimits><kspace_encoding_step_2><center>0</center></kspace_encoding_step_2></encodingLimits><trajectory>radial</trajectory></encoding>";
/// Limit of memory of the readers.
const MEMORY: u64 = 8 << 20;

/// Reads the chosen document, as canSAS or as the header of samples, in `folder`.
///
/// # Panics
/// If it is not accepted or refused as it must be.
pub fn exercise(samples: bool, bytes: &[u8], folder: &Path) {
    let memory = Memory::limited(MEMORY);
    let (chosen, read) = if samples {
        let chosen = document(
            "ismrmrdHeader",
            "http://www.ismrm.org/ISMRMRD",
            ISMRMRD,
            bytes,
        );
        let path = folder.join("a.h5");
        if crate::acquisitions::build_with_header(&path, &chosen.text).is_err() {
            return;
        }
        let read = ismrmrd::read_within(&path, &ismrmrd::ReadOptions::default(), memory);
        (chosen, read.map(drop).map_err(|e| e.to_string()))
    } else {
        let chosen = document("SASroot", "urn:cansas1d:1.1", CANSAS, bytes);
        let path = folder.join("a.xml");
        if std::fs::write(&path, &chosen.text).is_err() {
            return;
        }
        let read = sas::read_within(&path, &sas::ReadOptions::default(), memory);
        (chosen, read.map(drop).map_err(|e| e.to_string()))
    };
    match (chosen.verdict, read) {
        (Verdict::Accepted, Err(error)) => panic!("{error}: {}", chosen.text),
        (Verdict::Refused, Ok(())) => panic!("accepted: {}", chosen.text),
        (_, Err(error)) => assert!(!error.contains('\n') && error.len() < 4000, "{error}"),
        _ => {}
    }
}

struct Writer<'c> {
    choices: Choices<'c>,
    text: String,
    over: bool,
    malformed: bool,
}

/// A document with the root element `root`, which contains `inner` between generated parts.
#[must_use]
pub fn document(root: &str, space: &str, inner: &str, bytes: &[u8]) -> Document {
    let mut writer = Writer {
        choices: Choices(bytes),
        text: String::new(),
        over: false,
        malformed: false,
    };
    writer.declaration();
    writer.aside();
    let _ = write!(writer.text, "<{root} xmlns=\"{space}\"");
    let prefixes = writer.attributes(1, 0);
    writer.text.push('>');
    writer.parts(1, prefixes);
    writer.text.push_str(inner);
    writer.parts(1, prefixes);
    let _ = write!(writer.text, "</{root}>");
    writer.aside();
    let verdict = match (writer.malformed, writer.over) {
        (true, _) => Verdict::Either,
        (false, true) => Verdict::Refused,
        (false, false) => Verdict::Accepted,
    };
    Document {
        text: writer.text,
        verdict,
    }
}

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

    /// One of `values`; the first for a valid file.
    fn one<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::from(self.next()) % values.len()]
    }
}

impl Writer<'_> {
    fn declaration(&mut self) {
        let text = match self.choices.of(6) {
            0 => "<?xml version=\"1.0\"?>\n",
            1 => "<?xml version='1.0' encoding='UTF-8'?>",
            2 => "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>",
            3 => "\n",
            4 => {
                self.malformed = true;
                "<?xml version=\"1.0\" encoding=\"?>\"?>"
            }
            _ => {
                self.malformed = true;
                "<!DOCTYPE a [<!ENTITY b \"c\">]>"
            }
        };
        // Nothing may stand before a declaration.
        self.text.push_str(if text == "\n" { "" } else { text });
    }

    /// A comment or a processing instruction, or nothing.
    fn aside(&mut self) {
        let quote = self.choices.one(&['"', '\'', ' ']);
        match self.choices.of(5) {
            1 => {
                let _ = write!(self.text, "<!-- <a b={quote}c ?> ]]> -->");
            }
            2 => {
                let _ = write!(self.text, "<?p <a b={quote} --> ]]> d?>");
            }
            3 => self.text.push_str("<!---->\n<?p?>"),
            _ => {}
        }
    }

    /// Attributes of an element inside `around` prefixes; returns the prefixes in its scope.
    /// `before` attributes have been written.
    fn attributes(&mut self, before: usize, around: usize) -> usize {
        let count = match self.choices.of(3) {
            1 => usize::from(self.choices.one(&COUNTS)),
            2 => usize::from(self.choices.next()),
            _ => 0,
        };
        let prefixes = match self.choices.of(4) {
            1 => usize::from(self.choices.one(&[1_u8, 2, 15, 16, 17, 31, 32, 33])),
            _ => 0,
        };
        for number in 0..count {
            let value = self.choices.one(&VALUES);
            let quote = self.choices.one(&["\"", "'"]);
            let equals = self.choices.one(&["=", " = ", "\n=\t"]);
            let gap = self.choices.one(&[" ", "\n", "\t  "]);
            let _ = write!(self.text, "{gap}a{number}{equals}{quote}{value}{quote}");
        }
        for number in 0..prefixes {
            let _ = write!(self.text, " xmlns:p{number}=\"urn:{number}\"");
        }
        match self.choices.of(40) {
            1 => {
                self.malformed = true;
                self.text.push_str(" a0=\"1\" a0=\"2\"");
            }
            2 => {
                self.malformed = true;
                self.text.push_str(" b=\"1\"c=\"2\"");
            }
            3 => {
                self.malformed = true;
                self.text.push_str(" b=c");
            }
            _ => {}
        }
        self.over |= before + count + prefixes > MOST_ATTRIBUTES;
        // An element without prefixes of its own adds nothing to check.
        self.over |= prefixes > 0 && around + prefixes > MOST_PREFIXES;
        around + prefixes
    }

    /// Elements, comments, instructions and texts at `depth`.
    fn parts(&mut self, depth: usize, around: usize) {
        for _ in 0..self.choices.of(6) {
            if self.text.len() > LENGTH {
                return;
            }
            match self.choices.of(6) {
                0 => self.aside(),
                1 => self.text.push_str("<![CDATA[<a b=\"c' --> ?>]]>"),
                2 => self.text.push_str("it's a \"text\" = > &lt;b&gt; &#x41;\n"),
                3 => {
                    self.malformed = true;
                    let text =
                        self.choices
                            .one(&["<", "</b>", "&c;", "<!x>", "<!-- ", "<![CDATA["]);
                    self.text.push_str(text);
                }
                _ => self.element(depth, around),
            }
        }
    }

    fn element(&mut self, depth: usize, around: usize) {
        let name = self.choices.one(&["x", "Idata", "y.z", "é"]);
        let _ = write!(self.text, "<{name}");
        let prefixes = self.attributes(0, around);
        if self.choices.of(3) == 1 || depth >= DEPTH {
            self.text.push_str("/>");
            return;
        }
        self.text.push('>');
        self.parts(depth + 1, prefixes);
        let _ = write!(self.text, "</{name}>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documents from pseudo-random choices are read as the generator says.
    #[test]
    fn generated_documents_are_accepted_or_refused() {
        let folder = crate::folder().unwrap();
        let mut state = 1_u64;
        let mut seen = [0; 3];
        for round in 0..3000_u32 {
            let bytes: Vec<u8> = (0..200)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            seen[document("a", "b", "", &bytes).verdict as usize] += 1;
            exercise(round % 2 == 1, &bytes, folder.path());
        }
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
    }
}
