package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var initLine = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) allocs$`)

// Every command pays for what packages set up before main. Tables that only some commands need are
// built when first asked for.
func TestPackagesSetUpLittleBeforeMain(t *testing.T) {
	cmd := exec.Command("bpfrun", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this processor is emulated by a user program, which starts no programs for it")
	}
	require.NoError(t, err, "%s", out)
	total := 0
	for _, m := range initLine.FindAllStringSubmatch(string(out), -1) {
		if !strings.HasPrefix(m[1], "github.com/bpfrun/bpfrun/") || strings.HasSuffix(m[1], "/cmd/bpfrun") || strings.Contains(m[1], "/internal/testing/") {
			continue // the standard library, what only tests link, and these tests themselves
		}
		n, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		assert.LessOrEqual(t, n, 400, "%s: make its tables literals, or build them on first use", m[1])
		total += n
	}
	assert.Positive(t, total, "%s", out)
	limit := 1820
	if raceDetector {
		limit += 50 // what escapes in code that it instruments
	}
	assert.LessOrEqual(t, total, limit)
}
