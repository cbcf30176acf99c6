//! Pairs of frames and positions: every rule on made-up numbers.

use super::*;
use crate::io::scan::found_positions::Texts;
use crate::io::scan::layout_tests::options;
use std::path::Path;
use warpstride_core::system::Memory;
use warpstride_files::InputFile;

/// Positions (n, -n) with these numbers of frames.
fn found(positions: usize, numbers: Option<&[usize]>) -> FoundPositions {
    let input = InputFile::new(Path::new("p.csv"), Memory::available());
    let values = Array2::from_shape_fn((positions, 2), |(n, axis)| {
        n as f64 * (1.0 - 2.0 * axis as f64)
    });
    FoundPositions {
        numbers: numbers.map(|numbers| FrameNumbers {
            is_path: false,
            column: "frame".to_owned(),
            doubtful: false,
            values: numbers.iter().map(|n| *n as f64).collect(),
            lines: (2..).take(numbers.len()).collect(),
        }),
        ..FoundPositions::of_dataset(&input, "positions".to_owned(), values)
    }
}

/// The position of each frame that is used, or the error; and the notes.
fn paired(
    found: FoundPositions,
    frames: usize,
    stored: &StoredFrames,
    text: &str,
) -> (Result<Vec<(usize, usize)>, String>, String) {
    let options = options(text);
    let mut window = Window::new("f", [frames, 4, 4], &options).unwrap();
    let mut notes = Vec::new();
    let paired = pair(found, stored, &mut window, &options, &mut notes);
    let used = paired.map(|(_, positions)| {
        (window.selected(&options).into_iter())
            .filter(|frame| !window.without_position.contains(frame))
            .map(|frame| (frame, positions[[frame, 0]] as usize))
            .collect()
    });
    (used.map_err(|e| e.to_string()), notes.join("\n"))
}

fn all(
    positions: usize,
    numbers: Option<&[usize]>,
    frames: usize,
    text: &str,
) -> Result<Vec<(usize, usize)>, String> {
    paired(found(positions, numbers), frames, &StoredFrames::All, text).0
}

#[test]
fn positions_without_numbers_are_paired_in_their_order_if_asked() {
    let identity = |n: usize| Ok((0..n).map(|n| (n, n)).collect::<Vec<_>>());
    assert_eq!(all(4, None, 4, ""), identity(4));
    let refused = all(3, None, 5, "").unwrap_err();
    assert!(
        refused.contains("each of 5 frames, found 3") && refused.contains("first 3 of each"),
        "{refused}"
    );
    assert_eq!(all(3, None, 5, "pair = \"first\""), identity(3));
    assert_eq!(all(6, None, 4, "pair = \"first\""), identity(4));
    let refused = all(5, None, 4, "").unwrap_err();
    assert!(refused.contains("end of the path"), "{refused}");
    // The selection comes first: positions of the frames that are selected, or of all.
    let selected = Ok(vec![(0, 0), (3, 1), (4, 2)]);
    assert_eq!(all(3, None, 5, "exclude = [1, 2]"), selected);
    assert_eq!(all(2, None, 5, "every = 3"), Ok(vec![(0, 0), (3, 1)]));
    let of_all = Ok(vec![(0, 0), (3, 3), (4, 4)]);
    assert_eq!(all(5, None, 5, "exclude = [1, 2]"), of_all);
    assert_eq!(all(2, None, 5, "frames = [3, 5]"), Ok(vec![(3, 0), (4, 1)]));
    assert!(all(4, None, 6, "frames = [3, 6]").is_err());
    let first = all(
        4,
        None,
        6,
        "frames = [1, 6]\nexclude = [2]\npair = \"first\"",
    );
    assert_eq!(first, Ok(vec![(1, 1), (3, 3)]));
    // Nothing is left.
    assert!(all(2, None, 5, "frames = [3, 5]\npair = \"first\"").is_err());
    for text in ["", "pair = \"first\""] {
        let none = all(0, None, 5, text).unwrap_err();
        assert!(none.ends_with("found 0"), "{none}");
    }
    let index = all(3, None, 5, "pair = \"by-index\"").unwrap_err();
    assert!(index.contains("column frame or index"), "{index}");
}

#[test]
fn numbers_of_frames_say_which_belongs_to_which() {
    let gaps = &[0, 1, 4][..];
    let used = Ok(vec![(0, 0), (1, 1), (4, 2)]);
    assert_eq!(all(3, Some(gaps), 6, ""), used);
    assert_eq!(all(3, Some(gaps), 6, "pair = \"by-index\""), used);
    assert_eq!(
        all(3, Some(gaps), 6, "exclude = [1]"),
        Ok(vec![(0, 0), (4, 2)])
    );
    // From 1, as the last frame has its number only then; in any order.
    let from_1 = &[6, 2, 3][..];
    assert_eq!(
        all(3, Some(from_1), 6, ""),
        Ok(vec![(1, 1), (2, 2), (5, 0)])
    );
    assert_eq!(
        all(3, Some(&[3, 1, 2]), 3, ""),
        Ok(vec![(0, 1), (1, 2), (2, 0)])
    );
    // Either.
    let either = &[2, 3, 5][..];
    let asked = all(3, Some(either), 6, "").unwrap_err();
    assert!(
        asked.contains("from 0 or from 1") && asked.contains("by-index-from-1"),
        "{asked}"
    );
    let used = Ok(vec![(1, 0), (2, 1), (4, 2)]);
    assert_eq!(all(3, Some(either), 6, "pair = \"by-index-from-1\""), used);
    // The selected frames show it.
    let shown = all(2, Some(&[2, 3]), 6, "frames = [2, 4]");
    assert_eq!(shown, Ok(vec![(2, 0), (3, 1)]));
    // Beyond the frames, twice, no number of a frame.
    let beyond = &[0, 1, 2, 3][..];
    let refused = all(4, Some(beyond), 3, "").unwrap_err();
    assert!(
        refused.contains("numbers from 0 to 3") && refused.contains("--pair by-index"),
        "{refused}"
    );
    assert_eq!(
        all(4, Some(beyond), 3, "pair = \"by-index\""),
        Ok(vec![(0, 0), (1, 1), (2, 2)])
    );
    let twice = all(3, Some(&[0, 1, 1]), 3, "").unwrap_err();
    assert!(
        twice.contains("line 4") && twice.contains("1 twice, first in line 3"),
        "{twice}"
    );
    assert_eq!(
        all(3, Some(&[0, 1, 1]), 3, "pair = \"first\""),
        Ok(vec![(0, 0), (1, 1), (2, 2)])
    );
    // Numbers of a counter that goes on from an earlier scan, which are as many as the frames.
    let counter = found(2, Some(&[1001, 1000]));
    let (used, notes) = paired(counter, 2, &StoredFrames::All, "");
    assert_eq!(used, Ok(vec![(0, 1), (1, 0)]));
    assert!(notes.contains("numbered from 1000"), "{notes}");
    let mut half = found(2, Some(&[0, 1]));
    half.numbers.as_mut().unwrap().values[1] = 0.5;
    let (half, _) = paired(half, 2, &StoredFrames::All, "");
    assert!(half.unwrap_err().contains("found 0.5"));
}

#[test]
fn frames_of_a_series_keep_their_numbers() {
    let stored = StoredFrames::Some {
        numbers: vec![0, 1, 4, 5],
        all: 6,
    };
    let refused = paired(found(6, None), 4, &stored, "").0.unwrap_err();
    assert!(refused.contains("--pair by-index"), "{refused}");
    let of_series = Ok(vec![(0, 0), (1, 1), (2, 4), (3, 5)]);
    let by_index = "pair = \"by-index\"";
    assert_eq!(paired(found(6, None), 4, &stored, by_index).0, of_series);
    let numbers = &[1, 2, 3, 4, 5, 6][..];
    assert_eq!(
        paired(found(6, Some(numbers)), 4, &stored, by_index).0,
        of_series
    );
    // One for each frame that exists.
    let each = Ok(vec![(0, 0), (1, 1), (2, 2), (3, 3)]);
    assert_eq!(paired(found(4, None), 4, &stored, by_index).0, each);
}

#[test]
fn a_raster_names_the_frames_of_the_flight_back() {
    let of_raster = FoundPositions {
        raster: Some([3, 4]),
        ..found(12, None)
    };
    let (refused, _) = paired(of_raster.clone(), 15, &StoredFrames::All, "");
    let refused = refused.unwrap_err();
    assert!(refused.contains("--exclude 4,9,14"), "{refused}");
    let (used, notes) = paired(of_raster, 14, &StoredFrames::All, "pair = \"first\"");
    assert_eq!(used.unwrap().len(), 12);
    assert!(
        notes.contains("12 positions (a raster of 3 x 4 points)")
            && notes.contains("left out: 12-13"),
        "{notes}"
    );
}

#[test]
fn a_column_that_may_have_numbers_of_frames_is_asked_for() {
    let doubtful = |numbers: &[usize], frames, text| {
        let mut found = found(numbers.len(), Some(numbers));
        found.numbers.as_mut().unwrap().doubtful = true;
        paired(found, frames, &StoredFrames::All, text)
    };
    let moved = &[2, 0, 1][..];
    let asked = doubtful(moved, 3, "").0.unwrap_err();
    assert!(asked.contains("--pair by-index"), "{asked}");
    let (used, notes) = doubtful(moved, 3, "pair = \"by-index\"");
    assert_eq!(used, Ok(vec![(0, 1), (1, 2), (2, 0)]));
    assert!(notes.contains("another order"), "{notes}");
    let first = doubtful(moved, 3, "pair = \"first\"").0;
    assert_eq!(first, Ok(vec![(0, 0), (1, 1), (2, 2)]));
    // Numbers with gaps say nothing of as many frames, and much of more.
    let gap = &[0, 1, 3, 4][..];
    assert!(doubtful(gap, 4, "").0.is_ok());
    let asked = doubtful(gap, 5, "").0.unwrap_err();
    assert!(asked.contains("--pair by-index"), "{asked}");
    // A counter with a gap, or of fewer positions than frames, is paired by its numbers if asked.
    for (counter, frames) in [
        ([1000, 1001, 1003], [0, 1, 3]),
        ([1001, 1000, 1002], [1, 0, 2]),
    ] {
        let refused = all(3, Some(&counter), 4, "").unwrap_err();
        assert!(refused.contains("takes 1000 for"), "{refused}");
        let used = all(3, Some(&counter), 4, "pair = \"by-index\"").unwrap();
        for pair in frames.into_iter().zip(0..) {
            assert!(used.contains(&pair), "{used:?}");
        }
    }
    // Places of a raster whose lines follow a path are paired in their order, and by their numbers
    // if asked.
    let path = |text| {
        let mut found = found(4, Some(&[0, 1, 3, 2]));
        let numbers = found.numbers.as_mut().unwrap();
        (numbers.doubtful, numbers.is_path) = (true, true);
        paired(found, 4, &StoredFrames::All, text).0
    };
    assert_eq!(path(""), Ok((0..4).map(|n| (n, n)).collect()));
    let by_index = Ok(vec![(0, 0), (1, 1), (2, 3), (3, 2)]);
    assert_eq!(path("pair = \"by-index\""), by_index);
}

#[test]
fn an_array_whose_last_axis_has_the_frames_is_recognised() {
    let options = options("");
    let mut window = Window::new("f", [8, 9, 5], &options).unwrap();
    let refused = pair(
        found(5, None),
        &StoredFrames::All,
        &mut window,
        &options,
        &mut Vec::new(),
    );
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("moveaxis(array, -1, 0)"), "{refused}");
}

/// Frames of files with these names and numbers of frames.
fn in_files(files: &[(&str, usize)]) -> StoredFrames {
    let file = |(name, frames): &(&str, usize)| FramesOfFile {
        name: (*name).to_owned(),
        frames: *frames,
    };
    StoredFrames::InFiles(files.iter().map(file).collect())
}

#[test]
fn files_that_a_table_names_have_its_positions() {
    let named = |names: &[&str]| FoundPositions {
        texts: vec![Texts {
            column: "file".to_owned(),
            values: names.iter().map(|name| (*name).to_owned()).collect(),
            lines: (2..).take(names.len()).collect(),
        }],
        ..found(names.len(), None)
    };
    let two = in_files(&[("d/a_1.npy", 1), ("d/a_2.npy", 1)]);
    let pairs = |names: &[&str], stored, frames, text| paired(named(names), frames, stored, text).0;
    let swapped = Ok(vec![(0, 1), (1, 0)]);
    for names in [
        ["a_2", "a_1"],
        ["x/a_2.tif", "x/a_1.tif"],
        ["a_02.h5", "a_01.h5"],
    ] {
        assert_eq!(pairs(&names, &two, 2, ""), swapped, "{names:?}");
    }
    assert_eq!(
        pairs(&["a_2", "a_1"], &two, 2, "pair = \"first\""),
        Ok(vec![(0, 0), (1, 1)])
    );
    // Other texts say nothing, and neither does the one name of a scan.
    assert_eq!(pairs(&["on", "off"], &two, 2, ""), Ok(vec![(0, 0), (1, 1)]));
    let one = in_files(&[("scan.npy", 2)]);
    assert_eq!(
        pairs(&["scan", "scan"], &one, 2, ""),
        Ok(vec![(0, 0), (1, 1)])
    );
    // A file that is not named is left out; one that is named too often, and others, are refused.
    let three = in_files(&[("a_1", 1), ("a_2", 1), ("a_3", 1)]);
    assert_eq!(
        pairs(&["a_3", "a_1"], &three, 3, ""),
        Ok(vec![(0, 1), (2, 0)])
    );
    let twice = pairs(&["a_1", "a_2", "a_2"], &two, 2, "").unwrap_err();
    assert!(
        twice.contains("a_2.npy: expected one position for the only frame, found 2"),
        "{twice}"
    );
    let other = pairs(&["a_1", "a_2", "b_2"], &two, 2, "").unwrap_err();
    assert!(other.contains("b_2 in line 4; --pair by-name"), "{other}");
    let by_name = pairs(&["b_2", "a_2", "a_1"], &two, 2, "pair = \"by-name\"");
    assert_eq!(by_name, Ok(vec![(0, 2), (1, 1)]));
}

#[test]
fn files_of_a_series_keep_their_places() {
    let gap = in_files(&[("g_1", 2), ("g_2", 2), ("g_4", 1)]);
    let pairs =
        |positions, stored, frames, text| paired(found(positions, None), frames, stored, text);
    let used = vec![(0, 0), (1, 1), (2, 2), (3, 3), (4, 6)];
    assert_eq!(pairs(7, &gap, 5, "pair = \"by-index\"").0, Ok(used));
    let (equal, notes) = pairs(5, &gap, 5, "");
    assert!(equal.is_ok() && notes.contains("g_3 is missing"), "{notes}");
    // Files of different lengths do not say what is missing, and no option is offered.
    let uneven = in_files(&[("g_1", 2), ("g_2", 1), ("g_4", 2)]);
    let refused = pairs(7, &uneven, 5, "").0.unwrap_err();
    assert!(
        refused.contains("not known which") && !refused.contains("--pair first"),
        "{refused}"
    );
    // Numbers in the table: those of the names, or from another one.
    let one = in_files(&[("g_1", 1), ("g_2", 1), ("g_4", 1)]);
    for base in [0, 1] {
        let numbers: Vec<usize> = (base..base + 4).collect();
        let of = paired(found(4, Some(&numbers)), 3, &one, "").0;
        assert_eq!(of, Ok(vec![(0, 0), (1, 1), (2, 3)]), "{base}");
    }
}
