//! Tests that run the program, each in a temporary folder.

mod bad_input;
mod commands;
mod full_disk;
mod interruption;
#[cfg(feature = "jacobi")]
mod jacobi;
#[cfg(feature = "jacobi")]
mod jacobi_emulated;
#[cfg(feature = "jacobi")]
mod jacobi_refused;
#[cfg(feature = "jacobi")]
mod jacobi_restart;
mod leftovers;
mod links;
mod locks;
mod messages;
#[cfg(feature = "mri")]
mod mri;
#[cfg(feature = "mri")]
mod mri_coil_maps;
#[cfg(feature = "mri")]
mod mri_devices;
#[cfg(feature = "mri")]
mod mri_doubtful;
#[cfg(feature = "mri")]
mod mri_faulty_readouts;
#[cfg(feature = "mri")]
mod mri_formats;
#[cfg(feature = "mri")]
mod mri_raw;
#[cfg(feature = "mri")]
mod mri_refused;
#[cfg(feature = "mri")]
mod mri_strength;
#[cfg(feature = "mri")]
mod mri_trials;
mod names;
mod pictures;
mod printed;
#[cfg(feature = "ptycho")]
mod ptycho_automatic;
#[cfg(feature = "ptycho")]
mod ptycho_automatic_model;
#[cfg(feature = "ptycho")]
mod ptycho_bad_frames;
#[cfg(feature = "ptycho")]
mod ptycho_causes;
#[cfg(feature = "ptycho")]
mod ptycho_detector;
#[cfg(feature = "ptycho")]
mod ptycho_device_memory;
#[cfg(feature = "ptycho")]
mod ptycho_devices;
#[cfg(feature = "ptycho")]
mod ptycho_doubtful;
#[cfg(feature = "ptycho")]
mod ptycho_electrons;
#[cfg(feature = "ptycho")]
mod ptycho_export;
#[cfg(feature = "ptycho")]
mod ptycho_faulty_frames;
#[cfg(feature = "ptycho")]
mod ptycho_free;
#[cfg(feature = "ptycho")]
mod ptycho_host_memory;
#[cfg(feature = "ptycho")]
mod ptycho_import;
#[cfg(feature = "ptycho")]
mod ptycho_layers;
#[cfg(feature = "ptycho")]
mod ptycho_metrics;
#[cfg(feature = "ptycho")]
mod ptycho_near_field;
#[cfg(feature = "ptycho")]
mod ptycho_notes;
#[cfg(feature = "ptycho")]
mod ptycho_numbered_files;
#[cfg(feature = "ptycho")]
mod ptycho_orientation;
#[cfg(feature = "ptycho")]
mod ptycho_pairing;
mod ptycho_position_columns;
#[cfg(feature = "ptycho")]
mod ptycho_position_units;
#[cfg(feature = "ptycho")]
mod ptycho_predict;
#[cfg(feature = "ptycho")]
mod ptycho_prepare;
#[cfg(feature = "ptycho")]
mod ptycho_problems;
#[cfg(feature = "ptycho")]
mod ptycho_profile;
#[cfg(feature = "ptycho")]
mod ptycho_remedies;
#[cfg(feature = "ptycho")]
mod ptycho_resolution;
mod ptycho_scaled_counts;
#[cfg(feature = "ptycho")]
mod ptycho_slices;
#[cfg(feature = "ptycho")]
mod ptycho_start;
#[cfg(feature = "ptycho")]
mod ptycho_start_object;
#[cfg(feature = "ptycho")]
mod ptycho_streamed_models;
#[cfg(feature = "ptycho")]
mod ptycho_variable_probe;
#[cfg(feature = "sas")]
mod sas;
#[cfg(feature = "sas")]
mod sas_devices;
#[cfg(feature = "sas")]
mod sas_doubtful;
#[cfg(feature = "sas")]
mod sas_fit;
#[cfg(feature = "sas")]
mod sas_refused;
#[cfg(feature = "sas")]
mod sas_trials;
#[cfg(feature = "series")]
mod series;
#[cfg(feature = "series")]
mod series_refused;
#[cfg(feature = "series")]
mod series_store;
mod summaries;
mod support;
