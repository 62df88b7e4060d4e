//! Free disk space.

use std::path::Path;

use fs4::available_space;

use super::check::{Check, Group, Status, Subject, Task};

const MEGABYTE: u64 = 1_000_000;

/// Free space, in bytes, below which a disk is degraded, and below which it is too full.
struct Limits {
    degraded: u64,
    missing: u64,
}

pub(super) static PROJECT: Subject =
    Subject { id: "disk", name: "Disk space", group: Group::Machine, needed_by: &[Task::Dev] };

/// The server's packages take about 500 MB.
const PROJECT_LIMITS: Limits = Limits { degraded: 2000 * MEGABYTE, missing: 500 * MEGABYTE };

pub(super) static ENGINE: Subject = Subject {
    id: "engine-disk",
    name: "Disk space",
    group: Group::Containers,
    needed_by: &[Task::Build, Task::Up, Task::Deploy],
};

/// The image of a server takes about 1 GB.
const ENGINE_LIMITS: Limits = Limits { degraded: 5000 * MEGABYTE, missing: 1000 * MEGABYTE };

/// The disk of the project, which has to be writable.
pub(super) fn project(directory: &Path) -> Check {
    let help = "free some space there; `uv cache clean` and `npm cache clean --force` empty caches";
    let unknown = |_| PROJECT.degraded("cannot be read", "check the file system");
    let check = available_space(directory)
        .map_or_else(unknown, |free| judge(&PROJECT, &PROJECT_LIMITS, free, directory, help));
    match tempfile::tempfile_in(directory) {
        // A full disk is not writable either.
        Err(error) if check.status != Status::Missing => {
            let reason = crate::project::reason(&error);
            let found = format!("cannot write to `{}`: {reason}", directory.display());
            PROJECT.missing(found, "make the directory writable")
        }
        _ => check,
    }
}

/// The disk of the engine's images, if it can be seen from here.
pub(super) fn engine(data: &Path) -> Option<Check> {
    let help = "free some space there; `docker system prune` removes unused images and containers";
    Some(judge(&ENGINE, &ENGINE_LIMITS, available_space(data).ok()?, data, help))
}

fn judge(subject: &Subject, limits: &Limits, free: u64, path: &Path, help: &str) -> Check {
    let found = format!("{} free at `{}`", size(free), path.display());
    match free {
        free if free < limits.missing => {
            subject.missing(format!("{found}; {} are needed", size(limits.missing)), help)
        }
        free if free < limits.degraded => {
            subject.degraded(format!("{found}; {} are recommended", size(limits.degraded)), help)
        }
        _ => subject.fine(found),
    }
}

fn size(bytes: u64) -> String {
    match bytes / MEGABYTE {
        megabytes if megabytes >= 1000 => format!("{}.{} GB", megabytes / 1000, megabytes % 1000 / 100),
        megabytes => format!("{megabytes} MB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disks_are_found() {
        let judged = |free| judge(&PROJECT, &PROJECT_LIMITS, free, Path::new("/x"), "");
        for (free, status, found) in [
            (0, Status::Missing, "0 MB free at `/x`; 500 MB are needed"),
            (499_999_999, Status::Missing, "499 MB free at `/x`; 500 MB are needed"),
            (500_000_000, Status::Degraded, "500 MB free at `/x`; 2.0 GB are recommended"),
            (2_000_000_000, Status::Fine, "2.0 GB free at `/x`"),
            (36_790_000_000, Status::Fine, "36.7 GB free at `/x`"),
        ] {
            let check = judged(free);
            assert_eq!((check.status, check.found.as_str()), (status, found));
        }
    }
}
