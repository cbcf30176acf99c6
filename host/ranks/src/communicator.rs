//! What a rank can do with the others.

use std::sync::Arc;

use crate::RankError;

/// One of several threads or processes ("ranks", as in MPI) that compute one result together.
///
/// All ranks call the same operations in the same order. An operation returns when all ranks have
/// called it. After an error the ranks can exchange nothing more: every later operation returns an
/// error too.
pub trait Communicator: Send + Sync {
    /// The number of this rank, from 0 to [`size`](Self::size) − 1.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// All-gather: the bytes of every rank, in the order of ranks, on all of them. Their lengths
    /// may differ.
    ///
    /// # Errors
    ///
    /// Another rank has failed, has ended, or has called another operation.
    fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Arc<Vec<u8>>>, RankError>;

    /// Gather: the bytes of every rank on rank 0, in the order of ranks; `None` on the others.
    ///
    /// # Errors
    ///
    /// Another rank has failed, has ended, or has called another operation.
    fn gather(&self, mine: Vec<u8>) -> Result<Option<Vec<Arc<Vec<u8>>>>, RankError>;

    /// Broadcast: the bytes of rank 0 on all ranks. The bytes that other ranks pass are not used.
    ///
    /// # Errors
    ///
    /// Another rank has failed, has ended, or has called another operation.
    fn broadcast(&self, mine: Vec<u8>) -> Result<Arc<Vec<u8>>, RankError>;

    /// Ends the computation of all ranks, because this one cannot continue.
    ///
    /// Between threads, operations of the other ranks that wait, and all later ones, return
    /// [`RankError::Failed`] with `message`. With MPI it does not return: all processes end, this
    /// one with exit code 1. It does not print `message`.
    fn fail(&self, message: &str);

    /// The number of this rank among those on its host, for choosing a device: from 0 to
    /// [`local_size`](Self::local_size) − 1.
    fn local_rank(&self) -> usize;

    /// The number of ranks on this rank's host: all of them, unless an implementation knows of
    /// several hosts.
    fn local_size(&self) -> usize {
        self.size()
    }
}
