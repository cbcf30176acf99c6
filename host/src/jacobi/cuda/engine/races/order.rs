//! What happens before what, and memory that is touched without an order.
//!
//! Every queue has a time line, and so has the host. A time line's clock says how far it knows all
//! others to be. Of each element of memory the last write and the reads after it are kept: who comes
//! next must know of them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Number of a time line.
pub(super) type Line = usize;

/// The host's.
pub(super) const HOST: Line = 0;

/// Number of a mark.
pub(super) type MarkId = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Elements that a piece of work touches, as addresses of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) bytes: Range<usize>,
    pub(super) access: Access,
}

/// A piece of work, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) line: Line,
    pub(super) name: &'static str,
    /// First sweep in its batch, where it is known.
    pub(super) sweep: Option<usize>,
}

/// What is queued.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Touch(Work, Vec<Touch>),
    Record(MarkId, Line),
    Wait(MarkId, Line),
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

/// How far each time line is known to be.
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

/// When an element was touched, on its line, and by what.
#[derive(Debug, Clone, Copy)]
struct Moment {
    line: Line,
    time: u32,
    work: usize,
}

#[derive(Debug, Clone, Default)]
struct Element {
    written: Option<Moment>,
    /// Since then, the last of each line.
    read: Vec<Moment>,
}

#[derive(Debug)]
struct Memory {
    device: usize,
    what: &'static str,
    size: usize,
    elements: Vec<Element>,
}

/// Two pieces of work without an order that touch the same memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Race {
    device: usize,
    what: &'static str,
    elements: Range<usize>,
    /// In the order of the calls.
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

/// All time lines and all memory.
#[derive(Debug, Default)]
pub(super) struct Order {
    clocks: Vec<Clock>,
    /// Of what is not recorded.
    marks: BTreeMap<MarkId, Clock>,
    /// By address.
    memory: BTreeMap<usize, Memory>,
    works: Vec<Work>,
    races: Vec<Race>,
}

impl Order {
    pub(super) fn races(&self) -> &[Race] {
        &self.races
    }

    /// Memory that is not touched by anything yet.
    pub(super) fn allocated(
        &mut self,
        address: usize,
        (len, size): (usize, usize),
        device: usize,
        what: &'static str,
    ) {
        let end = address + len * size;
        // What was there before was given back.
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

    /// The device whose memory that is.
    pub(super) fn device_of(&self, address: usize) -> Option<usize> {
        let (_, memory) = self.memory.range(..=address).next_back()?;
        Some(memory.device)
    }

    /// Where the memory begins that an address is in.
    pub(super) fn start_of(&self, address: usize) -> usize {
        let found = self.memory.range(..=address).next_back();
        *found.expect("memory of the fleet").0
    }

    /// The host goes on when those lines are done with what they have.
    pub(super) fn host_waits(&mut self, lines: impl Iterator<Item = Line>) {
        for line in lines {
            let known = self.clock(line).clone();
            self.clock(HOST).learn(&known);
        }
    }

    /// Queues one step.
    pub(super) fn queue(&mut self, step: &Step) {
        let mut marks = std::mem::take(&mut self.marks);
        self.act(step, &mut marks);
        self.marks = marks;
    }

    /// Queues recorded steps: behind everything in all lines, and before everything after.
    pub(super) fn replay(&mut self, steps: &[Step]) {
        self.meet();
        // A recording knows its own marks only.
        let mut marks = BTreeMap::new();
        for step in steps {
            self.act(step, &mut marks);
        }
        self.meet();
    }

    /// Lets all lines but the host's wait for each other.
    fn meet(&mut self) {
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

    fn act(&mut self, step: &Step, marks: &mut BTreeMap<MarkId, Clock>) {
        let line = step.line();
        // Nothing begins before it is queued.
        let host = self.clock(HOST).clone();
        self.clock(line).learn(&host);
        match step {
            Step::Record(mark, _) => {
                marks.insert(*mark, self.clock(line).clone());
            }
            Step::Wait(mark, _) => {
                if let Some(marked) = marks.get(mark) {
                    self.clock(line).learn(marked);
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
        let (start, memory) = found.expect("memory of the fleet");
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
