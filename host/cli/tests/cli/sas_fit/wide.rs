//! Fits of wide distributions.

use super::{evaluate, fit, near, summary};
use crate::support::TestFolder;

/// The mesh of a wide distribution does not resolve all fringes, and its error must not pass for a
/// derivative: a fit that starts far away reaches the truth, which a fine mesh computed.
#[test]
fn fits_of_wide_distributions_reach_the_minimum() {
    let folder = TestFolder::new();
    let s = 0.8_f64;
    let row = |i: i32| {
        let u = -3.6 + 0.0025 * f64::from(i);
        format!("{} {}\n", 30.0 * u.exp(), (-0.5 * (u / s).powi(2)).exp())
    };
    let rows: String = (0..4481).map(row).collect();
    std::fs::write(folder.path("sizes.txt"), rows).unwrap();
    let q = ["--q", "0.005:0.3:60", "--set", "background=0.001"];
    let sizes = ["--pd", "radius=array:sizes.txt", "-o", "c.csv"];
    evaluate(&folder, "sphere", &[&q[..], &sizes].concat());
    // Noise of 2 %.
    let text = std::fs::read_to_string(folder.path("c.csv")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let (q, i) = line.split_once(',')?;
        Some((q, i.parse::<f64>().ok()?))
    });
    let rows = rows.enumerate().map(|(at, (q, i))| {
        let row = at as f64;
        let noise = 0.02 * 2.0_f64.sqrt() * (7.3 * row * row).sin();
        format!("{q} {:e} {:e}\n", i * (1.0 + noise), 0.02 * i)
    });
    std::fs::write(folder.path("c.txt"), rows.collect::<String>()).unwrap();
    for start in ["0.1", "0.5"] {
        let width = format!("radius={start}:lognormal");
        let free = ["--fit", "radius=10:100,radius_pd=0.01:2,scale,background"];
        let start = ["--set", "radius=30", "--pd", &width];
        fit(&folder, "sphere", "c.txt", &[&free[..], &start].concat()).well();
        let found = summary(&folder);
        near(&found, "radius", 30.0, 0.08);
        near(&found, "radius_pd", 0.8, 0.03);
        // About the scatter of such fits.
        let sigma = found["parameters"][0]["uncertainty"].as_f64().unwrap();
        assert!((0.8..1.8).contains(&sigma), "{found}");
    }
}
