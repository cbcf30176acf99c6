//! Assembly of k-space from acquisitions.

mod choose;
mod raw_samples;
mod third_column;

use super::acquisition::Head;
use super::geometry::placement;
use super::header::{Header, Space};
use super::{Choice, Counter, KSpaceFile, LeftOut, ReadOptions};
use crate::data::{Given, ImageIndex, KSpace, KSpaceError, KUnit};
use crate::io::bart::MatrixSize;
use crate::io::excluded_coils::ExcludedCoils;
use crate::io::faulty_readouts;
use choose::{check, choose};
use ndarray::{Array2, Axis};
use raw_samples::RawSamples;
use warpstride_core::text::significant;
use warpstride_files::IoError;
use warpstride_files::records::Records;
use warpstride_files::source::Source;

/// Reads and joins the acquisitions that `options` select.
pub(super) fn assemble(
    source: &Source,
    records: &Records<'_>,
    header: &Header,
    options: &ReadOptions,
) -> Result<KSpaceFile, IoError> {
    let mut notes = Vec::new();
    let heads = Head::read_all(records)?;
    let (mut chosen, mut left_out) = choose(source, records, &heads, options, false, &mut notes)?;
    check(source, records, &heads, &chosen)?;
    let mut columns = chosen
        .iter()
        .map(|number| heads[*number].trajectory_dimensions);
    let has_kz = columns.all(|columns| columns > 2);
    let header = &with_matrix(header, options.matrix, has_kz, &mut notes);
    if header.encodings > 1 {
        notes.push(format!(
            "the header has {} encodings: the first one is used",
            header.encodings
        ));
    }
    let encoded = header.encoded.or(header.recon);
    let Some(encoded) = encoded else {
        return Err(IoError::Missing {
            file: source.name().to_owned(),
            what: "<reconSpace> or <encodedSpace> in the header".to_owned(),
            tried: vec![format!("/{}/xml", options.group.trim_matches('/'))],
        });
    };
    let axes = if encoded.matrix[2] > 1 { 3 } else { 2 };
    let differs = |counter: &Counter| {
        let of = |number: &usize| counter.of(&heads[*number].idx);
        chosen.iter().any(|number| of(number) != of(&chosen[0]))
    };
    let is_joined = Counter::ALL.iter().any(differs);
    let coils = usize::from(heads[chosen[0]].active_channels);
    let excluded = ExcludedCoils::new(&options.exclude_coils, coils, source.name())?;
    let mut raw = RawSamples::read(
        source, records, &heads, &chosen, axes, header, encoded, &mut notes,
    )?;
    let unit = options.k_unit.unwrap_or(KUnit::CYCLES_PER_PIXEL);
    raw.convert(unit, header.recon.unwrap_or(encoded), encoded)
        .ok_or_else(|| IoError::Missing {
            file: source.name().to_owned(),
            what: format!("<fieldOfView_mm> in the header, which --k-unit {unit} needs"),
            tried: vec![format!("/{}/xml", options.group.trim_matches('/'))],
        })?;
    excluded.clear(&mut raw.samples);
    notes.extend(faulty_readouts::silence_coils(
        &mut raw.samples,
        &raw.readouts,
        &excluded,
    ));
    let removed = faulty_readouts::remove(&mut raw.trajectory, &mut raw.samples, &mut raw.readouts);
    chosen.retain(|number| removed.acquisitions.binary_search(number).is_err());
    left_out.extend(removed.left_out("acquisitions"));
    notes.extend(removed.notes());
    let placement = placement(records, &chosen, &mut notes)?;
    let is_given = options.matrix.is_some();
    let (extent, factor) = raw.extent(header, encoded, axes, is_given, &mut notes);
    let mut trajectory = raw.trajectory;
    for (mut column, factor) in trajectory.axis_iter_mut(Axis(1)).zip(factor) {
        if factor != 1.0 {
            column.mapv_inplace(|k| k * factor);
        }
    }
    notes.extend(unit_note(unit, &trajectory, axes));
    let given = Given {
        pixels: factor,
        is_joined,
        ..Given::new(unit, options.k_unit.is_some())
    };
    let kspace = KSpace::given_as(given, extent, trajectory, raw.samples, raw.readouts);
    let kspace = kspace.map_err(|error| match error {
        KSpaceError::Outside {
            acquisition,
            axis: "kz",
            value,
            ..
        } if raw.partitions => records.wrong(
            acquisition,
            format!("{value} of its kspace_encode_step_2"),
            "a kz of −0.5 to 0.5 cycles/pixel (the centre and the number of partitions are in the header)",
        ),
        other => IoError::Invalid {
            file: source.name().to_owned(),
            dataset: records.path().to_owned(),
            reason: other.to_string(),
        },
    })?;
    let (kspace, note) = excluded.remove(kspace);
    notes.extend(note);
    let note = LeftOut::note(chosen.len(), heads.len(), "acquisitions", &left_out);
    notes.extend(note.map(|note| match options.image {
        Some(_) => note.replacen("are used", "are used for one image", 1),
        None => note,
    }));
    Ok(KSpaceFile {
        kspace,
        placement,
        slice: heads[chosen[0]].idx.slice,
        trajectory: header.trajectory.clone(),
        acquisitions: heads.len(),
        left_out,
        notes,
    })
}

/// A header with this matrix of the image. The fields of view stay. If the header does not encode
/// z, kz of the trajectory, if it has one, is in pixels as large as those of x; without one, there
/// are as many partitions as the image has slices.
pub(super) fn with_matrix(
    header: &Header,
    matrix: Option<MatrixSize>,
    has_kz: bool,
    notes: &mut Vec<String>,
) -> Header {
    let mut header = header.clone();
    if let (Some(matrix), Some(mut encoded)) = (matrix, header.encoded.or(header.recon)) {
        let mut recon = header.recon.unwrap_or(encoded);
        let [x, y, z] = matrix.along_k();
        if matrix.axes == 2 || !has_kz && encoded.matrix[2] == 1 {
            encoded.matrix[2] = z;
        } else if encoded.matrix[2] == 1 && z > 1 {
            let mut is_thin = false;
            for space in [&mut encoded, &mut recon] {
                is_thin |= space.thicken();
            }
            encoded.matrix[2] = match (encoded.field_of_view, encoded.pixel(0)) {
                (Some(view), Some(pixel)) => (view[2] / pixel).round() as usize,
                _ => encoded.matrix[0],
            };
            let as_thick = if is_thin {
                ", and the volume is as thick as it is wide, as the header has the thickness of a slice"
            } else {
                ""
            };
            notes.push(format!(
                "the header's matrix has z = 1: kz is taken to be in pixels as large as those of x ({} in the field of view){as_thick}",
                encoded.matrix[2]
            ));
        }
        header.encoded = Some(encoded);
        header.recon = Some(Space {
            matrix: [x, y, z],
            ..recon
        });
    }
    header
}

/// A note on positions that were converted to cycles/pixel.
pub(in crate::io) fn unit_note(
    unit: KUnit,
    trajectory: &Array2<f64>,
    axes: usize,
) -> Option<String> {
    let largest = trajectory.iter().fold(0.0_f64, |most, k| most.max(k.abs()));
    (unit != KUnit::CYCLES_PER_PIXEL).then(|| {
        format!(
            "{} are converted from {unit}: the largest is {} cycles/pixel",
            if axes == 3 {
                "kx, ky and kz"
            } else {
                "kx and ky"
            },
            significant(largest, 4)
        )
    })
}

/// The images that `options` select, sorted.
pub(super) fn images(
    source: &Source,
    records: &Records<'_>,
    options: &ReadOptions,
) -> Result<Vec<ImageIndex>, IoError> {
    let heads = Head::read_all(records)?;
    let (chosen, _) = choose(source, records, &heads, options, true, &mut Vec::new())?;
    let index = |number: &usize| {
        let mut index = ImageIndex::default();
        for counter in Counter::ALL {
            // What is joined has no value of its own.
            if options.select.of(counter) != Some(Choice::Combined) {
                counter.set(&mut index, counter.of(&heads[*number].idx));
            }
        }
        index
    };
    let mut images: Vec<ImageIndex> = chosen.iter().map(index).collect();
    images.sort_unstable();
    images.dedup();
    Ok(images)
}
