//! Checkpoints are read back bit for bit, and any damage is detected.

use super::*;
use ndarray::{Array, arr0, arr1};

fn example() -> Checkpoint {
    let strange = [f32::from_bits(0x7fc0_1234), -0.0, f32::NEG_INFINITY, 1e-45];
    let doubles = [f64::from_bits(0xfff8_0000_0000_0007), -0.0, f64::MAX];
    let mut c = Checkpoint {
        header: "{\"iteration\": 7, \"α\": 1}".to_owned(),
        ..Checkpoint::default()
    };
    c.real32.insert("a".to_owned(), arr1(&strange).into_dyn());
    c.real.insert("b".to_owned(), arr1(&doubles).into_dyn());
    c.real.insert("scalar".to_owned(), arr0(3.5).into_dyn());
    c.complex32.insert(
        "c".to_owned(),
        // More than one block of elements.
        Array::from_shape_fn((3, 101, 41), |(i, j, k)| {
            Complex::new((i * j) as f32, strange[k % 4])
        })
        .into_dyn(),
    );
    c.complex64.insert(
        "empty".to_owned(),
        Array::from_elem((0, 4), Complex::new(0.0, 0.0)).into_dyn(),
    );
    c
}

/// All bits as text, since with `==` NaN would differ from itself and −0 equal 0.
fn bits(c: &Checkpoint) -> String {
    let mut text = c.header.clone();
    for (n, a) in &c.real32 {
        text += &format!(
            "{n}{:?}{:?}",
            a.shape(),
            a.mapv(f32::to_bits).into_raw_vec_and_offset().0
        );
    }
    for (n, a) in &c.real {
        text += &format!(
            "{n}{:?}{:?}",
            a.shape(),
            a.mapv(f64::to_bits).into_raw_vec_and_offset().0
        );
    }
    for (n, a) in &c.complex32 {
        let v: Vec<_> = a.iter().map(|z| (z.re.to_bits(), z.im.to_bits())).collect();
        text += &format!("{n}{:?}{v:?}", a.shape());
    }
    for (n, a) in &c.complex64 {
        let v: Vec<_> = a.iter().map(|z| (z.re.to_bits(), z.im.to_bits())).collect();
        text += &format!("{n}{:?}{v:?}", a.shape());
    }
    text
}

#[test]
fn every_bit_survives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let given = example();
    write(&path, &given).unwrap();
    write(&path, &given).unwrap();
    assert_eq!(bits(&read(&path).unwrap()), bits(&given));
    write(&path, &Checkpoint::default()).unwrap();
    assert_eq!(read(&path).unwrap(), Checkpoint::default());
}

#[test]
fn an_array_in_another_memory_order_keeps_its_indices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let transposed = Array::from_shape_fn((3, 5), |(i, j)| (10 * i + j) as f64).reversed_axes();
    let mut given = Checkpoint::default();
    given.real.insert("t".to_owned(), transposed.into_dyn());
    write(&path, &given).unwrap();
    assert_eq!(read(&path).unwrap(), given);
}

#[test]
fn any_changed_bit_and_any_truncation_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    let mut given = example();
    given.complex32.clear();
    write(&path, &given).unwrap();
    let good = std::fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bad).unwrap();
        assert!(read(&path).is_err(), "byte {at}");
        std::fs::write(&path, &good[..at]).unwrap();
        assert!(read(&path).is_err(), "length {at}");
    }
    let mut longer = good.clone();
    longer.push(0);
    std::fs::write(&path, &longer).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("appended"));
}

#[test]
fn an_oversized_array_is_refused_before_it_is_allocated() {
    // One array whose dimensions imply far more bytes than the file has.
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    let at = bytes.len();
    bytes.extend([0; 8]);
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend([3, 2]);
    bytes.extend((1_u64 << 40).to_le_bytes());
    bytes.extend((1_u64 << 20).to_le_bytes());
    bytes.extend([0; 4]);
    let length = bytes.len() as u64;
    bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c");
    std::fs::write(&path, &bytes).unwrap();
    let text = read(&path).unwrap_err().to_string();
    assert!(
        text.contains("extends beyond the end of the file"),
        "{text}"
    );
    let text = read_within(&path, Memory::limited(10))
        .unwrap_err()
        .to_string();
    assert!(text.contains("memory"), "{text}");
}
