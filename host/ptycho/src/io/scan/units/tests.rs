//! Units in names and attributes of datasets.

use super::*;

#[test]
fn names_end_in_units() {
    let length = |name| unit_in_name(name, Dimension::Length);
    assert_eq!(length("/scan/stage/x_um"), Some("um"));
    assert_eq!(length("/z [mm]"), Some("mm"));
    assert_eq!(length("/lambda_A"), Some("A"));
    assert_eq!(length("/energy_kev"), None);
    assert_eq!(unit_in_name("/energy_kev", Dimension::Energy), Some("kev"));
    for none in ["/m", "/x", "/um/x", "/atom", "/_m", ""] {
        assert_eq!(length(none), None, "{none}");
    }
}

#[test]
fn several_units_of_one_dataset_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("units.h5");
    let file = hdf5_metno::File::create(&path).unwrap();
    for (name, units) in [("same", ["um"; 3]), ("differ", ["um", "mm", "m"])] {
        let dataset = file.new_dataset::<f64>().create(name).unwrap();
        let units = units.map(|unit| unit.parse::<hdf5_metno::types::VarLenUnicode>().unwrap());
        let attribute = dataset.new_attr_builder().with_data(&units).create("units");
        attribute.unwrap();
    }
    file.close().unwrap();
    let memory = warpstride_core::system::Memory::available();
    let source =
        Source::open_with_links(&path, memory, warpstride_files::source::Follow::Inside).unwrap();
    let same = attribute_unit(&source, "/same").unwrap();
    assert_eq!(same.as_deref(), Some("um"));
    let refused = attribute_unit(&source, "/differ").unwrap_err().to_string();
    assert!(
        refused.contains("\"mm\"") && refused.contains("data.units.positions"),
        "{refused}"
    );
}
