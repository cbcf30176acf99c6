//! Tests across modules: back ends against each other, real data, and published values.

mod back_ends;
mod bf16_waves;
mod changing_back_ends;
mod counts_in_file;
mod deferred_momentum;
mod exact_batches;
mod fused_step;
mod jacobi_failures;
mod jacobi_fields;
mod jacobi_history;
mod mri_any_phases;
mod mri_heart;
mod mri_references;
mod passes;
mod pie_pass;
mod precision;
mod ranks;
mod sas_cpu;
mod sas_fits;
mod sas_published;
mod series_check_values;
mod series_nab;
mod siemens_star;
mod streamed_counts;
mod streamed_waves;
mod truth;
