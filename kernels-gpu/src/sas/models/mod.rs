//! The models, a file each, named as users type them.

/// Calls a macro with all models, a row each: `file Type symmetry;`.
#[macro_export]
macro_rules! for_each_sas_model {
    ($then:path) => {
        $then! {
            bcc_paracrystal BccParacrystal triaxial;
            broad_peak BroadPeak isotropic;
            core_shell_parallelepiped CoreShellParallelepiped triaxial;
            correlation_length CorrelationLength isotropic;
            cylinder Cylinder axial;
            dab Dab isotropic;
            fcc_paracrystal FccParacrystal triaxial;
            fractal Fractal isotropic;
            gaussian_peak GaussianPeak isotropic;
            guinier Guinier isotropic;
            guinier_porod GuinierPorod isotropic;
            lamellar Lamellar isotropic;
            lamellar_hg_stack_caille LamellarHgStackCaille isotropic;
            line Line isotropic;
            lorentz Lorentz isotropic;
            mass_fractal MassFractal isotropic;
            mono_gauss_coil MonoGaussCoil isotropic;
            parallelepiped Parallelepiped triaxial;
            poly_gauss_coil PolyGaussCoil isotropic;
            polymer_excl_volume PolymerExclVolume isotropic;
            porod Porod isotropic;
            power_law PowerLaw isotropic;
            rectangular_prism RectangularPrism triaxial;
            sc_paracrystal ScParacrystal triaxial;
            sphere Sphere isotropic;
            stacked_disks StackedDisks axial;
            superball Superball triaxial;
            teubner_strey TeubnerStrey isotropic;
            two_lorentzian TwoLorentzian isotropic;
        }
    };
}

macro_rules! declare {
    ($($file:ident $model:ident $symmetry:ident;)*) => {
        $(pub mod $file;)*
    };
}
for_each_sas_model!(declare);
