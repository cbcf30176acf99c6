//! The XML header: sizes, and what the trajectory is called.

use super::super::IoError;
use super::super::source::Source;
use crate::data::KSpace;
use roxmltree::{Document, Node, ParsingOptions};

/// More than any header has.
const LONGEST: usize = 16 << 20;
/// Elements, attributes and texts; every one takes memory.
const MOST_NODES: u32 = 1 << 19;

/// A space of the encoding: matrix and, where it is sensible, field of view in m; x, y, z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Space {
    pub(super) matrix: [usize; 3],
    pub(super) field_of_view: Option<[f64; 3]>,
}

impl Space {
    /// Size of a pixel along `axis`, m.
    pub(super) fn pixel(&self, axis: usize) -> Option<f64> {
        Some(self.field_of_view?[axis] / self.matrix[axis] as f64)
    }
}

/// What is needed of the header; all of it from the first encoding.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub(super) encoded: Option<Space>,
    pub(super) recon: Option<Space>,
    /// As written: `radial`, `goldenangle`, `spiral`, `cartesian`, `other` …; empty: not said.
    pub(super) trajectory: String,
    /// The partition of kz = 0, where partitions are said.
    pub(super) centre_partition: Option<f64>,
    pub(super) encodings: usize,
}

impl Header {
    /// Reads `path`, a text.
    pub(super) fn read(source: &Source, path: &str) -> Result<Self, IoError> {
        let text = source
            .lone_text(path)?
            .ok_or_else(|| source.missing("header (XML)", path))?;
        Self::parse(&text).map_err(|fault| fault.of(source.name(), path))
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if text.len() > LONGEST {
            return Err(Fault::no_header(format!(
                "it has {} bytes, {LONGEST} are the most",
                text.len()
            )));
        }
        let options = ParsingOptions {
            nodes_limit: MOST_NODES,
            ..ParsingOptions::default()
        };
        // C programs may count their final zero.
        let text = text.trim_end_matches('\0').trim_start();
        let document = Document::parse_with_options(text, options)
            .map_err(|e| Fault::no_header(e.to_string()))?;
        let root = document.root_element();
        if root.tag_name().name() != "ismrmrdHeader" {
            let found = root.tag_name().name();
            let shown: String = found.chars().take(40).collect();
            return Err(Fault::no_header(format!(
                "its root is <{shown}>, not <ismrmrdHeader>"
            )));
        }
        let encodings: Vec<Node<'_, '_>> = children(root, "encoding").collect();
        let Some(encoding) = encodings.first().copied() else {
            return Err(Fault::Missing("encoding"));
        };
        let space = |name: &str| -> Result<Option<Space>, Fault> {
            children(encoding, name)
                .next()
                .map_or(Ok(None), |node| Space::of(node, name).map(Some))
        };
        let limits = children(encoding, "encodingLimits").next();
        let partitions = limits.and_then(|l| children(l, "kspace_encoding_step_2").next());
        Ok(Self {
            encoded: space("encodedSpace")?,
            recon: space("reconSpace")?,
            trajectory: children(encoding, "trajectory")
                .next()
                .map(words)
                .unwrap_or_default(),
            centre_partition: partitions
                .and_then(|p| children(p, "center").next())
                .and_then(|c| words(c).parse().ok())
                .filter(|c: &f64| c.is_finite()),
            encodings: encodings.len(),
        })
    }
}

impl Space {
    fn of(node: Node<'_, '_>, name: &str) -> Result<Self, Fault> {
        let Some(size) = children(node, "matrixSize").next() else {
            return Err(Fault::Missing("matrixSize"));
        };
        let mut matrix = [0; 3];
        for (place, axis) in matrix.iter_mut().zip(["x", "y", "z"]) {
            let found = children(size, axis)
                .next()
                .map(words)
                .ok_or(Fault::Missing("matrixSize"))?;
            *place = match found.parse() {
                Ok(n) if (1..=KSpace::MOST).contains(&n) => n,
                _ => {
                    return Err(Fault::Matrix {
                        place: format!("{name}/matrixSize/{axis}"),
                        found,
                    });
                }
            };
        }
        let length = |axis: &str| -> Option<f64> {
            let size = children(node, "fieldOfView_mm").next()?;
            let millimetres: f64 = words(children(size, axis).next()?).parse().ok()?;
            let metres = millimetres / 1e3;
            (metres.is_finite() && metres > 0.0).then_some(metres)
        };
        let field_of_view = (|| Some([length("x")?, length("y")?, length("z")?]))();
        Ok(Self {
            matrix,
            field_of_view,
        })
    }
}

/// Children of that name, whatever their name space.
fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &str,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
    let name = name.to_owned();
    node.children()
        .filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The text of an element, no longer than a sentence can show.
fn words(node: Node<'_, '_>) -> String {
    let text = node.text().unwrap_or_default().trim();
    text.chars().take(60).collect()
}

/// What is wrong with a header.
#[derive(Debug)]
enum Fault {
    NoHeader(String),
    Missing(&'static str),
    Matrix { place: String, found: String },
}

impl Fault {
    fn no_header(found: String) -> Self {
        Self::NoHeader(found)
    }

    fn of(self, file: &str, dataset: &str) -> IoError {
        let (file, dataset) = (file.to_owned(), dataset.to_owned());
        match self {
            Self::NoHeader(reason) => IoError::Damaged {
                file,
                dataset,
                reason: format!("it is no ISMRMRD header: {reason}"),
            },
            Self::Missing(element) => IoError::Missing {
                file,
                what: format!("<{element}> in its header, so that the image's size is not known"),
                tried: vec![dataset],
            },
            Self::Matrix { place, found } => IoError::Value {
                file,
                dataset: format!("{dataset}, {place}"),
                found: if found.is_empty() {
                    "empty".to_owned()
                } else {
                    found
                },
                expected: format!("a number of voxels, 1 to {},", KSpace::MOST),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(name: &str, size: [&str; 3], view: &str) -> String {
        let [x, y, z] = size;
        format!(
            "<{name}><matrixSize><x>{x}</x><y>{y}</y><z>{z}</z></matrixSize>\
             <fieldOfView_mm><x>{view}</x><y>300</y><z>8</z></fieldOfView_mm></{name}>"
        )
    }

    fn document(inside: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?><ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">{inside}</ismrmrdHeader>"
        )
    }

    fn refused(text: &str) -> String {
        let fault = Header::parse(text).unwrap_err();
        fault.of("a.h5", "/dataset/xml").to_string()
    }

    #[test]
    fn sizes_are_read_whatever_the_name_space() {
        let inside = format!(
            "<encoding>{}{}<encodingLimits><kspace_encoding_step_2><center>4</center></kspace_encoding_step_2></encodingLimits><trajectory>radial</trajectory></encoding><encoding/>",
            space("encodedSpace", ["512", "256", "8"], "600"),
            space("reconSpace", ["256", "256", "8"], "300"),
        );
        let header = Header::parse(&document(&inside)).unwrap();
        assert_eq!(header.recon.unwrap().matrix, [256, 256, 8]);
        assert_eq!(header.encoded.unwrap().matrix, [512, 256, 8]);
        assert_eq!(
            header.encoded.unwrap().pixel(0),
            header.recon.unwrap().pixel(0)
        );
        assert_eq!(
            (header.trajectory.as_str(), header.encodings),
            ("radial", 2)
        );
        assert_eq!(header.centre_partition, Some(4.0));
        let prefixed = document(&inside)
            .replace("<", "<m:")
            .replace("<m:/", "</m:")
            .replace("<m:?", "<?")
            .replace("xmlns=", "xmlns:m=");
        assert_eq!(Header::parse(&prefixed).unwrap(), header);
    }

    #[test]
    fn sizes_that_are_none_are_named() {
        for wrong in ["0", "1000000000", "-3", "3.5", "many", ""] {
            let inside = format!(
                "<encoding>{}</encoding>",
                space("reconSpace", ["8", wrong, "1"], "1")
            );
            let text = refused(&document(&inside));
            assert!(text.contains("reconSpace/matrixSize/y"), "{text}");
        }
        assert!(refused(&document("")).contains("<encoding>"));
        let none = document("<encoding><reconSpace/></encoding>");
        assert!(refused(&none).contains("<matrixSize>"));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        assert!(refused("").contains("no ISMRMRD header"));
        assert!(refused("<a><b></a>").contains("no ISMRMRD header"));
        assert!(refused("<other/>").contains("<other>"));
        // Entities could make a short text long: they are not taken.
        let laughs = "<!DOCTYPE a [<!ENTITY b \"bbbb\">]><ismrmrdHeader>&b;</ismrmrdHeader>";
        assert!(refused(laughs).contains("no ISMRMRD header"));
        let deep = "<a>".repeat(200_000);
        assert!(refused(&deep).contains("no ISMRMRD header"));
    }

    #[test]
    fn a_field_of_view_of_nothing_is_none() {
        let inside = format!(
            "<encoding>{}</encoding>",
            space("reconSpace", ["8", "8", "1"], "0")
        );
        let header = Header::parse(&document(&inside)).unwrap();
        assert_eq!(header.recon.unwrap().field_of_view, None);
    }
}
