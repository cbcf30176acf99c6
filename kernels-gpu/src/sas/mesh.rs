//! The values and the weight of a particle at a point of its mesh.

use super::member::{AXES, HEADING, MOMENT, NONE, SasAxis, SasMember};
use super::model::Values;
use super::real::Real;
use warpstride_device::warp::Shuffle;

/// The number types of the kernels.
pub(super) trait Number: Real + Shuffle + PartialOrd {}
impl Number for f32 {}
impl Number for f64 {}

/// The arrays with members' values.
pub(super) struct Tables<R> {
    /// The columns of all members.
    pub(super) columns: *const u32,
    /// Values and weights of axes, and constants.
    pub(super) table: *const R,
    /// (wave vector, [`HEADING`]); read only for magnetic members.
    pub(super) headings: *const R,
}

#[inline(always)]
unsafe fn axis(member: *const SasMember, number: u32) -> *const SasAxis {
    (&raw const (*member).axis)
        .cast::<SasAxis>()
        .add(number as usize)
}

/// Position of mesh point `m` on an axis.
#[inline(always)]
unsafe fn place(axis: *const SasAxis, m: u32) -> u32 {
    let (points, stride) = ((*axis).points, (*axis).stride);
    // Compared with 1, so that the compiler sees no division by zero.
    let along = if stride > 1 { m / stride } else { m };
    if along < points {
        along
    } else if points > 1 {
        along % points
    } else {
        0
    }
}

/// The product of the axes' weights.
#[inline(always)]
pub(super) unsafe fn weight<R: Number>(tables: &Tables<R>, member: *const SasMember, m: u32) -> R {
    let mut weight = R::one();
    for number in 0..(*member).axes {
        let axis = axis(member, number);
        weight = weight
            * *tables
                .table
                .add(((*axis).weights + place(axis, m)) as usize);
    }
    weight
}

/// A model's values at mesh point `m`, for wave vector `row`.
#[inline(always)]
pub(super) unsafe fn values<V: Values<R>, R: Number>(
    tables: &Tables<R>,
    member: *const SasMember,
    m: u32,
    row: u32,
) -> V {
    let columns = tables.columns.add((*member).columns as usize);
    V::read(|i| {
        let column = *columns.add(i);
        let (first, number) = (column >> 3, column & 7);
        let along = if number < AXES as u32 {
            place(axis(member, number), m)
        } else {
            0
        };
        let value = *tables.table.add((first + along) as usize);
        // `i` is a compile-time constant, and so is its position among the densities.
        let mut k = 0;
        while k < V::SLDS.len() {
            if V::SLDS[k] == i && (*member).moments != NONE {
                return magnetic(tables, member, k, value, row);
            }
            k += 1;
        }
        value
    })
}

/// The effective density, from the nuclear one.
#[inline(always)]
unsafe fn magnetic<R: Number>(
    tables: &Tables<R>,
    member: *const SasMember,
    sld: usize,
    nuclear: R,
    row: u32,
) -> R {
    let heading = tables.headings.add(HEADING * row as usize);
    let k = tables.table.add((*member).moments as usize + MOMENT * sld);
    let across = *k.add(1)
        + *k.add(2) * *heading
        + *k.add(3) * *heading.add(1)
        + *k.add(4) * *heading.add(2);
    (*k * nuclear + across) * *heading.add(3)
}
