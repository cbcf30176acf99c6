//! The binary records of a store. All numbers are little-endian, and every record ends in the
//! CRC-32 of its bytes and its key ([`RecordKey`]), so that a record under a wrong key is detected.

/// The key of a record: its table, and the numbers of the table's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordKey([u64; 4]);

impl RecordKey {
    /// The totals of the whole store.
    pub(super) const TOTALS: Self = Self([0; 4]);

    /// The state of a series.
    pub(super) fn of_series(id: u32) -> Self {
        Self([1, id.into(), 0, 0])
    }

    /// Points of a series in a time interval.
    pub(super) fn of_points(id: u32, interval: u64) -> Self {
        Self([2, id.into(), interval, 0])
    }

    /// A block of buckets.
    pub(super) fn of_block(id: u32, archive: u8, block: u64) -> Self {
        Self([3, id.into(), archive.into(), block])
    }

    /// CRC-32 of a record with this key.
    fn checksum(self, body: &[u8]) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(body);
        self.0.iter().for_each(|n| sum.update(&n.to_le_bytes()));
        sum.finalize()
    }
}

/// The id of a series as stored under its name: the upper half is the CRC-32 of both.
pub(super) fn seal_id(name: &str, id: u32) -> u64 {
    u64::from(checksum_of_name(name, id)) << 32 | u64::from(id)
}

/// The id of a series if it belongs to this name.
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

/// Points of a series in a time interval, in time order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Points {
    /// (point), nanoseconds since 1970; rising.
    pub(super) times: Vec<i64>,
    /// (point).
    pub(super) values: Vec<f64>,
}

/// Counts of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct State {
    /// Time of the last point, nanoseconds since 1970.
    pub(super) last: i64,
    /// Points accepted; points of the same time count once.
    pub(super) points: u64,
    /// Points whose value replaced one of the same time.
    pub(super) replaced: u64,
    /// Points that were too late.
    pub(super) refused: u64,
}

/// Number of buckets in a block.
pub(super) const BUCKETS: u64 = 32;

/// One aggregate for the buckets of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockColumn {
    /// Bit mask of the buckets that have a value: bit b is bucket b.
    pub(super) present: u32,
    /// Value of every bucket; 0 if there is none.
    pub(super) values: [f64; BUCKETS as usize],
}

impl Default for BlockColumn {
    fn default() -> Self {
        Self {
            present: 0,
            values: [0.0; BUCKETS as usize],
        }
    }
}

impl BlockColumn {
    /// Sets or removes the value of a bucket.
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

/// CRC-32 of a stored policy.
pub(super) fn checksum_of_policy(name: &str, toml: &str) -> [u8; 4] {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&(name.len() as u64).to_le_bytes());
    sum.update(name.as_bytes());
    sum.update(toml.as_bytes());
    sum.finalize().to_le_bytes()
}

/// Reads a record from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// Checks and removes the checksum at the end.
    fn checked(record: &'a [u8], key: RecordKey) -> Option<Self> {
        let (body, sum) = record.split_last_chunk::<4>()?;
        (key.checksum(body) == u32::from_le_bytes(*sum)).then_some(Self(body))
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

    /// A variable-length integer: seven bits per byte, the lowest first; the highest bit marks a
    /// continuation.
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

fn seal(mut out: Vec<u8>, key: RecordKey) -> Vec<u8> {
    let sum = key.checksum(&out);
    out.extend(sum.to_le_bytes());
    out
}

/// Writes a record of numbers.
pub(super) fn write_numbers(numbers: &[u64], key: RecordKey) -> Vec<u8> {
    let bytes = numbers.iter().flat_map(|n| n.to_le_bytes());
    seal(bytes.collect(), key)
}

/// Reads a record of `N` numbers.
pub(super) fn read_numbers<const N: usize>(record: &[u8], key: RecordKey) -> Option<[u64; N]> {
    let mut bytes = Bytes::checked(record, key)?;
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = bytes.number()?;
    }
    bytes.end(numbers)
}

impl State {
    /// Writes the state of series `id`.
    pub(super) fn write(&self, id: u32) -> Vec<u8> {
        let numbers = [self.last as u64, self.points, self.replaced, self.refused];
        write_numbers(&numbers, RecordKey::of_series(id))
    }

    /// Reads the state of series `id`.
    pub(super) fn read(record: &[u8], id: u32) -> Option<Self> {
        let [last, points, replaced, refused] = read_numbers(record, RecordKey::of_series(id))?;
        Some(Self {
            last: i64::try_from(last).ok()?,
            points,
            replaced,
            refused,
        })
    }
}

impl Points {
    /// The number of points, the first time, the differences of times in units of the greatest
    /// power of ten nanoseconds that divides them all, and the values.
    pub(super) fn write(times: &[i64], values: &[f64], key: RecordKey) -> Vec<u8> {
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
        seal(out, key)
    }

    /// Appends the points of a record.
    pub(super) fn read_into(&mut self, record: &[u8], key: RecordKey) -> Option<()> {
        let mut bytes = Bytes::checked(record, key)?;
        let count = usize::try_from(bytes.varying()?).ok()?;
        // Each point has a value and, except for the first, at least one byte of time.
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

/// The columns one after another: for each, the mask and the values of its set bits.
pub(super) fn write_block(columns: &[BlockColumn], key: RecordKey) -> Vec<u8> {
    let values: u32 = columns
        .iter()
        .map(|column| column.present.count_ones())
        .sum();
    let mut out = Vec::with_capacity(columns.len() * 4 + values as usize * 8 + 4);
    for column in columns {
        out.extend(column.present.to_le_bytes());
        for (bucket, value) in column.values.iter().enumerate() {
            if column.present >> bucket & 1 == 1 {
                out.extend(value.to_le_bytes());
            }
        }
    }
    seal(out, key)
}

fn read_column(bytes: &mut Bytes<'_>) -> Option<BlockColumn> {
    let mut column = BlockColumn {
        present: bytes.mask()?,
        ..BlockColumn::default()
    };
    for bucket in 0..BUCKETS as usize {
        if column.present >> bucket & 1 == 1 {
            column.values[bucket] = bytes.value()?;
        }
    }
    Some(column)
}

/// Reads all `columns` of a block.
pub(super) fn read_block(
    record: &[u8],
    columns: usize,
    key: RecordKey,
) -> Option<Vec<BlockColumn>> {
    let mut bytes = Bytes::checked(record, key)?;
    let read: Option<Vec<BlockColumn>> = (0..columns).map(|_| read_column(&mut bytes)).collect();
    bytes.end(read?)
}

/// Reads one column of a block.
pub(super) fn read_one_column(record: &[u8], column: usize, key: RecordKey) -> Option<BlockColumn> {
    let mut bytes = Bytes::checked(record, key)?;
    for _ in 0..column {
        let present = bytes.mask()?;
        bytes.skip(present.count_ones() as usize * 8)?;
    }
    read_column(&mut bytes)
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
        fn points_are_restored(
            first in 0..i64::MAX / 2,
            steps in prop::collection::vec((1..1_000_000_i64, 0..10_u32), 0..40),
            value in any::<f64>(),
        ) {
            let mut times = vec![first];
            for (step, power) in &steps {
                times.push(times[times.len() - 1] + step * 10_i64.pow(*power));
            }
            let values: Vec<f64> = (0..times.len()).map(|i| value * i as f64).collect();
            let key = RecordKey::of_points(3, 5);
            let record = Points::write(&times, &values, key);
            let mut read = Points::default();
            prop_assert!(read.read_into(&record, RecordKey::of_points(3, 6)).is_none());
            prop_assert!(read.read_into(&record, key).is_some());
            prop_assert_eq!(&read.times, &times);
            prop_assert_eq!(bits(&read.values), bits(&values));
            // Points must follow those that were read before.
            prop_assert!(read.read_into(&record, key).is_none());
        }

        #[test]
        fn blocks_are_restored(masks in prop::collection::vec(any::<u32>(), 1..5), value in any::<f64>()) {
            let columns: Vec<BlockColumn> = masks
                .iter()
                .map(|mask| {
                    let mut column = BlockColumn::default();
                    for bucket in 0..BUCKETS as usize {
                        let there = mask >> bucket & 1 == 1;
                        column.set(bucket, there.then_some(value + bucket as f64));
                    }
                    column
                })
                .collect();
            let key = RecordKey::of_block(2, 1, 9);
            let record = write_block(&columns, key);
            let read = read_block(&record, columns.len(), key).unwrap();
            for (number, column) in columns.iter().enumerate() {
                prop_assert_eq!(read[number].present, column.present);
                prop_assert_eq!(bits(&read[number].values), bits(&column.values));
                let alone = read_one_column(&record, number, key).unwrap();
                prop_assert_eq!(bits(&alone.values), bits(&column.values));
            }
            prop_assert!(read_block(&record, columns.len() + 1, key).is_none());
            for other in [RecordKey::of_block(3, 1, 9), RecordKey::of_block(2, 0, 9), RecordKey::of_block(2, 1, 8)] {
                prop_assert!(read_block(&record, columns.len(), other).is_none());
                prop_assert!(read_one_column(&record, 0, other).is_none());
            }
        }

        #[test]
        fn arbitrary_bytes_are_rejected(record in prop::collection::vec(any::<u8>(), 0..200)) {
            // With a correct checksum, as an attacker could write it.
            let key = RecordKey::of_series(4);
            for record in [seal(record.clone(), key), record] {
                let mut points = Points::default();
                if points.read_into(&record, key).is_some() {
                    prop_assert_eq!(points.times.len(), points.values.len());
                    prop_assert!(points.times.windows(2).all(|pair| pair[0] < pair[1]));
                }
                let _ = (
                    State::read(&record, 4),
                    read_block(&record, 3, key),
                    read_one_column(&record, 2, key),
                );
            }
        }
    }

    #[test]
    fn regular_times_take_a_byte_each() {
        let times: Vec<i64> = (0..100)
            .map(|i| 1_700_000_000_000_000_000 + i * 10_000_000_000)
            .collect();
        let record = Points::write(&times, &vec![0.0; 100], RecordKey::of_points(0, 0));
        assert!(record.len() < 100 * 9 + 20, "{}", record.len());
    }

    #[test]
    fn changed_bits_are_detected() {
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
    fn an_id_belongs_to_its_name() {
        let sealed = seal_id("cpu", 7);
        assert_eq!(open_id("cpu", sealed), Some(7));
        assert_eq!(open_id("cpv", sealed), None);
        for bit in 0..64 {
            assert_eq!(open_id("cpu", sealed ^ 1 << bit), None);
        }
    }
}
