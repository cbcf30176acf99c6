//! What is divided among devices or processes, for the user.

use warpstride::ptycho::{EngineSpec, Method, Problem, Recipe};

/// How GPUs exchange arrays.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    /// Not through the memory of their hosts.
    pub(super) copies: bool,
    /// So, and all of them are in one host.
    pub(super) direct: bool,
}

/// What is divided among devices or processes, of a scan whose counts may travel in blocks.
pub(super) fn divided_note(
    (count, what): (usize, &str),
    (backend, exchange): (&str, Exchange),
    (problem, streams): (&Problem, bool),
    recipe: &Recipe,
) -> String {
    // As in `GpuEngine::divides`.
    let always = backend == "emulator";
    let shape = problem.shape();
    let [frames, modes, rows, columns] = shape;
    let of_frame = [modes, rows, columns];
    let undivided = |engine: &&EngineSpec| {
        let exact = engine.subpixel == Some(true);
        let divides = match engine.method(shape[0]) {
            Method::Projection => !exact,
            Method::Batches(_) if engine.uses_regions(shape, problem.positions.object_shape) => {
                (always || exchange.copies) && matches!(count, 2 | 4)
            }
            Method::Batches(method) => {
                let divides = !streams && method.divides_among(count, frames);
                let gains = exchange.direct
                    && !problem.has_regions()
                    && method.gains_by_division(frames, of_frame);
                divides && (always || gains)
            }
            Method::Likelihood(_) => false,
        };
        // Nor are steps on slices.
        backend != "cpu" && !(divides && problem.slices.is_none() && problem.detector.is_none())
    };
    let mut names: Vec<&str> = Vec::new();
    for engine in recipe.engines.iter().filter(undivided) {
        if !names.contains(&engine.name.as_str()) {
            names.push(engine.name.as_str());
        }
    }
    let divide = format!("{count} {what} divide the frames");
    if names.is_empty() {
        return divide;
    }
    let all = recipe.engines.iter().all(|engine| undivided(&engine));
    let (divide, of_engines) = if all {
        (
            format!("{count} {what} do not divide the frames"),
            String::new(),
        )
    } else {
        (
            format!("{divide} of some engines only"),
            format!(" of {}", names.join(", ")),
        )
    };
    format!(
        "{divide}; each of them computes all frames{of_engines}, which takes as long as with one"
    )
}
