//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() {
	tools["descriptors"] = func() error {
		for i := range 2000 {
			m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
			if err != nil {
				return fmt.Errorf("map %d: %w", i, err)
			}
			if m.FD() < 3 {
				return fmt.Errorf("map %d has descriptor %d", i, m.FD())
			}
			m.Close()
		}
		fmt.Println("done")
		return nil
	}
}

// TestSignalsLoseNoDescriptor: the Go runtime's signals to threads of the supervisor do not
// interrupt it while it hands out descriptors.
func TestSignalsLoseNoDescriptor(t *testing.T) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			threads, _ := os.ReadDir("/proc/self/task")
			for _, e := range threads {
				tid, _ := strconv.Atoi(e.Name())
				_ = unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	r := start(t, "descriptors", "")
	close(stop)
	<-done
	assert.Equal(t, "done\n", r.out)
	assert.Zero(t, r.code)
}
