// A tool with aya's loader: prints every second, N times, how many programs each user executed, as counted by examples/exec/exec.bpf.o.
//
//     execs OBJECT N

use aya::{maps::HashMap, programs::TracePoint, Ebpf};
use std::{collections::BTreeMap, error::Error, thread::sleep, time::Duration};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: execs OBJECT N")?;
    let n: u32 = args.next().ok_or("usage: execs OBJECT N")?.parse()?;
    let mut object = Ebpf::load_file(path)?;
    let program: &mut TracePoint = object.program_mut("on_exec").ok_or("no program on_exec")?.try_into()?;
    program.load()?;
    program.attach("sched", "sched_process_exec")?;
    for second in 1..=n {
        sleep(Duration::from_secs(1));
        let counts: HashMap<_, u32, u64> = HashMap::try_from(object.map("execs_by_uid").ok_or("no map execs_by_uid")?)?;
        for (uid, count) in counts.iter().collect::<Result<BTreeMap<_, _>, _>>()? {
            println!("{second} s: user {uid} executed {count}");
        }
    }
    Ok(())
}
