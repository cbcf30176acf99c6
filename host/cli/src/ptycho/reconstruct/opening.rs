//! What each rank opens by itself before a reconstruction: the scan, its orientation, what the run
//! starts from, the back end.

use super::{DIFFERENT, ProgressOutput, Reconstruct};
use crate::byte_size;
use crate::devices_request::DevicesBackend;
use crate::failure::Failure;
use crate::output::say;
use crate::processes::common;
use crate::ptycho::automatic::{Trials, in_trials};
use crate::ptycho::backend::check_division;
use crate::ptycho::find_orientation::TrialSettings;
use crate::ptycho::find_rotation;
use crate::ptycho::interruption::stops_at_once;
use crate::ptycho::trial_device::TrialDevice;
use crate::threads;
use ndarray::Array2;
use std::path::Path;
use warpstride::ptycho::data::{PixelPositions, Reconstruction, Scan};
use warpstride::ptycho::io::scan::{self, ScanFile};
use warpstride::ptycho::{
    Chosen, Decided, FrameStart, MemoryRequest, OrientationSearch, PositionMethod, Precision,
    ProbeSource, Problem, ProblemError, Ranks, Recipe, RotationSearch, StartObject,
    StartObjectError, choose_recipe, mask_bytes,
};
use warpstride::run::{Interrupt, NothingToSave};
use warpstride::system::Memory;
use warpstride::text::shortest;

/// The scan that was read.
#[derive(Debug)]
pub(in crate::ptycho) struct ReadScan {
    pub(super) file: ScanFile,
    /// The host's memory before that.
    pub(super) memory: Memory,
}

/// What each rank opens by itself.
pub(super) struct Opened {
    pub(super) scan: Scan,
    pub(super) scan_notes: Vec<String>,
    pub(super) problem: Problem,
    pub(super) backend: DevicesBackend,
    pub(super) memory_request: MemoryRequest,
    /// The host's memory before the scan was read.
    pub(super) memory: Memory,
    pub(super) frame_start: Option<FrameStart>,
}

impl Reconstruct {
    /// Finds the orientation and puts it into the recipe; every rank does, and finds the same.
    /// Returns the scan, if it does not have to be read again.
    pub(super) fn orient(
        &mut self,
        interrupt: &Interrupt,
        ranks: &Ranks,
    ) -> Result<Option<ReadScan>, Failure> {
        let found = common(ranks, self.search_orientation(interrupt, ranks))?;
        let stopped = ranks.any(found.is_none())?;
        let Some((read, search)) = found.filter(|_| !stopped) else {
            return Err(Failure::Interrupted(self.stopped_in_search("orientation")));
        };
        let orientation = search.orientation();
        if !ranks.agree(orientation.to_string().as_bytes())? {
            return Err(Failure::failed(DIFFERENT));
        }
        if ranks.is_first() && self.progress_output == ProgressOutput::Text {
            say(&search.table().to_string())?;
        }
        let turned = orientation != search.given;
        if turned {
            let before = self.recipe.fly.shift;
            orientation.turn(&mut self.recipe);
            let after = self.recipe.fly.shift.filter(|shift| Some(*shift) != before);
            if let Some([row, column]) = after
                && ranks.is_first()
                && self.progress_output == ProgressOutput::Text
            {
                let (row, column) = (shortest(row), shortest(column));
                say(&format!(
                    "fly.shift is turned with the positions to [{row}, {column}] m"
                ))?;
            }
            self.recipe_text = self.recipe.to_toml().map_err(Failure::usage)?;
        }
        self.orientation = Some(search);
        Ok((!turned).then_some(read))
    }

    /// Finds the rotation of the scan and puts it into the recipe, as [`Self::orient`] does with
    /// the orientation.
    pub(super) fn rotate(
        &mut self,
        interrupt: &Interrupt,
        ranks: &Ranks,
    ) -> Result<Option<ReadScan>, Failure> {
        let found = common(ranks, self.search_rotation(interrupt, ranks))?;
        let stopped = ranks.any(found.is_none())?;
        let Some((read, search)) = found.filter(|_| !stopped) else {
            return Err(Failure::Interrupted(self.stopped_in_search("rotation")));
        };
        if !ranks.agree(format!("{:?}", search.rotation()).as_bytes())? {
            return Err(Failure::failed(DIFFERENT));
        }
        let text = ranks.is_first() && self.progress_output == ProgressOutput::Text;
        if text {
            say(&search.table().to_string())?;
        }
        let found = search.rotation();
        if let Some(rotation) = found {
            rotation.turn(&mut self.recipe);
            if let (true, Some([row, column])) = (text, self.recipe.fly.shift) {
                let (row, column) = (shortest(row), shortest(column));
                say(&format!(
                    "fly.shift is turned with the positions to [{row}, {column}] m"
                ))?;
            }
            self.recipe_text = self.recipe.to_toml().map_err(Failure::usage)?;
        }
        self.rotation = Some(search);
        Ok(found.is_none().then_some(read))
    }

    /// Reads the scan and searches for its rotation; `None` if it was interrupted.
    fn search_rotation(
        &self,
        interrupt: &Interrupt,
        ranks: &Ranks,
    ) -> Result<Option<(ReadScan, RotationSearch)>, Failure> {
        let read = self.read()?;
        let settings = TrialSettings {
            scan: &read.file.scan,
            name: self.scan.display().to_string(),
            recipe: &self.recipe,
            origin: &self.origin,
            device: self.trial_device(&read, ranks),
            stopped: self.stopped_in_search("rotation"),
        };
        let search = find_rotation::search(&settings, interrupt)?;
        Ok(search.map(|search| (read, search)))
    }

    /// Reads the scan and tries the orientations; `None` if it was interrupted.
    fn search_orientation(
        &self,
        interrupt: &Interrupt,
        ranks: &Ranks,
    ) -> Result<Option<(ReadScan, OrientationSearch)>, Failure> {
        let read = self.read()?;
        let settings = TrialSettings {
            scan: &read.file.scan,
            name: self.scan.display().to_string(),
            recipe: &self.recipe,
            origin: &self.origin,
            device: self.trial_device(&read, ranks),
            stopped: self.stopped_in_search("orientation"),
        };
        let search = settings.search(interrupt)?;
        Ok(search.map(|search| (read, search)))
    }

    /// Where trials are computed.
    fn trial_device(&self, read: &ReadScan, ranks: &Ranks) -> TrialDevice {
        TrialDevice {
            request: self.request.for_rank(ranks).first(),
            device_memory: self.device_memory,
            memory: read.memory,
        }
    }

    /// Finds the recipe by trials; every rank does, and all take what the first one has found.
    /// Returns the scan.
    pub(super) fn choose(
        &mut self,
        read: Option<ReadScan>,
        (decided, interrupt): (Decided, &Interrupt),
        ranks: &Ranks,
    ) -> Result<ReadScan, Failure> {
        let chosen = self.search_recipe(read, (decided, interrupt), ranks);
        let (read, chosen) = common(ranks, chosen)?;
        let stopped = ranks.any(matches!(chosen, Chosen::Interrupted(_)))?;
        let (recipe, trials) = match chosen {
            Chosen::Recipe(recipe, trials) if !stopped => (*recipe, trials),
            Chosen::Recipe(_, trials) => return Err(stopped_in_trials(&trials.kept)),
            Chosen::Interrupted(so_far) => return Err(stopped_in_trials(&so_far)),
        };
        recipe
            .check()
            .map_err(|error| self.origin.failure(&error))?;
        let own = recipe.to_toml().map_err(Failure::usage)?;
        let text = of_first(&own, ranks)?;
        let recipe = match text == own {
            true => recipe,
            // Which numbers of modes are tried depends on the memory, which may differ.
            false => Recipe::from_toml(&text)
                .map_err(|error| Failure::failed(format!("{DIFFERENT}: {error}")))?,
        };
        if ranks.is_first()
            && self.progress_output == ProgressOutput::Text
            && !trials.tried.is_empty()
        {
            say(&trials.table().to_string())?;
        }
        (self.recipe, self.recipe_text) = (recipe, text);
        self.trials = of_first(&trials.to_json(), ranks)?;
        Ok(read)
    }

    /// Reads the scan, unless that is done, and makes the trials.
    fn search_recipe(
        &self,
        read: Option<ReadScan>,
        (decided, interrupt): (Decided, &Interrupt),
        ranks: &Ranks,
    ) -> Result<(ReadScan, Chosen), Failure> {
        let read = read.map_or_else(|| self.read(), Ok)?;
        // Positions without an object are refused for the whole scan.
        self.memory_request(&read.file.scan)?;
        self.check_start_object(&read.file.scan)?;
        let name = self.scan.display().to_string();
        let trials = Trials {
            name: &name,
            origin: &self.origin,
            device: self.trial_device(&read, ranks),
            output: match ranks.is_first() {
                true => self.progress_output,
                false => ProgressOutput::Quiet,
            },
            stopped: self.stopped.clone(),
        };
        let scan = (&read.file.scan, &*name);
        let chosen = choose_recipe(&trials, scan, (&self.recipe, decided), interrupt)?;
        Ok((read, chosen))
    }

    /// The same run, of which Ctrl-C before the first iteration says `sentence`.
    pub(in crate::ptycho) fn stopping_with(mut self, sentence: String) -> Self {
        self.stopped = Some(sentence);
        self
    }

    /// A part of the run before anything has to be saved: Ctrl-C ends the program at once.
    pub(super) fn before_iterations(&self) -> Result<NothingToSave, Failure> {
        if let Some(sentence) = &self.stopped {
            return stops_at_once(sentence.clone());
        }
        let searched = [
            (
                self.find_orientation && self.orientation.is_none(),
                "orientation",
            ),
            (self.find_rotation && self.rotation.is_none(), "rotation"),
        ];
        let searched = searched.into_iter().find(|(is_searched, _)| *is_searched);
        stops_at_once(match searched {
            Some((_, what)) => self.stopped_in_search(what),
            None if self.automatic.is_some() && self.trials.is_empty() => {
                "stopped before the trials of the automatic recipe; nothing was written".to_owned()
            }
            None => format!(
                "stopped before the first iteration; {} was not written",
                self.files.result.display()
            ),
        })
    }

    /// What Ctrl-C says while orientation or rotation are searched for.
    fn stopped_in_search(&self, what: &str) -> String {
        (self.stopped.clone()).unwrap_or_else(|| {
            format!("stopped while the {what} was searched for; nothing was written")
        })
    }

    /// Reads the scan.
    fn read(&self) -> Result<ReadScan, Failure> {
        let _part = self.before_iterations()?;
        let memory = byte_size::host_limit(self.host_memory);
        let scratch = self.scratch_folder();
        let file = scan::read_with_scratch(&self.scan, &self.recipe.data, memory, scratch)
            .map_err(|error| self.origin.of_reading(error))?;
        Ok(ReadScan { file, memory })
    }

    /// The mean (row, column) of the frames of a far-field scan, which the run does not read again.
    pub(in crate::ptycho) fn mean_pattern(&mut self) -> Result<Option<Array2<f64>>, Failure> {
        // The mean is the first that the threads compute.
        threads::start(self.threads)?;
        let read = self.read()?;
        let scan = &read.file.scan;
        let mean = (!scan.geometry().is_near_field()).then(|| scan.mean_frame());
        self.read = Some(read);
        Ok(mean)
    }

    /// The scan that has been read, for another run of it.
    pub(in crate::ptycho) fn take_scan(&mut self) -> Option<ReadScan> {
        self.read.take()
    }

    /// Gives the run its scan, which it does not read then.
    pub(in crate::ptycho) fn give_scan(&mut self, scan: Option<ReadScan>) {
        self.read = scan;
    }

    /// Reads the scan, unless that is done, and opens the back end.
    pub(super) fn open(&self, read: Option<ReadScan>, ranks: &Ranks) -> Result<Opened, Failure> {
        let ReadScan { file, memory } = read.map_or_else(|| self.read(), Ok)?;
        let _part = self.before_iterations()?;
        let scan = file.scan;
        let memory_request = self.memory_request(&scan)?;
        let cpu_only = (self.recipe.precision == Precision::F64)
            .then_some("the GPU back end computes in f32 only");
        let [_, rows, columns] = scan.shape();
        let kernels = || warpstride::ptycho::cuda::kernels_for(&self.recipe, [rows, columns]);
        let backend = (self.request.for_rank(ranks))
            .open(cpu_only, kernels)?
            .checked(|kind| memory_request.check(kind, memory, ranks))?;
        check_division(backend.kind(), scan.shape()[0], ranks)?;
        let name = self.scan.display().to_string();
        let mut start = self.recipe.clone();
        if let Some((path, saved)) = &self.resume {
            saved.check_scan(path, &scan)?;
            // The saved probe replaces the start probe, so a search for one would be wasted.
            start.probe.source = ProbeSource::MeanPattern;
        }
        let earlier = self.earlier_result()?;
        if earlier.is_some() && start.probe.source == ProbeSource::Auto {
            // That of the earlier result takes the place of any other.
            start.probe.source = ProbeSource::MeanPattern;
        }
        let mut problem =
            Problem::prepare(&scan, &start).map_err(|e| self.origin.of_problem(&name, &e))?;
        let frame_start = match &earlier {
            None => None,
            Some((path, result)) => {
                if self.recipe.probe.source == ProbeSource::Auto {
                    problem
                        .notes
                        .retain(|note| !note.starts_with("start probe"));
                }
                (problem.start_from(result, &scan, &self.recipe))
                    .map_err(|e| Failure::failed(format!("{path}: start: {e}")))?
            }
        };
        if let Some((path, image)) = self.start_object()? {
            (problem.take_start_object(&image)).map_err(|error| not_a_start(path, &error))?;
        }
        Ok(Opened {
            scan,
            scan_notes: file.notes,
            problem,
            backend,
            memory_request,
            memory,
            frame_start,
        })
    }

    /// The file with the start object, and the image in it; a resumed run has begun with it.
    fn start_object(&self) -> Result<Option<(&Path, StartObject)>, Failure> {
        let (Some((path, dataset)), None) = (self.recipe.start.object_file(), &self.resume) else {
            return Ok(None);
        };
        let mut image = warpstride::ptycho::io::start_object::read(path, dataset)?;
        image.pixel = self.recipe.start.object_pixel.or(image.pixel);
        Ok(Some((path, image)))
    }

    /// Refuses a start object that does not fit, whatever the trials will find.
    fn check_start_object(&self, scan: &Scan) -> Result<(), Failure> {
        let Some((path, image)) = self.start_object()? else {
            return Ok(());
        };
        // If trials choose to refine positions, the object has a margin.
        let mut refined = self.recipe.clone();
        refined.positions.refine = vec![PositionMethod::Gradient];
        let [_, rows, columns] = scan.shape();
        let pixel = scan.object_pixel();
        let fits = [&self.recipe, &refined].map(|recipe| {
            let margin = recipe.margin();
            match PixelPositions::new(scan.positions(), pixel, [rows, columns], margin) {
                Ok(positions) => image.fits(positions.object_shape, pixel),
                Err(_) => Ok(()),
            }
        });
        match fits {
            [Err(error), Err(_)] => Err(not_a_start(path, &error)),
            _ => Ok(()),
        }
    }

    /// The result from which the run starts, and its file; a resumed run has begun with it.
    fn earlier_result(&self) -> Result<Option<(&str, Reconstruction)>, Failure> {
        match (&self.recipe.start.result, &self.resume) {
            (Some(path), None) => {
                let result = warpstride::ptycho::io::results::read(Path::new(path))?;
                Ok(Some((path, result)))
            }
            _ => Ok(None),
        }
    }

    /// Where the counts of a scan that is too large for the host's memory are put; the CPU needs
    /// them in memory.
    fn scratch_folder(&self) -> Option<&Path> {
        let single = self.recipe.precision == Precision::F32;
        let beside = || self.files.result.parent().unwrap_or(Path::new("."));
        let folder = self.scratch.as_deref().unwrap_or_else(beside);
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        (single && self.request.may_take_device()).then_some(folder)
    }

    /// What the run needs; fails if the positions do not define an object.
    fn memory_request(&self, scan: &Scan) -> Result<MemoryRequest, Failure> {
        let [frames, rows, columns] = scan.shape();
        let pixel = scan.object_pixel();
        let margin = self.recipe.margin();
        let positions = PixelPositions::new(scan.positions(), pixel, [rows, columns], margin)
            .map_err(|error| {
                let error = ProblemError::of_positions(error, scan);
                let name = self.scan.display().to_string();
                self.origin.of_problem(&name, &error)
            })?;
        let shape = [frames, self.recipe.probe_modes, rows, columns];
        let mut recipe = self.recipe.clone();
        // The file may say so.
        recipe.data.near_field = Some(scan.geometry().is_near_field());
        Ok(MemoryRequest {
            shape,
            object_shape: positions.object_shape,
            recipe,
            device_memory: self.device_memory,
            exchanged: 0,
            in_scratch: scan.scratch_folder().map(|_| mask_bytes(scan)),
        })
    }
}

/// The failure of a start object that does not fit.
fn not_a_start(path: &Path, error: &StartObjectError) -> Failure {
    Failure::failed(format!("{}: start.object: {error}", path.display()))
}

/// The text that the first rank has.
fn of_first(own: &str, ranks: &Ranks) -> Result<String, Failure> {
    let all = ranks.each(own.as_bytes())?;
    let first = all.into_iter().next().unwrap_or_default();
    String::from_utf8(first).map_err(|_| Failure::failed(DIFFERENT))
}

/// The failure of a run that was interrupted in its trials.
fn stopped_in_trials(so_far: &str) -> Failure {
    Failure::Interrupted(in_trials(so_far))
}
