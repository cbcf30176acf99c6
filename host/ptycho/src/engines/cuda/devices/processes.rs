//! How the GPUs of several processes exchange arrays: by NCCL where all of them have it, otherwise
//! through the memory of their hosts.

use crate::{EngineError, Ranks};
use std::collections::HashSet;
use warpstride_cuda::cuda::{CudaPeers, NcclId, NcclPeers, find_nccl};
use warpstride_cuda::gpu::{CudaDevice, GpuError};

/// How the GPUs of the processes exchange arrays.
#[derive(Debug)]
pub enum ProcessExchange {
    /// From GPU to GPU.
    Nccl(CudaPeers),
    /// Through the memory of the hosts, which takes much longer, for this reason.
    Hosts(String),
}

/// Bytes of a GPU's UUID.
const UUID: usize = 16;

/// Why GPUs cannot use NCCL, if they cannot: from the UUID and then the error of each process,
/// which is empty if it has found NCCL.
fn reason_against(of_processes: &[Vec<u8>]) -> Option<String> {
    let mut seen = HashSet::new();
    for (rank, bytes) in of_processes.iter().enumerate() {
        let (uuid, error) = bytes.split_at_checked(UUID)?;
        if !error.is_empty() {
            let error = String::from_utf8_lossy(error);
            return Some(format!("process {rank}: {error}"));
        }
        if !seen.insert(uuid.to_vec()) {
            return Some(format!(
                "NCCL wants a GPU for each process, process {rank} has that of another one"
            ));
        }
    }
    None
}

/// Joins the GPUs of all ranks, each of which is a process with one GPU. Every rank calls this.
///
/// # Errors
/// A rank has failed; or this one could not join the others, which may wait for it then.
pub fn join_processes(device: &CudaDevice, ranks: &Ranks) -> Result<ProcessExchange, EngineError> {
    let context = device.context();
    let own = find_nccl().and_then(|()| context.device_uuid());
    let (uuid, error) = match own {
        Ok(uuid) => (uuid, String::new()),
        Err(error) => ([0; UUID], error.to_string()),
    };
    let all = ranks.each(&[&uuid[..], error.as_bytes()].concat())?;
    if let Some(why) = reason_against(&all) {
        return Ok(ProcessExchange::Hosts(why));
    }
    // The identifier, or why there is none.
    let of_first: [Vec<u8>; 2] = match ranks.is_first().then(NcclId::new) {
        Some(Ok(id)) => [bytemuck::bytes_of(&id).to_vec(), Vec::new()],
        Some(Err(error)) => [Vec::new(), error.to_string().into_bytes()],
        None => Default::default(),
    };
    let [id, error] = of_first;
    let (id, error) = (ranks.of_first(&id)?, ranks.of_first(&error)?);
    let Ok(id) = bytemuck::try_pod_read_unaligned(&id) else {
        let why = String::from_utf8_lossy(&error).into_owned();
        return Ok(ProcessExchange::Hosts(why));
    };
    let joined = NcclPeers::join(context, id, ranks.rank(), ranks.size());
    let peers = joined.map_err(GpuError::from)?;
    Ok(ProcessExchange::Nccl(CudaPeers::Nccl(peers)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_needs_nccl_and_a_gpu_of_its_own() {
        let process = |uuid: u8, error: &str| [&[uuid; UUID][..], error.as_bytes()].concat();
        assert_eq!(reason_against(&[process(1, ""), process(2, "")]), None);
        let lacks = reason_against(&[process(1, ""), process(2, "NCCL was not found")]).unwrap();
        assert!(lacks.contains("process 1: NCCL was not found"), "{lacks}");
        let same = reason_against(&[process(1, ""), process(2, ""), process(1, "")]).unwrap();
        assert!(same.contains("process 2 has that of another"), "{same}");
    }
}
