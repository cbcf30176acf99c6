//! The contexts of the process: one per device, and which devices use whose memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};

use super::lock::lock;

/// One context `C` per device ordinal.
///
/// Entries are kept for the whole process, even while a device has no context: a primary context
/// that is also held outside of this crate keeps the access of its peers.
pub(super) struct Registry<C> {
    devices: Mutex<BTreeMap<usize, Entry<C>>>,
}

struct Entry<C> {
    context: Weak<C>,
    /// Devices whose streams may use this device's memory.
    users: BTreeSet<usize>,
}

impl<C> Default for Entry<C> {
    fn default() -> Self {
        Self {
            context: Weak::new(),
            users: BTreeSet::new(),
        }
    }
}

impl<C> Registry<C> {
    pub(super) const fn new() -> Self {
        Self {
            devices: Mutex::new(BTreeMap::new()),
        }
    }

    /// The context of device `ordinal` if it has one, otherwise the one that `make` creates.
    ///
    /// # Errors
    /// The error of `make`.
    pub(super) fn get_or_create<E>(
        &self,
        ordinal: usize,
        make: impl FnOnce() -> Result<C, E>,
    ) -> Result<Arc<C>, E> {
        let mut devices = lock(&self.devices);
        if let Some(context) = devices
            .get(&ordinal)
            .and_then(|entry| entry.context.upgrade())
        {
            return Ok(context);
        }
        let context = Arc::new(make()?);
        devices.entry(ordinal).or_default().context = Arc::downgrade(&context);
        Ok(context)
    }

    /// Registers that streams of device `user` may use the memory of device `owner` from now on.
    pub(super) fn add_user(&self, owner: usize, user: usize) {
        if owner != user {
            let mut devices = lock(&self.devices);
            devices.entry(owner).or_default().users.insert(user);
        }
    }

    /// The contexts, except its own, whose streams may use the memory of device `owner`. A device
    /// without a context has no work, because streams wait when they are dropped and keep their
    /// context until then.
    pub(super) fn users_of(&self, owner: usize) -> Vec<Arc<C>> {
        let devices = lock(&self.devices);
        let users = devices.get(&owner).map(|entry| &entry.users);
        users
            .into_iter()
            .flatten()
            .filter_map(|user| devices.get(user)?.context.upgrade())
            .collect()
    }
}
