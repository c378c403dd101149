package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	bpfexec "github.com/bpfrun/bpfrun/internal/exec"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/testing/mutate"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/jit"
)

var update = rewrite.Flag

func TestMain(m *testing.M) {
	bpfexec.Child(os.Args[1:])
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // as doctor and exec start themselves
		main()
	}
	testscript.Main(cached{m}, map[string]func(){"bpfrun": main})
}

// cached runs tests with a cache directory of their own. Unpacking a kernel's types takes ten times
// as long as most tests: it is done once for all of them and for the processes they start, and
// nothing is left in the user's directory.
type cached struct{ m *testing.M }

func (c cached) Run() int {
	if os.Getenv(kernels.CacheVariable) != "" { // started by a test
		return c.m.Run()
	}
	dir, err := os.MkdirTemp("", "bpfrun-test-cache")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv(kernels.CacheVariable, dir); err != nil {
		panic(err)
	}
	return c.m.Run()
}

// TestScripts runs the transcripts below testdata/script. Their variables: OBJ and EB are the
// directories of little and big endian test objects, V4 of those for -mcpu=v4, EX of the examples,
// BTF of kernels' types, MIN of reduced types, BENCH of benchmark programs; the file input has 64
// KiB, mixed.pcap the packets of [capturePackets]. Their own commands:
//
//	code N COMMAND...     runs the command, which must exit with N
//	lines FILE N          FILE (stdout, stderr) has exactly N lines
//	cut FILE N OUT        OUT is the first N bytes of FILE
//	flip FILE N OUT       OUT is FILE with one bit flipped in byte N
//	bigbtf FILE OUT       OUT is the BTF of FILE in big-endian byte order
//	compress KIND FILE    makes FILE.gz or FILE.zst
//	document KIND FILE    FILE is a document of FORMATS section 1: run, runs, relo, relos, info, bench or error
func TestScripts(t *testing.T) {
	// Under user-mode emulation the test binary runs, but what it starts does not.
	self, err := os.Executable()
	require.NoError(t, err)
	if err := exec.Command(self, "-test.run=^$").Run(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this system cannot start the test binary by itself: ", err)
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir, files := "testdata/script", []string(nil)
	if raceDetector && testing.Short() {
		dir, files = "", parallelScripts(t)
	}
	testscript.Run(t, testscript.Params{
		Dir:           dir,
		Files:         files,
		UpdateScripts: *update,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "jit":
				return jit.Supported(), nil
			case "wide":
				return testsize.Wide(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(e *testscript.Env) error {
			dirs := map[string]string{
				"OBJ": "testdata/objects/clang-14", "EB": "testdata/objects/clang-14-eb", "V4": "testdata/objects/clang-22-v4",
				"EX": "examples", "BTF": "testdata/btf", "MIN": "testdata/btf/min",
			}
			for name, dir := range dirs {
				e.Setenv(name, filepath.Join(root, filepath.FromSlash(dir)))
			}
			e.Setenv(kernels.CacheVariable, os.Getenv(kernels.CacheVariable))
			// Faults in the test binary are faults in the commands of scripts too.
			for _, name := range []string{mutate.EnvFault, mutate.EnvReached} {
				if value, ok := os.LookupEnv(name); ok {
					e.Setenv(name, value)
				}
			}
			e.Setenv("BENCH", filepath.Join(root, "internal", "bench", "testdata"))
			if err := writeCapture(filepath.Join(e.WorkDir, "mixed.pcap")); err != nil {
				return err
			}
			input := bytes.Repeat([]byte("0123456789abcdef"), 4096)
			return os.WriteFile(filepath.Join(e.WorkDir, "input"), input, 0o666)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": cmdCode, "lines": cmdLines, "cut": cmdCut, "flip": cmdFlip, "bigbtf": cmdBigBTF, "compress": cmdCompress, "document": cmdDocument,
		},
	})
}

// parallelScripts are the scripts of commands that work in several goroutines. The others have no
// race to detect that these do not have, and run without the detector.
func parallelScripts(t *testing.T) []string {
	var out []string
	for _, name := range []string{"btf_gen", "conformance_corpus", "cover", "exit_codes", "hooks", "intest", "optional", "require", "test", "verdict"} {
		path := filepath.Join("testdata", "script", name+".txtar")
		require.FileExists(t, path)
		out = append(out, path)
	}
	return out
}

// capturePackets are the packets of mixed.pcap, a second apart.
var capturePackets = []string{
	"eth/ip(src=10.0.0.1)/tcp(dport=80,flags=S)", "eth/ip(src=10.0.0.2)/udp(dport=53)/'query'", "eth/ip6/udp(dport=53)/'query'", "eth/arp",
	"eth/vlan(id=5)/ip(src=10.0.0.1)/tcp(dport=443)/'x'*100", "eth/ip(src=10.0.0.1,ttl=1)/icmp",
}

func writeCapture(path string) error {
	w, err := packet.Create(path)
	if err != nil {
		return err
	}
	for i, expr := range capturePackets {
		p, err := packet.Parse(expr)
		if err != nil {
			return err
		}
		if err := w.Write(packet.Captured{Data: p, Wire: len(p), Time: time.Unix(int64(1000+i), 0)}, p, packet.Verdict{}); err != nil {
			return err
		}
	}
	return w.Close()
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	want, got := number(ts, args[0]), 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	text := ts.ReadFile(args[0])
	if n := strings.Count(text, "\n"); n != number(ts, args[1]) {
		ts.Fatalf("%s has %d lines:\n%s", args[0], n, text)
	}
}

func cmdCut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut FILE N OUT")
	}
	b := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(b[:min(len(b), number(ts, args[1]))]), 0o666))
}

func cmdFlip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: flip FILE N OUT")
	}
	b := []byte(ts.ReadFile(args[0]))
	b[number(ts, args[1])] ^= 0x10
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), b, 0o666))
}

func cmdBigBTF(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bigbtf FILE OUT")
	}
	spec, err := btffile.Load(ts.MkAbs(args[0]), nil)
	ts.Check(err)
	b := btf.NewBuilder(nil)
	b.AddSpec(spec)
	raw, err := b.Marshal(binary.BigEndian)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), raw, 0o666))
}

func cmdCompress(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: compress KIND FILE")
	}
	var out bytes.Buffer
	data := []byte(ts.ReadFile(args[1]))
	switch args[0] {
	case "gz":
		w := gzip.NewWriter(&out)
		_, err := w.Write(data)
		ts.Check(err)
		ts.Check(w.Close())
	case "zst":
		w, err := zstd.NewWriter(&out)
		ts.Check(err)
		_, err = w.Write(data)
		ts.Check(err)
		ts.Check(w.Close())
	default:
		ts.Fatalf("compress %s: want gz or zst", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]+"."+args[0]), out.Bytes(), 0o666))
}

func cmdDocument(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: document KIND FILE")
	}
	for _, problem := range checkDocument(args[0], []byte(ts.ReadFile(args[1]))) {
		ts.Logf("%s", problem)
		defer ts.Fatalf("%s is no %s document", args[1], args[0])
	}
}
