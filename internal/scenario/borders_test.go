package scenario

import (
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
