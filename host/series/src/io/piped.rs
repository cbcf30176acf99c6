//! A pipe that is read by its own thread, so that available bytes are known without waiting.

use super::IoError;
use super::stream::failed;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Number of bytes read at once: the capacity of a pipe.
const PART: usize = 1 << 16;
/// Number of parts to read ahead: a window of text.
const PARTS: usize = 128;

/// Returns what the thread has read, and waits only if that is nothing.
pub(super) struct PipeReader {
    parts: Receiver<io::Result<Vec<u8>>>,
    part: Vec<u8>,
    /// Number of bytes of `part` already returned.
    given: usize,
    /// Returned after the bytes that precede it.
    error: Option<io::Error>,
}

impl PipeReader {
    /// Starts reading `from`.
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

/// Sends parts until the end, an error, or the receiver is gone.
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

impl Read for PipeReader {
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

    /// Returns what is sent, and fails at the end.
    struct Sent(Receiver<&'static [u8]>);

    impl Read for Sent {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Ok(bytes) = self.0.recv() else {
                return Err(io::Error::other("broken pipe"));
            };
            buffer[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn available_bytes_are_returned_without_waiting() {
        let (sender, parts) = channel();
        let mut pipe_reader = PipeReader::of("pipe", Sent(parts)).unwrap();
        let mut buffer = [0; 8];
        sender.send(&b"abc"[..]).unwrap();
        assert_eq!(pipe_reader.read(&mut buffer[..2]).unwrap(), 2);
        assert_eq!(pipe_reader.read(&mut buffer).unwrap(), 1);
        sender.send(b"de").unwrap();
        drop(sender);
        let mut all = Vec::new();
        assert_eq!(
            pipe_reader.read_to_end(&mut all).unwrap_err().to_string(),
            "broken pipe"
        );
        assert_eq!(all, b"de");
    }

    #[test]
    fn large_inputs_are_complete() {
        let bytes: Vec<u8> = (0..3 * PART + 17).map(|i| i as u8).collect();
        let mut pipe_reader = PipeReader::of("pipe", io::Cursor::new(bytes.clone())).unwrap();
        let mut all = Vec::new();
        pipe_reader.read_to_end(&mut all).unwrap();
        assert!(all == bytes);
    }
}
