//! The header of an `.npy` array, from NumPy's description of the format (NEP 1): `\x93NUMPY`, a
//! version, a length and a Python dictionary of three entries.

use crate::element::Element;
use std::io::{ErrorKind, Read};
use std::iter::Peekable;
use std::str::Chars;

/// The longest dictionary, bytes: NumPy's own limit for untrusted files.
const LONGEST: usize = 10_000;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Why an array's header is not read. The caller knows the file.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// The operating system does not read the file.
    #[error("cannot be read: {0}")]
    Read(std::io::Error),
    /// The header has another form than those that NumPy writes.
    #[error("expected a NumPy array, found {0}")]
    Form(String),
    /// Elements are not numbers of a type that is read; NumPy's name of the type.
    #[error("expected an array of numbers, found {0}")]
    Element(String),
}

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// Real numbers or truth values.
    Real(Element),
    /// Complex numbers; the type of real and imaginary part, which follow one another.
    Complex(Element),
}

impl Numbers {
    /// The type of elements or of their parts.
    #[must_use]
    pub fn part(self) -> Element {
        let (Self::Real(part) | Self::Complex(part)) = self;
        part
    }

    /// Bytes of an element.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Real(part) => part.bytes(),
            Self::Complex(part) => 2 * part.bytes(),
        }
    }
}

/// An array's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The type of the elements.
    pub numbers: Numbers,
    /// Whether the first byte of a number is the most significant one.
    pub big_endian: bool,
    /// Fortran order: the first axis is the fastest.
    pub fortran: bool,
    /// Lengths of the axes. None of them has been compared with the file.
    pub shape: Vec<usize>,
    /// NumPy's name of the element type, as in the file.
    pub description: String,
    /// Bytes of the header; the first element follows.
    pub length: usize,
}

impl Header {
    /// Reads a header from the beginning of an array, 1.0 to 3.0 of the format.
    ///
    /// # Errors
    /// The data cannot be read, do not begin with a header of the form that NumPy writes, or have
    /// elements of another type.
    pub fn read(source: &mut impl Read) -> Result<Self, HeaderError> {
        let form = |found: &str| HeaderError::Form(found.to_owned());
        let mut take = |bytes: &mut [u8]| {
            source.read_exact(bytes).map_err(|e| match e.kind() {
                ErrorKind::UnexpectedEof => form("a file that ends within the header"),
                _ => HeaderError::Read(e),
            })
        };
        let mut start = [0; MAGIC.len() + 2];
        take(&mut start)?;
        let (magic, version) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(form("a file that does not begin with \\x93NUMPY"));
        }
        let mut length = [0; 4];
        let field = match version {
            [1, 0] => 2,
            [2 | 3, 0] => 4,
            _ => {
                let [major, minor] = [version[0], version[1]];
                let found = format!("version {major}.{minor} of the format (1.0 to 3.0 are read)");
                return Err(HeaderError::Form(found));
            }
        };
        take(&mut length[..field])?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            let found = format!("a header of {length} bytes (at most {LONGEST} are read)");
            return Err(HeaderError::Form(found));
        }
        let mut text = vec![0; length];
        take(&mut text)?;
        let text = String::from_utf8(text).map_err(|_| form("a header that is not UTF-8 text"))?;
        let entries =
            Entries::parse(&text).ok_or_else(|| form("a header that NumPy does not write"))?;
        let Some((numbers, big_endian)) = numbers(&entries.description) else {
            return Err(HeaderError::Element(entries.description));
        };
        Ok(Self {
            numbers,
            big_endian,
            fortran: entries.fortran,
            shape: entries.shape,
            description: entries.description,
            length: start.len() + field + length,
        })
    }

    /// Number of elements; `None` if it cannot be counted.
    #[must_use]
    pub fn count(&self) -> Option<usize> {
        let multiply = |count: usize, side: &usize| count.checked_mul(*side);
        self.shape.iter().try_fold(1, multiply)
    }

    /// Bytes of the elements; `None` if they cannot be counted.
    #[must_use]
    pub fn data_bytes(&self) -> Option<u64> {
        (self.count()? as u64).checked_mul(self.numbers.bytes() as u64)
    }
}

/// The type of elements, and whether they are big-endian; `=` means the native byte order.
fn numbers(description: &str) -> Option<(Numbers, bool)> {
    let (order, kind) = description.split_at_checked(1)?;
    let big_endian = match order {
        "<" | "|" => false,
        ">" => true,
        "=" => cfg!(target_endian = "big"),
        _ => return None,
    };
    let numbers = match kind {
        "b1" => Numbers::Real(Element::Bool),
        "u1" => Numbers::Real(Element::Unsigned(8)),
        "u2" => Numbers::Real(Element::Unsigned(16)),
        "u4" => Numbers::Real(Element::Unsigned(32)),
        "u8" => Numbers::Real(Element::Unsigned(64)),
        "i1" => Numbers::Real(Element::Signed(8)),
        "i2" => Numbers::Real(Element::Signed(16)),
        "i4" => Numbers::Real(Element::Signed(32)),
        "i8" => Numbers::Real(Element::Signed(64)),
        "f2" => Numbers::Real(Element::Float(16)),
        "f4" => Numbers::Real(Element::Float(32)),
        "f8" => Numbers::Real(Element::Float(64)),
        "c8" => Numbers::Complex(Element::Float(32)),
        "c16" => Numbers::Complex(Element::Float(64)),
        _ => return None,
    };
    // Only what has one byte has no order.
    (order != "|" || numbers.bytes() == 1).then_some((numbers, big_endian))
}

/// Entries of the dictionary.
struct Entries {
    description: String,
    fortran: bool,
    shape: Vec<usize>,
}

impl Entries {
    /// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, in any order.
    fn parse(text: &str) -> Option<Self> {
        let mut text = Scanner(text.chars().peekable());
        let (mut description, mut fortran, mut shape) = (None, None, None);
        text.expect('{')?;
        while !text.found('}') {
            let name = text.quoted()?;
            text.expect(':')?;
            let new = match name.as_str() {
                "descr" => description.replace(text.description()?).is_none(),
                "fortran_order" => fortran.replace(text.truth()?).is_none(),
                "shape" => shape.replace(text.numbers()?).is_none(),
                _ => false,
            };
            if !new || !(text.found(',') || text.next_is('}')) {
                return None;
            }
        }
        text.ended().then_some(())?;
        Some(Self {
            description: description?,
            fortran: fortran?,
            shape: shape?,
        })
    }
}

struct Scanner<'a>(Peekable<Chars<'a>>);

impl Scanner<'_> {
    fn skip_spaces(&mut self) {
        while self.0.next_if(|c| c.is_ascii_whitespace()).is_some() {}
    }

    fn next_is(&mut self, c: char) -> bool {
        self.skip_spaces();
        self.0.peek() == Some(&c)
    }

    fn found(&mut self, c: char) -> bool {
        self.next_is(c) && self.0.next().is_some()
    }

    fn expect(&mut self, c: char) -> Option<()> {
        self.found(c).then_some(())
    }

    fn ended(&mut self) -> bool {
        self.skip_spaces();
        self.0.peek().is_none()
    }

    fn while_in(&mut self, set: impl Fn(char) -> bool) -> String {
        std::iter::from_fn(|| self.0.next_if(|c| set(*c))).collect()
    }

    fn quoted(&mut self) -> Option<String> {
        self.skip_spaces();
        let quote = self.0.next_if(|c| matches!(c, '\'' | '"'))?;
        let inside = self.while_in(|c| c != quote && c != '\\');
        self.expect(quote)?;
        Some(inside)
    }

    /// The name of a type. Record types are lists, which are skipped.
    fn description(&mut self) -> Option<String> {
        if !self.next_is('[') {
            return self.quoted();
        }
        let mut depth = 0_usize;
        for c in self.0.by_ref() {
            match c {
                '[' | '(' => depth += 1,
                ']' | ')' => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some("a record of several".to_owned());
            }
        }
        None
    }

    fn truth(&mut self) -> Option<bool> {
        self.skip_spaces();
        match self.while_in(|c| c.is_ascii_alphabetic()).as_str() {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }
    }

    /// `()`, `(3,)`, `(3, 4)`; Python 2 wrote `3L`.
    fn numbers(&mut self) -> Option<Vec<usize>> {
        let mut numbers = Vec::new();
        self.expect('(')?;
        while !self.found(')') {
            self.skip_spaces();
            let digits = self.while_in(|c| c.is_ascii_digit());
            // A length beyond `usize` is still a length; the file is then found to be too short.
            let beyond = digits.len() > 1 && !digits.starts_with('0');
            let number = digits.parse().ok().or(beyond.then_some(usize::MAX))?;
            numbers.push(number);
            self.0.next_if_eq(&'L');
            if !(self.found(',') || self.next_is(')')) {
                return None;
            }
        }
        Some(numbers)
    }
}
