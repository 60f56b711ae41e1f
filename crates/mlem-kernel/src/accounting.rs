//! What the operating system's accounting says about memory: cgroup limits and out-of-memory kills.

use std::path::{Path, PathBuf};

/// Counts of out-of-memory kills at one moment, to be compared with a later reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OomKills {
    /// Kills in our own control group.
    cgroup: Option<u64>,
    /// Kills on the whole machine (`oom_kill` in `/proc/vmstat`, Linux 4.13 and later).
    machine: Option<u64>,
}

impl OomKills {
    /// Reads the counters; absent ones stay unknown.
    pub(crate) fn read() -> OomKills {
        OomKills {
            cgroup: memory_group().and_then(|group| counter(&group.folder.join(group.events), "oom_kill")),
            machine: counter(Path::new("/proc/vmstat"), "oom_kill"),
        }
    }

    /// Whether the kernel killed for want of memory since `earlier`. The control group's own count
    /// decides where there is one.
    pub(crate) fn grew_since(&self, earlier: &OomKills) -> bool {
        let grew = |now: Option<u64>, then: Option<u64>| Some(now? > then?);
        grew(self.cgroup, earlier.cgroup).or_else(|| grew(self.machine, earlier.machine)).unwrap_or(false)
    }
}

/// The memory limit of our control group in bytes, if it has one.
pub(crate) fn cgroup_memory_limit() -> Option<u64> {
    let group = memory_group()?;
    let text = std::fs::read_to_string(group.folder.join(group.limit)).ok()?;
    // "max" in version 2; version 1 writes a huge number, which the caller's minimum discards.
    text.trim().parse().ok()
}

/// Our memory control group, version 1 or 2.
struct MemoryGroup {
    folder: PathBuf,
    events: &'static str,
    limit: &'static str,
}

fn memory_group() -> Option<MemoryGroup> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    parse_groups(&text).into_iter().find(|group| group.folder.join(group.limit).exists())
}

/// The candidates named by `/proc/self/cgroup`, whose lines are `ID:CONTROLLERS:PATH` (cgroups(7)).
fn parse_groups(text: &str) -> Vec<MemoryGroup> {
    let mut groups = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let path = path.trim_start_matches('/');
        if controllers.split(',').any(|name| name == "memory") {
            groups.push(MemoryGroup {
                folder: Path::new("/sys/fs/cgroup/memory").join(path),
                events: "memory.oom_control",
                limit: "memory.limit_in_bytes",
            });
        } else if controllers.is_empty() {
            groups.push(MemoryGroup {
                folder: Path::new("/sys/fs/cgroup").join(path),
                events: "memory.events",
                limit: "memory.max",
            });
        }
    }
    groups
}

/// The number after `name` in a file of `NAME NUMBER` lines.
fn counter(path: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_cgroup_versions_are_found() {
        let groups = parse_groups("4:cpu,memory:/a/b\n8:pids:/\n0::/user.slice\n");
        let folders: Vec<_> = groups.iter().map(|group| group.folder.to_str().unwrap()).collect();
        assert_eq!(folders, ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/user.slice"]);
    }

    #[test]
    fn the_own_group_decides_before_the_machine() {
        let then = OomKills { cgroup: Some(0), machine: Some(3) };
        assert!(!OomKills { cgroup: Some(0), machine: Some(4) }.grew_since(&then));
        assert!(OomKills { cgroup: Some(1), machine: Some(4) }.grew_since(&then));
        let then = OomKills { cgroup: None, machine: Some(3) };
        assert!(OomKills { cgroup: None, machine: Some(4) }.grew_since(&then));
        assert!(!OomKills::default().grew_since(&then));
    }
}
