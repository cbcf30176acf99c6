//! Graphs: a sequence of launches recorded once and started with one call.
//!
//! A graph holds addresses, of its own device and of others. So while one is alive (or being
//! recorded) the process frees nothing of any device: buffers, transforms and modules dropped
//! meanwhile are freed with the last graph.

use std::fmt;

use super::context::Context;
use super::error::{CudaError, Result, check};
use super::event::{Event, Timing};
use super::ffi::driver;
use super::retired::Alive;
use super::stream::Stream;

/// Work recorded from a stream, ready to be started again and again.
pub struct Graph {
    executable: driver::Handle,
    nodes: usize,
    /// Behind the last launch; the driver runs the launches of one graph one after the other. The
    /// whole device could not be waited for while another stream is recorded.
    done: Event,
    alive: Alive,
}

// SAFETY: the driver asks only that an executable graph is not launched from two threads at once;
// `launch` takes `&mut self`.
unsafe impl Send for Graph {}
// SAFETY: shared references give nothing but the node count.
unsafe impl Sync for Graph {}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("nodes", &self.nodes)
            .finish_non_exhaustive()
    }
}

/// Ends the recording, also when the closure panics.
struct Recording<'a> {
    stream: &'a Stream,
    ended: bool,
}

impl Recording<'_> {
    fn end(&mut self) -> Result<driver::Handle> {
        self.ended = true;
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream is recording since `Graph::capture`; the address is of a live
        // variable.
        let answer = unsafe { driver::cuStreamEndCapture(self.stream.raw(), &raw mut graph) };
        check(answer, "cuStreamEndCapture").map(|()| graph)
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if let Ok(graph) = self.end() {
            destroy(self.stream.context(), graph);
        }
    }
}

impl Graph {
    /// Records what `work` puts into `stream` instead of doing it. `work` may launch, copy between
    /// device buffers, fill with zeros, transform and go through a [`Relay`](super::Relay); copies
    /// with memory of the host's own and waiting are refused. Other streams, of other devices too,
    /// take part when they wait for a mark set within the recording; `stream` has to wait for a mark
    /// behind the last of their work.
    ///
    /// # Errors
    /// Those of `work`, or the driver's.
    pub fn capture<E: From<CudaError>>(
        stream: &Stream,
        work: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let context = stream.context();
        if stream.is_legacy_default() {
            let what = "work of the default stream";
            return Err(CudaError::Captured { what }.into());
        }
        let alive = Alive::new(context);
        let done = Event::new(context, Timing::Off)?;
        let begins = stream.refuse_capture("a capture within a capture")?;
        // SAFETY: the stream is alive and not recording; its context is current.
        let answer =
            unsafe { driver::cuStreamBeginCapture_v2(stream.raw(), driver::CAPTURE_THREAD_LOCAL) };
        check(answer, "cuStreamBeginCapture")?;
        drop(begins);
        let mut recording = Recording {
            stream,
            ended: false,
        };
        work()?;
        context.enter()?;
        let graph = recording.end()?;
        let made = instantiate(graph);
        destroy(context, graph);
        let (executable, nodes) = made?;
        Ok(Self {
            executable,
            nodes,
            done,
            alive,
        })
    }

    /// Launches, copies and fills that were recorded.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Queues everything recorded.
    ///
    /// # Errors
    /// The stream is of another device or captured, or the driver's.
    pub fn launch(&mut self, stream: &Stream) -> Result<()> {
        stream
            .context()
            .expect_same(self.alive.context(), "the graph")?;
        let _not_recorded = stream.refuse_capture("a graph")?;
        // SAFETY: both handles are alive; what the graph uses is not freed before it.
        let answer = unsafe { driver::cuGraphLaunch(self.executable, stream.raw()) };
        check(answer, "cuGraphLaunch")?;
        self.done.record(stream)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let context = self.alive.context();
        context.record_drop(self.done.synchronize());
        // SAFETY: made once, destroyed once, when it does not run any more.
        let answer = unsafe { driver::cuGraphExecDestroy(self.executable) };
        context.record_drop(check(answer, "cuGraphExecDestroy"));
    }
}

/// The executable form and the number of nodes.
fn instantiate(graph: driver::Handle) -> Result<(driver::Handle, usize)> {
    let mut nodes = 0;
    // SAFETY: the graph was just recorded; a null list asks for the number only.
    let answer = unsafe { driver::cuGraphGetNodes(graph, std::ptr::null_mut(), &raw mut nodes) };
    check(answer, "cuGraphGetNodes")?;
    let mut executable = std::ptr::null_mut();
    // SAFETY: as above; no error node and no log are asked for.
    let answer = unsafe {
        driver::cuGraphInstantiate_v2(
            &raw mut executable,
            graph,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            0,
        )
    };
    check(answer, "cuGraphInstantiate")?;
    Ok((executable, nodes))
}

fn destroy(context: &Context, graph: driver::Handle) {
    if graph.is_null() {
        return;
    }
    // SAFETY: a recorded graph, destroyed once; its executable form does not need it.
    let answer = unsafe { driver::cuGraphDestroy(graph) };
    context.record_drop(check(answer, "cuGraphDestroy"));
}
