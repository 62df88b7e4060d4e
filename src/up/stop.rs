//! Stopping in order: a service before those that it depends on.

use std::time::Duration;

use futures_util::future::join_all;

use super::labels;
use crate::engine::{Container, Engine, Error, State};
use crate::live::{Change, Reporter};

/// Grace period of a container.
pub const GRACE: Duration = Duration::from_secs(5);

/// The containers in the order in which they are stopped, in groups that are stopped at once.
pub(super) fn waves(containers: &[Container]) -> Vec<Vec<&Container>> {
    let mut left: Vec<&Container> = containers.iter().collect();
    let mut waves = Vec::new();
    while !left.is_empty() {
        let is_needed = |one: &&Container| {
            let name = service(one);
            left.iter().any(|other| other.id != one.id && needs(other).any(|needed| needed == name))
        };
        let (later, mut now): (Vec<_>, Vec<_>) = left.iter().partition(|one| is_needed(one));
        if now.is_empty() {
            // They depend on one another in a cycle.
            now.clone_from(&left);
            left.clear();
        } else {
            left = later;
        }
        waves.push(now);
    }
    waves
}

/// Stops those that run, and reports each service.
pub(super) async fn stop(
    engine: &Engine,
    containers: &[Container],
    reporter: &mut dyn Reporter,
) -> Result<(), Error> {
    let running: Vec<Container> = containers.iter().filter(|it| is_running(it)).cloned().collect();
    for wave in waves(&running) {
        let all = join_all(wave.iter().map(|container| engine.stop(&container.id, GRACE))).await;
        for (container, done) in wave.iter().zip(all) {
            done?;
            reporter.service(service(container), Change::Stopped);
        }
    }
    Ok(())
}

/// Whether a container has to be stopped.
pub(super) fn is_running(container: &Container) -> bool {
    matches!(container.state, State::Running(_) | State::Paused)
}

pub(super) fn service(container: &Container) -> &str {
    container.labels.get(labels::SERVICE).map_or("", String::as_str)
}

fn needs(container: &Container) -> impl Iterator<Item = &str> {
    let after = container.labels.get(labels::AFTER).map_or("", String::as_str);
    after.split(',').filter_map(|one| one.split(':').next()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(name: &str, after: &str) -> Container {
        let labels = [(labels::SERVICE, name), (labels::AFTER, after)];
        let labels = labels.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect();
        Container {
            id: name.to_owned(),
            name: name.to_owned(),
            labels,
            state: State::Created,
            ports: Vec::new(),
        }
    }

    fn order(containers: &[Container]) -> Vec<Vec<&str>> {
        waves(containers).iter().map(|wave| wave.iter().map(|it| it.id.as_str()).collect()).collect()
    }

    #[test]
    fn a_service_is_stopped_before_its_dependencies() {
        let all = [
            container("redis", ""),
            container("api", "redis:service_healthy:false,postgres:service_healthy:false"),
            container("postgres", ""),
            container("page", "api:service_healthy:false"),
        ];
        assert_eq!(order(&all), [vec!["page"], vec!["api"], vec!["redis", "postgres"]]);
    }

    #[test]
    fn a_cycle_is_stopped_at_once() {
        let all = [container("a", "b:service_started:false"), container("b", "a:service_started:false")];
        assert_eq!(order(&all), [vec!["a", "b"]]);
    }
}
