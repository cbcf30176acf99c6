//! The grid, the start field and the source, from options and files.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use warpstride::io::npy::{self, Element};
use warpstride::jacobi::{Boundary, Problem, ProblemError, Real};

/// Default number of rows and columns.
const DEFAULT_SIDE: usize = 16384;
/// Least number of rows and columns.
const LEAST_SIDE: usize = 3;

/// The options that describe the problem.
#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) nx: Option<usize>,
    pub(super) ny: Option<usize>,
    pub(super) boundary: Boundary,
    pub(super) source: Option<PathBuf>,
    pub(super) restart: Option<PathBuf>,
}

impl Inputs {
    /// The files that are read.
    pub(super) fn files(&self) -> Vec<&Path> {
        let files = [&self.source, &self.restart].into_iter().flatten();
        files.map(PathBuf::as_path).collect()
    }
}

/// The size of the grid, and the file that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) nx: usize,
    pub(super) ny: usize,
    /// The file whose shape it has, if any.
    file: Option<String>,
}

impl Grid {
    /// The size from the options, or else from the files.
    ///
    /// # Errors
    /// The options and the files disagree, or the size is not possible.
    pub(super) fn of(inputs: &Inputs) -> Result<Self, Failure> {
        let (nx, ny) = (inputs.nx, inputs.ny);
        let mut first: Option<(String, [usize; 2])> = None;
        for path in [&inputs.restart, &inputs.source].into_iter().flatten() {
            let [rows, columns] = npy::shape(path)?;
            let name = path.display().to_string();
            let found = format!("found {rows} x {columns}");
            if let Some((other, [y, x])) = &first
                && [*y, *x] != [rows, columns]
            {
                return Err(Failure::failed(format!(
                    "{name}: expected {y} x {x} values (rows x columns, as {other}), {found}"
                )));
            }
            for (option, given, unit, in_file) in
                [("--ny", ny, "rows", rows), ("--nx", nx, "columns", columns)]
            {
                if let Some(given) = given
                    && given != in_file
                {
                    return Err(Failure::failed(format!(
                        "{name}: expected {given} {unit} ({option} {given}), {found} values (rows x columns)"
                    )));
                }
            }
            first.get_or_insert((name, [rows, columns]));
        }
        let (file, [rows, columns]) = match first {
            Some((name, shape)) => (Some(name), shape),
            None => (None, [DEFAULT_SIDE; 2]),
        };
        let grid = Self {
            nx: nx.unwrap_or(columns),
            ny: ny.unwrap_or(rows),
            file,
        };
        // An impossible size is an error before memory is estimated.
        Problem::<f32>::new(grid.nx, grid.ny, inputs.boundary)
            .map_err(|error| grid.failure(&error))?;
        Ok(grid)
    }

    fn failure(&self, error: &ProblemError) -> Failure {
        match &self.file {
            Some(name) => Failure::failed(format!("{name}: {error}")),
            None => {
                let (nx, ny) = (("--nx", self.nx), ("--ny", self.ny));
                Failure::usage(match error {
                    ProblemError::TooSmall { .. } => {
                        let (option, side) = if self.nx < LEAST_SIDE { nx } else { ny };
                        format!("{option} {side}: expected at least {LEAST_SIDE}")
                    }
                    error => {
                        let (option, side) = if self.nx > self.ny { nx } else { ny };
                        format!("{option} {side}: {error}")
                    }
                })
            }
        }
    }

    /// Reads the files and creates the problem.
    pub(super) fn problem<T: Real + Element>(
        &self,
        inputs: &Inputs,
    ) -> Result<Problem<T>, Failure> {
        let named = |path: &Path, error: ProblemError| {
            let too_large = exceeding_single::<T>(path, &error);
            let error = too_large.unwrap_or_else(|| error.to_string());
            Failure::failed(format!("{}: {error}", path.display()))
        };
        let mut problem = Problem::new(self.nx, self.ny, inputs.boundary)?;
        if let Some(path) = &inputs.restart {
            let field = npy::read(path)?;
            problem = problem
                .with_start(field)
                .map_err(|error| named(path, error))?;
        }
        if let Some(path) = &inputs.source {
            let field = npy::read(path)?;
            problem = problem
                .with_source(field)
                .map_err(|error| named(path, error))?;
        }
        Ok(problem)
    }
}

/// The error of a value that is finite in a file of double precision and not in single precision.
fn exceeding_single<T: Real>(path: &Path, error: &ProblemError) -> Option<String> {
    let ProblemError::NotFinite {
        what, row, column, ..
    } = error
    else {
        return None;
    };
    if T::NAME != f32::NAME || !npy::is_double(path).ok()? {
        return None;
    }
    let field = npy::read::<f64>(path).ok()?;
    let value = field
        .get([*row, *column])
        .filter(|value| value.is_finite())?;
    Some(format!(
        "the {what}: expected values up to 3.4e38 with --precision f32, found {value:e} at row {row}, column {column} (use --precision f64)"
    ))
}
