//! The engine of a sum or a product of models: each part on an engine of its own, multiplied and
//! added in double precision.

use super::cpu::CpuEngine;
use super::joint::distinct;
use super::{Calculation, Engine, SasError, Vector};
use warpstride_core::run::Setup;

/// Evaluates a sum of models, I = scale · Σ (term's scale · term) + background, whose terms are
/// models or products of models. A term whose factor is 0 is not computed, and vectors that agree
/// in the values of a part share its computation. A resolution smears products, not their parts.
pub struct SumEngine {
    calculation: Calculation,
    engines: Vec<Box<dyn Engine>>,
}

impl SumEngine {
    /// From one engine for each of [`Calculation::parts`], in their order.
    ///
    /// # Errors
    /// Another number of engines than of parts.
    pub fn new(calculation: Calculation, engines: Vec<Box<dyn Engine>>) -> Result<Self, SasError> {
        let parts = calculation.definition.parts().len();
        if parts != engines.len() {
            return Err(SasError::Refused(format!(
                "{}: expected an engine for each of {parts} parts, found {}",
                calculation.definition.name(),
                engines.len()
            )));
        }
        Ok(Self {
            calculation,
            engines,
        })
    }
}

/// The engine of any calculation on the CPU.
///
/// # Errors
/// None for calculations that are made by [`Calculation::new`].
pub fn on_cpu(calculation: Calculation) -> Result<Box<dyn Engine>, SasError> {
    let parts = calculation.parts();
    if parts.is_empty() {
        return Ok(Box::new(CpuEngine::new(calculation)));
    }
    let engines = parts.into_iter();
    let engines = engines.map(|part| Box::new(CpuEngine::new(part)) as Box<dyn Engine>);
    Ok(Box::new(SumEngine::new(calculation, engines.collect())?))
}

impl Calculation {
    /// The calculations of the parts of a sum, at the same points with the same resolution, and of
    /// a product of models, at the finer points of the resolution; empty for any other model.
    #[must_use]
    pub fn parts(&self) -> Vec<Self> {
        let is_factor = |at: &usize| {
            let mut terms = self.definition.terms().iter();
            terms.any(|term| term.parts.len() > 1 && term.parts.contains(at))
        };
        let parts = self.definition.parts().iter().enumerate();
        parts
            .map(|(at, part)| Self {
                points: if is_factor(&at) {
                    self.fine_points().clone()
                } else {
                    self.points.clone()
                },
                resolution: (self.resolution.clone()).filter(|_| !is_factor(&at)),
                definition: part.definition().clone(),
                polydispersity: self
                    .polydispersity
                    .iter()
                    .filter_map(|of_sum| {
                        let mut of_part = of_sum.clone();
                        of_part.parameter = part.index_of(of_sum.parameter)?;
                        Some(of_part)
                    })
                    .collect(),
                ..self.clone()
            })
            .collect()
    }

    /// The vectors of the parts of a sum or a product of models, with scale 1 and background 0, and
    /// the factor of the term of each; empty for any other model.
    #[must_use]
    pub fn part_vectors(&self, vector: &Vector) -> Vec<(f64, Vector)> {
        let (scale, _) = self.common(vector);
        let terms = self.definition.terms().iter();
        let terms = terms.flat_map(|term| term.parts.clone().map(move |_| term));
        let parts = self.definition.parts().iter().zip(terms);
        parts
            .map(|(part, term)| {
                let widths = self.polydispersity.iter().zip(&vector.widths);
                let of_part = Vector {
                    values: part.values(&vector.values),
                    widths: widths
                        .filter(|(of, _)| part.index_of(of.parameter).is_some())
                        .map(|(_, width)| *width)
                        .collect(),
                };
                let factor = term
                    .scale
                    .map_or(1.0, |at| vector.values.get(at).copied().unwrap_or(f64::NAN));
                (scale * factor, of_part)
            })
            .collect()
    }

    /// Scale and background, the first two values.
    fn common(&self, vector: &Vector) -> (f64, f64) {
        let at = |index: usize| vector.values.get(index).copied().unwrap_or(f64::NAN);
        (at(0), at(1))
    }
}

impl Engine for SumEngine {
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
        let calculation = &self.calculation;
        let (rows, widths) = (
            calculation.definition.rows().len(),
            calculation.polydispersity.len(),
        );
        for vector in vectors {
            if vector.values.len() != rows || vector.widths.len() != widths {
                return Err(SasError::Refused(format!(
                    "{}: expected {rows} values and {widths} widths, found {} and {}",
                    calculation.definition.name(),
                    vector.values.len(),
                    vector.widths.len()
                )));
            }
            calculation.check(vector)?;
        }
        let of_vectors: Vec<Vec<(f64, Vector)>> = vectors
            .iter()
            .map(|vector| calculation.part_vectors(vector))
            .collect();
        let mut sums = vec![vec![0.0; calculation.points.len()]; vectors.len()];
        for term in calculation.definition.terms() {
            let first = term.parts.start;
            let used = || {
                let with_index = of_vectors.iter().enumerate();
                with_index.filter(|(_, of_vector)| of_vector[first].0 != 0.0)
            };
            // The product of each vector that is used, at the finer points.
            let mut products: Vec<Vec<f64>> = Vec::new();
            for part in term.parts.clone() {
                let (distinct, indices) = distinct(used().map(|(_, of_vector)| &of_vector[part].1));
                if distinct.is_empty() {
                    break;
                }
                let computed = self.engines[part].evaluate(&distinct)?;
                if term.parts.len() > 1 {
                    multiply(&mut products, &computed, &indices);
                    continue;
                }
                for ((at, of_vector), index) in used().zip(indices) {
                    add(&mut sums[at], of_vector[part].0, &computed[index]);
                }
            }
            for ((at, of_vector), product) in used().zip(products) {
                let at_points = match &calculation.resolution {
                    Some(resolution) => resolution.apply(&product),
                    None => product,
                };
                add(&mut sums[at], of_vector[first].0, &at_points);
            }
        }
        for (sums, vector) in sums.iter_mut().zip(vectors) {
            let (_, background) = calculation.common(vector);
            sums.iter_mut().for_each(|sum| *sum += background);
        }
        Ok(sums)
    }

    /// That of the first part.
    fn setup(&self) -> Setup {
        self.engines
            .first()
            .map_or_else(Setup::default, |engine| engine.setup())
    }

    fn batch(&self) -> usize {
        let batches = self.engines.iter().map(|engine| engine.batch());
        batches.min().unwrap_or(1)
    }
}

/// Adds `factor` times the intensities of a term.
fn add(sums: &mut [f64], factor: f64, intensities: &[f64]) {
    for (sum, intensity) in sums.iter_mut().zip(intensities) {
        *sum += factor * intensity;
    }
}

/// Multiplies the product of each vector by the part that is computed for it, or begins with it.
fn multiply(products: &mut Vec<Vec<f64>>, computed: &[Vec<f64>], indices: &[usize]) {
    if products.is_empty() {
        products.extend(indices.iter().map(|index| computed[*index].clone()));
        return;
    }
    for (product, index) in products.iter_mut().zip(indices) {
        for (value, factor) in product.iter_mut().zip(&computed[*index]) {
            *value *= factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Points;
    use crate::resolution::{Pinhole, Width};
    use crate::{Definition, Distribution, Polydispersity};

    fn vector(calculation: &Calculation, set: &[(&str, f64)], widths: &[f64]) -> Vector {
        let mut vector = calculation.defaults();
        for (name, value) in set {
            vector.values[calculation.definition.parameter_index(name).unwrap()] = *value;
        }
        vector.widths = widths.to_vec();
        vector
    }

    fn calculation(model: &str, polydisperse: &[&str], points: &Points) -> Calculation {
        let definition = Definition::parse(model).unwrap();
        let polydispersity = polydisperse.iter().map(|name| Polydispersity {
            parameter: definition.parameter_index(name).unwrap(),
            distribution: Distribution::Gaussian,
            points: 9,
            nsigma: 3.0,
            is_given: true,
        });
        Calculation {
            polydispersity: polydispersity.collect(),
            ..Calculation::new(definition.clone(), points.clone())
        }
    }

    /// A product with a distribution, and a cylinder with a distribution and an orientation, in one
    /// dimension and in two.
    #[test]
    fn a_sum_is_the_sum_of_its_parts() {
        let q: Vec<f64> = (1..20).map(|i| 0.01 * f64::from(i)).collect();
        let pixels = Points::Pixels {
            qx: q.clone(),
            qy: q.iter().map(|q| 0.1 - q).collect(),
        };
        for points in [Points::Curve(q), pixels] {
            let of_sum = calculation(
                "sphere@hardsphere+cylinder",
                &["B_length", "A_radius"],
                &points,
            );
            let set = [
                ("scale", 0.5),
                ("background", 0.02),
                ("A_scale", 0.3),
                ("A_radius", 40.0),
                ("A_volfraction", 0.1),
                ("B_scale", 0.04),
                ("B_theta", 20.0),
                ("B_radius", 15.0),
            ];
            let all = vector(&of_sum, &set, &[0.2, 0.1]);
            let none = vector(
                &of_sum,
                &[("scale", 0.0), ("background", 0.02)],
                &[0.2, 0.1],
            );
            let found = on_cpu(of_sum).unwrap().evaluate(&[all, none]).unwrap();
            let a = calculation("sphere@hardsphere", &["radius"], &points);
            let set = [("background", 0.0), ("radius", 40.0), ("volfraction", 0.1)];
            let of_a = vector(&a, &set, &[0.1]);
            let of_a = on_cpu(a).unwrap().evaluate(&[of_a]).unwrap().remove(0);
            let b = calculation("cylinder", &["length"], &points);
            let set = [("background", 0.0), ("theta", 20.0), ("radius", 15.0)];
            let of_b = vector(&b, &set, &[0.2]);
            let of_b = on_cpu(b).unwrap().evaluate(&[of_b]).unwrap().remove(0);
            for (i, found) in found[0].iter().enumerate() {
                let expected = 0.5 * (0.3 * of_a[i] + 0.04 * of_b[i]) + 0.02;
                assert!(
                    (found / expected - 1.0).abs() < 1e-14,
                    "{found}, {expected}"
                );
            }
            assert!(found[1].iter().all(|i| *i == 0.02));
        }
    }

    /// A sum of a model and a product with a structure factor in it, with a distribution and a
    /// resolution, which smears the product; and a product alone, in two dimensions.
    #[test]
    fn a_product_is_the_product_of_its_parts() {
        let q: Vec<f64> = (1..20).map(|i| 0.01 * f64::from(i)).collect();
        let curve = Points::Curve(q.clone());
        let resolution = Pinhole::new(Width::Relative(0.1)).resolution(&q).unwrap();
        let smeared = |model: &str, polydisperse: &[&str], points: &Points, smeared: bool| {
            let resolution = smeared.then(|| resolution.clone());
            Calculation {
                resolution,
                ..calculation(model, polydisperse, points)
            }
        };
        let model = "lamellar+sphere*sphere@hardsphere";
        let of_sum = smeared(model, &["B_radius"], &curve, true);
        let set = [
            ("scale", 0.5),
            ("background", 0.02),
            ("A_scale", 0.3),
            ("A_thickness", 30.0),
            ("BC_scale", 0.04),
            ("B_radius", 40.0),
            ("C_radius", 25.0),
            ("C_volfraction", 0.1),
        ];
        let all = vector(&of_sum, &set, &[0.1]);
        let none = vector(&of_sum, &[("BC_scale", 0.0), ("A_scale", 0.0)], &[0.1]);
        let found = on_cpu(of_sum).unwrap().evaluate(&[all, none]).unwrap();
        let alone = |model: &str, set: &[(&str, f64)], widths: &[f64], of: &Points, is: bool| {
            let polydisperse: &[&str] = if widths.is_empty() { &[] } else { &["radius"] };
            let part = smeared(model, polydisperse, of, is);
            let vector = vector(&part, &[set, &[("background", 0.0)]].concat(), widths);
            on_cpu(part).unwrap().evaluate(&[vector]).unwrap().remove(0)
        };
        let a = alone("lamellar", &[("thickness", 30.0)], &[], &curve, true);
        let fine = &resolution.fine;
        let b = alone("sphere", &[("radius", 40.0)], &[0.1], fine, false);
        let set = [("radius", 25.0), ("volfraction", 0.1)];
        let c = alone("sphere@hardsphere", &set, &[], fine, false);
        let product: Vec<f64> = b.iter().zip(&c).map(|(b, c)| b * c).collect();
        let product = resolution.apply(&product);
        for (i, found) in found[0].iter().enumerate() {
            let expected = 0.5 * (0.3 * a[i] + 0.04 * product[i]) + 0.02;
            let error = (found / expected - 1.0).abs();
            assert!(error < 1e-12, "{found}, {expected}");
        }
        assert!(found[1].iter().all(|i| *i == 0.001));
        let pixels = Points::Pixels {
            qx: q.clone(),
            qy: q.iter().map(|q| 0.1 - q).collect(),
        };
        let of_product = calculation("cylinder*sphere", &["B_radius"], &pixels);
        let set = [("scale", 0.3), ("background", 0.0), ("A_theta", 20.0)];
        let whole = vector(&of_product, &set, &[0.1]);
        let whole = on_cpu(of_product).unwrap().evaluate(&[whole]).unwrap();
        let cylinder = alone("cylinder", &[("theta", 20.0)], &[], &pixels, false);
        let sphere = alone("sphere", &[], &[0.1], &pixels, false);
        for (i, found) in whole[0].iter().enumerate() {
            let expected = 0.3 * cylinder[i] * sphere[i];
            assert!((found / expected - 1.0).abs() < 1e-12);
        }
    }

    /// Counts the vectors of its calls.
    struct Counting(Box<dyn Engine>, std::rc::Rc<std::cell::Cell<usize>>);

    impl Engine for Counting {
        fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
            self.1.set(self.1.get() + vectors.len());
            self.0.evaluate(vectors)
        }

        fn setup(&self) -> Setup {
            self.0.setup()
        }

        fn batch(&self) -> usize {
            7
        }
    }

    #[test]
    fn parts_that_agree_are_computed_once_and_those_without_scale_not() {
        let points = Points::Curve(vec![0.01, 0.1]);
        let of_sum = calculation("sphere+lamellar", &[], &points);
        let counts = [0, 1].map(|_| std::rc::Rc::new(std::cell::Cell::new(0)));
        let parts = of_sum.parts().into_iter().zip(&counts);
        let engines = parts.map(|(part, count)| {
            let engine = Box::new(CpuEngine::new(part));
            Box::new(Counting(engine, std::rc::Rc::clone(count))) as Box<dyn Engine>
        });
        let mut engine = SumEngine::new(of_sum.clone(), engines.collect()).unwrap();
        let vectors = [
            vector(&of_sum, &[("A_radius", 30.0)], &[]),
            vector(&of_sum, &[("A_radius", 31.0)], &[]),
            vector(&of_sum, &[("A_radius", 30.0), ("B_scale", 0.0)], &[]),
        ];
        let found = engine.evaluate(&vectors).unwrap();
        assert_eq!(counts.map(|count| count.get()), [2, 1]);
        assert_eq!((found.len(), engine.batch()), (3, 7));
        for (found, vector) in found.iter().zip(&vectors) {
            let alone = on_cpu(of_sum.clone())
                .unwrap()
                .evaluate(std::slice::from_ref(vector));
            assert_eq!(*found, alone.unwrap()[0]);
        }
        let refused = vector(&of_sum, &[("B_thickness", -1.0)], &[]);
        let refused = engine.evaluate(&[refused]).unwrap_err().to_string();
        assert!(refused.contains("B_thickness"), "{refused}");
        assert!(SumEngine::new(of_sum, Vec::new()).is_err());
    }
}
