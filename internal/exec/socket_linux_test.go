//go:build linux && (amd64 || arm64)

package exec

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf/ringbuf"
	"github.com/stretchr/testify/assert"
)

func init() { tools["fires"] = firesTool }

// fireSocket names the socket of the session in the tool's environment.
const fireSocket = "BPFRUN_TEST_SOCKET"

// firesTool sends lines to the socket of its own session, as bpfrun fire does.
func firesTool() error {
	return readRing(func(r *ringbuf.Reader) error {
		conn, err := net.Dial("unix", os.Getenv(fireSocket))
		if err != nil {
			return err
		}
		defer conn.Close()
		answers := bufio.NewScanner(conn)
		for _, line := range []string{"sched_switch", "sched_switch repeat=0", "no_such_hook", "sched_switch repeat=3"} {
			if _, err := fmt.Fprintln(conn, line); err != nil {
				return err
			}
			if !answers.Scan() {
				return answers.Err()
			}
			fmt.Println(answers.Text())
		}
		for range 4 {
			if _, err := r.Read(); err != nil {
				return err
			}
		}
		fmt.Println("four records")
		return nil
	})
}

func TestLinesOnTheSocketFireHooks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	t.Setenv(fireSocket, path)
	r := start(t, "fires", "", func(c *Config) { c.Socket = path })
	assert.Equal(t, `1 program ran
error: repeat: want 1 to 1000000
error: no_such_hook: no program is attached to it; programs are attached to raw_tp/sched_switch
3 programs ran
four records
`, r.out)
	_, err := os.Lstat(path)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
