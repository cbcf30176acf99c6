//! Dark areas that light surrounds, on two opposite sides at least.

use super::Middle;
use super::expected::{Dark, EXPECTED, FAR, sides};
use super::gaps::{Rule, between};
use ndarray::Array2;
use std::collections::HashSet;

/// An area with [`EXPECTED`] grows over pixels that are darker than this part of the light, of as
/// many counts.
const AROUND: (f64, f64) = (0.2, 10.0);
/// Least part of an area's edge that is sharp; if the edge may be half shadowed.
const SHARP: f64 = 0.85;
const SHARP_SHADOW: f64 = 0.75;
/// Most pixels of a small area. The zeros of a wave are small, too, so the conditions are stricter.
const SMALL: usize = 4;
/// Largest counts of a small area, as a part of the mean light around it.
const DARKER: f64 = 0.005;
/// Least light around a small area, as a part of the largest light around it.
const EVEN: f64 = 0.2;
/// How many times brighter the light around may be instead of even.
const BRIGHTER: f64 = 2000.0;
/// A pixel beside an area is level if it has this part of the light of the next pixel outwards. The
/// second number is the least share of level pixels beside a narrow area.
const LEVEL: (f64, f64) = (0.5, 0.4);
/// A pixel beside an area is half shadowed if it has less than this part of the light of the next
/// pixel outwards: in the first pass over the frame, and in the second, which looks for such edges.
const HALF: [f64; 2] = [0.6, 0.7];
/// Least share of half-shadowed pixels at an edge, in the first pass.
const HALF_OF_EDGE: f64 = 0.25;
/// Share of a symmetric area's pixels that lie opposite to its own; of those opposite to another
/// dark area.
const OF_ITSELF: f64 = 0.9;
const OF_OTHER: f64 = 0.8;
/// Size of the shadow of a central stop, relative to the lit area.
const STOP: f64 = 0.02;
/// Share of the edge of such a shadow that is lit.
const ENCLOSED: f64 = 0.9;
/// Factor by which a beamstop has fewer counts than the pixels outside of the light, where a
/// specimen scatters as much as into the middle of a ring; fewest counts of those pixels that say
/// so.
const SCATTERED: (f64, f64) = (3.0, 50.0);
/// Factor by which light that rises towards a beamstop changes from pixel to pixel.
const RISES: std::ops::Range<f64> = 1.1..2.5;

/// What a dark area is.
enum Kind {
    Dead,
    Doubtful,
    Pattern,
}

/// Adds dark areas to `found`; their edges may be half shadowed.
pub(super) fn find(
    counts: &Array2<f64>,
    valid: &Array2<bool>,
    middle: &Middle,
    half_shadowed: bool,
    found: &mut Dark,
) {
    let mut left = valid.clone();
    left.zip_mut_with(&found.dead, |left, dead| *left &= !dead);
    left.zip_mut_with(&found.doubtful, |left, doubtful| *left &= !doubtful);
    let rule = |far, least| Rule {
        far,
        least,
        half_shadowed,
    };
    let dark = between(counts, &left, &rule(FAR, EXPECTED));
    if !dark.iter().any(|dark| *dark) {
        return;
    }
    let (far, least) = AROUND;
    let darker = between(counts, &left, &rule(far, least)) | &dark;
    let mut search = Search {
        counts,
        valid: &left,
        middle,
        half_shadowed,
        areas: Array2::zeros(counts.dim()),
    };
    let mut areas = Vec::new();
    for ((row, column), dark) in dark.indexed_iter() {
        if *dark && search.areas[[row, column]] == 0 {
            areas.push(search.grown([row, column], &darker, areas.len() + 1));
        }
    }
    for (number, area) in areas.iter().enumerate() {
        let edge = search.edge(area, number + 1);
        let to = match search.kind(area, number + 1, &edge) {
            Kind::Dead => &mut found.dead,
            Kind::Doubtful => &mut found.doubtful,
            Kind::Pattern => continue,
        };
        for place in area.iter().chain(&edge.half_shadowed) {
            to[*place] = true;
        }
    }
}

struct Search<'a> {
    counts: &'a Array2<f64>,
    valid: &'a Array2<bool>,
    middle: &'a Middle,
    half_shadowed: bool,
    /// The number of the area in which a pixel lies; 0: none.
    areas: Array2<usize>,
}

/// The edge of an area.
#[derive(Default)]
struct Edge {
    /// Pixels beside it, and those of them with light, with counts.
    all: usize,
    lit: Vec<f64>,
    /// Number of lit pixels that are far brighter than the pixel of the area, and of those with the
    /// light of the next ones.
    sharp: usize,
    level: usize,
    half_shadowed: Vec<[usize; 2]>,
}

impl Search<'_> {
    /// The area (row, column) around a pixel.
    fn grown(&mut self, from: [usize; 2], darker: &Array2<bool>, number: usize) -> Vec<[usize; 2]> {
        self.areas[from] = number;
        let mut area = vec![from];
        let mut next = 0;
        while let Some(place) = area.get(next).copied() {
            for (beside, _) in sides(place, darker.dim()) {
                if darker[beside] && self.areas[beside] == 0 {
                    self.areas[beside] = number;
                    area.push(beside);
                }
            }
            next += 1;
        }
        area
    }

    fn edge(&self, area: &[[usize; 2]], number: usize) -> Edge {
        let mut edge = Edge::default();
        let usable = |place: &[usize; 2]| self.valid[*place] && self.areas[*place] != number;
        let half = HALF[usize::from(self.half_shadowed)];
        let narrow = self.is_narrow(area, number);
        for place in area {
            for (beside, next) in sides(*place, self.counts.dim()) {
                if self.areas[beside] == number {
                    continue;
                }
                edge.all += 1;
                if !self.valid[beside] {
                    continue;
                }
                let here = self.counts[beside];
                let next = next.filter(usable).map(|next| self.counts[next]);
                let light = match next {
                    Some(next) if self.half_shadowed => here.max(next),
                    _ => here,
                };
                if light < EXPECTED {
                    continue;
                }
                edge.lit.push(here);
                let behind = [0, 1].map(|axis| (2 * place[axis]).wrapping_sub(beside[axis]));
                let dark = match self.areas.get(behind) {
                    Some(area) if self.half_shadowed && !narrow && *area == number => {
                        self.counts[behind]
                    }
                    _ => f64::INFINITY,
                };
                let dark = dark.min(self.counts[*place]);
                edge.sharp += usize::from(dark < FAR * light);
                edge.level += usize::from(next.is_none_or(|next| here >= LEVEL.0 * next));
                if !narrow && next.is_some_and(|next| here < half * next) {
                    edge.half_shadowed.push(beside);
                }
            }
        }
        let shadowed = edge.half_shadowed.len() as f64;
        if !self.half_shadowed && shadowed < HALF_OF_EDGE * edge.lit.len() as f64 {
            edge.half_shadowed.clear();
        }
        edge
    }

    /// Whether no pixel of an area is surrounded by others of it.
    fn is_narrow(&self, area: &[[usize; 2]], number: usize) -> bool {
        let inside = |place: &[usize; 2]| {
            sides(*place, self.counts.dim()).all(|(beside, _)| self.areas[beside] == number)
        };
        !area.iter().any(inside)
    }

    fn kind(&self, area: &[[usize; 2]], number: usize, edge: &Edge) -> Kind {
        let lit = edge.lit.len() as f64;
        let least = if self.half_shadowed {
            SHARP_SHADOW
        } else {
            SHARP
        };
        let falls = (edge.level as f64) < LEVEL.1 * lit && self.is_narrow(area, number);
        if (edge.sharp as f64) < least * lit || falls || !self.certain(area, edge) {
            return Kind::Pattern;
        }
        let share = |is_dark: &dyn Fn(usize) -> bool| {
            let dark = |place: &[usize; 2]| is_dark(self.areas[*place]);
            let opposite = |place: &&[usize; 2]| {
                let dim = self.counts.dim();
                let place = self.middle.opposite(**place, dim);
                place.is_some_and(|place| {
                    dark(&place) || sides(place, dim).any(|(beside, _)| dark(&beside))
                })
            };
            area.iter().filter(opposite).count() as f64 / area.len() as f64
        };
        if share(&|other| other == number) >= OF_ITSELF {
            let [row, column] = self.middle.place.map(|middle| middle.round() as usize);
            let small = (area.len() as f64) < STOP * self.middle.lit as f64;
            return match self.areas.get((row, column)) == Some(&number) {
                _ if small || self.rises(area) => Kind::Dead,
                true if lit <= ENCLOSED * edge.all as f64 => Kind::Pattern,
                true if self.has_less_than_outside(area, edge) => Kind::Dead,
                true => Kind::Doubtful,
                false => Kind::Pattern,
            };
        }
        match share(&|other| other > 0 && other != number) >= OF_OTHER {
            true => Kind::Pattern,
            false => Kind::Dead,
        }
    }

    /// Whether an area is large or, if it is small, no zero of a wave.
    fn certain(&self, area: &[[usize; 2]], edge: &Edge) -> bool {
        let counts = area.iter().map(|place| self.counts[*place]);
        let most = counts.fold(0.0, f64::max);
        let [least, largest] = (edge.lit.iter())
            .fold([f64::INFINITY, 0.0_f64], |[low, high], lit| {
                [low.min(*lit), high.max(*lit)]
            });
        let mean = edge.lit.iter().sum::<f64>() / edge.lit.len().max(1) as f64;
        let even = least >= EVEN * largest || most * BRIGHTER < least;
        let dark = mean >= 1.0 / DARKER && most <= DARKER * mean;
        area.len() > SMALL || (dark && even && 2 * edge.level > edge.lit.len())
    }

    /// Whether an area has fewer counts than pixels beyond the light around it, or there are none:
    /// what a specimen scatters out of a ring of light, it scatters into its middle, too.
    fn has_less_than_outside(&self, area: &[[usize; 2]], edge: &Edge) -> bool {
        let mut light = edge.lit.clone();
        let middle = light.len() / 2;
        let (_, light, _) = light.select_nth_unstable_by(middle, f64::total_cmp);
        let outside = (self.counts.indexed_iter())
            .filter(|(place, counts)| {
                self.valid[*place] && self.areas[*place] == 0 && **counts < FAR * *light
            })
            .map(|(_, counts)| *counts);
        let (pixels, sum) = outside.fold((0, 0.0), |(n, sum), counts| (n + 1, sum + counts));
        let here: f64 = area.iter().map(|place| self.counts[*place]).sum();
        let (factor, least) = SCATTERED;
        let [here, there] = [(here, area.len()), (sum, pixels)].map(|(sum, n)| sum / n as f64);
        pixels == 0 || (sum >= least && there > factor * here)
    }

    /// Whether the light rises towards an area, over several pixels.
    fn rises(&self, area: &[[usize; 2]]) -> bool {
        let mut seen: HashSet<[usize; 2]> = area.iter().copied().collect();
        let mut shell = area.to_vec();
        let mut light = Vec::new();
        for _ in 0..5 {
            let around = shell
                .iter()
                .flat_map(|place| sides(*place, self.counts.dim()));
            shell = around
                .map(|(beside, _)| beside)
                .filter(|beside| seen.insert(*beside))
                .collect();
            let lit = |counts: &f64| *counts >= EXPECTED;
            let valid = shell.iter().filter(|place| self.valid[**place]);
            let counts: Vec<f64> = valid.map(|place| self.counts[*place]).filter(lit).collect();
            light.push(counts.iter().sum::<f64>() / counts.len().max(1) as f64);
        }
        let first = usize::from(self.half_shadowed);
        let steps: Vec<bool> = (light[first..].windows(2).take(3))
            .map(|light| RISES.contains(&(light[0] / light[1].max(f64::MIN_POSITIVE))))
            .collect();
        steps.windows(2).any(|two| two == [true, true])
    }
}
