//! The engines by their names.

use serde::{Deserialize, Serialize};

/// Most iterations of an engine.
pub(crate) const MAX_ITERATIONS: usize = 10_000_000;

/// Available engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Difference map (Thibault et al. 2009).
    Dm,
    /// Relaxed averaged alternating reflections (Luke 2005).
    Raar,
    /// Alternating projections.
    Ap,
    /// Least squares by mini-batches (Odstrčil et al. 2018).
    Lsqml,
    /// Extended ptychographic iterative engine (Maiden & Rodenburg 2009).
    Epie,
    /// Regularised ptychographic iterative engine (Maiden, Johnson & Li 2017).
    Rpie,
    /// Maximum likelihood by nonlinear conjugate gradient.
    Ml,
}

impl EngineName {
    /// All engines.
    pub const ALL: [Self; 7] = [
        Self::Dm,
        Self::Raar,
        Self::Ap,
        Self::Lsqml,
        Self::Epie,
        Self::Rpie,
        Self::Ml,
    ];

    /// The engine of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.as_str() == name)
    }

    /// Name on the command line and in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::Raar => "raar",
            Self::Ap => "ap",
            Self::Lsqml => "lsqml",
            Self::Epie => "epie",
            Self::Rpie => "rpie",
            Self::Ml => "ml",
        }
    }

    /// Whether it projects the exit waves of all frames in each iteration.
    #[must_use]
    pub fn projects(self) -> bool {
        matches!(self, Self::Dm | Self::Raar | Self::Ap)
    }
}
