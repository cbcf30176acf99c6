//! Granularities, aggregates and the stretch of time that were typed.

use crate::cli::args::{NanWord, ResampleTyped};
use crate::cli::failure::Failure;
use warpstride::series::{Aggregate, Granularity, NanPolicy, Resample};

/// The plan of what was typed.
pub(super) fn plan(typed: &ResampleTyped) -> Result<Resample, Failure> {
    let mut granularities: Vec<Granularity> = Vec::new();
    for word in words(&typed.granularity) {
        let granularity = word.parse();
        granularities
            .push(granularity.map_err(|why| Failure::usage(format!("--granularity: {why}")))?);
    }
    let mut aggregates: Vec<Aggregate> = Vec::new();
    for word in words(&typed.aggregate) {
        match word {
            // What is named beside it need not be taken out of it.
            "all" => {
                for aggregate in Aggregate::all() {
                    if !aggregates.contains(&aggregate) {
                        aggregates.push(aggregate);
                    }
                }
            }
            _ => {
                let aggregate = word.parse();
                aggregates.push(
                    aggregate
                        .map_err(|why| Failure::usage(format!("--aggregate: {why}; or all")))?,
                );
            }
        }
    }
    let nan = match typed.nan {
        NanWord::Keep => NanPolicy::Keep,
        NanWord::Skip => NanPolicy::Skip,
    };
    Resample::new(granularities, aggregates, nan).map_err(Failure::usage)
}

/// What stands between commas, of all that was typed.
fn words(typed: &[String]) -> impl Iterator<Item = &str> {
    typed.iter().flat_map(|list| list.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_parted_at_commas() {
        let typed = ["60s, 5m".to_owned(), "1h".to_owned()];
        assert_eq!(words(&typed).collect::<Vec<_>>(), ["60s", "5m", "1h"]);
    }
}
