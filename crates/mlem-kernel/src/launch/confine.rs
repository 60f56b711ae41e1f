//! What happens between fork and exec: session, namespaces, limits, and the report of what held.

#![expect(unsafe_code, reason = "the calls between fork and exec have no safe form")]

use std::io::{self, PipeReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{Confinement, Limits, Network};

/// Steps whose result the child reports, in the order in which they are taken.
#[derive(Clone, Copy)]
enum Step {
    Isolate,
    Loopback,
    Memory,
    Cpu,
    File,
    Processes,
    Privileges,
    ParentDeath,
}

const STEPS: usize = 8;
/// A step that was not taken.
const UNTRIED: i32 = -1;

/// Results of the steps, written by the child into a pipe before exec: 0 or an errno each.
pub(crate) struct Report {
    pipe: PipeReader,
    limits: Limits,
    network: Network,
}

/// What [`Report::finish`] found.
pub(crate) struct Outcome {
    pub(crate) confinement: Confinement,
    /// Set when the child gave up because the network could not be isolated.
    pub(crate) network_refusal: Option<String>,
}

/// Adds the steps of confinement to `command`.
pub(super) fn prepare(command: &mut Command, limits: Limits, network: Network) -> io::Result<Report> {
    let (pipe, writer) = io::pipe()?;
    let plan = Plan::new(limits, network);
    let hook = move || {
        let mut results = [UNTRIED; STEPS];
        let outcome = plan.apply(&mut results);
        // SAFETY: `results` is plain memory of this size and the descriptor is owned by `writer`,
        // which the closure holds. A report of 32 bytes always fits into an empty pipe.
        unsafe {
            libc::write(writer.as_raw_fd(), results.as_ptr().cast(), size_of_val(&results));
        }
        outcome
    };
    // SAFETY: the closure runs in the forked child and only makes async-signal-safe system calls on
    // memory prepared before the fork.
    unsafe {
        command.pre_exec(hook);
    }
    Ok(Report { pipe, limits, network })
}

impl Report {
    /// Reads the child's report; to be called after the spawn returned and the command was dropped.
    pub(crate) fn finish(mut self) -> Outcome {
        let mut bytes = [0u8; STEPS * 4];
        let mut results = [UNTRIED; STEPS];
        if self.pipe.read_exact(&mut bytes).is_ok() {
            for (result, chunk) in results.iter_mut().zip(bytes.chunks_exact(4)) {
                *result = i32::from_ne_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
            }
        }
        let result = |step: Step| results[step as usize];
        let isolated = self.network == Network::None && result(Step::Isolate) == 0;
        let network_refusal = (result(Step::Isolate) > 0).then(|| {
            format!(
                "the network is not shut off: no network namespace ({})",
                io::Error::from_raw_os_error(result(Step::Isolate))
            )
        });
        let mut missing = Vec::new();
        if self.network == Network::None && !isolated && !cfg!(target_os = "linux") {
            missing.push("the network is not shut off: this system has no network namespaces".to_owned());
        }
        let mut note = |step: Step, what: &str| {
            if result(step) > 0 {
                let why = io::Error::from_raw_os_error(result(step));
                missing.push(format!("{what} ({why})"));
            }
        };
        note(Step::Loopback, "the loopback interface is down");
        note(Step::Privileges, "set-user-id programs may gain privileges");
        note(Step::ParentDeath, "the process does not die with this one");
        let mut limits = Limits::NONE;
        let mut keep = |step: Step, wanted: Option<u64>, kept: &mut Option<u64>, what: &str| {
            let Some(value) = wanted else { return };
            match result(step) {
                0 => *kept = Some(value),
                UNTRIED => missing.push(format!("no limit on {what}")),
                errno => {
                    missing.push(format!("no limit on {what} ({})", io::Error::from_raw_os_error(errno)))
                }
            }
        };
        keep(Step::Memory, self.limits.memory_bytes, &mut limits.memory_bytes, "memory");
        keep(Step::Cpu, self.limits.cpu_seconds, &mut limits.cpu_seconds, "processor time");
        keep(Step::File, self.limits.file_bytes, &mut limits.file_bytes, "file size");
        keep(Step::Processes, self.limits.processes, &mut limits.processes, "processes");
        Outcome {
            confinement: Confinement { network_isolated: isolated, limits: Some(limits), missing },
            network_refusal,
        }
    }
}

/// Everything the child needs, made before the fork.
struct Plan {
    limits: Limits,
    #[cfg(target_os = "linux")]
    isolate: bool,
    #[cfg(target_os = "linux")]
    identity: linux::Identity,
    #[cfg(target_os = "linux")]
    parent: libc::pid_t,
}

impl Plan {
    fn new(limits: Limits, network: Network) -> Plan {
        #[cfg(not(target_os = "linux"))]
        let _ = network;
        Plan {
            limits,
            #[cfg(target_os = "linux")]
            isolate: network == Network::None,
            #[cfg(target_os = "linux")]
            identity: linux::Identity::of_this_process(),
            #[cfg(target_os = "linux")]
            // SAFETY: getpid has no preconditions.
            parent: unsafe { libc::getpid() },
        }
    }

    /// Confines the calling process. Only what makes it pointless to go on is an error.
    fn apply(&self, results: &mut [i32; STEPS]) -> io::Result<()> {
        // A session of its own: no controlling terminal, no signal meant for our group.
        // SAFETY: setsid has no preconditions; a freshly forked child is never a group leader.
        if unsafe { libc::setsid() } < 0 {
            return Err(io::Error::last_os_error());
        }
        #[cfg(target_os = "linux")]
        if self.isolate {
            results[Step::Isolate as usize] = linux::isolate(&self.identity);
            if results[Step::Isolate as usize] != 0 {
                return Err(io::Error::from_raw_os_error(results[Step::Isolate as usize]));
            }
            results[Step::Loopback as usize] = linux::loopback_up();
        }
        self.limit(results);
        #[cfg(target_os = "linux")]
        {
            results[Step::Privileges as usize] = linux::no_new_privileges();
            linux::close_inherited();
            // Last: a change of credentials, as in a new user namespace, clears the request.
            results[Step::ParentDeath as usize] = linux::die_with(self.parent)?;
        }
        Ok(())
    }

    fn limit(&self, results: &mut [i32; STEPS]) {
        let _ = set_limit(libc::RLIMIT_CORE, 0);
        if let Some(bytes) = self.limits.memory_bytes {
            results[Step::Memory as usize] = set_limit(libc::RLIMIT_DATA, bytes);
        }
        if let Some(seconds) = self.limits.cpu_seconds {
            results[Step::Cpu as usize] = set_limit(libc::RLIMIT_CPU, seconds);
        }
        if let Some(bytes) = self.limits.file_bytes {
            results[Step::File as usize] = set_limit(libc::RLIMIT_FSIZE, bytes);
        }
        // Outside a user namespace of its own the count would include all else that the user runs.
        if let Some(count) = self.limits.processes
            && results[Step::Isolate as usize] == 0
        {
            results[Step::Processes as usize] = set_limit(libc::RLIMIT_NPROC, count);
        }
    }
}

#[cfg(target_os = "linux")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_os = "linux"))]
type Resource = libc::c_int;

/// Lowers a limit (never raises one) and returns 0 or the errno.
fn set_limit(resource: Resource, value: u64) -> i32 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives both calls.
    unsafe {
        if libc::getrlimit(resource, &mut limit) != 0 {
            return errno();
        }
        limit.rlim_max = limit.rlim_max.min(value as libc::rlim_t);
        limit.rlim_cur = limit.rlim_max;
        if libc::setrlimit(resource, &limit) != 0 {
            return errno();
        }
    }
    0
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Nine tenths of the memory that this process may use, in bytes, where the system tells.
pub(super) fn default_memory_limit() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024;
    let allowed = crate::accounting::cgroup_memory_limit().map_or(total, |limit| limit.min(total));
    Some(allowed / 10 * 9)
}

#[cfg(target_os = "linux")]
mod linux {
    use super::errno;
    use std::ffi::CStr;
    use std::io;

    /// How the user and group numbers of the new user namespace map to ours.
    pub(super) struct Identity {
        uid_map: String,
        gid_map: String,
        /// Whether the map needs more than our own number, which only a privileged process outside
        /// of the namespace may write.
        privileged: bool,
    }

    impl Identity {
        /// Root keeps every number, so that it can still read everybody's files, and loses its power
        /// over the host; anybody else keeps only the own number, which is all the system allows.
        pub(super) fn of_this_process() -> Identity {
            // SAFETY: neither call has preconditions.
            let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
            if uid == 0 {
                Identity {
                    uid_map: identity_map("/proc/self/uid_map"),
                    gid_map: identity_map("/proc/self/gid_map"),
                    privileged: true,
                }
            } else {
                Identity {
                    uid_map: format!("{uid} {uid} 1\n"),
                    gid_map: format!("{gid} {gid} 1\n"),
                    privileged: false,
                }
            }
        }
    }

    /// The map that gives each number known here to itself (`user_namespaces(7)`).
    fn identity_map(path: &str) -> String {
        let known = std::fs::read_to_string(path).unwrap_or_default();
        let mut map = String::new();
        for line in known.lines() {
            let mut fields = line.split_whitespace();
            if let (Some(inside), Some(_), Some(count)) = (fields.next(), fields.next(), fields.next()) {
                map.push_str(&format!("{inside} {inside} {count}\n"));
            }
        }
        map
    }

    /// Moves the calling process into a user and a network namespace of its own. 0 or an errno.
    pub(super) fn isolate(identity: &Identity) -> i32 {
        const FLAGS: libc::c_int = libc::CLONE_NEWUSER | libc::CLONE_NEWNET;
        if identity.privileged {
            return isolate_with_helper(identity, FLAGS);
        }
        // SAFETY: unshare has no memory preconditions.
        if unsafe { libc::unshare(FLAGS) } != 0 {
            return errno();
        }
        // Without this the group map is refused (user_namespaces(7), "setgroups").
        let results = [
            write_file(c"/proc/self/setgroups", b"deny"),
            write_file(c"/proc/self/uid_map", identity.uid_map.as_bytes()),
            write_file(c"/proc/self/gid_map", identity.gid_map.as_bytes()),
        ];
        results.into_iter().find(|result| *result != 0).unwrap_or(0)
    }

    /// As [`isolate`], with a helper that stays outside and writes the maps.
    fn isolate_with_helper(identity: &Identity, flags: libc::c_int) -> i32 {
        let mut ends = [0 as libc::c_int; 2];
        // SAFETY: `ends` has room for two descriptors; the helper touches only memory made before
        // the fork and makes only async-signal-safe calls.
        unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
                return errno();
            }
            let child = libc::getpid();
            let helper = libc::fork();
            if helper < 0 {
                return errno();
            }
            if helper == 0 {
                libc::close(ends[1]);
                let mut go = 0u8;
                if libc::read(ends[0], (&raw mut go).cast(), 1) != 1 {
                    libc::_exit(libc::ECANCELED);
                }
                let mut path = [0u8; 48];
                let mut result =
                    write_file(proc_path(child, b"/uid_map", &mut path), identity.uid_map.as_bytes());
                if result == 0 {
                    result =
                        write_file(proc_path(child, b"/gid_map", &mut path), identity.gid_map.as_bytes());
                }
                libc::_exit(result);
            }
            libc::close(ends[0]);
            let failed = if libc::unshare(flags) == 0 { 0 } else { errno() };
            if failed == 0 {
                libc::write(ends[1], [1u8].as_ptr().cast(), 1);
            }
            libc::close(ends[1]);
            let mut status = 0;
            while libc::waitpid(helper, &mut status, 0) < 0 && errno() == libc::EINTR {}
            if failed != 0 {
                failed
            } else if libc::WIFEXITED(status) {
                libc::WEXITSTATUS(status)
            } else {
                libc::ECHILD
            }
        }
    }

    /// Writes `/proc/PID` and `end` into `buffer` without allocating.
    fn proc_path<'a>(pid: libc::pid_t, end: &[u8], buffer: &'a mut [u8; 48]) -> &'a CStr {
        let mut digits = [0u8; 12];
        let mut at = digits.len();
        let mut rest = pid.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        buffer.fill(0);
        let mut length = 0;
        for part in [b"/proc/".as_slice(), &digits[at..], end] {
            buffer[length..length + part.len()].copy_from_slice(part);
            length += part.len();
        }
        CStr::from_bytes_until_nul(buffer).unwrap_or(c"")
    }

    fn write_file(path: &CStr, bytes: &[u8]) -> i32 {
        // SAFETY: the path ends in a zero byte and the buffer is valid for its length.
        unsafe {
            let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if file < 0 {
                return errno();
            }
            let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
            let result = if written == bytes.len() as isize { 0 } else { errno() };
            libc::close(file);
            result
        }
    }

    /// Brings up the loopback interface of the new network namespace: many programs (Dask, Spark,
    /// Ray, `multiprocessing` managers) talk to themselves over it. 0 or an errno.
    pub(super) fn loopback_up() -> i32 {
        // SAFETY: an all-zero ifreq is valid; the socket is closed on every way out.
        unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            if socket < 0 {
                return errno();
            }
            let mut request: libc::ifreq = std::mem::zeroed();
            request.ifr_name[0] = b'l' as libc::c_char;
            request.ifr_name[1] = b'o' as libc::c_char;
            request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
            let result = if libc::ioctl(socket, libc::SIOCSIFFLAGS, &request) == 0 { 0 } else { errno() };
            libc::close(socket);
            result
        }
    }

    /// Keeps set-user-id programs from raising privileges. 0 or an errno.
    pub(super) fn no_new_privileges() -> i32 {
        // SAFETY: prctl with integer arguments.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } == 0 { 0 } else { errno() }
    }

    /// Marks every descriptor beyond the standard ones close-on-exec, also those that we inherited
    /// ourselves. Kernels before 5.11 lack the call; they keep what we were given.
    pub(super) fn close_inherited() {
        // SAFETY: close_range with this flag only sets a bit on descriptors.
        unsafe {
            libc::syscall(
                libc::SYS_close_range,
                3 as libc::c_uint,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            );
        }
    }

    /// Asks for SIGKILL when the thread that spawned us ends, which is when our parent ends: that
    /// thread waits for this process. The result is 0 or an errno; a parent already gone is an error.
    pub(super) fn die_with(parent: libc::pid_t) -> io::Result<i32> {
        // SAFETY: prctl with integer arguments; getppid has no preconditions.
        unsafe {
            let result =
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) == 0 { 0 } else { errno() };
            if libc::getppid() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(result)
        }
    }
}
