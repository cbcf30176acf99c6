//! Graphs: a sequence of operations, captured once and launched with one call.
//!
//! A graph holds addresses of its own device and of others. While one exists or is being captured,
//! the process frees no memory of any device: buffers, transforms and modules dropped meanwhile are
//! freed with the last graph.

use std::fmt;
use std::sync::Arc;

use super::context::Context;
use super::deferred_free::DeferralGuard;
use super::error::{CudaError, Result, check};
use super::event::{Event, Timing};
use super::ffi::driver;
use super::stream::Stream;

/// Work captured from a stream, which can be launched any number of times.
pub struct Graph {
    executable: driver::Handle,
    nodes: usize,
    /// Recorded after the last launch; the driver runs the launches of one graph one after the
    /// other. Waiting for the whole device would fail while another stream is being captured.
    done: Event,
    _deferral: DeferralGuard,
    context: Arc<Context>,
}

// SAFETY: the driver requires only that two threads do not launch an executable graph at once;
// `launch` takes `&mut self`.
unsafe impl Send for Graph {}
// SAFETY: shared references give access to the node count only.
unsafe impl Sync for Graph {}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("nodes", &self.nodes)
            .finish_non_exhaustive()
    }
}

/// Ends the capture, even if the closure panics.
struct Capture<'a> {
    stream: &'a Stream,
    ended: bool,
}

impl Capture<'_> {
    fn end(&mut self) -> Result<driver::Handle> {
        self.ended = true;
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream has been capturing since `Graph::capture`; the address is of a live
        // variable.
        let answer = unsafe { driver::cuStreamEndCapture(self.stream.raw(), &raw mut graph) };
        check(answer, "cuStreamEndCapture").map(|()| graph)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let context = self.stream.context();
        context.record_drop(context.enter());
        if let Ok(graph) = self.end() {
            destroy(context, graph);
        }
    }
}

impl Graph {
    /// Captures the operations that `work` queues in `stream` instead of running them.
    ///
    /// `work` may launch kernels, copy between device buffers, fill with zeros, run transforms and
    /// use a [`PeerChannel`](super::PeerChannel). Copies with host memory and waiting on the host
    /// are errors. Other streams, even of other devices, join the capture by waiting for an event
    /// recorded within it; `stream` must finally wait for an event recorded after the last of their
    /// work.
    ///
    /// # Errors
    /// The error of `work`, or an error of the driver.
    pub fn capture<E: From<CudaError>>(
        stream: &Stream,
        work: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let context = stream.context();
        if stream.is_legacy_default() {
            let what = "work of the default stream";
            return Err(CudaError::Captured { what }.into());
        }
        let deferral = DeferralGuard::new();
        let done = Event::new(context, Timing::Off)?;
        let begins = stream.refuse_capture("a capture within a capture")?;
        // SAFETY: the stream is alive and not capturing; its context is current.
        let answer =
            unsafe { driver::cuStreamBeginCapture_v2(stream.raw(), driver::CAPTURE_THREAD_LOCAL) };
        check(answer, "cuStreamBeginCapture")?;
        drop(begins);
        let mut capture = Capture {
            stream,
            ended: false,
        };
        work()?;
        context.enter()?;
        let graph = capture.end()?;
        let instantiated = instantiate(graph);
        destroy(context, graph);
        let (executable, nodes) = instantiated?;
        Ok(Self {
            executable,
            nodes,
            done,
            _deferral: deferral,
            context: Arc::clone(context),
        })
    }

    /// The number of captured launches, copies and fills.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Queues the captured operations.
    ///
    /// # Errors
    /// The stream belongs to another device or is being captured, or an error of the driver.
    pub fn launch(&mut self, stream: &Stream) -> Result<()> {
        stream.context().expect_same(&self.context, "the graph")?;
        let _no_capture = stream.refuse_capture("a graph")?;
        // SAFETY: both handles are alive; what the graph uses is not freed before it.
        let answer = unsafe { driver::cuGraphLaunch(self.executable, stream.raw()) };
        check(answer, "cuGraphLaunch")?;
        self.done.record(stream)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let context = &self.context;
        context.record_drop(self.done.synchronize());
        if context.is_abandoned() {
            return;
        }
        // SAFETY: created once, destroyed once, when it does not run any more.
        let answer = unsafe { driver::cuGraphExecDestroy(self.executable) };
        context.record_drop(check(answer, "cuGraphExecDestroy"));
    }
}

/// The executable graph and its number of nodes.
fn instantiate(graph: driver::Handle) -> Result<(driver::Handle, usize)> {
    let mut nodes = 0;
    // SAFETY: the graph was just captured; a null list requests only the number.
    let answer = unsafe { driver::cuGraphGetNodes(graph, std::ptr::null_mut(), &raw mut nodes) };
    check(answer, "cuGraphGetNodes")?;
    let mut executable = std::ptr::null_mut();
    // SAFETY: as above; no error node and no log are requested.
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
    // SAFETY: a captured graph, destroyed once; its executable form does not need it.
    let answer = unsafe { driver::cuGraphDestroy(graph) };
    context.record_drop(check(answer, "cuGraphDestroy"));
}
