//! One execute request from its sending to its end.

use std::io;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::time::Instant;

use super::{Kernel, KernelError};
use crate::connection::{Channel, Event};
use crate::execution::{CellEvent, ExecuteOptions, Execution, ExecutionStatus, OutputArea};
use crate::message::Incoming;
use crate::process::{Death, Exit};

/// How long one half of a cell's end (shell reply, idle broadcast) may miss the other before the
/// cell counts as over. ZeroMQ drops broadcasts in a storm; nbclient waits 4 s as well.
const HALF_END_PATIENCE: Duration = Duration::from_secs(4);

/// How long what a dead kernel had sent may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How far the kernel has been pressed to end the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pressure {
    None,
    Interrupted,
    /// Interrupted once more: the first signal may have come where Python swallows it.
    InterruptedTwice,
    Killed,
}

/// A request under way.
struct Run<'a, F> {
    id: String,
    options: &'a ExecuteOptions,
    area: OutputArea,
    on_event: F,
    reply: Option<Value>,
    idle: bool,
    count: Option<u64>,
    pressure: Pressure,
    /// When the pressure grows next.
    pressed_at: Option<Instant>,
    /// When half an end is taken for the whole.
    give_up_at: Option<Instant>,
}

impl Kernel {
    /// Sends an execute request and follows it to its end. Gives the execution and the reply's
    /// content, null without one.
    pub(super) async fn run<F: FnMut(CellEvent<'_>)>(
        &mut self,
        content: &Value,
        options: &ExecuteOptions,
        on_event: F,
    ) -> Result<(Execution, Value), KernelError> {
        if let Some(exit) = self.process.try_exit() {
            return Err(KernelError::NotRunning(exit.death));
        }
        self.connection.take_dropped();
        let started = SystemTime::now();
        let clock = Instant::now();
        let sent = self.connection.request("execute_request", content).await;
        let mut run = Run {
            id: String::new(),
            options,
            area: OutputArea::new(options.output_limit_bytes),
            on_event,
            reply: None,
            idle: false,
            count: None,
            pressure: Pressure::None,
            pressed_at: options.deadline.map(|deadline| clock + deadline),
            give_up_at: None,
        };
        let exit = match sent {
            Ok(id) => {
                run.id = id;
                self.follow(&mut run).await
            }
            Err(error) => Some(self.unreachable(&error).await),
        };
        run.area.count_truncated(self.connection.take_dropped());
        let reply = run.reply.take().unwrap_or(Value::Null);
        let status = run.status(exit, &reply);
        let count = reply.get("execution_count").and_then(Value::as_u64).or(run.count);
        let (outputs, updates, truncated_bytes) = run.area.finish();
        let execution = Execution {
            status,
            execution_count: count,
            outputs,
            updates,
            started,
            finished: SystemTime::now(),
            seconds: clock.elapsed().as_secs_f64(),
            truncated_bytes,
            exit_requested: asks_exit(&reply),
        };
        Ok((execution, reply))
    }

    /// Handles events until the cell is over; gives the exit when the kernel ended with it.
    async fn follow<F: FnMut(CellEvent<'_>)>(&mut self, run: &mut Run<'_, F>) -> Option<Exit> {
        let process = self.process.handle();
        let far = Instant::now() + Duration::from_secs(365 * 86_400);
        while !run.is_over() {
            let timer = [run.pressed_at, run.give_up_at].into_iter().flatten().min();
            tokio::select! {
                event = self.connection.next() => match event {
                    Some(event) => self.handle_event(run, event),
                    None => return Some(self.unreachable(&io::ErrorKind::UnexpectedEof.into()).await),
                },
                exit = process.exited() => {
                    self.last_words(run).await;
                    return Some(exit);
                }
                () = tokio::time::sleep_until(timer.unwrap_or(far)), if timer.is_some() => {
                    let now = Instant::now();
                    if run.give_up_at.is_some_and(|at| at <= now) {
                        self.note("half of a cell's end (reply or idle) never came".to_owned());
                        return None;
                    }
                    run.press(&process);
                }
            }
        }
        None
    }

    fn handle_event<F: FnMut(CellEvent<'_>)>(&mut self, run: &mut Run<'_, F>, event: Event) {
        match event {
            Event::Message(channel, message) => run.take(channel, message),
            Event::Malformed(channel, reason) => {
                self.note(format!("malformed message on {channel:?}: {reason}"))
            }
            // The end of the process tells more; it is being waited for.
            Event::Closed(_) => {}
        }
    }

    /// Takes in what a kernel had sent before it died.
    async fn last_words<F: FnMut(CellEvent<'_>)>(&mut self, run: &mut Run<'_, F>) {
        let end = Instant::now() + LAST_WORDS;
        while let Ok(Some(event)) = tokio::time::timeout_at(end, self.connection.next()).await {
            let closed = matches!(event, Event::Closed(Channel::IoPub));
            self.handle_event(run, event);
            if closed {
                return;
            }
        }
    }

    /// The exit of a kernel whose channels are gone; it is killed when it does not end by itself.
    async fn unreachable(&mut self, error: &io::Error) -> Exit {
        let process = self.process.handle();
        match tokio::time::timeout(Duration::from_secs(2), process.exited()).await {
            Ok(exit) => exit,
            Err(_) => {
                self.note(format!("the kernel closed its channels but lived on ({error}); killed"));
                process.kill();
                process.exited().await
            }
        }
    }
}

impl<F: FnMut(CellEvent<'_>)> Run<'_, F> {
    /// Over is a cell when both the reply and the idle broadcast have come, in either order.
    fn is_over(&self) -> bool {
        self.reply.is_some() && self.idle
    }

    fn take(&mut self, channel: Channel, message: Incoming) {
        if message.parent != self.id {
            return;
        }
        self.area.count_truncated(message.oversize);
        match (channel, message.kind.as_str()) {
            (Channel::Shell, "execute_reply") => self.reply = Some(message.content),
            (Channel::IoPub, "status") => {
                match message.content.get("execution_state").and_then(Value::as_str) {
                    Some("busy") => (self.on_event)(CellEvent::Started),
                    Some("idle") => self.idle = true,
                    _ => {}
                }
            }
            (Channel::IoPub, "execute_input" | "pyin") => {
                self.count = message.content.get("execution_count").and_then(Value::as_u64);
            }
            (Channel::IoPub, kind) => self.area.take(kind, message.content, &mut self.on_event),
            _ => {}
        }
        if self.reply.is_some() || self.idle {
            self.give_up_at = Some(Instant::now() + HALF_END_PATIENCE);
        }
    }

    /// The deadline, or a grace after it, has passed.
    fn press(&mut self, process: &crate::process::ProcessHandle) {
        let half = self.options.interrupt_grace / 2;
        self.pressure = match self.pressure {
            Pressure::None => {
                process.interrupt();
                (self.on_event)(CellEvent::Interrupted);
                Pressure::Interrupted
            }
            Pressure::Interrupted => {
                process.interrupt();
                Pressure::InterruptedTwice
            }
            Pressure::InterruptedTwice | Pressure::Killed => {
                process.kill();
                (self.on_event)(CellEvent::Killed);
                Pressure::Killed
            }
        };
        self.pressed_at = (self.pressure != Pressure::Killed).then(|| Instant::now() + half);
    }

    fn status(&self, exit: Option<Exit>, reply: &Value) -> ExecutionStatus {
        if self.pressure != Pressure::None {
            return ExecutionStatus::TimedOut;
        }
        let replied = reply.get("status").and_then(Value::as_str);
        match (replied, exit) {
            // ipykernel before 5.1 says "abort" (IPython 0.13's word), later ones "aborted".
            (Some("aborted" | "abort"), None) => ExecutionStatus::Aborted,
            (Some("ok"), None) => ExecutionStatus::Ok,
            (Some("error"), _) => ExecutionStatus::Error,
            // A kernel that ended right after its whole answer, as `exit()` lets it.
            (Some("ok"), Some(Exit { death: Death::Exit(0), .. })) if self.idle => ExecutionStatus::Ok,
            (_, Some(exit)) => ExecutionStatus::KernelDied(exit.death),
            _ if self.area.has_error() => ExecutionStatus::Error,
            _ => ExecutionStatus::Aborted,
        }
    }
}

/// Whether a reply's payload asks the frontend to end the kernel (`exit()`).
fn asks_exit(reply: &Value) -> bool {
    reply.get("payload").and_then(Value::as_array).is_some_and(|items| {
        items.iter().any(|item| item.get("source").and_then(Value::as_str) == Some("ask_exit"))
    })
}
