package scenario

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
)

// TestBorders: the last number that is taken, and the first that is refused.
func TestBorders(t *testing.T) {
	for _, tt := range []struct{ name, example, text, want string }{
		{"the last CPU", "exec", "runs: [{prog: on_exec, cpu: 1}]\n", ""},
		{"a CPU too many", "exec", "runs: [{prog: on_exec, cpu: 2}]\n", "s.yaml:1:29: cpu 2: the machine has 2 CPUs, numbered from 0"},
		{"a value for each CPU", "percpu", "kernel: {cpus: 4}\nmaps: {entered: {0: !percpu [1, 2, 3, 4]}}\nruns: [{prog: on_entry, args: {vec: 3}}]\n", ""},
		{"a value too many", "percpu", "kernel: {cpus: 4}\nmaps: {entered: {0: !percpu [1, 2, 3, 4, 5]}}\nruns: [{prog: on_entry, args: {vec: 3}}]\n", "s.yaml:2:21: 5 values for 4 CPUs"},
		{"the last port", "sklookup", "runs: [{prog: dispatch, context: {fields: {remote_port: 65535}}}]\n", ""},
		{"a port too many", "sklookup", "runs: [{prog: dispatch, context: {fields: {remote_port: 65536}}}]\n", "s.yaml:1:57: remote_port: 65536 is not a port"},
		{"the last major number", "device", "runs: [{prog: allow, context: {device: {major: 4095}}}]\n", ""},
		{"a major number too many", "device", "runs: [{prog: allow, context: {device: {major: 4096}}}]\n", "s.yaml:1:48: major: want a number below 4096"},
		{"the last minor number", "device", "runs: [{prog: allow, context: {device: {minor: 0xfffff}}}]\n", ""},
		{"a minor number too many", "device", "runs: [{prog: allow, context: {device: {minor: 0x100000}}}]\n", "s.yaml:1:48: minor: want a number below 1048576"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := openText(t, tt.example, tt.text)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
}

// TestWhoseSeedCounts: a file's seed goes before the option, unless the command line gave one;
// steps come on top of either.
func TestWhoseSeedCounts(t *testing.T) {
	seven := uint64(7)
	for _, tt := range []struct {
		name string
		file *uint64
		opt  Options
		want uint64
	}{
		{"the option alone", nil, Options{Config: machine.Config{Seed: 3}}, 3},
		{"the file's", &seven, Options{Config: machine.Config{Seed: 3}}, 7},
		{"the command line's", &seven, Options{Config: machine.Config{Seed: 3}, SeedWins: true}, 3},
		{"steps on the file's", &seven, Options{Config: machine.Config{Seed: 3}, SeedStep: 2}, 9},
		{"steps on the command line's", &seven, Options{Config: machine.Config{Seed: 3}, SeedWins: true, SeedStep: 2}, 5},
	} {
		f := &File{}
		f.Kernel.Seed = tt.file
		assert.Equal(t, tt.want, f.config(tt.opt).Seed, tt.name)
	}
}

// TestExpectationsThatHoldAreCounted: each is one, whatever it compares.
func TestExpectationsThatHoldAreCounted(t *testing.T) {
	for _, tt := range []struct{ example, run, expect, want string }{
		{"tc", "{prog: classify, packet: eth/ip/tcp", "ret: !any x", ""},
		{"tc", "{prog: classify, packet: eth/ip/tcp", "packet: unchanged", "packet"},
		{"tc", "{prog: classify, packet: eth/ip/tcp", "packet: eth/ip/tcp", "packet"},
		{"tc", "{prog: classify, packet: eth/ip/tcp", "packet: {ip.ttl: 64, ip.proto: tcp}", "packet.ip.ttl, packet.ip.proto"},
		{"exec", "{prog: on_exec", "maps: {execs_by_uid: {}}", ""},
		{"exec", "{prog: on_exec", "maps: {execs_by_uid: 1}", "elements of execs_by_uid"},
		{"exec", "{prog: on_exec", "ringbuf: {events: 1}", "records in events"},
		{"exec", "{prog: on_exec", "ringbuf: {events: [!any x]}", "events[0]"},
		{"exec", "{prog: on_exec", "trace: []", ""},
		{"exec", "{prog: on_exec", "helpers: {bpf_ktime_get_ns: 1}", "bpf_ktime_get_ns calls"},
		{"exec", "{prog: on_exec", "reads: [task_struct.real_parent.tgid]", "reads task_struct.real_parent.tgid"},
		{"exec", "{prog: on_exec", "fault: false, status: ok, others: unchanged, maps: {execs_by_uid: 1}, ringbuf: {events: 1}", "status, elements of execs_by_uid, records in events, others"},
	} {
		for _, res := range runText(t, tt.example, "runs: ["+tt.run+", expect: {"+tt.expect+"}}]\n") {
			var held []string
			for _, e := range res.Expectations {
				assert.True(t, e.OK, "%s: %s", tt.expect, e)
				held = append(held, e.What)
			}
			assert.Equal(t, tt.want, strings.Join(held, ", "), tt.expect)
		}
	}
}
