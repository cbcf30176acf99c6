//! What the sciences of warpstride share and that has nothing to do with any of them.
//!
//! [`kernels`] has what a science tells the program about itself. [`run`] executes a computation
//! step by step: on which back end, with progress, until it is finished or interrupted. [`system`]
//! has the memory and the processor of the machine, and writes files so that they are complete or
//! missing. [`text`] forms numbers, tables and quoted words.
//!
//! ```
//! use warpstride_core::text::{count, significant};
//!
//! assert_eq!(count(1, ["frame", "frames"]), "1 frame");
//! assert_eq!(significant(0.0123456, 3), "0.0123");
//! ```

pub mod kernels;
pub mod run;
pub mod system;
pub mod text;
