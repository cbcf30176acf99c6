//! The contexts of the process: one per device, and who uses whose memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};

use super::context::{Context, lock};
use super::error::Result;

/// Kept for the whole process, also while a device has no context: a primary context that somebody
/// else holds keeps its peers' access.
static DEVICES: Mutex<BTreeMap<usize, Known>> = Mutex::new(BTreeMap::new());

#[derive(Default)]
struct Known {
    context: Weak<Context>,
    /// Devices whose streams may use this one's memory.
    users: BTreeSet<usize>,
}

/// The context of device `ordinal` where it has one, else the one that `make` makes.
///
/// # Errors
/// Those of `make`.
pub(super) fn context_of(
    ordinal: usize,
    make: impl FnOnce() -> Result<Context>,
) -> Result<Arc<Context>> {
    let mut devices = lock(&DEVICES);
    if let Some(context) = devices
        .get(&ordinal)
        .and_then(|known| known.context.upgrade())
    {
        return Ok(context);
    }
    let context = Arc::new(make()?);
    devices.entry(ordinal).or_default().context = Arc::downgrade(&context);
    Ok(context)
}

/// Notes that streams of device `user` may use the memory of device `owner` from now on.
pub(super) fn note_user(owner: usize, user: usize) {
    if owner != user {
        lock(&DEVICES).entry(owner).or_default().users.insert(user);
    }
}

/// The contexts whose streams may use the memory of device `owner`, but its own. A device without a
/// context has no work, because streams wait when they are dropped and keep their context until then.
pub(super) fn users_of(owner: usize) -> Vec<Arc<Context>> {
    let devices = lock(&DEVICES);
    let users = devices.get(&owner).map(|known| &known.users);
    users
        .into_iter()
        .flatten()
        .filter_map(|user| devices.get(user)?.context.upgrade())
        .collect()
}
