//! Tests that run the program, each in a temporary folder.

mod bad_input;
mod commands;
mod full_disk;
mod interruption;
mod jacobi;
mod jacobi_emulated;
mod jacobi_refused;
mod leftovers;
mod messages;
mod mri;
mod mri_coil_maps;
mod mri_doubtful;
mod mri_raw;
mod mri_refused;
mod names;
mod pictures;
mod printed;
mod ptycho_doubtful;
mod sas;
mod sas_fit;
mod sas_refused;
mod series;
mod series_refused;
mod series_store;
mod summaries;
mod support;
