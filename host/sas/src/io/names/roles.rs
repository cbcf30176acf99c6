//! Meanings of columns by their names.

use super::foreign::Foreign;

/// Meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) enum Role {
    Q,
    Qx,
    Qy,
    Intensity,
    /// σ(I).
    Sigma,
    /// σ(q).
    Width,
    /// σ of a pixel's q along and across its direction, or along qx and qy.
    WidthAlong,
    WidthAcross,
    /// A coordinate that is not q.
    Foreign(Foreign),
    /// Something that is not read: numbers of rows, qz, shadow, an unknown name.
    Unused,
}

/// Words for a standard deviation.
const SIGMA: [&str; 27] = [
    "sigma",
    "sigmas",
    "sig",
    "σ",
    "err",
    "errs",
    "error",
    "errors",
    "errorbar",
    "errorbars",
    "d",
    "δ",
    "δ",
    "delta",
    "dev",
    "std",
    "sd",
    "stddev",
    "stdev",
    "standarddeviation",
    "esd",
    "unc",
    "uncert",
    "uncertainty",
    "uncertainties",
    "e",
    "s",
];
/// Those that are too short to follow what they belong to: `is`, `id`.
const SHORT: [&str; 5] = ["d", "e", "s", "δ", "δ"];
/// Names of the intensity: those of I(q) itself come first, and then those that also stand for what
/// it was made from.
pub(super) const INTENSITY: [&str; 23] = [
    "i",
    "iq",
    "iofq",
    "iqxqy",
    "intensity",
    "intensities",
    "int",
    "crosssection",
    "dsigmadomega",
    "dσdω",
    "absint",
    "iexp",
    "jexp",
    "isub",
    "isubtracted",
    "icorrected",
    "counts",
    "count",
    "y",
    "signal",
    "exp",
    "measured",
    "data",
];
/// The number of names of I(q) itself.
const OF_Q: usize = 16;
pub(super) const Q: [&str; 17] = [
    "q",
    "|q|",
    "qvalue",
    "qvalues",
    "x",
    "qmean",
    "meanq",
    "qbar",
    "modq",
    "scatteringvector",
    "scatteringvectorq",
    "momentumtransfer",
    "momentumtransferq",
    "wavevector",
    "qvector",
    "qsasdata",
    "qdata",
];
const UNUSED: [&str; 38] = [
    "n",
    "index",
    "idx",
    "id",
    "bin",
    "no",
    "nr",
    "num",
    "number",
    "row",
    "point",
    "points",
    "pt",
    "pixel",
    "pixels",
    "npix",
    "npts",
    "qz",
    "shadow",
    "shadowfactor",
    "fsubs",
    "mask",
    "meanqshadow",
    "model",
    "fit",
    "ifit",
    "residual",
    "residuals",
    "ymodel",
    "weight",
    "channel",
    "channels",
    "ch",
    "jreg",
    "ireg",
    "monitor",
    "temperature",
    "temp",
];

/// The standard deviation of one of `quantities`, in a name of letters.
fn is_sigma_of(name: &str, quantities: &[&str]) -> bool {
    quantities.iter().any(|of| {
        let before = name.strip_suffix(of);
        let after = name.strip_prefix(of);
        before.is_some_and(|word| SIGMA.contains(&word))
            || after.is_some_and(|word| SIGMA.contains(&word) && !SHORT.contains(&word))
    })
}

/// The text in lower case without anything but letters, digits and `|`.
pub(in crate::io) fn letters(text: &str) -> String {
    text.chars()
        .filter(|c| c.is_alphanumeric() || *c == '|')
        .flat_map(char::to_lowercase)
        .collect()
}

/// Meaning of a name in lower case without anything but letters, digits and `|`.
pub(super) fn role(name: &str) -> Option<Role> {
    let foreign = |of| Some(Role::Foreign(of));
    match name {
        "qx" => return Some(Role::Qx),
        "qy" => return Some(Role::Qy),
        // S(q) is a structure factor, and e(q) no usual name.
        "sq" | "eq" | "ex" | "sx" | "d" | "δ" | "delta" | "dev" => return None,
        "2theta" | "twotheta" | "theta" | "2θ" | "θ" | "tth" | "2th" | "ttheta" | "2thdeg"
        | "angle" | "scatteringangle" => return foreign(Foreign::Angle),
        "r" | "radius" | "distance" => return foreign(Foreign::Radius),
        "chi" | "χ" | "azimuth" | "phi" | "azimuthalangle" => return foreign(Foreign::Azimuth),
        _ if name.starts_with("spinecho") || name == "sel" => return foreign(Foreign::SpinEcho),
        "lambda" | "λ" | "wavelength" | "wavelengths" => return foreign(Foreign::Wavelength),
        "energy" => return foreign(Foreign::Energy),
        "time" | "tof" | "timeofflight" => return foreign(Foreign::Time),
        "porod" | "kratky" => return foreign(Foreign::Power),
        "guinier" => return foreign(Foreign::Logarithm),
        "zimm" => return foreign(Foreign::OfIntensity),
        _ if is_product(name) => return foreign(Foreign::Power),
        "ierr" | "idev" | "sigmaint" | "resolutioni" => return Some(Role::Sigma),
        "dsigq" | "qresolution" | "qres" | "resolution" | "res" => return Some(Role::Width),
        _ => {}
    }
    let logarithm = ["log10", "log", "lg", "ln"];
    let of_logarithm = logarithm.iter().find_map(|word| name.strip_prefix(word));
    let is_known = |of: &str| Q.contains(&of) || INTENSITY.contains(&of) || is_product(of);
    if of_logarithm.is_some_and(is_known) {
        return foreign(Foreign::Logarithm);
    }
    let is_along = |ends: &[&str]| {
        let axes: Vec<String> = ends.iter().map(|end| format!("q{end}")).collect();
        is_sigma_of(name, &axes.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // Of several frames: I_0, I_1.
    let frame = name
        .strip_prefix('i')
        .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()));
    if Q.contains(&name) {
        Some(Role::Q)
    } else if INTENSITY.contains(&name) || frame {
        Some(Role::Intensity)
    } else if UNUSED.contains(&name) {
        Some(Role::Unused)
    } else if SIGMA.contains(&name) || is_sigma_of(name, &INTENSITY) {
        Some(Role::Sigma)
    } else if is_sigma_of(name, &Q) {
        Some(Role::Width)
    } else if is_along(&["x", "par", "para", "parall", "parallel", "along"]) {
        Some(Role::WidthAlong)
    } else if is_along(&["y", "perp", "perpend", "perpendicular", "across"]) {
        Some(Role::WidthAcross)
    } else {
        None
    }
}

/// Whether a name of letters and digits is the product of the intensity and a power of q: `iq4`.
pub(super) fn is_product(name: &str) -> bool {
    let is_power = |rest: &str| {
        let digit = rest.strip_prefix('q');
        digit.is_some_and(|digit| ["2", "3", "4", "²", "³", "⁴"].contains(&digit))
    };
    let mut intensities = INTENSITY[..OF_Q].iter();
    intensities.any(|of| {
        let power = name.strip_prefix(of).or_else(|| name.strip_suffix(of));
        power.is_some_and(is_power)
    })
}

/// What a name that is written as a formula of the intensity means: `I*q`, `1/I`, `sqrt(I)`.
pub(super) fn role_of_formula(text: &str) -> Option<Role> {
    let is_intensity = |part: &str| INTENSITY[..OF_Q].contains(&letters(part).as_str());
    let is_power = |part: &str| part.trim_start().starts_with(['q', 'Q']) && !is_intensity(part);
    let factors = || text.split(['*', '·', '⋅', '×']);
    if factors().any(is_intensity) && factors().any(is_power) {
        return Some(Role::Foreign(Foreign::Power));
    }
    let lower = text.to_lowercase();
    let inner = ["1/", "sqrt", "√"]
        .iter()
        .find_map(|function| lower.strip_prefix(function))
        .or_else(|| {
            let (base, exponent) = lower.split_once('^')?;
            let is_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '−' | '+' | '(');
            exponent.starts_with(is_number).then_some(base)
        });
    let of_intensity = inner.is_some_and(is_intensity);
    of_intensity.then_some(Role::Foreign(Foreign::OfIntensity))
}

/// What a name means in the first column, if it has another meaning elsewhere or none: `s I err`.
pub(in crate::io) fn role_in_front(name: &str) -> Option<Role> {
    let foreign = |of| Some(Role::Foreign(of));
    match name {
        // ATSAS calls q = 4π sin(θ)/λ s; h and k are older names of it.
        "s" | "sexp" | "h" | "k" => Some(Role::Q),
        "d" | "da" | "dspacing" => foreign(Foreign::Spacing),
        "delta" | "δ" | "z" => foreign(Foreign::Correlation),
        "q2" | "qsq" | "qsquared" | "qsquare" | "q4" => foreign(Foreign::Power),
        _ if ["4pisin", "4πsin"].iter().any(|of| name.contains(of)) => Some(Role::Q),
        _ if name.contains("sintheta") || name.contains("sinθ") => foreign(Foreign::HalfS),
        _ => None,
    }
}

/// Names of coordinates of other measurements, which stand for one only beside other symbols.
const COORDINATES: [&str; 39] = [
    "e",
    "ev",
    "kev",
    "t",
    "tau",
    "τ",
    "lag",
    "lagtime",
    "delay",
    "delaytime",
    "seconds",
    "hours",
    "frequency",
    "freq",
    "omega",
    "ω",
    "f",
    "wavenumber",
    "raman",
    "ramanshift",
    "shift",
    "z",
    "depth",
    "height",
    "position",
    "d",
    "diameter",
    "dh",
    "rh",
    "qz",
    "concentration",
    "conc",
    "c",
    "strain",
    "stress",
    "shearrate",
    "pressure",
    "voltage",
    "field",
];

/// The coordinate of another measurement than scattering, by the names of all columns: the first is
/// known for one, and the others are symbols or known quantities, unlike the words of a title.
pub(in crate::io) fn other_coordinate(names: &[&str]) -> Option<Foreign> {
    let (first, others) = names.split_first()?;
    let quantity = |name: &&&str| {
        let known = is_other_quantity(name) || role(name).is_some();
        let of_another = name.strip_prefix('d').is_some_and(|of| names.contains(&of));
        known || of_another || name.chars().count() < 4
    };
    if others.is_empty() || !others.iter().all(|name| quantity(&name)) {
        return None;
    }
    match role(first) {
        Some(Role::Foreign(of)) => Some(of),
        Some(Role::Unused) if role_of_count(first) => Some(Foreign::Number),
        _ => COORDINATES.contains(first).then_some(Foreign::Other),
    }
}

/// Whether a name counts channels, pixels or points.
fn role_of_count(name: &str) -> bool {
    [
        "channel", "channels", "ch", "pixel", "pixels", "bin", "point", "index",
    ]
    .contains(&name)
}

/// Names of quantities that are functions of q, or of r, and no intensities.
const OTHERS: [&str; 33] = [
    "sq",
    "sofq",
    "structurefactor",
    "structfactor",
    "fq",
    "fofq",
    "amplitude",
    "gr",
    "gofr",
    "pr",
    "pofr",
    "tq",
    "t",
    "transmission",
    "trans",
    "absorbance",
    "absorption",
    "chiq",
    "betaq",
    "beta",
    "phase",
    "ratio",
    "reflectivity",
    "visibility",
    "modulus",
    "storage",
    "loss",
    "viscosity",
    "correlation",
    "extinction",
    "mu",
    "g1",
    "g2",
];

/// Whether a name is that of a quantity other than an intensity.
pub(in crate::io) fn is_other_quantity(name: &str) -> bool {
    OTHERS.contains(&name)
}

/// Whether a name is one of those of the intensity.
pub(in crate::io) fn is_intensity(name: &str) -> bool {
    role(name) == Some(Role::Intensity)
}

/// Whether a name is that of a calculated quantity: `I_calc`, `model_intensity`.
pub(in crate::io) fn is_calculated(name: &str) -> bool {
    let words = ["calc", "model", "fit", "theor", "simul"];
    words.iter().any(|word| name.contains(word)) || ["isim", "ysim", "iqsim"].contains(&name)
}

/// Whether a name that is not known may be that of an intensity: `I_abs`, `Intensität`, `cps`; the
/// quotient of an intensity and a form factor, `I(q)/P(q)`, is none.
pub(in crate::io) fn may_be_intensity(name: &str) -> bool {
    let starts = [
        "i", "abs", "cts", "cps", "cnt", "scatt", "sample", "data", "exp", "meas", "signal",
    ];
    let quotient = INTENSITY.iter().any(|of| {
        let by = name.strip_prefix(of);
        by.is_some_and(|by| ["pq", "sq", "fq", "f2q", "p", "formfactor"].contains(&by))
    });
    let starts = starts.iter().any(|start| name.starts_with(start)) || name.contains("intens");
    starts && !quotient && !is_other_quantity(name) && !UNUSED.contains(&name)
}

/// How surely a name of an intensity stands for I(q): the least is the surest.
pub(in crate::io) fn rank_of_intensity(name: &str) -> usize {
    match INTENSITY[..OF_Q].contains(&name) {
        true => 0,
        false => 1 + usize::from(INTENSITY.contains(&name)),
    }
}
