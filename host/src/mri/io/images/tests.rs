use super::*;

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
