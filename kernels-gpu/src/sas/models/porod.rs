//! The Porod law.

use crate::sas::model::{Form, Info, Model, Symmetry, Values, Volume, Wave};
use crate::sas::real::Real;

/// The model has no values.
#[derive(Debug)]
pub struct Parameters<R>(core::marker::PhantomData<R>);

impl<R: Copy> Clone for Parameters<R> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Copy> Copy for Parameters<R> {}

impl<R: Real> Values<R> for Parameters<R> {
    const COUNT: usize = 0;
    const SLDS: &'static [usize] = &[];

    #[inline(always)]
    fn read(_: impl Fn(usize) -> R) -> Self {
        Self(core::marker::PhantomData)
    }
}

/// The Porod law.
pub struct Porod;

impl Model for Porod {
    const INFO: Info = Info {
        name: "porod",
        category: "shape-independent",
        title: "Porod law",
        formula: "I = 1/q⁴",
        source: "G. Porod, Kolloid-Z. 124 (1951) 83",
        parameters: &[],
        radius_modes: &[],
        background: 0.001,
    };
    const SYMMETRY: Symmetry = Symmetry::Isotropic;
    const AMPLITUDE: bool = false;
    type Values<R: Real> = Parameters<R>;
    type State<R: Real> = ();

    #[inline(always)]
    fn prepare<R: Real>(_: &Parameters<R>) {
    }

    #[inline(always)]
    fn volume<R: Real>(_: &Parameters<R>) -> Volume<R> {
        Volume::none()
    }

    #[inline(always)]
    fn form<R: Real>(wave: &Wave<R>, _: &()) -> Form<R> {
        Form::of_intensity(R::one() / wave.q.squared().squared())
    }
}
