//! The commands of `warpstride mri`.

mod info;
mod ladder;
mod machine;
mod prepare;
mod reconstruct;
mod results;
mod simulate;

pub(crate) use info::Info;
pub(crate) use ladder::run as ladder;
pub(crate) use reconstruct::Reconstruct;
pub(crate) use simulate::Simulate;

use super::failure::Failure;
use warpstride::io::ismrmrd::{ReadOptions, Selection};

/// `--group` and `--select`.
fn read_options(group: &str, select: Option<&str>) -> Result<ReadOptions, Failure> {
    if group.trim_matches('/').is_empty() {
        return Err(Failure::usage(
            "--group: the name of a group of the file is expected",
        ));
    }
    let select = match select {
        None => Selection::default(),
        Some(text) => {
            Selection::parse(text).map_err(|error| Failure::usage(format!("--select: {error}")))?
        }
    };
    Ok(ReadOptions {
        group: group.to_owned(),
        select,
    })
}
