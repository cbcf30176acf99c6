//! The list of the kernels of time series.

use super::{
    check_sorted, compact, ladder, order_block, order_distinct, order_select, order_short,
    order_warp, reduce_long, reduce_tiles, scan, sort, starts, unpack,
};
use crate::info;
use warpstride_device::launch::{Emulated, KernelInfo};

/// Every kernel of time series, in the order of the source files.
pub(crate) const KERNELS: &[KernelInfo] = &[
    info::<compact::SeriesCompactCount<'static, Emulated>>(),
    info::<compact::SeriesCompactMove<'static, Emulated>>(),
    info::<compact::SeriesCompactOffsets<'static, Emulated>>(),
    info::<ladder::SeriesLadderAtomic<'static, Emulated>>(),
    info::<ladder::SeriesLadderOneBlock<'static, Emulated>>(),
    info::<ladder::SeriesLadderStaged<'static, Emulated>>(),
    info::<order_block::SeriesOrderBlock<'static, Emulated>>(),
    info::<order_distinct::SeriesDistinct<'static, Emulated>>(),
    info::<order_distinct::SeriesDistinctClear<'static, Emulated>>(),
    info::<order_select::SeriesOrderSelect<'static, Emulated>>(),
    info::<order_short::SeriesOrder32<'static, Emulated>>(),
    info::<order_short::SeriesOrder8<'static, Emulated>>(),
    info::<order_warp::SeriesOrderWarp<'static, Emulated>>(),
    info::<reduce_long::SeriesDeviations<'static, Emulated>>(),
    info::<reduce_long::SeriesReduceLong<'static, Emulated>>(),
    info::<reduce_tiles::SeriesReduceCalendar<'static, Emulated>>(),
    info::<reduce_tiles::SeriesReduceFixed<'static, Emulated>>(),
    info::<scan::SeriesScanRows<'static, Emulated>>(),
    info::<sort::SeriesSortCount<'static, Emulated>>(),
    info::<sort::SeriesSortGather<'static, Emulated>>(),
    info::<sort::SeriesSortMove<'static, Emulated>>(),
    info::<starts::SeriesStarts<'static, Emulated>>(),
    info::<check_sorted::SeriesCheckSorted<'static, Emulated>>(),
    info::<unpack::SeriesUnpack16<'static, Emulated>>(),
    info::<unpack::SeriesUnpack32<'static, Emulated>>(),
];

/// Every kernel of time series, in the order of the source files.
#[must_use]
pub fn registry() -> &'static [KernelInfo] {
    KERNELS
}
