//! The beam, the detector's pixels and the optics before the specimen.

use clap::Args;

/// The beam and the detector, which take the place of what the file or the recipe says.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct BeamArgs {
    /// Voltage that has accelerated the electrons, such as 300kV
    #[arg(
        long,
        value_name = "VOLTAGE",
        allow_hyphen_values = true,
        conflicts_with_all = ["energy", "wavelength"]
    )]
    pub(crate) voltage: Option<String>,
    /// Energy of the photons, such as 8.8keV or 300eV
    #[arg(
        long,
        value_name = "ENERGY",
        allow_hyphen_values = true,
        conflicts_with = "wavelength"
    )]
    pub(crate) energy: Option<String>,
    /// Wavelength, such as 1.4A
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) wavelength: Option<String>,
    /// Distance from the specimen to the detector, such as 2m
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) distance: Option<String>,
    /// Pixel of the detector, such as 75um, or of its rows and columns: 75um,50um
    #[arg(
        long,
        value_name = "LENGTH[,LENGTH]",
        allow_hyphen_values = true,
        conflicts_with = "pixel_angle"
    )]
    pub(crate) pixel_size: Option<String>,
    /// Pixel of the detector as an angle, such as 0.3mrad, or a spatial frequency, such as 0.02/A;
    /// no distance is needed then
    #[arg(long, value_name = "ANGLE", allow_hyphen_values = true)]
    pub(crate) pixel_angle: Option<String>,
}

/// The optics of an electron microscope, from which the start probe follows.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OpticsArgs {
    /// Start with the probe of a lens with this semi-angle of convergence, such as 17mrad
    /// (probe.source = "aberrations")
    #[arg(long, value_name = "ANGLE", allow_hyphen_values = true)]
    pub(crate) semi_angle: Option<String>,
    /// Distance from the focus to the specimen, such as -13um: positive downstream of the focus
    /// (overfocus), negative for underfocus
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) defocus: Option<String>,
    /// Spherical aberration of the lens, such as 1.2mm, with --semi-angle
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        requires = "semi_angle"
    )]
    pub(crate) c3: Option<String>,
    /// Two-fold astigmatism of the lens and its direction, counterclockwise from the columns'
    /// direction, such as 20nm,30deg, with --semi-angle
    #[arg(
        long,
        value_name = "LENGTH,ANGLE",
        allow_hyphen_values = true,
        requires = "semi_angle"
    )]
    pub(crate) astigmatism: Option<String>,
}
