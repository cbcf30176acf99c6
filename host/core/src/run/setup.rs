//! Where and how an engine computes.

use crate::system::processor;
use serde::Serialize;
use std::fmt;

/// Where and how an engine computes: part of every summary, result and report. Its text is
/// `cuda (NVIDIA H200), f32`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Setup {
    /// `cpu`, `cuda` or `emulator`.
    pub backend: &'static str,
    /// The name of the device; of several devices their names, separated by commas. On the CPU its
    /// model and the number of threads: `AMD EPYC 7B13, 2 threads`.
    pub device: String,
    /// `f32` or `f64`.
    pub precision: &'static str,
}

impl Setup {
    /// Whether kernels run in the emulator, whose times say nothing about those of a GPU.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        self.backend == "emulator"
    }

    /// The setup of a CPU engine in `f32` or `f64`, on the present pool of threads.
    #[must_use]
    pub fn cpu(precision: &'static str) -> Self {
        Self {
            backend: "cpu",
            device: processor(rayon::current_num_threads()),
            precision,
        }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            backend,
            device,
            precision,
        } = self;
        write!(f, "{backend} ({}), {precision}", distinct(device))
    }
}

/// A list of names with the number of repetitions: `4 x A, B`.
fn distinct(names: &str) -> String {
    let mut found: Vec<(&str, usize)> = Vec::new();
    for name in names.split(", ") {
        match found.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => *count += 1,
            None => found.push((name, 1)),
        }
    }
    let parts = found.iter().map(|(name, count)| match count {
        1 => (*name).to_owned(),
        _ => format!("{count} x {name}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_devices_are_counted() {
        let text = |device: &str| {
            let setup = Setup {
                backend: "cuda",
                device: device.to_owned(),
                precision: "f32",
            };
            setup.to_string()
        };
        assert_eq!(text("NVIDIA H200"), "cuda (NVIDIA H200), f32");
        assert_eq!(text("A, B, A"), "cuda (2 x A, B), f32");
        assert_eq!(text("EPYC, 2 threads"), "cuda (EPYC, 2 threads), f32");
    }

    #[test]
    fn the_cpu_has_its_model_and_its_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
        let setup = pool.unwrap().install(|| Setup::cpu("f64"));
        assert_eq!((setup.backend, setup.precision), ("cpu", "f64"));
        assert!(setup.device.ends_with(", 3 threads"), "{setup}");
    }
}
