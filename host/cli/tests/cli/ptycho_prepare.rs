//! Frames are prepared before `info` and `reconstruct`, and every step is said.

use super::ptycho_doubtful::{reconstructed, scan, written};
use super::support::STARTING;
use hdf5_metno as hdf5;
use std::sync::PoisonError;

/// Frames that are off centre, with a hot pixel, are described and reconstructed as those they come
/// from; what is wrong is blamed on the argument.
#[test]
fn frames_are_centred_and_their_hot_pixels_masked() {
    let folder = scan();
    written(&folder, "raw.cxi", |frames, mask| {
        let [count, rows, columns] = [frames.dim().0, frames.dim().1, frames.dim().2];
        let moved = ndarray::Array3::from_shape_fn((count, rows + 9, columns + 4), |(j, r, c)| {
            match (r.checked_sub(7), c.checked_sub(1)) {
                (Some(r), Some(c)) if r < rows && c < columns => frames[[j, r, c]],
                _ => 0.0,
            }
        });
        *frames = moved;
        *mask = ndarray::Array2::zeros((rows + 9, columns + 4));
        for mut frame in frames.outer_iter_mut() {
            frame[[9, 30]] = 9000.0;
        }
    });
    written(&folder, "masked.cxi", |_, mask| mask[[2, 29]] = 1);
    // The probe and the truth have the rows and columns of the frames of the simulation.
    for name in ["raw.cxi", "masked.cxi"] {
        let _held = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let file = hdf5::File::open_rw(folder.path(name)).unwrap();
        file.unlink("/simulation").unwrap();
        file.unlink("/entry_1/instrument_1/source_1/illumination")
            .unwrap();
    }
    let options = ["--crop", "32x32", "--hot-pixels", "mask"];
    let info = folder.run(
        &[
            &[
                "ptycho", "info", "raw.cxi", "--centre", "auto", "--report", "r.html",
            ][..],
            &options,
        ]
        .concat(),
    );
    info.well();
    for part in [
        "frames           40 of 32 x 32 pixels",
        "data.centre: the zero frequency is at row 22.9",
        ", column 17",
        "1 hot pixel masked at (row, column) of the stored frames (9, 30)",
        "written          r.html",
    ] {
        assert!(info.out.contains(part), "{part}: {}", info.out);
    }
    let page = std::fs::read_to_string(folder.path("r.html")).unwrap();
    assert!(page.contains("The cross is at the zero frequency, pixel (16, 16)"));
    assert!(
        page.contains("hot_pixels = &quot;mask&quot;"),
        "the options"
    );
    let (output, _, object) = reconstructed(
        &folder,
        "raw.cxi",
        &[&["--centre", "23,17"][..], &options].concat(),
    );
    assert!(
        output
            .out
            .contains("data.centre: the zero frequency is at row 23, column 17")
    );
    let (_, _, expected) = reconstructed(&folder, "masked.cxi", &[]);
    assert_eq!(object, expected);
    for (arguments, words) in [
        (
            ["--centre", "50,2"],
            ["--centre 50,2: ", "expected at most [40, 35]"],
        ),
        (["--bin", "40"], ["--bin 40: ", "expected at most 36"]),
        (["--dark", "/none"], ["raw.cxi", "/none"]),
        (["--pad", "8"], ["--pad 8: ", "such as 256x256"]),
    ] {
        let info = folder.run(&[&["ptycho", "info", "raw.cxi"][..], &arguments].concat());
        let code = if arguments[0] == "--dark" { 1 } else { 2 };
        info.refused(code, &words);
    }
}
