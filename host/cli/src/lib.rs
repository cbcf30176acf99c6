//! The command line of the program `warpstride`. `args` defines the options; each command converts
//! its arguments into a checked struct, which then runs. [`run`] is the whole program;
//! [`run_with`] serves a program that has its own arguments, such as Python's module.

#![cfg_attr(
    not(all(
        feature = "jacobi",
        feature = "mri",
        feature = "ptycho",
        feature = "sas",
        feature = "series",
        feature = "hdf5"
    )),
    allow(
        dead_code,
        unused_imports,
        reason = "a build without some features leaves out who uses these parts"
    )
)]

mod args;
mod backend;
#[cfg(any(feature = "series", all(feature = "ptycho", feature = "hdf5")))]
mod byte_size;
mod demo;
mod device_list;
mod devices;
mod devices_request;
mod failed_allocation;
mod failure;
mod file_size;
#[cfg(feature = "jacobi")]
mod jacobi;
#[cfg(all(feature = "mri", feature = "hdf5"))]
mod mri;
mod output;
mod paths;
mod processes;
#[cfg(all(feature = "ptycho", feature = "hdf5"))]
mod ptycho;
#[cfg(feature = "sas")]
mod sas;
mod science_command;
mod selftest;
#[cfg(feature = "series")]
mod series;
mod threads;
mod usage;

use failure::{FAILED, Failure};
use science_command::{ScienceCommand, parsed};

use args::Tool;
use clap::{Arg, ArgMatches, Command, Subcommand};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use usage::usage;

/// Columns of the help on wide terminals.
const HELP_WIDTH: usize = 100;
/// Parses the command line, runs the command and returns the exit code: 0, 1 for bad input or a
/// failure, 2 for wrong usage, 130 after Ctrl-C.
pub fn run() -> ExitCode {
    if let Err(failure) = failed_allocation::end_as_failure() {
        output::complain(&failure.to_string());
        return ExitCode::from(FAILED);
    }
    ExitCode::from(run_with(std::env::args_os(), None))
}

/// Like [`run`], with `arguments` in the place of the process's own, of which the first is the name
/// of the program. `executable` starts the program again, if the running executable does not.
pub fn run_with(arguments: impl IntoIterator<Item = OsString>, executable: Option<&Path>) -> u8 {
    if let Err(failure) = file_size::report_as_error() {
        output::complain(&failure.to_string());
        return FAILED;
    }
    threads::report_as_error();
    let sciences = science_commands();
    let matches = match program(&sciences).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(_) if !processes::is_first() => return 0,
        Err(error) => return usage(&error),
    };
    let done = execute(&sciences, &matches, executable).and_then(|()| output::check_progress());
    let failure = match done {
        // All processes of MPI have a failure, and the first one says it. The code of another one
        // would end it before.
        Err(failure) if processes::is_first() => failure,
        _ => return 0,
    };
    output::complain(&failure.to_string());
    failure.exit_code()
}

/// The commands of the sciences, in the order of `--help`.
fn science_commands() -> Vec<ScienceCommand> {
    vec![
        #[cfg(all(feature = "ptycho", feature = "hdf5"))]
        ptycho::command(),
        #[cfg(feature = "jacobi")]
        jacobi::command(),
        #[cfg(all(feature = "mri", feature = "hdf5"))]
        mri::command(),
        #[cfg(feature = "sas")]
        sas::command(),
        #[cfg(feature = "series")]
        series::command(),
    ]
}

/// The whole command line.
fn program(sciences: &[ScienceCommand]) -> Command {
    let definitions = sciences.iter().map(|science| science.definition.clone());
    let program = Command::new("warpstride")
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(HELP_WIDTH)
        .about(args::ABOUT)
        .subcommands(definitions);
    let program = Tool::augment_subcommands(program)
        .subcommand_required(true)
        .arg_required_else_help(true);
    let after_help = available(args::AFTER_HELP, &program);
    with_negative_numbers(program.about(args::ABOUT).after_help(after_help))
}

/// Reads `-1` after an option as its value, so that the error is that of the value.
fn with_negative_numbers(command: Command) -> Command {
    let options = |option: Arg| {
        let has_value = !option.is_positional() && option.get_action().takes_values();
        option.allow_negative_numbers(has_value)
    };
    command
        .mut_args(options)
        .mut_subcommands(with_negative_numbers)
}

/// `text` without the examples of commands that `program` lacks.
fn available(text: &str, program: &Command) -> String {
    // Whether the command is known of which the next line may be the continuation.
    let mut known = true;
    let mut continued = false;
    let kept = text.lines().filter(|line| {
        if !std::mem::replace(&mut continued, line.ends_with('\\')) {
            let example = line.strip_prefix("  warpstride ");
            let name = example.and_then(|example| example.split(' ').next());
            known = name.is_none_or(|name| program.find_subcommand(name).is_some());
        }
        known
    });
    kept.collect::<Vec<_>>().join("\n")
}

fn execute(
    sciences: &[ScienceCommand],
    matches: &ArgMatches,
    executable: Option<&Path>,
) -> Result<(), Failure> {
    threads::check_environment()?;
    processes::check(matches)?;
    threads::start_for(matches)?;
    if let Some((name, options)) = matches.subcommand() {
        let mut named = sciences.iter();
        if let Some(science) = named.find(|science| science.definition.get_name() == name) {
            return (science.run)(options);
        }
    }
    match parsed(matches)? {
        Tool::Devices { json } => devices::run(json),
        Tool::Selftest(options) => selftest::run(&options),
        Tool::Demo(options) => {
            let parts: Vec<_> = sciences.iter().map(|science| science.demo).collect();
            demo::run(&options, &parts, executable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::usage::sentence;
    use super::*;

    #[cfg(all(feature = "jacobi", feature = "series"))]
    #[test]
    fn values_are_refused_with_what_was_expected() {
        let program = program(&science_commands());
        for (arguments, text) in [
            (
                "jacobi --nx many",
                "--nx many: expected a whole number, 0 or more",
            ),
            (
                "jacobi --nx 99999999999999999999",
                "--nx 99999999999999999999: expected a whole number up to 18446744073709551615",
            ),
            (
                "jacobi --tolerance low",
                "--tolerance low: expected a number",
            ),
            ("jacobi --nx", "--nx <N>: expected a value, found none"),
            (
                "jacobi --nx -1",
                "--nx -1: expected a whole number, 0 or more",
            ),
            ("jacobi --csv --json", "--csv: cannot be used with --json"),
            (
                "jacobi --nx 5 --nx 6",
                "--nx: expected once, found it twice",
            ),
            (
                "jacobi field.npy",
                "field.npy: expected no further argument; see --help",
            ),
            (
                "jakobi",
                "jakobi: expected a command (did you mean jacobi?); see --help",
            ),
            (
                "series resample",
                "expected --output <OUT.csv|OUT.parquet>, <INPUT>..., found none; see --help",
            ),
            (
                "jacobi --backend gpu",
                "--backend gpu: expected auto, cpu, cuda or emulator",
            ),
            (
                "selftest --device x",
                "--device x: expected a whole number, 0 or more",
            ),
        ] {
            let arguments = std::iter::once("warpstride").chain(arguments.split(' '));
            let error = program.clone().try_get_matches_from(arguments).unwrap_err();
            assert_eq!(sentence(&error), text);
        }
    }

    /// Calls `check` with every command and the words that name it.
    fn each(command: &mut Command, names: &str, check: &mut dyn FnMut(&mut Command, &str)) {
        check(command, names);
        for command in command.get_subcommands_mut() {
            let names = format!("{names} {}", command.get_name());
            each(command, &names, check);
        }
    }

    /// On a terminal of 80 columns, too, each line of an example can be copied.
    #[test]
    fn examples_are_not_wrapped() {
        let mut examples = 0;
        let mut program = program(&science_commands()).term_width(80);
        program.build();
        each(&mut program, "warpstride", &mut |command, names| {
            let help = command
                .clone()
                .term_width(80)
                .render_long_help()
                .to_string();
            let Some(text) = command.get_after_help().map(ToString::to_string) else {
                return;
            };
            let mut continued = false;
            for line in text.lines() {
                if continued || line.starts_with("  warpstride ") {
                    assert!(
                        help.lines().any(|shown| shown == line),
                        "{names}: {line}\n{help}"
                    );
                    examples += 1;
                }
                continued = line.ends_with('\\');
            }
        });
        assert!(examples > 15, "{examples}");
    }

    #[test]
    fn the_options_are_consistent() {
        program(&science_commands()).debug_assert();
    }

    #[cfg(all(feature = "ptycho", feature = "hdf5"))]
    #[test]
    fn wrong_usage_is_one_sentence_with_its_tip() {
        let arguments = ["warpstride", "ptycho", "simulate", "a.cxi", "--frames", "3"];
        let program = program(&science_commands());
        let text = sentence(&program.try_get_matches_from(arguments).unwrap_err());
        assert_eq!(
            text,
            "--frames: expected an option of this command (did you mean --frame?); see --help"
        );
    }

    #[test]
    fn only_examples_of_available_commands_are_shown() {
        let program = Command::new("warpstride").subcommand(Command::new("devices"));
        let text = "Examples:\n  warpstride absent a.npy \\\n      -o b\n  warpstride devices\n\nExit codes";
        let expected = "Examples:\n  warpstride devices\n\nExit codes";
        assert_eq!(available(text, &program), expected);
    }
}
