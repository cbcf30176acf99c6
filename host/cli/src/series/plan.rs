//! Parses `--granularity`, `--aggregate`, `--nan` and `--duplicates` into a plan.

use crate::args::{DuplicatesArg, NanArg, ResampleArgs};
use crate::failure::Failure;
use warpstride::series::{Aggregate, Duplicates, Granularity, NanPolicy, Resample, SeriesError};

/// Builds the plan of an aggregation from its arguments.
pub(super) fn parse(args: &ResampleArgs) -> Result<Resample, Failure> {
    let mut granularities: Vec<Granularity> = Vec::new();
    for text in elements(&args.granularity) {
        granularities.push(text.parse().map_err(option)?);
    }
    let mut aggregates: Vec<Aggregate> = Vec::new();
    for text in elements(&args.aggregate) {
        match text {
            // Aggregates that are listed in addition to `all` are not duplicates.
            "all" => {
                for aggregate in Aggregate::all() {
                    if !aggregates.contains(&aggregate) {
                        aggregates.push(aggregate);
                    }
                }
            }
            _ => {
                let aggregate = text.parse();
                aggregates
                    .push(aggregate.map_err(|why| Failure::usage(format!("--{why}; or all")))?);
            }
        }
    }
    let nan = match args.nan {
        NanArg::Keep => NanPolicy::Keep,
        NanArg::Skip => NanPolicy::Skip,
    };
    let duplicates = match args.duplicates {
        DuplicatesArg::Keep => Duplicates::Keep,
        DuplicatesArg::First => Duplicates::First,
        DuplicatesArg::Last => Duplicates::Last,
        DuplicatesArg::Error => Duplicates::Error,
    };
    let plan = Resample::new(granularities, aggregates, nan).map_err(option)?;
    Ok(plan.with_duplicates(duplicates))
}

/// The error of an option: it begins with `granularity` or `aggregate`, as the options are called.
pub(super) fn option(error: SeriesError) -> Failure {
    Failure::usage(format!("--{error}"))
}

/// The comma-separated elements of all arguments.
fn elements(arguments: &[String]) -> impl Iterator<Item = &str> {
    arguments
        .iter()
        .flat_map(|list| list.split(','))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_at_commas() {
        let arguments = ["60s, 5m".to_owned(), "1h".to_owned()];
        assert_eq!(
            elements(&arguments).collect::<Vec<_>>(),
            ["60s", "5m", "1h"]
        );
    }
}
