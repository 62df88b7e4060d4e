//! Rules of single decisions, and a simulated world that loses acts, crashes and is used at random.

mod world;

use std::collections::HashMap;
use std::time::Duration;

use super::*;
use crate::reconcile::state::{Load, Scale, TARGET};
use world::World;

const NOW: Duration = Duration::from_secs(100_000);

fn revision(number: u64, phase: Phase) -> Revision {
    let tag = format!("image:{number}");
    let image = (!phase.is_waiting()).then(|| tag.clone());
    let id = format!("r{number}");
    Revision { id, number, phase, source: Source::Build, tag, image, attempts: 0, last_error: None }
}

fn deployment(revisions: Vec<Revision>) -> Desired {
    let active = revisions.iter().rfind(|it| it.phase == Phase::Deployed).map(|it| it.id.clone());
    let scale = Scale { min: 1, max: 1 };
    let (id, name) = ("d".to_owned(), "agent".to_owned());
    let grace = Duration::from_secs(60);
    let tenant = "tenant".to_owned();
    Desired { id, tenant, name, hosts: Vec::new(), is_deleted: false, scale, grace, revisions, active }
}

fn container(revision: &str, replica: u32) -> Container {
    Container {
        name: format!("{revision}-{replica}"),
        deployment: "d".to_owned(),
        revision: revision.to_owned(),
        replica,
        state: State::Running { since: NOW },
        address: None,
        health: Health::Healthy { at: NOW },
        open: 0,
        draining: None,
    }
}

/// The observed state: all images of a deployment, and these containers.
fn observed(deployment: &Desired, containers: Vec<Container>) -> Observed {
    let images = deployment.revisions.iter().filter_map(|it| it.image.clone()).collect();
    Observed { containers, images, ..Observed::default() }
}

fn decided(deployment: &Desired, containers: Vec<Container>) -> Vec<Action> {
    decide(std::slice::from_ref(deployment), &observed(deployment, containers), NOW)
}

fn retired(container: &str) -> Action {
    Action::Drain { container: container.to_owned(), grace: Duration::from_secs(60) }
}

#[test]
fn converged_deployment_needs_nothing() {
    let deployment = deployment(vec![revision(1, Phase::Deployed)]);
    assert_eq!(decided(&deployment, vec![container("r1", 0)]), []);
}

#[test]
fn newest_waiting_revision_is_next_and_older_ones_are_skipped() {
    let phases = |actions: Vec<Action>| -> Vec<(String, Phase)> {
        let advanced = actions.into_iter().filter_map(|action| match action {
            Action::Advance { revision, to, .. } => Some((revision, to)),
            _ => None,
        });
        advanced.collect()
    };
    let waiting = [revision(2, Phase::Queued), revision(3, Phase::Creating)];
    let busy = [vec![revision(1, Phase::Building)], waiting.to_vec()].concat();
    let queued = phases(decided(&deployment(busy), Vec::new()));
    let expected = [("r3", Phase::Queued), ("r2", Phase::Skipped), ("r1", Phase::AwaitingDeploy)];
    assert_eq!(queued, expected.map(|(id, phase)| (id.to_owned(), phase)));

    // The newer one had begun, and the act that skips the older one was lost.
    let begun = vec![revision(1, Phase::Queued), revision(2, Phase::Deployed)];
    let skipped = phases(decided(&deployment(begun), vec![container("r2", 0)]));
    assert_eq!(skipped, [("r1".to_owned(), Phase::Skipped)]);

    let free = phases(decided(&deployment(waiting.to_vec()), Vec::new()));
    let expected = [("r3", Phase::AwaitingBuild), ("r2", Phase::Skipped)];
    assert_eq!(free, expected.map(|(id, phase)| (id.to_owned(), phase)));
}

#[test]
fn interrupted_build_is_built_again() {
    let building = Revision { image: None, ..revision(1, Phase::Building) };
    let build = Action::Build { deployment: "d".to_owned(), revision: "r1".to_owned() };
    assert_eq!(decided(&deployment(vec![building]), Vec::new()), [build]);
}

#[test]
fn traffic_is_switched_only_when_all_replicas_are_healthy() {
    let mut desired = deployment(vec![revision(1, Phase::Deployed), revision(2, Phase::Deploying)]);
    desired.scale = Scale { min: 2, max: 3 };
    let mut containers = vec![container("r1", 0), container("r1", 1), container("r2", 0), container("r2", 1)];
    containers[3].health = Health::Failing { at: NOW, since: NOW };
    assert_eq!(decided(&desired, containers.clone()), []);
    containers[3].health = Health::Healthy { at: NOW };
    let switch =
        Action::Switch { deployment: "d".to_owned(), from: Some("r1".to_owned()), to: "r2".to_owned() };
    assert_eq!(decided(&desired, containers), [switch]);
}

#[test]
fn replaced_revision_is_drained_then_stopped_then_removed() {
    let desired = deployment(vec![revision(1, Phase::Deployed), revision(2, Phase::Deployed)]);
    let old = |change: &dyn Fn(&mut Container)| {
        let mut old = container("r1", 0);
        change(&mut old);
        decided(&desired, vec![old, container("r2", 0)])
    };
    assert_eq!(old(&|_| ()), [retired("r1-0")]);
    let begun = NOW.checked_sub(Duration::from_secs(59));
    assert_eq!(old(&|it| (it.draining, it.open) = (begun, 1)), []);
    let stop = Action::Stop { container: "r1-0".to_owned(), grace: Duration::from_secs(70) };
    assert_eq!(old(&|it| it.draining = begun), std::slice::from_ref(&stop));
    let begun = NOW.checked_sub(Duration::from_secs(60));
    assert_eq!(old(&|it| (it.draining, it.open) = (begun, 1)), [stop]);
    let exited = State::Exited { code: 0, ran: Duration::ZERO };
    assert_eq!(old(&|it| it.state = exited), [Action::Remove { container: "r1-0".to_owned() }]);
}

#[test]
fn orphan_is_drained() {
    let orphan = Container { deployment: "gone".to_owned(), ..container("r9", 0) };
    let observed = Observed { containers: vec![orphan], ..Observed::default() };
    let drain = Action::Drain { container: "r9-0".to_owned(), grace: DEFAULT_GRACE };
    assert_eq!(decide(&[], &observed, NOW), [drain]);
}

#[test]
fn crash_loop_fails_a_new_revision_but_never_a_deployed_one() {
    let exited = State::Exited { code: 3, ran: Duration::from_secs(1) };
    let crashed = |phase: Phase, attempts: u32| {
        let desired = deployment(vec![Revision { attempts, ..revision(1, phase) }]);
        decided(&desired, vec![Container { state: exited, ..container("r1", 0) }])
    };
    let start = |attempts| Action::Start {
        deployment: "d".to_owned(),
        revision: "r1".to_owned(),
        container: "r1-0".to_owned(),
        attempts,
    };
    assert_eq!(crashed(Phase::Deploying, MAX_ATTEMPTS - 1), [start(MAX_ATTEMPTS)]);
    let reason = "the server exited 6 times, at last with code 3".to_owned();
    let deployment = "d".to_owned();
    let revision = "r1".to_owned();
    let container = Some("r1-0".to_owned());
    let fail = Action::Fail { deployment, revision, reason, container };
    assert_eq!(crashed(Phase::Deploying, MAX_ATTEMPTS), [fail]);
    assert_eq!(crashed(Phase::Deployed, 1000), [start(1001)]);
}

#[test]
fn restarts_back_off() {
    let desired = deployment(vec![Revision { attempts: 3, ..revision(1, Phase::Deployed) }]);
    let state = State::Exited { code: 1, ran: Duration::from_secs(1) };
    let after = |seconds: u64| {
        let observed = Observed {
            attempted: [("r1".to_owned(), NOW)].into(),
            ..observed(&desired, vec![Container { state, ..container("r1", 0) }])
        };
        decide(std::slice::from_ref(&desired), &observed, NOW + Duration::from_secs(seconds)).len()
    };
    assert_eq!((after(0), after(3), after(4)), (0, 0, 1));
    assert_eq!(backoff(u32::MAX), MAX_BACKOFF);
}

#[test]
fn server_that_does_not_become_healthy_fails_its_revision() {
    let desired = deployment(vec![revision(1, Phase::Deploying)]);
    let after = |age: Duration| {
        let state = State::Running { since: NOW - age };
        decided(&desired, vec![Container { state, health: Health::Unknown, ..container("r1", 0) }])
    };
    assert_eq!(after(START_LIMIT / 2), [Action::Probe { container: "r1-0".to_owned() }]);
    assert!(matches!(&after(START_LIMIT)[..], [Action::Fail { reason, .. }] if reason.contains("300 s")));
}

#[test]
fn hung_server_is_replaced() {
    let desired = deployment(vec![revision(1, Phase::Deployed)]);
    let mut hung = container("r1", 0);
    hung.state = State::Running { since: NOW - START_LIMIT };
    hung.health = Health::Failing { at: NOW, since: NOW - HUNG };
    let create = Action::Create { deployment: "d".to_owned(), revision: "r1".to_owned(), replica: 1 };
    assert_eq!(decided(&desired, vec![hung]), [retired("r1-0"), create]);
}

#[test]
fn idle_deployment_is_stopped_and_started_by_a_request() {
    let mut desired = deployment(vec![revision(1, Phase::Deployed)]);
    let mut idle = container("r1", 0);
    idle.state = State::Running { since: NOW - IDLE };
    assert_eq!(decided(&desired, vec![idle.clone()]), []);
    desired.scale.min = 0;
    assert_eq!(decided(&desired, vec![idle.clone()]), [retired("r1-0")]);
    idle.open = 1;
    assert_eq!(decided(&desired, vec![idle]), []);
    assert_eq!(decided(&desired, Vec::new()), []);
    let create = Action::Create { deployment: "d".to_owned(), revision: "r1".to_owned(), replica: 0 };
    // Both at the host of the deployment and at that of its active revision.
    for id in ["d", "r1"] {
        let requested = [(id.to_owned(), NOW)].into();
        let observed = Observed { requested, ..observed(&desired, Vec::new()) };
        assert_eq!(decide(std::slice::from_ref(&desired), &observed, NOW), std::slice::from_ref(&create));
    }
}

#[test]
fn images_of_old_revisions_are_removed_unless_they_are_needed() {
    let numbers = |actions: Vec<Action>| -> Vec<String> {
        let removed = actions.into_iter().filter_map(|action| match action {
            Action::RemoveImage { image, .. } => Some(image),
            _ => None,
        });
        removed.collect()
    };
    let mut desired = deployment((1..=9).map(|number| revision(number, Phase::Deployed)).collect());
    assert_eq!(numbers(decided(&desired, vec![container("r4", 0)])), ["image:3", "image:2", "image:1"]);
    desired.active = Some("r3".to_owned());
    let source = Source::Kept("image:2".to_owned());
    desired.revisions.push(Revision { source, image: None, ..revision(10, Phase::Creating) });
    assert_eq!(numbers(decided(&desired, Vec::new())), ["image:4", "image:1"]);
}

#[test]
fn image_that_was_removed_behind_the_back_is_made_again() {
    let mut desired = deployment(vec![revision(1, Phase::Deployed)]);
    let (deployment, revision_) = ("d".to_owned(), "r1".to_owned());
    let forget = Action::ForgetImage { deployment: deployment.clone(), revision: revision_.clone() };
    let without = Observed { containers: vec![container("r1", 0)], ..Observed::default() };
    assert_eq!(decide(std::slice::from_ref(&desired), &without, NOW), [forget]);
    desired.revisions[0].image = None;
    assert_eq!(decided(&desired, vec![container("r1", 0)]), []);
    // It is only needed to create a container.
    let build = Action::Build { deployment: deployment.clone(), revision: revision_.clone() };
    assert_eq!(decided(&desired, Vec::new()), [build]);

    desired.revisions[0].source = Source::Kept("image:0".to_owned());
    let forget = Action::ForgetKept { deployment, revision: revision_ };
    assert_eq!(decided(&desired, vec![container("r1", 0)]), [forget]);
}

#[test]
fn images_that_no_revision_has_are_removed() {
    let mut desired = deployment(vec![
        Revision { image: None, ..revision(1, Phase::Interrupted) },
        Revision { image: None, ..revision(2, Phase::Building) },
    ]);
    let tags = ["image:1", "image:2", "image:3"].map(str::to_owned);
    let observed = Observed { images: tags.into(), ..Observed::default() };
    let removed = |desired: &Desired| -> Vec<String> {
        let actions = decide(std::slice::from_ref(desired), &observed, NOW).into_iter();
        let removed = actions.filter_map(|action| match action {
            Action::RemoveUnknownImage { image } => Some(image),
            _ => None,
        });
        removed.collect()
    };
    // The second one is being built.
    assert_eq!(removed(&desired), ["image:1", "image:3"]);
    desired.is_deleted = true;
    assert_eq!(removed(&desired), ["image:1", "image:2", "image:3"]);
}

#[test]
fn replicas_follow_the_load_and_its_highest_of_the_window() {
    let mut desired = deployment(vec![revision(1, Phase::Deployed)]);
    desired.scale = Scale { min: 1, max: 3 };
    let acts = |count: u32, present: usize, highest: Option<usize>| {
        let containers = (0..count).map(|replica| container("r1", replica)).collect();
        let loads = [("d".to_owned(), Load { present, highest })].into();
        let observed = Observed { loads, ..observed(&desired, containers) };
        decide(std::slice::from_ref(&desired), &observed, NOW)
    };
    let create = |replica| Action::Create { deployment: "d".to_owned(), revision: "r1".to_owned(), replica };
    assert_eq!(acts(1, TARGET, None), []);
    assert_eq!(acts(1, TARGET + 1, None), [create(1)]);
    assert_eq!(acts(1, TARGET * 9, None), [create(1), create(2)]);
    // Replicas are stopped only when the whole window did not need them, and drained first.
    assert_eq!(acts(3, 0, None), []);
    assert_eq!(acts(3, 0, Some(TARGET * 3)), []);
    assert_eq!(acts(3, 0, Some(TARGET * 2)), [retired("r1-2")]);
    assert_eq!(acts(3, 0, Some(0)), [retired("r1-1"), retired("r1-2")]);
}

#[test]
fn new_revision_has_as_many_replicas_as_the_one_that_it_replaces() {
    let mut desired = deployment(vec![revision(1, Phase::Deployed), revision(2, Phase::Deploying)]);
    desired.scale = Scale { min: 1, max: 3 };
    let containers = vec![container("r1", 0), container("r1", 1), container("r2", 0)];
    let create = Action::Create { deployment: "d".to_owned(), revision: "r2".to_owned(), replica: 1 };
    assert_eq!(decided(&desired, containers), [create]);
}

#[test]
fn deleted_deployment_is_forgotten_when_nothing_is_left() {
    let mut desired = deployment(vec![revision(1, Phase::Deployed)]);
    desired.is_deleted = true;
    assert_eq!(decided(&desired, vec![container("r1", 0)]), [retired("r1-0")]);
    assert!(matches!(decided(&desired, Vec::new())[..], [Action::RemoveImage { .. }]));
    desired.revisions[0].image = None;
    assert_eq!(decided(&desired, Vec::new()), [Action::Forget { deployment: "d".to_owned() }]);
}

/// Times of a process that is gone may be in the future.
#[test]
fn times_in_the_future_neither_panic_nor_act() {
    let desired = deployment(vec![revision(1, Phase::Deployed), revision(2, Phase::Deploying)]);
    let observed = Observed {
        containers: vec![
            container("r1", 0),
            Container { draining: Some(NOW), open: 1, ..container("r3", 0) },
        ],
        images: ["image:1", "image:2"].map(str::to_owned).into(),
        loads: HashMap::new(),
        attempted: [("r2".to_owned(), NOW)].into(),
        requested: [("d".to_owned(), NOW)].into(),
    };
    let create = Action::Create { deployment: "d".to_owned(), revision: "r2".to_owned(), replica: 0 };
    assert_eq!(decide(&[desired], &observed, Duration::ZERO), [create]);
}

/// Faults and users at random; then they stop, and everything has to come to rest.
#[test]
fn every_world_converges() {
    for seed in 0..1000 {
        let mut world = World::new(seed);
        for _ in 0..150 {
            world.act_as_users();
            world.act_as_fate();
            world.tick();
        }
        world.settle();
    }
}
