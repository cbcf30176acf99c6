//! Readouts with positions far beyond the others, and samples of 0 that were not measured.

use super::mri_doubtful::image_of;
use super::mri_raw::{Acquisition, RawFile};
use super::support::TestFolder;
use warpstride::io::cfl;
use warpstride::mri::io::images;

fn says(texts: [String; 2], note: &str) {
    for text in texts {
        assert!(text.contains(note), "{text}");
    }
}

/// The image is that of a file without these readouts, whatever the unit of the others.
#[test]
fn positions_far_beyond_the_others_cost_their_readouts() {
    let without = |raw: &mut RawFile| {
        raw.acquisitions.remove(7);
        raw.acquisitions.remove(4);
    };
    let (expected, _) = image_of(&without, &[]);
    let spikes = |raw: &mut RawFile| {
        raw.acquisitions[4].edit_trajectory(|k| k[9] = 1e6);
        raw.acquisitions[7].edit_trajectory(|k| k[0] = -2e5);
    };
    let note = "10 of 12 acquisitions are used; left out: 2 acquisitions with positions over 1000 times as far out as those of most readouts";
    let (found, texts) = image_of(&spikes, &[]);
    assert_eq!(found, expected);
    says(texts, note);
    let in_fov = |raw: &mut RawFile| {
        for acquisition in &mut raw.acquisitions {
            acquisition.edit_trajectory(|k| k.iter_mut().for_each(|k| *k *= 8.0));
        }
        spikes(raw);
    };
    let (found, texts) = image_of(&in_fov, &["--k-unit", "cycles-per-fov"]);
    assert_eq!(found, expected);
    says(texts, note);
    // Without the unit it is asked for, as for a file without spikes.
    let folder = TestFolder::new();
    let mut raw = RawFile::valid();
    in_fov(&mut raw);
    raw.write(&folder);
    let refused = folder.run(&["mri", "info", "raw.h5"]);
    refused.refused(1, &["--k-unit cycles-per-fov would make it"]);
}

/// BART's arrays, with the matrix of the trajectory and with a given one; kz counts in a plane,
/// too.
#[test]
fn positions_far_beyond_the_others_cost_their_readouts_in_arrays() {
    let folder = TestFolder::new();
    let simulated = ["mri", "simulate", "m.h5", "--matrix", "16", "--coils", "2"];
    folder.run(&[&simulated[..], &["--quiet"]].concat()).well();
    let kspace = warpstride::mri::io::ismrmrd::read(&folder.path("m.h5"), &Default::default());
    let kspace = kspace.unwrap().kspace;
    let (length, all) = (kspace.readouts()[0].samples.len(), kspace.readouts().len());
    let write = |left_out: &[usize], spikes: &[(usize, usize)]| {
        let kept = (0..all * length).filter(|sample| !left_out.contains(&(sample / length)));
        let mut positions = Vec::new();
        for sample in kept.clone() {
            let k = kspace.trajectory().row(sample);
            positions.extend([16.0 * k[0], 16.0 * k[1], 0.0]);
        }
        for (readout, axis) in spikes {
            positions[3 * (readout * length + 5) + axis] = 1e6;
        }
        let of_coil = |coil: usize| kept.clone().map(move |sample| (coil, sample));
        let samples = (0..2).flat_map(of_coil).map(|(coil, sample)| {
            let value = kspace.samples()[[coil, sample]];
            num_complex::Complex::new(value.re, value.im)
        });
        let mut sides = [1; cfl::DIMENSIONS];
        sides[1..4].copy_from_slice(&[length, all - left_out.len(), 2]);
        cfl::write(&folder.path("ksp.cfl"), &sides, samples).unwrap();
        (sides[0], sides[3]) = (3, 1);
        let positions = positions
            .into_iter()
            .map(|k| num_complex::Complex::new(k, 0.0));
        cfl::write(&folder.path("traj.cfl"), &sides, positions).unwrap();
    };
    let image = |options: &[&str]| {
        let fixed = ["mri", "reconstruct", "ksp.cfl", "--trajectory", "traj.cfl"];
        let known = [
            "--coil-maps",
            "none",
            "--method",
            "adjoint",
            "-o",
            "out.npy",
        ];
        let output = folder.run(&[&fixed[..], &known, options].concat());
        output.well();
        (images::read(&folder.path("out.npy")).unwrap(), output)
    };
    for options in [&["--matrix", "16x16"][..], &[]] {
        write(&[3, 6], &[]);
        let (expected, _) = image(options);
        write(&[], &[(3, 0), (6, 2)]);
        let (found, output) = image(options);
        assert_eq!(found, expected);
        let note = format!(
            "{} of {all} readouts are used; left out: 2 readouts with positions over 1000 times",
            all - 2
        );
        let info = ["mri", "info", "ksp.cfl", "--trajectory", "traj.cfl"];
        let info = folder.run(&[&info[..], options].concat());
        says([output.err + &output.out, info.out], &note);
    }
}

/// The last third of an acquisition of 16 samples of 2 coils is 0.
fn truncate(acquisition: &mut Acquisition) {
    acquisition.edit_data(|data| {
        data[22..32].fill(0.0);
        data[54..].fill(0.0);
    });
}

#[test]
fn samples_of_zeros_in_a_few_readouts_are_left_out() {
    let discarded = |raw: &mut RawFile| {
        raw.acquisitions[2].head.discard_post = 5;
        raw.acquisitions[9].head.discard_post = 5;
    };
    let (expected, _) = image_of(&discarded, &[]);
    let truncated = |raw: &mut RawFile| {
        truncate(&mut raw.acquisitions[2]);
        truncate(&mut raw.acquisitions[9]);
    };
    let (found, texts) = image_of(&truncated, &[]);
    assert_eq!(found, expected);
    says(
        texts,
        "10 samples of 2 readouts left out, as they are 0 in every coil",
    );
    let filled_up = |raw: &mut RawFile| raw.acquisitions.iter_mut().for_each(truncate);
    let note =
        "60 samples of 12 readouts are 0 in every coil: most readouts are filled up with zeros";
    says(image_of(&filled_up, &[]).1, note);
}

#[test]
fn a_coil_of_zeros_in_some_readouts_is_named() {
    let some = |raw: &mut RawFile| {
        for acquisition in &mut raw.acquisitions[..4] {
            acquisition.edit_data(|data| data[32..].fill(0.0));
        }
    };
    let note = "every sample of coil 1 is 0 in 4 of 12 readouts: leave out its samples (--exclude-coils 1)";
    says(image_of(&some, &[]).1, note);
    for text in image_of(&some, &["--exclude-coils", "1"]).1 {
        assert!(!text.contains("every sample of coil"), "{text}");
    }
}
