//! The processes that `mpirun` or `srun` has started to run one command together.

use super::failure::Failure;
use clap::ArgMatches;
use std::env;

/// Variables with the number of the process and that of all, by Open MPI, by MPICH and Intel MPI,
/// and by `srun --mpi=pmix`. (A batch script has those of Slurm too, but not that of PMIx.)
const VARIABLES: [[&str; 2]; 3] = [
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ["PMI_RANK", "PMI_SIZE"],
    ["PMIX_RANK", "SLURM_NTASKS"],
];

/// This process and the number of all, if there are several.
fn launched() -> Option<(usize, usize)> {
    let number = |name: &str| env::var(name).ok()?.parse().ok();
    let found = VARIABLES
        .iter()
        .find_map(|[rank, size]| Some((number(rank)?, number(size)?)));
    found.filter(|(_, size)| *size > 1)
}

/// Whether this is the only process, or the first of several.
pub(super) fn is_first() -> bool {
    launched().is_none_or(|(rank, _)| rank == 0)
}

/// Refuses commands that would be run by each of several processes.
pub(super) fn check(matches: &ArgMatches) -> Result<(), Failure> {
    let Some((_, size)) = launched() else {
        return Ok(());
    };
    let name = matches
        .subcommand()
        .map(|(name, options)| match options.subcommand_name() {
            Some(second) => format!("{name} {second}"),
            None => name.to_owned(),
        });
    match name.as_deref() {
        Some("ptycho reconstruct") if cfg!(feature = "mpi") => Ok(()),
        Some("ptycho reconstruct") => Err(Failure::failed(format!(
            "MPI started {size} processes: expected a program that was built with the feature mpi (cargo build --release --features mpi), found one without it"
        ))),
        name => Err(Failure::usage(format!(
            "MPI started {size} processes: expected the command ptycho reconstruct, found {}, which one process runs",
            name.unwrap_or("none")
        ))),
    }
}

#[cfg(all(feature = "ptycho", feature = "hdf5"))]
pub(super) use of_reconstruction::{common, ranks};

#[cfg(all(feature = "ptycho", feature = "hdf5"))]
mod of_reconstruction {
    use crate::failure::Failure;
    use warpstride::ptycho::Ranks;

    /// The processes as ranks; one if the program was started alone.
    #[cfg(feature = "mpi")]
    pub(crate) fn ranks() -> Result<Ranks, Failure> {
        if super::launched().is_none() {
            return Ok(Ranks::alone());
        }
        let processes = warpstride::ranks::mpi::Processes::start()?;
        Ok(Ranks::of(std::sync::Arc::new(processes)))
    }

    /// One rank: this program has no MPI.
    #[cfg(not(feature = "mpi"))]
    #[expect(clippy::unnecessary_wraps, reason = "as with the feature mpi")]
    pub(crate) fn ranks() -> Result<Ranks, Failure> {
        Ok(Ranks::alone())
    }

    /// The result of every rank, or on all of them the failure of the first rank that failed.
    pub(crate) fn common<T>(ranks: &Ranks, own: Result<T, Failure>) -> Result<T, Failure> {
        let text = match &own {
            Ok(_) => Vec::new(),
            Err(failure @ Failure::Usage(_)) => format!("u{failure}").into_bytes(),
            Err(failure) => format!("f{failure}").into_bytes(),
        };
        let all = ranks.each(&text)?;
        let failed = all.iter().enumerate();
        let failed = failed
            .filter_map(|(rank, text)| Some((rank, text.split_first()?)))
            .next();
        let said = |rank: usize, text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            match rank {
                0 => text.into_owned(),
                _ => format!("process {rank} of MPI: {text}"),
            }
        };
        match (own, failed) {
            (Ok(value), None) => Ok(value),
            (Err(failure), _) if ranks.size() == 1 => Err(failure),
            (_, Some((rank, (b'u', text)))) => Err(Failure::Usage(said(rank, text))),
            (_, Some((rank, (_, text)))) => Err(Failure::Failed(said(rank, text))),
            (Err(failure), None) => Err(failure),
        }
    }
}
