//! The arguments by which frames are prepared: `--transform-frames`, `--centre`, `--bin`, `--dark`
//! and others.

use crate::args::PrepareArgs;
use crate::failure::Failure;
use warpstride::ptycho::{
    BadFrameSetting, Centre, CentreSetting, FaultSetting, FrameTransform, HotPixelSetting,
    HotPixels, MaskPolarity, NegativeCounts, NoData, NoDataSetting, ReadOptions, Saturation,
};

/// Most frames that the ranges of `--exclude` may have.
const MOST_EXCLUDED: usize = 1 << 20;

/// Sets the options that were given.
pub(super) fn prepare(args: &PrepareArgs, options: &mut ReadOptions) -> Result<(), Failure> {
    if let Some(every) = args.every {
        options.every = Some(every);
    }
    if let Some(list) = &args.exclude {
        options.exclude = excluded(list)?;
    }
    for (given, option) in [
        (&args.dark, &mut options.dark),
        (&args.flat, &mut options.flat),
        (&args.mask, &mut options.mask),
        (&args.monitor, &mut options.monitor),
        (&args.dataset, &mut options.dataset),
    ] {
        if given.is_some() {
            option.clone_from(given);
        }
    }
    if let Some(text) = &args.mask_marks {
        options.mask_marks = Some(marks("mask-marks", text)?);
    }
    if let Some(text) = &args.file_mask_marks {
        options.file_mask_marks = Some(marks("file-mask-marks", text)?);
    }
    if let Some(text) = &args.no_data {
        options.no_data = no_data(text)?;
    }
    if let Some(text) = &args.negative {
        options.negative = match text.trim() {
            "error" => NegativeCounts::Error,
            "clip" => NegativeCounts::Clip,
            _ => {
                let expected = "expected error or clip";
                return Err(Failure::usage(format!("--negative {text}: {expected}")));
            }
        };
    }
    if let Some(text) = &args.hot_pixels {
        options.hot_pixels = match text.trim() {
            "keep" => HotPixels::Setting(HotPixelSetting::Keep),
            _ => match fault("hot-pixels", "keep, report", "TIMES", text)? {
                Ok(FaultSetting::Report) => HotPixels::Setting(HotPixelSetting::Report),
                Ok(FaultSetting::Mask) => HotPixels::Setting(HotPixelSetting::Mask),
                Err(times) => HotPixels::Times(times),
            },
        };
    }
    if let Some(text) = &args.bad_frames {
        options.bad_frames = match text.trim() {
            "mask" => BadFrameSetting::Mask,
            "keep" => BadFrameSetting::Keep,
            "error" => BadFrameSetting::Error,
            _ => {
                return Err(Failure::usage(format!(
                    "--bad-frames {text}: expected mask, keep or error"
                )));
            }
        };
    }
    if let Some(text) = &args.saturation {
        options.saturation = match fault("saturation", "report", "COUNTS", text)? {
            Ok(setting) => Saturation::Setting(setting),
            Err(counts) => Saturation::Counts(counts),
        };
    }
    if let Some(list) = &args.transform_frames {
        options.transform_frames = maps(list)?;
    }
    if let Some(text) = &args.centre {
        options.centre = Some(centre(text)?);
    }
    if let Some(text) = &args.crop {
        options.crop = Some(shape("crop", text)?);
    }
    if let Some(text) = &args.pad {
        options.pad = Some(shape("pad", text)?);
    }
    if let Some(bin) = args.bin {
        options.bin = Some(bin);
    }
    Ok(())
}

/// The recipe's options that the arguments set, each with its argument.
pub(super) fn origins(args: &PrepareArgs) -> Vec<(String, String)> {
    let numbers = [("every", args.every), ("bin", args.bin)];
    let numbers = numbers.map(|(name, given)| (name, given.map(|n| n.to_string())));
    let texts = [
        ("exclude", &args.exclude),
        ("bad_frames", &args.bad_frames),
        ("dark", &args.dark),
        ("flat", &args.flat),
        ("mask", &args.mask),
        ("hot_pixels", &args.hot_pixels),
        ("saturation", &args.saturation),
        ("monitor", &args.monitor),
        ("dataset", &args.dataset),
        ("mask_marks", &args.mask_marks),
        ("file_mask_marks", &args.file_mask_marks),
        ("no_data", &args.no_data),
        ("negative", &args.negative),
        ("transform_frames", &args.transform_frames),
        ("centre", &args.centre),
        ("crop", &args.crop),
        ("pad", &args.pad),
    ];
    let texts = texts.map(|(name, given)| (name, given.clone()));
    (numbers.into_iter().chain(texts))
        .filter_map(|(name, given)| {
            let argument = format!("--{} {}", name.replace('_', "-"), given?);
            Some((format!("data.{name}"), argument))
        })
        .collect()
}

/// The meaning of the pixels of a mask that are not 0.
fn marks(name: &str, text: &str) -> Result<MaskPolarity, Failure> {
    match text.trim() {
        "bad" => Ok(MaskPolarity::Bad),
        "valid" | "good" => Ok(MaskPolarity::Valid),
        _ => Err(Failure::usage(format!(
            "--{name} {text}: expected bad or valid, the meaning of pixels other than 0"
        ))),
    }
}

/// `auto`, `off`, or counts separated by commas.
fn no_data(text: &str) -> Result<NoData, Failure> {
    match text.trim() {
        "auto" => return Ok(NoData::Setting(NoDataSetting::Auto)),
        "off" => return Ok(NoData::Setting(NoDataSetting::Off)),
        _ => {}
    }
    let counts: Result<Vec<f64>, _> = text.split(',').map(|n| n.trim().parse()).collect();
    counts.map(NoData::Values).map_err(|_| {
        Failure::usage(format!(
            "--no-data {text}: expected auto, off, or counts separated by commas such as -9999,nan"
        ))
    })
}

/// Numbers and ranges of numbers, such as `3,17,100-120`.
fn excluded(list: &str) -> Result<Vec<usize>, Failure> {
    let refuse = |expected: &str| Failure::usage(format!("--exclude {list}: expected {expected}"));
    let mut numbers = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let [first, last] = [first, last].map(|text| text.trim().parse::<usize>());
        let (Ok(first), Ok(last)) = (first, last) else {
            return Err(refuse("numbers of frames and ranges, such as 3,17,100-120"));
        };
        if first > last {
            return Err(refuse("ranges whose first number is not above the last"));
        }
        if last - first >= MOST_EXCLUDED - numbers.len().min(MOST_EXCLUDED) {
            return Err(refuse(&format!("at most {MOST_EXCLUDED} frames")));
        }
        numbers.extend(first..=last);
    }
    Ok(numbers)
}

/// A setting, or else a number.
fn fault(
    name: &str,
    settings: &str,
    number: &str,
    text: &str,
) -> Result<Result<FaultSetting, f64>, Failure> {
    match text.trim() {
        "report" => Ok(Ok(FaultSetting::Report)),
        "mask" => Ok(Ok(FaultSetting::Mask)),
        other => other.parse().map(Err).map_err(|_| {
            Failure::usage(format!(
                "--{name} {text}: expected {settings}, mask or a number ({number})"
            ))
        }),
    }
}

/// Maps of the frames, separated by commas; `none` for none.
fn maps(list: &str) -> Result<Vec<FrameTransform>, Failure> {
    if list.trim() == "none" {
        return Ok(Vec::new());
    }
    let map = |part: &str| {
        let name = part.trim();
        let name = name.strip_suffix("deg").unwrap_or(name);
        let mut all = FrameTransform::ALL.into_iter();
        all.find(|map| map.name() == name).ok_or_else(|| {
            let names = FrameTransform::ALL.map(FrameTransform::name).join(", ");
            Failure::usage(format!(
                "--transform-frames {list}: expected {names}, separated by commas, or none, found {}",
                part.trim()
            ))
        })
    };
    list.split(',').map(map).collect()
}

/// `auto`, or row and column.
fn centre(text: &str) -> Result<Centre, Failure> {
    if text.trim() == "auto" {
        return Ok(Centre::Setting(CentreSetting::Auto));
    }
    if text.trim() == "shifted" {
        return Ok(Centre::Setting(CentreSetting::Shifted));
    }
    let numbers: Vec<Option<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    match numbers[..] {
        [Some(row), Some(column)] => Ok(Centre::At([row, column])),
        _ => Err(Failure::usage(format!(
            "--centre {text}: expected ROW,COLUMN, two numbers of pixels such as 61.5,66, auto or shifted"
        ))),
    }
}

/// Rows and columns, such as `256x128`.
fn shape(name: &str, text: &str) -> Result<[usize; 2], Failure> {
    let numbers: Vec<Option<usize>> = (text.split(['x', '×']))
        .map(|n| n.trim().parse().ok().filter(|n| *n > 0))
        .collect();
    match numbers[..] {
        [Some(rows), Some(columns)] => Ok([rows, columns]),
        _ => Err(Failure::usage(format!(
            "--{name} {text}: expected rows and columns such as 256x256"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(args: &PrepareArgs) -> Result<ReadOptions, String> {
        let mut options = ReadOptions::default();
        match prepare(args, &mut options) {
            Ok(()) => Ok(options),
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[test]
    fn arguments_become_options() {
        let text = |text: &str| Some(text.to_owned());
        let args = PrepareArgs {
            every: Some(2),
            exclude: text("3, 17,20-22"),
            hot_pixels: text("mask"),
            saturation: text("4095"),
            transform_frames: text("transpose,rotate=90deg"),
            centre: text("61.5, 66"),
            crop: text("256x128"),
            bin: Some(2),
            dark: text("dark.h5:/entry/data"),
            no_data: text("-9999, -1"),
            file_mask_marks: text("good"),
            negative: text("clip"),
            ..PrepareArgs::default()
        };
        let options = of(&args).unwrap();
        assert_eq!(options.exclude, [3, 17, 20, 21, 22]);
        assert_eq!(
            options.hot_pixels,
            HotPixels::Setting(HotPixelSetting::Mask)
        );
        assert_eq!(options.saturation, Saturation::Counts(4095.0));
        let maps = [FrameTransform::Transpose, FrameTransform::Rotate90];
        assert_eq!(options.transform_frames, maps);
        assert_eq!(options.centre, Some(Centre::At([61.5, 66.0])));
        assert_eq!((options.crop, options.bin), (Some([256, 128]), Some(2)));
        assert_eq!(options.no_data, NoData::Values(vec![-9999.0, -1.0]));
        assert_eq!(options.file_mask_marks, Some(MaskPolarity::Valid));
        assert_eq!(options.negative, NegativeCounts::Clip);
        let origins = origins(&args);
        let named = |option: &str| origins.iter().find(|(name, _)| name == option).unwrap();
        assert_eq!(named("data.centre").1, "--centre 61.5, 66");
        assert_eq!(named("data.hot_pixels").1, "--hot-pixels mask");
        assert_eq!(origins.len(), 12);
    }

    #[test]
    fn other_texts_are_refused() {
        let given = |set: fn(&mut PrepareArgs) -> &mut Option<String>, text: &str| {
            let mut args = PrepareArgs::default();
            *set(&mut args) = Some(text.to_owned());
            of(&args).unwrap_err()
        };
        for text in ["", "3-", "9-2", "0-99999999999", "a"] {
            let refused = given(|args| &mut args.exclude, text);
            assert!(
                refused.starts_with(&format!("--exclude {text}: expected")),
                "{refused}"
            );
        }
        for text in ["12", "1,2,3", "middle", "1;2"] {
            let refused = given(|args| &mut args.centre, text);
            assert!(refused.contains("61.5,66, auto or shifted"), "{refused}");
        }
        for text in ["12", "0x4", "4x4x4", "-1x3"] {
            let refused = given(|args| &mut args.crop, text);
            assert!(refused.contains("such as 256x256"), "{refused}");
        }
        let refused = given(|args| &mut args.mask_marks, "1");
        assert!(refused.contains("expected bad or valid"), "{refused}");
        let refused = given(|args| &mut args.no_data, "-1;nan");
        assert!(refused.contains("such as -9999,nan"), "{refused}");
        let refused = given(|args| &mut args.negative, "0");
        assert!(refused.contains("expected error or clip"), "{refused}");
        let refused = given(|args| &mut args.transform_frames, "rotate=45");
        assert!(
            refused.contains("rotate=270, separated by commas, or none, found rotate=45"),
            "{refused}"
        );
        let refused = given(|args| &mut args.hot_pixels, "off");
        assert!(
            refused.contains("report, mask or a number (TIMES)"),
            "{refused}"
        );
    }
}
