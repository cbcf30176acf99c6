//! Second tables in a file, and rows with more or fewer fields than the header.

use super::units::sums;

#[test]
fn headers_of_other_tables_are_refused() {
    let wide = &["--wide"][..];
    let host = &["--series-columns", "host"][..];
    for (text, options) in [
        (
            "time,value\n2024-01-01,1\ntime,pressure\n2024-01-02,2\n",
            &[][..],
        ),
        (
            "time,value\n2024-01-01,1\ntime,x,value\n2024-01-02,2,4\n",
            &[],
        ),
        (
            "# time,value\n2024-01-01,1\n# time,pressure\n2024-01-02,2\n",
            &[],
        ),
        (
            "time,value,host\n2024-01-01,1,5\ntime,host,value\n2024-01-01,7,3\n",
            host,
        ),
        ("time,a,b\n2024-01-01,1,2\ntime,b,a\n2024-01-02,7,3\n", wide),
    ] {
        for skip in [&[][..], &["--on-error", "skip"]] {
            let refused = sums("a.csv", text, &[options, skip].concat());
            refused.refused(
                1,
                &["line 3", "header of another table", "a file of their own"],
            );
        }
    }
    // A row with an error is none.
    let text = "time,name,value\n2024-01-01,a,1\nbad,time,3\n";
    let read = sums("a.csv", text, &["--on-error", "skip"]);
    assert_eq!(read.code, Some(0), "{read:?}");
    for again in ["time,value", "\"time\",\"value\"", "Time,Value"] {
        let text = format!("time,value\n2024-01-01,1\n{again}\n2024-01-01,2\n");
        let read = sums("a.csv", &text, &[]);
        assert!(read.out.contains(",3"), "{read:?}");
        assert!(
            read.err.contains("1 line between the rows repeats"),
            "{read:?}"
        );
    }
}

#[test]
fn empty_fields_at_the_end_are_left_out() {
    for text in [
        "time,value\n2024-01-01,1,\n2024-01-01,2,\n",
        "time,value\n2024-01-01,\"1\",\n\"2024-01-01\",2,\n",
        "time,value\n2024-01-01,1,,\n2024-01-01,2,,\n",
        "time,value,\n2024-01-01,1\n2024-01-01,2\n",
    ] {
        let read = sums("a.csv", text, &[]);
        assert!(read.code == Some(0) && read.out.contains(",3"), "{read:?}");
        assert!(read.err.contains("an empty field after those"), "{read:?}");
    }
    let text = "time,value\n2024-01-01,1,\n2024-01-01,2,x\n";
    sums("a.csv", text, &[]).refused(1, &["line 3", "2 fields", "found 3"]);
    let text = "time,value\n2024-01-01,1\n2024-01-02\n";
    sums("a.csv", text, &[]).refused(1, &["line 3", "--on-error skip", "found 1"]);
    let quoted = sums("a.csv", "\"sep=;\"\ntime;value\n2024-01-01;3\n", &[]);
    quoted.well();
    assert!(quoted.out.contains(",3"), "{quoted:?}");
}
