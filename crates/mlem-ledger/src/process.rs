//! Is the process that owns a run still there?

use std::process::Command;

/// What is known about the process that wrote a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// The process is running.
    Alive,
    /// The process is gone (or its number belongs to another process now).
    Dead,
    /// It ran on another host or in another process namespace; it cannot be seen from here.
    Unknown,
}

/// One process, distinguishable from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Host name, and on Linux the process namespace: process numbers mean nothing across either.
    pub(crate) host: String,
    pub(crate) pid: u32,
    /// Opaque; compared for equality only. Empty where the system does not tell.
    pub(crate) start: String,
}

impl Owner {
    pub(crate) fn current() -> Owner {
        let pid = std::process::id();
        Owner { host: host(), pid, start: start_of(pid).unwrap_or_default() }
    }

    pub(crate) fn liveness(&self, here: &Owner) -> Liveness {
        if self.host != here.host || self.start.is_empty() {
            return Liveness::Unknown;
        }
        match start_of(self.pid) {
            Some(start) if start == self.start => Liveness::Alive,
            _ => Liveness::Dead,
        }
    }
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| said_by("uname", &["-n"]))
        .unwrap_or_default();
    match std::fs::read_link("/proc/self/ns/pid") {
        Ok(namespace) => format!("{} {}", name.trim(), namespace.display()),
        Err(_) => name.trim().to_owned(),
    }
}

/// When the process started, in a form that also differs between boots. `None`: no such process,
/// or only its unreaped remains (a zombie).
fn start_of(pid: u32) -> Option<String> {
    if let Ok(boot) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // proc_pid_stat(5): the name in parentheses may itself hold spaces and parentheses; after
        // its last ')' come state (field 3) and, nineteen fields on, starttime (field 22).
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        if matches!(state, "Z" | "X" | "x") {
            return None;
        }
        let ticks = fields.nth(18)?;
        return Some(format!("{} {ticks}", boot.trim()));
    }
    // POSIX ps has no start time, but those of macOS and the BSDs know `lstart`.
    said_by("ps", &["-o", "lstart=", "-p", &pid.to_string()])
}

fn said_by(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn owner_of(pid: u32) -> Owner {
        Owner { host: host(), pid, start: start_of(pid).unwrap() }
    }

    #[test]
    fn this_process_is_alive() {
        let here = Owner::current();
        assert_eq!(here.liveness(&here), Liveness::Alive);
    }

    #[test]
    fn a_killed_child_is_dead_before_and_after_it_is_reaped() {
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let owner = owner_of(child.id());
        let here = Owner::current();
        assert_eq!(owner.liveness(&here), Liveness::Alive);
        child.kill().unwrap();
        // Unreaped: wait until the kernel has turned it into a zombie.
        while start_of(child.id()).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(owner.liveness(&here), Liveness::Dead);
        child.wait().unwrap();
        assert_eq!(owner.liveness(&here), Liveness::Dead);
    }

    #[test]
    fn a_reused_number_is_another_process() {
        let mut other = Owner::current();
        other.start.push('0');
        assert_eq!(other.liveness(&Owner::current()), Liveness::Dead);
    }

    #[test]
    fn another_host_cannot_be_judged() {
        let mut other = Owner::current();
        other.host = "elsewhere pid:[1]".to_owned();
        assert_eq!(other.liveness(&Owner::current()), Liveness::Unknown);
    }
}
