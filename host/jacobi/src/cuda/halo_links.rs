//! The neighbours of each block, and the channels by which rows are sent to them.

use super::block::Block;
use super::kernels::GpuReal;
use super::plan::PlanError;
use super::scheme::{HaloLink, HaloLinks};
use crate::{JacobiError, Problem};
use warpstride_cuda::gpu::DeviceGroup;

/// The side of a block on which a neighbour is.
#[derive(Debug, Clone, Copy)]
enum Side {
    Above,
    Below,
}

/// The links up and down from each block. If the border rows are fixed, the first block has no link
/// up and the last none down.
pub(super) fn halo_links<T: GpuReal, G: DeviceGroup>(
    group: &G,
    problem: &Problem<T>,
    blocks: &[Block<G, T>],
    p2p: Option<bool>,
) -> Result<HaloLinks<G, T>, JacobiError> {
    let devices = blocks.len();
    let neighbour = |block: usize, side: Side| {
        let (to, wraps) = match side {
            Side::Above => ((block + devices - 1) % devices, block == 0),
            Side::Below => ((block + 1) % devices, block + 1 == devices),
        };
        let exists = devices > 1 && (!wraps || problem.boundary().periodic_rows());
        exists.then_some(to)
    };
    let links = group.links();
    let linked = |from: usize, to: usize| {
        links
            .iter()
            .any(|link| (link.from, link.to, link.direct) == (from, to, true))
    };
    let pairs: Vec<(usize, usize)> = (0..devices)
        .flat_map(|block| {
            let both = [Side::Above, Side::Below].map(|side| neighbour(block, side));
            both.into_iter().flatten().map(move |to| (block, to))
        })
        .collect();
    let missing = pairs.iter().find(|(from, to)| !linked(*from, *to));
    if let (Some(true), Some((from, to))) = (p2p, missing) {
        return Err(PlanError::NoLink {
            from: group.ordinal(*from),
            to: group.ordinal(*to),
        }
        .into());
    }
    let direct = p2p.unwrap_or(missing.is_none());
    let link = |block: usize, side: Side| -> Result<Option<HaloLink<G, T>>, JacobiError> {
        let Some(to) = neighbour(block, side) else {
            return Ok(None);
        };
        let geometry = &blocks[block].geometry;
        let len = geometry.halo as usize * geometry.pitch as usize;
        let peer_channel = group.peer_channel(block, to, len, direct)?;
        Ok(Some(HaloLink { to, peer_channel }))
    };
    let up = (0..devices).map(|block| link(block, Side::Above));
    let up = up.collect::<Result<_, _>>()?;
    let down = (0..devices).map(|block| link(block, Side::Below));
    let down = down.collect::<Result<_, _>>()?;
    Ok(HaloLinks {
        up,
        down,
        direct: (!pairs.is_empty()).then_some(direct),
    })
}
