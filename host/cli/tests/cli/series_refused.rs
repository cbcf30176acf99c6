//! Invalid options and inputs of `series`: one message with the option or the line, the found and
//! the expected value; no output, no panic.

use super::support::TestFolder;
use std::io::Write;

/// Each case: the arguments after `series`, and parts of the message.
#[track_caller]
fn refused(code: i32, cases: &[(&str, &[&str])]) {
    let dir = TestFolder::new();
    std::fs::write(
        dir.path("a.csv"),
        "timestamp,value\n1388577600,1\n1388577660,2\n",
    )
    .unwrap();
    std::fs::create_dir(dir.path("folder")).unwrap();
    let names = dir.names();
    for (command_line, words) in cases {
        let mut arguments = vec!["series"];
        arguments.extend(command_line.split(' '));
        let result = dir.run(&arguments);
        result.refused(code, words);
        assert_eq!(result.out, "", "{command_line}");
        assert_eq!(dir.names(), names, "{command_line}");
    }
}

#[test]
fn invalid_options_are_rejected() {
    refused(
        2,
        &[
            ("resample", &["INPUT", "--help"]),
            ("resample a.csv", &["--output", "--help"]),
            ("resample -o o.csv", &["INPUT"]),
            (
                "resample a.csv -o o.csv --granularity 5x",
                &["--granularity 5x: expected a length such as 60s, 5m"],
            ),
            (
                "resample a.csv -o o.csv --granularity 0s",
                &["--granularity 0s: ", "longer than zero"],
            ),
            (
                "resample a.csv -o o.csv --granularity -60s",
                &["--granularity -60s: "],
            ),
            (
                "resample a.csv -o o.csv --granularity 60s,",
                &["--granularity '': expected a length"],
            ),
            (
                "resample a.csv -o o.csv --granularity 60s,1m",
                &["--granularity 1m: expected each once, found it twice"],
            ),
            (
                "resample a.csv -o o.csv --granularity 99999999999999999999d",
                &["--granularity 99999999999999999999d: "],
            ),
            (
                "resample a.csv -o o.csv --aggregate avg",
                &["--aggregate avg: expected count", "mean", "all"],
            ),
            (
                "resample a.csv -o o.csv --aggregate 101pct",
                &["--aggregate 101pct: "],
            ),
            (
                "resample a.csv -o o.csv --aggregate rate:",
                &["--aggregate rate:: "],
            ),
            (
                "resample a.csv -o o.csv --aggregate mean,mean",
                &["--aggregate mean: expected each once, found it twice"],
            ),
            (
                "resample a.csv -o o.csv --aggregate rate:mean --granularity M",
                &[
                    "--aggregate rate:mean: expected granularities of fixed length",
                    "found M",
                ],
            ),
            (
                "resample a.csv a.csv -o o.csv",
                &["a.csv", "found it twice"],
            ),
            (
                "resample a.csv -o o.xlsx",
                &["-o o.xlsx", ".csv", ".parquet"],
            ),
            ("resample a.csv -o o", &["-o o", ".csv"]),
            ("resample a.csv -o a.csv", &["a.csv", "another name"]),
            ("resample a.csv -o ./a.csv", &["a.csv", "another name"]),
            (
                "resample a.csv -o o.csv --plot p.svg",
                &["--plot p.svg", ".png"],
            ),
            (
                "resample a.csv -o o.csv --summary o.csv",
                &["--summary o.csv: expected another name than -o o.csv"],
            ),
            (
                "resample a.csv -o o.parquet --timestamps iso",
                &["--timestamps iso", "Parquet"],
            ),
            (
                "resample a.csv -o - --json-progress",
                &["-o -", "--json-progress"],
            ),
            (
                "resample a.csv -o o.csv --start yesterday",
                &["--start yesterday", "ISO 8601"],
            ),
            (
                "resample a.csv -o o.csv --start -5",
                &["--start -5", "1970"],
            ),
            (
                "resample a.csv -o o.csv --end 1969-12-31",
                &["--end 1969-12-31", "before 1970"],
            ),
            (
                "resample a.csv -o o.csv --end 2300-01-01",
                &["--end 2300-01-01", "2262"],
            ),
            (
                "resample a.csv -o o.csv --start 2014-01-02 --end 2014-01-02",
                &[
                    "--start 2014-01-02",
                    "expected a time before --end 2014-01-02",
                ],
            ),
            (
                "resample a.csv -o o.csv --memory much",
                &["--memory much", "500M"],
            ),
            (
                "resample a.csv -o o.csv --memory 1K",
                &["--memory 1K", "64K"],
            ),
            ("resample a.csv -o o.csv --memory -1G", &["--memory -1G"]),
            (
                "resample a.csv -o o.csv --threads 0",
                &["--threads 0", "1 to 256"],
            ),
            (
                "resample a.csv -o o.csv --backend cpu --device 1",
                &["--device 1", "cpu"],
            ),
            ("resample a.csv -o o.csv --backend tpu", &["tpu"]),
            ("resample a.csv -o o.csv --nan maybe", &["maybe"]),
            (
                "resample a.csv -o o.csv --time-unit h",
                &["--time-unit h: expected auto"],
            ),
            (
                "resample a.csv -o o.csv --quiet --json-progress",
                &["--quiet", "--json-progress"],
            ),
            (
                "ladder --backend emulator --device 2",
                &["--device 2", "emulator"],
            ),
            ("aggregate a.csv", &["aggregate"]),
        ],
    );
}

#[test]
fn invalid_files_are_rejected() {
    refused(
        1,
        &[
            ("resample none.csv -o o.csv", &["none.csv", "No such file"]),
            ("resample folder -o o.csv", &["folder"]),
            ("resample a.csv -o none/o.csv", &["none/o.csv", "no folder"]),
            ("resample a.csv -o folder/o.csv/p.csv", &["folder/o.csv"]),
            ("resample a.csv -o o.csv --plot none/p.png", &["none/p.png"]),
            (
                "resample a.csv -o o.csv --value-column load",
                &["a.csv", "'load'", "timestamp, value"],
            ),
            (
                "resample a.csv -o o.csv --series-column host",
                &["a.csv", "'host'"],
            ),
            (
                "resample a.csv -o o.csv --time-column when",
                &["a.csv", "'when'"],
            ),
            (
                "resample a.csv -o o.csv --start 2020-01-01",
                &["a.csv", "none of 2 points", "--start"],
            ),
            (
                "resample a.csv -o o.csv --end 1388577600",
                &["a.csv", "none of 2 points", "--end"],
            ),
        ],
    );
}

/// Each case: the contents of the file, options, and parts of the message.
#[test]
fn invalid_contents_are_rejected() {
    const HUGE: &str = "t,v\n99999999999999999999999,1\n";
    let long = format!("t_s,v\n0,{}\n", "7".repeat(3_000_000));
    let cases: [(&[u8], &[&str], &[&str]); 22] = [
        (b"", &[], &["bad.csv", "empty"]),
        (b"timestamp,value\n", &[], &["bad.csv", "no rows"]),
        (b"\n\n\n", &[], &["bad.csv"]),
        (
            b"t_s,v\n0,1\n60,two\n",
            &[],
            &["bad.csv", "line 3", "'two'", "number"],
        ),
        (
            b"t_s,v\n0,1\nnoon,2\n",
            &[],
            &["bad.csv", "line 3", "'noon'"],
        ),
        (b"t_s,v\n0,1\n60\n", &[], &["bad.csv", "line 3"]),
        (b"t_s,v\n0,1\n60,1,1,1\n", &[], &["bad.csv", "line 3"]),
        (b"t_s,v\n0,\n60,\n", &[], &["bad.csv", "without any value"]),
        (b"t_s,v\n-60,1\n", &[], &["bad.csv", "line 2", "1970"]),
        (b"t,v\n1969-12-31,1\n", &[], &["bad.csv", "line 2", "1970"]),
        (b"t,v\n2300-01-01,1\n", &[], &["bad.csv", "line 2", "2262"]),
        (b"t,v\n2014-02-30,1\n", &[], &["bad.csv", "2014-02-30"]),
        (HUGE.as_bytes(), &[], &["bad.csv", "line 2"]),
        (
            b"t,v\n1388577600,1\n1388577660000,2\n",
            &[],
            &["bad.csv", "line 3", "milliseconds"],
        ),
        (
            b"t,v\n1388577600,1\n2014-01-01,2\n",
            &[],
            &["bad.csv", "line 3"],
        ),
        (
            b"t,v\n9999999999,1\n",
            &["--time-unit", "s"],
            &["bad.csv", "line 2", "2262"],
        ),
        (
            b"when,load\n0,1\n",
            &[],
            &["bad.csv", "when, load", "time-column"],
        ),
        (b"series,t_s,v\n,0,1\n", &[], &["bad.csv", "line 2"]),
        (b"\xff\xfet\x00,\x00v\x00", &[], &["bad.csv", "UTF-16"]),
        (b"\x1f\x8b\x08\x00broken", &[], &["bad.csv", "gzip"]),
        (b"PAR1 but not really PAR1", &[], &["bad.csv"]),
        (
            long.as_bytes(),
            &["--memory", "256K"],
            &["bad.csv", "line 2"],
        ),
    ];
    let dir = TestFolder::new();
    for (content, options, words) in cases {
        std::fs::write(dir.path("bad.csv"), content).unwrap();
        let fixed = [
            "series",
            "resample",
            "bad.csv",
            "-o",
            "o.csv",
            "--backend",
            "cpu",
        ];
        let result = dir.run(&[&fixed, options].concat());
        result.refused(1, words);
        assert_eq!(result.out, "", "{words:?}");
        assert_eq!(dir.names(), ["bad.csv"], "{words:?}");
    }
}

/// If no row is readable, `--on-error skip` has nothing to write.
#[test]
fn input_without_a_readable_row_is_rejected() {
    let dir = TestFolder::new();
    std::fs::write(dir.path("bad.csv"), "t_s,v\n0,x\n1,y\n").unwrap();
    let options = [
        "series",
        "resample",
        "bad.csv",
        "-o",
        "o.csv",
        "--backend",
        "cpu",
        "--on-error",
        "skip",
    ];
    dir.run(&options).refused(
        1,
        &[
            "bad.csv",
            "2 rows, none of them readable",
            "expected a number such as 21.5",
        ],
    );
    assert_eq!(dir.names(), ["bad.csv"]);
}

/// The error occurs in the second file, when rows of the first are already in temporary files.
#[test]
fn an_error_in_a_later_file_leaves_nothing_behind() {
    let dir = TestFolder::new();
    let rows: String = (0..20_000).map(|i| format!("{i},{i}\n")).collect();
    std::fs::write(dir.path("good.csv"), format!("t_s,v\n{rows}")).unwrap();
    std::fs::write(dir.path("bad.csv"), "t_s,v\n0,1\n1,x\n").unwrap();
    let options = [
        "series",
        "resample",
        "good.csv",
        "bad.csv",
        "-o",
        "o.csv",
        "--backend",
        "cpu",
        "--memory",
        "64K",
    ];
    dir.run(&options).refused(1, &["bad.csv", "line 3"]);
    assert_eq!(dir.names(), ["bad.csv", "good.csv"]);
}

/// A day is one bucket of 86 400 points, which do not fit in 64 KiB.
#[test]
fn a_bucket_larger_than_memory_is_rejected_with_both_sizes() {
    let dir = TestFolder::new();
    let rows: String = (0..86_400).map(|i| format!("{i},{i}\n")).collect();
    std::fs::write(dir.path("day.csv"), format!("t_s,v\n{rows}")).unwrap();
    let options = [
        "series",
        "resample",
        "day.csv",
        "-o",
        "o.csv",
        "--backend",
        "cpu",
    ];
    let small = ["--memory", "64K", "--granularity", "1d"];
    dir.run(&[&options[..], &small].concat()).refused(
        1,
        &[
            "series day",
            "bucket of 1d",
            "86400 points",
            "64.0 KiB",
            "--memory",
        ],
    );
    assert_eq!(dir.names(), ["day.csv"]);
}

#[test]
fn a_truncated_stream_is_reported() {
    let dir = TestFolder::new();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let rows: String = (0..5000)
        .map(|i| format!("{i},{}\n", i * 7919 % 1000))
        .collect();
    gz.write_all(format!("t_s,v\n{rows}").as_bytes()).unwrap();
    let whole = gz.finish().unwrap();
    std::fs::write(dir.path("cut.csv.gz"), &whole[..whole.len() / 2]).unwrap();
    let options = [
        "series",
        "resample",
        "cut.csv.gz",
        "-o",
        "o.csv",
        "--backend",
        "cpu",
    ];
    dir.run(&options)
        .refused(1, &["cut.csv.gz", "gzip", "too early"]);
    assert_eq!(dir.names(), ["cut.csv.gz"]);
}
