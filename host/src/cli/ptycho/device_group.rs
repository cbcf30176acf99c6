//! A reconstruction on several devices of this host: a thread for each of them.

use crate::cli::failure::Failure;
use crate::cuda::{CudaError, CudaPeers, PeerInvitation, invite_peers};
use crate::gpu::{CudaDevice, EmulatedDevice, GpuError};
use crate::ptycho::cuda::{on_cuda_among, on_emulator_among};
use crate::ptycho::{Engine, EngineError, Problem, Ranks, RunError, StreamPlan, UpdateVersion};
use crate::ranks::threads;
use std::sync::Arc;
use std::thread;

/// One of several devices, before its engine is made, which has to be done in its own thread.
pub(super) struct Member {
    device: MemberDevice,
    version: UpdateVersion,
    plan: Option<StreamPlan>,
}

enum MemberDevice {
    Cuda(Box<CudaDevice>, PeerInvitation),
    Emulated(EmulatedDevice),
}

impl Member {
    /// GPUs of one model, which compute the same bits; each has the plan of its blocks of frames.
    pub(super) fn of_gpus(
        devices: Vec<(CudaDevice, Option<StreamPlan>)>,
        version: UpdateVersion,
    ) -> Result<Vec<Self>, Failure> {
        let mut names: Vec<&str> = devices
            .iter()
            .map(|(of, _)| of.info().name.as_str())
            .collect();
        names.dedup();
        if names.len() > 1 {
            return Err(Failure::failed(format!(
                "--devices: expected GPUs of one model, found {}",
                names.join(", ")
            )));
        }
        let invitations = invite_peers(devices.len());
        let pairs = devices.into_iter().zip(invitations);
        let members = pairs.map(|((device, plan), invitation)| Self {
            device: MemberDevice::Cuda(Box::new(device), invitation),
            version,
            plan,
        });
        Ok(members.collect())
    }

    /// Emulated devices.
    pub(super) fn emulated(
        devices: Vec<EmulatedDevice>,
        version: UpdateVersion,
        plan: Option<StreamPlan>,
    ) -> Vec<Self> {
        let member = |device| Self {
            device: MemberDevice::Emulated(device),
            version,
            plan,
        };
        devices.into_iter().map(member).collect()
    }

    /// The back end.
    pub(super) fn backend(&self) -> &'static str {
        match self.device {
            MemberDevice::Cuda(..) => "cuda",
            MemberDevice::Emulated(_) => "emulator",
        }
    }

    /// The plan of the blocks of its frames.
    pub(super) fn plan(&self) -> Option<StreamPlan> {
        self.plan
    }

    /// Makes the engine of rank `ranks`.
    pub(super) fn engine(
        self,
        problem: &Problem,
        ranks: &Ranks,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let Self { version, plan, .. } = self;
        match self.device {
            MemberDevice::Cuda(device, invitation) => {
                let peers = invitation.join(device.context()).map_err(GpuError::from)?;
                on_cuda_among(
                    *device,
                    problem,
                    version,
                    plan,
                    (ranks.clone(), Some(CudaPeers::Threads(peers))),
                )
            }
            MemberDevice::Emulated(device) => {
                on_emulator_among(device, problem, version, plan, ranks.clone())
            }
        }
    }
}

/// Whether a rank failed alone: its device did, or it could not write a checkpoint. All ranks find other errors, or follow
/// the one that failed.
pub(super) fn failed_alone(error: &RunError) -> bool {
    match error {
        RunError::Checkpoint(_) => true,
        RunError::Engine(EngineError::Gpu(error)) => !matches!(
            error,
            GpuError::Exchange { .. } | GpuError::Cuda(CudaError::PeerEnded { .. })
        ),
        _ => false,
    }
}

/// Calls `each` with every member in a thread of its own, the first one in this thread. If one fails, the others end too;
/// the failure is that of the first one that did not fail because of another.
pub(super) fn on_all<M: Send>(
    members: Vec<M>,
    each: impl Fn(M, &Ranks) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let ranks = threads(members.len()).into_iter();
    let mut ranks = ranks.map(|rank| Ranks::of(Arc::new(rank)));
    let run = |member: M, ranks: Ranks| {
        let done = each(member, &ranks);
        if let Err(failure) = &done {
            ranks.fail(&failure.to_string());
        }
        done
    };
    let run = &run;
    let failures = thread::scope(|scope| {
        let mut members = members.into_iter();
        let first = members.next().zip(ranks.next());
        let others: Vec<_> = (members.zip(ranks))
            .map(|(member, ranks)| scope.spawn(move || run(member, ranks)))
            .collect();
        let led = first.map(|(member, ranks)| run(member, ranks));
        let panicked = || Err(Failure::failed("the thread of a device ended unexpectedly"));
        let others = others
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| panicked()));
        let all: Vec<_> = led.into_iter().chain(others).collect();
        all.into_iter().filter_map(Result::err).collect::<Vec<_>>()
    });
    let mut failures = failures.into_iter();
    let first = failures.next();
    match (
        first,
        failures.find(|failure| matches!(failure, Failure::OfRank(_))),
    ) {
        (None, _) => Ok(()),
        (Some(first @ (Failure::OfRank(_) | Failure::Interrupted(_))), _) | (Some(first), None) => {
            Err(first)
        }
        (Some(_), Some(own)) => Err(own),
    }
}
