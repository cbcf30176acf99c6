//! Fuzzes the readers of XML, canSAS and the header of ISMRMRD, with many attributes and
//! namespaces.
//!
//! The bytes are the generator's choices; the first bit of the first byte is the format. A
//! well-formed document within the limits must be read, and one beyond them must be refused, in
//! little time.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| warpstride_fuzz::targets::run("xml_attributes", bytes));
