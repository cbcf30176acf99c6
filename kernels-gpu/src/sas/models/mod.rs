//! The models, a file each, named as users type them.

/// Calls a macro with all models, a row each: `file Type symmetry;`.
#[macro_export]
macro_rules! for_each_sas_model {
    ($then:path) => {
        $then! {
            barbell Barbell axial;
            capped_cylinder CappedCylinder axial;
            core_multi_shell CoreMultiShell isotropic;
            core_shell_cylinder CoreShellCylinder axial;
            core_shell_ellipsoid CoreShellEllipsoid axial;
            core_shell_sphere CoreShellSphere isotropic;
            cylinder Cylinder axial;
            ellipsoid Ellipsoid axial;
            elliptical_cylinder EllipticalCylinder triaxial;
            flexible_cylinder FlexibleCylinder isotropic;
            fuzzy_sphere FuzzySphere isotropic;
            hollow_cylinder HollowCylinder axial;
            linear_pearls LinearPearls isotropic;
            multilayer_vesicle MultilayerVesicle isotropic;
            onion Onion isotropic;
            pearl_necklace PearlNecklace isotropic;
            raspberry Raspberry isotropic;
            sphere Sphere isotropic;
            triaxial_ellipsoid TriaxialEllipsoid triaxial;
            vesicle Vesicle isotropic;
        }
    };
}

macro_rules! declare {
    ($($file:ident $model:ident $symmetry:ident;)*) => {
        $(pub mod $file;)*
    };
}
for_each_sas_model!(declare);
