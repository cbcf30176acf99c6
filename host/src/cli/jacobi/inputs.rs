//! Grid, start field and source: what was typed and what the files hold.

use super::Relax;
use crate::cli::failure::Failure;
use std::path::Path;
use warpstride::io::npy::{self, Element};
use warpstride::jacobi::{Problem, ProblemError, Real};

/// Rows and columns where nothing says otherwise.
const SIDE: usize = 16384;

/// A grid, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) nx: usize,
    pub(super) ny: usize,
    /// The file that it is of.
    file: Option<String>,
}

impl Grid {
    /// What was typed, else what the files have; refuses what disagrees.
    pub(super) fn of(relax: &Relax) -> Result<Self, Failure> {
        let (nx, ny) = (relax.nx, relax.ny);
        let mut known: Option<(String, [usize; 2])> = None;
        for path in [&relax.restart, &relax.source].into_iter().flatten() {
            let [rows, columns] = npy::shape(path)?;
            let name = path.display().to_string();
            let size = format!("{name}: has {rows} x {columns} values (rows x columns)");
            if let Some((other, [y, x])) = &known
                && [*y, *x] != [rows, columns]
            {
                return Err(Failure::failed(format!(
                    "{size}, but {other} has {y} x {x}"
                )));
            }
            for (option, typed, found) in [("--ny", ny, rows), ("--nx", nx, columns)] {
                if let Some(typed) = typed
                    && typed != found
                {
                    return Err(Failure::failed(format!("{size}, but {option} is {typed}")));
                }
            }
            known.get_or_insert((name, [rows, columns]));
        }
        let (file, [rows, columns]) = match known {
            Some((name, shape)) => (Some(name), shape),
            None => (None, [SIDE; 2]),
        };
        let grid = Self {
            nx: nx.unwrap_or(columns),
            ny: ny.unwrap_or(rows),
            file,
        };
        // Refused before memory is thought of.
        Problem::<f32>::new(grid.nx, grid.ny, relax.boundary).map_err(|why| grid.refused(&why))?;
        Ok(grid)
    }

    fn refused(&self, why: &ProblemError) -> Failure {
        match &self.file {
            Some(name) => Failure::failed(format!("{name}: {why}")),
            None => Failure::usage(why),
        }
    }

    /// Reads the files.
    pub(super) fn problem<T: Real + Element>(&self, relax: &Relax) -> Result<Problem<T>, Failure> {
        let named =
            |path: &Path, why: ProblemError| Failure::failed(format!("{}: {why}", path.display()));
        let mut problem = Problem::new(self.nx, self.ny, relax.boundary)?;
        if let Some(path) = &relax.restart {
            let field = npy::read(path)?;
            problem = problem.with_start(field).map_err(|why| named(path, why))?;
        }
        if let Some(path) = &relax.source {
            let field = npy::read(path)?;
            problem = problem.with_source(field).map_err(|why| named(path, why))?;
        }
        Ok(problem)
    }
}
