//go:build linux && (amd64 || arm64)

package exec

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["timers"] = timersTool }

// timersTool starts a timer that is due at once, and one that is due in 50 ms, and looks without a
// call at the variable that they add to.
func timersTool() error {
	spec, err := ebpf.LoadCollectionSpec("../../testdata/objects/clang-14/deferred.o")
	if err != nil {
		return err
	}
	delete(spec.Programs, "start_crash")
	for _, soon := range []bool{true, false} {
		if prog := spec.Programs["start_note"].Instructions; !soon {
			for i := range prog {
				if prog[i].Constant == 1000 { // nanoseconds
					prog[i].Constant = 50e6
				}
			}
		}
		c, err := ebpf.NewCollection(spec)
		if err != nil {
			return err
		}
		bss, err := unix.Mmap(c.Maps[".bss"].FD(), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		fired := spec.Variables["fired"].Offset
		if _, err := c.Programs["start_note"].Run(&ebpf.RunOptions{Data: make([]byte, 14)}); err != nil {
			return err
		}
		if soon {
			fmt.Println(binary.LittleEndian.Uint64(bss[fired:]))
			continue
		}
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end) && bss[fired] == 0; {
			time.Sleep(time.Millisecond)
		}
		fmt.Println(binary.LittleEndian.Uint64(bss[fired:]))
	}
	return nil
}

// TestTimersFollowTheHostsClock: timers run when they are due, though no program runs and no call
// is made then; by simulated time they do not.
func TestTimersFollowTheHostsClock(t *testing.T) {
	for real, want := range map[bool]string{true: "1\n1\n", false: "0\n0\n"} {
		r := start(t, "timers", "", func(c *Config) { c.RealClock = real })
		assert.Equal(t, want, r.out, r.notes)
		assert.Zero(t, r.code)
	}
}
