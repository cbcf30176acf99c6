//! The timeline of the devices in the Chrome trace format, which Perfetto can open.

use crate::{Execution, IdleGap, Span};
use serde::Serialize;
use warpstride_core::run::{self, Setup};
use warpstride_cuda::gpu::ProfileSpan;

#[derive(Serialize)]
struct Other<'a> {
    backend: &'a str,
    scheme: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_gap_us: Option<&'a [IdleGap]>,
}

/// Encodes a timeline with a process for each device, a thread for each of its streams, an event
/// for each kernel and copy (in microseconds), and the idle gaps between sweeps, if they are known.
///
/// # Errors
/// The JSON encoder fails.
pub fn timeline(
    setup: &Setup,
    execution: &Execution,
    spans: &[Span],
    gaps: Option<&[IdleGap]>,
) -> Result<String, serde_json::Error> {
    let numbers = execution.devices.iter().enumerate();
    let devices: Vec<String> = numbers
        .map(|(device, number)| {
            let name = execution.device_names.get(device);
            format!("device {number}: {}", name.map_or("", String::as_str))
        })
        .collect();
    let spans = spans.iter().map(|span| ProfileSpan {
        device: span.device,
        stream: span.stream,
        name: span.name,
        bytes: None,
        start_us: span.start_us,
        end_us: span.end_us,
    });
    let other = Other {
        backend: setup.backend,
        scheme: execution.scheme,
        idle_gap_us: gaps,
    };
    run::timeline(&devices, spans, &other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn devices_are_processes_and_streams_are_threads() {
        let setup = Setup {
            backend: "cuda",
            ..Setup::default()
        };
        let execution = Execution {
            scheme: "overlap",
            devices: vec![4, 2],
            device_names: vec!["A".to_owned(), "B".to_owned()],
            ..Execution::default()
        };
        let span = |device, stream, start_us, end_us| Span {
            batch: 0,
            device,
            stream,
            name: "sweep",
            start_us,
            end_us,
        };
        let spans = [
            span(0, "bulk", 0.0, 2.5),
            span(1, "bulk", 1.0, 3.0),
            span(1, "top", 1.0, 1.5),
            span(0, "bulk", 3.0, 4.0),
        ];
        let text = timeline(&setup, &execution, &spans, None).unwrap();
        let trace: Value = serde_json::from_str(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |kind: &str| events.iter().filter(|e| e["name"] == kind).count();
        assert_eq!(
            (of("process_name"), of("thread_name"), of("sweep")),
            (2, 3, 4)
        );
        assert_eq!(events[0]["args"]["name"], "device 4: A");
        let second_device = events.iter().filter(|e| e["ph"] == "X" && e["pid"] == 1);
        let second_device: Vec<_> = second_device.collect();
        assert_eq!(second_device.len(), 2);
        assert_ne!(second_device[0]["tid"], second_device[1]["tid"]);
        assert_eq!(second_device[0]["dur"], 2.0);
        assert_eq!(trace["otherData"]["scheme"], "overlap");
    }
}
