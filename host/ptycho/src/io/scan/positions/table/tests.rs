//! Tables of positions: names, numbers, separators and encodings.

use super::*;
use ndarray::arr2;

fn read(text: &str, columns: Option<[&str; 2]>) -> Result<Coordinates, IoError> {
    let columns = columns.map(|names| names.map(str::to_owned));
    Table::parse("p.csv", text)?.coordinates(columns.as_ref(), 0, &mut Vec::new())
}

#[test]
fn names_say_which_columns_are_which() {
    for text in [
        "frame,x_um,y_um\n0,1,2\n1,3,4\n",
        "x (um);y (um)\n1;2\n3;4\n",
        "# x_um y_um\n1 2\n 3   4\n",
        "\u{feff}y [um]\tother\tX [um]\r\n2\tq\t1\r\n\r\n4\tq\t3\r\n",
        "# a comment\nframe, row_um, column_um\n1, 2, 1\n2, 4, 3\n",
    ] {
        let found = read(text, None).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(found.values, arr2(&[[2.0, 1.0], [4.0, 3.0]]), "{text}");
        assert_eq!(found.unit.as_deref(), Some("um"), "{text}");
    }
    let found = read("1 2 3\n4 5 6\n", Some(["2", "0"])).unwrap();
    assert_eq!(found.values, arr2(&[[3.0, 1.0], [6.0, 4.0]]));
    assert_eq!(found.unit, None);
}

#[test]
fn columns_have_the_numbers_of_frames() {
    let numbers = |name: &str, numbers: [f64; 4]| {
        let rows: String = (numbers.iter()).map(|n| format!("{n},1,2\n")).collect();
        let found = read(&format!("{name},x_um,y_um\n{rows}"), None).unwrap();
        found.frames.map(|of| (of.doubtful, of.values[0]))
    };
    let moved = [3.0, 0.0, 1.0, 2.0];
    for name in [
        "frame",
        "Frame #",
        "frame_no",
        "FrameNr",
        "frame id",
        "Frame Number",
        "nr",
        "No.",
        "image",
        "index",
        "",
    ] {
        assert_eq!(numbers(name, moved), Some((false, 3.0)), "{name}");
    }
    for gap in [moved, [0.0, 1.0, 3.0, 4.0]] {
        assert_eq!(numbers("point", gap), Some((true, gap[0])));
    }
    for other in [
        [0.0, 1.0, 2.0, 3.0],
        [5.0, 5.0, 2.0, 3.0],
        [0.5, 3.0, 2.0, 1.0],
    ] {
        assert_eq!(numbers("point", other), None, "{other:?}");
    }
    assert_eq!(numbers("image", [9000.0, 12.0, 500.0, 7.0]), None);
}

#[test]
fn decimal_commas_stand_beside_other_separators() {
    for text in [
        "y_um;x_um\n0,5;-1,25\n2;3,5e1\n",
        "0,5;-1,25\n2;3,5e1\n",
        "y_um\tx_um\n0,5\t-1,25\n2,0\t35\n",
        "# y_um x_um\n0,5 -1,25\n2 35,0\n",
        "y_um, x_um\n0,5 -1,25\n2 35,0\n",
        "y_um,x_um\n\"0,5\",\"-1,25\"\n2,\"35,0\"\n",
    ] {
        let found = read(text, Some(["0", "1"])).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(found.values, arr2(&[[0.5, -1.25], [2.0, 35.0]]), "{text}");
    }
    // Commas between columns, with and without blanks.
    for text in ["1,2\n3,4\n", "1, 2\n3, 4\n", "1,2,3\n3,4,3\n"] {
        let found = read(text, Some(["0", "1"])).unwrap();
        assert_eq!(found.values, arr2(&[[1.0, 2.0], [3.0, 4.0]]), "{text}");
    }
    let error = read("y;x\n0,5;1\n1.000,5;2\n", None).err().unwrap();
    assert!(error.to_string().contains("found \"1.000,5\""), "{error}");
}

#[test]
fn tables_in_latin1_are_read_and_others_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.csv");
    let input = InputFile::new(&path, warpstride_core::system::Memory::available());
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let mut notes = Vec::new();
        let table = Table::read(&path, &input, &mut notes).map_err(|e| e.to_string())?;
        let found = table.coordinates(None, 0, &mut Vec::new());
        Ok::<_, String>((found.map_err(|e| e.to_string())?, notes))
    };
    let (found, notes) = read(b"x (\xb5m),y (\xb5m)\n1,2\n").unwrap();
    assert_eq!(found.unit.as_deref(), Some("\u{b5}m"));
    assert_eq!(found.values, arr2(&[[2.0, 1.0]]));
    assert!(
        notes[0].contains("Latin-1") && notes[0].contains("0xB5 in line 1"),
        "{notes:?}"
    );
    let (_, notes) = read("x (µm),y (µm)\n1,2\n".as_bytes()).unwrap();
    assert!(notes.is_empty(), "{notes:?}");
    let refused = read(b"x_um,y_um\n1,2 \x93\n").err().unwrap();
    assert!(
        refused.contains("0x93 in line 2") && refused.contains("save it as UTF-8"),
        "{refused}"
    );
    let refused = read(b"\x00\xb5\x01").err().unwrap();
    assert!(refused.contains("found other data"), "{refused}");
}

#[test]
fn long_lines_are_refused_and_long_lists_cut() {
    let wide = "name,".repeat(10_000);
    let error = |text: &str| read(text, None).err().unwrap().to_string();
    assert!(error(&format!("{wide}\n1,2\n")).ends_with("name and 9981 more"));
    let long = format!("x_um,y_um\n1,{}\n", "2".repeat(LONGEST_LINE));
    let said = error(&long);
    assert!(
        said.contains("65536 bytes, found 65538 in line 2"),
        "{said}"
    );
}

#[test]
fn what_is_not_clear_is_asked() {
    for (text, columns, said) in [
        ("1 2\n3 4\n", None, "which of 2 columns"),
        ("1\n3\n", None, "found 1 column (between"),
        ("a,b\n1,2\n", None, "with two of a, b"),
        ("a,b\n1,2\n", Some(["a", "c"]), "columns a, b, found c"),
        ("1,2\n", Some(["0", "2"]), "0 to 1, found 2"),
        ("", None, "no lines"),
        ("x_um,y_um\n", None, "no lines"),
        (
            "x_um,y_um\n1,two\n",
            None,
            "line 2: expected a number in column 1, found \"two\"",
        ),
        (
            "x_um,y_um\n1,2\n1\n",
            None,
            "line 3: expected a number in column 1, found 1 column",
        ),
        ("x_um,y_um\n1,\"2\n3\"\n", None, "found \"2 3\""),
        ("x_um,y_mm\n1,2\n", None, "one unit"),
        ("frame,x_um,y_um\nno,1,2\n", None, "found \"no\""),
    ] {
        let error = read(text, columns).err().map(|e| e.to_string());
        assert!(
            error.as_ref().is_some_and(|e| e.contains(said)),
            "{text}: {error:?}"
        );
    }
}

#[test]
fn a_line_with_numbers_beside_a_text_has_no_names() {
    for (text, columns) in [
        ("# file y_um x_um\nim_0 1 2\nim_1 3 4\n", None),
        ("# file,y_um,x_um\nim_0.tif,1,2\nim_1.tif,3,4\n", None),
        ("im_0 1.0 2.0\nim_1 3.0 4.0\n", Some(["1", "2"])),
        ("im_0,1.0,2.0\nim_1,3,4\n", Some(["1", "2"])),
        (",y_um,x_um\n0,1,2\n1,3,4\n", None),
        ("file,0,1\nim_0,1,2\nim_1,3,4\n", Some(["0", "1"])),
    ] {
        let found = read(text, columns).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(found.values, arr2(&[[1.0, 2.0], [3.0, 4.0]]), "{text}");
    }
}

#[test]
fn places_of_a_raster_are_compared_with_the_order_of_the_lines() {
    let row_by_row = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)];
    let order = |places: &[(u32, u32)], [slow, fast]: [&str; 2], frames| {
        let lines = places
            .iter()
            .map(|(row, point)| format!("{row},{point},1,2\n"));
        let text = format!("{slow},{fast},x_um,y_um\n{}", lines.collect::<String>());
        let mut notes = Vec::new();
        let found = Table::parse("p.csv", &text).unwrap();
        let found = found.coordinates(None, frames, &mut notes).unwrap();
        (found.frames.map(|of| (of.is_path, of.values)), notes.len())
    };
    let permuted = [4, 0, 5, 1, 3, 2].map(|n| row_by_row[n]);
    for names in [
        ["line", "point"],
        ["row", "col"],
        ["scan_y", "scan_x"],
        ["i", "j"],
        ["a", "b"],
    ] {
        assert_eq!(order(&row_by_row, names, 6), (None, 0));
        let expected = vec![4.0, 0.0, 5.0, 1.0, 3.0, 2.0];
        assert_eq!(
            order(&permuted, names, 6),
            (Some((false, expected)), 0),
            "{names:?}"
        );
    }
    // The name says which is the place along a row.
    let exchanged = permuted.map(|(row, point)| (point, row));
    let expected = vec![4.0, 0.0, 5.0, 1.0, 3.0, 2.0];
    assert_eq!(
        order(&exchanged, ["scan_x", "scan_y"], 6).0,
        Some((false, expected))
    );
    // To and fro, column by column, and backwards.
    let snake = [0, 1, 2, 5, 4, 3].map(|n| row_by_row[n]);
    assert!(matches!(
        order(&snake, ["line", "point"], 6),
        (Some((true, _)), 1)
    ));
    let columns = [0, 3, 1, 4, 2, 5].map(|n| row_by_row[n]);
    assert!(matches!(
        order(&columns, ["line", "point"], 6),
        (Some((true, _)), 1)
    ));
    let backwards = [5, 4, 3, 2, 1, 0].map(|n| row_by_row[n]);
    assert!(matches!(
        order(&backwards, ["line", "point"], 6),
        (Some((false, _)), 0)
    ));
    // A point without a frame, of as many frames as lines or as points; counted from 1.
    let gap = [(2, 2), (1, 1), (1, 3), (2, 1), (2, 3)];
    let of = |frames| order(&gap, ["line", "point"], frames).0.unwrap().1;
    assert_eq!(of(5), [3.0, 0.0, 1.0, 2.0, 4.0]);
    assert_eq!(of(6), [4.0, 0.0, 2.0, 3.0, 5.0]);
    // Other whole numbers.
    let twice = [(1, 0), (0, 0), (1, 0), (0, 1)];
    assert_eq!(order(&twice, ["a", "b"], 4), (None, 0));
    let few = [(9, 0), (0, 9), (5, 5), (1, 2)];
    assert_eq!(order(&few, ["a", "b"], 4), (None, 0));
}

#[test]
fn a_column_of_frames_may_have_names_of_files() {
    let text = "frame,x_um,y_um\nim_2.tif,1,2\nim_0.tif,1,2\nim_1.tif,1,2\n";
    let found = read(text, None).unwrap();
    assert_eq!(found.texts[0].values[0], "im_2.tif");
    assert!(found.frames.unwrap().doubtful);
    // One wrong number among others is still an error.
    let wrong = read("frame,x_um,y_um\n0,1,2\n1x,1,2\n2,1,2\n", None);
    assert!(wrong.err().unwrap().to_string().contains("1x"));
}
