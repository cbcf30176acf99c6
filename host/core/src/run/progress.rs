//! Observers of a run: a progress bar on a terminal, JSON lines for programs, or none.

#[cfg(feature = "terminal")]
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::Write;
#[cfg(feature = "terminal")]
use std::time::Duration;

/// Receives the progress of a run.
pub trait Observer<E> {
    /// Called before the first iteration.
    fn start(&mut self, planned: usize, done: usize);
    /// Called with the metrics of each iteration that has them, possibly some iterations late.
    fn entry(&mut self, entry: &E);
    /// Called after each step with the number of completed iterations.
    fn progress(&mut self, _done: usize) {}
    /// Called at the end of the run, even if it was interrupted.
    fn end(&mut self);
}

/// An observer without output.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl<E> Observer<E> for Silent {
    fn start(&mut self, _planned: usize, _done: usize) {}
    fn entry(&mut self, _entry: &E) {}
    fn end(&mut self) {}
}

/// A progress bar on standard error with a message about the last entry. Without a terminal it
/// shows nothing.
#[cfg(feature = "terminal")]
pub struct Bar<F> {
    bar: ProgressBar,
    message: F,
}

#[cfg(feature = "terminal")]
impl<F> Bar<F> {
    /// A bar that shows `message` of the last entry.
    pub fn new(message: F) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            message,
        }
    }
}

#[cfg(feature = "terminal")]
impl<E, F: Fn(&E) -> String> Observer<E> for Bar<F> {
    fn start(&mut self, planned: usize, done: usize) {
        // The template is a constant, which is valid; the default bar avoids a panic all the same.
        let style = ProgressStyle::with_template("{bar:32} {pos}/{len} {elapsed}<{eta} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar = ProgressBar::new(planned as u64).with_style(style);
        self.bar.set_position(done as u64);
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn entry(&mut self, entry: &E) {
        self.bar.set_message((self.message)(entry));
    }

    fn progress(&mut self, done: usize) {
        self.bar.set_position(done as u64);
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// One JSON object per line: `{"event":"start",…}`, `{"event":"iteration",…}`, `{"event":"end"}`.
pub struct JsonLines<W: Write> {
    to: W,
    image: Option<usize>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `to`, which is flushed after every line.
    pub fn new(to: W) -> Self {
        Self { to, image: None }
    }

    /// The same for the image of this number, from 1, of several: every line has it as `image`.
    #[must_use]
    pub fn of_image(self, number: usize) -> Self {
        Self {
            image: Some(number),
            ..self
        }
    }

    fn line(&mut self, value: &impl Serialize) {
        // The reader may close the pipe; the run continues without it.
        if let Ok(text) = serde_json::to_string(value)
            && writeln!(self.to, "{text}").is_ok()
        {
            self.to.flush().unwrap_or_default();
        }
    }
}

#[derive(Serialize)]
struct Event<'a, E> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<usize>,
    #[serde(flatten)]
    entry: Option<&'a E>,
    #[serde(skip_serializing_if = "Option::is_none")]
    planned: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<usize>,
}

impl<E: Serialize, W: Write> Observer<E> for JsonLines<W> {
    fn start(&mut self, planned: usize, done: usize) {
        let (planned, done) = (Some(planned), Some(done));
        self.line(&Event::<E> {
            event: "start",
            image: self.image,
            entry: None,
            planned,
            done,
        });
    }

    fn entry(&mut self, entry: &E) {
        let entry = Some(entry);
        self.line(&Event {
            event: "iteration",
            image: self.image,
            entry,
            planned: None,
            done: None,
        });
    }

    fn end(&mut self) {
        self.line(&Event::<E> {
            event: "end",
            image: self.image,
            entry: None,
            planned: None,
            done: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_one_json_object() {
        #[derive(Serialize)]
        struct Entry {
            iteration: usize,
        }
        let mut out = Vec::new();
        let mut lines = JsonLines::new(&mut out);
        Observer::<Entry>::start(&mut lines, 3, 1);
        lines.entry(&Entry { iteration: 2 });
        Observer::<Entry>::end(&mut lines);
        let text = String::from_utf8(out).unwrap();
        let events: Vec<serde_json::Value> = text
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(events[0]["planned"], 3);
        assert_eq!(events[1]["iteration"], 2);
        assert_eq!(events[2]["event"], "end");
    }
}
