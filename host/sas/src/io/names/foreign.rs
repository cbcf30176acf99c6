//! Coordinates and quantities other than q and I.

/// A coordinate from which q follows only with other numbers, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) enum Foreign {
    Angle,
    Radius,
    Azimuth,
    Logarithm,
    SpinEcho,
    Correlation,
    Wavelength,
    Energy,
    Time,
    Spacing,
    Power,
    /// Another function of I: its inverse or a root.
    OfIntensity,
    HalfS,
    Number,
    /// A coordinate of other measurements.
    Other,
}

impl Foreign {
    /// Whether its name alone says so, which does not occur in other lines of a header.
    pub(in crate::io) fn is_named_alone(self) -> bool {
        use Foreign::{Angle, Azimuth, Logarithm, Radius, SpinEcho};
        matches!(self, Angle | Azimuth | Logarithm | Radius | SpinEcho)
    }

    /// What the column has in the place of q or I, and what is needed instead.
    pub(in crate::io) fn messages(self) -> (&'static str, &'static str) {
        match self {
            Self::Angle => (
                "an angle",
                "q in 1/Å or 1/nm (q = 4π sin(θ)/λ with half the scattering angle needs the wavelength)",
            ),
            Self::Radius => (
                "a distance on the detector",
                "q in 1/Å or 1/nm (which needs the wavelength and the distance of the detector)",
            ),
            Self::Azimuth => ("an azimuth", "q in 1/Å or 1/nm"),
            Self::Logarithm => ("a logarithm", "q and I themselves"),
            Self::SpinEcho => (
                "a spin-echo length (SESANS)",
                "q in 1/Å or 1/nm: models are not transformed to SESANS",
            ),
            Self::Correlation => (
                "a length in real space",
                "q in 1/Å or 1/nm: models are not transformed to SESANS",
            ),
            Self::Wavelength => ("a wavelength", "q in 1/Å or 1/nm (q = 4π sin(θ)/λ)"),
            Self::Energy => ("an energy", "q in 1/Å or 1/nm"),
            Self::Time => ("a time", "q in 1/Å or 1/nm"),
            Self::Spacing => ("a spacing d", "q = 2π/d in 1/Å or 1/nm"),
            Self::Power => ("a power of q or a product with it", "q and I themselves"),
            Self::OfIntensity => ("a function of the intensity", "q and I themselves"),
            Self::HalfS => ("sin(θ)/λ or 2 sin(θ)/λ", "q = 4π sin(θ)/λ in 1/Å or 1/nm"),
            Self::Other => ("another quantity than q", "q in 1/Å or 1/nm"),
            Self::Number => ("a number of a row, pixel or channel", "q in 1/Å or 1/nm"),
        }
    }
}
