//! A simulated host: a store, an engine, and a process that may be killed at any moment.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use fastrand::Rng;

use super::super::*;
use crate::reconcile::state::{Load, Scale, TARGET};

/// The time that a good server takes until it is healthy, and after which a bad one crashes.
const READY: Duration = Duration::from_secs(3);
const CRASH: Duration = Duration::from_secs(2);

/// The nature of the image of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    Good,
    Crashes,
    NeverHealthy,
    CannotStart,
    CannotBePulled,
    CannotBeBuilt,
}

/// A container of the engine.
struct Real {
    deployment: String,
    revision: String,
    replica: u32,
    state: RealState,
    is_hung: bool,
    /// The time at which it ends, if it was asked to stop.
    ends: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RealState {
    Created,
    Running { started: Duration },
    Exited { code: i64, ran: Duration },
}

/// What the process knows, which is lost when it is killed.
#[derive(Default)]
struct Process {
    born: Duration,
    since: HashMap<String, Duration>,
    health: HashMap<String, Health>,
    draining: HashMap<String, Duration>,
    open: HashMap<String, usize>,
    attempted: HashMap<String, Duration>,
    requested: HashMap<String, Duration>,
}

pub(super) struct World {
    seed: u64,
    random: Rng,
    now: Duration,
    has_faults: bool,
    made: u64,
    desired: Vec<Desired>,
    natures: HashMap<String, Nature>,
    images: HashSet<String>,
    loads: HashMap<String, Load>,
    engine: BTreeMap<String, Real>,
    process: Process,
    /// Acts that take effect later, even if they are no longer wanted.
    late: Vec<Action>,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            random: Rng::with_seed(seed),
            now: Duration::ZERO,
            has_faults: true,
            made: 0,
            desired: Vec::new(),
            natures: HashMap::new(),
            images: HashSet::new(),
            loads: HashMap::new(),
            engine: BTreeMap::new(),
            process: Process::default(),
            late: Vec::new(),
        }
    }

    fn once_in(&mut self, count: usize) -> bool {
        self.random.usize(..count) == 0
    }

    fn clock(&self) -> Duration {
        self.now - self.process.born
    }

    pub(super) fn act_as_users(&mut self) {
        if self.desired.len() < 3 && self.once_in(10) {
            self.made += 1;
            self.desired.push(Desired {
                id: format!("d{}", self.made),
                tenant: "tenant".to_owned(),
                name: format!("agent-{}", self.made),
                hosts: Vec::new(),
                is_deleted: false,
                scale: Scale { min: self.random.u32(..3), max: self.random.u32(..4) },
                grace: Duration::from_secs(self.random.u64(..600)),
                revisions: Vec::new(),
                active: None,
            });
        }
        for at in 0..self.desired.len() {
            match self.random.u32(..60) {
                0..6 => self.deploy(at),
                6 => self.desired[at].is_deleted = true,
                7 => self.desired[at].scale.min = self.random.u32(..4),
                30..33 => self.load(at),
                8..10 => {
                    if let Some(last) = self.desired[at].revisions.last_mut()
                        && last.phase.may_become(Phase::Interrupted)
                    {
                        last.phase = Phase::Interrupted;
                    }
                }
                10..30 => self.request(at),
                _ => {}
            }
        }
    }

    fn load(&mut self, at: usize) {
        let present = self.random.usize(..TARGET * 4);
        let highest = self.random.bool().then(|| present + self.random.usize(..TARGET * 2));
        self.loads.insert(self.desired[at].id.clone(), Load { present, highest });
    }

    fn deploy(&mut self, at: usize) {
        self.made += 1;
        let id = format!("r{}", self.made);
        let tag = format!("image:{id}");
        let kept: Vec<&Revision> =
            self.desired[at].revisions.iter().filter(|revision| revision.image.is_some()).collect();
        let (source, nature) = match (self.random.u32(..3), self.random.choice(kept)) {
            (0, Some(old)) => (Source::Kept(old.image.clone().unwrap()), self.natures[&old.id]),
            (1, _) => (Source::Image("reference".to_owned()), self.nature(Nature::CannotBePulled)),
            _ => (Source::Build, self.nature(Nature::CannotBeBuilt)),
        };
        self.natures.insert(id.clone(), nature);
        let revisions = &mut self.desired[at].revisions;
        let number = revisions.len() as u64 + 1;
        let phase = Phase::Creating;
        revisions.push(Revision {
            id,
            number,
            phase,
            source,
            tag,
            image: None,
            attempts: 0,
            last_error: None,
        });
    }

    fn nature(&mut self, of_source: Nature) -> Nature {
        let bad = [Nature::Crashes, Nature::NeverHealthy, Nature::CannotStart, of_source];
        *[Nature::Good; 6].iter().chain(&bad).nth(self.random.usize(..10)).unwrap()
    }

    /// A request for a deployment, which a healthy container of the active revision gets.
    fn request(&mut self, at: usize) {
        let deployment = &self.desired[at];
        self.process.requested.insert(deployment.id.clone(), self.clock());
        let active = deployment.active.as_ref();
        let routed = self.observed().containers.into_iter().find(|container| {
            Some(&container.revision) == active && container.is_healthy() && container.draining.is_none()
        });
        if let Some(container) = routed {
            *self.process.open.entry(container.name).or_default() += 1;
        }
    }

    /// Lets time pass, and things go wrong.
    pub(super) fn act_as_fate(&mut self) {
        let step = if self.once_in(30) { 900_000 } else { self.random.u64(100..30_000) };
        self.now += Duration::from_millis(step);
        let mut ended = Vec::new();
        for (name, real) in &mut self.engine {
            let RealState::Running { started } = real.state else { continue };
            let (ran, has_faults) = (self.now - started, self.has_faults);
            let crashes = self.natures.get(&real.revision) == Some(&Nature::Crashes) && ran >= CRASH;
            real.is_hung |= has_faults && self.random.u32(..100) == 0;
            if crashes || has_faults && self.random.u32(..60) == 0 {
                real.state = RealState::Exited { code: 1, ran };
            } else if real.ends.is_some_and(|ends| ends <= self.now) {
                real.state = RealState::Exited { code: 0, ran };
            } else {
                continue;
            }
            ended.push(name.clone());
        }
        for name in ended {
            self.process.open.remove(&name);
        }
        if self.has_faults && self.once_in(50) {
            // Somebody else removes an image.
            let image = self.random.choice(&self.images).cloned();
            self.images.retain(|it| Some(it) != image.as_ref());
        }
        let open: Vec<String> = self.process.open.keys().cloned().collect();
        for name in open {
            if self.random.u32(..6) == 0 {
                self.process.open.remove(&name);
            }
        }
        if self.once_in(40) {
            self.kill();
        }
        for action in std::mem::take(&mut self.late) {
            self.apply(&action, &self.observed());
        }
    }

    fn kill(&mut self) {
        self.process = Process { born: self.now, ..Process::default() };
    }

    fn observed(&self) -> Observed {
        let container = |(name, real): (&String, &Real)| Container {
            name: name.clone(),
            deployment: real.deployment.clone(),
            revision: real.revision.clone(),
            replica: real.replica,
            state: match real.state {
                RealState::Created => State::Created,
                RealState::Running { .. } => {
                    State::Running { since: self.process.since.get(name).copied().unwrap_or(self.clock()) }
                }
                RealState::Exited { code, ran } => State::Exited { code, ran },
            },
            address: None,
            health: self.process.health.get(name).copied().unwrap_or(Health::Unknown),
            open: self.process.open.get(name).copied().unwrap_or_default(),
            draining: self.process.draining.get(name).copied(),
        };
        Observed {
            containers: self.engine.iter().map(container).collect(),
            images: self.images.clone(),
            attempted: self.process.attempted.clone(),
            requested: self.process.requested.clone(),
            loads: self.loads.clone(),
        }
    }

    /// Observes, decides, and does some of the acts.
    pub(super) fn tick(&mut self) {
        let clock = self.clock();
        for (name, real) in &self.engine {
            if matches!(real.state, RealState::Running { .. }) {
                self.process.since.entry(name.clone()).or_insert(clock);
            } else {
                self.process.since.remove(name);
                self.process.health.remove(name);
            }
        }
        let observed = self.observed();
        for action in decide(&self.desired, &observed, clock) {
            let takes_long = matches!(action, Action::Create { .. } | Action::Start { .. });
            match self.random.u32(..100) {
                0..10 if self.has_faults => {}
                10..12 if self.has_faults => return self.kill(),
                12..30 if self.has_faults && takes_long => self.late.push(action),
                _ => self.apply(&action, &observed),
            }
        }
        for deployment in &self.desired {
            let current = deployment.revisions.iter().filter(|revision| revision.phase.is_current());
            assert!(current.count() <= 1, "seed {}: {deployment:#?}", self.seed);
        }
    }

    fn revision(&mut self, id: &str) -> Option<&mut Revision> {
        self.desired.iter_mut().flat_map(|it| &mut it.revisions).find(|revision| revision.id == id)
    }

    fn attempt_failed(&mut self, revision: &str) {
        let clock = self.clock();
        self.process.attempted.insert(revision.to_owned(), clock);
        if let Some(revision) = self.revision(revision) {
            revision.attempts += 1;
            revision.last_error = Some("it failed".to_owned());
        }
    }

    fn apply(&mut self, action: &Action, observed: &Observed) {
        let seed = self.seed;
        let seen = |name: &String| observed.containers.iter().find(|container| container.name == *name);
        match action {
            Action::Advance { revision, from, to, .. } => {
                assert!(from.may_become(*to), "seed {seed}: {action:?}");
                self.set_phase(revision, *from, *to);
            }
            Action::Fail { revision, reason, .. } => {
                assert!(!reason.is_empty(), "seed {seed}");
                self.set_phase(revision, Phase::Deploying, Phase::DeployFailed);
            }
            Action::Build { revision, .. } if self.natures[revision] == Nature::CannotBeBuilt => {
                if !self.set_phase(revision, Phase::Building, Phase::BuildFailed) {
                    self.attempt_failed(revision);
                }
            }
            Action::Pull { revision, .. } if self.natures[revision] == Nature::CannotBePulled => {
                self.attempt_failed(revision);
            }
            Action::Build { revision, .. } => self.tag(revision),
            Action::Pull { revision, image, .. } if image == "reference" || self.images.contains(image) => {
                self.tag(revision);
            }
            Action::Pull { revision, .. } => self.attempt_failed(revision),
            Action::RemoveUnknownImage { image } => {
                self.images.remove(image);
            }
            Action::ForgetImage { revision, .. } => {
                if let Some(revision) = self.revision(revision) {
                    revision.image = None;
                }
            }
            Action::ForgetKept { revision, .. } => {
                if let Some(revision) = self.revision(revision) {
                    revision.source = Source::Build;
                }
            }
            Action::Create { revision, .. } if self.natures[revision] == Nature::CannotStart => {
                self.attempt_failed(revision);
            }
            Action::Create { deployment, revision, replica } => {
                self.engine.entry(format!("{revision}-{replica}")).or_insert(Real {
                    deployment: deployment.clone(),
                    revision: revision.clone(),
                    replica: *replica,
                    state: RealState::Created,
                    is_hung: false,
                    ends: None,
                });
            }
            Action::Start { revision, container, attempts, .. } => {
                self.process.attempted.insert(revision.clone(), self.clock());
                if let Some(revision) = self.revision(revision) {
                    revision.attempts = *attempts;
                }
                let started = self.now;
                if let Some(real) = self.engine.get_mut(container)
                    && !matches!(real.state, RealState::Running { .. })
                {
                    (real.state, real.is_hung, real.ends) = (RealState::Running { started }, false, None);
                }
            }
            Action::Probe { container } => self.probe(container),
            Action::Switch { deployment, from, to } => self.switch(deployment, from.as_ref(), to, observed),
            Action::Drain { container, .. } => {
                let clock = self.clock();
                self.process.draining.entry(container.clone()).or_insert(clock);
            }
            Action::Stop { container, grace } => {
                let seen = seen(container).unwrap();
                let drained = self.clock() - seen.draining.unwrap();
                assert!(seen.open == 0 || drained + STOP_MARGIN >= *grace, "seed {seed}: {seen:?}");
                let ends = self.now + Duration::from_secs(self.random.u64(..=grace.as_secs()));
                if let Some(real) = self.engine.get_mut(container) {
                    real.ends.get_or_insert(ends);
                }
            }
            Action::Remove { container } => {
                let removed = self.engine.remove(container).unwrap();
                assert!(!matches!(removed.state, RealState::Running { .. }), "seed {seed}: {container}");
                self.process.draining.remove(container);
            }
            Action::RemoveImage { deployment, revision, image } => {
                let is_active = self
                    .desired
                    .iter()
                    .any(|it| it.id == *deployment && !it.is_deleted && it.active.as_ref() == Some(revision));
                let is_used = observed.containers.iter().any(|it| it.revision == *revision);
                assert!(!is_active && !is_used, "seed {seed}: {action:?}");
                self.images.remove(image);
                if let Some(revision) = self.revision(revision) {
                    revision.image = None;
                }
            }
            Action::Forget { deployment } => {
                let has_containers = observed.containers.iter().any(|it| it.deployment == *deployment);
                assert!(!has_containers, "seed {seed}: {deployment}");
                self.desired.retain(|it| it.id != *deployment);
            }
        }
    }

    fn set_phase(&mut self, revision: &str, from: Phase, to: Phase) -> bool {
        let revision = self.revision(revision).filter(|revision| revision.phase == from);
        let has_changed = revision.is_some();
        if let Some(revision) = revision {
            revision.phase = to;
        }
        has_changed
    }

    fn tag(&mut self, revision: &str) {
        let tag = format!("image:{revision}");
        if let Some(revision) = self.revision(revision) {
            revision.image = Some(tag.clone());
            self.images.insert(tag);
        }
    }

    fn probe(&mut self, name: &str) {
        let at = self.clock();
        let Some(real) = self.engine.get(name) else { return };
        let RealState::Running { started } = real.state else { return };
        let is_good = self.natures[&real.revision] == Nature::Good && !real.is_hung;
        let health = if is_good && self.now - started >= READY {
            Health::Healthy { at }
        } else {
            let since = match self.process.health.get(name) {
                Some(Health::Failing { since, .. }) => *since,
                _ => at,
            };
            Health::Failing { at, since }
        };
        self.process.health.insert(name.to_owned(), health);
    }

    fn switch(&mut self, deployment: &str, from: Option<&String>, to: &str, observed: &Observed) {
        let seed = self.seed;
        let deployment = self.desired.iter_mut().find(|it| it.id == deployment).unwrap();
        let healthy = observed.containers.iter().filter(|it| it.revision == to && it.is_healthy()).count();
        assert!(healthy >= deployment.scale.least(), "seed {seed}: {to} is not healthy");
        let revision = deployment.revisions.iter_mut().find(|revision| revision.id == to).unwrap();
        if deployment.active.as_ref() == from && revision.phase == Phase::Deploying {
            (revision.phase, revision.attempts) = (Phase::Deployed, 0);
            deployment.active = Some(to.to_owned());
        }
    }

    /// Without new faults and requests, everything comes to rest as it is wanted.
    pub(super) fn settle(mut self) {
        self.has_faults = false;
        let loads = self.desired.iter().map(|it| (it.id.clone(), Load { present: 0, highest: Some(0) }));
        self.loads = loads.collect();
        for _ in 0..500 {
            self.act_as_fate();
            self.tick();
        }
        let seed = self.seed;
        let observed = self.observed();
        let mut actions = decide(&self.desired, &observed, self.clock());
        actions.retain(|action| !matches!(action, Action::Probe { .. }));
        assert_eq!(actions, [], "seed {seed}");
        let mut expected = 0;
        let mut tags = HashSet::new();
        for deployment in &self.desired {
            assert!(!deployment.is_deleted, "seed {seed}: {deployment:#?}");
            let open = |it: &&Revision| it.phase.is_waiting() || it.phase.is_current();
            assert_eq!(deployment.revisions.iter().find(open), None, "seed {seed}");
            if deployment.active.is_some() && deployment.scale.min > 0 {
                expected += deployment.scale.least();
            }
            let kept = deployment.revisions.iter().filter_map(|it| it.image.clone());
            tags.extend(kept.clone());
            assert!(kept.count() <= KEPT_IMAGES + 1, "seed {seed}: {deployment:#?}");
            let last = deployment.revisions.iter().rfind(|it| it.phase == Phase::Deployed);
            assert_eq!(deployment.active.as_ref(), last.map(|it| &it.id), "seed {seed}");
        }
        assert_eq!(self.images, tags, "seed {seed}");
        assert_eq!(observed.containers.len(), expected, "seed {seed}");
        for container in &observed.containers {
            let is_active = self.desired.iter().any(|it| it.active.as_ref() == Some(&container.revision));
            assert!(is_active && container.is_healthy(), "seed {seed}: {container:?}");
        }
    }
}
