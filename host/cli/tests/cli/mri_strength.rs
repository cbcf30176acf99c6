//! Samples and readouts of the wrong strength, missing directions, and partitions that a header
//! does not have: in the program's runs and its `info`.

use super::mri_doubtful::image_of;
use super::mri_raw::{Acquisition, RawFile, reconstruct};
use super::support::TestFolder;

/// Both the run and `info` say it, and the samples are used as they are.
fn says(change: &dyn Fn(&mut RawFile), parts: &[&str]) {
    let (_, texts) = image_of(change, &[]);
    for text in texts {
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("left out:"), "{text}");
    }
}

/// Multiplies all samples of an acquisition.
fn scale(acquisition: &mut Acquisition, factor: f32) {
    acquisition.edit_data(|data| data.iter_mut().for_each(|v| *v *= factor));
}

#[test]
fn samples_of_the_wrong_strength_are_named() {
    says(
        &|raw| scale(&mut raw.acquisitions[5], 10.0),
        &["acquisition 5: 10", "NaN in the file"],
    );
    says(
        &|raw| raw.acquisitions[3].edit_data(|data| data[32 + 2 * 4] = 1000.0),
        &[
            "1 sample is over 5 times",
            "sample 4 of coil 1 in acquisition 3, 1000 times",
        ],
    );
    says(
        &|raw| raw.acquisitions[7..].iter_mut().for_each(|a| scale(a, 0.1)),
        &["from acquisition 7 on, the samples are 0.1"],
    );
    for text in image_of(&|_| {}, &[]).1 {
        assert!(
            !text.contains("strong") && !text.contains("no spoke"),
            "{text}"
        );
    }
}

#[test]
fn missing_directions_are_told() {
    let spokes = |kept: std::ops::Range<usize>| {
        move |raw: &mut RawFile| {
            raw.acquisitions = kept
                .clone()
                .map(|n| Acquisition::spoke(n, 40, 16, 2))
                .collect();
        }
    };
    says(&spokes(0..20), &["no spoke lies within 94.5 degrees"]);
    for text in image_of(&spokes(0..40), &[]).1 {
        assert!(!text.contains("no spoke"), "{text}");
    }
}

#[test]
fn partitions_that_the_header_does_not_have_are_refused() {
    let folder = TestFolder::new();
    let mut raw = RawFile::valid();
    for (n, acquisition) in raw.acquisitions.iter_mut().enumerate() {
        acquisition.head.idx.kspace_encode_step_2 = n as u16 % 4;
    }
    raw.write(&folder);
    let parts = ["kspace_encode_step_2 from 0 to 3", "such as --matrix 4x8x8"];
    folder.run(&["mri", "info", "raw.h5"]).refused(1, &parts);
    reconstruct(&folder, "raw.h5", &["--coil-maps", "none"]).refused(1, &parts);
    let volume = folder.run(&["mri", "info", "raw.h5", "--matrix", "4x8x8"]);
    assert!(volume.out.contains("4 x 8 x 8 (3-D)"), "{}", volume.out);
}

/// A coil with another gain has no more noise than others if there is none; one whose sign changes
/// may give several sets of maps.
#[test]
fn a_coil_of_another_gain_is_no_noise_and_another_sign_is_thought_of() {
    let folder = TestFolder::new();
    let simulated = ["mri", "simulate", "m.h5", "--matrix", "64", "--coils", "4"];
    folder.run(&[&simulated[..], &["--quiet"]].concat()).well();
    let original = RawFile::read(&folder, "m.h5");
    let write = |change: &dyn Fn(usize, &mut Vec<f32>, usize)| {
        let mut raw = original.clone();
        for (n, acquisition) in raw.acquisitions.iter_mut().enumerate() {
            let length = 2 * usize::from(acquisition.head.number_of_samples);
            acquisition.edit_data(|data| change(n, data, length));
        }
        raw.write(&folder);
    };
    write(&|_, data, length| data[length..2 * length].iter_mut().for_each(|v| *v *= 8.0));
    let info = folder.run(&["mri", "info", "raw.h5"]);
    assert!(!info.out.contains("problem"), "{}", info.out);
    write(&|n, data, length| {
        let sign = if n > 50 { -1.0 } else { 1.0 };
        data[2 * length..3 * length]
            .iter_mut()
            .for_each(|v| *v *= sign);
    });
    let output = reconstruct(&folder, "raw.h5", &["--method", "adjoint"]);
    output.well();
    let note = "or for coils whose gain, sign or order changed during the scan";
    assert!(
        [output.err.clone(), output.out.clone()]
            .concat()
            .contains(note),
        "{}",
        output.err
    );
}
