//! The header of `.npy` files: `\x93NUMPY`, a version, a length and a Python dictionary of three
//! entries.

use super::super::IoError;
use std::io::{ErrorKind, Read};
use std::iter::Peekable;
use std::str::Chars;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Most bytes of the dictionary: NumPy's own limit for untrusted files.
pub(super) const LARGEST_HEADER: usize = 10_000;

/// The length of a written header is a multiple of this.
const ALIGNMENT: usize = 64;

/// Type of an element, or of the parts of a complex element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Single,
    Double,
}

impl Kind {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

/// The array's description in the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Whether elements are pairs of real and imaginary part.
    pub(super) complex: bool,
    pub(super) big_endian: bool,
    /// Fortran order: the first axis is the fastest.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
    /// NumPy's name of the element type, as in the file.
    pub(super) description: String,
    /// Offset of the first element, bytes.
    data_at: u64,
}

impl Header {
    pub(super) fn read(file: &mut impl Read, name: &str) -> Result<Self, IoError> {
        let not_npy = |found: &str| IoError::Format {
            file: name.to_owned(),
            expected: "a NumPy array (.npy)",
            found: found.to_owned(),
        };
        let mut take = |bytes: &mut [u8]| {
            file.read_exact(bytes).map_err(|e| match e.kind() {
                ErrorKind::UnexpectedEof => not_npy("a file that ends within the header"),
                _ => super::unreadable(name, &e),
            })
        };
        let mut start = [0; MAGIC.len() + 2];
        take(&mut start)?;
        let (magic, version) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(not_npy("a file that does not begin with \\x93NUMPY"));
        }
        let mut length = [0; 4];
        let field = match version {
            [1, 0] => 2,
            [2 | 3, 0] => 4,
            _ => {
                return Err(not_npy(&format!(
                    "version {}.{} of the format (1.0 to 3.0 are read)",
                    version[0], version[1]
                )));
            }
        };
        take(&mut length[..field])?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LARGEST_HEADER {
            return Err(not_npy(&format!(
                "a header of {length} bytes (at most {LARGEST_HEADER} are read)"
            )));
        }
        let mut text = vec![0; length];
        take(&mut text)?;
        let text =
            String::from_utf8(text).map_err(|_| not_npy("a header that is not UTF-8 text"))?;
        let entries =
            Entries::parse(&text).ok_or_else(|| not_npy("a header that NumPy does not write"))?;
        let (kind, complex, big_endian) = element(&entries.description)
            .ok_or_else(|| wrong_element(name, &entries.description))?;
        Ok(Self {
            kind,
            complex,
            big_endian,
            fortran: entries.fortran,
            shape: entries.shape,
            description: entries.description,
            data_at: (start.len() + field + length) as u64,
        })
    }

    /// Size of an element, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.kind.bytes() * if self.complex { 2 } else { 1 }
    }

    /// Number of elements; `None` on overflow.
    pub(super) fn count(&self) -> Option<usize> {
        let multiply = |count: usize, side: &usize| count.checked_mul(*side);
        self.shape.iter().try_fold(1, multiply)
    }

    /// Length of the whole file, bytes; `None` on overflow.
    pub(super) fn file_bytes(&self) -> Option<u64> {
        let data = (self.count()? as u64).checked_mul(self.bytes() as u64)?;
        // The array must also be addressable in memory.
        isize::try_from(data.checked_mul(2)?).ok()?;
        data.checked_add(self.data_at)
    }
}

/// The error for an unsupported element type.
pub(super) fn wrong_element(name: &str, description: &str) -> IoError {
    IoError::Value {
        file: name.to_owned(),
        dataset: "the element type".to_owned(),
        found: description.to_owned(),
        expected:
            "f32 or f64 (<f4, <f8, >f4 or >f8), for images also complex (<c8, <c16, >c8 or >c16)"
                .to_owned(),
    }
}

/// A header of version 1.0, padded with spaces as NumPy does.
pub(super) fn text(description: &str, shape: &[usize]) -> Vec<u8> {
    let sides: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let entries = format!(
        "{{'descr': '{description}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        sides.join(", ")
    );
    let before = MAGIC.len() + 4;
    let whole = (before + entries.len() + 1).next_multiple_of(ALIGNMENT);
    let length = (whole - before) as u16;
    let mut bytes = [MAGIC, &[1, 0], &length.to_le_bytes(), entries.as_bytes()].concat();
    bytes.resize(whole - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// Kind, whether complex, and whether big-endian; `=` means the native byte order.
fn element(description: &str) -> Option<(Kind, bool, bool)> {
    let (order, kind) = description.split_at_checked(1)?;
    let big_endian = match order {
        "<" => false,
        ">" => true,
        "=" => cfg!(target_endian = "big"),
        _ => return None,
    };
    match kind {
        "f4" => Some((Kind::Single, false, big_endian)),
        "f8" => Some((Kind::Double, false, big_endian)),
        "c8" => Some((Kind::Single, true, big_endian)),
        "c16" => Some((Kind::Double, true, big_endian)),
        _ => None,
    }
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
