package sched

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestCgroupSettings: which writes to a cgroup's files the scheduler learns of.
func TestCgroupSettings(t *testing.T) {
	weight := func(n uint32) Step { return Step{Kind: DoGroupWeight, To: "/a", Weight: n} }
	idle := func(on bool) Step { return Step{Kind: DoGroupIdle, To: "/a", Idle: on} }
	limit := func(quota, period time.Duration) Step {
		return Step{Kind: DoGroupMax, To: "/a/", Quota: quota, Period: period}
	}
	for _, tt := range []struct {
		name  string
		steps []Step
		want  []string
	}{
		{"weights", []Step{weight(100), weight(200), weight(200), weight(1)}, []string{"weight /a 200", "weight /a 1"}},
		{"an idle cgroup has no weight", []Step{idle(true), weight(200), idle(true), idle(false), weight(200)}, []string{"idle /a true", "idle /a true", "idle /a false", "weight /a 200"}},
		{"limits", []Step{limit(0, 100*ms), limit(20*ms, 100*ms), limit(20*ms, 100*ms), limit(20*ms, 50*ms), limit(0, 50*ms)}, []string{
			"max /a/ 100000 20000 0", "max /a/ 50000 20000 0", "max /a/ 50000 18446744073709551615 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := fifo(ms)
			var got []string
			log := func(name string) func([]any) int64 {
				return func(a []any) int64 {
					text := name
					for _, x := range a {
						text += " " + fmt.Sprint(x)
					}
					got = append(got, text)
					return 0
				}
			}
			p.do[OpCgroupWeight], p.do[OpCgroupIdle], p.do[OpCgroupBandwidth] = log("weight"), log("idle"), log("max")
			var began []uint32
			p.do[OpCgroupInit] = func(a []any) int64 { began = append(began, a[1].(CgroupArgs).Weight); return 0 }
			p.run(t, Config{Tasks: []TaskSpec{{Name: "a", Steps: append(tt.steps, Step{Kind: DoRun, For: ms}), Times: 1}}})
			assert.Equal(t, tt.want, got)
			assert.Equal(t, []uint32{100, 100}, began, "the root and /a")
		})
	}
}

// TestCgroupSettingsAreChecked: what no file of a cgroup accepts.
func TestCgroupSettingsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		name string
		step Step
		want string
	}{
		{"the root", Step{Kind: DoGroupWeight, To: "/", Weight: 100}, "the root cgroup"},
		{"no weight", Step{Kind: DoGroupWeight, To: "/a"}, "weight of 0"},
		{"the least weight", Step{Kind: DoGroupWeight, To: "/a", Weight: 1}, ""},
		{"the most weight", Step{Kind: DoGroupWeight, To: "/a", Weight: 10_000}, ""},
		{"more weight", Step{Kind: DoGroupWeight, To: "/a", Weight: 10_001}, "weight of 10001"},
		{"a short period", Step{Kind: DoGroupMax, To: "/a", Period: ms - 1}, "a period"},
		{"a long period", Step{Kind: DoGroupMax, To: "/a", Period: time.Second + 1}, "a period"},
		{"a short limit", Step{Kind: DoGroupMax, To: "/a", Period: ms, Quota: ms - 1}, "a limit"},
		{"the shortest", Step{Kind: DoGroupMax, To: "/a", Period: ms, Quota: ms}, ""},
		{"a relative path", Step{Kind: DoGroupIdle, To: "a"}, "no absolute path"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Check(Config{CPUs: Topology(1, 0, 0, 0), Duration: ms, Tasks: []TaskSpec{{Name: "a", Steps: []Step{tt.step, {Kind: DoRun, For: ms}}}}})
			if tt.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tt.want)
		})
	}
	err := Check(Config{CPUs: Topology(1, 0, 0, 0), Duration: ms, Tasks: []TaskSpec{{Name: "a", Times: Forever, Steps: []Step{{Kind: DoGroupMax, To: "/a", Period: ms, Quota: ms}}}}})
	assert.Error(t, err, "a task that does this for ever uses no time")
}
