//! Frees that wait until no graph holds the address any more.
//!
//! Counted for the process and not for each device: a graph of one device may hold addresses of
//! another one's memory.

use std::sync::{Arc, Mutex};

use super::context::{Context, lock};

type Free = Box<dyn FnOnce(&Context) + Send>;

static RETIRED: Mutex<Retired> = Mutex::new(Retired {
    graphs: 0,
    waiting: Vec::new(),
});

struct Retired {
    graphs: usize,
    /// What to free, and the context that has to live until then.
    waiting: Vec<(Arc<Context>, Free)>,
}

/// Runs `free` now, or when the last graph of the process is gone.
///
/// The lock is held while it runs, so that no recording begins meanwhile: waiting for a device that
/// records is refused by the driver.
pub(super) fn retire(context: &Arc<Context>, free: impl FnOnce(&Context) + Send + 'static) {
    let mut retired = lock(&RETIRED);
    if retired.graphs > 0 {
        retired.waiting.push((Arc::clone(context), Box::new(free)));
    } else {
        run(context, free);
    }
}

/// Leaks instead where work that was given up may still use it.
fn run(context: &Context, free: impl FnOnce(&Context)) {
    if !context.is_used_by_given_up() {
        free(context);
    }
}

/// Counts as a graph from before its recording to after its end.
pub(super) struct Alive(Arc<Context>);

impl Alive {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        lock(&RETIRED).graphs += 1;
        Self(Arc::clone(context))
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.0
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        let mut retired = lock(&RETIRED);
        retired.graphs -= 1;
        if retired.graphs == 0 {
            for (context, free) in std::mem::take(&mut retired.waiting) {
                run(&context, free);
            }
        }
    }
}
