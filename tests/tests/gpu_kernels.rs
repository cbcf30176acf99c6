//! The self-test on the first CUDA device. Without one it is skipped, and says so.

use warpstride::gpu::CudaMachine;
use warpstride::selftest::{self, Size, report};
use warpstride_tests::skipped;

#[test]
fn gpu_kernels_and_engines_agree_with_the_cpu() {
    let machine = match CudaMachine::new(0) {
        Ok(machine) => machine,
        Err(why) => return skipped("gpu_kernels", &why),
    };
    let results = selftest::run(&machine, Size::Device, &mut |_| ()).unwrap();
    let failed = results.iter().filter(|case| !case.passed).count();
    assert_eq!(failed, 0, "\n{}", report(&results));
}
