//! Dead pixels, lines and modules are found, and dark places of patterns are not.

use super::{Dark, dark};
use crate::checks::diagnosis::listed::{NEVER, listed_pixels};
use ndarray::{Array2, s};
use rand::SeedableRng as _;
use rand_distr::{Distribution as _, Poisson};
use rand_pcg::Pcg64Mcg;

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
    let found = judged(counts, frames);
    found.dead | found.doubtful
}

fn judged(counts: &Array2<f64>, frames: usize) -> Dark {
    let valid = Array2::from_elem(counts.dim(), true);
    dark(&(counts / frames as f64), &valid, frames)
}

/// Checks that exactly the pixels in `places` are found if they have no counts, of those that would
/// have some.
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
    let box_of_stop = "69 pixels never count (69 within rows 20-28, columns 20-28)";
    assert_eq!(stop, box_of_stop);
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

/// Counts with photon noise.
fn noisy(expected: &Array2<f64>, random: &mut Pcg64Mcg) -> Array2<f64> {
    expected.mapv(|expected| match Poisson::new(expected) {
        Ok(poisson) => poisson.sample(random),
        Err(_) => 0.0,
    })
}

/// Row and column from the middle of a pattern whose centre is displaced by so much.
fn from_middle((row, column): (usize, usize), displaced: f64) -> (f64, f64) {
    let middle = (SIDE / 2) as f64;
    (
        row as f64 - middle - displaced,
        column as f64 - middle + 0.7 * displaced,
    )
}

#[test]
fn pupils_and_zeros_of_waves_are_no_dead_pixels_at_any_dose() {
    type Pupil = fn(f64, f64) -> f64;
    let pupils: [(&str, Pupil); 13] = [
        ("a disc", |y, x| f64::from(u8::from(y.hypot(x) < 12.0))),
        ("a square", |y, x| {
            f64::from(u8::from(y.abs() < 12.0 && x.abs() < 9.6))
        }),
        ("a hexagon", |y, x| {
            let (y, x) = (y.abs(), x.abs());
            f64::from(u8::from(y < 10.4 && 0.5 * y + 0.866 * x < 10.4))
        }),
        ("a hexagon on its side", |y, x| {
            let (y, x) = (y.abs(), x.abs());
            f64::from(u8::from(x < 10.4 && 0.5 * x + 0.866 * y < 10.4))
        }),
        ("four round lobes", |y, x| {
            f64::from(u8::from((y.abs() - 9.6).hypot(x.abs() - 9.6) < 6.0))
        }),
        ("a disc that the border cuts", |y, x| {
            f64::from(u8::from(y.hypot(x + 22.0) < 12.0))
        }),
        ("a square that the border cuts", |y, x| {
            f64::from(u8::from(y.abs() < 12.0 && x < -12.0))
        }),
        ("a Gaussian", |y, x| (-(y * y + x * x) / 20.0).exp()),
        ("a vortex", |y, x| {
            let square = (y * y + x * x) / 16.0;
            square * (-0.5 * square).exp()
        }),
        ("a Hermite-Gaussian beam", |y, x| {
            (y * x).powi(2) * (-(y * y + x * x) / 40.0).exp() / 200.0
        }),
        ("a narrow peak on a weak specimen", |y, x| {
            f64::from(u8::from(y.hypot(x) < 1.2)) + 1e-3 * (-y.hypot(x) / 9.0).exp()
        }),
        ("discs of a crystal", |y, x| {
            let from = |place: f64| place - 9.6 * (place / 9.6).round();
            let order = y.abs().max(x.abs()) < 14.4;
            f64::from(u8::from(order && from(y).hypot(from(x)) < 3.6))
        }),
        ("a soft ring", |y, x| {
            (-((y.hypot(x) - 9.0) / 2.0).powi(2)).exp()
        }),
    ];
    let random = &mut Pcg64Mcg::seed_from_u64(52);
    for (name, pupil) in pupils {
        for displaced in [0.0, 0.5, 3.3] {
            let pupil = Array2::from_shape_fn((SIDE, SIDE), |place| {
                let (row, column) = from_middle(place, displaced);
                pupil(row, column)
            });
            for dose in [1.0, 10.0, 100.0, 1e3, 1e5] {
                for scattered in [0.0, 1e-3] {
                    let counts = noisy(&(dose * (&pupil + scattered)), random);
                    let found = judged(&counts, 40);
                    let all = &found.dead | &found.doubtful;
                    let listed = listed_pixels(&all, NEVER, [SIDE, SIDE], &|place| place);
                    assert_eq!(listed, None, "{name} {displaced} {dose} {scattered}");
                }
            }
        }
    }
}

#[test]
fn the_shadow_of_a_central_stop_is_doubtful() {
    let random = &mut Pcg64Mcg::seed_from_u64(1);
    for displaced in [0.0, 0.5, 3.3] {
        for (inner, outer) in [(5.4, 12.0), (9.0, 12.0)] {
            let ring = Array2::from_shape_fn((SIDE, SIDE), |place| {
                let (row, column) = from_middle(place, displaced);
                let distance = row.hypot(column);
                f64::from(u8::from((inner..outer).contains(&distance)))
            });
            let found = judged(&noisy(&(1e3 * &ring + 0.5), random), 40);
            assert!(!found.dead.iter().any(|dead| *dead));
            let inside = |place| {
                let (row, column) = from_middle(place, displaced);
                row.hypot(column) < inner
            };
            for (place, doubtful) in found.doubtful.indexed_iter() {
                assert_eq!(*doubtful, inside(place), "{displaced} {inner} {place:?}");
            }
        }
    }
}

#[test]
fn dead_places_are_found_although_they_have_stray_counts() {
    let random = &mut Pcg64Mcg::seed_from_u64(7);
    type Region = fn(f64, f64) -> bool;
    let places: [(&str, Region); 15] = [
        ("a beamstop", |y, x| y.hypot(x) < 4.0),
        ("a beamstop with its holder", |y, x| {
            y.hypot(x) < 4.0 || (y.abs() < 2.0 && x > 0.0)
        }),
        ("a beamstop off the axis", |y, x| {
            (y - 5.0).hypot(x + 6.0) < 3.0
        }),
        ("a module", |y, x| {
            (-4.0..8.0).contains(&y) && (4.0..16.0).contains(&x)
        }),
        ("a module at the border", |y, x| y.abs() < 14.0 && x >= 6.0),
        ("a quadrant", |y, x| y >= 0.0 && x >= 0.0),
        ("a half", |_, x| x >= 0.0),
        ("less than a half", |y, _| y < -3.0),
        ("a row", |y, _| y == -4.0),
        ("the row in the middle", |y, _| y == 0.0),
        ("two rows in the middle", |y, _| y == 0.0 || y == 1.0),
        ("a cross", |y, x| {
            (y - 0.5).abs() < 1.0 || (x - 0.5).abs() < 1.0
        }),
        ("a wide gap", |y, _| (2.0..10.0).contains(&y)),
        ("rows opposite to each other", |y, _| y == -6.0 || y == 6.0),
        ("a part of a row", |y, x| y == 3.0 && x < 2.0),
    ];
    let fading = pattern(|d| 1e6 * (-d / 2.2).exp() + 3000.0 * (-d / 5.0).exp());
    let broad = pattern(|d| 2e4 * (-(d / 9.0).powi(2)).exp());
    for (of, counts) in [("fading", fading), ("broad", broad)] {
        for (name, place) in places {
            for stray in [0.0, 1.2, 3.0] {
                let is_dead = |place_of: (usize, usize)| {
                    let (row, column) = from_middle(place_of, 0.0);
                    place(row, column)
                };
                let expected = Array2::from_shape_fn((SIDE, SIDE), |place| {
                    if is_dead(place) { stray } else { counts[place] }
                });
                let found = judged(&noisy(&expected, random), 60);
                let (mut hidden, mut kept) = (0.0, 0.0);
                for (place, counts) in counts.indexed_iter() {
                    if is_dead(place) {
                        hidden += counts;
                        kept += if found.dead[place] || found.doubtful[place] {
                            0.0
                        } else {
                            *counts
                        };
                    } else if *counts >= 10.0 {
                        assert!(!found.dead[place], "{of}, {name}, {stray}: {place:?}");
                    }
                }
                assert!(
                    kept <= 2e-3 * hidden,
                    "{of}, {name}, {stray}: {kept} of {hidden}"
                );
            }
        }
    }
}

#[test]
fn a_few_pixels_with_counts_do_not_save_a_dead_module() {
    for of in [1.0, 500.0] {
        for quadrant in [true, false] {
            let mut counts = peak();
            let rows = if quadrant { 24..48 } else { 20..32 };
            let block = s![rows.clone(), rows];
            counts.slice_mut(block).fill(0.0);
            counts[[30, 29]] = of;
            counts[[27, 31]] = of;
            let found = judged(&counts, 60);
            assert!(found.any_counts);
            assert!(
                found.dead.slice(block).iter().all(|dead| *dead),
                "{of} {quadrant}"
            );
        }
    }
}

#[test]
fn a_stop_with_a_half_shadowed_edge_is_found() {
    let mut counts = pattern(|d| 2e4 * (-(d / 9.0).powi(2)).exp());
    for (place, counts) in counts.indexed_iter_mut() {
        let (row, column) = from_middle(place, 0.0);
        *counts *= (row.hypot(column) - 4.0).clamp(0.0, 1.0);
    }
    let found = judged(&counts.mapv(f64::floor), 60);
    for (place, dead) in found.dead.indexed_iter() {
        let (row, column) = from_middle(place, 0.0);
        let distance = row.hypot(column);
        assert!(*dead || distance > 4.3, "{place:?}");
        assert!(!*dead || distance < 5.0, "{place:?}");
    }
}
