//! A timeline of devices in the Chrome trace format, which Perfetto can open.

use serde::Serialize;
use serde_json::Error;
use std::borrow::Cow;
use warpstride_cuda::gpu::ProfileSpan;

#[derive(Serialize)]
struct Trace<'a, T> {
    #[serde(rename = "traceEvents")]
    events: Vec<Event<'a>>,
    #[serde(rename = "displayTimeUnit")]
    unit: &'static str,
    #[serde(rename = "otherData")]
    other: &'a T,
}

#[derive(Serialize)]
struct Event<'a> {
    #[serde(rename = "ph")]
    phase: &'static str,
    #[serde(rename = "pid")]
    device: usize,
    #[serde(rename = "tid")]
    stream: usize,
    name: &'static str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    times: Option<Times>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Arguments<'a>>,
}

/// Microseconds.
#[derive(Serialize)]
struct Times {
    #[serde(rename = "ts")]
    start: f64,
    #[serde(rename = "dur")]
    duration: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Arguments<'a> {
    Name(Cow<'a, str>),
    Bytes(usize),
}

/// The name of a device, or of one of its streams.
fn named<'a>(
    kind: &'static str,
    device: usize,
    stream: usize,
    name: impl Into<Cow<'a, str>>,
) -> Event<'a> {
    Event {
        phase: "M",
        device,
        stream,
        name: kind,
        times: None,
        args: Some(Arguments::Name(name.into())),
    }
}

/// Encodes a timeline with a process for each device, a thread for each of its streams, and an
/// event for each span (in microseconds, with the bytes of a copy in `args`). `devices` are the
/// names of the devices; `other` is written as `otherData`.
///
/// # Errors
/// The JSON encoder fails.
pub fn timeline(
    devices: &[String],
    spans: impl IntoIterator<Item = ProfileSpan>,
    other: &impl Serialize,
) -> Result<String, Error> {
    let mut streams: Vec<(usize, &str)> = Vec::new();
    let mut work = Vec::new();
    for span in spans {
        let key = (span.device, span.stream);
        let known = streams.iter().position(|other| *other == key);
        let stream = known.unwrap_or_else(|| {
            streams.push(key);
            streams.len() - 1
        });
        work.push(Event {
            phase: "X",
            device: span.device,
            stream,
            name: span.name,
            times: Some(Times {
                start: span.start_us,
                duration: (span.end_us - span.start_us).max(0.0),
            }),
            args: span.bytes.map(Arguments::Bytes),
        });
    }
    let of_devices = devices.iter().enumerate();
    let of_devices = of_devices.map(|(device, name)| named("process_name", device, 0, name));
    let of_streams = streams.iter().enumerate();
    let of_streams =
        of_streams.map(|(stream, (device, name))| named("thread_name", *device, stream, *name));
    serde_json::to_string(&Trace {
        events: of_devices.chain(of_streams).chain(work).collect(),
        unit: "ns",
        other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn copies_have_their_bytes_and_streams_their_names() {
        let span = |stream, name, bytes, start_us, end_us| ProfileSpan {
            device: 0,
            stream,
            name,
            bytes,
            start_us,
            end_us,
        };
        let spans = [
            span("work", "kernel", None, 0.5, 2.0),
            span("copies", "send", Some(64), 1.0, 3.0),
            span("work", "kernel", None, 2.0, 2.0),
        ];
        let other = json!({"backend": "cuda"});
        let text = timeline(&["A \"B\"".to_owned()], spans, &other).unwrap();
        let trace: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({
            "traceEvents": [
                {"ph": "M", "pid": 0, "tid": 0, "name": "process_name", "args": {"name": "A \"B\""}},
                {"ph": "M", "pid": 0, "tid": 0, "name": "thread_name", "args": {"name": "work"}},
                {"ph": "M", "pid": 0, "tid": 1, "name": "thread_name", "args": {"name": "copies"}},
                {"ph": "X", "pid": 0, "tid": 0, "name": "kernel", "ts": 0.5, "dur": 1.5},
                {"ph": "X", "pid": 0, "tid": 1, "name": "send", "ts": 1.0, "dur": 2.0, "args": {"bytes": 64}},
                {"ph": "X", "pid": 0, "tid": 0, "name": "kernel", "ts": 2.0, "dur": 0.0},
            ],
            "displayTimeUnit": "ns",
            "otherData": {"backend": "cuda"},
        });
        assert_eq!(trace, expected);
    }
}
