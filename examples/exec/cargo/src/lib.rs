//! A hash map by bpf(2), without crates.

use std::io::{Error, Result};

extern "C" {
    fn syscall(number: i64, ...) -> i64;
    fn close(fd: i32) -> i32;
}

const BPF: i64 = if cfg!(target_arch = "x86_64") { 321 } else { 280 };

fn bpf(command: i32, attr: &[u64]) -> Result<i32> {
    let r = unsafe { syscall(BPF, command, attr.as_ptr(), attr.len() * 8) };
    if r < 0 { Err(Error::last_os_error()) } else { Ok(r as i32) }
}

pub struct HashMap(i32);

impl HashMap {
    pub fn new(entries: u32) -> Result<HashMap> {
        const HASH: u64 = 1;
        bpf(0, &[HASH | 8 << 32, 8 | u64::from(entries) << 32, 0]).map(HashMap)
    }

    pub fn set(&self, key: u64, value: u64) -> Result<()> {
        bpf(2, &[self.0 as u64, &key as *const u64 as u64, &value as *const u64 as u64, 0]).map(|_| ())
    }

    pub fn get(&self, key: u64) -> Result<u64> {
        let value = 0u64;
        bpf(1, &[self.0 as u64, &key as *const u64 as u64, &value as *const u64 as u64, 0])?;
        Ok(unsafe { std::ptr::read_volatile(&value) })
    }
}

impl Drop for HashMap {
    fn drop(&mut self) {
        unsafe { close(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::HashMap;

    #[test]
    fn what_was_set_is_got() {
        let m = HashMap::new(4).unwrap();
        m.set(1, 42).unwrap();
        assert_eq!(m.get(1).unwrap(), 42);
        assert!(m.get(2).is_err());
    }

    #[test]
    fn a_full_map_takes_no_more() {
        let m = HashMap::new(2).unwrap();
        assert_eq!((0..3).filter(|&k| m.set(k, 0).is_ok()).count(), 2);
    }
}
