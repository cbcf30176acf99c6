//! A measured scan compared with other programs: R after 40 iterations each of the difference map
//! and RAAR. A simple NumPy implementation reached 0.0137 on this file, and PtyPy's difference map
//! with preconditioned maximum likelihood 0.0139; photon noise alone would give about 0.009.

use warpstride::ptycho::io::scan;
use warpstride_tests::{on_cpu, recipe, shared_data, skipped};

/// Accepted R: not below the photon noise, not above that of the other programs.
const R: std::ops::RangeInclusive<f64> = 0.009..=0.0140;

#[test]
fn the_siemens_star_is_fitted_as_well_as_by_other_programs() {
    let path = match shared_data("ptycho/siemens-star.cxi") {
        Ok(path) => path,
        Err(why) => return skipped("the Siemens star of the Velociprobe", &why),
    };
    let recipe = recipe(&["dm:40", "raar:40"]).unwrap();
    let scan = scan::read(&path, &recipe.data).unwrap().scan;
    let result = on_cpu(&scan, &recipe).unwrap();
    let r = result.history.last().unwrap().r_factor.unwrap();
    assert!(R.contains(&r), "R = {r}");
}
