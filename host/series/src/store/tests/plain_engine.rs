//! An engine that executes the definition.

use warpstride_core::run::Setup;

use crate::{Batch, Engine, Resample, Resampled, SeriesError, definition};

pub(super) struct PlainEngine {
    plan: Resample,
    setup: Setup,
}

impl PlainEngine {
    pub(super) fn new(plan: &Resample) -> Self {
        Self {
            plan: plan.clone(),
            setup: Setup::default(),
        }
    }
}

impl Engine for PlainEngine {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn plan(&self) -> &Resample {
        &self.plan
    }

    fn resample(&mut self, batch: &Batch) -> Result<Resampled, SeriesError> {
        Ok(definition::resample(&self.plan, batch))
    }
}
