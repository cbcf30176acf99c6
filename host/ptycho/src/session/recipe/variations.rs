//! Checks of the options of variable probes.

use super::{ProbeSource, Recipe, RecipeError};
use crate::engines::name::{EngineName, MAX_ITERATIONS};
use crate::engines::spec::EngineSpec;
use crate::model::variable_probe::{FROM, MOST};

/// Whether an engine updates variations.
fn updates(engine: &EngineSpec) -> bool {
    matches!(
        engine.name,
        EngineName::Lsqml | EngineName::Epie | EngineName::Rpie
    ) && engine.update_probe
}

impl Recipe {
    /// The first engine that updates variations, and whether it does so in its planned iterations.
    fn first_varied(&self) -> Option<usize> {
        let mut last = 0_usize;
        self.engines.iter().position(|engine| {
            last = last.saturating_add(engine.iterations);
            updates(engine) && last >= self.opr_from.max(engine.probe_from)
        })
    }

    /// Whether an engine updates variations in its planned iterations.
    pub(crate) fn updates_variations(&self) -> bool {
        self.first_varied().is_some()
    }

    /// The engine that has the variations of an earlier result, if there are any: the first one of
    /// the run. None, if that projects, or if the probe comes from elsewhere.
    fn first_with_start(&self) -> Option<usize> {
        let takes = self.start.result.is_some() && self.probe.source == ProbeSource::Auto;
        let first = self.engines.first().filter(|e| !e.name.projects());
        (takes && first.is_some()).then_some(0)
    }

    pub(super) fn check_variations(&self) -> Result<(), RecipeError> {
        let refuse = |option: &str, expected: String, found: String| {
            Err(RecipeError::new(option, expected, found))
        };
        if self.opr_modes > MOST {
            let found = self.opr_modes.to_string();
            return refuse("opr_modes", format!("0 to {MOST}"), found);
        }
        if !(1..=MAX_ITERATIONS).contains(&self.opr_from) {
            let found = self.opr_from.to_string();
            return refuse("opr_from", format!("1 to {MAX_ITERATIONS}"), found);
        }
        if self.opr_modes == 0 {
            return Ok(());
        }
        if self.object_modes > 1 || self.fly.points > 1 {
            return refuse(
                "opr_modes",
                "0 with several object modes or points of an exposure".to_owned(),
                self.opr_modes.to_string(),
            );
        }
        if let Some(engine) = self
            .engines
            .iter()
            .find(|e| e.regions.is_some_and(|n| n > 1))
        {
            let option = format!("{}.regions", engine.name.as_str());
            let found = engine.regions.unwrap_or(1).to_string();
            return refuse(&option, "1 with opr_modes".to_owned(), found);
        }
        if let Some(first) = self.first_with_start().or_else(|| self.first_varied())
            && let Some(later) = self.engines[first..].iter().find(|e| e.name.projects())
        {
            let names = (self.engines[first].name.as_str(), later.name.as_str());
            return refuse(
                "opr_modes",
                "projection engines (dm, raar, ap), which have one probe for all frames, before the engines that update variations or start from those of a result"
                    .to_owned(),
                format!("{} after {}", names.1, names.0),
            );
        }
        Ok(())
    }

    /// Sentences of options of variable probes that have no effect.
    pub(super) fn variations_without_effect(&self) -> Option<String> {
        if self.opr_modes == 0 {
            return (self.opr_from != FROM).then(|| {
                format!(
                    "opr_from = {} has no effect without opr_modes",
                    self.opr_from
                )
            });
        }
        let takes = self.start.result.is_some() && self.probe.source == ProbeSource::Auto;
        if takes || self.first_varied().is_some() {
            return None;
        }
        let modes = self.opr_modes;
        Some(if self.engines.iter().any(updates) {
            let from = self.opr_from;
            format!(
                "opr_modes = {modes} has no effect: the engines end before iteration {from}, the first that updates variations (opr_from)"
            )
        } else {
            format!(
                "opr_modes = {modes} has no effect: only lsqml, epie and rpie with update_probe update variations of the probe"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(engines: &[(EngineName, usize)], modes: usize) -> Recipe {
        let engines = engines.iter().map(|(name, n)| EngineSpec::new(*name, *n));
        Recipe {
            engines: engines.collect(),
            opr_modes: modes,
            ..Recipe::default()
        }
    }

    #[test]
    fn options_are_checked() {
        use EngineName::{Dm, Lsqml, Ml, Raar};
        let refused = |recipe: &Recipe| recipe.check().unwrap_err().to_string();
        assert!(
            recipe(&[(Dm, 50), (Lsqml, 200), (Ml, 5)], 4)
                .check()
                .is_ok()
        );
        // Before the first update, projections may follow.
        assert!(
            recipe(&[(Lsqml, 5), (Raar, 20), (Lsqml, 20)], 2)
                .check()
                .is_ok()
        );
        let text = refused(&recipe(&[(Lsqml, 20), (Raar, 20)], 2));
        assert!(
            text.contains("opr_modes") && text.contains("raar after lsqml"),
            "{text}"
        );
        assert!(recipe(&[(Lsqml, 20), (Raar, 20)], 0).check().is_ok());
        // Those of a result are there from the start.
        let mut started = recipe(&[(Lsqml, 5), (Raar, 20)], 1);
        assert!(started.check().is_ok());
        started.start.result = Some("earlier.h5".to_owned());
        let text = refused(&started);
        assert!(text.contains("raar after lsqml"), "{text}");
        started.probe.source = ProbeSource::MeanPattern;
        assert!(started.check().is_ok());
        // A projection first leaves them out.
        started.probe.source = ProbeSource::Auto;
        started.engines = recipe(&[(Raar, 3), (Lsqml, 5), (Raar, 20)], 1).engines;
        assert!(started.check().is_ok());
        assert!(refused(&recipe(&[(Lsqml, 20)], 17)).contains("0 to 16"));
        let mut regions = recipe(&[(Lsqml, 20)], 1);
        regions.engines[0].regions = Some(4);
        assert!(refused(&regions).contains("lsqml.regions"));
        let mut from = recipe(&[(Lsqml, 20)], 1);
        from.opr_from = 0;
        assert!(refused(&from).contains("opr_from"));
    }

    #[test]
    fn options_without_effect_are_named() {
        use EngineName::{Dm, Lsqml, Ml};
        let sentence = |recipe: &Recipe| recipe.variations_without_effect();
        assert_eq!(sentence(&recipe(&[(Dm, 20), (Lsqml, 20)], 2)), None);
        assert!(
            sentence(&recipe(&[(Lsqml, 9)], 2))
                .unwrap()
                .contains("opr_from")
        );
        assert!(
            sentence(&recipe(&[(Dm, 50), (Ml, 9)], 2))
                .unwrap()
                .contains("lsqml, epie and rpie")
        );
        let mut unused = recipe(&[(Lsqml, 20)], 0);
        unused.opr_from = 3;
        assert!(sentence(&unused).unwrap().contains("without opr_modes"));
    }

    #[test]
    fn resolved_recipes_have_the_options_only_if_they_are_used() {
        let plain = Recipe::default().to_toml().unwrap();
        assert!(!plain.contains("opr_"));
        let mut varied = Recipe::default();
        varied.set("opr_modes=3").unwrap();
        varied.set("opr_from=7").unwrap();
        assert_eq!(
            Recipe::from_toml(&varied.to_toml().unwrap()).unwrap(),
            varied
        );
    }
}
