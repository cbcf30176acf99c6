//! A measured scan against figures of other programs: R of the difference map and RAAR, 40
//! iterations each. A plain NumPy trial reached 0.0137 on this file, PtyPy's difference map with
//! preconditioned maximum likelihood 0.0139; photon noise alone would leave about 0.009.

use warpstride::io::scan;
use warpstride_tests::{on_cpu, recipe, shared_data, skipped};

/// Nothing better than the photons allow, nothing worse than the other programs.
const R: std::ops::RangeInclusive<f64> = 0.009..=0.0140;

#[test]
fn the_star_is_explained_as_well_as_by_other_programs() {
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
