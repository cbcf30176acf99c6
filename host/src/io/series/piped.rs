//! A pipe, read by a thread of its own: what is there is known without waiting for what may come.

use super::IoError;
use super::input::failed;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes that are read at once: what a pipe holds.
const PART: usize = 1 << 16;
/// Parts that are read ahead: a window of text.
const PARTS: usize = 128;

/// Gives what the thread has read; waits only where that is nothing.
pub(super) struct Piped {
    parts: Receiver<io::Result<Vec<u8>>>,
    part: Vec<u8>,
    /// Bytes of `part` that were given.
    given: usize,
    /// Comes after the bytes before it.
    error: Option<io::Error>,
}

impl Piped {
    /// Begins to read `from`.
    pub(super) fn of(file: &str, from: impl Read + Send + 'static) -> Result<Self, IoError> {
        let (sender, parts) = sync_channel(PARTS);
        std::thread::Builder::new()
            .name("pipe".to_owned())
            .spawn(move || read(from, &sender))
            .map_err(|e| failed(file, None, &e))?;
        Ok(Self {
            parts,
            part: Vec::new(),
            given: 0,
            error: None,
        })
    }
}

/// Parts until the end, an error, or nobody wants more.
fn read(mut from: impl Read, parts: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; PART];
    loop {
        let part = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => Ok(buffer[..count].to_vec()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let done = part.is_err();
        if parts.send(part).is_err() || done {
            return;
        }
    }
}

impl Read for Piped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let rest = &self.part[self.given..];
            if !rest.is_empty() {
                let count = rest.len().min(buffer.len() - filled);
                buffer[filled..filled + count].copy_from_slice(&rest[..count]);
                self.given += count;
                filled += count;
                continue;
            }
            if let Some(error) = self.error.take_if(|_| filled == 0) {
                return Err(error);
            }
            let next = if filled == 0 {
                self.parts.recv().ok()
            } else {
                self.parts.try_recv().ok()
            };
            match next {
                Some(Ok(part)) => (self.part, self.given) = (part, 0),
                Some(Err(error)) => self.error = Some(error),
                None => break,
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// Gives what is sent, and fails at the end.
    struct Sent(Receiver<&'static [u8]>);

    impl Read for Sent {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Ok(bytes) = self.0.recv() else {
                return Err(io::Error::other("torn"));
            };
            buffer[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn what_is_there_is_given_without_waiting() {
        let (sender, parts) = channel();
        let mut piped = Piped::of("pipe", Sent(parts)).unwrap();
        let mut buffer = [0; 8];
        sender.send(&b"abc"[..]).unwrap();
        assert_eq!(piped.read(&mut buffer[..2]).unwrap(), 2);
        assert_eq!(piped.read(&mut buffer).unwrap(), 1);
        sender.send(b"de").unwrap();
        drop(sender);
        let mut all = Vec::new();
        assert_eq!(piped.read_to_end(&mut all).unwrap_err().to_string(), "torn");
        assert_eq!(all, b"de");
    }

    #[test]
    fn large_inputs_come_wholly() {
        let bytes: Vec<u8> = (0..3 * PART + 17).map(|i| i as u8).collect();
        let mut piped = Piped::of("pipe", io::Cursor::new(bytes.clone())).unwrap();
        let mut all = Vec::new();
        piped.read_to_end(&mut all).unwrap();
        assert!(all == bytes);
    }
}
