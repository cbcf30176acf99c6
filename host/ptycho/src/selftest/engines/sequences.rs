//! The sequences of steps that the engines take.

use crate::{
    BatchMethod, BatchOrder, BatchUpdate, Coefficients, LikelihoodMethod, Method, Noise,
    PositionMethod, Problem, Refinement, Smoothness, Step, StepMetrics,
};

/// Relative tolerance of every metric of every iteration.
const TOLERANCE: f64 = 1e-4;

const ITERATIONS: usize = 5;

/// Iterations of conjugate gradients: the third is the first that is conjugate. In single precision
/// rounding errors grow faster than in other engines.
const LIKELIHOOD_ITERATIONS: usize = 3;

/// Tolerance of conjugate gradients on amplitudes. Their second derivative has 1/√I_model, so
/// single almost dark pixels decide the length of a step; in single precision the CPU differs from
/// itself in double precision by as much as 1.7e-3, more than the device does.
const AMPLITUDE_TOLERANCE: f64 = 4e-3;

/// Alternations of the cases that alternate.
const LOOPS: usize = 3;

/// A named sequence of steps.
pub(super) struct StepSequence {
    pub(super) name: &'static str,
    pub(super) plain: bool,
    pub(super) tolerance: f64,
    /// Whether the reference is in double precision.
    pub(super) double: bool,
    pub(super) steps: Vec<Step>,
}

impl StepSequence {
    fn new(name: &'static str, step: Step) -> Self {
        let steps = (1..=ITERATIONS)
            .map(|i| Step {
                iteration: i,
                update_probe: step.update_probe && i > 1,
                ..step
            })
            .collect();
        Self {
            name,
            plain: false,
            tolerance: TOLERANCE,
            double: false,
            steps,
        }
    }

    /// Whether all steps are projections of separate kernels or of the fused step.
    pub(super) fn projects(&self) -> bool {
        let projects = |step: &Step| step.method == Method::Projection;
        self.steps.iter().all(projects)
    }
}

/// A step of the difference map.
pub(super) fn base(problem: &Problem) -> Step {
    Step {
        method: Method::Projection,
        subpixel: false,
        refinement: None,
        seed: 0,
        iteration: 1,
        coefficients: Coefficients::dm(1.0),
        bound: 0.25 * problem.poisson_bound,
        update_object: true,
        update_probe: true,
        varies: false,
        update_variations: false,
        overlap_loops: 1,
        overlap_tolerance: 0.0,
        object_weight: 1e-4 * problem.mean_power,
        probe_weight: 1e-9 * problem.shape()[0] as f64,
        clip_object: None,
        probe_support: None,
        probe_fourier_support: None,
        centre_tolerance: None,
        metrics: StepMetrics::ALL,
    }
}

pub(super) fn sequences(problem: &Problem) -> Vec<StepSequence> {
    let dm = base(problem);
    let raar = Step {
        coefficients: Coefficients::raar(0.75),
        ..dm
    };
    let ap = Step {
        coefficients: Coefficients::ap(),
        ..dm
    };
    let bounded = Step {
        clip_object: Some([0.3, 1.05]),
        probe_support: Some(0.8),
        ..dm
    };
    let alternating = Step {
        overlap_loops: LOOPS,
        probe_fourier_support: Some(0.7),
        ..raar
    };
    let mut all = vec![
        StepSequence {
            plain: true,
            ..StepSequence::new("dm", dm)
        },
        StepSequence {
            plain: true,
            ..StepSequence::new("raar", raar)
        },
        StepSequence {
            plain: true,
            ..StepSequence::new("ap", ap)
        },
        StepSequence::new("dm, no power bound", Step { bound: 0.0, ..dm }),
        StepSequence::new("dm, |O| clipped, probe support", bounded),
        StepSequence::new(
            "dm, centred",
            Step {
                centre_tolerance: Some(0.6),
                ..dm
            },
        ),
        StepSequence::new("raar, 3 alternations, Fourier support", alternating),
    ];
    all.extend(batch_sequences(dm));
    all.extend(likelihood_sequences(dm));
    // The first alternation always suffices; the last iterations do not alternate.
    let mut converging = StepSequence::new(
        "raar, alternations end, both supports",
        Step {
            overlap_tolerance: 1e3,
            probe_support: Some(0.9),
            ..alternating
        },
    );
    converging
        .steps
        .iter_mut()
        .skip(3)
        .for_each(|step| step.overlap_loops = 1);
    all.push(converging);
    all
}

/// One iteration in batches at exact positions.
fn batches(dm: Step, size: usize, order: BatchOrder, update: BatchUpdate) -> Step {
    Step {
        method: Method::Batches(BatchMethod {
            size,
            order,
            update,
            regions: false,
        }),
        subpixel: true,
        ..dm
    }
}

fn least_squares(momentum: f64, weight: f64, edge: f64) -> BatchUpdate {
    BatchUpdate::LeastSquares {
        momentum,
        smoothness: Smoothness { weight, edge },
    }
}

fn pie(object_alpha: f64) -> BatchUpdate {
    BatchUpdate::Pie {
        object_alpha,
        probe_alpha: 1.0,
        object_step: 0.9,
        probe_step: 0.5,
    }
}

/// Engines that go through the frames in batches, at whole pixels.
pub(super) fn fused_sequences(dm: Step) -> Vec<StepSequence> {
    let whole = |size, order, update| Step {
        subpixel: false,
        ..batches(dm, size, order, update)
    };
    let plain = whole(5, BatchOrder::Compact, least_squares(0.5, 0.0, 0.0));
    let bounded = Step {
        clip_object: Some([0.3, 1.05]),
        probe_support: Some(0.9),
        ..dm
    };
    let mut all = vec![
        StepSequence::new("lsqml, fused", plain),
        StepSequence::new(
            "lsqml, fused, regulariser, |O| clipped, both supports",
            Step {
                probe_fourier_support: Some(0.7),
                method: whole(4, BatchOrder::Spread, least_squares(0.0, 20.0, 0.1)).method,
                subpixel: false,
                ..bounded
            },
        ),
        StepSequence::new(
            "lsqml, fused, object only, centred",
            Step {
                update_probe: false,
                centre_tolerance: Some(0.6),
                ..plain
            },
        ),
        StepSequence::new("rpie, fused", whole(6, BatchOrder::Spread, pie(0.2))),
        StepSequence::new("epie, fused", whole(1, BatchOrder::Spread, pie(1.0))),
        StepSequence::new(
            "rpie, fused, one frame a batch, |O| clipped, support",
            Step {
                method: whole(1, BatchOrder::Compact, pie(0.3)).method,
                subpixel: false,
                ..bounded
            },
        ),
    ];
    // Gradients of all frames at whole pixels, whose launches are fused too.
    for mut sequence in likelihood_sequences(dm) {
        for step in &mut sequence.steps {
            step.subpixel = false;
        }
        all.push(sequence);
    }
    all
}

/// Engines that go through the frames in batches, at exact positions.
fn batch_sequences(dm: Step) -> Vec<StepSequence> {
    let batches = |size, order, update| batches(dm, size, order, update);
    let plain = batches(3, BatchOrder::Compact, least_squares(0.0, 0.0, 0.0));
    let refined = refinement([Some(PositionMethod::Gradient), None]);
    let exact = Step {
        subpixel: true,
        ..dm
    };
    vec![
        StepSequence {
            plain: true,
            // Single precision on the CPU is 1.2e-4 from double precision here, the emulator 4e-5.
            double: true,
            ..StepSequence::new("dm at exact positions", exact)
        },
        StepSequence::new(
            "ap at exact positions, 3 alternations, both supports",
            Step {
                coefficients: Coefficients::ap(),
                overlap_loops: LOOPS,
                probe_support: Some(0.9),
                probe_fourier_support: Some(0.7),
                clip_object: Some([0.3, 1.05]),
                refinement: Some(refined),
                ..exact
            },
        ),
        StepSequence {
            plain: true,
            ..StepSequence::new("lsqml", plain)
        },
        StepSequence {
            plain: true,
            ..StepSequence::new(
                "lsqml, momentum, regulariser, positions, scales",
                Step {
                    refinement: Some(refined),
                    ..batches(100, BatchOrder::Spread, least_squares(0.5, 20.0, 0.1))
                },
            )
        },
        StepSequence::new(
            "lsqml, whole pixels, |O| clipped, both supports",
            Step {
                subpixel: false,
                clip_object: Some([0.3, 1.05]),
                probe_support: Some(0.9),
                probe_fourier_support: Some(0.7),
                ..plain
            },
        ),
        StepSequence::new(
            "lsqml, object only, centred",
            Step {
                update_probe: false,
                centre_tolerance: Some(0.6),
                ..plain
            },
        ),
        refining(
            "lsqml, affine map",
            Step {
                refinement: Some(refinement([Some(PositionMethod::Affine), None])),
                ..plain
            },
        ),
        refining(
            "lsqml, annealing, drawn in to the affine map",
            Step {
                refinement: Some(refinement([
                    Some(PositionMethod::Annealing),
                    Some(PositionMethod::Affine),
                ])),
                ..plain
            },
        ),
        StepSequence::new("epie", batches(1, BatchOrder::Spread, pie(1.0))),
        StepSequence::new("rpie", batches(2, BatchOrder::Compact, pie(0.2))),
    ]
}

/// A refinement of positions and scales.
fn refinement([first, second]: [Option<PositionMethod>; 2]) -> Refinement {
    Refinement {
        methods: [first, second, None],
        scales: true,
        bound: 2.0,
        step: 0.5,
        trials: 5,
        amplitude: 1.0,
    }
}

/// A sequence whose random numbers differ between its iterations. Both back ends must choose the
/// same trials: rounding errors decide only between trials that are equal to six digits.
fn refining(name: &'static str, step: Step) -> StepSequence {
    let mut sequence = StepSequence::new(name, step);
    for (n, step) in sequence.steps.iter_mut().enumerate() {
        step.iteration = 1 + n;
    }
    sequence
}

/// Conjugate gradients with every noise, at exact positions.
fn likelihood_sequences(dm: Step) -> Vec<StepSequence> {
    let none = Smoothness {
        weight: 0.0,
        edge: 0.0,
    };
    let method = |noise| LikelihoodMethod {
        noise,
        preconditioner: true,
        smooth_gradient: 0.0,
        smooth_gradient_decay: 1.0,
        smoothness: none,
    };
    let of = |method| Step {
        method: Method::Likelihood(method),
        subpixel: true,
        ..dm
    };
    let plain = |name, noise| StepSequence {
        plain: true,
        ..StepSequence::new(name, of(method(noise)))
    };
    let smoothed = LikelihoodMethod {
        smooth_gradient: 1.5,
        smooth_gradient_decay: 0.8,
        smoothness: Smoothness {
            weight: 20.0,
            edge: 0.1,
        },
        ..method(Noise::Amplitude)
    };
    let scaled = LikelihoodMethod {
        preconditioner: false,
        ..method(Noise::Poisson)
    };
    let refined = Step {
        refinement: Some(refinement([None; 2])),
        ..of(smoothed)
    };
    let mut all = vec![
        plain("ml, Gaussian", Noise::Gaussian),
        plain("ml, Poisson", Noise::Poisson),
        plain("ml, amplitude", Noise::Amplitude),
        StepSequence {
            plain: true,
            ..StepSequence::new("ml, regulariser, smoothing, scales", refined)
        },
        StepSequence::new(
            "ml, whole pixels, |O| clipped, both supports, no preconditioner",
            Step {
                subpixel: false,
                clip_object: Some([0.3, 1.05]),
                probe_support: Some(0.9),
                probe_fourier_support: Some(0.7),
                ..of(scaled)
            },
        ),
        StepSequence::new(
            "ml, object only, centred",
            Step {
                update_probe: false,
                centre_tolerance: Some(0.6),
                ..of(method(Noise::Gaussian))
            },
        ),
        StepSequence::new(
            "ml, Poisson, object only, centred",
            Step {
                update_probe: false,
                centre_tolerance: Some(0.6),
                ..of(method(Noise::Poisson))
            },
        ),
    ];
    for sequence in &mut all {
        sequence.steps.truncate(LIKELIHOOD_ITERATIONS);
        let amplitudes = |step: &Step| match step.method {
            Method::Likelihood(method) => method.noise == Noise::Amplitude,
            _ => false,
        };
        if sequence.steps.iter().any(amplitudes) {
            sequence.tolerance = AMPLITUDE_TOLERANCE;
        }
    }
    all
}
