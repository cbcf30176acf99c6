//! The command line: the table of options ([`args`]), what was typed, what it means (each
//! command's checked struct), run.

mod args;
mod backend;
mod devices;
mod failure;
mod jacobi;
mod mri;
mod output;
mod paths;
mod ptycho;
mod sas;
mod selftest;
mod series;
mod threads;

use args::{Command, MriCommand, PtychoCommand, SasCommand, SeriesCommand, Typed};
use clap::Parser;
use clap::error::ErrorKind;
use failure::Failure;
use std::process::ExitCode;

/// Wrong usage, as clap and most programs have it.
const WRONG_USAGE: u8 = 2;
/// Ended by Ctrl-C: 128 + SIGINT.
const INTERRUPTED: u8 = 130;

/// Reads the command line, runs it and gives the exit code: 0, 1 for bad input or a failure, 2 for
/// wrong usage, 130 after Ctrl-C.
pub(crate) fn run() -> ExitCode {
    let typed = match Typed::try_parse() {
        Ok(typed) => typed,
        Err(error) => return usage(&error),
    };
    let (text, code) = match execute(typed.command) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Failed(text)) => (text, ExitCode::FAILURE),
        Err(Failure::Usage(text)) => (text, ExitCode::from(WRONG_USAGE)),
        Err(Failure::Interrupted(text)) => (text, ExitCode::from(INTERRUPTED)),
    };
    output::complain(&text);
    code
}

fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Devices { json } => devices::run(json),
        Command::Jacobi(typed) => jacobi::Relax::from_typed(&typed)?.run(),
        Command::Mri { command } => match *command {
            MriCommand::Simulate(typed) => mri::Simulate::from_typed(&typed)?.run(),
            MriCommand::Info(typed) => mri::Info::from_typed(typed)?.run(),
            MriCommand::Reconstruct(typed) => mri::Reconstruct::from_typed(*typed)?.run(),
            MriCommand::Ladder(typed) => mri::ladder(&typed),
        },
        Command::Sas { command } => match *command {
            SasCommand::Models(typed) => sas::Models::from_typed(&typed)?.run(),
            SasCommand::Evaluate(typed) => sas::Evaluate::from_typed(*typed)?.run(),
            SasCommand::Info(typed) => sas::Info::from_typed(typed)?.run(),
            SasCommand::Fit(typed) => sas::Fit::from_typed(*typed)?.run(),
        },
        Command::Series { command } => match *command {
            SeriesCommand::Resample(typed) => series::Resampling::from_typed(&typed)?.run(),
            SeriesCommand::Ladder(typed) => series::Ladder::from_typed(typed)?.run(),
            SeriesCommand::Ingest(typed) => series::Ingest::from_typed(&typed)?.run(),
            SeriesCommand::Query(typed) => series::StoreQuery::from_typed(*typed)?.run(),
            SeriesCommand::Info(typed) => series::info(&typed),
        },
        Command::Selftest(typed) => selftest::run(&typed),
        Command::Ptycho { command } => match *command {
            PtychoCommand::Simulate(typed) => ptycho::Simulate::from_typed(&typed)?.run(),
            PtychoCommand::Info(typed) => ptycho::Info::from_typed(typed)?.run(),
            PtychoCommand::Reconstruct(typed) => ptycho::Reconstruct::from_typed(*typed)?.run(),
            PtychoCommand::Compare(typed) => ptycho::Compare::from_typed(typed).run(),
        },
    }
}

/// Help and version as clap prints them; anything else in one sentence.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that went away has seen enough.
            error.print().unwrap_or_default();
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.print().unwrap_or_default(),
        _ => output::complain(&sentence(&error.render().to_string())),
    }
    ExitCode::from(WRONG_USAGE)
}

/// What is wrong, and clap's tips, without the usage table that follows.
fn sentence(rendered: &str) -> String {
    let text = rendered.strip_prefix("error: ").unwrap_or(rendered);
    let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts: Vec<String> = text
        .split("\n\n")
        .filter(|part| {
            let part = part.trim_start();
            !part.starts_with("Usage:") && !part.starts_with("For more information")
        })
        .map(words)
        .filter(|part| !part.is_empty())
        .collect();
    parts.push("--help shows what there is".to_owned());
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_of_options_is_consistent() {
        Typed::command().debug_assert();
    }

    #[test]
    fn wrong_usage_is_one_sentence_with_its_tip() {
        let typed = ["warpstride", "ptycho", "simulate", "a.cxi", "--frames", "3"];
        let error = Typed::try_parse_from(typed).unwrap_err();
        let text = sentence(&error.render().to_string());
        assert!(
            text.contains("'--frames'") && text.contains("'--frame'"),
            "{text}"
        );
        assert!(!text.contains('\n') && !text.contains("Usage"), "{text}");
    }
}
