//! Several engines of one calculation, which share the vectors of a call.

use super::{Engine, SasError, Vector};
use std::ops::Range;
use warpstride_core::run::Setup;

/// An engine of a group, on a device of its own.
struct Member {
    /// Number of the device, for errors.
    device: usize,
    engine: Box<dyn Engine + Send>,
}

/// Engines of one calculation on several devices. The vectors of a call are divided among the
/// devices in their order, so the intensities are those of one device, to the bit if the devices
/// are of one kind: the intensities of a vector do not depend on the other vectors of its call.
pub struct EngineGroup {
    members: Vec<Member>,
    /// Vectors for which a device is worth using.
    least: usize,
}

impl EngineGroup {
    /// The engines with the numbers of their devices. A call uses as many devices as get `least`
    /// vectors each, but at least one; `None`: the [batch](Engine::batch) of an engine, as fewer do
    /// not fill a device.
    ///
    /// # Errors
    /// There is no engine.
    pub fn new(
        engines: Vec<(usize, Box<dyn Engine + Send>)>,
        least: Option<usize>,
    ) -> Result<Self, SasError> {
        let batches = engines.iter().map(|(_, engine)| engine.batch());
        let batch = batches
            .max()
            .ok_or(warpstride_cuda::gpu::GpuError::NoDevices)?;
        let members = engines.into_iter();
        Ok(Self {
            least: least.unwrap_or(batch).max(1),
            members: members
                .map(|(device, engine)| Member { device, engine })
                .collect(),
        })
    }

    /// The vectors of each device that is used.
    fn shares(&self, vectors: usize) -> Vec<Range<usize>> {
        let devices = (vectors / self.least).clamp(1, self.members.len());
        let bound = |device: usize| device * vectors / devices;
        (0..devices).map(|i| bound(i)..bound(i + 1)).collect()
    }
}

impl Member {
    /// Errors of the device have its number.
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
        self.engine.evaluate(vectors).map_err(|why| match why {
            SasError::Gpu(why) => SasError::Gpu(why.on(self.device)),
            why => why,
        })
    }
}

impl Engine for EngineGroup {
    fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
        let shares = self.shares(vectors.len());
        let mut work = self.members.iter_mut().zip(shares);
        let Some((first, own)) = work.next() else {
            return Ok(Vec::new());
        };
        // Each device has a thread, which plans its vectors, queues the launches and waits.
        let found = std::thread::scope(|scope| {
            let others: Vec<_> = work
                .map(|(member, share)| scope.spawn(|| member.evaluate(&vectors[share])))
                .collect();
            let mut found = vec![first.evaluate(&vectors[own])];
            found.extend(others.into_iter().map(|other| {
                let joined = other.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }));
            found
        });
        // A vector that is refused does not end a fit, so a device that failed comes first.
        let mut intensities = Vec::with_capacity(vectors.len());
        let mut refused = None;
        for of_device in found {
            match of_device {
                Ok(found) => intensities.extend(found),
                Err(SasError::Gpu(failed)) => return Err(SasError::Gpu(failed)),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        refused.map_or(Ok(intensities), Err)
    }

    fn setup(&self) -> Setup {
        let setups = self.members.iter().map(|member| member.engine.setup());
        let joined = setups.reduce(|all, next| Setup {
            device: format!("{}, {}", all.device, next.device),
            ..all
        });
        joined.unwrap_or_default()
    }

    /// Vectors that fill all devices.
    fn batch(&self) -> usize {
        let batches = self.members.iter().map(|member| member.engine.batch());
        batches.fold(0, usize::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use warpstride_cuda::gpu::GpuError;

    /// Vectors of the calls of each device, with its number.
    type Calls = Arc<Mutex<Vec<(usize, Vec<f64>)>>>;

    /// Gives the first value of a vector back, and refuses -1; the device fails at -2.
    struct Echo {
        device: usize,
        batch: usize,
        calls: Calls,
    }

    impl Engine for Echo {
        fn evaluate(&mut self, vectors: &[Vector]) -> Result<Vec<Vec<f64>>, SasError> {
            let values: Vec<f64> = vectors.iter().map(|v| v.values[0]).collect();
            self.calls
                .lock()
                .unwrap()
                .push((self.device, values.clone()));
            if values.contains(&-2.0) {
                return Err(GpuError::Lost { what: "parameters" }.into());
            }
            if values.contains(&-1.0) {
                return Err(SasError::Refused("-1".to_owned()));
            }
            Ok(values.into_iter().map(|value| vec![value]).collect())
        }

        fn setup(&self) -> Setup {
            Setup {
                backend: "cuda",
                device: format!("D{}", self.device),
                precision: "f64",
            }
        }

        fn batch(&self) -> usize {
            self.batch
        }
    }

    /// Devices 4, 5, … with the batches.
    fn group(batches: &[usize], least: Option<usize>) -> (EngineGroup, Calls) {
        let calls = Calls::default();
        let engine = |(i, batch): (usize, &usize)| {
            let echo = Echo {
                device: 4 + i,
                batch: *batch,
                calls: Arc::clone(&calls),
            };
            (echo.device, Box::new(echo) as Box<dyn Engine + Send>)
        };
        let engines = batches.iter().enumerate().map(engine).collect();
        (EngineGroup::new(engines, least).unwrap(), calls)
    }

    fn vectors(values: &[f64]) -> Vec<Vector> {
        let vector = |value: &f64| Vector {
            values: vec![*value],
            widths: Vec::new(),
        };
        values.iter().map(vector).collect()
    }

    /// Every number of vectors on one to five devices comes back in its order, and each of them was
    /// computed once.
    #[test]
    fn intensities_are_in_the_order_of_the_vectors() {
        for devices in 1..=5 {
            for count in 0..17 {
                let (mut group, calls) = group(&vec![1; devices], None);
                let values: Vec<f64> = (0..count).map(f64::from).collect();
                let found = group.evaluate(&vectors(&values)).unwrap();
                assert_eq!(found.concat(), values);
                let mut calls = calls.lock().unwrap().clone();
                calls.sort_by_key(|(device, _)| *device);
                let (used, parts): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
                assert_eq!(parts.concat(), values);
                assert_eq!(used.len(), devices.min(values.len()).max(1));
                let lengths = parts.iter().map(Vec::len);
                assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn a_device_is_used_if_a_call_has_a_batch_for_it() {
        let (group, _) = group(&[10, 20, 10], None);
        assert_eq!(group.batch(), 40);
        for (vectors, devices) in [(1, 1), (39, 1), (40, 2), (59, 2), (60, 3), (1000, 3)] {
            assert_eq!(group.shares(vectors).len(), devices, "{vectors}");
        }
        assert_eq!(group.setup().to_string(), "cuda (D4, D5, D6), f64");
    }

    #[test]
    fn a_device_that_fails_is_named_also_if_another_refuses_a_vector() {
        let (mut group, _) = group(&[1, 1, 1], Some(1));
        let failed = group.evaluate(&vectors(&[-1.0, 1.0, -2.0])).unwrap_err();
        assert!(
            failed.to_string().starts_with("GPU 6: parameters: "),
            "{failed}"
        );
        let refused = group.evaluate(&vectors(&[0.0, -1.0, 1.0])).unwrap_err();
        assert!(matches!(refused, SasError::Refused(_)), "{refused}");
    }

    #[test]
    fn a_group_has_an_engine() {
        assert!(EngineGroup::new(Vec::new(), None).is_err());
    }
}
