//! The models, a file each, named as users type them.

/// Calls a macro with all models, a row each: `file Type symmetry;`.
#[macro_export]
macro_rules! for_each_sas_model {
    ($then:path) => {
        $then! {
            barbell Barbell axial;
            broad_peak BroadPeak isotropic;
            capped_cylinder CappedCylinder axial;
            core_multi_shell CoreMultiShell isotropic;
            core_shell_cylinder CoreShellCylinder axial;
            core_shell_ellipsoid CoreShellEllipsoid axial;
            core_shell_parallelepiped CoreShellParallelepiped triaxial;
            core_shell_sphere CoreShellSphere isotropic;
            correlation_length CorrelationLength isotropic;
            cylinder Cylinder axial;
            dab Dab isotropic;
            ellipsoid Ellipsoid axial;
            elliptical_cylinder EllipticalCylinder triaxial;
            flexible_cylinder FlexibleCylinder isotropic;
            fractal Fractal isotropic;
            fuzzy_sphere FuzzySphere isotropic;
            gaussian_peak GaussianPeak isotropic;
            guinier Guinier isotropic;
            guinier_porod GuinierPorod isotropic;
            hardsphere HardSphere isotropic;
            hayter_msa HayterMsa isotropic;
            hollow_cylinder HollowCylinder axial;
            lamellar Lamellar isotropic;
            lamellar_hg_stack_caille LamellarHgStackCaille isotropic;
            linear_pearls LinearPearls isotropic;
            lorentz Lorentz isotropic;
            mass_fractal MassFractal isotropic;
            mono_gauss_coil MonoGaussCoil isotropic;
            multilayer_vesicle MultilayerVesicle isotropic;
            onion Onion isotropic;
            parallelepiped Parallelepiped triaxial;
            pearl_necklace PearlNecklace isotropic;
            poly_gauss_coil PolyGaussCoil isotropic;
            polymer_excl_volume PolymerExclVolume isotropic;
            porod Porod isotropic;
            power_law PowerLaw isotropic;
            raspberry Raspberry isotropic;
            rectangular_prism RectangularPrism triaxial;
            sphere Sphere isotropic;
            squarewell SquareWell isotropic;
            stacked_disks StackedDisks axial;
            stickyhardsphere StickyHardSphere isotropic;
            teubner_strey TeubnerStrey isotropic;
            triaxial_ellipsoid TriaxialEllipsoid triaxial;
            two_lorentzian TwoLorentzian isotropic;
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
