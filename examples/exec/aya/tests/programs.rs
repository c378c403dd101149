//! Tests of BPF programs, loaded by aya and run by bpf(2): without hardware, root, or crates besides aya.

use aya::{
    maps::HashMap,
    programs::{TracePoint, Xdp},
    Ebpf,
};
use std::{
    ffi::CStr,
    io::{Error, Result},
    os::fd::{AsFd, AsRawFd},
};

extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

const BPF: i64 = if cfg!(target_arch = "x86_64") { 321 } else { 280 };
const PROG_TEST_RUN: i32 = 10;
const FIRE: i32 = 0xb9f0; // bpfrun's own command

/// The part of union bpf_attr that BPF_PROG_TEST_RUN reads for packets.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    rest: [u64; 6],
}

fn bpf<T>(command: i32, attr: &mut T) -> Result<()> {
    let r = unsafe { syscall(BPF, command, attr as *mut T, size_of::<T>()) };
    if r < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Runs a program on a packet and returns what it returned.
fn run(program: &Xdp, packet: &[u8]) -> u32 {
    let mut attr = TestRun {
        prog_fd: program.fd().unwrap().as_fd().as_raw_fd() as u32,
        data_size_in: packet.len() as u32,
        data_in: packet.as_ptr() as u64,
        ..Default::default()
    };
    bpf(PROG_TEST_RUN, &mut attr).unwrap();
    attr.retval
}

/// Lets an event happen, written as in a file for bpfrun exec --events.
fn fire(event: &CStr) {
    bpf(FIRE, &mut (event.as_ptr() as u64)).unwrap();
}

fn udp_packet_to(port: u16) -> Vec<u8> {
    let mut packet = vec![0; 64];
    packet[12] = 8; // IPv4
    packet[14] = 0x45;
    packet[23] = 17; // UDP
    packet[36..38].copy_from_slice(&port.to_be_bytes());
    packet
}

#[test]
fn packets_to_a_blocked_port_are_dropped() {
    let mut object = Ebpf::load_file(concat!(env!("CARGO_MANIFEST_DIR"), "/../../xdp/xdp.bpf.o")).unwrap();
    let mut ports = HashMap::<_, u16, u8>::try_from(object.map_mut("blocked_ports").unwrap()).unwrap();
    ports.insert(53, 1, 0).unwrap();
    let filter: &mut Xdp = object.program_mut("filter").unwrap().try_into().unwrap();
    filter.load().unwrap();
    const DROP: u32 = 1;
    const PASS: u32 = 2;
    assert_eq!(run(filter, &udp_packet_to(53)), DROP);
    assert_eq!(run(filter, &udp_packet_to(54)), PASS);
}

#[test]
fn executions_are_counted_by_user() {
    let mut object = Ebpf::load_file(concat!(env!("CARGO_MANIFEST_DIR"), "/../exec.bpf.o")).unwrap();
    let program: &mut TracePoint = object.program_mut("on_exec").unwrap().try_into().unwrap();
    program.load().unwrap();
    program.attach("sched", "sched_process_exec").unwrap();
    fire(c"sched_process_exec repeat=2 task.cred.uid.val=1000");
    let counts = HashMap::<_, u32, u64>::try_from(object.map("execs_by_uid").unwrap()).unwrap();
    assert_eq!(counts.get(&1000, 0).unwrap(), 2);
}
