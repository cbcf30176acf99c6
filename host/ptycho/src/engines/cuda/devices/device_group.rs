//! Several devices of this host that compute one reconstruction: each has a thread with an engine
//! of its own.

use crate::engines::cuda::{on_cuda_among, on_emulator_among};
use crate::{Engine, EngineError, Problem, Ranks, RunError, StreamPlan, UpdateVersion};
use warpstride_cuda::cuda::{CudaError, CudaPeers, PeerInvitation, invite_peers};
use warpstride_cuda::gpu::{CudaDevice, EmulatedDevice, GpuError};

/// GPUs of different models, which do not compute the same bits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected GPUs of one model, found {0}")]
pub struct DifferentGpus(String);

/// One of several devices, before its engine is made, which has to be done in its own thread.
pub struct GroupMember {
    device: MemberDevice,
    version: UpdateVersion,
    plan: Option<StreamPlan>,
}

enum MemberDevice {
    Cuda(Box<CudaDevice>, PeerInvitation),
    Emulated(EmulatedDevice),
}

impl GroupMember {
    /// GPUs of one model, which compute the same bits; each has the plan of its blocks of frames.
    ///
    /// # Errors
    /// They are of different models.
    pub fn of_gpus(
        devices: Vec<(CudaDevice, Option<StreamPlan>)>,
        version: UpdateVersion,
    ) -> Result<Vec<Self>, DifferentGpus> {
        let mut names: Vec<&str> = devices
            .iter()
            .map(|(of, _)| of.info().name.as_str())
            .collect();
        names.dedup();
        if names.len() > 1 {
            return Err(DifferentGpus(names.join(", ")));
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
    #[must_use]
    pub fn emulated(
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
    #[must_use]
    pub fn backend(&self) -> &'static str {
        match self.device {
            MemberDevice::Cuda(..) => "cuda",
            MemberDevice::Emulated(_) => "emulator",
        }
    }

    /// The plan of the blocks of its frames.
    #[must_use]
    pub fn plan(&self) -> Option<StreamPlan> {
        self.plan
    }

    /// Makes the engine of rank `ranks`, in its own thread.
    ///
    /// # Errors
    /// Its device has too little memory, or fails.
    pub fn engine(self, problem: &Problem, ranks: &Ranks) -> Result<Box<dyn Engine>, EngineError> {
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

/// Whether a rank failed alone: its device did, or it could not write a checkpoint. All ranks find
/// other errors, or follow the one that failed.
#[must_use]
pub fn failed_alone(error: &RunError) -> bool {
    match error {
        RunError::Checkpoint(_) => true,
        RunError::Engine(EngineError::Gpu(error)) => !matches!(
            error,
            GpuError::Exchange { .. } | GpuError::Cuda(CudaError::PeerEnded { .. })
        ),
        _ => false,
    }
}
