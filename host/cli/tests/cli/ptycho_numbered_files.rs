//! Frames in numbered files, and tables of positions that name files: each frame has the position
//! that was measured with it.

use super::support::{Output, TestFolder};
use warpstride::ptycho::ReadOptions;

/// The geometry of files of frames alone, whose brightness differs.
const OPTIONS: [&str; 8] = [
    "--energy",
    "8.856keV",
    "--distance",
    "1m",
    "--pixel-size",
    "75um",
    "--bad-frames",
    "keep",
];

/// Writes `count` frames whose brightness is that of the file's `number`.
fn frames(folder: &TestFolder, name: &str, (number, count): (usize, usize)) {
    let light = |pixel: usize| {
        if pixel == 36 {
            1000.0 * (1 + number) as f32
        } else {
            1.0
        }
    };
    let counts = (0..count * 64).map(|n| light(n % 64));
    let mut header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 8, 8), }}");
    header.push_str(&" ".repeat(117 - header.len()));
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.bytes().chain([b'\n']));
    bytes.extend(counts.flat_map(f32::to_le_bytes));
    std::fs::write(folder.path(name), bytes).unwrap();
}

/// Writes a table of positions, one for each text before it; the position `n` is at n steps along
/// both axes.
fn table(folder: &TestFolder, name: &str, column: &str, rows: &[(String, usize)]) {
    let comma = if column.is_empty() { "" } else { "," };
    let lines = rows.iter().map(|(text, at)| {
        let at = 0.05 * *at as f64;
        format!("{text}{comma}{at},{}\n", 2.0 * at)
    });
    let text = format!("{column}{comma}y_um,x_um\n{}", lines.collect::<String>());
    std::fs::write(folder.path(name), text).unwrap();
}

/// The file and the position of each frame that `import` writes.
fn pairs(folder: &TestFolder, path: &str) -> Vec<(usize, usize)> {
    let read = warpstride::ptycho::io::scan::read(&folder.path(path), &ReadOptions::default());
    let scan = read.unwrap().scan;
    let counts = scan.frames().unwrap();
    (counts.outer_iter().zip(scan.positions().outer_iter()))
        .map(|(frame, position)| {
            let brightest = frame.iter().copied().fold(0.0, f32::max);
            let number = (brightest / 1000.0).round() as usize - 1;
            (number, (position[0] / 0.05e-6).round() as usize)
        })
        .collect()
}

fn import(folder: &TestFolder, arguments: &[&str]) -> Output {
    let _ = std::fs::remove_file(folder.path("out.cxi"));
    folder.run(
        &[
            &["ptycho", "import", "-o", "out.cxi"][..],
            arguments,
            &OPTIONS,
        ]
        .concat(),
    )
}

/// Runs the command that a refusal with these words prints, and returns the pairs.
#[track_caller]
fn remedied(folder: &TestFolder, arguments: &[&str], words: &[&str]) -> Vec<(usize, usize)> {
    let refused = import(folder, arguments);
    refused.refused(1, words);
    let (_, command) = refused.err.trim().rsplit_once(": warpstride ").unwrap();
    folder.run(&command.split(' ').collect::<Vec<_>>()).well();
    pairs(folder, "out.cxi")
}

fn plain(count: usize) -> Vec<(String, usize)> {
    (0..count).map(|n| (String::new(), n)).collect()
}

#[test]
fn a_file_that_is_missing_in_a_series_leaves_the_others_their_positions() {
    let folder = TestFolder::new();
    for number in 0..12 {
        frames(&folder, &format!("g_{number}.npy"), (number, 1));
        frames(&folder, &format!("z{number:03}.npy"), (number, 1));
        frames(&folder, &format!("two_{number}.npy"), (number, 2));
    }
    for count in [6, 7, 8, 14] {
        table(&folder, &format!("p{count}.csv"), "", &plain(count));
    }
    let from_1 = |numbers: &[usize]| numbers.iter().map(|n| (*n, n - 1)).collect::<Vec<_>>();
    // One file is missing between others: 4 of 1 to 7.
    let gap = [
        "g_1.npy", "g_2.npy", "g_3.npy", "g_5.npy", "g_6.npy", "g_7.npy",
    ];
    let with = |files: &[&'static str], more: &[&'static str]| [files, more].concat();
    let p7 = with(&gap, &["--positions", "p7.csv"]);
    let words = [
        "found 7; g_4.npy is missing between g_1.npy and g_7.npy",
        "--pair by-index",
    ];
    let expected = from_1(&[1, 2, 3, 5, 6, 7]);
    assert_eq!(remedied(&folder, &p7, &words), expected);
    // A raster is such a set of positions, too; its points are those of the files.
    let raster = with(&gap, &["--raster", "1x7", "--step", "0.05um"]);
    import(&folder, &raster).refused(1, &["g_4.npy is missing", "--pair by-index"]);
    // In the order of the files it is a problem of the scan.
    let first = with(&p7, &["--pair", "first"]);
    let said = folder.run(&[&["ptycho", "info"][..], &first, &OPTIONS].concat());
    assert!(said.out.contains("although g_4.npy is missing"), "{said:?}");
    // The series may begin with 0 or 1.
    let p8 = with(&gap, &["--positions", "p8.csv"]);
    let words = ["that of g_0.npy or of g_1.npy?", "--pair by-index-from-0"];
    assert_eq!(remedied(&folder, &p8, &words), expected);
    let from_0 = with(&p8, &["--pair", "by-index-from-0"]);
    import(&folder, &from_0).well();
    let itself: Vec<_> = expected.iter().map(|(file, _)| (*file, *file)).collect();
    assert_eq!(pairs(&folder, "out.cxi"), itself);
    // As many positions as files are theirs, which is noted.
    let equal = import(&folder, &with(&gap, &["--positions", "p6.csv"]));
    equal.well();
    assert!(equal.err.contains("g_4.npy is missing") || equal.out.contains("g_4.npy is missing"));
    assert_eq!(pairs(&folder, "out.cxi")[3], (5, 3));
    // Two are missing, with leading zeros; several frames in each file.
    let zeros = [
        "z001.npy",
        "z003.npy",
        "z004.npy",
        "z006.npy",
        "z007.npy",
        "--positions",
        "p7.csv",
    ];
    let words = ["z002.npy, z005.npy are missing between z001.npy and z007.npy"];
    assert_eq!(remedied(&folder, &zeros, &words), from_1(&[1, 3, 4, 6, 7]));
    let two = [
        "two_0.npy",
        "two_1.npy",
        "two_4.npy",
        "two_5.npy",
        "two_6.npy",
        "--positions",
        "p14.csv",
    ];
    let expected = [0, 1, 4, 5, 6]
        .map(|n| [(n, 2 * n), (n, 2 * n + 1)])
        .concat();
    let words = ["two_2.npy, two_3.npy are missing"];
    assert_eq!(remedied(&folder, &two, &words), expected);
    // The first is missing, and the last.
    let start = [
        "g_2.npy",
        "g_3.npy",
        "g_4.npy",
        "g_5.npy",
        "g_6.npy",
        "--positions",
        "p6.csv",
    ];
    let words = [
        "--pair by-index, if the series begins with g_1.npy",
        "--pair first",
    ];
    assert_eq!(remedied(&folder, &start, &words), from_1(&[2, 3, 4, 5, 6]));
    let end = [
        "g_1.npy",
        "g_2.npy",
        "g_3.npy",
        "g_4.npy",
        "g_5.npy",
        "--positions",
        "p6.csv",
    ];
    let words = ["--pair first", "if the series begins with g_0.npy"];
    assert_eq!(remedied(&folder, &end, &words), from_1(&[1, 2, 3, 4, 5]));
    // A column with the numbers of frames counts from 0 or 1, as the numbers of the files show.
    for (name, base) in [("f0.csv", 0), ("f1.csv", 1)] {
        let rows: Vec<_> = (0..7).map(|n| ((n + base).to_string(), n)).collect();
        table(&folder, name, "frame", &rows);
        import(&folder, &with(&gap, &["--positions", name])).well();
        assert_eq!(
            pairs(&folder, "out.cxi"),
            from_1(&[1, 2, 3, 5, 6, 7]),
            "{name}"
        );
    }
}

#[test]
fn positions_belong_to_the_files_that_their_table_names() {
    let folder = TestFolder::new();
    for number in 0..12 {
        frames(&folder, &format!("im_{number}.npy"), (number, 1));
        frames(&folder, &format!("two_{number}.npy"), (number, 2));
    }
    // The order of a shell, which is neither that of the numbers nor that of the files given.
    let mut numbers: Vec<usize> = (0..12).collect();
    numbers.sort_by_key(usize::to_string);
    let named = |name: &dyn Fn(usize) -> String| -> Vec<(String, usize)> {
        numbers.iter().map(|n| (name(*n), *n)).collect()
    };
    let files: Vec<String> = (0..12).map(|n| format!("im_{n}.npy")).collect();
    let with = |table: &'static str| -> Vec<&str> {
        files
            .iter()
            .map(String::as_str)
            .chain(["--positions", table])
            .collect()
    };
    let expected: Vec<(usize, usize)> = (0..12).map(|n| (n, n)).collect();
    let forms: [&dyn Fn(usize) -> String; 4] = [
        &|n| format!("im_{n}.npy"),
        &|n| format!("im_{n}"),
        &|n| format!("C:\\data\\im_{n}.tif"),
        &|n| format!("/data/im_{n:04}.tif"),
    ];
    for form in forms {
        table(&folder, "names.csv", "file", &named(form));
        let said = import(&folder, &with("names.csv"));
        said.well();
        assert_eq!(pairs(&folder, "out.cxi"), expected, "{}", form(1));
        let notes = format!("{}{}", said.out, said.err);
        assert!(
            notes.contains("by the names of files in the column file"),
            "{notes}"
        );
    }
    // The order of the lines only where it is asked for.
    let first = [&with("names.csv")[..], &["--pair", "first"]].concat();
    import(&folder, &first).well();
    assert_eq!(pairs(&folder, "out.cxi")[2], (2, 10));
    // Names of files that are not given.
    let some = [
        &["im_1.npy", "im_2.npy", "im_3.npy", "im_5.npy", "im_11.npy"][..],
        &["--positions", "names.csv"],
    ]
    .concat();
    let words = [
        "of which 7 have names in the column file",
        "im_0000.tif in line 2",
        "--pair by-name",
    ];
    let used = [1, 2, 3, 5, 11].map(|n| (n, n)).to_vec();
    assert_eq!(remedied(&folder, &some, &words), used);
    // Two frames in each file: their lines follow one another, or have the number of the frame.
    let twice: Vec<_> = (numbers.iter().filter(|n| **n < 6))
        .flat_map(|n| [1, 0].map(|frame| (format!("two_{n},{frame}"), 2 * n + frame)))
        .collect();
    table(&folder, "two.csv", "file,frame", &twice);
    let two: Vec<String> = (0..6).map(|n| format!("two_{n}.npy")).collect();
    let two: Vec<&str> = two
        .iter()
        .map(String::as_str)
        .chain(["--positions", "two.csv"])
        .collect();
    import(&folder, &two).well();
    let expected: Vec<_> = (0..12).map(|n| (n / 2, n)).collect();
    assert_eq!(pairs(&folder, "out.cxi"), expected);
    // One stack, whose frames have no names: the numbers in the texts are asked about.
    frames(&folder, "stack.npy", (0, 12));
    table(
        &folder,
        "other.csv",
        "file",
        &named(&|n| format!("scan_{n}.tif")),
    );
    let asked = import(&folder, &["stack.npy", "--positions", "other.csv"]);
    asked.refused(
        1,
        &[
            "in the column file (numbers in its texts)",
            "--pair by-index",
            "--pair first",
        ],
    );
}

/// The recipe's name of the option is that of the command.
#[test]
fn a_recipe_pairs_by_names() {
    let folder = TestFolder::new();
    for number in 0..6 {
        frames(&folder, &format!("im_{number}.npy"), (number, 1));
    }
    let rows: Vec<_> = (0..7).rev().map(|n| (format!("im_{n}"), n)).collect();
    table(&folder, "names.csv", "file", &rows);
    std::fs::write(folder.path("r.toml"), "[data]\npair = \"by-name\"\n").unwrap();
    let files = [
        "im_0.npy", "im_1.npy", "im_2.npy", "im_3.npy", "im_4.npy", "im_5.npy",
    ];
    let recipe = ["--positions", "names.csv", "--recipe", "r.toml"];
    import(&folder, &[&files[..], &recipe].concat()).well();
    let expected: Vec<_> = (0..6).map(|n| (n, n)).collect();
    assert_eq!(pairs(&folder, "out.cxi"), expected);
}

#[test]
fn files_of_several_folders_are_those_that_the_table_names() {
    let folder = TestFolder::new();
    let mut files = Vec::new();
    for run in 0..2 {
        std::fs::create_dir_all(folder.path(&format!("s/run{run}"))).unwrap();
        for number in 0..3 {
            let name = format!("s/run{run}/im_{number:03}.npy");
            frames(&folder, &name, (3 * run + number, 1));
            files.push(name);
        }
    }
    let order = [4, 0, 2, 5, 1, 3];
    let named = |form: &dyn Fn(usize, usize) -> String| -> Vec<(String, usize)> {
        order.iter().map(|n| (form(n / 3, n % 3), *n)).collect()
    };
    let with: Vec<&str> = (files.iter().map(String::as_str))
        .chain(["--positions", "names.csv"])
        .collect();
    let expected: Vec<_> = (0..6).map(|n| (n, n)).collect();
    let forms: [&dyn Fn(usize, usize) -> String; 4] = [
        &|run, n| format!("run{run}/im_{n:03}.tif"),
        &|run, n| format!("run{run}\\im_{n}.tif"),
        &|run, n| format!("/data/s/run{run}/im_{n:03}"),
        &|run, n| format!("./s/run{run}/im_{n:03}.npy"),
    ];
    for form in forms {
        table(&folder, "names.csv", "file", &named(form));
        import(&folder, &with).well();
        assert_eq!(pairs(&folder, "out.cxi"), expected, "{}", form(0, 1));
    }
    table(
        &folder,
        "names.csv",
        "file",
        &named(&|_, n| format!("im_{n:03}.tif")),
    );
    let words = [
        "names of files in the column file that files in several folders have, such as im_001.tif",
        "--pair first",
    ];
    import(&folder, &with).refused(1, &words);
}

#[test]
fn files_and_positions_may_both_have_gaps() {
    let folder = TestFolder::new();
    let mut files = Vec::new();
    for number in (0..20).filter(|n| *n != 5) {
        let name = format!("im_{number:03}.npy");
        frames(&folder, &name, (number, 1));
        files.push(name);
    }
    let with: Vec<&str> = (files.iter().map(String::as_str))
        .chain(["--positions", "gap.csv"])
        .collect();
    for missing in [&[9][..], &[9, 12], &[3]] {
        let rows: Vec<_> = (0..20)
            .filter(|n| !missing.contains(n))
            .map(|n| (n.to_string(), n))
            .collect();
        table(&folder, "gap.csv", "frame", &rows);
        let expected: Vec<_> = (0..20)
            .filter(|n| *n != 5 && !missing.contains(n))
            .map(|n| (n, n))
            .collect();
        let words = [
            "in the column frame, which lack other ones",
            "--pair by-index",
        ];
        assert_eq!(remedied(&folder, &with, &words), expected, "{missing:?}");
    }
    // The names of columns in a comment, and a name in the first column.
    let rows: String = (0..20)
        .filter(|n| *n != 5)
        .rev()
        .map(|n| format!("im_{n:03}.tif {} {}\n", 0.05 * n as f64, 0.1 * n as f64))
        .collect();
    std::fs::write(folder.path("gap.csv"), format!("# file y_um x_um\n{rows}")).unwrap();
    import(&folder, &with).well();
    let expected: Vec<_> = (0..20).filter(|n| *n != 5).map(|n| (n, n)).collect();
    assert_eq!(pairs(&folder, "out.cxi"), expected);
    // A column of times that falls is named.
    let times: [&dyn Fn(usize) -> String; 2] = [&|n| format!("{}.5", 19 - n), &|n| {
        format!("2025-11-29T01:30:{:02}", 3 * (19 - n))
    }];
    for time in times {
        let rows: Vec<_> = (0..19).map(|n| (time(n), n)).collect();
        table(&folder, "gap.csv", "time", &rows);
        let said = import(&folder, &with);
        said.well();
        let note = "the column time falls in line 3";
        assert!(
            format!("{}{}", said.out, said.err).contains(note),
            "{said:?}"
        );
    }
}
