//! Parameter vectors in the layout that kernels read: tables of values, and members with their
//! division into tasks. Plain data.

use super::grid::{Grid, Rules};
use super::partition::{Blocks, Tuning, partition_curve, partition_image};
use crate::mesh::Mesh;
use crate::plan::Plan;
use warpstride_cuda::gpu::Device;
use warpstride_kernels::sas::finish::FINALS;
use warpstride_kernels::sas::launches::Arithmetic;
use warpstride_kernels::sas::member::{NONE, SEGMENTS, SasAxis, SasMember, SasSegment, column};
use warpstride_kernels::sas::model::Symmetry;

/// Members of one launch, with their numbers of work items and partial sums.
#[derive(Debug, Default)]
pub(super) struct MemberLaunch {
    pub(super) members: Vec<SasMember>,
    pub(super) items: usize,
    pub(super) partials: usize,
}

/// Kernel arguments for the vectors of a call.
pub(super) struct Members<R> {
    pub(super) columns: Vec<u32>,
    pub(super) table: Vec<R>,
    /// For images: 8 numbers per rotation.
    pub(super) rotations: Vec<R>,
    pub(super) finals: Vec<f64>,
    pub(super) particles: MemberLaunch,
    pub(super) structures: MemberLaunch,
    /// Members per vector.
    pub(super) sections: usize,
}

/// Division of the sums of a vector into tasks.
#[derive(Debug, Clone)]
pub(super) struct SumPartition {
    mesh_lanes: u32,
    direction_lanes: u32,
    segments: [SasSegment; SEGMENTS],
    tasks: usize,
    items: usize,
}

/// Segments with their first rows and tasks, and the number of tasks.
fn segments(
    rows: [usize; SEGMENTS],
    directions: [usize; SEGMENTS],
    blocks: [Blocks; SEGMENTS],
) -> ([SasSegment; SEGMENTS], usize) {
    let (mut first_row, mut first_task) = (0, 0);
    let mut segments = [SasSegment::default(); SEGMENTS];
    for (i, segment) in segments.iter_mut().enumerate() {
        *segment = SasSegment {
            first_row: first_row as u32,
            first_task: first_task as u32,
            first_direction: 0,
            directions: directions[i] as u32,
            direction_blocks: blocks[i].direction_blocks as u32,
            block_directions: blocks[i].block_directions as u32,
            mesh_blocks: blocks[i].mesh_blocks as u32,
            block_mesh: blocks[i].block_mesh as u32,
        };
        first_row += rows[i];
        first_task += rows[i] * blocks[i].direction_blocks * blocks[i].mesh_blocks;
    }
    (segments, first_task)
}

impl SumPartition {
    /// Division for a curve.
    pub(super) fn of_curve<M: Device, R: Arithmetic + PartialEq>(
        mesh: usize,
        rows: [usize; SEGMENTS],
        rules: Option<&mut Rules<M, R>>,
        tuning: Tuning,
    ) -> Self {
        let mut directions = [1; SEGMENTS];
        let mut first = [0; SEGMENTS];
        if let Some(rules) = rules {
            for level in (0..SEGMENTS).filter(|level| rows[*level] > 0) {
                directions[level] = rules.len(level);
                first[level] = rules.first(level);
            }
        }
        let partition = partition_curve(mesh, rows, directions, tuning);
        let (mut segments, tasks) = segments(rows, directions, partition.segments);
        for (segment, first) in segments.iter_mut().zip(first) {
            segment.first_direction = first;
        }
        let tasks_per_item = 1 << (5 - partition.mesh_lanes - partition.direction_lanes);
        Self {
            mesh_lanes: partition.mesh_lanes,
            direction_lanes: partition.direction_lanes,
            segments,
            tasks,
            items: tasks.div_ceil(tasks_per_item),
        }
    }

    /// Division for an image.
    pub(super) fn of_image(mesh: usize, rotations: usize, pixels: usize, tuning: Tuning) -> Self {
        let mut blocks = [Blocks::default(); SEGMENTS];
        blocks[0] = partition_image(mesh, rotations, pixels, tuning);
        let (segments, tasks) = segments([1, 0, 0, 0], [rotations, 0, 0, 0], blocks);
        Self {
            mesh_lanes: 0,
            direction_lanes: 0,
            segments,
            tasks,
            items: tasks,
        }
    }

    /// Upper limit of the number of partial sums and of work items of a launch; each partial sum
    /// has `copies` (pixels).
    pub(super) fn size(&self, copies: usize) -> usize {
        self.tasks.saturating_mul(copies)
    }
}

impl<R: Arithmetic> Members<R> {
    pub(super) fn new(sections: usize) -> Self {
        Self {
            columns: Vec::new(),
            table: Vec::new(),
            rotations: Vec::new(),
            finals: Vec::new(),
            particles: MemberLaunch::default(),
            structures: MemberLaunch::default(),
            sections,
        }
    }

    /// Appends the values of a mesh to the table; returns its first column and its axes.
    fn mesh(&mut self, mesh: &Mesh) -> (u32, [SasAxis; 5]) {
        let first = self.columns.len();
        let base = self.table.len();
        self.table.extend(mesh.base().iter().map(|v| R::of(*v)));
        let constant_column = |i: usize| column((base + i) as u32, None);
        self.columns
            .extend((0..mesh.base().len()).map(constant_column));
        let mut axes = [SasAxis::default(); 5];
        let mut stride = mesh.len();
        for (number, (axis, of)) in axes.iter_mut().zip(mesh.axes()).enumerate() {
            let points = of.weighted.values.len();
            stride /= points.max(1);
            let values = self.table.len();
            self.table
                .extend(of.weighted.values.iter().map(|v| R::of(*v)));
            *axis = SasAxis {
                weights: self.table.len() as u32,
                points: points as u32,
                stride: stride as u32,
            };
            self.table
                .extend(of.weighted.weights.iter().map(|v| R::of(*v)));
            self.columns[first + of.value_index] = column(values as u32, Some(number as u32));
        }
        (first as u32, axes)
    }

    fn member(
        launch: &mut MemberLaunch,
        sums: &SumPartition,
        mesh: &Mesh,
        (columns, axis): (u32, [SasAxis; 5]),
    ) {
        launch.members.push(SasMember {
            first_item: launch.items as u32,
            tasks: sums.tasks as u32,
            first_partial: launch.partials as u32,
            mesh: mesh.len() as u32,
            axes: mesh.axes().len() as u32,
            columns,
            moments: NONE,
            mesh_lanes: sums.mesh_lanes,
            direction_lanes: sums.direction_lanes,
            axis,
            segments: sums.segments,
        });
        launch.items += sums.items;
        launch.partials += sums.tasks;
    }

    /// Appends a vector.
    pub(super) fn push(
        &mut self,
        plan: &Plan,
        sums: &SumPartition,
        structure: Option<&SumPartition>,
        image: bool,
    ) {
        let of_mesh = self.mesh(&plan.particles);
        let mut sums = sums.clone();
        if image {
            sums.segments[0].first_direction = (self.rotations.len() / 8) as u32;
            for rotation in &plan.rotations {
                let [a, b, c] = rotation.rows;
                let numbers = [a[0], b[0], c[0], rotation.weight, a[1], b[1], c[1], 0.0];
                self.rotations.extend(numbers.map(R::of));
            }
        }
        let mut weights = [0.0; FINALS - 4];
        weights[0] = f64::from(plan.channels.is_empty());
        for (section, weight) in weights.iter_mut().enumerate().take(self.sections) {
            Self::member(&mut self.particles, &sums, &plan.particles, of_mesh);
            if let Some(channel) = plan.channels.get(section) {
                *weight = channel.weight;
                let at = self.table.len() as u32;
                if let Some(member) = self.particles.members.last_mut() {
                    member.moments = at;
                }
                for k in &channel.moments {
                    let numbers = [channel.nuclear, k[0], k[1], k[2], k[3]];
                    self.table.extend(numbers.map(R::of));
                }
            }
        }
        let volume = match plan.averages.material {
            0.0 => 1.0,
            volume => volume,
        };
        let product = plan.product.as_ref();
        let fraction = product.map_or(1.0, |product| product.volfraction);
        self.finals.extend([
            plan.scale / volume * fraction,
            plan.averages.weight,
            f64::from(product.is_some_and(|product| product.beta)),
            plan.background,
        ]);
        self.finals.extend(weights);
        if let (Some(product), Some(sums)) = (product, structure) {
            let of_mesh = self.mesh(&product.mesh);
            Self::member(&mut self.structures, sums, &product.mesh, of_mesh);
        }
    }
}

/// Division of the sums over a plan's particles, and of those of its structure factor.
pub(super) fn partition_sums<M: Device, R: Arithmetic + PartialEq>(
    plan: &Plan,
    grid: &Grid<M, R>,
    rules: &mut Rules<M, R>,
    symmetry: Symmetry,
    image: bool,
    tuning: Tuning,
) -> (SumPartition, Option<SumPartition>) {
    let mesh = plan.particles.len();
    let particles = if image {
        SumPartition::of_image(mesh, plan.rotations.len(), grid.len(), tuning)
    } else {
        let rows = grid.rows(symmetry, plan.averages.half_size);
        SumPartition::of_curve(mesh, rows, Some(rules), tuning)
    };
    let structure = plan.product.as_ref().map(|product| {
        let rows = grid.rows(Symmetry::Isotropic, 0.0);
        SumPartition::of_curve::<M, R>(product.mesh.len(), rows, None, tuning)
    });
    (particles, structure)
}
