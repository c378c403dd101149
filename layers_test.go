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
	{"internal/uapi", nil},
	{"internal/uapi/since", []string{"internal/uapi"}},
	{"internal/uapi/bpfattr", []string{"internal/uapi"}},
	{"internal/uapi/bpfinfo", nil},
	{"internal/uapi/perfattr", nil},
	{"internal/progtype", []string{"internal/uapi/since", "internal/uapi"}},
	{"internal/testing/bpfprobe", nil}, // for tests only
	{"helpers/proto", []string{"internal/uapi/since", "internal/uapi", "internal/progtype"}},
	{"internal/subsys/ops", nil},
	{"internal/keyhash", nil},
	{"internal/cpuset", nil},
	{"internal/recent", nil},
	{"internal/valuehash", nil},
	{"internal/filecache", nil},
	{"internal/kept", []string{"internal/valuehash"}},
	{"internal/nearest", nil},
	{"internal/ordered", nil},
	{"internal/exitcode", nil},
	{"internal/termsvg", nil},
	{"internal/worded", nil},
	{"internal/undo", nil},
	{"internal/testing/snaptest", []string{"internal/undo"}},            // for tests only
	{"internal/testing/ceiling", nil},                                   // for tests only
	{"internal/testing/recording", nil},                                 // for tests only
	{"internal/testing/testsize", nil},                                  // for tests only
	{"internal/testing/rewrite", []string{"internal/testing/testsize"}}, // for tests only
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
	{"internal/testing/randcall", []string{"decode"}}, // for tests only
	{"btf", []string{"internal/endian", "internal/nearest"}},
	{"internal/mem", []string{"internal/endian"}},
	{"internal/packet", []string{"internal/endian", "internal/nearest"}},
	{"btf/pack", []string{"btf"}},
	{"btf/btffile", []string{"internal/filecache", "internal/lazyre", "btf", "btf/pack"}},
	{"internal/testing/testbtf", []string{"btf", "btf/btffile"}}, // for tests only
	{"internal/uapi/gen", []string{"btf", "btf/btffile"}},
	{"btf/check", []string{"internal/uapi/since", "internal/uapi", "btf"}},
	{"btf/ids", []string{"btf"}},
	{"btf/dedup", []string{"internal/endian", "btf"}},
	{"btf/fromdwarf", []string{"internal/endian", "internal/dwarfloc", "btf", "btf/dedup"}},
	{"btf/embedded", []string{"btf", "btf/btffile"}},
	{"btf/debuginfo", []string{"btf"}},
	{"internal/assembly", []string{"internal/uapi", "decode", "btf", "internal/elfbuild"}},
	{"corerelo", []string{"internal/lazyre", "btf", "decode"}},
	{"loader", []string{"internal/valuehash", "internal/uapi/since", "internal/lazyre", "internal/endian", "internal/nearest", "internal/uapi", "internal/progtype", "helpers/proto", "decode", "btf", "btf/check", "btf/debuginfo", "corerelo"}},
	{"internal/testing/mutate", nil}, // for commands that measure tests
	{"internal/shell", nil},
	{"internal/kernels", []string{"internal/lazyre", "internal/nearest", "internal/visible", "internal/uapi", "helpers/proto", "btf", "btf/pack", "btf/btffile", "btf/embedded", "btf/ids", "loader"}},
	{"internal/verifier/klog", []string{"internal/lazyre"}},
	{"internal/debug/scopes", []string{"internal/endian", "internal/dwarfloc", "btf", "btf/debuginfo", "loader"}},
	{"helpers/printf", []string{"internal/uapi"}},
	{"internal/verifier/refusal", []string{"internal/uapi", "internal/uapi/since"}},
	{"internal/verifier/num", nil},
	{"internal/verifier", []string{"internal/valuehash", "internal/lazyre", "internal/endian", "internal/uapi", "internal/progtype", "helpers/printf", "helpers/proto", "decode", "btf", "loader", "internal/verifier/klog", "internal/verifier/refusal", "internal/uapi/since"}},
	{"internal/verifier/profile", []string{"internal/flame", "internal/markup", "internal/sourcepage", "internal/visible", "internal/uapi", "helpers/proto", "decode", "internal/verifier"}},
	{"internal/verifier/mend", []string{"internal/lazyre", "internal/uapi", "decode", "internal/verifier", "internal/verifier/refusal"}},
	{"internal/verifier/configs", []string{"internal/endian", "btf", "decode", "loader", "internal/verifier", "internal/verifier/num"}},
	{"internal/app/minkernel", []string{"internal/uapi", "internal/uapi/since", "internal/progtype", "helpers/proto", "decode", "btf", "corerelo", "loader", "internal/verifier", "internal/verifier/refusal"}},
	{"vm", []string{"decode", "internal/mem", "internal/recent"}},
	{"jit", []string{"internal/keyhash", "internal/recent", "decode", "internal/mem", "vm"}},
	{"internal/maps", []string{"internal/ordered", "internal/recent", "internal/endian", "internal/keyhash", "internal/uapi", "btf", "internal/mem", "internal/uapi/since"}},
	{"internal/kernel/clock", nil},
	{"internal/kernel/object", []string{"internal/cpuset", "internal/endian", "internal/nearest", "internal/uapi", "internal/progtype", "btf", "internal/mem", "internal/kernel/clock", "internal/undo"}},
	{"internal/kernel/window", []string{"internal/endian", "internal/uapi", "btf", "internal/mem", "internal/kernel/clock", "internal/kernel/object", "internal/undo"}},
	{"internal/kernel/model", []string{"internal/cpuset", "internal/endian", "internal/uapi", "internal/kernel/object", "internal/kernel/window", "internal/undo"}},
	{"internal/kernel/net", []string{"internal/uapi/since", "internal/endian", "internal/uapi", "internal/progtype", "btf", "internal/mem", "internal/kernel/object", "internal/undo"}},
	{"internal/subsys/hid", []string{"internal/uapi", "internal/mem", "internal/kernel/object"}},
	{"internal/kernel/hook", []string{"internal/uapi/since", "internal/endian", "internal/nearest", "internal/uapi", "internal/progtype", "btf", "internal/mem", "internal/kernel/object", "internal/kernel/window", "internal/kernel/model", "internal/kernel/net", "internal/subsys/hid", "internal/undo"}},
	{"internal/subsys/event", nil},
	{"internal/subsys/sched", []string{"internal/cpuset", "internal/uapi", "internal/subsys/event"}},
	{"internal/subsys/qdisc", []string{"internal/subsys/event"}},
	{"internal/subsys/sockmap", nil},
	{"internal/subsys/tcpcc", []string{"internal/subsys/event"}},
	{"internal/offsets", []string{"internal/uapi", "internal/progtype", "helpers/proto", "decode", "btf", "loader", "internal/debug/scopes", "internal/kernel/hook"}},
	{"internal/kernel", []string{"internal/cpuset", "internal/uapi", "internal/progtype", "btf", "internal/mem", "internal/kernel/clock", "internal/kernel/object", "internal/kernel/window", "internal/kernel/model", "internal/kernel/net", "internal/subsys/hid", "internal/kernel/hook"}},
	{"helpers/held", []string{"vm"}},
	{"helpers/guest", []string{"internal/endian", "internal/uapi", "internal/mem", "vm"}},
	{"helpers/owned", []string{"internal/mem", "vm", "helpers/guest"}},
	{"helpers/deferred", []string{"internal/uapi", "vm", "internal/maps", "helpers/guest"}},
	{"helpers", []string{"internal/kernel/model", "internal/kernel/hook", "internal/kernel/net", "internal/cpuset", "internal/kernel/object", "internal/uapi/since", "internal/uapi", "internal/progtype", "decode", "btf", "internal/mem", "vm", "internal/maps", "internal/kernel", "internal/subsys/hid", "internal/subsys/sched", "internal/subsys/qdisc", "helpers/proto", "helpers/held", "helpers/printf", "helpers/guest", "helpers/owned", "helpers/deferred"}},
	{"internal/machine/finding", nil},
	{"internal/machine", []string{"internal/kernel/net", "internal/kernel/model", "internal/kernel/clock", "internal/kernel/object", "internal/kernel/hook", "internal/cpuset", "internal/exitcode", "internal/packet", "internal/machine/finding", "internal/subsys/ops", "internal/ordered", "internal/endian", "internal/usdt", "internal/uapi", "internal/progtype", "decode", "btf", "corerelo", "loader", "internal/offsets", "internal/mem", "vm", "jit", "internal/maps", "internal/kernel", "helpers/proto", "helpers/held", "helpers/deferred", "helpers", "internal/uapi/since"}},
	{"internal/machine/differ", []string{"btf", "internal/packet", "loader", "internal/machine"}},
	{"internal/find/search", []string{"internal/kernel/object", "internal/kernel/hook", "internal/progtype", "internal/lazyre", "internal/endian", "internal/uapi", "decode", "btf", "internal/packet", "loader", "internal/mem", "internal/maps", "internal/kernel", "internal/machine/finding", "internal/machine"}},
	{"internal/find/race/order", nil},
	{"internal/find/race", []string{"internal/kernel/hook", "internal/kernel/object", "internal/endian", "internal/packet", "internal/find/search", "internal/uapi", "internal/uapi/since", "internal/progtype", "decode", "btf", "loader", "internal/mem", "vm", "internal/maps", "internal/kernel", "helpers/proto", "helpers/held", "helpers/deferred", "internal/machine/finding", "internal/machine", "internal/find/race/order"}},
	{"internal/scenario/grammar", []string{"internal/kernel/object", "internal/lazyre", "internal/nearest", "internal/uapi", "btf", "loader", "internal/kernel"}},
	{"internal/subsys/show", []string{"internal/markup"}},
	{"internal/subsys/drive", []string{"internal/exitcode", "btf", "loader", "internal/machine", "internal/subsys/ops", "internal/subsys/event", "internal/subsys/show"}},
	{"internal/subsys/scene", []string{"internal/kernel/object", "loader", "internal/kernel", "internal/machine", "internal/scenario/grammar", "internal/subsys/drive"}},
	{"internal/subsys/sched/schedule", []string{"internal/kernel/object", "internal/scenario/grammar", "internal/subsys/scene", "internal/exitcode", "internal/markup", "internal/visible", "btf", "loader", "internal/kernel", "internal/subsys/event", "internal/subsys/sched", "helpers/proto", "helpers", "internal/uapi", "internal/maps", "internal/machine", "internal/subsys/ops", "internal/subsys/show", "internal/subsys/drive"}},
	{"internal/subsys/qdisc/traffic", []string{"internal/scenario/grammar", "internal/subsys/scene", "internal/exitcode", "internal/markup", "internal/endian", "internal/uapi", "btf", "internal/mem", "loader", "internal/kernel", "internal/kernel/object", "internal/kernel/net", "internal/subsys/event", "internal/subsys/qdisc", "helpers", "internal/machine", "internal/uapi/since", "internal/subsys/ops", "internal/subsys/show", "internal/subsys/drive"}},
	{"internal/subsys/hid/device", []string{"internal/scenario/grammar", "internal/subsys/scene", "internal/exitcode", "internal/endian", "internal/uapi", "internal/progtype", "decode", "btf", "loader", "internal/subsys/hid", "internal/machine", "internal/subsys/show", "internal/subsys/drive"}},
	{"internal/subsys/sockmap/stream", []string{"internal/kernel/hook", "internal/kernel/net", "internal/kernel/object", "internal/scenario/grammar", "internal/subsys/scene", "loader", "internal/progtype", "internal/kernel", "internal/maps", "internal/exitcode", "internal/uapi", "internal/subsys/sockmap", "internal/machine", "internal/subsys/show", "internal/subsys/drive"}},
	{"internal/subsys/tcpcc/connection", []string{"internal/uapi", "btf", "loader", "internal/kernel", "internal/kernel/object", "internal/machine", "internal/scenario/grammar", "internal/subsys/ops", "internal/subsys/show", "internal/subsys/drive", "internal/subsys/tcpcc", "internal/subsys/scene"}},
	{"internal/subsys", []string{"internal/subsys/tcpcc/connection", "internal/subsys/scene", "loader", "internal/machine", "internal/subsys/sched", "internal/subsys/drive", "internal/subsys/show", "internal/subsys/sched/schedule", "internal/subsys/qdisc/traffic", "internal/subsys/hid/device", "internal/subsys/sockmap/stream"}},
	{"internal/bpfsys/network", []string{"internal/uapi", "internal/uapi/since"}},
	{"internal/bpfsys", []string{"internal/kernel/object", "internal/kernel/net", "internal/ordered", "internal/lazyre", "internal/nearest", "internal/bpfsys/network", "internal/uapi", "internal/uapi/bpfattr", "internal/uapi/bpfinfo", "internal/progtype", "decode", "btf", "btf/check", "corerelo", "loader", "internal/verifier", "internal/maps", "internal/kernel", "internal/kernel/hook", "internal/machine/finding", "internal/machine", "internal/uapi/since", "internal/uapi/perfattr"}},
	{"internal/exec", []string{"internal/kernel/object", "internal/visible", "internal/worded", "internal/uapi", "internal/kernel/hook", "internal/kernel", "internal/bpfsys/network", "internal/bpfsys", "internal/uapi/since", "btf"}},
	{"internal/record", []string{"internal/uapi", "internal/packet", "internal/kernel/hook"}},
	{"internal/replay", []string{"internal/packet", "internal/machine"}},
	{"internal/debug/expr", []string{"internal/kernel/hook", "internal/endian", "internal/nearest", "internal/uapi", "btf", "internal/packet", "loader", "internal/mem", "internal/maps", "internal/kernel", "internal/machine"}},
	{"internal/scenario/invariant", []string{"internal/kernel/hook", "internal/uapi", "internal/progtype", "internal/packet", "loader", "internal/maps", "internal/kernel", "internal/machine", "internal/debug/expr"}},
	{"internal/scenario", []string{"internal/kernel/net", "internal/kernel/clock", "internal/kernel/hook", "internal/kernel/model", "internal/kernel/object", "internal/visible", "internal/machine/finding", "internal/lazyre", "internal/endian", "internal/usdt", "internal/find/race", "internal/replay", "internal/nearest", "internal/uapi", "decode", "internal/progtype", "btf", "internal/packet", "loader", "internal/mem", "vm", "internal/maps", "internal/kernel", "helpers", "internal/machine", "internal/scenario/invariant", "internal/find/search", "internal/subsys/drive", "internal/subsys/scene", "internal/subsys"}},
	{"internal/project", []string{"internal/nearest", "internal/scenario", "internal/scenario/grammar"}},
	{"internal/app/fuzz", []string{"internal/kernel/hook", "internal/kernel/object", "internal/subsys/hid", "internal/subsys/hid/device", "internal/endian", "internal/lazyre", "internal/uapi", "internal/progtype", "decode", "btf", "internal/packet", "loader", "vm", "internal/maps", "internal/kernel", "internal/machine/finding", "internal/machine", "internal/machine/differ", "internal/find/search", "internal/scenario/invariant", "internal/scenario", "internal/scenario/grammar"}},
	{"internal/app/scenes", []string{"internal/uapi", "internal/progtype", "internal/kernel/hook", "loader", "internal/machine", "internal/bpfsys", "internal/exec", "internal/scenario", "internal/scenario/grammar"}},
	{"internal/app/builds", []string{"internal/uapi", "decode", "loader", "internal/verifier", "internal/app/minkernel", "internal/machine", "internal/machine/differ", "internal/scenario"}},
	{"bpftest", []string{"internal/kernel/model", "internal/kernel/hook", "internal/kernel/object", "internal/app/fuzz", "internal/endian", "internal/nearest", "internal/shell", "internal/kernels", "internal/exec", "internal/bpfsys", "internal/uapi", "internal/progtype", "btf", "btf/btffile", "internal/packet", "loader", "vm", "internal/maps", "internal/kernel", "internal/machine", "internal/scenario", "internal/verifier"}},
	{"bpftest/ebpfspec", []string{"internal/elfbuild", "bpftest"}},
	{"internal/intest", []string{"internal/kernel/object", "internal/exitcode", "internal/uapi", "internal/progtype", "loader", "internal/maps", "internal/kernel", "internal/machine"}},
	{"internal/app/matrix", []string{"internal/kernel/object", "internal/valuehash", "internal/progtype", "btf", "loader", "internal/offsets", "internal/verifier", "vm", "internal/kernel", "internal/machine", "internal/subsys", "internal/subsys/drive"}},
	{"internal/app/cover", []string{"internal/sourcepage", "internal/worded", "internal/markup", "internal/visible", "loader", "internal/machine"}},
	{"internal/debug", []string{"internal/kernel/object", "internal/lazyre", "internal/nearest", "internal/uapi", "internal/progtype", "decode", "btf", "btf/debuginfo", "internal/packet", "corerelo", "loader", "internal/verifier", "internal/mem", "vm", "internal/maps", "internal/kernel", "helpers/proto", "helpers", "internal/machine", "internal/scenario", "internal/intest", "internal/debug/scopes", "internal/debug/expr"}},
	{"internal/debug/repl", []string{"internal/worded", "internal/visible", "internal/nearest", "btf", "loader", "internal/verifier", "internal/machine", "internal/scenario", "internal/debug"}},
	{"internal/debug/dap", []string{"internal/worded", "internal/nearest", "decode", "internal/debug", "internal/debug/repl"}},
	{"internal/app/report", []string{"internal/app/fuzz", "internal/flame", "internal/sourcepage", "internal/app/cover", "internal/verifier/mend", "internal/verifier/profile", "internal/verifier/configs", "internal/app/minkernel", "internal/app/builds", "internal/machine/finding", "internal/lazyre", "internal/exitcode", "internal/markup", "internal/visible", "internal/uapi", "internal/verifier/klog", "internal/verifier", "internal/progtype", "decode", "btf", "btf/check", "btf/ids", "internal/packet", "corerelo", "loader", "internal/offsets", "vm", "jit", "internal/mem", "internal/maps", "internal/kernel", "helpers", "internal/machine", "internal/subsys/hid", "internal/subsys/sched", "internal/subsys/qdisc", "internal/subsys/sockmap", "internal/subsys/hid/device", "internal/subsys/sched/schedule", "internal/subsys/qdisc/traffic", "internal/find/race", "internal/scenario", "internal/intest", "internal/app/matrix", "internal/subsys", "internal/subsys/drive", "internal/subsys/show"}},
	{"internal/app/testrun", []string{"internal/kernel/object", "internal/project", "internal/exitcode", "internal/kernels", "internal/shell", "loader", "internal/kernel", "internal/machine", "internal/scenario", "internal/intest", "internal/debug", "internal/app/report"}},
	{"internal/app/pass", []string{"internal/verifier/mend", "internal/exitcode", "internal/visible", "internal/uapi", "helpers/proto", "decode", "loader", "internal/verifier", "internal/bpfsys", "internal/machine", "internal/find/search", "internal/subsys/hid/device", "internal/subsys/sched/schedule", "internal/subsys/qdisc/traffic", "internal/debug", "internal/app/report", "internal/subsys"}},
	{"internal/app/races", []string{"internal/uapi/since", "loader", "internal/machine", "internal/find/race", "internal/app/report"}},
	{"internal/app/play", []string{"internal/assembly", "internal/verifier/profile", "internal/debug/scopes", "internal/scenario", "internal/app/fuzz", "internal/app/races", "internal/verifier/klog", "jit", "btf", "internal/progtype", "btf/btffile", "btf/embedded", "loader", "internal/machine", "internal/app/matrix", "internal/packet", "internal/debug", "internal/app/report", "internal/app/pass"}},
	{"examples", nil},
	{"web", []string{"examples", "internal/markup"}},
	{"internal/app/play/serve", []string{"internal/app/play", "web"}},
	{"internal/app/capture", []string{"internal/uapi", "internal/progtype", "internal/packet", "loader", "vm", "internal/machine", "internal/replay", "internal/app/report"}},
	{"conformance", []string{"internal/kernel/object", "internal/kernel/net", "internal/kernel/hook", "internal/kernel/model", "internal/endian", "internal/lazyre", "internal/worded", "internal/elfbuild", "internal/testing/mutate", "internal/uapi", "internal/progtype", "internal/verifier", "decode", "btf", "btf/check", "corerelo", "loader", "internal/mem", "vm", "jit", "internal/maps", "internal/kernel", "helpers", "internal/machine", "internal/scenario"}},
}

// mainPackages may import every package above.
var mainPackages = []string{"cmd/", "conformance/races/", "scripts/", "examples/", "testdata/", "internal/bench/"}

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
	require.True(t, found["decode"] && found["btf"] && found["internal/machine"], "packages found: %v", found)
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
var libraries = []string{"btf", "decode", "corerelo", "internal/mem"}

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
