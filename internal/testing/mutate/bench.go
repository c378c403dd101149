package mutate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Bench builds and runs the tests of packages whose sources an overlay replaces. Several goroutines
// may use one.
type Bench struct {
	Root    string // directory with go.mod
	Dir     string // for binaries
	Overlay string // JSON file for go build -overlay

	mu       sync.Mutex
	packages map[string]*tested
}

// tested is what is known of a package's tests.
type tested struct {
	once    sync.Once
	bin     string
	reached map[int]bool
	took    time.Duration
	skip    []string // tests that fail with the faults' code although none is active
	err     error
}

func (b *Bench) tested(pkg string) *tested {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.packages == nil {
		b.packages = map[string]*tested{}
	}
	t := b.packages[pkg]
	if t == nil {
		t = &tested{}
		b.packages[pkg] = t
	}
	return t
}

// Survey builds a package's tests and runs them with no fault active, once. It returns the test
// binary, the numbers of the faults in code that the tests executed, and how long they took.
// pkg is a directory relative to the module's root. Up to four tests that fail without a fault, such
// as those that count allocations, do not run from then on.
func (b *Bench) Survey(pkg string, limit time.Duration) (bin string, reached map[int]bool, took time.Duration, err error) {
	t := b.tested(pkg)
	t.once.Do(func() { t.err = b.survey(t, pkg, limit) })
	return t.bin, t.reached, t.took, t.err
}

func (b *Bench) survey(t *tested, pkg string, limit time.Duration) error {
	t.bin = filepath.Join(b.Dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	if err := b.Build(pkg, b.Overlay, t.bin); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.Dir, "reached")
	if err != nil {
		return err
	}
	for {
		start := time.Now()
		by, err := b.Test(pkg, t.bin, limit, EnvReached+"="+dir)
		if err != nil {
			return err
		}
		if t.took = time.Since(start); by == "" {
			break
		}
		if len(t.skip) == 4 || strings.HasPrefix(by, "(") {
			return fmt.Errorf("%s: %s fails without any fault", pkg, by)
		}
		t.skip = append(t.skip, regexp.QuoteMeta(by))
	}
	t.reached, err = reachedIn(dir)
	return err
}

// Build compiles a package's tests with an overlay.
func (b *Bench) Build(pkg, overlay, bin string) error {
	// Omit symbols; line numbers in traces stay the same as with go test.
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", bin, "./"+pkg)
	cmd.Dir = b.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not compile: %w\n%s", pkg, err, out)
	}
	return nil
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// Test runs a test binary in the directory of its package, with one more environment variable. It
// returns the name of the test that failed, "(no end)" when the time limit ended them, "(crash)"
// when none is named, or "" when all passed.
func (b *Bench) Test(pkg, bin string, limit time.Duration, env string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args = append([]string{"-test.short", "-test.failfast", "-test.count=1"}, args...)
	if skip := b.tested(pkg).skip; len(skip) > 0 {
		args = append(args, "-test.skip=^("+strings.Join(skip, "|")+")$")
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = filepath.Join(b.Root, filepath.FromSlash(pkg))
	cmd.Env = append(os.Environ(), env)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "(no end)", nil
	case !errors.As(err, &exit):
		return "", err
	}
	if m := failedTest.FindSubmatch(out.Bytes()); m != nil {
		return string(m[1]), nil
	}
	return "(crash)", nil
}
