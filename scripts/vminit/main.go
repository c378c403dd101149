//go:build linux

// Command vminit is the init process of a virtual machine that records the behaviour of its kernel.
// It mounts the file systems that programs need, loads the kernel modules in /modules in the order
// of their names, runs the command line in /command (one word per line), and powers the machine
// off. See scripts/verdicts-vm.sh and scripts/exec-suite.sh.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(); err != nil {
		fmt.Println("vminit:", err)
	}
	fmt.Println("vminit: done")
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	for _, m := range []struct{ kind, dir string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"bpf", "/sys/fs/bpf"}, {"cgroup2", "/sys/fs/cgroup"},
		{"tracefs", "/sys/kernel/tracing"}, {"debugfs", "/sys/kernel/debug"}, {"tmpfs", "/tmp"}, {"tmpfs", "/run"}} {
		_ = os.MkdirAll(m.dir, 0o755)
		if err := unix.Mount(m.kind, m.dir, m.kind, 0, ""); err != nil {
			fmt.Printf("vminit: mount %s: %v\n", m.dir, err)
		}
	}
	none := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &none); err != nil { // kernels before 5.11 count maps and programs towards this limit
		return fmt.Errorf("RLIMIT_MEMLOCK: %w", err)
	}
	_ = os.WriteFile("/proc/sys/net/core/bpf_jit_enable", []byte("1"), 0)
	_ = os.WriteFile("/proc/sys/kernel/kptr_restrict", []byte("0"), 0)
	loadModules()
	makeRaw("/dev/ttyS1")
	if err := linkUp("lo"); err != nil {
		fmt.Println("vminit: the loopback device:", err)
	}
	text, err := os.ReadFile("/command")
	if err != nil {
		return err
	}
	words := strings.Split(strings.TrimSpace(string(text)), "\n")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// makeRaw makes a serial line pass bytes as they are: recordings may be compressed.
func makeRaw(path string) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return // a machine without that line
	}
	defer unix.Close(fd)
	settings, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err == nil {
		settings.Oflag &^= unix.OPOST
		err = unix.IoctlSetTermios(fd, unix.TCSETS, settings)
	}
	if err != nil {
		fmt.Printf("vminit: %s: %v\n", path, err)
	}
}

// linkUp brings a network device up; the loopback device gets its address with it.
func linkUp(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
		return err
	}
	req.SetUint16(req.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

// loadModules loads the modules in /modules.
func loadModules() {
	list, _ := os.ReadDir("/modules")
	for _, m := range list {
		f, err := os.Open("/modules/" + m.Name())
		if err == nil {
			err = unix.FinitModule(int(f.Fd()), "", 0)
			f.Close()
		}
		if err != nil {
			fmt.Printf("vminit: module %s: %v\n", m.Name(), err)
		}
	}
}
