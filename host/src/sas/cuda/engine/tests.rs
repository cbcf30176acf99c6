//! What a vector's numbers may not depend on: the batch, the memory, the grid. In the emulator, against the CPU's
//! engine, whose sums have another order.

use super::GpuEngine;
use crate::gpu::EmulatedMachine;
use crate::sas::cpu::CpuEngine;
use crate::sas::cuda::Tuning;
use crate::sas::{
    Calculation, Definition, Distribution, Engine, Points, Precision, SasError, Spread, Vector,
};

fn spread(calculation: &mut Calculation, name: &str, points: usize) {
    calculation.spreads.push(Spread {
        parameter: calculation.definition.place(name).unwrap(),
        distribution: Distribution::Gaussian,
        points,
        nsigma: 3.0,
    });
}

fn cylinders(points: Points) -> Calculation {
    let mut calculation = Calculation::new(Definition::parse("cylinder").unwrap(), points);
    spread(&mut calculation, "radius", 5);
    calculation
}

/// Unsorted, with a repetition.
fn curve() -> Points {
    Points::Curve(vec![0.2, 0.01, 0.3, 0.01, 0.002, 0.05, 0.11])
}

fn pixels() -> Points {
    Points::Pixels {
        qx: vec![0.01, -0.2, 0.0, 0.03, 0.1],
        qy: vec![0.02, 0.1, 0.05, -0.3, 0.0],
    }
}

/// Of different lengths, one without a spread: their meshes and cuts differ.
fn vectors(calculation: &Calculation) -> Vec<Vector> {
    let length = calculation.definition.place("length").unwrap();
    [(400.0, 0.1), (35.0, 0.2), (900.0, 0.0), (4000.0, 0.1)]
        .map(|(value, width)| {
            let mut vector = calculation.defaults();
            vector.values[length] = value;
            vector.widths[0] = width;
            vector
        })
        .to_vec()
}

fn on_machine(calculation: &Calculation) -> GpuEngine<EmulatedMachine> {
    GpuEngine::new(EmulatedMachine::new(), calculation.clone()).unwrap()
}

#[test]
fn a_vector_has_the_same_bits_alone_in_a_batch_in_little_memory_and_on_any_grid() {
    for points in [curve(), pixels()] {
        for precision in [Precision::F64, Precision::F32] {
            let mut calculation = cylinders(points.clone());
            calculation.precision = precision;
            let vectors = vectors(&calculation);
            let together = on_machine(&calculation).evaluate(&vectors).unwrap();
            let mut engine = on_machine(&calculation);
            for (vector, expected) in vectors.iter().zip(&together) {
                let alone = engine.evaluate(std::slice::from_ref(vector)).unwrap();
                assert_eq!(alone[0], *expected);
            }
            let mut little = on_machine(&calculation).with_room(1 << 15);
            assert_eq!(little.evaluate(&vectors).unwrap(), together);
            for blocks in [1, 3, 50] {
                let tuning = Tuning {
                    blocks: Some(blocks),
                    ..Tuning::default()
                };
                let mut engine = on_machine(&calculation).tuned(tuning);
                assert_eq!(engine.evaluate(&vectors).unwrap(), together);
            }
        }
    }
}

#[test]
fn agrees_with_the_cpu() {
    for name in ["cylinder@hardsphere", "cylinder"] {
        for points in [curve(), pixels()] {
            let mut calculation = cylinders(points);
            calculation.definition = Definition::parse(name).unwrap();
            let vectors = vectors(&calculation);
            let expected = CpuEngine::new(calculation.clone())
                .evaluate(&vectors)
                .unwrap();
            let found = on_machine(&calculation).evaluate(&vectors).unwrap();
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                assert!(
                    (found - expected).abs() <= 1e-11 * expected.abs(),
                    "{name}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn what_cannot_be_computed_is_said() {
    let calculation = cylinders(curve());
    let mut engine = on_machine(&calculation);
    let mut vector = calculation.defaults();
    vector.values[calculation.definition.place("radius").unwrap()] = -1.0;
    let Err(SasError::Value { name, value, .. }) = engine.evaluate(&[vector]) else {
        panic!("a negative radius has no intensities");
    };
    assert_eq!((name.as_str(), value), ("radius", -1.0));
    let Err(SasError::Refused(why)) = on_machine(&calculation)
        .with_room(64)
        .evaluate(&vectors(&calculation))
    else {
        panic!("64 bytes are too few");
    };
    assert!(why.contains("memory"), "{why}");
    assert!(engine.evaluate(&[]).unwrap().is_empty());
}
