//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What fire makes of a session's answers: a count, an error, and none at all.
func TestFire(t *testing.T) {
	dir, err := os.MkdirTemp("", "fire") // paths of sockets are short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	answers := map[string]string{"two\n": "2 programs ran\n", "none\n": "error: no program is attached to none\n", "gone\n": ""}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			fmt.Fprint(conn, answers[line])
			conn.Close()
		}
	}()
	code, out, errs := command("fire", socket, "two")
	assert.Zero(t, code, errs)
	assert.Equal(t, "2 programs ran\n", out)

	code, out, errs = command("fire", socket, "two", "--json")
	assert.Zero(t, code, errs)
	v := decoded(t, []byte(out))
	_, text, _ := command("help", "json")
	defs := decoded(t, []byte(text))["$defs"].(map[string]any)
	k := checker{defs: defs}
	k.check("", defs["fire"].(map[string]any), v)
	assert.Empty(t, k.bad)
	assert.Equal(t, "2", fmt.Sprint(v["programs"]))

	code, _, errs = command("fire", socket, "none")
	assert.Equal(t, exitExpectation, code)
	assert.Contains(t, errs, "no program is attached to none")
	code, out, errs = command("fire", socket, "gone")
	assert.Equal(t, exitNotSimulated, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "ended the connection without an answer")
}
