//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

func init() {
	tools["lives"] = livesTool
}

// The events that livesTool counts.
const (
	lifeFork uint32 = iota
	lifeExec
	lifeExit
)

// life is a key of livesTool's map: an event and the process it is about.
type life struct{ Event, PID uint32 }

// recordField returns the offset of a field in an event's record.
func recordField(event, field string) (int16, error) {
	text, err := os.ReadFile("/sys/kernel/tracing/events/sched/" + event + "/format")
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(` ` + field + `;\s*offset:(\d+);`).FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%s has no field %s", event, field)
	}
	off, err := strconv.Atoi(string(m[1]))
	return int16(off), err
}

// attachLives attaches programs to the three tracepoints that count the events of leaders of
// processes, by process.
func attachLives(counts *ebpf.Map) (func(), error) {
	var links []link.Link
	for event, field := range map[string]string{"sched_process_fork": "child_pid", "sched_process_exec": "pid", "sched_process_exit": "pid"} {
		off, err := recordField(event, field)
		if err != nil {
			return nil, err
		}
		p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: event, Type: ebpf.TracePoint, License: "GPL", Instructions: asm.Instructions{
			asm.LoadMem(asm.R1, asm.R1, off, asm.Word),
			asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word),
			asm.StoreImm(asm.RFP, -8, int64(map[string]uint32{"sched_process_fork": lifeFork, "sched_process_exec": lifeExec, "sched_process_exit": lifeExit}[event]), asm.Word),
			asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, -16, asm.R1, asm.DWord),
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -8),
			asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, -16),
			asm.Mov.Imm(asm.R4, 1), // BPF_NOEXIST
			asm.FnMapUpdateElem.Call(),
			asm.LoadMapPtr(asm.R1, counts.FD()),
			asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -8),
			asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R1, 1),
			asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return(),
		}})
		if err != nil {
			return nil, err
		}
		l, err := link.Tracepoint("sched", event, p, nil)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return func() {
		for _, l := range links {
			l.Close()
		}
	}, nil
}

// livesTool starts processes and prints the events of each.
func livesTool() error {
	counts, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: 100})
	if err != nil {
		return err
	}
	detach, err := attachLives(counts)
	if err != nil {
		return err
	}
	defer detach()
	show := func(name string, pid int) {
		var n [3]uint64
		for event := range n {
			_ = counts.Lookup(life{uint32(event), uint32(pid)}, &n[event])
		}
		fmt.Println(name, n)
	}
	// A shell, with a child that runs a program, one that ends without, and one that fails to find
	// its program.
	shell := osexec.Command("/bin/sh", "-c", `/bin/true & echo $!; wait; (exit 3) & echo $!; wait; (exec /nowhere/to/be/found) 2>/dev/null & echo $!; wait; exit 5`)
	out, err := shell.Output()
	if shell.ProcessState == nil || shell.ProcessState.ExitCode() != 5 {
		return fmt.Errorf("the shell: %w", err)
	}
	show("shell", shell.ProcessState.Pid())
	for i, w := range strings.Fields(string(out)) {
		pid, err := strconv.Atoi(w)
		if err != nil {
			return err
		}
		show([]string{"program", "subshell", "not found"}[i], pid)
	}
	// The event of a fork is there as soon as the parent looks, and a signal that ends the child
	// fires no exit.
	cat := osexec.Command("/bin/cat")
	in, err := cat.StdinPipe()
	if err != nil {
		return err
	}
	answer, err := cat.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cat.Start(); err != nil {
		return err
	}
	show("forked", cat.Process.Pid)
	if _, err := in.Write([]byte{1}); err != nil {
		return err
	}
	if _, err := io.ReadFull(answer, make([]byte, 1)); err != nil {
		return err
	}
	_ = cat.Process.Kill()
	_ = cat.Wait()
	show("killed", cat.Process.Pid)
	return nil
}

func TestLiveTasksForkExecAndExit(t *testing.T) {
	want := "shell [1 1 1]\nprogram [1 1 1]\nsubshell [1 0 1]\nnot found [1 0 1]\nforked [1 "
	told := map[string]int{}
	r := start(t, "lives", "", func(c *Config) {
		c.Live = true
		c.Fired = func(hook string, fired []bpfsys.Fired) { told[hook] += len(fired) }
	})
	assert.True(t, strings.HasPrefix(r.out, want), "%s%s", r.out, r.notes)
	for _, hook := range []string{"sched_process_fork", "sched_process_exec", "sched_process_exit"} {
		assert.NotZero(t, told[hook], "%s: %v", hook, told)
	}
	assert.Contains(t, r.out, "killed [1 1 0]\n")
	assert.Zero(t, r.code)
	assert.Contains(t, r.notes, "all else is simulated")
	assert.NotContains(t, start(t, "lives", "").out, "1", "without --live")
}
