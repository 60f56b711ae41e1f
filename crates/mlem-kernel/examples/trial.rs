//! scratch
#![allow(clippy::unwrap_used, clippy::print_stdout)]
use mlem_kernel::*;
use std::time::*;
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let python = std::env::args().nth(1).unwrap();
    let cells: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let wait: u64 = std::env::args().nth(3).map_or(0, |x| x.parse().unwrap());
    let t = Instant::now();
    let mut k = Kernel::start(KernelSpec::new(python, "/tmp")).await.unwrap();
    println!("started {:?} {:?}", t.elapsed(), k.info().implementation_version);
    let t = Instant::now();
    for i in 0..cells {
        let e = k.execute(&format!("x = {i}"), &ExecuteOptions::default()).await.unwrap();
        assert!(e.status == ExecutionStatus::Ok);
    }
    println!("cells {:?}", t.elapsed());
    tokio::time::sleep(Duration::from_millis(wait)).await;
    let t = Instant::now();
    let r = k.shutdown().await;
    println!("shutdown {:?} {:?} {} {:?}", t.elapsed(), r.exit.death, r.forced, r.notes);
}
