//! The shares of a batch: four parts of its frames, which GPUs sum apart, so that sums have the
//! same bits for one device and for two or four that divide the frames.
//!
//! Share s has the frames whose number in the order of the devices, counted from the last, is s
//! modulo 4. So a device of two has two of them, and a device of four one ([`Interleaved`]). The
//! sums are (0 + 2) + (1 + 3), and a batch has its frames in this order.

/// Shares of a batch.
pub(crate) const SHARES: usize = 4;
/// Regions of a scan ([`super::regions`]): as many as shares of a batch, so that one, two or four
/// devices have whole ones.
pub(crate) const REGIONS: usize = SHARES;
/// Frames of a batch below which no devices divide it: four for each of two.
pub(crate) const SMALLEST: usize = 8;
/// Frames of a batch for each device, at least.
pub(crate) const FRAMES_OF_DEVICE: usize = 4;

/// Shares that each of some devices has; 1 if they cannot have whole ones.
pub(crate) fn shares_of(devices: usize) -> u32 {
    if devices > 0 && SHARES.is_multiple_of(devices) {
        (SHARES / devices) as u32
    } else {
        1
    }
}

/// Where the share of a frame is in the order of the sums, for a device that has `frames` frames
/// and `shares` shares.
pub(crate) fn place(frame: u32, [frames, shares]: [u32; 2]) -> usize {
    let share = (frames.saturating_sub(1).saturating_sub(frame)) % shares.max(1);
    match (shares, share) {
        (4, 1) => 2,
        (4, 2) => 1,
        _ => share as usize,
    }
}

/// The places in a list of frames, which has one share after the other, where the shares end.
/// `of_device`: frames and shares of the device; without shares, a list that no devices divide has
/// them as parts of about the same length.
pub(crate) fn share_ends(list: &[u32], of_device: [u32; 2]) -> [u32; SHARES] {
    if of_device[1] == 0 {
        let end = |part: usize| ((part + 1) * list.len() / SHARES) as u32;
        return std::array::from_fn(end);
    }
    let mut ends = [0; SHARES];
    for frame in list {
        for end in &mut ends[place(*frame, of_device)..] {
            *end += 1;
        }
    }
    ends
}

/// Devices in the order in which their sums are added: pairs first.
pub(crate) fn order_of_devices(devices: usize) -> Vec<usize> {
    match devices {
        4 => vec![0, 2, 1, 3],
        _ => (0..devices).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::interleaved::Interleaved;

    #[test]
    fn lists_of_devices_one_after_the_other_are_those_of_one_device() {
        let frames = 23_usize;
        let lists = [
            vec![3, 22, 7, 0, 11, 12, 5],
            vec![1],
            vec![],
            vec![2, 6, 4, 8, 21, 20, 19, 18],
        ];
        let alone = Interleaved::new(frames, [0, 1]).own_lists(&lists);
        for devices in [2, 4] {
            let of: Vec<(Vec<usize>, Vec<Vec<u32>>)> = (0..devices)
                .map(|rank| Interleaved::new(frames, [rank, devices]))
                .map(|division| (division.own(), division.own_lists(&lists)))
                .collect();
            for (number, expected) in alone.iter().enumerate() {
                let joined: Vec<u32> = (order_of_devices(devices).into_iter())
                    .flat_map(|device| {
                        let (own, lists) = &of[device];
                        lists[number]
                            .iter()
                            .map(|frame| own[*frame as usize] as u32)
                    })
                    .collect();
                assert_eq!(joined, *expected, "{devices} devices");
            }
        }
    }

    #[test]
    fn shares_end_where_the_next_one_begins() {
        // 9 frames: shares 0, 2, 1, 3 have the frames 8 4 0, 6 2, 7 3, 5 1.
        let list = Interleaved::new(9, [0, 1])
            .own_lists(&[(0..9).collect()])
            .concat();
        assert_eq!(list, [0, 4, 8, 2, 6, 3, 7, 1, 5]);
        assert_eq!(share_ends(&list, [9, 4]), [3, 5, 7, 9]);
        assert_eq!(share_ends(&[1, 3, 0], [4, 2]), [2, 3, 3, 3]);
        assert_eq!(share_ends(&[1, 3, 0], [4, 1]), [3; 4]);
        assert_eq!(share_ends(&[1, 3, 0], [4, 0]), [0, 1, 2, 3]);
    }
}
