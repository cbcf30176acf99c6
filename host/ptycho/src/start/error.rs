//! Why no start probe can be made.

/// Why no start probe can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The recipe requires the file's illumination, but there is none.
    #[error("{}: {}", self.option(), self.reason())]
    NoIllumination,
    /// The file's illumination cannot be used, for this reason, and the recipe has no other start
    /// probe.
    #[error("{}: {}", self.option(), self.reason())]
    Illumination(String),
    /// The aperture illuminates no pixel.
    #[error("{}: {}", self.option(), self.reason())]
    DarkAperture(String),
    /// The model does not fit the grid of pixels.
    #[error("{}: {}", self.option(), self.reason())]
    Grid {
        /// Path of the option in the recipe.
        option: &'static str,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
}

impl StartError {
    /// Path of the option in the recipe.
    #[must_use]
    pub fn option(&self) -> &'static str {
        match self {
            Self::NoIllumination | Self::Illumination(_) => "probe.source",
            Self::DarkAperture(_) => "probe.aperture",
            Self::Grid { option, .. } => option,
        }
    }

    /// What was expected and found.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::NoIllumination => {
                "expected an illumination in the scan, found none; choose another probe.source"
                    .to_owned()
            }
            Self::Illumination(reason) => format!(
                "expected an illumination with the rows and columns of the frames, found that {reason}; --set probe.source=mean-pattern (or aperture, gaussian, …) starts without it"
            ),
            Self::DarkAperture(found) => format!(
                "expected a fraction of the frame's width that illuminates a detector pixel, found {found}"
            ),
            Self::Grid {
                expected, found, ..
            } => format!("expected {expected}, found {found}"),
        }
    }
}
