//! The results of the self-test as a table.

use crate::bench::CaseResult;
use std::fmt::Write as _;
use warpstride_core::text::Table;

/// A table with one line per kernel for all its small cases, one per timed case and one per failed
/// case, and a last line with the counts.
#[must_use]
pub fn report(results: &[CaseResult]) -> String {
    let mut table = Table::new(&["", "kernel", "shape", "error", "allowed", "ms", "GB/s"]);
    let mut kernels: Vec<&str> = Vec::new();
    for result in results {
        if !kernels.contains(&result.kernel) {
            kernels.push(result.kernel);
        }
    }
    for kernel in kernels {
        let cases: Vec<&CaseResult> = results
            .iter()
            .filter(|case| case.kernel == kernel)
            .collect();
        let alone = |case: &&CaseResult| !case.passed || case.milliseconds.is_some();
        let (alone, together): (Vec<_>, Vec<_>) = cases.into_iter().partition(alone);
        if let Some(worst) = together.iter().max_by(|a, b| a.error.total_cmp(&b.error)) {
            let shape = match together.len() {
                1 => worst.shape.clone(),
                count => format!("worst of {count}: {}", worst.shape),
            };
            table.row(row(worst, shape));
        }
        for case in alone {
            table.row(row(case, case.shape.clone()));
        }
    }
    let failed = results.iter().filter(|case| !case.passed).count();
    let mut text = table.to_string();
    // Writing to a string cannot fail.
    let _ = match failed {
        0 => writeln!(text, "all {} cases passed", results.len()),
        _ => writeln!(text, "{failed} of {} cases FAILED", results.len()),
    };
    text
}

fn row(case: &CaseResult, shape: String) -> [String; 7] {
    let number = |value: Option<f64>, digits| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    [
        if case.passed { "ok" } else { "FAILED" }.to_owned(),
        case.kernel.to_owned(),
        shape,
        format!("{:.1e}", case.error),
        format!("{:.0e}", case.tolerance),
        number(case.milliseconds, 4),
        number(case.gb_per_s, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_cases_have_their_own_line_and_are_counted() {
        let case = |shape: &str, error| CaseResult::new("waves", shape.to_owned(), error, 1e-5);
        let mut timed = case("large", 1e-6);
        timed.milliseconds = Some(0.5);
        let text = report(&[
            case("a", 1e-7),
            case("b", 2e-7),
            case("c", f64::INFINITY),
            timed,
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(
            lines[1].starts_with("ok") && lines[1].contains("worst of 2: b"),
            "{text}"
        );
        assert!(
            lines[2].starts_with("FAILED") && lines[2].contains("inf"),
            "{text}"
        );
        assert!(lines[3].contains("0.5000"), "{text}");
        assert_eq!(lines[4], "1 of 4 cases FAILED");
    }
}
