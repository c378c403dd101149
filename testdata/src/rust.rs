// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// rust: a program in the shape that aya gives Rust programs: no standard library, maps as statics in the section "maps",
// programs by section, settings in .rodata read as volatile, logs through a ring buffer. What it knows of the kernel it asks
// rust_core.bpf.c: rustc emits no CO-RE records itself.
#![no_std]
#![no_main]

use core::ffi::{c_long, c_void};
use core::panic::PanicInfo;
use core::ptr::{addr_of, addr_of_mut, read_volatile};

#[repr(C)]
pub struct MapDef {
    kind: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    id: u32,
    pinning: u32,
}

const fn map(kind: u32, key_size: u32, value_size: u32, max_entries: u32) -> MapDef {
    MapDef { kind, key_size, value_size, max_entries, map_flags: 0, id: 0, pinning: 0 }
}

const HASH: u32 = 1;
const RINGBUF: u32 = 27;

#[unsafe(link_section = "maps")]
#[unsafe(export_name = "COUNTS")]
static mut COUNTS: MapDef = map(HASH, 4, 8, 64);

#[unsafe(link_section = "maps")]
#[unsafe(export_name = "EVENTS")]
static mut EVENTS: MapDef = map(RINGBUF, 0, 0, 4096);

/// The thread group to watch, 0 for all; set by the loader.
#[unsafe(no_mangle)]
static TARGET_TGID: u32 = 0;

/// Calls by kind of file.
#[unsafe(no_mangle)]
static mut KINDS: [u64; 4] = [0; 4];

#[derive(Clone, Copy)]
pub enum Kind {
    Missing,
    Root,
    Own(u32),
    Other { pid: u32, parent: u32 },
}

#[repr(C)]
pub struct Event {
    pid: u32,
    parent: u32,
    kind: u32,
    comm: [u8; 16],
}

unsafe extern "C" {
    fn core_tgid(task: *const c_void) -> u32;
    fn core_parent_tgid(task: *const c_void) -> u32;
    fn core_comm(task: *const c_void, to: *mut u8, n: u32) -> c_long;
    fn core_has_state(task: *const c_void) -> bool;
}

/// Helpers are called by number.
macro_rules! helper {
    ($name:ident = $n:literal ($($arg:ident: $t:ty),*) -> $ret:ty) => {
        #[inline(always)]
        unsafe fn $name($($arg: $t),*) -> $ret {
            let f: unsafe extern "C" fn($($t),*) -> $ret = unsafe { core::mem::transmute($n as usize) };
            unsafe { f($($arg),*) }
        }
    };
}
helper!(map_lookup = 1 (map: *mut c_void, key: *const c_void) -> *mut u64);
helper!(map_update = 2 (map: *mut c_void, key: *const c_void, value: *const c_void, flags: u64) -> c_long);
helper!(current_task = 35 () -> *const c_void);
helper!(ringbuf_output = 130 (map: *mut c_void, data: *const c_void, size: u64, flags: u64) -> c_long);

#[inline(always)]
fn kind_of(task: *const c_void) -> Kind {
    let (pid, parent) = unsafe { (core_tgid(task), core_parent_tgid(task)) };
    let target = unsafe { read_volatile(addr_of!(TARGET_TGID)) };
    match (pid, parent) {
        _ if !unsafe { core_has_state(task) } => Kind::Missing,
        (1, _) | (_, 0) => Kind::Root,
        (p, _) if p == target => Kind::Own(p),
        (pid, parent) => Kind::Other { pid, parent },
    }
}

/// Counts calls by process and sends an event for each.
#[inline(always)]
fn watch() -> Result<(), c_long> {
    let task = unsafe { current_task() };
    let kind = kind_of(task);
    let (index, pid, parent) = match kind {
        Kind::Missing => (0, 0, 0),
        Kind::Root => (1, 1, 0),
        Kind::Own(pid) => (2, pid, 0),
        Kind::Other { pid, parent } => (3, pid, parent),
    };
    let counts = addr_of_mut!(COUNTS) as *mut c_void;
    unsafe {
        let kinds = addr_of_mut!(KINDS) as *mut u64;
        *kinds.add(index) += 1;
        match map_lookup(counts, addr_of!(pid) as *const c_void).as_mut() {
            Some(n) => *n += 1,
            None => {
                let one = 1u64;
                let err = map_update(counts, addr_of!(pid) as *const c_void, addr_of!(one) as *const c_void, 0);
                if err != 0 {
                    return Err(err);
                }
            }
        }
        let mut event = Event { pid, parent, kind: index as u32, comm: [0; 16] };
        core_comm(task, addr_of_mut!(event.comm) as *mut u8, 16);
        let err = ringbuf_output(addr_of_mut!(EVENTS) as *mut c_void, addr_of!(event) as *const c_void, size_of::<Event>() as u64, 0);
        if err != 0 { Err(err) } else { Ok(()) }
    }
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "kprobe/do_unlinkat")]
pub extern "C" fn on_unlink(_ctx: *mut c_void) -> u32 {
    match watch() {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "license")]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

#[panic_handler]
fn panic(_info: &PanicInfo) -> ! {
    loop {}
}
