//! Writes the seed corpora: `seeds FOLDER`, of scans; `seeds FOLDER ismrmrd`, of samples of k-space.
//!
//! Proper files, small, and files that the structured generators make. The first byte of a seed
//! says which reader mode it is for, as in the target.

use std::path::Path;
use warpstride::data::{Geometry, Mask, Scan, Simulation};
use warpstride::io::scan;

fn scan_of(frames: usize, per_frame: bool) -> Option<Scan> {
    let counts = ndarray::Array3::from_shape_fn((frames, 4, 4), |(j, r, c)| (j + r * c) as f32);
    let positions = ndarray::Array2::from_shape_fn((frames, 2), |(j, k)| (j + k) as f64 * 1e-7);
    let mask = if per_frame {
        Mask::PerFrame(ndarray::Array3::from_elem((frames, 4, 4), true))
    } else {
        Mask::Shared(ndarray::Array2::from_elem((4, 4), true))
    };
    let one = num_complex::Complex::new(1.0, 0.5);
    let probe = ndarray::Array3::from_elem((1, 4, 4), one);
    let geometry = Geometry {
        wavelength: 1e-10,
        distance: 2.0,
        pixel_size: [55e-6; 2],
    };
    Some(
        Scan::new(
            counts,
            Some(mask),
            positions.clone(),
            geometry,
            Some(probe.clone()),
        )
        .ok()?
        .with_simulation(Simulation {
            object: ndarray::Array2::from_elem((6, 6), one),
            probe,
            positions,
            origin: [0.0; 2],
            seed: 7,
        }),
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os()
        .nth(1)
        .ok_or("usage: seeds FOLDER [ismrmrd]")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    match std::env::args().nth(2).as_deref() {
        Some("ismrmrd") => kspace(folder),
        _ => scans(folder),
    }
}

/// Choices of which every eleventh is not the usual one.
fn choices(round: u8) -> Vec<u8> {
    let odd = |i: u8| i.wrapping_mul(37) % 11 == round % 11;
    (0..120_u8)
        .map(|i| if odd(i) { round + 1 } else { 0 })
        .collect()
}

fn kspace(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let image = folder.join("image");
    for round in 0..48_u8 {
        let choices = if round == 0 { Vec::new() } else { choices(round) };
        let with = |mode: u8, rest: &[u8]| [&[mode][..], rest].concat();
        std::fs::write(folder.join(format!("choices{round}")), with(1, &choices))?;
        // What HDF5 itself refuses has no image.
        if round < 16 && warpstride_fuzz::acquisitions::build(&image, &choices).is_ok() {
            let bytes = std::fs::read(&image)?;
            std::fs::write(folder.join(format!("image{round}")), with(0, &bytes))?;
        }
    }
    std::fs::remove_file(&image)?;
    Ok(())
}

fn scans(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let image = folder.join("image");
    let keep = |name: String, mode: u8| -> std::io::Result<()> {
        let mut bytes = vec![mode];
        bytes.extend(std::fs::read(&image)?);
        std::fs::write(folder.join(name), bytes)
    };
    for (i, per_frame) in [false, true].into_iter().enumerate() {
        let scan = scan_of(2 + i, per_frame).ok_or("the seed is no scan")?;
        scan::write(&image, &scan)?;
        keep(format!("scan{i}"), 0)?;
    }
    for round in 0..40_u8 {
        let choices = choices(round);
        // The first choice is which of the layouts the file has.
        let choices = [&[round % 4][..], &choices].concat();
        std::fs::write(
            folder.join(format!("structure{round}")),
            [&[1][..], &choices].concat(),
        )?;
        warpstride_fuzz::structure::build(&image, &choices)?;
        if round < 8 {
            keep(format!("built{round}"), 0)?;
        }
    }
    std::fs::remove_file(&image)?;
    Ok(())
}
