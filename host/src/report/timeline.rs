//! What devices did and when, in the Chrome trace format, which Perfetto opens.

use crate::jacobi::{IdleGap, Setup, Span};
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Serialize)]
struct Trace<'a> {
    #[serde(rename = "traceEvents")]
    events: Vec<Value>,
    #[serde(rename = "displayTimeUnit")]
    unit: &'static str,
    #[serde(rename = "otherData")]
    other: Other<'a>,
}

#[derive(Serialize)]
struct Other<'a> {
    backend: &'a str,
    scheme: &'a str,
    idle_gap_us: &'a [IdleGap],
}

/// A process for each device, a thread for each of its lanes, an event for each kernel and copy
/// (microseconds); the idle gaps between sweeps stand beside them.
///
/// # Errors
/// The encoder's.
pub fn timeline(
    setup: &Setup,
    spans: &[Span],
    gaps: &[IdleGap],
) -> Result<String, serde_json::Error> {
    let mut lanes: Vec<(usize, &str)> = Vec::new();
    let mut events = Vec::with_capacity(spans.len());
    for span in spans {
        let key = (span.device, span.lane);
        let lane = lanes.iter().position(|known| *known == key);
        let lane = lane.unwrap_or_else(|| {
            lanes.push(key);
            lanes.len() - 1
        });
        events.push(json!({
            "ph": "X",
            "pid": span.device,
            "tid": lane,
            "name": span.name,
            "ts": span.start_us,
            "dur": (span.end_us - span.start_us).max(0.0),
        }));
    }
    let name = |kind: &str, process: usize, lane: usize, name: &str| json!({"ph": "M", "name": kind, "pid": process, "tid": lane, "args": {"name": name}});
    let mut named: Vec<Value> = Vec::new();
    for (device, number) in setup.devices.iter().enumerate() {
        let maker = setup.device_names.get(device).map_or("", String::as_str);
        named.push(name(
            "process_name",
            device,
            0,
            &format!("device {number}: {maker}"),
        ));
    }
    for (lane, (device, word)) in lanes.iter().enumerate() {
        named.push(name("thread_name", *device, lane, word));
    }
    named.append(&mut events);
    serde_json::to_string(&Trace {
        events: named,
        unit: "ns",
        other: Other {
            backend: setup.backend,
            scheme: setup.scheme,
            idle_gap_us: gaps,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_processes_and_lanes_are_threads() {
        let setup = Setup {
            backend: "cuda",
            scheme: "overlap",
            devices: vec![4, 2],
            device_names: vec!["A".to_owned(), "B".to_owned()],
            ..Setup::default()
        };
        let span = |device, lane, start_us, end_us| Span {
            batch: 0,
            device,
            lane,
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
        let text = timeline(&setup, &spans, &[]).unwrap();
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
