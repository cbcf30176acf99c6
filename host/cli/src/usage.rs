//! Wrong usage, as one sentence.

use super::failure::{FAILED, WRONG_USAGE};
use super::output;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;
use std::io::{self, Write as _};

/// Prints help and version as clap does, and errors as one sentence.
pub(super) fn usage(error: &clap::Error) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let printed = error.print().and_then(|()| io::stdout().flush());
            return match printed {
                // The reader may have closed the pipe, which is not an error.
                Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
                    output::complain(&output::unwritable(&why));
                    FAILED
                }
                _ => 0,
            };
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.print().unwrap_or_default(),
        _ => output::complain(&sentence(error)),
    }
    WRONG_USAGE
}

/// The error and clap's tips as one sentence, without the usage table that follows.
pub(super) fn sentence(error: &clap::Error) -> String {
    if let Some(sentence) = in_form(error) {
        return sentence;
    }
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    let one_line = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts: Vec<String> = text
        .split("\n\n")
        .filter(|part| {
            let part = part.trim_start();
            !part.starts_with("Usage:") && !part.starts_with("For more information")
        })
        .map(one_line)
        .filter(|part| !part.is_empty())
        .collect();
    parts.push("see --help".to_owned());
    parts.join("; ")
}

/// The error in the project's form, if it is of a known kind.
fn in_form(error: &clap::Error) -> Option<String> {
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    if error.kind() == ErrorKind::InvalidSubcommand {
        let name = texts(ContextKind::InvalidSubcommand).pop()?;
        let near = near(&texts(ContextKind::SuggestedSubcommand));
        return Some(format!("{name}: expected a command{near}; see --help"));
    }
    let arguments = texts(ContextKind::InvalidArg);
    let argument = arguments.first()?;
    let value = texts(ContextKind::InvalidValue).pop();
    // `--threads` of `--threads <N>`
    let option = argument.split(' ').next()?;
    let possible = texts(ContextKind::ValidValue);
    Some(match (error.kind(), value.as_deref()) {
        (ErrorKind::MissingRequiredArgument, _) => {
            format!("expected {}, found none; see --help", arguments.join(", "))
        }
        (ErrorKind::ArgumentConflict, _) => {
            let others = texts(ContextKind::PriorArg);
            let others = others.iter().filter_map(|one| one.split(' ').next());
            match &others.collect::<Vec<_>>()[..] {
                [] => return None,
                [same] if *same == option => format!("{option}: expected once, found it twice"),
                others => format!("{option}: cannot be used with {}", others.join(", ")),
            }
        }
        (ErrorKind::UnknownArgument, _) if argument.starts_with('-') => format!(
            "{option}: expected an option of this command{}; see --help",
            near(&texts(ContextKind::SuggestedArg))
        ),
        (ErrorKind::UnknownArgument, _) => {
            format!("{argument}: expected no further argument; see --help")
        }
        (ErrorKind::InvalidValue, None | Some("")) => {
            format!("{argument}: expected a value, found none")
        }
        (ErrorKind::InvalidValue, Some(value)) => {
            format!("{option} {value}: expected {}", one_of(&possible))
        }
        (ErrorKind::ValueValidation, Some(value)) => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            let expected = match &*why {
                "invalid float literal" | "cannot parse float from empty string" => "a number",
                "invalid digit found in string" | "cannot parse integer from empty string" => {
                    "a whole number, 0 or more"
                }
                "number too large to fit in target type" => {
                    "a whole number up to 18446744073709551615"
                }
                other => other,
            };
            format!("{option} {value}: expected {expected}")
        }
        _ => return None,
    })
}

/// ` (did you mean --frame?)`, if there is a similar name.
fn near(similar: &[String]) -> String {
    let similar = similar.first().and_then(|one| one.split(' ').next());
    similar.map_or_else(String::new, |one| format!(" (did you mean {one}?)"))
}

/// `a, b or c`
fn one_of(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}
