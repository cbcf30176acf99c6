//! Who is whose neighbour, and by which way rows go there.

use super::block::Block;
use super::kernels::GpuReal;
use super::plan::PlanError;
use super::scheme::{Way, Ways};
use crate::gpu::Fleet;
use crate::jacobi::{JacobiError, Problem};

/// Where a block's neighbour is.
#[derive(Debug, Clone, Copy)]
enum Towards {
    Above,
    Below,
}

/// The ways up and down from each block. Where rows are fixed the first block has none up and the
/// last none down.
pub(super) fn ways<T: GpuReal, F: Fleet>(
    fleet: &F,
    problem: &Problem<T>,
    blocks: &[Block<F, T>],
    p2p: Option<bool>,
) -> Result<Ways<F, T>, JacobiError> {
    let devices = blocks.len();
    let neighbour = |block: usize, towards: Towards| {
        let (to, around) = match towards {
            Towards::Above => ((block + devices - 1) % devices, block == 0),
            Towards::Below => ((block + 1) % devices, block + 1 == devices),
        };
        let has = devices > 1 && (!around || problem.boundary().periodic_rows());
        has.then_some(to)
    };
    let links = fleet.links();
    let linked = |from: usize, to: usize| {
        links
            .iter()
            .any(|link| (link.from, link.to, link.direct) == (from, to, true))
    };
    let pairs: Vec<(usize, usize)> = (0..devices)
        .flat_map(|block| {
            let of_both = [Towards::Above, Towards::Below].map(|side| neighbour(block, side));
            of_both.into_iter().flatten().map(move |to| (block, to))
        })
        .collect();
    let missing = pairs.iter().find(|(from, to)| !linked(*from, *to));
    if let (Some(true), Some((from, to))) = (p2p, missing) {
        return Err(PlanError::NoLink {
            from: fleet.ordinal(*from),
            to: fleet.ordinal(*to),
        }
        .into());
    }
    let direct = p2p.unwrap_or(missing.is_none());
    let way = |block: usize, towards: Towards| -> Result<Option<Way<F, T>>, JacobiError> {
        let Some(to) = neighbour(block, towards) else {
            return Ok(None);
        };
        let geometry = &blocks[block].geometry;
        let len = geometry.halo as usize * geometry.pitch as usize;
        let relay = fleet.relay(block, to, len, direct)?;
        Ok(Some(Way { to, relay }))
    };
    let up = (0..devices).map(|block| way(block, Towards::Above));
    let up = up.collect::<Result<_, _>>()?;
    let down = (0..devices).map(|block| way(block, Towards::Below));
    let down = down.collect::<Result<_, _>>()?;
    Ok(Ways {
        up,
        down,
        direct: (!pairs.is_empty()).then_some(direct),
    })
}
