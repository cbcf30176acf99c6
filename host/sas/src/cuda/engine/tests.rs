//! Results of a vector depend neither on the batch nor on the memory nor on the launch grid, and
//! agree with the CPU engine, whose sums have another order. All tests run in the emulator.

use super::GpuEngine;
use crate::cpu::CpuEngine;
use crate::cuda::{Tuning, on_emulated_devices};
use crate::{
    Calculation, Definition, Distribution, Engine, Points, Polydispersity, Precision, SasError,
    Vector,
};
use warpstride_cuda::gpu::EmulatedDevice;

fn add_polydispersity(calculation: &mut Calculation, name: &str, points: usize) {
    calculation.polydispersity.push(Polydispersity {
        parameter: calculation.definition.parameter_index(name).unwrap(),
        distribution: Distribution::Gaussian,
        points,
        nsigma: 3.0,
        is_given: true,
    });
}

fn cylinders(points: Points) -> Calculation {
    let mut calculation = Calculation::new(Definition::parse("cylinder").unwrap(), points);
    add_polydispersity(&mut calculation, "radius", 5);
    calculation
}

/// Unsorted points, one of them repeated.
fn curve() -> Points {
    Points::Curve(vec![0.2, 0.01, 0.3, 0.01, 0.002, 0.05, 0.11])
}

fn pixels() -> Points {
    Points::Pixels {
        qx: vec![0.01, -0.2, 0.0, 0.03, 0.1],
        qy: vec![0.02, 0.1, 0.05, -0.3, 0.0],
    }
}

/// Cylinders of different lengths, one without polydispersity: their meshes and divisions differ.
fn vectors(calculation: &Calculation) -> Vec<Vector> {
    let length = calculation.definition.parameter_index("length").unwrap();
    [(400.0, 0.1), (35.0, 0.2), (900.0, 0.0), (4000.0, 0.1)]
        .map(|(value, width)| {
            let mut vector = calculation.defaults();
            vector.values[length] = value;
            vector.widths[0] = width;
            vector
        })
        .to_vec()
}

fn emulated_engine(calculation: &Calculation) -> GpuEngine<EmulatedDevice> {
    GpuEngine::new(EmulatedDevice::new(), calculation.clone()).unwrap()
}

#[test]
fn a_vector_has_the_same_bits_alone_in_a_batch_in_little_memory_and_on_any_grid() {
    for points in [curve(), pixels()] {
        for precision in [Precision::F64, Precision::F32] {
            let mut calculation = cylinders(points.clone());
            calculation.precision = precision;
            let vectors = vectors(&calculation);
            let together = emulated_engine(&calculation).evaluate(&vectors).unwrap();
            let mut engine = emulated_engine(&calculation);
            for (vector, expected) in vectors.iter().zip(&together) {
                let alone = engine.evaluate(std::slice::from_ref(vector)).unwrap();
                assert_eq!(alone[0], *expected);
            }
            let mut little = emulated_engine(&calculation).with_partial_sum_bytes(1 << 15);
            assert_eq!(little.evaluate(&vectors).unwrap(), together);
            for blocks in [1, 3, 50] {
                let tuning = Tuning {
                    blocks: Some(blocks),
                    ..Tuning::default()
                };
                let mut engine = emulated_engine(&calculation).with_tuning(tuning);
                assert_eq!(engine.evaluate(&vectors).unwrap(), together);
            }
        }
    }
}

#[test]
fn any_number_of_devices_gives_the_same_bits() {
    for points in [curve(), pixels()] {
        for precision in [Precision::F64, Precision::F32] {
            let mut calculation = cylinders(points.clone());
            calculation.precision = precision;
            let vectors = vectors(&calculation);
            let expected = emulated_engine(&calculation).evaluate(&vectors).unwrap();
            for devices in [1, 2, 3, 7] {
                let group = (0..devices).map(|_| EmulatedDevice::new()).collect();
                let mut engine = on_emulated_devices(group, &calculation).unwrap();
                assert_eq!(engine.evaluate(&vectors).unwrap(), expected, "{devices}");
                // One vector, and none.
                assert_eq!(engine.evaluate(&vectors[2..3]).unwrap(), expected[2..3]);
                assert!(engine.evaluate(&[]).unwrap().is_empty());
            }
        }
    }
    assert!(on_emulated_devices(Vec::new(), &cylinders(curve())).is_err());
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
            let found = emulated_engine(&calculation).evaluate(&vectors).unwrap();
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
fn errors_name_the_parameter_or_the_memory() {
    let calculation = cylinders(curve());
    let mut engine = emulated_engine(&calculation);
    let mut vector = calculation.defaults();
    vector.values[calculation.definition.parameter_index("radius").unwrap()] = -1.0;
    let Err(SasError::Value { name, value, .. }) = engine.evaluate(&[vector]) else {
        panic!("a negative radius has no intensities");
    };
    assert_eq!((name.as_str(), value), ("radius", -1.0));
    let Err(SasError::Refused(why)) = emulated_engine(&calculation)
        .with_partial_sum_bytes(64)
        .evaluate(&vectors(&calculation))
    else {
        panic!("64 bytes are too few");
    };
    assert!(why.contains("memory"), "{why}");
    assert!(engine.evaluate(&[]).unwrap().is_empty());
}
