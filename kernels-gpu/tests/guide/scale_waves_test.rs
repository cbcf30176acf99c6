use warpstride_device::Complex32;
use warpstride_device::emulator::{self, LaunchConfig, Memory, Order};

#[test]
fn equals_the_definition() {
    for (frames, elements) in [(0_u32, 3_u32), (1, 1), (5, 77), (3, 256)] {
        let wave = |i: u32| Complex32::new(i as f32, 1.0 - i as f32);
        let start: Vec<Complex32> = (0..frames * elements).map(wave).collect();
        let factors: Vec<f32> = (0..frames).map(|f| f as f32 - 1.5).collect();
        for (grid, block, order) in [
            (1, 32, Order::Ascending),
            (2, 64, Order::Descending),
            (9, 256, Order::Ascending),
        ] {
            let mut psi = Memory::try_copy_of(&start).expect("memory");
            let factor_memory = Memory::try_copy_of(&factors).expect("memory");
            let mut power = Memory::try_poisoned(frames as usize).expect("memory");
            let launch = PtychoScaleWaves {
                psi: psi.write(),
                factors: factor_memory.read(),
                power: power.write(),
                frames,
                elements,
            };
            let config = LaunchConfig::linear(&launch, grid, block);
            emulator::launch_in(&launch, config, order).expect("valid launch");
            assert_eq!(psi.check_canaries(), Ok(()));
            assert_eq!(power.check_canaries(), Ok(()));

            for (frame, factor) in factors.iter().enumerate() {
                let range = frame * elements as usize..(frame + 1) * elements as usize;
                let mut sum = 0.0;
                for (old, new) in start[range.clone()].iter().zip(&psi.as_slice()[range]) {
                    // One rounding each: exact equality is right here.
                    assert_eq!(*new, Complex32::new(old.re * factor, old.im * factor));
                    sum += f64::from(new.re).powi(2) + f64::from(new.im).powi(2);
                }
                let error = (f64::from(power.as_slice()[frame]) - sum).abs();
                assert!(error <= 1e-5 * sum, "{error} of {sum}");
            }
        }
    }
}
