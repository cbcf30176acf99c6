//! The self-test on the first CUDA device; skipped with a message if there is none.

use warpstride::gpu::CudaDevice;
use warpstride::selftest::{self, Size, report};
use warpstride_tests::skipped;

#[test]
fn gpu_kernels_and_engines_agree_with_the_cpu() {
    let device = match CudaDevice::new(0, &selftest::kernels()) {
        Ok(device) => device,
        Err(why) => return skipped("gpu_kernels", &why),
    };
    let results = selftest::run(&device, Size::Device, &[], &mut |_| ()).unwrap();
    let failed = results.iter().filter(|case| !case.passed).count();
    assert_eq!(failed, 0, "\n{}", report(&results));
}
