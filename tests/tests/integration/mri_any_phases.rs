//! The sums of a few samples at voxels on no grid, on a device in single precision.

use ndarray::Array2;
use num_complex::Complex;
use warpstride::gpu::{Device, EmulatedDevice};
use warpstride::mri::Trigonometry;
use warpstride::mri::cuda::direct::{Direct, Functions};
use warpstride_device::Complex32;
use warpstride_tests::npz::Archive;
use warpstride_tests::{shared_data, skipped};

#[test]
fn the_direct_sums_of_few_voxels_in_single_precision() {
    let path = match shared_data("mri/fhd_tiny_ref.npz") {
        Ok(path) => path,
        Err(why) => return skipped("the direct sums in single precision", &why),
    };
    let mut file = Archive::open(&path).unwrap();
    let mut matrix = |name: &str| {
        let (shape, values) = file.real(name).unwrap();
        Array2::from_shape_vec((shape[0], shape[1]), values).unwrap()
    };
    let (k, x) = (matrix("k"), matrix("x"));
    let mut series = |name: &str| file.complex(name).unwrap().1;
    let (phi, mu) = (series("phi"), series("mu"));
    let references = [series("fhd"), series("Q")];
    let squares: Vec<_> = phi.iter().map(|p| Complex::from(p.norm_sqr())).collect();
    let values: Vec<Complex<f32>> = [mu, squares]
        .concat()
        .iter()
        .map(|v| Complex::new(v.re as f32, v.im as f32))
        .collect();

    let device = EmulatedDevice::new();
    let (samples, voxels) = (k.nrows(), x.nrows());
    let functions = Functions::new(k, x.t().to_owned()).unwrap();
    let direct = Direct::of_functions(&device, &functions, Trigonometry::Accurate, 2).unwrap();
    let mut on_device = device.alloc::<Complex32>("samples", 2 * samples).unwrap();
    device.upload(&mut on_device, &values).unwrap();
    let mut images = device.alloc("images", 2 * voxels).unwrap();
    direct.adjoint(&device, &on_device, &mut images, 2).unwrap();
    let mut found = vec![Complex::new(0.0_f32, 0.0); 2 * voxels];
    device.download(&images, &mut found).unwrap();
    for (found, reference) in found.chunks(voxels).zip(&references) {
        let pairs = found.iter().zip(reference);
        let away =
            pairs.map(|(f, r)| (Complex::new(f64::from(f.re), f64::from(f.im)) - r).norm_sqr());
        let norm: f64 = reference.iter().map(Complex::norm_sqr).sum();
        let error = (away.sum::<f64>() / norm).sqrt();
        assert!(error <= 1e-6, "{error:.1e}");
    }
}
