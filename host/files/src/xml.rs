//! The check of XML documents before they are parsed.
//!
//! roxmltree compares every attribute of an element with those before it, and every namespace that
//! an element declares with all those in scope, so that the time to parse a large element grows
//! with its square.

/// Most attributes of an element, more than any file of canSAS or ISMRMRD has.
const MOST_ATTRIBUTES: usize = 256;
/// Most namespace prefixes declared by an element and those around it.
const MOST_PREFIXES: usize = 32;

/// Checks the number of attributes and of namespace prefixes of every element, in one pass.
///
/// # Errors
/// What was found, if there are too many.
pub fn check(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    // Depth of an element that declares prefixes, and the number of prefixes in its scope.
    let mut scopes: Vec<(usize, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(next) = find(bytes, at, b"<") {
        let rest = &bytes[next..];
        // What ends the part that begins here, if it is not an element.
        let other: Option<(usize, &[u8])> = if rest.starts_with(b"<!--") {
            Some((4, b"-->"))
        } else if rest.starts_with(b"<![CDATA[") {
            Some((9, b"]]>"))
        } else if rest.starts_with(b"<?xml ") {
            // Its values may contain `?>`.
            let Some(declaration) = Tag::scan(bytes, next + 1) else {
                return Ok(());
            };
            at = declaration.end;
            continue;
        } else if rest.starts_with(b"<?") {
            Some((2, b"?>"))
        } else if rest.starts_with(b"<!") {
            // A document type, which the parser refuses.
            return Ok(());
        } else {
            None
        };
        if let Some((start, end)) = other {
            let Some(found) = find(bytes, next + start, end) else {
                return Ok(());
            };
            at = found + end.len();
            continue;
        }
        if rest.starts_with(b"</") {
            let Some(end) = find(bytes, next, b">") else {
                return Ok(());
            };
            depth = depth.saturating_sub(1);
            while scopes.last().is_some_and(|(level, _)| *level >= depth) {
                scopes.pop();
            }
            at = end + 1;
            continue;
        }
        let Some(tag) = Tag::scan(bytes, next + 1) else {
            return Ok(());
        };
        if tag.attributes > MOST_ATTRIBUTES {
            return Err(format!(
                "an element with more than {MOST_ATTRIBUTES} attributes at byte {next}"
            ));
        }
        if tag.prefixes > 0 {
            let around = scopes.last().map_or(0, |(_, prefixes)| *prefixes);
            let prefixes = around + tag.prefixes;
            if prefixes > MOST_PREFIXES {
                return Err(format!(
                    "more than {MOST_PREFIXES} namespace prefixes in the scope of the element at byte {next}"
                ));
            }
            if !tag.empty {
                scopes.push((depth, prefixes));
            }
        }
        if !tag.empty {
            depth += 1;
        }
        at = tag.end;
    }
    Ok(())
}

/// A start tag.
struct Tag {
    attributes: usize,
    /// Attributes that declare a namespace prefix.
    prefixes: usize,
    /// Whether it is the whole element: `<a/>`.
    empty: bool,
    /// The byte after it.
    end: usize,
}

impl Tag {
    /// Scans the tag whose name begins at `start`; `None` if it does not end. Counting stops when
    /// there are too many attributes.
    fn scan(bytes: &[u8], start: usize) -> Option<Self> {
        let (mut attributes, mut prefixes) = (0, 0);
        let mut at = start;
        loop {
            let byte = *bytes.get(at)?;
            match byte {
                b'"' | b'\'' => at = find(bytes, at + 1, &[byte])?,
                b'=' => attributes += 1,
                b':' if bytes[start..at].ends_with(b"xmlns") => prefixes += 1,
                _ => {}
            }
            at += 1;
            if byte == b'>' || attributes > MOST_ATTRIBUTES {
                return Some(Self {
                    attributes,
                    prefixes,
                    empty: bytes[start..at].ends_with(b"/>"),
                    end: at,
                });
            }
        }
    }
}

/// Where `what` begins, at `from` or later.
fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let found = match what {
        [one] => rest.iter().position(|byte| byte == one),
        _ => rest.windows(what.len()).position(|window| window == what),
    };
    found.map(|offset| from + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(count: usize) -> String {
        (0..count).map(|i| format!(" a{i} = '>'")).collect()
    }

    fn prefixes(count: usize) -> String {
        (0..count)
            .map(|i| format!(" xmlns:p{i}=\"u{i}\""))
            .collect()
    }

    #[test]
    fn too_many_attributes_are_found_in_any_element() {
        let most = attributes(MOST_ATTRIBUTES);
        let more = attributes(MOST_ATTRIBUTES + 1);
        let accepted = [
            format!("<a{most}/>"),
            format!("<a><b{most}/><b{most}></b></a>"),
            format!("<a><!--<b{more}/>'--></a>"),
            format!("<a><![CDATA[<b{more}/>\"]]></a>"),
            format!("<?p <b{more}/> ' ?><a/>"),
            format!("<a b=\"{}\"/>", "=".repeat(1000)),
            "<a".to_owned(),
            "<a b='".to_owned(),
            String::new(),
        ];
        for text in accepted {
            check(&text).unwrap();
        }
        let refused = [
            format!("<a{more}/>"),
            format!("<a>it's<b c=\"'\"{more}/></a>"),
            format!("<!--> '--><a{more}/>"),
            format!("<?xml version='1' encoding=\"?><a b='\" ?><a{more}/>"),
            format!("<?p '?><!-- \" --><a><![CDATA[']]>\"<b{more}></b></a>"),
        ];
        for text in refused {
            assert!(check(&text).unwrap_err().contains("attributes"), "{text}");
        }
    }

    #[test]
    fn prefixes_are_counted_with_those_of_the_elements_around() {
        let half = prefixes(MOST_PREFIXES / 2);
        check(&format!("<a{half}><b{half}/><b{half}></b></a>")).unwrap();
        check(&format!(
            "<r>{}</r>",
            format!("<a{half}><b/></a>").repeat(50)
        ))
        .unwrap();
        let text = format!("<a{half}><b><c{half}/><d{half}><e xmlns:x=\"\"/></d></b></a>");
        assert!(check(&text).unwrap_err().contains("prefixes"));
    }
}
