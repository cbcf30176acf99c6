use super::super::{QUnit, ReadOptions};
use super::*;

fn header(text: &str, columns: usize) -> Header {
    Header::of(text.lines(), std::iter::empty(), columns)
}

#[test]
fn names_of_columns_are_recognised_with_their_units() {
    use Role::{Intensity, Q, Qx, Qy, Sigma, Unused, Width, WidthAcross, WidthAlong};
    for (line, roles) in [
        ("q,intensity,sigma,dq", vec![Q, Intensity, Sigma, Width]),
        ("<X>\t<Y>\t<dY>\t<dsigQ>", vec![Q, Intensity, Sigma, Width]),
        ("# sigma I q", vec![Sigma, Intensity, Q]),
        ("# q dq I dI", vec![Q, Width, Intensity, Sigma]),
        ("q [1/A]; I [1/cm]; err(I)", vec![Q, Intensity, Sigma]),
        ("Q/nm^-1 I/cm^-1 sigma(Q)", vec![Q, Intensity, Sigma]),
        ("q(A-1)\tI(q)\tSig(q)", vec![Q, Intensity, Sigma]),
        (
            "q(A-1) I(q) dI(q) sigma(q)",
            vec![Q, Intensity, Sigma, Width],
        ),
        ("q I temperature dI", vec![Q, Intensity, Unused, Sigma]),
        ("temperature q I", vec![Unused, Q, Intensity]),
        (
            "Data columns are Qx - Qy - I(Qx,Qy) - Qz - SigmaQx - SigmaQy - fSubS(beam stop shadow)",
            vec![Qx, Qy, Intensity, Unused, WidthAlong, WidthAcross, Unused],
        ),
        (
            "The 6 columns are | Q (1/A) | I(Q) (1/cm) | std. dev. I(Q) (1/cm) | sigmaQ | meanQ | ShadowFactor|",
            vec![Q, Intensity, Sigma, Width, Unused, Unused],
        ),
        ("index Q I", vec![Unused, Q, Intensity]),
        (
            "Data columns are Qx - Qy - I(Qx,Qy) - err(I) - Qz - SigmaQ_parall - SigmaQ_perp - fSubS(beam stop shadow)",
            vec![
                Qx,
                Qy,
                Intensity,
                Sigma,
                Unused,
                WidthAlong,
                WidthAcross,
                Unused,
            ],
        ),
        (
            "Data columns Qx - Qy - I(Qx,Qy) - err(I)",
            vec![Qx, Qy, Intensity, Sigma],
        ),
    ] {
        let found = header(line, roles.len());
        let found_roles = found.columns.map(|columns| columns.roles);
        assert_eq!(found_roles, Some(roles.clone()), "{line}");
        assert_eq!(found.image, roles[0] == Qx, "{line}");
    }
    for line in [
        "radial average of the Qx Qy image",
        "q versus I",
        "two words",
    ] {
        let found = header(line, 3);
        assert!(found.columns.is_none() && !found.image, "{line}");
    }
}

#[test]
fn quantities_that_are_no_intensity_are_named() {
    for (text, columns) in [
        ("q S(q)", 2),
        ("# Q (1/A)\tS(Q)", 2),
        ("q,F(q),dF", 3),
        ("q T(q) err", 3),
        ("q chi(q) sigma", 3),
        ("q transmission", 2),
        ("q R", 2),
        ("q structure_factor error", 3),
        ("q S(q)-1 err", 3),
        ("q S(q)/S(0) err", 3),
        ("q S_eff(q)", 2),
        ("q I(Q)/P(Q) err", 3),
        ("q h(q) err", 3),
        ("q G(q) err", 3),
        ("q P(q) err", 3),
        ("q F2(q) err", 3),
        ("q Form_factor err", 3),
        ("q dI/dq err", 3),
        ("q -ln(T) err", 3),
        ("q water err", 3),
        ("q Ifit err", 3),
        ("q model", 2),
    ] {
        let found = header(text, columns).note_on_intensity(Some(1));
        let note = found.unwrap_or_default();
        assert!(note.starts_with("column 2 ("), "{text}: {note}");
    }
    for (text, columns) in [
        ("q I", 2),
        ("q I_abs", 2),
        ("Q (1/A), Intensit\u{e4}t", 2),
        ("q dSigma/dOmega", 2),
        ("q d\u{3a3}/d\u{3a9} error", 3),
        ("q Streuintensit\u{e4}t err", 3),
        ("q data_sub err", 3),
        ("q P(q) S(q) I", 4),
        ("q S(q)\nq I(q)", 2),
        ("two words", 2),
        ("1/A 1/cm", 2),
    ] {
        let header = header(text, columns);
        let column = header.column(Role::Intensity).or(Some(1));
        assert_eq!(header.note_on_intensity(column), None, "{text}");
    }
}

#[test]
fn what_is_no_function_of_q_is_refused() {
    for (text, words) in [
        ("2theta(deg) I s", "an angle"),
        (
            "#2th_deg         I               sigma",
            "needs the wavelength",
        ),
        ("r_mm I sigma", "distance of the detector"),
        ("SpinEchoLength Depolarisation Error", "SESANS"),
        ("LOCATIONX:5.4\nPIXELSIZEX:5.0", "pixels of a detector"),
        ("log10(q) log10(I) s", "q and I themselves"),
    ] {
        let why = header(text, 3)
            .check("a.dat", &[2.0, 1.0])
            .unwrap_err()
            .to_string();
        assert!(why.contains(words), "{why}");
    }
    let pixels = header("LOCATIONX:5.4\nPIXELSIZEX:5.0", 3);
    assert!(pixels.check("a.dat", &[1.0, 2.0]).is_ok());
    for text in [
        "# q I 2theta",
        "# r_mm I s\n# q I s",
        "wavelength: 1.34",
        "angle of incidence",
    ] {
        assert!(
            header(text, 3).check("a.dat", &[2.0, 1.0]).is_ok(),
            "{text}"
        );
    }
}

#[test]
fn other_coordinates_need_evidence_beside_their_names() {
    for (text, columns, words) in [
        ("lambda_nm I err", 3, "a wavelength"),
        ("energy_MeV I err", 3, "an energy"),
        ("time,I,err", 3, "a time"),
        ("pixel I err", 3, "a number of a row"),
        ("channel I err", 3, "a number of a row"),
        ("q^2 I err", 3, "a power of q"),
        ("q2 lnI", 2, "a power of q"),
        ("q I*q^4 err", 3, "a power of q"),
        ("I*q^4 q", 2, "a power of q"),
        ("q I*q^4", 2, "a power of q"),
        ("# q I·q²", 2, "a power of q"),
        ("Iq4 q", 2, "a power of q"),
        ("Q\tI(Q)*Q^4", 2, "a power of q"),
        ("q I*q", 2, "a power of q"),
        ("q,q4I", 2, "a power of q"),
        ("q 1/I", 2, "a function of the intensity"),
        ("q sqrt(I) err", 3, "a function of the intensity"),
        ("q I^-1", 2, "a function of the intensity"),
        ("q ln(I*q^2)", 2, "a logarithm"),
        ("q ln(I) err", 3, "a logarithm"),
        ("sin(theta)/lambda I err", 3, "sin(θ)/λ"),
        ("d_A I err", 3, "a spacing d"),
        ("delta(A) P", 2, "a length in real space"),
        ("SEL P err", 3, "SESANS"),
    ] {
        let refused = header(text, columns).check("a.dat", &[1.0, 2.0]);
        let why = refused.unwrap_err().to_string();
        assert!(why.contains(words), "{text}: {why}");
    }
    for (text, columns) in [
        ("Wavelength (A) 6.0", 2),
        ("wavelength: 1.34", 2),
        ("Time 12 s", 3),
        ("Energy: 12.4 keV", 3),
        ("time of day", 3),
        ("d 4.5 m", 3),
        ("lambda_nm I err\nq I err", 3),
        ("q I I*q^4", 3),
        ("I*q^4 q\nq I", 2),
        ("q I(q)", 2),
        ("q I(1/cm)", 2),
        ("Q I*", 2),
    ] {
        let found = header(text, columns);
        assert!(found.check("a.dat", &[1.0, 2.0]).is_ok(), "{text}");
        assert_eq!(found.note_on_q(Some(0)), None, "{text}");
    }
}

#[test]
fn an_unknown_name_before_the_intensity_is_taken_for_q() {
    use Role::{Intensity, Q, Sigma, Unused};
    for (text, roles) in [
        ("foo I err model", vec![Q, Intensity, Sigma, Unused]),
        ("n foo I err", vec![Unused, Q, Intensity, Sigma]),
        (
            "sExp | iExp | Err | iFit(+Const)",
            vec![Q, Intensity, Sigma, Unused],
        ),
        (
            "S J EXP ERROR J REG I REG",
            vec![Q, Intensity, Sigma, Unused, Unused],
        ),
        (
            "S    J EXP    ERROR    J REG   I REG",
            vec![Q, Intensity, Sigma, Unused, Unused],
        ),
        ("s Iexp err Ifit", vec![Q, Intensity, Sigma, Unused]),
    ] {
        let found = header(text, roles.len());
        let q = found.column(Q);
        assert!(
            found.note_on_q(q).unwrap().contains("is taken for q"),
            "{text}"
        );
        assert_eq!(found.columns.unwrap().roles, roles, "{text}");
    }
    for text in [
        "Phase I 3",
        "My sample data",
        "Scattering vector (1/A) I err",
    ] {
        assert_eq!(header(text, 3).note_on_q(Some(0)), None, "{text}");
    }
    for (text, intensity) in [
        ("q,counts,I,sigma", 2),
        ("q,y,I,err", 2),
        ("q,I_raw,I_sub,sigma", 2),
        ("q,I_0,I_1,sigma", 1),
        ("q,I,model,sigma", 1),
    ] {
        assert_eq!(header(text, 4).column(Intensity), Some(intensity), "{text}");
    }
}

#[test]
fn columns_that_are_known_are_not_read_by_their_place() {
    for (text, intensity, sigma) in [
        ("# q Itot qmean", 1, None),
        ("# q I_corr shadow", 1, None),
        ("# q Ifit Idata", 2, None),
        ("# q Ifit Idata sigma", 2, Some(3)),
        ("Q,Imean,npts", 1, None),
        ("q,sample,n", 1, None),
        ("n q sample err", 2, Some(3)),
        ("# q Isample weight", 1, None),
        ("# q Itot 2theta", 1, None),
        ("q,mean,std,count", 1, Some(2)),
        ("q,mean,count,std", 1, Some(3)),
        ("q,counts,std", 1, Some(2)),
        ("q monitor counts err", 2, Some(3)),
        ("q counts std background", 1, Some(2)),
        ("# q Icalc Iobs error", 2, Some(3)),
        ("# q Isim I_meas error", 2, Some(3)),
        ("# q model_intensity sample error", 2, Some(3)),
        ("q model fit", 1, None),
        ("# q F(q) dF", 1, None),
    ] {
        let found = header(text, text.split([' ', ',']).filter(|w| *w != "#").count());
        assert_eq!(
            found.column(Role::Q),
            Some(usize::from(text.starts_with("n "))),
            "{text}"
        );
        assert_eq!(found.column(Role::Intensity), Some(intensity), "{text}");
        assert_eq!(found.column(Role::Sigma), sigma, "{text}");
    }
}

#[test]
fn inverse_nanometres_have_many_spellings() {
    for name in [
        "q_nminv",
        "q_inv_nm",
        "Q_nm_1",
        "q_per_nm",
        "qnm-1",
        "Q.nm-1",
        "h_nm-1",
        "s_nm-1",
        "scattering_vector_nm^-1",
        "q[nm^{-1}]",
        "q_nm^{-1}",
        "Momentum transfer (1/nm)",
    ] {
        let found = header(&format!("{name} I err"), 3);
        assert_eq!(found.factor(&ReadOptions::default()), 0.1, "{name}");
    }
    for lines in [
        "# q I err\n# nm^-1 cm^-1 cm^-1",
        "q,I,err\n(1/nm),(1/cm),(1/cm)",
    ] {
        assert_eq!(
            header(lines, 3).factor(&ReadOptions::default()),
            0.1,
            "{lines}"
        );
    }
    for name in ["q_nm", "q(um)", "q (nm)"] {
        let found = header(&format!("{name} I err"), 3);
        let refused = found.check_unit("a.dat", &ReadOptions::default());
        let why = refused.unwrap_err().to_string();
        assert!(
            why.contains("give its unit, such as --q-unit 1/nm"),
            "{why}"
        );
        let given = ReadOptions {
            q_unit: Some(QUnit::InverseNanometre),
            ..ReadOptions::default()
        };
        assert!(found.check_unit("a.dat", &given).is_ok(), "{name}");
    }
    for name in [
        "Q(deg)", "q(mrad)", "Q [rad]", "q_deg", "q(1/s)", "q(A^-2)", "q(°)",
    ] {
        let found = header(&format!("{name} I err"), 3);
        let refused = found.check_unit("a.dat", &ReadOptions::default());
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("no inverse length"), "{name}: {why}");
    }
    for name in ["q", "q(A-1)", "Q_A", "environment", "q (1/m)"] {
        let found = header(&format!("{name} I err"), 3);
        let options = ReadOptions::default();
        assert!(found.check_unit("a.dat", &options).is_ok(), "{name}");
    }
}

#[test]
fn units_are_found_beside_names_and_in_sentences() {
    for (line, factor) in [
        ("# Q (um-1) I (1/cm)", 1e-4),
        ("q(m^-1) I", 1e-10),
        ("# q in inverse nanometers", 0.1),
        ("# Q [NM-1]", 0.1),
        ("# q in nm^-1", 0.1),
        ("Q (1/A) I", 1.0),
        ("Q 1/nm I 1/cm", 0.1),
        ("Q (\u{b5}m\u{207b}\u{b9}) I", 1e-4),
    ] {
        let unit = header(line, 3).q_unit.map(|u| u.factor);
        assert_eq!(unit, Some(factor), "{line}");
    }
    for line in [
        "transmission 0.97, sample m-1",
        "Porod constant in cm^-1",
        "1/A^4",
    ] {
        assert_eq!(header(line, 3).q_unit, None, "{line}");
    }
    let unit = header("# q [1/A] I [1/m]", 3).intensity_unit;
    assert_eq!(unit.map(|u| u.factor), Some(0.01));
}
