//! `warpstride devices`: lists the GPUs, or gives the reason why there are none.

use super::failure::Failure;
use super::output::{say, say_json};
use serde::Serialize;
use std::fmt::Write as _;
use warpstride::cuda::{DeviceInfo, list_devices};

/// A device with the kernels that it would run.
#[derive(Debug, Serialize)]
struct ListedDevice {
    #[serde(flatten)]
    info: DeviceInfo,
    /// Architecture of the kernels for this device, such as `sm_90`; `None` if the device is too
    /// old.
    ptx: Option<String>,
}

#[derive(Debug, Serialize)]
struct Listing {
    devices: Vec<ListedDevice>,
    /// The reason why there are no devices.
    reason: Option<String>,
}

/// Prints the list as text or as a JSON document. The absence of devices is not an error.
pub(crate) fn run(json: bool) -> Result<(), Failure> {
    let listing = listing();
    if json {
        say_json(&listing)
    } else {
        say(&text(&listing))
    }
}

fn listing() -> Listing {
    match list_devices() {
        Ok(devices) => Listing {
            devices: devices.into_iter().map(listed).collect(),
            reason: None,
        },
        Err(why) => Listing {
            devices: Vec::new(),
            reason: Some(why.to_string()),
        },
    }
}

fn listed(info: DeviceInfo) -> ListedDevice {
    ListedDevice {
        ptx: warpstride::selftest::kernels()
            .arch_for(info.compute_capability)
            .ok()
            .map(|arch| format!("sm_{arch}")),
        info,
    }
}

fn text(listing: &Listing) -> String {
    let mut out = String::new();
    if let Some(reason) = &listing.reason {
        let _ = writeln!(out, "no CUDA device: {reason}");
        let _ = writeln!(out, "all commands run on the CPU (--backend cpu)");
    }
    for device in &listing.devices {
        describe(&mut out, device);
    }
    out
}

fn describe(out: &mut String, ListedDevice { info, ptx }: &ListedDevice) {
    let gib = |bytes: usize| bytes as f64 / f64::from(1 << 30);
    let (major, minor) = (info.compute_capability / 10, info.compute_capability % 10);
    let version = info.driver_version;
    let kernels = ptx
        .as_deref()
        .unwrap_or("none: the device is older than all supported architectures");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "device {}: {}", info.ordinal, info.name);
    for (name, value) in [
        (
            "memory",
            format!(
                "{:.1} GiB, {:.1} GiB free",
                gib(info.memory_bytes),
                gib(info.memory_free_bytes)
            ),
        ),
        ("multiprocessors", info.multiprocessors.to_string()),
        ("compute capability", format!("{major}.{minor}")),
        (
            "shared memory",
            format!("{} KiB per block", info.shared_per_block_bytes / 1024),
        ),
        (
            "driver",
            format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        ),
        ("kernels", kernels.to_owned()),
        ("transforms", transforms(info.compute_capability)),
        ("peers", peers(info)),
    ] {
        let _ = writeln!(out, "  {name:<19} {value}");
    }
}

/// The transforms by warpstride's own kernels.
fn transforms(compute_capability: u32) -> String {
    let own = warpstride::gpu::faster_than_cufft(compute_capability).map(|row| {
        let shape = match *row.shape {
            [a, b] if a == b => format!("{a}²"),
            [a, b, c] if a == b && b == c => format!("{a}³"),
            ref axes => {
                let axes: Vec<_> = axes.iter().map(usize::to_string).collect();
                axes.join(" × ")
            }
        };
        match row.batch_from {
            0 | 1 => shape,
            from => format!("{shape} (from {from} arrays)"),
        }
    });
    let own: Vec<_> = own.collect();
    if own.is_empty() {
        "cuFFT".to_owned()
    } else {
        format!("own kernels for {}; otherwise cuFFT", own.join(", "))
    }
}

fn peers(info: &DeviceInfo) -> String {
    if info.peers.is_empty() {
        return "no other device".to_owned();
    }
    let links = info.peers.iter().map(|peer| {
        let access = if peer.direct {
            "direct"
        } else {
            "through the host"
        };
        format!("device {} {access}", peer.ordinal)
    });
    links.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpstride::cuda::PeerLink;

    fn device(compute_capability: u32) -> DeviceInfo {
        DeviceInfo {
            ordinal: 1,
            name: "Test device".to_owned(),
            memory_bytes: 3 << 30,
            memory_free_bytes: 1 << 30,
            multiprocessors: 132,
            compute_capability,
            threads_per_block: 1024,
            shared_per_block_bytes: 227 * 1024,
            l2_cache_bytes: 50 << 20,
            driver_version: 13_010,
            peers: vec![PeerLink {
                ordinal: 0,
                direct: true,
            }],
        }
    }

    #[test]
    fn a_device_is_described() {
        let listing = Listing {
            devices: vec![listed(device(90))],
            reason: None,
        };
        let text = text(&listing);
        for part in [
            "device 1: Test device",
            "3.0 GiB, 1.0 GiB free",
            "132",
            "9.0",
            "227 KiB",
            "CUDA 13.1",
            "sm_90",
            "device 0 direct",
            "own kernels for 64², 96², 128², 160²,",
            " 480² (from 2 arrays), ",
            " 192 × 256, ",
            " 256³; otherwise cuFFT",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
        let json = serde_json::to_value(&listing).unwrap();
        assert_eq!(json["devices"][0]["multiprocessors"], 132);
        assert_eq!(json["devices"][0]["ptx"], "sm_90");
    }

    #[test]
    fn a_device_that_is_too_old_is_reported() {
        let listed = listed(device(70));
        assert_eq!(listed.ptx, None);
        let mut out = String::new();
        describe(&mut out, &listed);
        assert!(out.contains("older"), "{out}");
    }

    #[test]
    fn devices_are_listed_or_a_reason_is_given() {
        let listing = listing();
        let text = text(&listing);
        assert!(text.starts_with("device 0") || text.starts_with("no CUDA device: "));
        let json = serde_json::to_value(&listing).unwrap();
        let none = json["devices"].as_array().unwrap().is_empty();
        assert_eq!(none, json["reason"].is_string());
    }
}
