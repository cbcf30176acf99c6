//! The models, a file each, named as users type them.

/// Calls a macro with all models, a row each: `file Type symmetry;`.
#[macro_export]
macro_rules! for_each_sas_model {
    ($then:path) => {
        $then! {
            cylinder Cylinder axial;
            hardsphere HardSphere isotropic;
            hayter_msa HayterMsa isotropic;
            sphere Sphere isotropic;
            squarewell SquareWell isotropic;
            stickyhardsphere StickyHardSphere isotropic;
        }
    };
}

macro_rules! declare {
    ($($file:ident $model:ident $symmetry:ident;)*) => {
        $(pub mod $file;)*
    };
}
for_each_sas_model!(declare);
