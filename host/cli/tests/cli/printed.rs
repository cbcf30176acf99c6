//! Names with characters that shells and terminals act on, and the width of the help.

use super::support::TestFolder;

/// The command in a file can be pasted into a shell.
#[cfg(unix)]
#[test]
fn the_command_in_a_file_is_quoted_for_a_shell() {
    let folder = TestFolder::new();
    let name = "x;touch pwned;'$(touch pwned)` #.txt";
    std::fs::write(folder.path(name), "20 1\n30 2\n40 1\n").unwrap();
    let distribution = format!("radius=array:{name}");
    let points = ["--points", "0.01, 0.02,0.03"];
    let options = ["--pd", &distribution, "-o", "a.csv", "--quiet"];
    folder
        .run(&[&["sas", "evaluate", "sphere"], &points[..], &options].concat())
        .well();
    let text = std::fs::read_to_string(folder.path("a.csv")).unwrap();
    let command = text
        .lines()
        .find_map(|line| line.strip_prefix("# command: warpstride "))
        .unwrap();
    let mut shell = std::process::Command::new("sh");
    shell
        .current_dir(folder.path(""))
        .env("PROGRAM", env!("CARGO_BIN_EXE_warpstride"))
        .args(["-c", &format!("\"$PROGRAM\" {command} -o b.csv --quiet")]);
    assert!(
        folder.start(&mut shell).wait().unwrap().success(),
        "{command}"
    );
    assert_eq!(std::fs::read_to_string(folder.path("b.csv")).unwrap(), text);
    assert_eq!(folder.names(), ["a.csv", "b.csv", name]);
}

/// Files show such names as the terminal does.
#[cfg(unix)]
#[test]
fn control_characters_in_reports_and_header_lines_are_escaped() {
    let folder = TestFolder::new();
    let (name, shown) = ("a\u{202e}v\u{9b}c.txt", "a\\u{202e}v\\u{9b}c.txt");
    let curve = "0.01 10 1\n0.02 9 1\n0.03 7 1\n0.04 5 1\n0.05 3 1\n";
    std::fs::write(folder.path(name), curve).unwrap();
    let options = [
        "--fit", "scale", "-o", "o.csv", "--report", "r.html", "--quiet",
    ];
    let output = folder.run(&[&["sas", "fit", "sphere", name], &options[..]].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    for written in ["r.html", "o.csv"] {
        let text = std::fs::read_to_string(folder.path(written)).unwrap();
        assert!(text.contains(shown.trim_end_matches(".txt")), "{written}");
        assert!(!text.contains(['\u{202e}', '\u{9b}']), "{written}");
    }
}

/// Errors, notes and tables show names without characters on which a terminal acts.
#[cfg(unix)]
#[test]
fn control_characters_in_names_are_escaped() {
    let folder = TestFolder::new();
    let name = "a\u{1b}[31m\u{202e}v\u{9b}c.csv";
    let shown = "a\\u{1b}[31m\\u{202e}v\\u{9b}c.csv";
    let raw = |text: &str| {
        text.chars()
            .any(|c| c != '\n' && c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))
    };
    folder.run(&["sas", "info", name]).refused(1, &[shown]);
    folder
        .run(&["series", "resample", name, "-o", "o.csv"])
        .refused(1, &[shown]);
    folder.run(&[name]).refused(2, &[shown]);
    // The first file's name is in a note, all are in the table.
    std::fs::write(folder.path(name), "1700000000,1\n1700000060,2\n").unwrap();
    let output = folder.run(&["series", "resample", name, "-o", "o.csv"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output.err.contains(shown) && output.out.contains(shown),
        "{output:?}"
    );
    assert!(!raw(&output.out) && !raw(&output.err), "{output:?}");
    // Data are not changed: the series is named after the file.
    let text = std::fs::read_to_string(folder.path("o.csv")).unwrap();
    assert!(
        text.contains("a\u{1b}[31m\u{202e}v\u{9b}c,60,mean"),
        "{text:?}"
    );
    let image = "\u{202e}gpj.h5";
    folder
        .run(&["mri", "simulate", image, "--matrix", "32", "--coils", "2"])
        .well();
    for words in [
        &["mri", "info", image][..],
        &[
            "mri",
            "reconstruct",
            image,
            "-o",
            "o.h5",
            "--iterations",
            "1",
        ],
    ] {
        let output = folder.run(words);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(!raw(&output.out) && !raw(&output.err), "{output:?}");
    }
}

/// Commands of the program, by the list in its help.
fn commands(help: &str) -> Vec<String> {
    let mut lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let mut commands = Vec::new();
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let name = line
            .strip_prefix("  ")
            .and_then(|line| line.split(' ').next());
        commands.extend(
            name.filter(|name| !name.is_empty() && *name != "help")
                .map(str::to_owned),
        );
    }
    commands
}

#[test]
fn no_line_of_the_help_is_wider_than_100_columns() {
    let folder = TestFolder::new();
    let mut waiting = vec![Vec::new()];
    let mut seen = 0;
    while let Some(words) = waiting.pop() {
        let words: Vec<String> = words;
        let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        arguments.push("--help");
        let output = folder.run(&arguments);
        output.well();
        for line in output.out.lines() {
            assert!(line.chars().count() <= 100, "{words:?}: {line}");
        }
        seen += 1;
        for name in commands(&output.out) {
            waiting.push([&words[..], &[name]].concat());
        }
    }
    assert!(seen > 20, "{seen}");
}
