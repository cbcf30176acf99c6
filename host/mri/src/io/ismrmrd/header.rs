//! The XML header: sizes, and the name of the trajectory.

use crate::data::KSpace;
use roxmltree::{Document, Node, ParsingOptions};
use warpstride_files::IoError;
use warpstride_files::source::Source;
use warpstride_files::xml;

/// Largest size of a header in bytes, more than any real one has.
const MAX_BYTES: usize = 16 << 20;
/// Largest number of elements, attributes and texts, each of which takes memory.
const MAX_NODES: u32 = 1 << 19;

/// A space of the encoding: its matrix and, if valid, its field of view in m; x, y, z.
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

    /// Makes the field of view along z that along x if it is that of a slice, thinner than two
    /// pixels; whether it was.
    pub(super) fn thicken(&mut self) -> bool {
        let (Some(pixel), Some(view)) = (self.pixel(0), &mut self.field_of_view) else {
            return false;
        };
        let is_thin = view[2] < 2.0 * pixel;
        if is_thin {
            view[2] = view[0];
        }
        is_thin
    }
}

/// The relevant parts of the header, all from the first encoding.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    pub(super) encoded: Option<Space>,
    pub(super) recon: Option<Space>,
    /// As written: `radial`, `goldenangle`, `spiral`, `cartesian`, `other` …; empty if absent.
    pub(super) trajectory: String,
    /// The partition of kz = 0, if the header has one.
    pub(super) centre_partition: Option<f64>,
    pub(super) encodings: usize,
}

impl Header {
    /// Reads the text at `path`.
    pub(super) fn read(source: &Source, path: &str) -> Result<Self, IoError> {
        let text = source
            .lone_text(path)?
            .ok_or_else(|| source.missing("header (XML)", path))?;
        Self::parse(&text).map_err(|error| error.of(source.name(), path))
    }

    fn parse(text: &str) -> Result<Self, HeaderError> {
        if text.len() > MAX_BYTES {
            return Err(HeaderError::not_a_header(format!(
                "{} bytes (at most {MAX_BYTES} are read)",
                text.len()
            )));
        }
        let options = ParsingOptions {
            nodes_limit: MAX_NODES,
            ..ParsingOptions::default()
        };
        // C programs may include the terminating zero in the length.
        let text = text.trim_end_matches('\0').trim_start();
        xml::check(text).map_err(|found| HeaderError::not_a_header(format!("XML with {found}")))?;
        let document = Document::parse_with_options(text, options)
            .map_err(|e| HeaderError::not_a_header(format!("text that is not XML ({e})")))?;
        let root = document.root_element();
        if root.tag_name().name() != "ismrmrdHeader" {
            let found = root.tag_name().name();
            let shown: String = found.chars().take(40).collect();
            return Err(HeaderError::not_a_header(format!(
                "the root element <{shown}> instead of <ismrmrdHeader>"
            )));
        }
        let encodings: Vec<Node<'_, '_>> = children(root, "encoding").collect();
        let Some(encoding) = encodings.first().copied() else {
            return Err(HeaderError::Missing("encoding"));
        };
        let space = |name: &str| -> Result<Option<Space>, HeaderError> {
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
                .map(element_text)
                .unwrap_or_default(),
            centre_partition: partitions
                .and_then(|p| children(p, "center").next())
                .and_then(|c| element_text(c).parse().ok())
                .filter(|c: &f64| c.is_finite()),
            encodings: encodings.len(),
        })
    }
}

impl Space {
    fn of(node: Node<'_, '_>, name: &str) -> Result<Self, HeaderError> {
        let Some(size) = children(node, "matrixSize").next() else {
            return Err(HeaderError::Missing("matrixSize"));
        };
        let mut matrix = [0; 3];
        for (extent, axis) in matrix.iter_mut().zip(["x", "y", "z"]) {
            let found = children(size, axis)
                .next()
                .map(element_text)
                .ok_or(HeaderError::Missing("matrixSize"))?;
            *extent = match found.parse() {
                Ok(n) if (1..=KSpace::MOST).contains(&n) => n,
                _ => {
                    return Err(HeaderError::Matrix {
                        path: format!("{name}/matrixSize/{axis}"),
                        found,
                    });
                }
            };
        }
        let length = |axis: &str| -> Option<f64> {
            let size = children(node, "fieldOfView_mm").next()?;
            let millimetres: f64 = element_text(children(size, axis).next()?).parse().ok()?;
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

/// Children with the given local name, in any namespace.
fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &str,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
    let name = name.to_owned();
    node.children()
        .filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The text of an element, truncated to fit in a message.
fn element_text(node: Node<'_, '_>) -> String {
    let text = node.text().unwrap_or_default().trim();
    text.chars().take(60).collect()
}

/// An error in the header.
#[derive(Debug)]
enum HeaderError {
    NotAHeader(String),
    Missing(&'static str),
    Matrix { path: String, found: String },
}

impl HeaderError {
    fn not_a_header(found: String) -> Self {
        Self::NotAHeader(found)
    }

    fn of(self, file: &str, dataset: &str) -> IoError {
        let (file, dataset) = (file.to_owned(), dataset.to_owned());
        match self {
            Self::NotAHeader(found) => IoError::Value {
                file,
                dataset,
                found,
                expected: "an ISMRMRD header".to_owned(),
            },
            Self::Missing(element) => IoError::Missing {
                file,
                what: format!("<{element}> in the header"),
                tried: vec![dataset],
            },
            Self::Matrix { path, found } => IoError::Value {
                file,
                dataset: format!("{dataset}, {path}"),
                found: if found.is_empty() {
                    "empty".to_owned()
                } else {
                    found
                },
                expected: format!("1 to {} voxels", KSpace::MOST),
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

    fn rejection(text: &str) -> String {
        let error = Header::parse(text).unwrap_err();
        error.of("a.h5", "/dataset/xml").to_string()
    }

    #[test]
    fn sizes_are_read_in_any_namespace() {
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
    fn invalid_sizes_are_named() {
        for wrong in ["0", "1000000000", "-3", "3.5", "many", ""] {
            let inside = format!(
                "<encoding>{}</encoding>",
                space("reconSpace", ["8", wrong, "1"], "1")
            );
            let text = rejection(&document(&inside));
            assert!(text.contains("reconSpace/matrixSize/y"), "{text}");
        }
        assert!(rejection(&document("")).contains("<encoding>"));
        let none = document("<encoding><reconSpace/></encoding>");
        assert!(rejection(&none).contains("<matrixSize>"));
    }

    #[test]
    fn other_texts_are_rejected() {
        assert!(rejection("").contains("expected an ISMRMRD header"));
        assert!(rejection("<a><b></a>").contains("expected an ISMRMRD header"));
        assert!(rejection("<other/>").contains("<other>"));
        // Entities could expand a short text to a long one: they are not supported.
        let laughs = "<!DOCTYPE a [<!ENTITY b \"bbbb\">]><ismrmrdHeader>&b;</ismrmrdHeader>";
        assert!(rejection(laughs).contains("expected an ISMRMRD header"));
        let wide: String = (0..200_000).map(|i| format!(" a{i}=\"\"")).collect();
        let wide = rejection(&format!("<ismrmrdHeader{wide}/>"));
        assert!(wide.contains("256 attributes"), "{wide}");
        let deep = "<a>".repeat(200_000);
        assert!(rejection(&deep).contains("expected an ISMRMRD header"));
    }

    #[test]
    fn an_empty_field_of_view_is_none() {
        let inside = format!(
            "<encoding>{}</encoding>",
            space("reconSpace", ["8", "8", "1"], "0")
        );
        let header = Header::parse(&document(&inside)).unwrap();
        assert_eq!(header.recon.unwrap().field_of_view, None);
    }
}
