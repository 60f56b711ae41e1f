//! Real kernels: what cells do to them and what comes back.
//!
//! `MLEM_TEST_PYTHON` names an interpreter with ipykernel; `MLEM_KERNEL_PYTHONS` (colon separated)
//! names more, for the test that runs on all of them.

#![expect(clippy::unwrap_used, reason = "helpers outside of the test functions fail like tests")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use mlem_kernel::{
    CellEvent, Death, ExecuteOptions, Execution, ExecutionStatus, Kernel, KernelError, KernelSpec, Limits,
    Transport,
};
use mlem_notebook::Output;

fn python() -> PathBuf {
    std::env::var_os("MLEM_TEST_PYTHON")
        .expect("set MLEM_TEST_PYTHON to a Python interpreter that has ipykernel")
        .into()
}

fn spec() -> (KernelSpec, tempfile::TempDir) {
    spec_of(python())
}

fn spec_of(python: PathBuf) -> (KernelSpec, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (KernelSpec::new(python, folder.path()), folder)
}

async fn kernel() -> (Kernel, tempfile::TempDir) {
    let (spec, folder) = spec();
    (Kernel::start(spec).await.unwrap(), folder)
}

async fn run(kernel: &mut Kernel, code: &str) -> Execution {
    kernel.execute(code, &ExecuteOptions::default()).await.unwrap()
}

fn within(milliseconds: u64) -> ExecuteOptions {
    ExecuteOptions {
        deadline: Some(Duration::from_millis(milliseconds)),
        interrupt_grace: Duration::from_secs(2),
        ..ExecuteOptions::default()
    }
}

fn stream(name: &str, text: &str) -> Output {
    Output::Stream { name: name.into(), text: text.into() }
}

fn stdout(execution: &Execution) -> String {
    execution
        .outputs
        .iter()
        .filter_map(|output| match output {
            Output::Stream { name, text } if name == "stdout" => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn ename(execution: &Execution) -> &str {
    execution.error().map_or("no error", |(ename, _, _)| ename)
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

#[tokio::test]
async fn output_streams_results_and_counts() {
    let (mut kernel, _folder) = kernel().await;
    assert_eq!(kernel.info().implementation, "ipython");
    assert_eq!(kernel.info().language_info["name"], "python");
    let done = run(
        &mut kernel,
        "import sys\nprint('a')\nprint('b', flush=True)\nprint('c', file=sys.stderr, flush=True)\n40 + 2",
    )
    .await;
    assert_eq!(done.status, ExecutionStatus::Ok);
    assert_eq!(done.execution_count, Some(1));
    assert_eq!(done.outputs[..2], [stream("stdout", "a\nb\n"), stream("stderr", "c\n")]);
    assert!(
        matches!(&done.outputs[2], Output::ExecuteResult { data, execution_count: Some(1), .. } if data["text/plain"] == "42")
    );
    assert!(done.seconds < 5.0 && done.finished >= done.started);
    assert_eq!(run(&mut kernel, "pass").await.execution_count, Some(2));
    assert!(kernel.peak_bytes().is_none_or(|bytes| bytes > 10 << 20));
    let report = kernel.shutdown().await;
    assert!(!report.forced, "{report:?}");
    assert_eq!(report.exit.death, Death::Exit(0));
    assert!(report.exit.peak_bytes > 10 << 20);
    assert_eq!(report.notes, Vec::<String>::new());
}

#[tokio::test]
async fn displays_updates_and_clears() {
    let (mut kernel, _folder) = kernel().await;
    let mut first = run(
        &mut kernel,
        "from IPython.display import display, clear_output, HTML\n\
         handle = display('old', display_id='d1')\n\
         display(HTML('<b>x</b>'))",
    )
    .await;
    assert!(
        matches!(&first.outputs[0], Output::DisplayData { data, display_id: Some(id), .. } if id == "d1" && data["text/plain"] == "'old'")
    );
    assert!(
        matches!(&first.outputs[1], Output::DisplayData { data, display_id: None, .. } if data["text/html"] == "<b>x</b>")
    );
    let second = run(&mut kernel, "handle.update('new')\nprint('x')").await;
    assert_eq!(second.outputs, [stream("stdout", "x\n")]);
    assert_eq!(second.updates.len(), 1);
    assert!(second.updates[0].apply(&mut first.outputs));
    assert!(matches!(&first.outputs[0], Output::DisplayData { data, .. } if data["text/plain"] == "'new'"));
    let cleared = run(&mut kernel, "print('a')\nclear_output()\nprint('b')").await;
    assert_eq!(cleared.outputs, [stream("stdout", "b\n")]);
    let waited = run(&mut kernel, "for i in range(3):\n    clear_output(wait=True)\n    print(i)").await;
    assert_eq!(waited.outputs, [stream("stdout", "2\n")]);
}

#[tokio::test]
async fn errors_exits_and_refused_input() {
    let (mut kernel, _folder) = kernel().await;
    let failed = run(&mut kernel, "print('before')\n1/0").await;
    assert_eq!(failed.status, ExecutionStatus::Error);
    assert_eq!(failed.outputs[0], stream("stdout", "before\n"));
    let (ename_, evalue, traceback) = failed.error().unwrap();
    assert_eq!((ename_, evalue), ("ZeroDivisionError", "division by zero"));
    assert!(traceback.len() > 1);
    // At once, while an ipykernel of old would still be dropping requests.
    assert_eq!(run(&mut kernel, "2").await.status, ExecutionStatus::Ok);
    let left = run(&mut kernel, "import sys; sys.exit(4)").await;
    assert_eq!((left.status, ename(&left)), (ExecutionStatus::Error, "SystemExit"));
    let asked = run(&mut kernel, "input('name? ')").await;
    assert_eq!((asked.status, ename(&asked)), (ExecutionStatus::Error, "StdinNotImplementedError"));
    let broken = run(&mut kernel, "def f(:").await;
    assert_eq!((broken.status, ename(&broken)), (ExecutionStatus::Error, "SyntaxError"));
    assert!(run(&mut kernel, "").await.outputs.is_empty());
}

#[tokio::test]
async fn quitting_in_a_cell_is_told() {
    let (mut kernel, _folder) = kernel().await;
    let done = run(&mut kernel, "exit()").await;
    assert!(done.exit_requested);
    assert_eq!(done.status, ExecutionStatus::Ok);
}

#[tokio::test]
async fn values_are_evaluated_quietly() {
    let (mut kernel, _folder) = kernel().await;
    run(&mut kernel, "x = [1, 'a']").await;
    let values = kernel.evaluate(&["x", "type(x).__name__", "nothing"]).await.unwrap();
    assert_eq!(values[0].as_deref(), Ok("[1, 'a']"));
    assert_eq!(values[1].as_deref(), Ok("'list'"));
    assert_eq!(values[2].as_ref().unwrap_err().ename, "NameError");
    assert_eq!(run(&mut kernel, "1").await.execution_count, Some(2));
}

#[tokio::test]
async fn events_come_while_the_cell_runs() {
    let (mut kernel, _folder) = kernel().await;
    let mut first_text = None;
    let clock = Instant::now();
    let done = kernel
        .execute_with(
            "import time\nprint('early', flush=True)\ntime.sleep(1)",
            &ExecuteOptions::default(),
            |event| {
                if let CellEvent::Stream { text, .. } = event {
                    first_text.get_or_insert((text.to_owned(), clock.elapsed()));
                }
            },
        )
        .await
        .unwrap();
    let (text, after) = first_text.unwrap();
    assert_eq!(text, "early\n");
    assert!(after.as_secs_f64() + 0.5 < done.seconds, "{after:?} of {}", done.seconds);
}

#[tokio::test]
async fn deaths_are_told_from_failures() {
    for (code, death) in [
        ("import os; os._exit(3)", Death::Exit(3)),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Death::Signal(9)),
        ("import os; os.abort()", Death::Signal(6)),
    ] {
        let (mut kernel, _folder) = kernel().await;
        run(&mut kernel, "print('alive')").await;
        let clock = Instant::now();
        let died = run(&mut kernel, code).await;
        assert_eq!(died.status, ExecutionStatus::KernelDied(death), "{code}");
        assert!(clock.elapsed() < Duration::from_secs(5));
        assert!(!kernel.is_alive());
        let error = kernel.execute("1", &ExecuteOptions::default()).await.unwrap_err();
        assert!(matches!(error, KernelError::NotRunning(known) if known == death), "{error}");
        kernel.restart().await.unwrap();
        assert_eq!(run(&mut kernel, "1").await.status, ExecutionStatus::Ok);
    }
}

#[tokio::test]
async fn the_memory_limit_is_an_error_in_python_and_a_death_in_native_code() {
    let (mut spec, _folder) = spec();
    spec.limits = Limits { memory_bytes: Some(1 << 30), ..Limits::default() };
    let mut kernel = Kernel::start(spec).await.unwrap();
    let hog = run(&mut kernel, "hog = []\nwhile True: hog.append(bytearray(50_000_000))").await;
    assert_eq!((hog.status, ename(&hog)), (ExecutionStatus::Error, "MemoryError"));
    let freed = run(&mut kernel, "del hog; 1").await;
    assert_eq!(freed.status, ExecutionStatus::Ok);
    let died = run(
        &mut kernel,
        "import os\nhog = []\ntry:\n    while True: hog.append(bytearray(1_000_000))\nexcept MemoryError:\n    os.abort()",
    )
    .await;
    let ExecutionStatus::KernelDied(Death::OutOfMemory { limit_bytes, peak_bytes, .. }) = died.status else {
        panic!("{died:?}");
    };
    assert_eq!(limit_bytes, Some(1 << 30));
    assert!(peak_bytes > 900 << 20);
}

#[tokio::test]
async fn a_loop_is_interrupted_and_the_kernel_goes_on() {
    let (mut kernel, _folder) = kernel().await;
    let ended = kernel.execute("x = 5\nprint('on')\nwhile True: pass", &within(500)).await.unwrap();
    assert_eq!((ended.status, ename(&ended)), (ExecutionStatus::TimedOut, "KeyboardInterrupt"));
    assert_eq!(stdout(&ended), "on\n");
    assert!(ended.seconds < 2.0, "{}", ended.seconds);
    assert!(kernel.is_alive());
    let next = run(&mut kernel, "print(x)").await;
    assert_eq!((next.status, stdout(&next).as_str()), (ExecutionStatus::Ok, "5\n"));
}

#[tokio::test]
async fn what_resists_the_interrupt_is_killed() {
    let (mut kernel, _folder) = kernel().await;
    let code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)";
    let mut killed = false;
    let ended =
        kernel.execute_with(code, &within(300), |event| killed |= event == CellEvent::Killed).await.unwrap();
    assert_eq!(ended.status, ExecutionStatus::TimedOut);
    assert!(killed && !kernel.is_alive());
    assert!(ended.seconds < 4.0, "{}", ended.seconds);
    kernel.restart().await.unwrap();
    assert_eq!(run(&mut kernel, "1").await.status, ExecutionStatus::Ok);
}

#[tokio::test]
async fn a_sleep_in_native_code_that_python_cannot_leave_is_killed() {
    let (mut kernel, _folder) = kernel().await;
    // PyDLL holds the interpreter's lock: no Python code, no signal handler runs before it returns.
    let code = "import ctypes\nwhile True: ctypes.PyDLL(None).sleep(60)";
    let clock = Instant::now();
    let ended = kernel.execute(code, &within(300)).await.unwrap();
    assert_eq!(ended.status, ExecutionStatus::TimedOut);
    assert!(clock.elapsed() < Duration::from_secs(10));
    // sleep(3) itself returns on a signal, after which Python may well see the interrupt.
    assert!(ended.error().is_some() || !kernel.is_alive());
}

#[tokio::test]
async fn another_task_may_interrupt() {
    let (mut kernel, _folder) = kernel().await;
    let handle = kernel.handle();
    let waker = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        handle.interrupt();
    });
    let ended = run(&mut kernel, "while True: pass").await;
    waker.await.unwrap();
    assert_eq!((ended.status, ename(&ended)), (ExecutionStatus::Error, "KeyboardInterrupt"));
}

#[tokio::test]
async fn floods_are_bounded() {
    let (mut kernel, _folder) = kernel().await;
    let small = ExecuteOptions { output_limit_bytes: 1_000_000, ..ExecuteOptions::default() };
    let lines = kernel.execute("for i in range(50):\n    print('x' * 1_000_000)", &small).await.unwrap();
    assert_eq!(lines.status, ExecutionStatus::Ok);
    assert_eq!(stdout(&lines).len(), 1_000_000);
    assert!(lines.truncated_bytes >= 49_000_000, "{}", lines.truncated_bytes);
    // One message beyond what is ever kept.
    let one = kernel.execute("print('x' * 100_000_000)\nprint('end')", &small).await.unwrap();
    assert_eq!(one.status, ExecutionStatus::Ok);
    assert!(one.truncated_bytes >= 90_000_000, "{}", one.truncated_bytes);
    assert!(stdout(&one).starts_with("xxx"));
    assert_eq!(run(&mut kernel, "print(1)").await.outputs, [stream("stdout", "1\n")]);
}

#[tokio::test]
async fn an_endless_flood_ends_at_its_deadline() {
    let (mut kernel, _folder) = kernel().await;
    let options = ExecuteOptions { output_limit_bytes: 100_000, ..within(2000) };
    let before = resident_bytes();
    let ended = kernel
        .execute("import sys\nwhile True:\n    print('x' * 50)\n    print('y', file=sys.stderr)", &options)
        .await
        .unwrap();
    assert_eq!(ended.status, ExecutionStatus::TimedOut);
    let kept: usize = ended
        .outputs
        .iter()
        .map(|output| match output {
            Output::Stream { text, .. } => text.len(),
            _ => 0,
        })
        .sum();
    assert!(kept <= 100_000 && ended.truncated_bytes > 0, "{kept} {}", ended.truncated_bytes);
    assert!(ended.seconds < 8.0, "{}", ended.seconds);
    assert!(resident_bytes().saturating_sub(before) < 150 << 20);
    assert!(kernel.is_alive());
    assert_eq!(run(&mut kernel, "print(1)").await.outputs, [stream("stdout", "1\n")]);
}

/// Resident memory of the test itself.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

#[tokio::test]
async fn keys_network_and_terminal_are_out_of_reach() {
    // SAFETY: no other thread reads the environment by pointer here; Rust's own access is locked.
    #[expect(unsafe_code, reason = "the test needs a variable in its own environment")]
    unsafe {
        std::env::set_var("OPENAI_API_KEY", "secret");
    }
    let (mut kernel, _folder) = kernel().await;
    let seen = run(&mut kernel, "import os\nprint(os.environ.get('OPENAI_API_KEY'), os.getsid(0) == os.getpid(), os.path.isdir(os.environ['HOME']))").await;
    assert_eq!(stdout(&seen), "None True True\n");
    let code = "import socket\ns = socket.socket()\ns.settimeout(3)\ntry:\n    s.connect(('1.1.1.1', 53))\nexcept OSError as e:\n    print(type(e).__name__, e.errno)";
    let refused = run(&mut kernel, code).await;
    if kernel.confinement().network_isolated {
        assert_eq!(stdout(&refused), "OSError 101\n");
    } else {
        assert!(kernel.confinement().missing[0].contains("network"));
    }
    let own = run(&mut kernel, "a = socket.socket(); a.bind(('127.0.0.1', 0)); a.listen(); socket.create_connection(a.getsockname()); print('loop')").await;
    assert_eq!(stdout(&own), "loop\n");
}

#[tokio::test]
async fn nothing_is_left_behind() {
    let code = "import subprocess, sys\n\
        a = subprocess.Popen(['sleep', '300'])\n\
        b = subprocess.Popen(['sleep', '300'], start_new_session=True)\n\
        print(a.pid, b.pid)";
    for shut_down in [true, false] {
        let (mut kernel, _folder) = kernel().await;
        let mut pids: Vec<String> =
            stdout(&run(&mut kernel, code).await).split_whitespace().map(str::to_owned).collect();
        assert_eq!(pids.len(), 2);
        pids.push(kernel.id().to_string());
        let log = kernel.log_path().to_owned();
        assert!(log.exists());
        if shut_down {
            kernel.shutdown().await;
        } else {
            drop(kernel);
        }
        for pid in pids {
            assert!(gone(&pid), "process {pid} is left");
        }
        assert!(!log.parent().unwrap().exists());
    }
}

#[tokio::test]
async fn an_open_file_is_written_at_shutdown() {
    let (mut kernel, folder) = kernel().await;
    run(&mut kernel, "f = open('left-open.txt', 'w'); n = f.write('kept')").await;
    kernel.shutdown().await;
    assert_eq!(std::fs::read_to_string(folder.path().join("left-open.txt")).unwrap(), "kept");
}

#[tokio::test]
async fn kernels_run_side_by_side() {
    let starts = (0..4).map(|number| {
        tokio::spawn(async move {
            let (mut kernel, _folder) = kernel().await;
            run(&mut kernel, &format!("x = {number}")).await;
            let value = kernel.evaluate(&["x"]).await.unwrap();
            assert_eq!(value[0].as_deref(), Ok(number.to_string().as_str()));
        })
    });
    for start in starts.collect::<Vec<_>>() {
        start.await.unwrap();
    }
}

#[tokio::test]
async fn a_restart_forgets() {
    let (mut kernel, _folder) = kernel().await;
    run(&mut kernel, "x = 1").await;
    let old = kernel.id();
    kernel.restart().await.unwrap();
    assert_ne!(kernel.id(), old);
    let lost = run(&mut kernel, "x").await;
    assert_eq!(ename(&lost), "NameError");
    assert!(gone(&old.to_string()));
}

#[tokio::test]
async fn the_log_holds_what_bypasses_jupyter() {
    let (mut spec, folder) = spec();
    spec.log = Some(folder.path().join("kernel.log"));
    let mut kernel = Kernel::start(spec).await.unwrap();
    run(&mut kernel, "import os, sys\nos.write(sys.__stderr__.fileno(), b'raw line\\n')").await;
    let text = std::fs::read_to_string(folder.path().join("kernel.log")).unwrap();
    assert!(text.contains("raw line"), "{text}");
    assert_eq!(kernel.log_tail(), text);
}

#[tokio::test]
async fn tcp_works_too() {
    let (mut spec, _folder) = spec();
    spec.transport = Transport::Tcp;
    let mut kernel = Kernel::start(spec).await.unwrap();
    assert_eq!(stdout(&run(&mut kernel, "print(3)").await), "3\n");
    let confinement = kernel.confinement();
    assert!(!confinement.network_isolated);
    assert!(confinement.missing.iter().any(|missing| missing.contains("TCP")), "{confinement:?}");
}

#[tokio::test]
async fn unfit_interpreters_are_named() {
    let (spec, folder) = spec();
    let start = async |python: &str| {
        let mut spec = spec.clone();
        spec.python = python.into();
        Kernel::start(spec).await.map(|_| ()).unwrap_err()
    };
    let error = start("/bin/false").await;
    assert!(matches!(error, KernelError::DiedAtStart { death: Death::Exit(1), .. }), "{error}");
    let error = start("/no/such/python").await;
    assert!(error.to_string().contains("/no/such/python"), "{error}");
    // The base interpreter of a virtual environment seldom has ipykernel; an empty environment never.
    let bare = folder.path().join("bare");
    let made = std::process::Command::new(python())
        .args(["-m", "venv", "--without-pip"])
        .arg(&bare)
        .status()
        .unwrap();
    assert!(made.success());
    let error = start(bare.join("bin/python").to_str().unwrap()).await;
    assert!(matches!(error, KernelError::NoIpykernel { .. }), "{error}");
    assert!(error.to_string().contains("pip install ipykernel"), "{error}");
    let mut absent = spec.clone();
    absent.working_dir = folder.path().join("absent");
    assert!(matches!(Kernel::start(absent).await, Err(KernelError::WorkingDir(_))));
    let mut late = spec.clone();
    late.startup_timeout = Duration::from_millis(50);
    assert!(matches!(Kernel::start(late).await, Err(KernelError::StartupTimeout { .. })));
}

/// The same story on every interpreter of `MLEM_KERNEL_PYTHONS`, Python 2 included.
#[tokio::test]
async fn every_generation_of_kernels_works() {
    let listed = std::env::var_os("MLEM_KERNEL_PYTHONS").unwrap_or_else(|| python().into_os_string());
    for python in std::env::split_paths(&listed) {
        let name = python.display().to_string();
        let (spec, _folder) = spec_of(python);
        let mut kernel = Kernel::start(spec).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!kernel.info().language_version.is_empty(), "{name}");
        let done = run(&mut kernel, "import sys\nsys.stdout.write('out\\n')\n1 + 1").await;
        assert_eq!(done.outputs[0], stream("stdout", "out\n"), "{name}");
        assert!(
            matches!(&done.outputs[1], Output::ExecuteResult { data, .. } if data["text/plain"] == "2"),
            "{name}"
        );
        let failed = run(&mut kernel, "1/0").await;
        assert_eq!((failed.status, ename(&failed)), (ExecutionStatus::Error, "ZeroDivisionError"), "{name}");
        let next = run(&mut kernel, "x = 'after'").await;
        assert_eq!(next.status, ExecutionStatus::Ok, "{name}");
        let values = kernel.evaluate(&["x[0]", "y"]).await.unwrap();
        assert!(values[0].as_deref().is_ok_and(|value| value.ends_with("'a'")), "{name} {values:?}");
        assert_eq!(values[1].as_ref().unwrap_err().ename, "NameError", "{name}");
        let asked =
            run(&mut kernel, "try:\n    input = raw_input\nexcept NameError:\n    pass\ninput()").await;
        assert_eq!(
            (asked.status, ename(&asked)),
            (ExecutionStatus::Error, "StdinNotImplementedError"),
            "{name}"
        );
        let ended = kernel.execute("while True: pass", &within(500)).await.unwrap();
        assert_eq!((ended.status, ename(&ended)), (ExecutionStatus::TimedOut, "KeyboardInterrupt"), "{name}");
        let shown = run(&mut kernel, "from IPython.display import display, clear_output\nsys.stdout.write('gone')\nclear_output(wait=True)\ndisplay(u'\\u20ac')").await;
        assert!(matches!(&shown.outputs[..], [Output::DisplayData { .. }]), "{name} {shown:?}");
        let line = run(&mut kernel, "%time 1\n!echo shell").await;
        assert_eq!(line.status, ExecutionStatus::Ok, "{name}");
        assert!(stdout(&line).contains("shell"), "{name} {line:?}");
        kernel.restart().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let died = run(&mut kernel, "import os; os._exit(3)").await;
        assert_eq!(died.status, ExecutionStatus::KernelDied(Death::Exit(3)), "{name}");
        kernel.restart().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let report = kernel.shutdown().await;
        assert!(!report.forced, "{name} {report:?}");
    }
}
