//! Single against double precision.

use super::*;

/// f32 and f64 of the defaults, to 10⁻⁵ of the scattering forward.
fn single_is_double<M: warpstride_kernels::sas::model::Model>() {
    use warpstride_kernels::sas::model::Values;
    let mut defaults = Vec::new();
    for row in M::INFO.parameters {
        defaults.extend(std::iter::repeat_n(row.default, row.length));
    }
    let double = M::prepare(&M::Values::<f64>::read(|i| defaults[i]));
    let single = M::prepare(&M::Values::<f32>::read(|i| defaults[i] as f32));
    let wave = |q: f64, cos: f64| {
        let across = q * (1.0 - cos * cos).sqrt();
        [q, across, q * cos, 0.6 * across, 0.8 * across, q * cos]
    };
    let in_double = |[q, across, along, a, b, c]: [f64; 6]| {
        let wave = Wave {
            q,
            across,
            along,
            a,
            b,
            c,
        };
        M::form(&wave, &double).intensity
    };
    let forward = in_double(wave(0.0, 1.0));
    for q in [0.0, 1e-6, 1e-4].into_iter().chain(WAVES) {
        for cos in DIRECTIONS {
            let expected = in_double(wave(q, cos));
            let [q, across, along, a, b, c] = wave(q, cos).map(|x| x as f32);
            let found = M::form(
                &Wave {
                    q,
                    across,
                    along,
                    a,
                    b,
                    c,
                },
                &single,
            );
            assert!(
                (f64::from(found.intensity) - expected).abs() <= 1e-5 * forward,
                "{} at q = {q}, cos α = {cos}: {found:?}, {expected} of {forward}",
                M::INFO.name
            );
        }
    }
}

#[test]
fn single_precision_suffices() {
    use warpstride_kernels::sas::models as m;
    single_is_double::<m::core_shell_sphere::CoreShellSphere>();
    single_is_double::<m::fuzzy_sphere::FuzzySphere>();
    single_is_double::<m::vesicle::Vesicle>();
    single_is_double::<m::ellipsoid::Ellipsoid>();
    single_is_double::<m::core_shell_cylinder::CoreShellCylinder>();
    single_is_double::<m::hollow_cylinder::HollowCylinder>();
    single_is_double::<m::elliptical_cylinder::EllipticalCylinder>();
    single_is_double::<m::triaxial_ellipsoid::TriaxialEllipsoid>();
    single_is_double::<m::core_shell_ellipsoid::CoreShellEllipsoid>();
    single_is_double::<m::core_multi_shell::CoreMultiShell>();
    single_is_double::<m::multilayer_vesicle::MultilayerVesicle>();
    single_is_double::<m::linear_pearls::LinearPearls>();
    single_is_double::<m::pearl_necklace::PearlNecklace>();
    single_is_double::<m::raspberry::Raspberry>();
    single_is_double::<m::capped_cylinder::CappedCylinder>();
    single_is_double::<m::barbell::Barbell>();
    single_is_double::<m::flexible_cylinder::FlexibleCylinder>();
    single_is_double::<m::onion::Onion>();
}
