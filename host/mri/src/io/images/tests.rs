use super::*;
use crate::data::{ImageIndex, MriImage, Placement};
use hdf5_metno as hdf5;
use warpstride_files::output;

fn result(volume: bool, sets: usize) -> MriImage {
    let slices = if volume { 3 } else { 1 };
    let value = |at: usize| Complex::new(at as f64 * 0.25, -(at as f64));
    MriImage {
        image: Array3::from_shape_fn((slices, 4, 5), |(s, r, c)| value(20 * s + 5 * r + c)),
        volume,
        index: None,
        placement: None,
        field_of_view: Some([0.01, 0.2, 0.25]),
        coil_maps: Some(Array5::from_shape_fn(
            (sets, 2, slices, 4, 5),
            |(set, c, s, _, _)| value(7 * set + c + s),
        )),
        residuals: vec![0.5, 0.25],
        recipe: "{}".to_owned(),
        operator: "nufft".to_owned(),
        method: "cg".to_owned(),
        backend: "cpu".to_owned(),
        device: "cores".to_owned(),
        precision: "f32".to_owned(),
        version: "0.1.0".to_owned(),
        source: "raw.h5".to_owned(),
    }
}

#[test]
fn images_and_maps_are_read_back_from_both_kinds_of_file() {
    let folder = tempfile::tempdir().unwrap();
    for (volume, sets) in [(false, 1), (true, 1), (false, 2), (true, 3)] {
        let result = result(volume, sets);
        for name in ["a.h5", "a.npy"] {
            let path = folder.path().join(name);
            write(&path, &result).unwrap();
            assert_eq!(read(&path).unwrap(), result.image, "{name} {volume}");
        }
        let path = folder.path().join("a.h5");
        let maps = read_coil_maps(&path, Memory::available()).unwrap();
        assert_eq!(Some(maps), result.coil_maps);
        let file = hdf5::File::open(&path).unwrap();
        let maps = file.dataset("/coil_maps/data").unwrap();
        assert_eq!(maps.ndim(), if sets == 1 { 4 } else { 5 });
        let shape = file.dataset("/image/data").unwrap().shape();
        assert_eq!(shape.len(), if volume { 3 } else { 2 });
        let axes: hdf5::types::VarLenUnicode = file
            .dataset("/image/data")
            .unwrap()
            .attr("axes")
            .unwrap()
            .read_scalar()
            .unwrap();
        assert!(axes.as_str().ends_with("row, column"));
    }
}

/// Two volumes of two repetitions, of which the first has one iteration less.
#[test]
fn several_volumes_have_an_axis_of_images() {
    let folder = tempfile::tempdir().unwrap();
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let images: Vec<MriImage> = [3, 7]
        .map(|repetition| {
            let mut image = result(true, 1);
            image.image.mapv_inplace(|v| v * f64::from(repetition));
            image.index = Some(ImageIndex {
                repetition,
                ..ImageIndex::default()
            });
            image.placement = Placement::new([0.0, 0.0, f64::from(repetition)], axes);
            image.residuals.truncate(usize::from(repetition - 2).min(2));
            image.coil_maps = None;
            image
        })
        .into();
    let planned: Vec<ImageIndex> = images.iter().filter_map(|image| image.index).collect();
    let memory = Memory::available();
    for name in ["a.h5", "a.npy", "a.cfl"] {
        let path = folder.path().join(name);
        check_images(&path, &planned, [3, 4, 5]).unwrap();
        write_images(&path, &images, &planned, NiftiValues::Magnitude).unwrap();
        let found = read_images_within(&path, memory).unwrap();
        assert_eq!((found.shape()[0], found.len()), (2, 120), "{name}");
        let expected = images.iter().flat_map(|image| image.image.iter());
        assert!(found.iter().eq(expected), "{name}");
    }
    let file = hdf5::File::open(folder.path().join("a.h5")).unwrap();
    let read = |name: &str| {
        file.dataset(name)
            .unwrap()
            .read_1d::<u64>()
            .unwrap()
            .to_vec()
    };
    assert_eq!(read("/image/index/repetition"), [3, 7]);
    assert_eq!(read("/image/history/iterations"), [1, 2]);
    let residuals = file.dataset("/image/history/residual").unwrap();
    let residuals = residuals.read_2d::<f64>().unwrap();
    assert!(residuals[[0, 1]].is_nan() && residuals[[1, 1]] == 0.25);
    let position = file
        .dataset("/image/position")
        .unwrap()
        .read_2d::<f64>()
        .unwrap();
    assert_eq!(position[[1, 2]], 7.0);
    file.close().unwrap();
    // The second was not computed.
    let path = folder.path().join("a.cfl");
    write_images(&path, &images[..1], &planned, NiftiValues::Magnitude).unwrap();
    let found = read_images_within(&path, memory).unwrap();
    assert!(found.iter().skip(60).all(|v| *v == Complex::from(0.0)));
    assert!(check_images(Path::new("a.nii"), &planned, [1, 1, 32_768]).is_err());
    let more = [
        &planned[..],
        &[ImageIndex {
            slice: 1,
            ..planned[0]
        }],
    ]
    .concat();
    assert!(check_images(&path, &more, [3, 4, 5]).is_err());
}

#[test]
fn invalid_images_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let wrong = ArrayD::from_elem(vec![3], Complex::new(1.0, 0.0));
    npy::complex::write(&path, wrong.view(), true).unwrap();
    let text = read(&path).unwrap_err().to_string();
    assert!(text.contains("(row, column)"), "{text}");
    let bad = ArrayD::from_elem(vec![2, 2], Complex::new(f64::NAN, 0.0));
    npy::complex::write(&path, bad.view(), true).unwrap();
    let text = read(&path).unwrap_err().to_string();
    assert!(text.contains("finite"), "{text}");
    let path = folder.path().join("a.h5");
    output::write(&path, |file| output::number(file, "other", 1.0)).unwrap();
    let text = read(&path).unwrap_err().to_string();
    assert!(text.contains("/image/data or /truth/image"), "{text}");
}

#[test]
fn fields_have_one_column_per_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.h5");
    let written = |functions: usize| {
        output::write(&path, |file| {
            let group = file.create_group("field")?;
            output::array(
                &group,
                "coefficients",
                &Array2::<f64>::zeros((7, functions)),
            )?;
            output::array(&group, "maps", &Array3::<f64>::ones((2, 4, 5)))
        })
        .unwrap();
        read_field(&path, Memory::available())
    };
    let field = written(2).unwrap();
    assert_eq!(field.maps.dim(), (2, 1, 4, 5));
    let text = written(3).unwrap_err().to_string();
    assert!(text.contains("one column per map"), "{text}");
}
