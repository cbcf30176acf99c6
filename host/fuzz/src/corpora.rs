//! Seed corpora: small valid files, and choices of the generators. The first byte of a seed selects
//! the mode of targets with generators.

use hdf5_metno as hdf5;
use std::path::Path;
use warpstride::ptycho::data::{Geometry, Mask, Propagation, Scan, Simulation};
use warpstride::sas::data::{Curve, Scattering, ScatteringImage, Smearing};
use warpstride::ptycho::io::scan;
use warpstride::sas::io::{self as sas, Computed};

/// The frames of a CXI file.
const FRAMES: &str = "/entry_1/instrument_1/detector_1/data";

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
        propagation: Propagation::FarField,
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
            slices: None,
        }),
    )
}

/// Writes the seeds of a target to `folder`, which is made; there are none for some targets.
///
/// # Errors
/// The folder cannot be written to, or a seed cannot be made.
pub fn write(folder: &Path, target: &str) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    match target {
        "cxi_reader" => scans(folder),
        "ismrmrd_reader" | "ismrmrd_sequences" => kspace(folder),
        "columns_reader" => columns(folder),
        "cansas_reader" => cansas(folder),
        "nxcansas_reader" => nxcansas(folder),
        "series_csv" => crate::series::lines(folder),
        "series_exposition" => crate::series::expositions(folder),
        "series_columnar" => crate::series::tables(folder),
        "bart_reader" => all(folder, &crate::bart::seeds()),
        "scan_layouts" => layouts(folder),
        _ => {
            let mut seeds = crate::formats::seeds(target);
            seeds.extend(crate::readers::seeds(target));
            all(folder, &seeds)
        }
    }
}

fn all(folder: &Path, seeds: &[Vec<u8>]) -> Result<(), Box<dyn std::error::Error>> {
    for (i, seed) in seeds.iter().enumerate() {
        std::fs::write(folder.join(format!("seed{i}")), seed)?;
    }
    Ok(())
}

/// The files of the readers of CXI, without the byte that selects how.
fn layouts(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    scans(folder)?;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match std::fs::read(&path)?.split_first() {
            Some((0, file)) => std::fs::write(&path, file)?,
            _ => std::fs::remove_file(&path)?,
        }
    }
    Ok(())
}

/// Choices of which every eleventh is not zero.
fn choices(round: u8) -> Vec<u8> {
    let odd = |i: u8| i.wrapping_mul(37) % 11 == round % 11;
    (0..120_u8)
        .map(|i| if odd(i) { round + 1 } else { 0 })
        .collect()
}

fn kspace(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let image = folder.join("image");
    for round in 0..48_u8 {
        let choices = if round == 0 {
            Vec::new()
        } else {
            choices(round)
        };
        let with = |mode: u8, rest: &[u8]| [&[mode][..], rest].concat();
        std::fs::write(folder.join(format!("choices{round}")), with(1, &choices))?;
        // HDF5 may refuse the chosen contents.
        if round < 16 && crate::acquisitions::build(&image, &choices).is_ok() {
            let bytes = std::fs::read(&image)?;
            std::fs::write(folder.join(format!("image{round}")), with(0, &bytes))?;
        }
    }
    std::fs::remove_file(&image)?;
    Ok(())
}

/// Curves with every kind of resolution, and an image.
fn scattering() -> Vec<Scattering> {
    let q = vec![0.01, 0.02, 0.04, 0.05];
    let width = vec![0.001, 0.002, 0.003, 0.004];
    let slit = Smearing::Slit {
        length: vec![0.117; 4],
        width: vec![0.0; 4],
    };
    let curve = |smearing| {
        Scattering::Curve(Curve {
            q: q.clone(),
            intensity: vec![10.0, 5.5, 1e-3, -2e-4],
            sigma: Some(vec![0.1; 4]),
            smearing,
            title: "seed".to_owned(),
            notes: Vec::new(),
        })
    };
    let image = Scattering::Image(ScatteringImage {
        qx: vec![-0.1, 0.1, -0.1, 0.1],
        qy: vec![-0.1, -0.1, 0.1, 0.1],
        intensity: vec![1.0, 2.0, 3.0, 4.0],
        sigma: Some(vec![0.5; 4]),
        resolution: Some((width.clone(), width.clone())),
        title: "seed".to_owned(),
        notes: Vec::new(),
    });
    vec![
        curve(None),
        curve(Some(Smearing::Pinhole(width))),
        curve(Some(slit)),
        image,
    ]
}

fn columns(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    for (i, scattering) in scattering().iter().enumerate() {
        let process = [("model".to_owned(), "sphere".to_owned())];
        let computed = Computed {
            scattering,
            process: &process,
        };
        sas::write_csv(&folder.join(format!("written{i}")), &computed)?;
    }
    let texts = [
        " LOQ Wed 4-JUN-2003\n 140 0 0 0 1 140 0\n 0 0 0 0\n 3 (F12.5,2E16.6)\n 0.007 2.1E+01 6.0E-01\n 0.009 6.9E+00 1.7E-01\n",
        "0 0 0\n0.003\t5.5\t1.1\n0.004\t5.4\t0.5\n",
        "0.01;6.3534e+008;-1;0;\n0.02;6.2e+008;-1;0;\n\n",
        "Data columns Qx - Qy - I(Qx,Qy) - err(I)\nASCII data\n-0.1 -0.1 0.5 0.2\n0.1 -0.1 0.4 0.1\n",
        "# 1/nm\n0.2,1.5D-03\n0.1,2 ! comment\n0.1,nan\n1,2,,\n",
        "<X> <Y>\n1E-3 2\n2E-3 inf\n",
    ];
    for (i, text) in texts.iter().enumerate() {
        std::fs::write(folder.join(format!("text{i}")), text)?;
    }
    Ok(())
}

fn cansas(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    for round in 0..48_u8 {
        let choices = if round == 0 {
            Vec::new()
        } else {
            choices(round)
        };
        let with = |mode: u8, rest: &[u8]| [&[mode][..], rest].concat();
        std::fs::write(folder.join(format!("choices{round}")), with(1, &choices))?;
        if round < 16 {
            let text = crate::scattering::xml(&choices);
            std::fs::write(
                folder.join(format!("text{round}")),
                with(0, text.as_bytes()),
            )?;
        }
    }
    Ok(())
}

fn nxcansas(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let image = folder.join("image");
    let save = |name: String| -> std::io::Result<()> {
        let mut bytes = vec![0];
        bytes.extend(std::fs::read(&image)?);
        std::fs::write(folder.join(name), bytes)
    };
    for (i, scattering) in scattering().iter().enumerate() {
        let computed = Computed {
            scattering,
            process: &[],
        };
        sas::write_hdf5(&image, &computed)?;
        save(format!("written{i}"))?;
    }
    for round in 0..48_u8 {
        let choices = if round == 0 {
            Vec::new()
        } else {
            choices(round)
        };
        let with = [&[1][..], &choices].concat();
        std::fs::write(folder.join(format!("choices{round}")), with)?;
        // HDF5 may refuse the chosen contents.
        if round < 16 && crate::scattering::build(&image, &choices).is_ok() {
            save(format!("image{round}"))?;
        }
    }
    std::fs::remove_file(&image)?;
    Ok(())
}

fn scans(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let image = folder.join("image");
    let save = |name: String, mode: u8| -> std::io::Result<()> {
        let mut bytes = vec![mode];
        bytes.extend(std::fs::read(&image)?);
        std::fs::write(folder.join(name), bytes)
    };
    for (i, per_frame) in [false, true].into_iter().enumerate() {
        let scan = scan_of(2 + i, per_frame).ok_or("the seed is not a valid scan")?;
        scan::write(&image, &scan)?;
        save(format!("scan{i}"), 0)?;
        // The frames behind a link of the file to itself, and as a virtual dataset of the file.
        for how in ["linked", "virtual"] {
            scan::write(&image, &scan)?;
            let file = hdf5::File::open_rw(&image)?;
            file.relink(FRAMES, "/frames")?;
            let shape = file.dataset("/frames")?.shape();
            if how == "linked" {
                file.link_external("image", "/frames", FRAMES)?;
            } else {
                let all = || hdf5::Selection::All;
                file.new_dataset_builder()
                    .with_dcpl(|p| p.virtual_map(".", "/frames", &shape, all(), &shape, all()))
                    .empty::<f32>()
                    .shape(&shape)
                    .create(FRAMES)?;
            }
            file.close()?;
            save(format!("{how}{i}"), 0)?;
        }
    }
    for round in 0..40_u8 {
        let choices = choices(round);
        // The first choice is the layout of the file.
        let choices = [&[round % 4][..], &choices].concat();
        std::fs::write(
            folder.join(format!("structure{round}")),
            [&[1][..], &choices].concat(),
        )?;
        crate::structure::build(&image, &choices)?;
        if round < 8 {
            save(format!("built{round}"), 0)?;
        }
    }
    std::fs::remove_file(&image)?;
    Ok(())
}
