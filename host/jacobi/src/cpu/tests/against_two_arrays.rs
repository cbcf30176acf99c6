//! The field equals that of the definition bit for bit, and norms do not depend on how work is
//! divided.

use super::two_arrays::relaxed;
use super::{BOUNDARIES, SHAPES, all, problems, run, run_with_threads};
use crate::{Problem, Real};
use ndarray::Array2;

const SWEEPS: usize = 21;

fn bits<T: Real>(field: &Array2<T>) -> Vec<u64> {
    // The conversion is exact and keeps the sign of zero.
    field.iter().map(|v| v.widened().to_bits()).collect()
}

fn same_as_two_arrays<T: Real>(tolerance: f64) {
    // Changes whose squares are subnormal.
    let underflow = T::min_positive_value().widened().sqrt();
    for shape in SHAPES {
        for boundary in BOUNDARIES {
            for problem in problems::<T>(shape, boundary) {
                let (field, norms) = relaxed(&problem, SWEEPS);
                let mut first: Option<Vec<u64>> = None;
                for (time_block, threads) in
                    (0..=9).chain([17, 64]).zip([1, 2, 3].into_iter().cycle())
                {
                    let found = run_with_threads(threads, &problem, all(SWEEPS), time_block);
                    let case = format!("{shape:?} {boundary:?} {time_block} {threads}");
                    assert_eq!(found.sweeps, SWEEPS, "{case}");
                    assert_eq!(bits(&found.field), bits(&field), "{case}");
                    for (i, (found, norm)) in found.norms.iter().zip(&norms).enumerate() {
                        assert_eq!(found.sweep, i, "{case}");
                        let error = (found.norm - norm).abs();
                        let bound = tolerance * norm + underflow;
                        assert!(error <= bound, "{case}: {found:?} {norm}");
                    }
                    let norms = found.norms.iter().map(|n| n.norm.to_bits()).collect();
                    assert_eq!(
                        first.get_or_insert_with(|| Vec::clone(&norms)),
                        &norms,
                        "{case}"
                    );
                }
                assert_eq!(first.unwrap().len(), SWEEPS);
            }
        }
    }
}

#[test]
fn single_precision() {
    same_as_two_arrays::<f32>(1e-6);
}

#[test]
fn double_precision() {
    same_as_two_arrays::<f64>(1e-13);
}

#[test]
fn bands_and_tiles_do_not_change_the_result() {
    // Three tiles or more with 64 sweeps per pass, just over one with few.
    let shape = (84, 8300);
    for boundary in BOUNDARIES {
        let problem = problems::<f32>(shape, boundary).pop().unwrap();
        let (field, _) = relaxed(&problem, 5);
        let one = run_with_threads(1, &problem, all(5), 1);
        for (time_block, threads) in [(1, 7), (2, 3), (3, 2), (5, 1), (4, 40), (0, 2), (64, 5)] {
            let found = run_with_threads(threads, &problem, all(5), time_block);
            assert_eq!(
                bits(&found.field),
                bits(&field),
                "{boundary:?} {time_block}"
            );
            assert_eq!(
                found.norms, one.norms,
                "{boundary:?} {time_block} {threads}"
            );
        }
    }
}

#[test]
fn an_excessive_time_block_is_limited_with_a_note() {
    let problem = Problem::<f32>::new(9, 9, BOUNDARIES[0]).unwrap();
    let (field, _) = relaxed(&problem, SWEEPS);
    let found = run(&problem, all(SWEEPS), usize::MAX);
    assert_eq!(bits(&found.field), bits(&field));
    let engine = super::CpuEngine::new(&problem, all(1), usize::MAX).unwrap();
    let execution = crate::Engine::execution(&engine);
    assert_eq!((execution.time_block, execution.notes.len()), (64, 1));
}
