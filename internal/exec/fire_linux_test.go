//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/ringbuf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	tools["count"], tools["unheard"], tools["restless"] = countTool, unheardTool, restlessTool
}

// countTool counts the records that it reads until it is asked to end.
func countTool() error {
	return readRing(func(r *ringbuf.Reader) error {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, os.Interrupt)
		go func() {
			<-asked
			r.Close()
		}()
		n := 0
		for {
			_, err := r.Read()
			if errors.Is(err, ringbuf.ErrClosed) {
				fmt.Println(n)
				return nil
			}
			if err != nil {
				return err
			}
			n++
		}
	})
}

// unheardTool has a ring buffer that it never reads.
func unheardTool() error {
	return readRing(func(*ringbuf.Reader) error { return sleepLong() })
}

// restlessTool never waits for long.
func restlessTool() error {
	return readRing(func(*ringbuf.Reader) error {
		for {
			time.Sleep(100 * time.Microsecond)
		}
	})
}

// TestAStepWaitsForItsReader: a ring of 4,096 bytes holds 255 records of 16 bytes; a tool that
// reads gets all of a step, however many they are.
func TestAStepWaitsForItsReader(t *testing.T) {
	for _, tt := range []struct{ name, events, want string }{
		{"one line", "sched_switch repeat=5000\n", "5000\n"},
		{"many lines", strings.Repeat("sched_switch\n", 600), "600\n"},
		{"just what fits", "sched_switch repeat=255\n", "255\n"},
		{"several steps", "sched_switch repeat=300\n---\nsched_switch repeat=300\npass 1ms\nsched_switch\n", "601\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, "count", tt.events)
			assert.Equal(t, tt.want, r.out, r.notes)
			assert.NotContains(t, r.notes, "lost")
		})
	}
}

// TestLostRecordsAreSaid: with NoWait, and for a tool that does not read, the number of lost
// records is what did not fit.
func TestLostRecordsAreSaid(t *testing.T) {
	r := start(t, "count", "sched_switch repeat=1000\n", func(c *Config) { c.NoWait = true })
	var read, lost int
	_, err := fmt.Sscan(r.out, &read)
	require.NoError(t, err, r.out)
	_, note, found := strings.Cut(r.notes, "bpfrun exec: ")
	require.True(t, found, r.notes)
	_, err = fmt.Sscanf(note, "%d records", &lost)
	require.NoError(t, err, r.notes)
	assert.Equal(t, 1000, read+lost)
	assert.Contains(t, r.notes, "were lost: its buffer of 4096 bytes was full")

	r = start(t, "unheard", "sched_switch repeat=256\n", func(c *Config) { c.Timeout = 10 * time.Millisecond })
	assert.Contains(t, r.notes, "1 record of ", r.notes)
}

// TestTimeoutEndsAToolThatNeverWaits: also one without events.
func TestTimeoutEndsAToolThatNeverWaits(t *testing.T) {
	for _, events := range []string{"", "sched_switch\n"} {
		began := time.Now()
		r := start(t, "restless", events, func(c *Config) { c.Timeout = 200 * time.Millisecond })
		assert.Equal(t, 130, r.code, "%s%s", r.out, r.notes)
		assert.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
	}
}

// TestMisspeltHooksAreToldApart: an event at a hook that the kernel lacks is not one at a hook to
// which nothing is attached.
func TestMisspeltHooksAreToldApart(t *testing.T) {
	r := start(t, "count", "sched_swich\n")
	assert.Contains(t, r.notes, "1 event found no program: sched_swich, which the kernel does not have (nearest: sched_switch)")
	r = start(t, "count", "vfs_unlink\n")
	assert.Contains(t, r.notes, "vfs_unlink")
	assert.NotContains(t, r.notes, "does not have")
	assert.Contains(t, r.notes, "programs were attached to")
}

// TestLoopsFire: lines of a loop happen as often as it says, also where the reader of a small
// buffer makes the step wait.
func TestLoopsFire(t *testing.T) {
	for _, tt := range []struct{ name, events, want string }{
		{"a loop", "repeat 1000 every 1us\nsched_switch next.pid=${i+1}\nend\nsched_switch\n", "1001\n"},
		{"loops in a loop", "repeat 10\nrepeat 7 as j\nsched_switch\nend\nsched_switch repeat=3\nend\n", "100\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, "count", tt.events)
			assert.Equal(t, tt.want, r.out, r.notes)
			assert.Empty(t, r.notes)
		})
	}
}

// TestEventsWithoutProgramsAreOneLine: however many events found no program, one line says so.
func TestEventsWithoutProgramsAreOneLine(t *testing.T) {
	r := start(t, "count", "repeat 10\nvfs_read\nsched_switch\nvfs_write repeat=3\nend\n---\nvfs_read\n")
	assert.Equal(t, "10\n", r.out)
	assert.Equal(t, "bpfrun exec: 41 events found no program: vfs_read (11 times), vfs_write (30 times); programs were attached to raw_tp/sched_switch\n", r.notes)
}
