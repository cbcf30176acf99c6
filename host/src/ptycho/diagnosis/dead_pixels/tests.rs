//! Dead pixels, lines and modules are found, and dark places of patterns are not.

use super::{NEVER, dead, listed_pixels};
use ndarray::{Array2, s};

const SIDE: usize = 48;

/// Counts in all frames at a distance from the middle, a whole number.
fn pattern(of_distance: impl Fn(f64) -> f64) -> Array2<f64> {
    let middle = (SIDE / 2) as f64;
    Array2::from_shape_fn((SIDE, SIDE), |(r, c)| {
        of_distance((r as f64 - middle).hypot(c as f64 - middle)).floor()
    })
}

/// A peak that fades.
fn peak() -> Array2<f64> {
    pattern(|distance| 1e6 * (-distance / 2.2).exp() + 200.0 * (-distance / 5.0).exp())
}

fn found(counts: &Array2<f64>) -> Array2<bool> {
    let frames = 60;
    let valid = Array2::from_elem(counts.dim(), true);
    dead(&(counts / f64::from(frames)), &valid, 60)
}

/// Checks that exactly the pixels in `places` are found if they have no counts, of those that would have some.
fn check(counts: &Array2<f64>, is_dead: impl Fn(usize, usize) -> bool) -> Option<String> {
    let mut broken = counts.clone();
    for ((r, c), counts) in broken.indexed_iter_mut() {
        if is_dead(r, c) {
            *counts = 0.0;
        }
    }
    let found = found(&broken);
    for ((r, c), found) in found.indexed_iter() {
        if *found {
            assert!(is_dead(r, c), "({r}, {c}) is not dead");
        } else if is_dead(r, c) {
            assert!(
                counts[[r, c]] < 60.0,
                "({r}, {c}) is dead: {}",
                counts[[r, c]]
            );
        }
    }
    listed_pixels(&found, NEVER, [SIDE, SIDE], &|place| place)
}

#[test]
fn what_never_counts_is_found_and_named() {
    let listed = |is_dead: &dyn Fn(usize, usize) -> bool| check(&peak(), is_dead).unwrap();
    assert_eq!(
        listed(&|r, c| (r, c) == (25, 22)),
        "1 pixel never counts ((25, 22))"
    );
    let lines = listed(&|r, c| r == 20 || c == 27);
    assert_eq!(lines, "95 pixels never count (row 20, column 27)");
    let wide = listed(&|r, _| (24..27).contains(&r));
    assert_eq!(wide, "144 pixels never count (rows 24-26)");
    let quarter = listed(&|r, c| r >= 24 && c >= 24);
    assert_eq!(
        quarter,
        "576 pixels never count (rows 24-47, columns 24-47)"
    );
    let module = listed(&|r, c| (20..32).contains(&r) && (18..26).contains(&c));
    assert_eq!(module, "96 pixels never count (rows 20-31, columns 18-25)");
    let stop = listed(&|r, c| (r as f64 - 24.0).hypot(c as f64 - 24.0) < 5.0);
    assert!(stop.contains("rows 20-28, columns 20-28"), "{stop}");
    let apart = listed(&|r, c| r == 20 && (c == 22 || c == 24));
    assert_eq!(apart, "2 pixels never count ((20, 22), (20, 24))");
    let rows = listed(&|r, _| [22, 24, 26].contains(&r));
    assert_eq!(rows, "144 pixels never count (rows 22,24,26)");
    let none = Array2::from_elem((SIDE, SIDE), false);
    assert_eq!(
        listed_pixels(&none, NEVER, [SIDE, SIDE], &|place| place),
        None
    );
}

#[test]
fn lines_of_faint_scans_are_found_as_a_whole() {
    let faint = pattern(|distance| 20.0 * (-distance / 9.0).exp());
    let mut broken = faint.clone();
    broken.row_mut(23).fill(0.0);
    assert_eq!(
        found(&broken).row(23),
        ndarray::Array1::from_elem(SIDE, true)
    );
    assert_eq!(found(&broken).iter().filter(|dead| **dead).count(), SIDE);
    // A single pixel may have no counts by chance.
    let mut chance = faint;
    chance[[30, 30]] = 0.0;
    assert!(!found(&chance).iter().any(|dead| *dead));
}

#[test]
fn dark_places_of_patterns_are_no_dead_pixels() {
    for (name, counts) in [
        (
            "a peak with dark corners",
            pattern(|d| 1e6 * (-d / 1.5).exp()),
        ),
        ("a disc", pattern(|d| if d < 12.0 { 57_000.0 } else { 0.0 })),
        (
            "a disc beside which a few pixels count",
            pattern(|d| {
                if d < 12.0 {
                    57_000.0
                } else {
                    9.0 * f64::from(u8::from((d as usize).is_multiple_of(3)))
                }
            }),
        ),
        (
            "the shadow of a central stop",
            pattern(|d| 1e5 * (-((d - 12.0).abs() / 0.9)).exp()),
        ),
        (
            "fringes",
            pattern(|d| 300.0 * (-d / 12.0).exp() * (0.4 * d).sin().powi(2)),
        ),
        ("hot pixels in the dark", {
            let mut counts = pattern(|d| 1e6 * (-d / 1.5).exp());
            counts[[3, 5]] = 900.0;
            counts[[3, 40]] = 900.0;
            counts[[40, 5]] = 900.0;
            counts
        }),
        ("the image of a square aperture", {
            let mut counts = Array2::zeros((SIDE, SIDE));
            counts.slice_mut(s![12..36, 15..33]).fill(5000.0);
            counts
        }),
    ] {
        let found = found(&counts);
        let listed = listed_pixels(&found, NEVER, [SIDE, SIDE], &|place| place);
        assert_eq!(listed, None, "{name}");
    }
}
