//! The words that are refused, and what to write instead.

/// Names of files and folders, without extension.
pub(super) struct PathRule {
    pub(super) names: &'static [&'static str],
    pub(super) instead: &'static str,
    /// Part of the paths to which the rule is limited.
    within: &'static str,
}

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Type,
    Other,
}

/// How a rule compares a name.
enum Name {
    /// The name is one of these.
    Exactly(&'static [&'static str]),
    /// One of the name's words is one of these.
    Has(&'static [&'static str]),
    /// The last of the name's several words is this.
    Ends(&'static str),
}

/// Names of items.
pub(super) struct ItemRule {
    /// `None`: types and others.
    item: Option<Item>,
    name: Name,
    pub(super) instead: &'static str,
    within: &'static str,
}

/// Where a phrase is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// In documentation, comments and strings.
    Text,
    /// In strings only.
    Messages,
}

/// Consecutive words of a text. A word with a capital is compared exactly, others in any case.
pub(super) struct Phrase {
    pub(super) words: &'static [&'static str],
    pub(super) instead: &'static str,
    pub(super) scope: Scope,
    /// Words that make the phrase an established term if they stand before it.
    pub(super) unless_after: &'static [&'static str],
    /// The same for words behind it.
    pub(super) unless_before: &'static [&'static str],
    /// Parts of the paths to which the rule is limited; none: all paths.
    within: &'static [&'static str],
    /// Parts of the paths in which the phrase is an established term.
    except: &'static [&'static str],
}

impl PathRule {
    pub(super) fn applies_to(&self, path: &str) -> bool {
        path.contains(self.within)
    }
}

impl ItemRule {
    pub(super) fn applies_to(&self, path: &str) -> bool {
        path.contains(self.within)
    }

    pub(super) fn matches(&self, item: Item, name: &str, subwords: &[String]) -> bool {
        self.item.is_none_or(|only| only == item)
            && match self.name {
                Name::Exactly(names) => names.contains(&name),
                Name::Has(words) => subwords.iter().any(|word| words.contains(&word.as_str())),
                Name::Ends(word) => {
                    subwords.len() > 1 && subwords.last().is_some_and(|last| last == word)
                }
            }
    }
}

impl Phrase {
    pub(super) fn applies_to(&self, path: &str) -> bool {
        let contains = |parts: &[&str]| parts.iter().any(|part| path.contains(part));
        (self.within.is_empty() || contains(self.within)) && !contains(self.except)
    }
}

const fn path(
    names: &'static [&'static str],
    within: &'static str,
    instead: &'static str,
) -> PathRule {
    PathRule {
        names,
        instead,
        within,
    }
}

const fn types(names: &'static [&'static str], instead: &'static str) -> ItemRule {
    ItemRule {
        item: Some(Item::Type),
        name: Name::Exactly(names),
        instead,
        within: "",
    }
}

const fn others(names: &'static [&'static str], instead: &'static str) -> ItemRule {
    ItemRule {
        item: Some(Item::Other),
        name: Name::Exactly(names),
        instead,
        within: "",
    }
}

const fn items(words: &'static [&'static str], instead: &'static str) -> ItemRule {
    ItemRule {
        item: None,
        name: Name::Has(words),
        instead,
        within: "",
    }
}

const fn ending(item: Item, word: &'static str, instead: &'static str) -> ItemRule {
    ItemRule {
        item: Some(item),
        name: Name::Ends(word),
        instead,
        within: "",
    }
}

const fn phrase(words: &'static [&'static str], instead: &'static str) -> Phrase {
    Phrase {
        words,
        instead,
        scope: Scope::Text,
        unless_after: &[],
        unless_before: &[],
        within: &[],
        except: &[],
    }
}

const fn message(words: &'static [&'static str], instead: &'static str) -> Phrase {
    Phrase {
        scope: Scope::Messages,
        unless_before: &["to", "by"],
        ..phrase(words, instead)
    }
}

pub(super) const PATHS: &[PathRule] = &[
    path(&["room", "rooms"], "", "the topic, as in `integration`"),
    path(
        &["fence", "gpu_fence", "cuda_fence"],
        "",
        "`cuda`, `cuda_layer`",
    ),
    path(
        &["machine", "gpu_machine", "cuda_machine"],
        "",
        "`device` or `backend`",
    ),
    path(
        &["fleet", "gpu_fleet", "booked_fleet"],
        "",
        "`device_group`",
    ),
    path(&["course"], "", "`run`"),
    path(&["outcome"], "", "`run_summary`, `fit_result`"),
    path(&["need", "needs"], "", "`memory_estimate`"),
    path(
        &["wish", "wishes", "wanted"],
        "",
        "`parameters`, `config`, `request`",
    ),
    path(&["words"], "host/", "`display`"),
    path(&["told"], "", "`summary`, `output`; `lookback` in kernels"),
    path(&["said"], "", "`output`"),
    path(&["survey", "series_survey"], "", "`check_sorted`"),
    path(&["keep"], "", "`compact`"),
    path(&["meetings"], "", "`convergence`"),
    path(&["retired"], "", "`deferred_free`"),
    path(&["contain"], "", "`catch_panic`"),
    path(&["lanes"], "", "`simd`, `streams`"),
    path(&["turns"], "", "`sincos`, `block_scheduler`"),
    path(&["cut"], "", "`partition`"),
    path(&["ways"], "", "`halo_links`"),
    path(&["heap", "heaps"], "", "`subproblem`"),
    path(&["rods"], "", "`pencils`"),
    path(&["relay"], "", "`peer_channel`"),
    path(&["stretch"], "", "`profile_span`, or what it stretches"),
    path(&["stands"], "", "`coroutines`"),
];

pub(super) const ITEMS: &[ItemRule] = &[
    items(&["fleet", "fleets"], "DeviceGroup"),
    items(&["relay", "relays"], "PeerChannel"),
    items(&["wish", "wishes", "wished"], "request, parameters, config"),
    items(&["told"], "summary, report; TilePrefix in kernels"),
    items(&["survey"], "check_sorted"),
    items(&["room", "rooms"], "module, science, buffer, shared memory"),
    items(&["fence"], "CUDA layer").except_kernels(),
    items(&["nobody", "somebody", "whoever"], "what is meant"),
    items(&["figures"], "metrics (of a run), measurements (of speed)"),
    items(&["retreat", "retreats"], "fall_back_to_cpu"),
    items(&["meetings"], "convergence"),
    items(&["keeping"], "uses_kernel"),
    items(&["rods"], "pencils").within("nufft"),
    items(&["heap", "heaps"], "subproblem").within("nufft"),
    items(&["nufftheap"], "NufftSubproblem"),
    items(&["wanted"], "request, config"),
    items(&["course", "courses"], "run"),
    types(&["Machine", "CudaMachine", "EmulatedMachine"], "Device"),
    types(&["Stretch", "Stretches"], "ProfileSpan"),
    types(&["Lane", "Lanes"], "StreamId, or SimdReal for vectors"),
    types(&["Mark"], "Event"),
    types(&["Fetch", "Fetched"], "ReadBack"),
    types(&["Outcome"], "RunSummary, FitResult"),
    types(&["Need", "Needs", "Needed"], "MemoryEstimate"),
    types(&["Spread"], "Polydispersity"),
    types(&["Stands"], "Coroutines"),
    types(&["Team"], "BlockScheduler"),
    types(&["Turn"], "what it is"),
    types(&["Place"], "what it is: an index, position, folder, …"),
    types(&["Said", "Seen"], "what it is: output, record, callback, …"),
    types(&["Typed", "Word"], "Args, Arg, Cli"),
    types(&["Cut", "Way"], "partition, halo link"),
    types(&["Survey"], "check of sorting"),
    ending(Item::Type, "place", "what it is: an index, position, …"),
    ending(Item::Type, "typed", "…Args"),
    ending(Item::Type, "word", "…Arg"),
    ending(Item::Type, "need", "…MemoryEstimate"),
    others(&["settle"], "flush"),
    others(&["fetch"], "read_back"),
    others(&["judge"], "check_finite"),
    others(&["keeps", "needs_kernel"], "uses_kernel"),
    others(&["from_typed"], "from_args"),
    others(&["await_push"], "wait_for_send"),
    others(
        &["outcome", "need"],
        "run_summary, fit_result, memory_estimate",
    ),
];

impl ItemRule {
    const fn within(mut self, part: &'static str) -> Self {
        self.within = part;
        self
    }

    /// Kernels have memory fences.
    const fn except_kernels(self) -> Self {
        self.within("host/")
    }
}

pub(super) const PHRASES: &[Phrase] = &[
    Phrase {
        unless_before: &["temperature"],
        ..phrase(&["room"], "module, science; space (of memory)")
    },
    phrase(&["rooms"], "modules, sciences"),
    Phrase {
        unless_after: &[
            "memory", "device", "thread", "acquire", "release", "proxy", "code",
        ],
        unless_before: &["instruction", "instructions"],
        except: &["kernels-gpu/"],
        ..phrase(&["fence"], "CUDA layer")
    },
    phrase(&["fleet"], "device group"),
    phrase(&["fleets"], "device groups"),
    phrase(&["fleet's"], "of the device group"),
    phrase(&["relay"], "peer channel"),
    phrase(&["relays"], "peer channels"),
    phrase(&["nobody"], "the passive voice, or no user"),
    phrase(&["somebody"], "a user"),
    phrase(&["whoever"], "a caller, a user"),
    phrase(&["wish"], "request, option"),
    phrase(&["wishes"], "requests, options"),
    phrase(&["wished"], "requested"),
    phrase(&["is", "told"], "is notified, is reported, receives"),
    phrase(&["are", "told"], "are reported, receive"),
    phrase(&["goes", "on", "bit"], "resumes bit for bit"),
    phrase(&["go", "on", "bit"], "resume bit for bit"),
    phrase(&["going", "on", "bit"], "resuming bit for bit"),
    phrase(&["that", "are", "no", "numbers"], "NaN"),
    phrase(&["is", "no", "number"], "is NaN, is not a number"),
    phrase(&["are", "no", "numbers"], "are NaN, are not numbers"),
    phrase(&["array", "of", "numpy"], "NumPy array"),
    phrase(&["arrays", "of", "numpy"], "NumPy arrays"),
    phrase(
        &["says", "which", "and", "why"],
        "names them with the reason",
    ),
    phrase(&["where", "there", "is", "one"], "if available"),
    phrase(&["where", "there", "is", "none"], "if there is none"),
    phrase(&["where", "there", "are", "none"], "if there are none"),
    phrase(&["the", "library's", "own"], "of the library"),
    phrase(&["Read", "are"], "the subject first"),
    phrase(&["Taken", "is"], "the subject first"),
    phrase(&["Taken", "are"], "the subject first"),
    phrase(&["Counted", "is"], "the subject first"),
    phrase(&["Counted", "are"], "the subject first"),
    phrase(&["was", "typed"], "was given"),
    phrase(&["as", "typed"], "arguments of …, as given"),
    phrase(&["the", "cpu", "computes"], "falling back to the CPU"),
    phrase(
        &["the", "emulator", "computes", "on"],
        "falling back to the emulator",
    ),
    phrase(&["emulated", "machine"], "emulated device"),
    phrase(&["cuda", "machine"], "CUDA device"),
    phrase(&["retreat"], "fall back"),
    phrase(&["retreats"], "falls back"),
    Phrase {
        unless_after: &["significant"],
        ..phrase(&["figures"], "metrics (of a run), measurements (of speed)")
    },
    Phrase {
        within: &["nufft"],
        ..phrase(&["heap"], "subproblem")
    },
    Phrase {
        within: &["nufft"],
        ..phrase(&["heaps"], "subproblems")
    },
    Phrase {
        within: &["nufft", "fft"],
        ..phrase(&["rods"], "pencils")
    },
    phrase(&["survey"], "check of sorting"),
    message(&["is", "expected"], "`expected …`, then `found …`"),
    message(&["are", "expected"], "`expected …`, then `found …`"),
    message(&["may", "be", "used"], "`… is available`"),
];
