//! The operations that all ranks call together.

/// What a rank has called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    AllGather,
    Gather,
    Broadcast,
}

impl Operation {
    /// The name of the function.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AllGather => "all_gather",
            Self::Gather => "gather",
            Self::Broadcast => "broadcast",
        }
    }
}
