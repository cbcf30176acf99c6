use super::super::host::parts;
use super::*;
use std::thread;
use std::time::Duration;
use warpstride_core::system::ScratchFile;
use warpstride_cuda::gpu::EmulatedDevice;

const PIXELS: usize = 3;
const FRAMES: usize = 10;

/// With `gather`, blocks of frames in many places are put together.
fn slots_of(
    device: &EmulatedDevice,
    [frames, most, count]: [usize; 3],
    gather: bool,
) -> Slots<EmulatedDevice, u16> {
    let mut host = device.pinned("test", frames * PIXELS).unwrap();
    for (place, value) in host.iter_mut().enumerate() {
        *value = place as u16;
    }
    let host = Host::in_memory(device, [most, PIXELS], host, gather).unwrap();
    Slots::new(device, host, [most, PIXELS, count]).unwrap()
}

fn slots(device: &EmulatedDevice, count: usize) -> Slots<EmulatedDevice, u16> {
    slots_of(device, [FRAMES, 4, count], false)
}

/// Goes through the blocks, checks what is there, and returns how many were sent.
fn pass(
    slots: &mut Slots<EmulatedDevice, u16>,
    device: &EmulatedDevice,
    blocks: &[&[u32]],
) -> usize {
    slots.begin(blocks);
    let mut here: Vec<Vec<u32>> = slots.slots.iter().map(|s| s.frames.clone()).collect();
    let mut sent = 0;
    for (number, block) in blocks.iter().enumerate() {
        let buffer = slots.make_ready(device, number).unwrap();
        let mut values = vec![0_u16; buffer.len()];
        device.download(buffer, &mut values).unwrap();
        let expected = block
            .iter()
            .flat_map(|frame| (0..PIXELS).map(move |pixel| *frame as usize * PIXELS + pixel));
        for (value, expected) in values.iter().zip(expected) {
            assert_eq!(usize::from(*value), expected, "{block:?}");
        }
        for (slot, before) in slots.slots.iter().zip(&mut here) {
            if slot.frames != *before {
                sent += 1;
                before.clone_from(&slot.frames);
            }
        }
    }
    sent
}

#[test]
fn every_block_is_there_when_it_is_needed() {
    let device = EmulatedDevice::new();
    let blocks: [&[u32]; 4] = [&[0, 1, 2], &[5, 3, 4], &[9], &[6, 8, 7]];
    for count in 2..6 {
        let mut slots = slots(&device, count);
        assert_eq!(pass(&mut slots, &device, &blocks), 4);
        let again = pass(&mut slots, &device, &blocks);
        assert!(if count < 4 { again <= 4 } else { again == 0 }, "{count}");
        // The same frames in other blocks, in another order.
        let turned: [&[u32]; 4] = [&[9], &[6, 8, 7], &[0, 1, 2], &[5, 3, 4]];
        pass(&mut slots, &device, &turned);
        let others: [&[u32]; 5] = [&[0, 2], &[5, 4, 3], &[1, 9], &[6, 8], &[7]];
        assert_eq!(pass(&mut slots, &device, &others), 5);
    }
}

#[test]
fn few_slots_keep_the_blocks_that_come_first_again() {
    let device = EmulatedDevice::new();
    let blocks: Vec<Vec<u32>> = (0..FRAMES as u32).map(|frame| vec![frame]).collect();
    let blocks: Vec<&[u32]> = blocks.iter().map(Vec::as_slice).collect();
    let mut slots = slots(&device, 6);
    pass(&mut slots, &device, &blocks);
    // All but those of the slots that are not needed for what is on its way.
    for _ in 0..3 {
        assert!(pass(&mut slots, &device, &blocks) <= FRAMES - 3);
    }
}

#[test]
fn frames_beside_each_other_are_one_copy() {
    assert_eq!(
        parts(&[3, 4, 5, 0, 2, 1], 10),
        [30..60, 0..10, 20..30, 10..20]
    );
    assert_eq!(parts(&[], 10), []);
}

/// Values as [`slots`] has them, from a slow file; an error beyond the scan.
fn from_file(device: &EmulatedDevice, delay: Duration) -> Slots<EmulatedDevice, u16> {
    let shape = [4, PIXELS, 2];
    let read = move |frame: u32, to: &mut [u16]| {
        thread::sleep(delay);
        if frame as usize >= FRAMES {
            let folder = std::path::Path::new("/no/such");
            return ScratchFile::<u16>::new(folder, 1).map(drop);
        }
        for (pixel, to) in to.iter_mut().enumerate() {
            *to = (frame as usize * PIXELS + pixel) as u16;
        }
        Ok(())
    };
    Slots::new(device, Host::stored(device, shape, read).unwrap(), shape).unwrap()
}

#[test]
fn a_slow_file_gives_the_same_blocks() {
    let device = EmulatedDevice::new();
    let blocks: [&[u32]; 6] = [&[0, 1, 2], &[5], &[9, 3, 4], &[6, 8], &[7], &[2, 0, 1]];
    for delay in [0, 2] {
        let mut slots = from_file(&device, Duration::from_millis(delay));
        // More blocks than pieces of memory on their way, several times.
        for _ in 0..3 {
            pass(&mut slots, &device, &blocks);
        }
    }
}

/// Frames that follow each other are copied as they are, others are put together, in every order of
/// the two.
#[test]
fn frames_in_many_places_are_put_together() {
    let device = EmulatedDevice::new();
    let spread = |first: u32| -> Vec<u32> { (0..12).map(|n| first + 5 * n).collect() };
    let beside = |first: u32| -> Vec<u32> { (first..first + 12).collect() };
    let lists = [
        [spread(0), beside(0), spread(1), spread(2), beside(40)],
        [beside(7), spread(2), beside(0), spread(4), spread(3)],
    ];
    for count in 2..7 {
        let mut slots = slots_of(&device, [60, 12, count], true);
        for blocks in lists.iter().chain(&lists) {
            let blocks: Vec<&[u32]> = blocks.iter().map(Vec::as_slice).collect();
            pass(&mut slots, &device, &blocks);
        }
    }
}

/// A pass that is not finished leaves blocks that were read for nothing.
#[test]
fn another_pass_can_begin_before_the_last_block() {
    let device = EmulatedDevice::new();
    let mut slots = from_file(&device, Duration::from_millis(1));
    let all: Vec<Vec<u32>> = (0..FRAMES as u32).map(|frame| vec![frame]).collect();
    let blocks: Vec<&[u32]> = all.iter().map(Vec::as_slice).collect();
    for last in 0..FRAMES {
        slots.begin(&blocks);
        for number in 0..last {
            slots.make_ready(&device, number).map(drop).unwrap();
        }
        let turned: Vec<&[u32]> = blocks.iter().rev().copied().collect();
        pass(&mut slots, &device, &turned);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_one_error() {
    let device = EmulatedDevice::new();
    let mut slots = from_file(&device, Duration::ZERO);
    slots.begin(&[&[0, 1], &[3, 99]]);
    let error = slots.make_ready(&device, 0).map(drop).unwrap_err();
    assert!(
        error.to_string().ends_with("there is no such folder"),
        "{error}"
    );
}
