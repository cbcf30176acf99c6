//! Ranks that are processes of MPI.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::mpi::Threading;
use ::mpi::environment::Universe;
use ::mpi::topology::{Rank, SimpleCommunicator};
use ::mpi::traits::{Communicator as _, CommunicatorCollectives, Destination, Root, Source};

use crate::operation::Operation;
use crate::{Communicator, RankError};

/// Longest message in bytes. MPI counts bytes in an `int`, and some transports fail before its
/// limit.
const PIECE: usize = 64 << 20;

/// The communicator of this process, one of those that `mpirun` or `srun` has started.
///
/// Dropping it ends MPI in this process (`MPI_Finalize`), which waits until the other ranks end
/// too or call an operation. They get [`RankError::Ended`] from that operation. If it is dropped
/// because the thread panics, all processes end. An error within MPI (a lost connection) ends all
/// processes too, with MPI's own message. If a process is killed, `mpirun` ends the others.
pub struct Processes {
    rank: usize,
    size: usize,
    local_rank: usize,
    local_size: usize,
    piece: usize,
    /// Why no further operation is possible. Locked during an operation, because MPI allows one
    /// call at a time.
    error: Mutex<Option<RankError>>,
    universe: Universe,
}

/// What a rank has called, and the number of its bytes.
#[derive(Clone, Copy)]
struct Header {
    /// `None` for the end of the rank.
    operation: Option<Operation>,
    bytes: usize,
}

impl Processes {
    /// Starts MPI in this process. A process that neither `mpirun` nor `srun` has started is the
    /// only rank.
    ///
    /// # Errors
    ///
    /// MPI was started before, or does not allow calls from several threads one at a time.
    pub fn start() -> Result<Self, RankError> {
        let (universe, provided) = ::mpi::initialize_with_threading(Threading::Serialized)
            .ok_or(RankError::StartedBefore)?;
        match provided {
            Threading::Single => Err("MPI_THREAD_SINGLE"),
            Threading::Funneled => Err("MPI_THREAD_FUNNELED"),
            Threading::Serialized | Threading::Multiple => Ok(()),
        }
        .map_err(|provided| RankError::ThreadLevel { provided })?;
        let world = universe.world();
        let local = world.split_shared(world.rank());
        Ok(Self {
            rank: index(world.rank()),
            size: index(world.size()),
            local_rank: index(local.rank()),
            local_size: index(local.size()),
            piece: PIECE,
            error: Mutex::new(None),
            universe,
        })
    }

    /// Sets the length of the longest message in bytes, from 1 to 2³¹ − 1; longer ones are sent in
    /// pieces. All ranks must set the same.
    #[must_use]
    pub fn with_piece_length(mut self, bytes: usize) -> Self {
        self.piece = bytes.clamp(1, Rank::MAX as usize);
        self
    }

    fn world(&self) -> SimpleCommunicator {
        self.universe.world()
    }

    fn lock(&self) -> MutexGuard<'_, Option<RankError>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all ranks have called `operation`, then exchanges bytes with `transfer`, which
    /// gets the number of bytes of each rank.
    fn exchange<R>(
        &self,
        operation: Operation,
        bytes: usize,
        transfer: impl FnOnce(&[usize]) -> R,
    ) -> Result<R, RankError> {
        let mut error = self.lock();
        if let Some(error) = &*error {
            return Err(error.clone());
        }
        let headers = self.all_gather_headers(Header {
            operation: Some(operation),
            bytes,
        });
        if let Err(disagreement) = agree(&headers) {
            return Err(error.insert(disagreement).clone());
        }
        let lengths: Vec<usize> = headers.iter().map(|header| header.bytes).collect();
        Ok(transfer(&lengths))
    }

    fn all_gather_headers(&self, mine: Header) -> Vec<Header> {
        let mut all = vec![0_u64; 2 * self.size];
        self.world()
            .all_gather_into(&mine.encode()[..], &mut all[..]);
        all.as_chunks().0.iter().map(Header::decode).collect()
    }

    /// Sends `bytes` of rank `root` to all others.
    fn broadcast_pieces(&self, root: usize, bytes: &mut [u8]) {
        let world = self.world();
        let root = world.process_at_rank(number(root));
        for piece in bytes.chunks_mut(self.piece) {
            root.broadcast_into(piece);
        }
    }
}

impl Communicator for Processes {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_gather(&self, mine: Vec<u8>) -> Result<Vec<Arc<Vec<u8>>>, RankError> {
        self.exchange(Operation::AllGather, mine.len(), |lengths| {
            let mut mine = Some(mine);
            let ranks = lengths.iter().enumerate();
            ranks
                .map(|(rank, &length)| {
                    let own = mine.take_if(|_| rank == self.rank);
                    let mut bytes = own.unwrap_or_else(|| vec![0; length]);
                    self.broadcast_pieces(rank, &mut bytes);
                    Arc::new(bytes)
                })
                .collect()
        })
    }

    fn gather(&self, mine: Vec<u8>) -> Result<Option<Vec<Arc<Vec<u8>>>>, RankError> {
        self.exchange(Operation::Gather, mine.len(), |lengths| {
            let world = self.world();
            if self.rank != 0 {
                let root = world.process_at_rank(0);
                mine.chunks(self.piece).for_each(|piece| root.send(piece));
                return None;
            }
            let mut all = vec![Arc::new(mine)];
            for (rank, &length) in lengths.iter().enumerate().skip(1) {
                let mut bytes = vec![0; length];
                let source = world.process_at_rank(number(rank));
                for piece in bytes.chunks_mut(self.piece) {
                    source.receive_into(piece);
                }
                all.push(Arc::new(bytes));
            }
            Some(all)
        })
    }

    fn broadcast(&self, mine: Vec<u8>) -> Result<Arc<Vec<u8>>, RankError> {
        let bytes = if self.rank == 0 { mine.len() } else { 0 };
        self.exchange(Operation::Broadcast, bytes, |lengths| {
            let mut bytes = if self.rank == 0 {
                mine
            } else {
                vec![0; lengths[0]]
            };
            self.broadcast_pieces(0, &mut bytes);
            Arc::new(bytes)
        })
    }

    fn fail(&self, _message: &str) {
        // Another thread of this process may wait for ranks that never answer: it must not be
        // waited for.
        let _call = self.error.try_lock();
        self.world().abort(1)
    }

    fn local_rank(&self) -> usize {
        self.local_rank
    }

    fn local_size(&self) -> usize {
        self.local_size
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.world().abort(1);
        }
        // After an error all ranks know that nothing more is exchanged.
        if self.lock().is_none() {
            self.all_gather_headers(Header {
                operation: None,
                bytes: 0,
            });
        }
    }
}

impl Header {
    const OPERATIONS: [Operation; 3] = [
        Operation::AllGather,
        Operation::Gather,
        Operation::Broadcast,
    ];

    fn encode(self) -> [u64; 2] {
        let is_mine = |operation: &Operation| Some(*operation) == self.operation;
        let code = Self::OPERATIONS.iter().position(is_mine);
        [code.unwrap_or(usize::MAX) as u64, self.bytes as u64]
    }

    fn decode(&[code, bytes]: &[u64; 2]) -> Self {
        Self {
            operation: Self::OPERATIONS.get(code as usize).copied(),
            bytes: bytes as usize,
        }
    }
}

/// Checks that all ranks have called the same operation. All ranks find the same error.
fn agree(headers: &[Header]) -> Result<(), RankError> {
    let mut operations = Vec::with_capacity(headers.len());
    for (rank, header) in headers.iter().enumerate() {
        operations.push(header.operation.ok_or(RankError::Ended { rank })?);
    }
    let first = operations[0];
    match operations.iter().position(|&called| called != first) {
        None => Ok(()),
        Some(rank) => Err(RankError::Order {
            rank,
            called: operations[rank].name(),
            other: 0,
            expected: first.name(),
        }),
    }
}

/// A number of MPI, which is not negative.
fn index(number: Rank) -> usize {
    usize::try_from(number).expect("ranks and their number are not negative")
}

/// A rank as MPI's number.
fn number(rank: usize) -> Rank {
    Rank::try_from(rank).expect("MPI has given this number")
}
