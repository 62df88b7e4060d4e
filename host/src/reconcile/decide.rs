//! The next acts, as a pure function of the wanted and the observed state.
//!
//! It is level-triggered: any act may be lost, by a kill for example, and is then decided again. An act that is no longer
//! decided is no longer wanted, so what is in progress of it can be cancelled.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::time::Duration;

use super::action::Action;
use super::state::{Container, Desired, Health, Observed, Phase, Revision, Source, State};

/// Grace of a container whose deployment is not known.
pub(super) const DEFAULT_GRACE: Duration = Duration::from_secs(180);

/// Time to stop beyond the grace, in which the server itself kills what is left.
pub(super) const STOP_MARGIN: Duration = Duration::from_secs(10);

/// Time that a new server has to become healthy.
pub(super) const START_LIMIT: Duration = Duration::from_secs(300);

/// Number of failed pulls and starts after which a revision that is being deployed fails.
pub(super) const MAX_ATTEMPTS: u32 = 5;

/// Time without requests after which a deployment with a minimum scale of 0 is stopped.
pub(super) const IDLE: Duration = Duration::from_secs(15 * 60);

/// Number of revisions of a deployment, the newest, whose images are kept.
pub(super) const KEPT_IMAGES: usize = 5;

/// Time of failing probes after which the container of a deployed revision is replaced.
const HUNG: Duration = Duration::from_secs(120);

/// Time after which a container that ended counts as one that worked.
const STABLE: Duration = Duration::from_secs(600);

/// Pause before the first new attempt; it doubles with each.
const BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(300);

/// Intervals of the probes of servers that are not healthy as yet, and of healthy ones.
const STARTING_PROBE: Duration = Duration::from_millis(200);
const PROBE: Duration = Duration::from_secs(10);

/// The acts that are due at `now`.
pub(super) fn decide(desired: &[Desired], observed: &Observed, now: Duration) -> Vec<Action> {
    let mut actions = Vec::new();
    for deployment in desired {
        let mut containers: Vec<&Container> =
            observed.containers.iter().filter(|it| it.deployment == deployment.id).collect();
        containers.sort_by_key(|container| container.replica);
        Turn { deployment, containers, observed, now, actions: &mut actions }.decide();
    }
    let is_orphan = |it: &&Container| desired.iter().all(|deployment| deployment.id != it.deployment);
    for container in observed.containers.iter().filter(is_orphan) {
        actions.extend(retire(container, DEFAULT_GRACE, now));
    }
    actions.extend(unknown_images(desired, observed));
    actions
}

/// The removal of images that no revision has or is about to have.
fn unknown_images(desired: &[Desired], observed: &Observed) -> impl Iterator<Item = Action> {
    let is_open = |it: &Revision| it.phase.is_waiting() || it.phase.is_current();
    let mut known = HashSet::new();
    for deployment in desired {
        let own = deployment.revisions.iter();
        let has = |it: &&Revision| {
            it.image.is_some()
                || !deployment.is_deleted && (is_open(it) || deployment.active.as_ref() == Some(&it.id))
        };
        known.extend(own.filter(has).map(|it| it.tag.as_str()));
    }
    let mut unknown: Vec<&String> =
        observed.images.iter().filter(|image| !known.contains(image.as_str())).collect();
    unknown.sort();
    unknown.into_iter().map(|image| Action::RemoveUnknownImage { image: image.clone() })
}

/// The next act to get rid of a container: drain, stop, remove.
fn retire(container: &Container, grace: Duration, now: Duration) -> Option<Action> {
    let name = container.name.clone();
    match (container.state, container.draining) {
        (State::Created | State::Exited { .. } | State::Broken, _) => {
            Some(Action::Remove { container: name })
        }
        (State::Running { .. }, None) => Some(Action::Drain { container: name, grace }),
        (State::Running { .. }, Some(since)) => {
            let is_drained = container.open == 0 || now.saturating_sub(since) >= grace;
            is_drained.then(|| Action::Stop { container: name, grace: grace.saturating_add(STOP_MARGIN) })
        }
    }
}

/// The pause after this number of failed attempts.
fn backoff(attempts: u32) -> Duration {
    match attempts.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => BACKOFF.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_BACKOFF),
    }
}

/// The decisions about one deployment.
struct Turn<'a> {
    deployment: &'a Desired,
    /// Its containers, by number of the replica.
    containers: Vec<&'a Container>,
    observed: &'a Observed,
    now: Duration,
    actions: &'a mut Vec<Action>,
}

impl<'a> Turn<'a> {
    fn decide(mut self) {
        if self.deployment.is_deleted {
            return self.delete();
        }
        let deployment = self.deployment;
        let current = deployment.revisions.iter().find(|revision| revision.phase.is_current());
        let active = deployment.active.as_ref();
        let active = deployment.revisions.iter().find(|revision| Some(&revision.id) == active);
        let count = self.replicas(active);
        self.queue(current);
        self.forget_images();
        if let Some(current) = current {
            self.progress(current, count);
        }
        if let Some(active) = active {
            let count = if self.is_idle(active) { 0 } else { count };
            self.run(active, count);
        }
        let deploying = current.filter(|revision| revision.phase == Phase::Deploying);
        let wanted = [active, deploying].map(|revision| revision.map(|revision| revision.id.as_str()));
        self.retire_all(|container| !wanted.contains(&Some(&container.revision)));
        self.remove_images();
    }

    /// Number of replicas while the deployment is in use.
    fn replicas(&self, active: Option<&Revision>) -> usize {
        let present = active.map_or(0, |active| self.serving(active).len());
        let load = self.observed.loads.get(&self.deployment.id).copied().unwrap_or_default();
        self.deployment.scale.replicas(present, load)
    }

    /// Removes everything, and then the deployment.
    fn delete(&mut self) {
        self.retire_all(|_| true);
        if !self.containers.is_empty() {
            return;
        }
        let removals: Vec<Action> =
            self.deployment.revisions.iter().filter_map(|it| self.removal(it)).collect();
        if removals.is_empty() {
            self.actions.push(Action::Forget { deployment: self.deployment.id.clone() });
        }
        self.actions.extend(removals);
    }

    /// Lets the latest revision begin if no other one is being processed, and skips older ones that wait.
    fn queue(&mut self, current: Option<&Revision>) {
        let Some((latest, older)) = self.deployment.revisions.split_last() else { return };
        match (current, latest.phase, &latest.source) {
            (None, Phase::Creating | Phase::Queued, Source::Build) => {
                self.advance(latest, Phase::AwaitingBuild);
            }
            (None, Phase::Creating | Phase::Queued, _) => self.advance(latest, Phase::AwaitingDeploy),
            (Some(_), Phase::Creating, _) => self.advance(latest, Phase::Queued),
            _ => {}
        }
        for revision in older.iter().filter(|revision| revision.phase.is_waiting()) {
            self.advance(revision, Phase::Skipped);
        }
    }

    fn advance(&mut self, revision: &Revision, to: Phase) {
        self.actions.push(Action::Advance {
            deployment: self.deployment.id.clone(),
            revision: revision.id.clone(),
            from: revision.phase,
            to,
        });
    }

    /// The next act for the revision that is being processed.
    fn progress(&mut self, revision: &'a Revision, count: usize) {
        match revision.phase {
            Phase::AwaitingBuild => self.advance(revision, Phase::Building),
            Phase::Building if revision.image.is_some() => self.advance(revision, Phase::AwaitingDeploy),
            Phase::Building => self.obtain(revision),
            Phase::AwaitingDeploy => self.advance(revision, Phase::Deploying),
            _ => self.deploy(revision, count),
        }
    }

    /// Builds or pulls the image of a revision.
    fn obtain(&mut self, revision: &Revision) {
        let (deployment, id) = (self.deployment.id.clone(), revision.id.clone());
        self.actions.push(match &revision.source {
            Source::Build => Action::Build { deployment, revision: id },
            Source::Image(image) | Source::Kept(image) => {
                Action::Pull { deployment, revision: id, image: image.clone() }
            }
        });
    }

    /// Takes note of images that were removed from the engine by somebody else.
    fn forget_images(&mut self) {
        let is_gone = |image: &String| !self.observed.images.contains(image);
        for revision in &self.deployment.revisions {
            let (deployment, id) = (self.deployment.id.clone(), revision.id.clone());
            match (&revision.image, &revision.source) {
                (Some(image), _) if is_gone(image) => {
                    self.actions.push(Action::ForgetImage { deployment, revision: id });
                }
                (None, Source::Kept(image)) if is_gone(image) => {
                    self.actions.push(Action::ForgetKept { deployment, revision: id });
                }
                _ => {}
            }
        }
    }

    /// Starts a revision until it is healthy, and switches to it; or fails.
    fn deploy(&mut self, revision: &'a Revision, count: usize) {
        let serving = self.serving(revision);
        let has_all = serving.len() >= count;
        if has_all && serving.iter().take(count).all(|container| container.is_healthy()) {
            let (deployment, to) = (self.deployment.id.clone(), revision.id.clone());
            self.actions.push(Action::Switch { deployment, from: self.deployment.active.clone(), to });
        } else if let Some(fail) = self.failure(revision, &serving, has_all) {
            self.actions.push(fail);
        } else {
            self.run(revision, count);
        }
    }

    fn failed(&self, revision: &Revision, reason: String, container: Option<&Container>) -> Action {
        Action::Fail {
            deployment: self.deployment.id.clone(),
            revision: revision.id.clone(),
            reason,
            container: container.map(|container| container.name.clone()),
        }
    }

    /// The failure of a revision that crashes in a loop, cannot be started, or does not become healthy.
    fn failure(&self, revision: &Revision, serving: &[&Container], has_all: bool) -> Option<Action> {
        let is_late = |container: &&&Container| match container.state {
            State::Running { since } => {
                !container.is_healthy() && self.now.saturating_sub(since) >= START_LIMIT
            }
            _ => false,
        };
        if let Some(late) = serving.iter().find(is_late) {
            let reason = format!("the server did not become healthy within {} s", START_LIMIT.as_secs());
            return Some(self.failed(revision, reason, Some(late)));
        }
        if revision.attempts < MAX_ATTEMPTS {
            return None;
        }
        let exited = serving.iter().find_map(|container| match container.state {
            State::Exited { code, .. } => Some((container, code)),
            _ => None,
        });
        if let Some((container, code)) = exited {
            let reason = format!("the server exited {} times, at last with code {code}", MAX_ATTEMPTS + 1);
            return Some(self.failed(revision, reason, Some(container)));
        }
        let is_running = |container: &&Container| matches!(container.state, State::Running { .. });
        if has_all && serving.iter().all(is_running) {
            return None;
        }
        let reason = revision.last_error.clone();
        Some(self.failed(revision, reason.unwrap_or_else(|| "it could not be started".to_owned()), None))
    }

    /// Whether a new attempt may be made.
    fn is_due(&self, revision: &Revision) -> bool {
        let last = self.observed.attempted.get(&revision.id);
        last.is_none_or(|last| self.now.saturating_sub(*last) >= backoff(revision.attempts))
    }

    /// The containers of a revision that are to go on, by number of the replica.
    fn serving(&self, revision: &Revision) -> Vec<&'a Container> {
        let of_revision = || self.containers.iter().copied().filter(|it| it.revision == revision.id);
        // One at a time: a hung server may take its whole grace to stop.
        let replaces_hung =
            revision.phase == Phase::Deployed && of_revision().all(|container| container.draining.is_none());
        let is_leaving = |container: &Container| {
            container.draining.is_some()
                || container.state == State::Broken
                || replaces_hung && self.is_hung(container)
        };
        of_revision().filter(|container| !is_leaving(container)).collect()
    }

    fn is_hung(&self, container: &Container) -> bool {
        match (container.state, container.health) {
            (State::Running { since }, Health::Failing { since: failing, .. }) => {
                self.now.saturating_sub(since) >= START_LIMIT && self.now.saturating_sub(failing) >= HUNG
            }
            _ => false,
        }
    }

    /// Whether a deployment may be stopped until its next request.
    fn is_idle(&self, active: &Revision) -> bool {
        let hosts = [&self.deployment.id, &active.id];
        let mut used: Vec<Duration> =
            hosts.into_iter().filter_map(|id| self.observed.requested.get(id).copied()).collect();
        for container in self.serving(active) {
            if container.open > 0 {
                return false;
            }
            if let State::Running { since } = container.state {
                used.push(since);
            }
        }
        let is_recent = used.into_iter().any(|used| self.now.saturating_sub(used) < IDLE);
        self.deployment.scale.min == 0 && !is_recent
    }

    /// Keeps this number of containers of a revision running, and probes them.
    fn run(&mut self, revision: &'a Revision, count: usize) {
        let serving = self.serving(revision);
        let is_due = self.is_due(revision);
        for container in serving.iter().take(count) {
            match container.state {
                State::Created if is_due => self.start(revision, container, revision.attempts),
                State::Exited { ran, .. } if ran >= STABLE => self.start(revision, container, 1),
                State::Exited { .. } if is_due => {
                    self.start(revision, container, revision.attempts.saturating_add(1));
                }
                State::Running { .. } if self.is_probe_due(container.health) => {
                    self.actions.push(Action::Probe { container: container.name.clone() });
                }
                _ => {}
            }
        }
        let kept: Vec<&str> = serving.iter().take(count).map(|container| container.name.as_str()).collect();
        self.retire_all(|it| it.revision == revision.id && !kept.contains(&it.name.as_str()));
        let missing = count.saturating_sub(serving.len());
        if is_due && missing > 0 && revision.image.is_none() {
            self.obtain(revision);
        } else if is_due {
            let taken = |replica| {
                self.containers.iter().any(|it| it.revision == revision.id && it.replica == replica)
            };
            let free: Vec<u32> = (0..).filter(|replica| !taken(*replica)).take(missing).collect();
            self.actions.extend(free.into_iter().map(|replica| Action::Create {
                deployment: self.deployment.id.clone(),
                revision: revision.id.clone(),
                replica,
            }));
        }
    }

    fn start(&mut self, revision: &Revision, container: &Container, attempts: u32) {
        self.actions.push(Action::Start {
            deployment: self.deployment.id.clone(),
            revision: revision.id.clone(),
            container: container.name.clone(),
            attempts,
        });
    }

    fn is_probe_due(&self, health: Health) -> bool {
        match health {
            Health::Unknown => true,
            Health::Healthy { at } => self.now.saturating_sub(at) >= PROBE,
            Health::Failing { at, .. } => self.now.saturating_sub(at) >= STARTING_PROBE,
        }
    }

    fn retire_all(&mut self, mut is_over: impl FnMut(&Container) -> bool) {
        for container in self.containers.iter().filter(|container| is_over(container)) {
            self.actions.extend(retire(container, self.deployment.grace, self.now));
        }
    }

    /// Removes the images of old revisions, but for those that run, are being deployed, or are deployed again.
    fn remove_images(&mut self) {
        let deployment = self.deployment;
        let is_open = |revision: &&Revision| revision.phase.is_waiting() || revision.phase.is_current();
        let with_image = deployment.revisions.iter().rev().filter(|revision| revision.image.is_some());
        for revision in with_image.skip(KEPT_IMAGES).filter(|revision| !is_open(revision)) {
            let runs = deployment.active.as_ref() == Some(&revision.id)
                || self.containers.iter().any(|container| container.revision == revision.id);
            let mut open = deployment.revisions.iter().filter(is_open);
            let is_source = open.any(
                |it| matches!(&it.source, Source::Kept(image) if Some(image) == revision.image.as_ref()),
            );
            if !runs && !is_source {
                self.actions.extend(self.removal(revision));
            }
        }
    }

    fn removal(&self, revision: &Revision) -> Option<Action> {
        let image = revision.image.clone()?;
        Some(Action::RemoveImage {
            deployment: self.deployment.id.clone(),
            revision: revision.id.clone(),
            image,
        })
    }
}
