use super::*;

fn roles(line: &str, columns: usize) -> Vec<Option<Role>> {
    names(line, columns)
        .into_iter()
        .map(|name| name.role)
        .collect()
}

#[test]
fn standard_deviations_of_intensities_have_many_names() {
    for name in [
        "sigma",
        "Sig",
        "err(I)",
        "Error",
        "dI",
        "I_error",
        "s(I)",
        "sd",
        "ErrorI",
        "std",
        "dI(q)",
        "sigma_I",
        "I_sigma",
        "IError",
        "Std. Dev. I(Q) (1/cm)",
        "uncertainty",
        "I_err",
        "Idev",
        "σ(I)",
        "intensity_std",
        "esd",
        "errors",
        "dy",
    ] {
        let found = roles(&format!("q\tI\t{name}"), 3);
        assert_eq!(found.get(2), Some(&Some(Role::Sigma)), "{name}: {found:?}");
    }
    for name in [
        "dq",
        "sigmaQ",
        "dQ (1/nm)",
        "q_err",
        "sigma_q",
        "Qdev",
        "resolution",
    ] {
        assert_eq!(
            roles(&format!("q\t{name}"), 2)[1],
            Some(Role::Width),
            "{name}"
        );
    }
    for name in ["is", "T", "S(q)", "id2", "Fehler"] {
        assert_eq!(roles(&format!("q\t{name}"), 2)[1], None, "{name}");
    }
}

#[test]
fn units_may_be_joined_by_an_underscore() {
    for (text, unit) in [
        ("q_nm^-1", "nm^-1"),
        ("Q_nm-1", "nm-1"),
        ("q_A^-1", "A^-1"),
        ("q(nm-1)", "nm-1"),
        ("q [1/nm]", "1/nm"),
        ("\"Q (1/A)\"", "1/A"),
    ] {
        let found = &names(&format!("{text}\tI"), 2)[0];
        assert_eq!(
            (found.role, found.unit.as_deref()),
            (Some(Role::Q), Some(unit)),
            "{text}"
        );
    }
    for (text, what) in [
        ("2th_deg", Foreign::Angle),
        ("2theta(deg)", Foreign::Angle),
        ("2th_rad", Foreign::Angle),
        ("r_mm", Foreign::Radius),
        ("chi_deg", Foreign::Azimuth),
        ("log10(q)", Foreign::Logarithm),
        ("SpinEchoLength", Foreign::SpinEcho),
    ] {
        assert_eq!(
            roles(&format!("{text}\tI"), 2)[0],
            Some(Role::Foreign(what)),
            "{text}"
        );
    }
}

#[test]
fn relative_deviations_have_the_factor_of_the_intensity() {
    for (text, factor) in [
        ("dI/I", Some(1.0)),
        ("err (%)", Some(0.01)),
        ("err%", Some(0.01)),
        ("relative error", Some(1.0)),
        ("percent error", Some(0.01)),
        ("err", None),
        ("dI/cm^-1", None),
    ] {
        let found = &names(&format!("q\tI\t{text}"), 3)[2];
        assert_eq!(
            (found.role, found.relative),
            (Some(Role::Sigma), factor),
            "{text}"
        );
    }
}
