//! Every kernel and every engine in the emulator.

use warpstride::gpu::EmulatedMachine;
use warpstride::selftest::{self, CaseResult, Size, kernels_without_case, report};

fn expect_passed(results: &[CaseResult]) {
    assert!(!results.is_empty());
    assert!(
        results.iter().all(|case| case.passed),
        "\n{}",
        report(results)
    );
}

#[test]
fn kernels_equal_their_definitions() {
    let results = selftest::kernels(&EmulatedMachine::new(), Size::Small).unwrap();
    expect_passed(&results);
    assert_eq!(
        kernels_without_case(&results),
        [""; 0],
        "kernels without a case"
    );
}

#[test]
fn engines_agree_with_the_cpu() {
    expect_passed(&selftest::engines(&EmulatedMachine::new(), Size::Small).unwrap());
}
