use super::*;
use std::iter::once;
use warpstride_cuda::gpu::EmulatedDevice;

/// Values of the pieces.
const LENGTHS: [usize; 6] = [2, 3, 3, 3, 3, 3];

/// Exit waves of a model: the host's copy of what each block should hold.
struct Model {
    device: EmulatedDevice,
    slots: Slots<EmulatedDevice, u32>,
    expected: Vec<Vec<u32>>,
}

impl Model {
    fn new(count: usize) -> Self {
        let device = EmulatedDevice::new();
        let slots = Slots::new(&device, &LENGTHS, count).unwrap();
        let mut new = Self {
            device,
            slots,
            expected: LENGTHS.iter().map(|len| vec![0; *len]).collect(),
        };
        new.pass(true, Access::Replace, true);
        new
    }

    /// Goes through the blocks, checks what is there unless it is replaced, and changes it if the
    /// access allows; returns how many blocks were brought from the host.
    fn pass(&mut self, descends: bool, access: Access, returns: bool) -> usize {
        let mut order: Vec<usize> = (0..LENGTHS.len()).collect();
        if descends {
            order.reverse();
        }
        self.slots.begin(&order, returns, access);
        let mut brought = 0;
        let mut here: Vec<Option<usize>> = self.slots.slots.iter().map(|s| s.block).collect();
        for (place, block) in order.iter().enumerate() {
            self.slots.make_ready(&self.device, place).unwrap();
            for (slot, before) in self.slots.slots.iter().zip(&mut here) {
                brought += usize::from(slot.block != *before);
                *before = slot.block;
            }
            let mut buffer = self.device.alloc("test", 0).unwrap();
            self.slots.exchange(place, &mut buffer);
            let mut values = vec![0; buffer.len()];
            self.device.download(&buffer, &mut values).unwrap();
            let expected = &mut self.expected[*block];
            if access != Access::Replace {
                assert_eq!(values[..expected.len()], expected[..], "block {block}");
            }
            if access != Access::Read {
                for (value, new) in values.iter_mut().zip(expected) {
                    *new += 10 + *block as u32;
                    *value = *new;
                }
                self.device.upload(&mut buffer, &values).unwrap();
            }
            self.slots.exchange(place, &mut buffer);
        }
        brought
    }

    fn all(&self) -> Vec<u32> {
        self.expected.concat()
    }
}

#[test]
fn every_block_has_its_values_in_every_pass() {
    for count in 2..8 {
        let mut model = Model::new(count);
        let mut descends = false;
        for access in [Access::Change, Access::Read, Access::Change, Access::Change] {
            model.pass(descends, access, true);
            descends = !descends;
        }
        // The same direction again, against what was announced.
        model.pass(descends, Access::Change, false);
        model.pass(descends, Access::Read, true);
        let values = model.slots.download(&model.device).unwrap();
        assert_eq!(values, model.all(), "{count}");
        model.pass(!descends, Access::Change, true);
        let others: Vec<u32> = (100..117).collect();
        model.slots.upload(&model.device, &others).unwrap();
        for (block, part) in model.expected.iter_mut().enumerate() {
            let start: usize = LENGTHS[..block].iter().sum();
            part.copy_from_slice(&others[start..][..LENGTHS[block]]);
        }
        model.pass(false, Access::Change, true);
        assert_eq!(model.slots.download(&model.device).unwrap(), model.all());
    }
}

/// What a pass has used last is there when the next one begins with it.
#[test]
fn passes_that_return_bring_only_what_does_not_fit() {
    for count in 2..8 {
        let mut model = Model::new(count);
        for descends in [false, true, false, true] {
            let brought = model.pass(descends, Access::Change, true);
            // The slots that blocks on their way have needed are not full of what was used last.
            let kept = count.min(LENGTHS.len());
            assert_eq!(brought, LENGTHS.len() - kept, "{count} slots");
        }
    }
}

/// What was only read is not copied back: the host's copy can be anything.
#[test]
fn only_changed_blocks_are_written_back() {
    let mut model = Model::new(3);
    model.slots.download(&model.device).unwrap();
    for slot in &model.slots.slots {
        assert!(!slot.changed);
    }
    model.pass(false, Access::Read, true);
    assert!(model.slots.slots.iter().all(|slot| !slot.changed));
    model.pass(true, Access::Change, true);
    let changed: Vec<Option<usize>> = model.slots.slots.iter().map(|s| s.block).collect();
    let of_last = once(0).chain([1, 2]).map(Some);
    for block in of_last {
        assert!(changed.contains(&block), "{changed:?}");
    }
    assert!(model.slots.slots.iter().all(|slot| slot.changed));
}
