//! HTML shared by all reports: the page, pictures, curves and tables.

use super::picture::Picture;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write as _;
use warpstride_core::text::is_invisible;

const STYLE: &str = include_str!("report.css");

/// The page up to its first section; `title` is plain text, `lead` is HTML.
pub fn head(title: &str, lead: &str) -> String {
    let title = escaped(title);
    let mut page = String::new();
    page += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    page += "<meta name=\"color-scheme\" content=\"light dark\">\n";
    page += &format!("<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n");
    page += &format!("<header><h1>{title}</h1>\n<p>{lead}</p></header>\n<main>\n");
    page
}

/// The page after its last section.
pub fn foot(version: &str) -> String {
    format!(
        "</main>\n<footer><p>Made by warpstride {}.</p></footer>\n</body>\n</html>\n",
        escaped(version)
    )
}

/// A section with doubtful properties of the data; nothing if there are none.
pub fn problems(problems: &[String]) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let items: String = problems
        .iter()
        .map(|problem| format!("<li>{}</li>\n", escaped(problem)))
        .collect();
    format!(
        "<section>\n<h2>Doubtful data</h2>\n<p>The result may be meaningless.</p>\n<ul>\n{items}</ul>\n</section>\n"
    )
}

/// A picture with its caption, as HTML; `alt` is for those who do not see it.
pub fn figure(picture: &Picture, alt: &str) -> String {
    format!(
        "<figure><img class=\"picture\" alt=\"{}\" src=\"data:image/png;base64,{}\"><figcaption>{}</figcaption></figure>\n",
        escaped(alt),
        STANDARD.encode(&picture.png),
        escaped(&picture.caption)
    )
}

/// A curve `svg` of `name` against `abscissa` with its `meaning`, as HTML.
pub fn curve(name: &str, abscissa: &str, meaning: &str, svg: Option<&str>) -> String {
    let (name, meaning) = (escaped(name), escaped(meaning));
    let drawing = match svg {
        Some(svg) => labelled(svg, &format!("{name} against {abscissa}")),
        None => "<p class=\"absent\">No value was computed in this run.</p>".to_owned(),
    };
    format!(
        "<figure class=\"curve\"><h3>{name}</h3>\n{drawing}\n<figcaption>{meaning}</figcaption></figure>\n"
    )
}

/// An SVG with an accessible name, and without what precedes its `<svg>` element.
fn labelled(svg: &str, name: &str) -> String {
    let drawing = svg.find("<svg").map_or(svg, |at| &svg[at..]);
    drawing.replacen(
        "<svg",
        &format!("<svg role=\"img\" aria-label=\"{name}\""),
        1,
    )
}

/// A table of names and values, as HTML.
pub fn table(rows: &[(&str, String)]) -> String {
    let mut text = String::from("<table>\n<tbody>\n");
    for (name, value) in rows {
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            escaped(name),
            escaped(value)
        );
    }
    text + "</tbody>\n</table>\n"
}

/// A list of notes under its heading; nothing if there are none.
pub fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let mut text = String::from("<h3>Notes</h3>\n<ul>\n");
    for note in notes {
        let _ = writeln!(text, "<li>{}</li>", escaped(note));
    }
    text + "</ul>\n"
}

/// Escapes text for an element or a quoted attribute. Control characters, and marks that reorder
/// text, are written as in `\u{202e}`.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            '\n' | '\t' => safe.push(letter),
            c if is_invisible(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reorders_or_hides_text_is_escaped() {
        assert_eq!(
            escaped("a\u{202e}<b>\u{1b}\u{2066}\u{9b}é\n"),
            "a\\u{202e}&lt;b&gt;\\u{1b}\\u{2066}\\u{9b}é\n"
        );
        let page = head("x\u{202e}y", "");
        assert!(!page.contains('\u{202e}'));
        assert_eq!(page.matches("x\\u{202e}y").count(), 2);
    }
}
