//! Complex numbers as MATLAB 7.3 stores them: compounds of `real` and `imag`.

use super::stored::StoredNumber;
use hdf5_metno as hdf5;
use num_complex::Complex;

macro_rules! matlab {
    ($name:ident, $part:ty) => {
        /// A complex number of MATLAB.
        #[derive(Debug, Clone, Copy, Default, hdf5::H5Type)]
        #[repr(C)]
        pub(super) struct $name {
            real: $part,
            imag: $part,
        }

        impl $name {
            /// The number in double precision.
            pub(super) fn widened(self) -> Complex<f64> {
                Complex::new(self.real.into(), self.imag.into())
            }
        }

        impl StoredNumber for $name {
            fn signed(value: i64) -> Self {
                Self::complex(value as f64, 0.0)
            }
            fn unsigned(value: u64) -> Self {
                Self::complex(value as f64, 0.0)
            }
            fn float(value: f64) -> Self {
                Self::complex(value, 0.0)
            }
            fn complex(real: f64, imaginary: f64) -> Self {
                Self {
                    real: real as $part,
                    imag: imaginary as $part,
                }
            }
        }
    };
}
matlab!(MatlabSingle, f32);
matlab!(MatlabDouble, f64);
