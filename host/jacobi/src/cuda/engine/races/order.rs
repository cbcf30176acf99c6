//! The happens-before relation, and accesses to memory that are not ordered.
//!
//! Each stream and the host have a time line with a vector clock, which tracks how far all other
//! time lines are known to have progressed. For each element of memory, the last write and the
//! reads after it are stored; the next access must happen after them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// The number of a time line.
pub(super) type Line = usize;

/// The time line of the host.
pub(super) const HOST: Line = 0;

/// The number of an event.
pub(super) type EventId = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// The memory that an operation accesses, as addresses of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) bytes: Range<usize>,
    pub(super) access: Access,
}

/// An operation, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) line: Line,
    pub(super) name: &'static str,
    /// First sweep within its batch, if known.
    pub(super) sweep: Option<usize>,
}

/// A queued step.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Touch(Work, Vec<Touch>),
    Record(EventId, Line),
    Wait(EventId, Line),
}

impl Step {
    fn line(&self) -> Line {
        match self {
            Self::Touch(Work { line, .. }, _) | Self::Record(_, line) | Self::Wait(_, line) => {
                *line
            }
        }
    }
}

/// A vector clock: the known progress of each time line.
#[derive(Debug, Clone, Default)]
struct Clock(Vec<u32>);

impl Clock {
    fn of(&self, line: Line) -> u32 {
        self.0.get(line).copied().unwrap_or(0)
    }

    fn tick(&mut self, line: Line) -> u32 {
        self.grow(line + 1);
        self.0[line] += 1;
        self.0[line]
    }

    fn learn(&mut self, other: &Self) {
        self.grow(other.0.len());
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }

    fn grow(&mut self, len: usize) {
        if self.0.len() < len {
            self.0.resize(len, 0);
        }
    }
}

/// The time of an access on its time line, and the operation.
#[derive(Debug, Clone, Copy)]
struct Moment {
    line: Line,
    time: u32,
    work: usize,
}

#[derive(Debug, Clone, Default)]
struct Element {
    written: Option<Moment>,
    /// The last read of each time line since then.
    read: Vec<Moment>,
}

#[derive(Debug)]
struct Memory {
    device: usize,
    what: &'static str,
    size: usize,
    elements: Vec<Element>,
}

/// Two unordered operations that access the same memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Race {
    device: usize,
    what: &'static str,
    elements: Range<usize>,
    /// The two operations, in the order of the calls.
    works: [(Work, Access); 2],
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of device {}, {:?}:",
            self.what, self.device, self.elements
        )?;
        for (work, access) in &self.works {
            write!(f, " {access:?} by {} in line {}", work.name, work.line)?;
            if let Some(sweep) = work.sweep {
                write!(f, " (sweep {sweep})")?;
            }
            f.write_str(";")?;
        }
        Ok(())
    }
}

/// The state of all time lines and all memory.
#[derive(Debug, Default)]
pub(super) struct Order {
    clocks: Vec<Clock>,
    /// Clocks of the events recorded outside of captures.
    events: BTreeMap<EventId, Clock>,
    /// Allocations by address.
    memory: BTreeMap<usize, Memory>,
    works: Vec<Work>,
    races: Vec<Race>,
}

impl Order {
    pub(super) fn races(&self) -> &[Race] {
        &self.races
    }

    /// Adds an allocation that has not been accessed yet.
    pub(super) fn allocated(
        &mut self,
        address: usize,
        (len, size): (usize, usize),
        device: usize,
        what: &'static str,
    ) {
        let end = address + len * size;
        // Earlier allocations at these addresses were freed.
        self.memory
            .retain(|start, old| *start >= end || start + old.elements.len() * old.size <= address);
        let elements = vec![Element::default(); len];
        let memory = Memory {
            device,
            what,
            size,
            elements,
        };
        self.memory.insert(address, memory);
    }

    /// The device of the allocation that contains an address.
    pub(super) fn device_of(&self, address: usize) -> Option<usize> {
        let (_, memory) = self.memory.range(..=address).next_back()?;
        Some(memory.device)
    }

    /// The start of the allocation that contains an address.
    pub(super) fn start_of(&self, address: usize) -> usize {
        let found = self.memory.range(..=address).next_back();
        *found.expect("memory of the group").0
    }

    /// Makes the host wait for all work of these time lines.
    pub(super) fn host_waits(&mut self, lines: impl Iterator<Item = Line>) {
        for line in lines {
            let known = self.clock(line).clone();
            self.clock(HOST).learn(&known);
        }
    }

    /// Queues one step.
    pub(super) fn queue(&mut self, step: &Step) {
        let mut events = std::mem::take(&mut self.events);
        self.act(step, &mut events);
        self.events = events;
    }

    /// Queues captured steps after all earlier work and before all later work of all time lines.
    pub(super) fn replay(&mut self, steps: &[Step]) {
        self.synchronize_all();
        // A graph contains only its own events.
        let mut events = BTreeMap::new();
        for step in steps {
            self.act(step, &mut events);
        }
        self.synchronize_all();
    }

    /// Makes all time lines except the host's wait for each other.
    fn synchronize_all(&mut self) {
        let mut all = Clock::default();
        for clock in &self.clocks {
            all.learn(clock);
        }
        for clock in self.clocks.iter_mut().skip(HOST + 1) {
            clock.clone_from(&all);
        }
    }

    fn clock(&mut self, line: Line) -> &mut Clock {
        if self.clocks.len() <= line {
            self.clocks.resize(line + 1, Clock::default());
        }
        &mut self.clocks[line]
    }

    fn act(&mut self, step: &Step, events: &mut BTreeMap<EventId, Clock>) {
        let line = step.line();
        // No operation begins before it is queued.
        let host = self.clock(HOST).clone();
        self.clock(line).learn(&host);
        match step {
            Step::Record(event, _) => {
                events.insert(*event, self.clock(line).clone());
            }
            Step::Wait(event, _) => {
                if let Some(recorded) = events.get(event) {
                    self.clock(line).learn(recorded);
                }
            }
            Step::Touch(work, touched) => {
                let time = self.clock(line).tick(line);
                self.works.push(*work);
                let now = Moment {
                    line,
                    time,
                    work: self.works.len() - 1,
                };
                for touch in touched {
                    self.touch(now, touch);
                }
            }
        }
    }

    fn touch(&mut self, now: Moment, touch: &Touch) {
        if touch.bytes.is_empty() {
            return;
        }
        let clock = &self.clocks[now.line];
        let found = self.memory.range_mut(..=touch.bytes.start).next_back();
        let (start, memory) = found.expect("memory of the group");
        let elements =
            (touch.bytes.start - start) / memory.size..(touch.bytes.end - start) / memory.size;
        for at in elements {
            let element = &mut memory.elements[at];
            let read = match touch.access {
                Access::Read => &[],
                Access::Write => element.read.as_slice(),
            };
            let before = element.written.iter().map(|moment| (moment, Access::Write));
            let before = before.chain(read.iter().map(|moment| (moment, Access::Read)));
            for (moment, access) in before {
                if clock.of(moment.line) >= moment.time {
                    continue;
                }
                let works = [
                    (self.works[moment.work], access),
                    (self.works[now.work], touch.access),
                ];
                match self.races.last_mut() {
                    Some(last) if last.works == works && last.elements.end == at => {
                        last.elements.end += 1;
                    }
                    _ => self.races.push(Race {
                        device: memory.device,
                        what: memory.what,
                        elements: at..at + 1,
                        works,
                    }),
                }
            }
            match touch.access {
                Access::Write => {
                    element.written = Some(now);
                    element.read.clear();
                }
                Access::Read => {
                    element.read.retain(|moment| moment.line != now.line);
                    element.read.push(now);
                }
            }
        }
    }
}
