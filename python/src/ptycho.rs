//! Ptychographic reconstructions.

mod result;
mod run;
mod simulate;

use pyo3::prelude::*;

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<run::PtychoRun>()?;
    module.add_class::<result::PtychoResult>()?;
    module.add_function(wrap_pyfunction!(run::resolved_recipe, module)?)?;
    module.add_function(wrap_pyfunction!(simulate::simulate_scan, module)?)
}
