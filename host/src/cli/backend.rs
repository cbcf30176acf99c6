//! Which machine computes: chosen once, by trying.

use super::args::BackendWord;
use super::failure::Failure;
use warpstride::io::{Bytes, Memory};
use warpstride::ptycho::cpu::CpuEngine;
use warpstride::ptycho::{Engine, Plan, Precision, Problem};

/// Where a run shall be computed, as far as that is known before any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) backend: BackendWord,
    /// Number of the GPU, where one was typed.
    pub(crate) device: Option<usize>,
}

impl Wish {
    /// Refuses what can never be.
    pub(crate) fn check(self, precision: Precision) -> Result<(), Failure> {
        let word = match self.backend {
            BackendWord::Auto => return Ok(()),
            BackendWord::Cpu => "cpu",
            BackendWord::Cuda => "cuda",
            BackendWord::Emulator => "emulator",
        };
        if precision == Precision::F64 && self.backend != BackendWord::Cpu {
            return Err(Failure::usage(format!(
                "--backend {word} computes in f32 only: precision f64 needs --backend cpu"
            )));
        }
        if let Some(device) = self.device
            && self.backend != BackendWord::Cuda
        {
            return Err(Failure::usage(format!(
                "--device {device} is a GPU: it is not used by --backend {word}"
            )));
        }
        Ok(())
    }

    /// Opens the machine.
    pub(crate) fn open(self, precision: Precision) -> Result<Machine, Failure> {
        match self.backend {
            BackendWord::Cpu => Ok(Machine {
                precision,
                note: None,
            }),
            BackendWord::Auto => {
                let note = Some(format!("the CPU computes: {NO_GPU}"));
                Ok(Machine { precision, note })
            }
            BackendWord::Cuda | BackendWord::Emulator => Err(Failure::failed(NO_GPU)),
        }
    }
}

const NO_GPU: &str = "this version has no GPU back end";

/// A machine that is there.
pub(crate) struct Machine {
    precision: Precision,
    /// What `auto` took, and why.
    pub(crate) note: Option<String>,
}

impl Machine {
    /// Refuses a run that does not fit; `before` was available before the scan was read.
    pub(crate) fn check_memory(&self, plan: &Plan, before: Memory) -> Result<(), Failure> {
        fits("the CPU back end", "host", plan.cpu_bytes, before.limit())
    }

    /// Puts the start values there.
    pub(crate) fn engine(self, problem: &Problem) -> Result<Box<dyn Engine>, Failure> {
        Ok(match self.precision {
            Precision::F32 => Box::new(CpuEngine::<f32>::new(problem)),
            Precision::F64 => Box::new(CpuEngine::<f64>::new(problem)),
        })
    }
}

fn fits(who: &str, whose: &str, needed: u64, available: u64) -> Result<(), Failure> {
    if needed <= available {
        return Ok(());
    }
    let (needed, available) = (Bytes(u128::from(needed)), Bytes(u128::from(available)));
    Err(Failure::failed(format!(
        "the reconstruction needs {needed} of {whose} memory for {who}, but {available} may be used; take fewer probe modes (--probe-modes), fewer frames (--set data.frames=[0,100]) or a smaller part of each (--set data.crop=[64,64])"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_precision_and_devices_belong_to_their_machines() {
        let wish = |backend, device| Wish { backend, device };
        assert!(wish(BackendWord::Cuda, None).check(Precision::F64).is_err());
        assert!(wish(BackendWord::Auto, None).check(Precision::F64).is_ok());
        assert!(
            wish(BackendWord::Cpu, Some(0))
                .check(Precision::F32)
                .is_err()
        );
        assert!(
            wish(BackendWord::Cuda, Some(1))
                .check(Precision::F32)
                .is_ok()
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures() {
        assert!(fits("a", "host", 5, 5).is_ok());
        let Err(Failure::Failed(text)) = fits("a", "host", 3 << 30, 1 << 30) else {
            panic!("fits");
        };
        assert!(
            text.contains("3.0 GiB") && text.contains("1.0 GiB"),
            "{text}"
        );
    }
}
