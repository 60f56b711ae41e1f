//! Plain processes through `Launch`, with the system's own programs.

use std::time::{Duration, Instant};

use mlem_kernel::{Death, Launch, Limits, Network};

fn shell(script: &str) -> Launch {
    Launch::new("/bin/sh").args(["-c", script])
}

const LIMIT: usize = 1 << 20;

#[test]
fn output_and_exit_code_come_back() {
    let done = shell("echo out; echo err >&2; exit 7").run(None, LIMIT).unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "out\n");
    assert_eq!(String::from_utf8_lossy(&done.stderr), "err\n");
    assert_eq!(done.exit.death, Death::Exit(7));
}

#[test]
fn output_is_bounded() {
    let done = shell("head -c 5000000 /dev/zero").run(None, 1000).unwrap();
    assert_eq!(done.stdout.len(), 1000);
    assert_eq!(done.dropped_bytes, 4_999_000);
}

#[test]
fn the_environment_is_made_from_the_allow_list() {
    let done = shell("env").env("MY_OWN", "1").run(None, LIMIT).unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_once('=')).map(|pair| pair.0).collect();
    assert!(names.contains(&"PATH") && names.contains(&"HOME") && names.contains(&"MY_OWN"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
    assert!(!text.contains(&format!("HOME={}\n", std::env::var("HOME").unwrap())), "{text}");
}

#[test]
fn only_loopback_is_there_by_default() {
    let done = shell("tail -n +3 /proc/net/dev | cut -d: -f1").run(None, LIMIT).unwrap();
    // util-linux's own tool tells whether this system lets us make such namespaces.
    let allowed = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "true"])
        .status()
        .is_ok_and(|status| status.success());
    assert_eq!(done.confinement.network_isolated, allowed, "{:?}", done.confinement);
    if allowed {
        assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "lo");
        assert_eq!(done.confinement.missing, Vec::<String>::new());
    } else {
        assert!(done.confinement.missing[0].contains("network"), "{:?}", done.confinement);
    }
    let open = shell("true").network(Network::Host).run(None, LIMIT).unwrap();
    assert!(!open.confinement.network_isolated);
}

#[test]
fn it_runs_as_the_same_user_and_reads_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "mine").unwrap();
    let done = shell("id -u; cat file").working_dir(folder.path()).run(None, LIMIT).unwrap();
    let outside = std::process::Command::new("id").arg("-u").output().unwrap();
    let expected = format!("{}mine", String::from_utf8_lossy(&outside.stdout));
    assert_eq!(String::from_utf8_lossy(&done.stdout), expected);
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_parent_takes_it_along() {
    use std::io::{BufRead, BufReader};
    // What a killed process could not tidy up goes with this folder.
    let temporary = tempfile::tempdir().unwrap();
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .env("TMPDIR", temporary.path())
        .args(["--ignored", "--exact", "parent_to_be_killed", "--nocapture"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pid = BufReader::new(parent.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.split_once("started ").map(|(_, pid)| pid.trim().to_owned()))
        .unwrap();
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert!(gone(&pid), "process {pid} is still there");
}

#[test]
#[ignore = "the test above runs it in a process of its own"]
fn parent_to_be_killed() {
    let process = shell("sleep 300").spawn().unwrap();
    println!("started {}", process.id());
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_deadline_ends_it() {
    let start = Instant::now();
    let done = shell("sleep 30").run(Some(Duration::from_millis(100)), LIMIT).unwrap();
    assert!(done.timed_out);
    assert_eq!(done.exit.death, Death::Signal(9));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn children_end_with_it_even_in_another_session() {
    let done = shell("sleep 300 & echo $!; setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $!")
        .run(None, LIMIT)
        .unwrap();
    let pids = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        assert!(gone(pid), "process {pid} is still there");
    }
}

/// Whether a process is dead; an orphan waits for init to collect it, which takes a moment.
fn gone(pid: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            Err(_) => return true,
            Ok(stat) if stat.contains(") Z ") => return true,
            Ok(_) if Instant::now() > deadline => return false,
            Ok(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

#[test]
fn a_dropped_process_is_dead() {
    let process = shell("sleep 300 & wait").spawn().unwrap();
    let pid = process.id();
    drop(process);
    assert!(gone(&pid.to_string()));
}

#[test]
fn limits_hold() {
    let limits = Limits { file_bytes: Some(1000), ..Limits::NONE };
    let done = shell("head -c 5000 /dev/zero > \"$TMPDIR/f\"; wc -c < \"$TMPDIR/f\"")
        .limits(limits)
        .run(None, LIMIT)
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "1000");
    assert_eq!(done.confinement.limits.unwrap().file_bytes, Some(1000));
}

#[test]
fn a_missing_program_is_an_error() {
    let error = Launch::new("/no/such/program").spawn().unwrap_err();
    assert!(error.to_string().contains("/no/such/program"), "{error}");
}

#[test]
fn a_missing_working_folder_is_an_error_and_not_a_hang() {
    assert!(shell("true").working_dir("/no/such/folder").spawn().is_err());
}

#[test]
fn it_works_from_a_thread_that_ends() {
    let process = std::thread::spawn(|| shell("sleep 0.3; exit 5").spawn().unwrap()).join().unwrap();
    assert_eq!(process.wait().death, Death::Exit(5));
}
