//! What the kernels must give, as plain loops.

use warpstride_kernels::series::bucket::Bucketing;
use warpstride_kernels::series::methods::{FIRST, LAST, columns_of};
use warpstride_kernels::series::order;
use warpstride_kernels::series::sums::ordered_sum;

pub(super) const SECOND: u64 = 1_000_000_000;

/// Series one after the other.
pub(super) struct Batch {
    pub(super) times: Vec<u64>,
    pub(super) values: Vec<f64>,
    pub(super) offsets: Vec<u32>,
}

impl Batch {
    pub(super) fn new(series: &[Vec<u64>], mut value: impl FnMut(usize) -> f64) -> Self {
        let times = series.concat();
        let mut offsets = vec![0];
        for one in series {
            offsets.push(offsets.last().unwrap() + one.len() as u32);
        }
        Self {
            values: (0..times.len()).map(&mut value).collect(),
            times,
            offsets,
        }
    }

    /// One series of buckets of 1 s of these lengths.
    pub(super) fn of_lengths(lengths: &[usize], value: impl FnMut(usize) -> f64) -> Self {
        let times = lengths
            .iter()
            .zip(0_u64..)
            .flat_map(|(n, bucket)| (0..*n as u64).map(move |i| bucket * SECOND + i));
        Self::new(&[times.collect()], value)
    }
}

pub(super) struct Answer {
    pub(super) first: Vec<u32>,
    pub(super) starts: Vec<i64>,
    pub(super) of_series: Vec<u32>,
    pub(super) covering: Vec<u32>,
    pub(super) longest: u32,
    /// (column, bucket), bits.
    pub(super) columns: Vec<Vec<u64>>,
}

pub(super) fn definition(batch: &Batch, rule: Bucketing, methods: u32) -> Answer {
    let mut first = Vec::new();
    let mut starts = Vec::new();
    let mut of_series = Vec::new();
    let mut covering = Vec::new();
    for pair in batch.offsets.windows(2) {
        of_series.push(first.len() as u32);
        let mut before = None;
        for point in pair[0]..pair[1] {
            let index = rule.index(batch.times[point as usize]);
            if before != Some(index) {
                first.push(point);
                starts.push(rule.start(index));
            }
            before = Some(index);
            if point % 32 == 0 {
                covering.push(first.len() as u32 - 1);
            }
        }
    }
    of_series.push(first.len() as u32);
    first.push(batch.times.len() as u32);
    let mut columns = vec![Vec::new(); columns_of(methods as usize)];
    for pair in first.windows(2) {
        let values = &batch.values[pair[0] as usize..pair[1] as usize];
        let n = values.len();
        let sum = ordered_sum(n, &|i| values[i]);
        let mean = sum / n as f64;
        let squares = ordered_sum(n, &|i| (values[i] - mean) * (values[i] - mean));
        let keys = values.iter().map(|v| order::key(*v));
        let answers = [
            n as f64,
            sum,
            mean,
            order::value(keys.clone().min().unwrap()),
            order::value(keys.max().unwrap()),
            values[0],
            values[n - 1],
            (squares / (n as f64 - 1.0)).sqrt(),
        ];
        let mut column = 0;
        for (bit, answer) in answers.into_iter().enumerate() {
            if methods >> bit & 1 == 1 {
                // First and last are copies, NaN and all.
                let bits = if answer.is_nan() && 1 << bit & (FIRST | LAST) == 0 {
                    f64::NAN.to_bits()
                } else {
                    answer.to_bits()
                };
                columns[column].push(bits);
                column += 1;
            }
        }
    }
    let lengths = first.windows(2).map(|pair| pair[1] - pair[0]);
    let longest = match lengths.max().unwrap_or(1) {
        0..=8 => 8,
        9..=32 => 32,
        long => long,
    };
    Answer {
        first,
        starts,
        of_series,
        covering,
        longest,
        columns,
    }
}

impl Answer {
    /// The first thing that differs.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        fn list<T: PartialEq + std::fmt::Debug>(name: &str, a: &[T], b: &[T]) -> Option<String> {
            let at = a.iter().zip(b).position(|(a, b)| a != b);
            let at = at.or((a.len() != b.len()).then_some(a.len().min(b.len())))?;
            Some(format!("{name}[{at}]: {:?} and {:?}", a.get(at), b.get(at)))
        }
        let columns = self.columns.iter().zip(&other.columns).enumerate();
        list("first", &self.first, &other.first)
            .or_else(|| list("starts", &self.starts, &other.starts))
            .or_else(|| list("of_series", &self.of_series, &other.of_series))
            .or_else(|| list("covering", &self.covering, &other.covering))
            .or_else(|| list("longest", &[self.longest], &[other.longest]))
            .or_else(|| {
                columns
                    .filter_map(|(i, (a, b))| list(&format!("column {i}"), a, b))
                    .next()
            })
    }
}
