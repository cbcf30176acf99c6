//! The records of a store as bytes. All numbers are little-endian, all records end in the CRC-32 of their bytes and of the
//! place that they belong to ([`Place`]), so that none is taken for another one's.

/// What a record is found by: its table, and the numbers of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place([u64; 4]);

impl Place {
    /// The numbers of the whole store.
    pub(super) const TOTALS: Self = Self([0; 4]);

    /// The state of a series.
    pub(super) fn of_series(id: u32) -> Self {
        Self([1, id.into(), 0, 0])
    }

    /// Points of a series and stretch of time.
    pub(super) fn of_points(id: u32, stretch: u64) -> Self {
        Self([2, id.into(), stretch, 0])
    }

    /// A block of buckets.
    pub(super) fn of_block(id: u32, archive: u8, block: u64) -> Self {
        Self([3, id.into(), archive.into(), block])
    }

    /// CRC-32 of a record that stands here.
    fn checksum(self, body: &[u8]) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(body);
        self.0.iter().for_each(|n| sum.update(&n.to_le_bytes()));
        sum.finalize()
    }
}

/// The number of a series as it is stored by its name: the upper half is the CRC-32 of both.
pub(super) fn seal_id(name: &str, id: u32) -> u64 {
    u64::from(checksum_of_name(name, id)) << 32 | u64::from(id)
}

/// The number of a series, if it is the one of this name.
pub(super) fn open_id(name: &str, sealed: u64) -> Option<u32> {
    let id = sealed as u32;
    (seal_id(name, id) == sealed).then_some(id)
}

fn checksum_of_name(name: &str, id: u32) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(name.as_bytes());
    sum.update(&id.to_le_bytes());
    sum.finalize()
}

/// Points of a series, of one stretch of time, in its order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Points {
    /// (point), nanoseconds since 1970; rises.
    pub(super) times: Vec<i64>,
    /// (point).
    pub(super) values: Vec<f64>,
}

/// Numbers of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct State {
    /// Time of the last point, nanoseconds since 1970.
    pub(super) last: i64,
    /// Points that were taken, those of the same time counted once.
    pub(super) points: u64,
    /// Points whose value took the place of one of the same time.
    pub(super) replaced: u64,
    /// Points that came too late.
    pub(super) refused: u64,
}

/// Buckets of a block.
pub(super) const BUCKETS: u64 = 32;

/// One aggregate in the buckets of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lane {
    /// Which of them have a value: bit b is bucket b.
    pub(super) present: u32,
    /// Of every bucket; 0 where there is none.
    pub(super) values: [f64; BUCKETS as usize],
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            present: 0,
            values: [0.0; BUCKETS as usize],
        }
    }
}

impl Lane {
    /// Puts a value into a bucket, or takes it out.
    pub(super) fn set(&mut self, bucket: usize, value: Option<f64>) {
        let bit = 1 << bucket;
        self.present = if value.is_some() {
            self.present | bit
        } else {
            self.present & !bit
        };
        self.values[bucket] = value.unwrap_or(0.0);
    }
}

/// CRC-32 of a policy as it is stored.
pub(super) fn checksum_of_policy(name: &str, toml: &str) -> [u8; 4] {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&(name.len() as u64).to_le_bytes());
    sum.update(name.as_bytes());
    sum.update(toml.as_bytes());
    sum.finalize().to_le_bytes()
}

/// What is read, from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// Without the checksum at the end, which must be right.
    fn checked(record: &'a [u8], place: Place) -> Option<Self> {
        let (body, sum) = record.split_last_chunk::<4>()?;
        (place.checksum(body) == u32::from_le_bytes(*sum)).then_some(Self(body))
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*front)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn mask(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn value(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    /// Seven bits a byte, the lowest first; the highest bit says that more follow.
    fn varying(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn end<T>(&self, whole: T) -> Option<T> {
        self.0.is_empty().then_some(whole)
    }
}

fn put_varying(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn seal(mut out: Vec<u8>, place: Place) -> Vec<u8> {
    let sum = place.checksum(&out);
    out.extend(sum.to_le_bytes());
    out
}

/// Some numbers.
pub(super) fn write_numbers(numbers: &[u64], place: Place) -> Vec<u8> {
    let bytes = numbers.iter().flat_map(|n| n.to_le_bytes());
    seal(bytes.collect(), place)
}

/// So many numbers.
pub(super) fn read_numbers<const N: usize>(record: &[u8], place: Place) -> Option<[u64; N]> {
    let mut bytes = Bytes::checked(record, place)?;
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = bytes.number()?;
    }
    bytes.end(numbers)
}

impl State {
    /// Of series `id`.
    pub(super) fn write(&self, id: u32) -> Vec<u8> {
        let numbers = [self.last as u64, self.points, self.replaced, self.refused];
        write_numbers(&numbers, Place::of_series(id))
    }

    /// Of series `id`.
    pub(super) fn read(record: &[u8], id: u32) -> Option<Self> {
        let [last, points, replaced, refused] = read_numbers(record, Place::of_series(id))?;
        Some(Self {
            last: i64::try_from(last).ok()?,
            points,
            replaced,
            refused,
        })
    }
}

impl Points {
    /// Number of points, then the first time, then the differences of times in the greatest power of ten nanoseconds
    /// that divides them all, then the values.
    pub(super) fn write(times: &[i64], values: &[f64], place: Place) -> Vec<u8> {
        let mut out = Vec::with_capacity(times.len() * 11 + 24);
        let differences = || times.windows(2).map(|pair| (pair[1] - pair[0]) as u64);
        let mut unit = 1_000_000_000;
        let mut power = 9_u8;
        while power > 0 && differences().any(|difference| difference % unit != 0) {
            unit /= 10;
            power -= 1;
        }
        put_varying(&mut out, times.len() as u64);
        out.push(power);
        put_varying(&mut out, times.first().map_or(0, |first| *first as u64));
        for difference in differences() {
            put_varying(&mut out, difference / unit);
        }
        for value in values {
            out.extend(value.to_le_bytes());
        }
        seal(out, place)
    }

    /// Appends the points of a record.
    pub(super) fn read_into(&mut self, record: &[u8], place: Place) -> Option<()> {
        let mut bytes = Bytes::checked(record, place)?;
        let count = usize::try_from(bytes.varying()?).ok()?;
        // Each takes a value and, but for the first, a byte of time at least.
        if count == 0 || count.checked_mul(8)? > bytes.0.len() {
            return None;
        }
        let [power] = bytes.take()?;
        let unit = (power <= 9).then(|| 10_u64.pow(power.into()))?;
        let mut time = i64::try_from(bytes.varying()?).ok()?;
        if self.times.last().is_some_and(|last| *last >= time) {
            return None;
        }
        self.times.push(time);
        for _ in 1..count {
            let difference = bytes.varying()?.checked_mul(unit)?;
            let later = time.checked_add(i64::try_from(difference).ok()?)?;
            if later <= time {
                return None;
            }
            time = later;
            self.times.push(time);
        }
        for _ in 0..count {
            self.values.push(bytes.value()?);
        }
        bytes.end(())
    }
}

/// The lanes one after the other: the mask, then the values of its bits.
pub(super) fn write_block(lanes: &[Lane], place: Place) -> Vec<u8> {
    let values: u32 = lanes.iter().map(|lane| lane.present.count_ones()).sum();
    let mut out = Vec::with_capacity(lanes.len() * 4 + values as usize * 8 + 4);
    for lane in lanes {
        out.extend(lane.present.to_le_bytes());
        for (bucket, value) in lane.values.iter().enumerate() {
            if lane.present >> bucket & 1 == 1 {
                out.extend(value.to_le_bytes());
            }
        }
    }
    seal(out, place)
}

fn read_lane(bytes: &mut Bytes<'_>) -> Option<Lane> {
    let mut lane = Lane {
        present: bytes.mask()?,
        ..Lane::default()
    };
    for bucket in 0..BUCKETS as usize {
        if lane.present >> bucket & 1 == 1 {
            lane.values[bucket] = bytes.value()?;
        }
    }
    Some(lane)
}

/// All `lanes` of a block.
pub(super) fn read_block(record: &[u8], lanes: usize, place: Place) -> Option<Vec<Lane>> {
    let mut bytes = Bytes::checked(record, place)?;
    let read: Option<Vec<Lane>> = (0..lanes).map(|_| read_lane(&mut bytes)).collect();
    bytes.end(read?)
}

/// One lane of a block.
pub(super) fn read_one_lane(record: &[u8], lane: usize, place: Place) -> Option<Lane> {
    let mut bytes = Bytes::checked(record, place)?;
    for _ in 0..lane {
        let present = bytes.mask()?;
        bytes.skip(present.count_ones() as usize * 8)?;
    }
    read_lane(&mut bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|v| v.to_bits()).collect()
    }

    proptest! {
        #[test]
        fn points_come_back(
            first in 0..i64::MAX / 2,
            steps in prop::collection::vec((1..1_000_000_i64, 0..10_u32), 0..40),
            value in any::<f64>(),
        ) {
            let mut times = vec![first];
            for (step, power) in &steps {
                times.push(times[times.len() - 1] + step * 10_i64.pow(*power));
            }
            let values: Vec<f64> = (0..times.len()).map(|i| value * i as f64).collect();
            let place = Place::of_points(3, 5);
            let record = Points::write(&times, &values, place);
            let mut read = Points::default();
            prop_assert!(read.read_into(&record, Place::of_points(3, 6)).is_none());
            prop_assert!(read.read_into(&record, place).is_some());
            prop_assert_eq!(&read.times, &times);
            prop_assert_eq!(bits(&read.values), bits(&values));
            // Points must come after those that were read before.
            prop_assert!(read.read_into(&record, place).is_none());
        }

        #[test]
        fn blocks_come_back(masks in prop::collection::vec(any::<u32>(), 1..5), value in any::<f64>()) {
            let lanes: Vec<Lane> = masks
                .iter()
                .map(|mask| {
                    let mut lane = Lane::default();
                    for bucket in 0..BUCKETS as usize {
                        let there = mask >> bucket & 1 == 1;
                        lane.set(bucket, there.then_some(value + bucket as f64));
                    }
                    lane
                })
                .collect();
            let place = Place::of_block(2, 1, 9);
            let record = write_block(&lanes, place);
            let read = read_block(&record, lanes.len(), place).unwrap();
            for (number, lane) in lanes.iter().enumerate() {
                prop_assert_eq!(read[number].present, lane.present);
                prop_assert_eq!(bits(&read[number].values), bits(&lane.values));
                let alone = read_one_lane(&record, number, place).unwrap();
                prop_assert_eq!(bits(&alone.values), bits(&lane.values));
            }
            prop_assert!(read_block(&record, lanes.len() + 1, place).is_none());
            for other in [Place::of_block(3, 1, 9), Place::of_block(2, 0, 9), Place::of_block(2, 1, 8)] {
                prop_assert!(read_block(&record, lanes.len(), other).is_none());
                prop_assert!(read_one_lane(&record, 0, other).is_none());
            }
        }

        #[test]
        fn other_bytes_are_no_records(record in prop::collection::vec(any::<u8>(), 0..200)) {
            // With the right checksum, as an enemy would write it.
            let place = Place::of_series(4);
            for record in [seal(record.clone(), place), record] {
                let mut points = Points::default();
                if points.read_into(&record, place).is_some() {
                    prop_assert_eq!(points.times.len(), points.values.len());
                    prop_assert!(points.times.windows(2).all(|pair| pair[0] < pair[1]));
                }
                let _ = (
                    State::read(&record, 4),
                    read_block(&record, 3, place),
                    read_one_lane(&record, 2, place),
                );
            }
        }
    }

    #[test]
    fn regular_times_take_a_byte_each() {
        let times: Vec<i64> = (0..100)
            .map(|i| 1_700_000_000_000_000_000 + i * 10_000_000_000)
            .collect();
        let record = Points::write(&times, &vec![0.0; 100], Place::of_points(0, 0));
        assert!(record.len() < 100 * 9 + 20, "{}", record.len());
    }

    #[test]
    fn a_changed_bit_is_noticed() {
        let state = State {
            last: 5,
            points: 3,
            ..State::default()
        };
        let mut record = state.write(6);
        assert_eq!(State::read(&record, 6), Some(state));
        assert_eq!(State::read(&record, 7), None, "of another series");
        record[9] ^= 4;
        assert_eq!(State::read(&record, 6), None);
    }

    #[test]
    fn a_number_belongs_to_its_name() {
        let sealed = seal_id("cpu", 7);
        assert_eq!(open_id("cpu", sealed), Some(7));
        assert_eq!(open_id("cpv", sealed), None);
        for bit in 0..64 {
            assert_eq!(open_id("cpu", sealed ^ 1 << bit), None);
        }
    }
}
