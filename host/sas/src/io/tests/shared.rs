//! The shared files have the values that other programs read.

use super::*;

/// Name, rows, first and last (q, I, σ), whether there are widths.
type Known = (&'static str, usize, [f64; 3], [f64; 3], bool);

#[test]
fn every_shared_curve_has_its_known_values() {
    // Counted and copied from the files.
    let known: [Known; 8] = [
        (
            "ISIS_98929.TXT",
            140,
            [0.007, 21.08775, 0.6056236],
            [0.285, 0.1619386, 1.022965],
            false,
        ),
        (
            "apoferritin.txt",
            395,
            [0.0055, 0.6648618, 0.1143732],
            [0.3995, -3.762594e-3, 3.959845e-3],
            true,
        ),
        (
            "PolySpheres.txt",
            128,
            [0.003, 5.58459588740281, 1.18158747955905],
            [0.28939848597336, 1.66411797938958e-4, 5.03908972162823e-5],
            false,
        ),
        (
            "100nmPinholeSphere.txt",
            150,
            [1e-3, 2.41e3, 24.1],
            [0.5, 2.2e-6, 2.2e-8],
            true,
        ),
        (
            "n_coreshell.txt",
            100,
            [1e-3, 181.7725, 0.5741065],
            [0.7943282, 7.252985e-3, 3.626492e-3],
            true,
        ),
        (
            "AOT_Microemulsion-Drop_Contrast.xml",
            136,
            [0.009, 32.086, 0.550487],
            [0.279, 0.0, 0.0],
            false,
        ),
        (
            "latex_smeared.xml",
            301,
            [0.003797, 4006.05896074137, 160.350516888371],
            [0.0, 0.0, 0.0],
            true,
        ),
        (
            "33837rear_1D_1.75_16.5_NXcanSAS_v3.h5",
            66,
            [0.00416, 5.41609467, 0.61522475],
            [0.0, 0.0, 0.0],
            false,
        ),
    ];
    for (name, rows, first, last, widths) in known {
        let Some(path) = shared(name) else {
            return;
        };
        let curve = curve_of(&path);
        let sigma = curve.sigma.as_ref().unwrap();
        assert_eq!(curve.q.len(), rows, "{name}");
        for (at, expected) in [(0, first), (rows - 1, last)] {
            let found = [curve.q[at], curve.intensity[at], sigma[at]];
            // Zeros are values that were not copied.
            for (found, expected) in found.iter().zip(expected).filter(|(_, e)| *e != 0.0) {
                assert!(
                    (found - expected).abs() <= 1e-8 * expected.abs(),
                    "{name}: {found}"
                );
            }
        }
        let pinhole = matches!(curve.smearing, Some(Smearing::Pinhole(_)));
        assert_eq!(pinhole, widths, "{name}");
    }
}

#[test]
fn curves_of_sasfit_have_no_uncertainties() {
    for (name, rows) in [
        ("sasfit_ellipsoid_IQD.txt", 101),
        ("sasfit_ellipsoid_IQM.txt", 201),
        ("sasfit_polydisperse_sphere_sq.txt", 201),
        ("sasfit_sphere_IQD.txt", 201),
        ("sasfit_sphere_schulz_IQD.txt", 1001),
    ] {
        let Some(path) = shared(name) else {
            return;
        };
        let curve = curve_of(&path);
        assert_eq!((curve.q.len(), curve.q[rows - 1]), (rows, 1.0), "{name}");
        assert_eq!((&curve.sigma, &curve.smearing), (&None, &None), "{name}");
        assert!(
            curve.notes.iter().any(|n| n.contains("-1 everywhere")),
            "{:?}",
            curve.notes
        );
    }
}

#[test]
fn the_shared_image_is_a_grid() {
    let Some(path) = shared("P123_D2O_10_percent.dat") else {
        return;
    };
    let image = read_image(&path, &ReadOptions::default()).unwrap();
    // 33 of the 10 000 pixels have uncertainty 0.
    assert!(image.notes[0].contains("33 pixels"), "{:?}", image.notes);
    let grid = crate::points::grid(&image).unwrap();
    assert_eq!(
        (grid.qx.len(), grid.qy.len(), image.qx.len()),
        (100, 100, 9967)
    );
    assert_eq!(
        [image.qx[0], image.qy[0], image.intensity[0]],
        [-0.099, -0.099, -0.0862318]
    );
    assert_eq!(image.sigma.unwrap()[9966], 0.282794);
    let text = read_curve(&path, &ReadOptions::default());
    // Read as columns of a curve, its second line has a negative q.
    assert!(text.is_err() || text.unwrap().notes.iter().any(|n| n.contains("q ≤ 0")));
}

#[test]
fn the_second_of_several_is_selected_by_number_or_title() {
    let Some(path) = shared("latex_smeared.xml") else {
        return;
    };
    let first = curve_of(&path);
    assert!(first.notes[0].contains("2 data sets"), "{:?}", first.notes);
    assert!(
        first
            .notes
            .iter()
            .any(|n| n.contains("has the same q") || n.contains("have the same q"))
    );
    for select in ["2", "latex particles 0.5micron diameter in D2O slit"] {
        let options = ReadOptions {
            select: Some(select.to_owned()),
            ..ReadOptions::default()
        };
        let second = read_curve(&path, &options).unwrap();
        assert_eq!(second.q.len(), 82);
        let Some(Smearing::Slit { length, width }) = second.smearing else {
            panic!("no slit");
        };
        assert!(length.iter().all(|l| *l == 0.117) && width.iter().all(|w| *w == 0.0));
    }
    for wrong in ["3", "0", "none"] {
        let options = ReadOptions {
            select: Some(wrong.to_owned()),
            ..ReadOptions::default()
        };
        let text = read(&path, &options).unwrap_err().to_string();
        assert!(text.contains("select") && text.contains("slit"), "{text}");
    }
}
