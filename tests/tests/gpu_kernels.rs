//! The self-test on the first CUDA device. Without one it is skipped, and says so.

use warpstride::gpu::CudaMachine;
use warpstride::selftest::{self, Size, report};

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn gpu_kernels_and_engines_agree_with_the_cpu() {
    let machine = match CudaMachine::new(0) {
        Ok(machine) => machine,
        Err(why) => {
            eprintln!("SKIPPED gpu_kernels: {why}");
            return;
        }
    };
    let results = selftest::run(&machine, Size::Device).unwrap();
    let table = report(&results);
    eprintln!("{table}");
    assert!(results.iter().all(|case| case.passed), "\n{table}");
}
