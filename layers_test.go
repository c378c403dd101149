package bpfrun_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/bpfrun/bpfrun/"

// layers lists, for every package, the packages of this module that it may import. Dependencies
// point one way: a package may only name packages listed before it.
var layers = []struct {
	pkg     string
	imports []string
}{
	{"uapi", nil},
	{"uapi/since", []string{"uapi"}},
	{"uapi/bpfattr", []string{"uapi"}},
	{"uapi/bpfinfo", nil},
	{"progtype", []string{"uapi/since", "uapi"}},
	{"internal/bpfprobe", nil}, // for tests only
	{"helpers/proto", []string{"uapi/since", "uapi", "progtype"}},
	{"internal/keyhash", nil},
	{"internal/valuehash", nil},
	{"internal/filecache", nil},
	{"internal/kept", []string{"internal/valuehash"}},
	{"internal/nearest", nil},
	{"internal/ordered", nil},
	{"internal/exitcode", nil},
	{"internal/termsvg", nil},
	{"internal/worded", nil},
	{"internal/undo", nil},
	{"internal/snaptest", []string{"internal/undo"}}, // for tests only
	{"internal/ceiling", nil},                        // for tests only
	{"internal/rewrite", nil},                        // for tests only
	{"internal/testsize", nil},                       // for tests only
	{"internal/markup", nil},
	{"internal/sourcepage", []string{"internal/markup"}},
	{"internal/flame", []string{"internal/markup"}},
	{"internal/visible", nil},
	{"internal/lazyre", nil},
	{"internal/endian", nil},
	{"internal/usdt", []string{"internal/lazyre"}},
	{"internal/dwarfloc", nil},
	{"decode", []string{"internal/endian"}},
	{"internal/elfbuild", []string{"decode"}},
	{"internal/randcall", []string{"decode"}}, // for tests only
	{"btf", []string{"internal/endian", "internal/nearest"}},
	{"mem", []string{"internal/endian"}},
	{"packet", []string{"internal/endian", "internal/nearest"}},
	{"btf/btffile", []string{"internal/filecache", "internal/lazyre", "btf"}},
	{"internal/testbtf", []string{"btf", "btf/btffile"}}, // for tests only
	{"uapi/gen", []string{"btf", "btf/btffile"}},
	{"btf/check", []string{"uapi/since", "uapi", "btf"}},
	{"btf/ids", []string{"btf"}},
	{"btf/dedup", []string{"internal/endian", "btf"}},
	{"btf/fromdwarf", []string{"internal/endian", "internal/dwarfloc", "btf", "btf/dedup"}},
	{"btf/embedded", []string{"btf", "btf/btffile"}},
	{"btf/debuginfo", []string{"btf"}},
	{"corerelo", []string{"internal/lazyre", "btf", "decode"}},
	{"loader", []string{"internal/valuehash", "uapi/since", "internal/lazyre", "internal/endian", "internal/nearest", "uapi", "progtype", "helpers/proto", "decode", "btf", "btf/check", "btf/debuginfo", "corerelo"}},
	{"internal/mutate", nil}, // for commands that measure tests
	{"internal/shell", nil},
	{"internal/kernels", []string{"internal/lazyre", "internal/nearest", "internal/visible", "uapi", "helpers/proto", "btf", "btf/btffile", "btf/embedded", "btf/ids", "loader"}},
	{"verifier/klog", []string{"internal/lazyre"}},
	{"debug/scopes", []string{"internal/endian", "internal/dwarfloc", "btf", "btf/debuginfo", "loader"}},
	{"helpers/printf", []string{"uapi"}},
	{"verifier/refusal", []string{"uapi", "uapi/since"}},
	{"verifier/num", nil},
	{"verifier", []string{"internal/valuehash", "internal/lazyre", "internal/endian", "uapi", "progtype", "helpers/printf", "helpers/proto", "decode", "btf", "loader", "verifier/klog", "verifier/refusal", "uapi/since"}},
	{"verifier/profile", []string{"internal/flame", "internal/markup", "internal/sourcepage", "internal/visible", "uapi", "helpers/proto", "decode", "verifier"}},
	{"verifier/mend", []string{"internal/lazyre", "uapi", "decode", "verifier", "verifier/refusal"}},
	{"verifier/configs", []string{"internal/endian", "btf", "decode", "loader", "verifier", "verifier/num"}},
	{"needs", []string{"uapi", "uapi/since", "progtype", "helpers/proto", "decode", "btf", "corerelo", "loader", "verifier", "verifier/refusal"}},
	{"vm", []string{"decode", "mem"}},
	{"jit", []string{"internal/keyhash", "decode", "mem", "vm"}},
	{"maps", []string{"internal/ordered", "internal/endian", "internal/keyhash", "uapi", "btf", "mem", "uapi/since"}},
	{"kernel/clock", nil},
	{"kernel/object", []string{"internal/endian", "internal/nearest", "uapi", "progtype", "btf", "mem", "kernel/clock", "internal/undo"}},
	{"kernel/window", []string{"internal/endian", "uapi", "btf", "mem", "kernel/clock", "kernel/object", "internal/undo"}},
	{"kernel/model", []string{"internal/endian", "uapi", "kernel/object", "kernel/window", "internal/undo"}},
	{"kernel/net", []string{"uapi/since", "internal/endian", "uapi", "progtype", "btf", "mem", "kernel/object", "internal/undo"}},
	{"kernel/hid", []string{"uapi", "mem", "kernel/object"}},
	{"kernel/hook", []string{"uapi/since", "internal/endian", "internal/nearest", "uapi", "progtype", "btf", "mem", "kernel/object", "kernel/window", "kernel/model", "kernel/net", "kernel/hid", "internal/undo"}},
	{"kernel/sched", []string{"uapi"}},
	{"kernel/qdisc", nil},
	{"kernel/sockmap", nil},
	{"offsets", []string{"uapi", "progtype", "helpers/proto", "decode", "btf", "loader", "debug/scopes", "kernel/hook"}},
	{"kernel", []string{"uapi", "progtype", "btf", "mem", "kernel/clock", "kernel/object", "kernel/window", "kernel/model", "kernel/net", "kernel/hid", "kernel/hook"}},
	{"helpers/held", []string{"vm"}},
	{"helpers/guest", []string{"internal/endian", "uapi", "mem", "vm"}},
	{"helpers/owned", []string{"mem", "vm", "helpers/guest"}},
	{"helpers/deferred", []string{"uapi", "vm", "maps", "helpers/guest"}},
	{"helpers", []string{"uapi/since", "uapi", "progtype", "decode", "btf", "mem", "vm", "maps", "kernel", "kernel/hid", "kernel/sched", "kernel/qdisc", "helpers/proto", "helpers/held", "helpers/printf", "helpers/guest", "helpers/owned", "helpers/deferred"}},
	{"machine/finding", nil},
	{"machine", []string{"internal/exitcode", "packet", "machine/finding", "internal/ordered", "internal/endian", "internal/usdt", "uapi", "progtype", "decode", "btf", "corerelo", "loader", "offsets", "mem", "vm", "jit", "maps", "kernel", "helpers/proto", "helpers/held", "helpers/deferred", "helpers", "uapi/since"}},
	{"machine/differ", []string{"btf", "packet", "loader", "machine"}},
	{"search", []string{"progtype", "internal/lazyre", "internal/endian", "uapi", "decode", "btf", "packet", "loader", "mem", "maps", "kernel", "machine/finding", "machine"}},
	{"race/order", nil},
	{"race", []string{"internal/endian", "packet", "search", "uapi", "uapi/since", "progtype", "decode", "btf", "loader", "mem", "vm", "maps", "kernel", "helpers/proto", "helpers/held", "helpers/deferred", "machine/finding", "machine", "race/order"}},
	{"traffic", []string{"internal/endian", "uapi", "btf", "mem", "loader", "kernel", "kernel/object", "kernel/net", "kernel/qdisc", "helpers", "machine", "uapi/since"}},
	{"schedule", []string{"btf", "loader", "kernel", "kernel/sched", "helpers/proto", "helpers", "uapi", "maps", "machine"}},
	{"device", []string{"internal/endian", "progtype", "decode", "btf", "loader", "kernel/hid", "machine"}},
	{"bpfsys/network", []string{"uapi", "uapi/since"}},
	{"bpfsys", []string{"internal/ordered", "internal/lazyre", "bpfsys/network", "uapi", "uapi/bpfattr", "uapi/bpfinfo", "progtype", "decode", "btf", "btf/check", "corerelo", "loader", "verifier", "maps", "kernel", "machine/finding", "machine", "uapi/since"}},
	{"exec", []string{"internal/visible", "internal/worded", "uapi", "kernel/hook", "bpfsys/network", "bpfsys", "uapi/since", "btf"}},
	{"record", []string{"uapi", "packet", "kernel/hook"}},
	{"replay", []string{"packet", "machine"}},
	{"debug/expr", []string{"internal/endian", "internal/nearest", "uapi", "btf", "packet", "loader", "mem", "maps", "kernel", "machine"}},
	{"scenario/invariant", []string{"uapi", "progtype", "packet", "loader", "maps", "kernel", "machine", "debug/expr"}},
	{"scenario", []string{"internal/visible", "machine/finding", "internal/lazyre", "internal/endian", "internal/usdt", "kernel/hid", "kernel/sched", "kernel/qdisc", "kernel/sockmap", "device", "schedule", "traffic", "race", "replay", "internal/nearest", "uapi", "decode", "progtype", "btf", "packet", "loader", "mem", "vm", "maps", "kernel", "helpers", "machine", "scenario/invariant", "search"}},
	{"internal/project", []string{"internal/nearest", "scenario"}},
	{"fuzz", []string{"internal/endian", "internal/lazyre", "uapi", "progtype", "decode", "btf", "packet", "loader", "vm", "maps", "kernel", "machine/finding", "machine", "machine/differ", "search", "scenario/invariant", "scenario"}},
	{"builds", []string{"uapi", "decode", "loader", "verifier", "needs", "machine", "machine/differ", "scenario"}},
	{"bpftest", []string{"fuzz", "internal/endian", "internal/nearest", "internal/shell", "internal/kernels", "exec", "bpfsys", "uapi", "progtype", "btf", "btf/btffile", "packet", "loader", "vm", "maps", "kernel", "machine", "scenario", "verifier"}},
	{"bpftest/ebpfspec", []string{"internal/elfbuild", "bpftest"}},
	{"intest", []string{"internal/exitcode", "uapi", "progtype", "loader", "maps", "kernel", "machine"}},
	{"matrix", []string{"internal/valuehash", "progtype", "btf", "loader", "offsets", "verifier", "vm", "kernel", "machine", "kernel/sched", "device", "schedule", "traffic"}},
	{"cover", []string{"internal/sourcepage", "internal/worded", "internal/markup", "internal/visible", "loader", "machine"}},
	{"debug", []string{"internal/lazyre", "internal/nearest", "uapi", "progtype", "decode", "btf", "btf/debuginfo", "packet", "corerelo", "loader", "verifier", "mem", "vm", "maps", "kernel", "helpers/proto", "helpers", "machine", "scenario", "intest", "debug/scopes", "debug/expr"}},
	{"debug/repl", []string{"internal/worded", "internal/visible", "internal/nearest", "btf", "loader", "verifier", "machine", "scenario", "debug"}},
	{"debug/dap", []string{"internal/worded", "internal/nearest", "decode", "debug", "debug/repl"}},
	{"report", []string{"internal/flame", "verifier/mend", "verifier/profile", "verifier/configs", "needs", "builds", "machine/finding", "internal/lazyre", "internal/exitcode", "internal/markup", "internal/visible", "uapi", "verifier/klog", "verifier", "progtype", "decode", "btf", "btf/check", "btf/ids", "packet", "corerelo", "loader", "offsets", "vm", "jit", "mem", "maps", "kernel", "helpers", "machine", "kernel/hid", "kernel/sched", "kernel/qdisc", "kernel/sockmap", "device", "schedule", "traffic", "race", "scenario", "intest", "matrix"}},
	{"testrun", []string{"internal/project", "internal/exitcode", "internal/kernels", "internal/shell", "loader", "kernel", "machine", "scenario", "intest", "debug", "report"}},
	{"pass", []string{"internal/exitcode", "internal/visible", "uapi", "helpers/proto", "decode", "loader", "verifier", "bpfsys", "machine", "search", "device", "schedule", "traffic", "debug", "report"}},
	{"play", []string{"progtype", "btf/btffile", "btf/embedded", "loader", "machine", "matrix", "packet", "debug", "report", "pass"}},
	{"examples", nil},
	{"web", []string{"examples"}},
	{"play/serve", []string{"play", "web"}},
	{"replay/capture", []string{"uapi", "progtype", "packet", "loader", "vm", "machine", "replay", "report"}},
	{"conformance", []string{"internal/endian", "internal/lazyre", "internal/worded", "internal/elfbuild", "internal/mutate", "uapi", "progtype", "verifier", "decode", "btf", "btf/check", "corerelo", "loader", "mem", "vm", "jit", "maps", "kernel", "helpers", "machine", "scenario"}},
}

// mainPackages may import every package above.
var mainPackages = []string{"cmd/", "scripts/", "examples/", "testdata/", "bench/"}

func TestDependenciesPointOneWay(t *testing.T) {
	allowed := map[string][]string{}
	var seen []string
	for _, l := range layers {
		for _, i := range l.imports {
			require.Contains(t, seen, i, "%s lists %s, which stands below it", l.pkg, i)
		}
		seen = append(seen, l.pkg)
		allowed[l.pkg] = l.imports
	}
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "corpus" || d.Name() == "toolchain") {
			return filepath.SkipDir
		}
		if d.IsDir() && file != "." {
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil {
				return filepath.SkipDir // a module of its own
			}
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		pkg := path.Dir(filepath.ToSlash(file))
		if slices.ContainsFunc(mainPackages, func(p string) bool { return strings.HasPrefix(pkg+"/", p) }) {
			return nil
		}
		// A package below another one that has no row of its own follows its parent's.
		row := pkg
		for allowed[row] == nil && !slices.Contains(seen, row) && row != "." {
			row = path.Dir(row)
		}
		found[row] = true
		require.Contains(t, seen, row, "package %s has no place in the layers", pkg)
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			own, ok := strings.CutPrefix(imp, module)
			if !ok || own == row || strings.HasPrefix(own, row+"/") || strings.HasPrefix(pkg, own+"/") && own == row {
				continue
			}
			require.Contains(t, allowed[row], own, "%s must not import %s", file, own)
		}
		return nil
	})
	require.NoError(t, err)
	require.True(t, found["decode"] && found["btf"] && found["machine"], "packages found: %v", found)
}

// One flag rewrites golden files everywhere: -update of internal/rewrite.
func TestOneUpdateFlag(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if name := `("upd` + `ate`; strings.Contains(string(text), "flag.Bool"+name) {
			t.Errorf("%s has a flag of its own: use rewrite.Flag of internal/rewrite", file)
		}
		return err
	})
	require.NoError(t, err)
}

// libraries are the packages with an API of their own (docs/api.md) and what they stand on. They depend on the standard library
// and golang.org/x alone.
var libraries = []string{"btf", "decode", "corerelo", "mem"}

func TestLibrariesHaveNoDependencies(t *testing.T) {
	for _, pkg := range libraries {
		files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			require.NoError(t, err)
			for _, spec := range f.Imports {
				imp, err := strconv.Unquote(spec.Path.Value)
				require.NoError(t, err)
				first, _, _ := strings.Cut(imp, "/")
				if strings.Contains(first, ".") && !strings.HasPrefix(imp, module) {
					require.Truef(t, strings.HasPrefix(imp, "golang.org/x/"), "%s imports %s", file, imp)
				}
			}
		}
	}
}
