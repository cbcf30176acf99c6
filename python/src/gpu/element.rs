//! The types of elements of arrays on a GPU.

use bytemuck::Pod;
use dlpark::ffi::DLDataType;
use warpstride_device::Complex32;

/// A type that arrays on a GPU may have.
pub(super) trait Element: Pod + Send + Sync {
    /// The type for DLPack.
    const DLPACK: DLDataType;
    /// The type for CUDA's array interface.
    const TYPESTR: &'static str;
    /// NumPy's name of the type.
    const NAME: &'static str;
    /// The same type for NumPy.
    type Host: numpy::Element + Pod;
}

macro_rules! element {
    ($type:ty, $host:ty, $dlpack:ident, $typestr:literal, $name:literal) => {
        impl Element for $type {
            const DLPACK: DLDataType = DLDataType::$dlpack;
            const TYPESTR: &'static str = $typestr;
            const NAME: &'static str = $name;
            type Host = $host;
        }
    };
}

element!(u8, u8, U8, "|u1", "uint8");
element!(u16, u16, U16, "<u2", "uint16");
element!(u32, u32, U32, "<u4", "uint32");
element!(f32, f32, F32, "<f4", "float32");
element!(f64, f64, F64, "<f8", "float64");
element!(Complex32, num_complex::Complex32, C64, "<c8", "complex64");

/// NumPy's name of a type of DLPack, for messages.
pub(super) fn name_of(found: DLDataType) -> String {
    use dlpark::ffi::DLDataTypeCode as Code;
    let kind = match found.code {
        Code::INT => "int",
        Code::UINT => "uint",
        Code::FLOAT => "float",
        Code::BFLOAT => "bfloat",
        Code::COMPLEX => "complex",
        Code::BOOL => return "bool".to_owned(),
        _ => return "another type".to_owned(),
    };
    format!("{kind}{}", found.bits)
}

/// NumPy's name of a type of CUDA's array interface, for messages.
pub(super) fn name_of_typestr(found: &str) -> String {
    let (Some(kind), Some(Ok(bytes))) = (found.get(1..2), found.get(2..).map(str::parse::<u32>))
    else {
        return "another type".to_owned();
    };
    match kind {
        "b" => "bool".to_owned(),
        "i" => format!("int{}", u64::from(bytes) * 8),
        "u" => format!("uint{}", u64::from(bytes) * 8),
        "f" => format!("float{}", u64::from(bytes) * 8),
        "c" => format!("complex{}", u64::from(bytes) * 8),
        _ => "another type".to_owned(),
    }
}
