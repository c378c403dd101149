package mutate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Single is a test that ran alone, with no fault active.
type Single struct {
	Pkg, Name string
	Took      time.Duration // processor time
	Reached   map[int]bool  // the numbers of the faults in code that it executed
}

// Singles builds a package's tests and runs each alone, with no fault active, which says which test
// executes which faults. Those that fail alone, or take longer than the limit, are in left.
func (b *Bench) Singles(pkg string, limit time.Duration) (bin string, tests []Single, left []string, err error) {
	bin = filepath.Join(b.Dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	if err := b.Build(pkg, b.Overlay, bin); err != nil {
		return "", nil, nil, err
	}
	list := exec.Command(bin, "-test.list=^(Test|Example|Fuzz)")
	list.Dir = filepath.Join(b.Root, filepath.FromSlash(pkg))
	out, err := list.Output()
	if err != nil {
		return "", nil, nil, fmt.Errorf("%s: tests are not listed: %w", pkg, err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		name := lines.Text()
		dir, err := os.MkdirTemp(b.Dir, "reached")
		if err != nil {
			return "", nil, nil, err
		}
		by, took, err := b.RunTests(pkg, bin, []string{name}, limit, EnvReached+"="+dir)
		if err != nil {
			return "", nil, nil, err
		}
		if by != "" {
			left = append(left, name)
			continue
		}
		reached, err := reachedIn(dir)
		if err != nil {
			return "", nil, nil, err
		}
		tests = append(tests, Single{pkg, name, took, reached})
	}
	return bin, tests, left, nil
}

// reachedIn returns the numbers of the faults that a run wrote to a directory.
func reachedIn(dir string) (map[int]bool, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	reached := map[int]bool{}
	for _, f := range files {
		if n, err := strconv.Atoi(f.Name()); err == nil {
			reached[n] = true
		}
	}
	return reached, nil
}

// RunTests runs the named tests of a test binary with one more environment variable. It returns
// what [Bench.Test] does, and the processor time. The limit is one of processor time too, so that
// what else the machine does changes no result; tests that wait for ever end later.
func (b *Bench) RunTests(pkg, bin string, names []string, limit time.Duration, env string) (by string, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute+30*limit)
	defer cancel()
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -t "$0" && exec "$@"`, strconv.Itoa(int(limit/time.Second)+1), bin,
		"-test.short", "-test.failfast", "-test.count=1", "-test.run=^("+strings.Join(quoted, "|")+")$")
	cmd.Dir = filepath.Join(b.Root, filepath.FromSlash(pkg))
	cmd.Env = append(os.Environ(), env)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.ProcessState != nil {
		took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", took, nil
	case ctx.Err() != nil:
		return "(no end)", took, nil
	case !errors.As(err, &exit):
		return "", took, err
	}
	if m := failedTest.FindSubmatch(out.Bytes()); m != nil {
		return string(m[1]), took, nil
	}
	if exit.ExitCode() < 0 {
		return "(no end)", took, nil
	}
	return "(crash)", took, nil
}
