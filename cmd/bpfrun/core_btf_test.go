package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernels"
)

func TestBTFShow(t *testing.T) {
	golden(t, "btf-show.txt", exitOK, "btf", "show", btfEmbedded, "struct sock_common", "task_struct.cred", "task_struct.comm", "enum pid_type", "pid_t", "func vfs_read", "sk_buff.pkt_type")
	golden(t, "btf-show-expand.txt", exitOK, "btf", "show", "-E", btfEmbedded, "struct path")
	for _, c := range []struct{ args, text string }{
		{"btf show embedded task_strct", "nearest: task_struct"},
		{"btf show embedded task_struct.credd", "nearest: cred"},
		{"btf show embedded", "want bpfrun btf show FILE TYPE"},
		{"btf show no/such/file x", "no such file"},
		{"btf dump embedded --format json", "want raw or c"},
		{"btf dump testdata/btf", "this command takes one"},
		{"btf diff embedded embedded nothing_of_this_name", "no type has this name"},
		{"btf find embedded [", "syntax error"},
		{"btf min examples/exec/exec.bpf.o --btf embedded", "needs -o OUT"},
		{"btf min -o /dev/null embedded", "want BTF OBJECT"},
		{"btf relocate embedded", "needs --base NEWBASE"},
	} {
		_, errs, code := commandLine(t, strings.Fields(c.args)...)
		assert.Equal(t, exitUsage, code, c.args)
		assert.Contains(t, errs, c.text, c.args)
	}
	_, errs, code := commandLine(t, "btf", "dump", "examples/Makefile")
	assert.Equal(t, exitLoad, code)
	assert.Contains(t, errs, "not BTF")
}

func TestBTFDump(t *testing.T) {
	golden(t, "btf-dump.txt", exitOK, "btf", "dump", btfEmbedded, "struct list_head", "enum pid_type", "pid_t", "func vfs_read")
	golden(t, "btf-dump-c.txt", exitOK, "btf", "dump", btfEmbedded, "--format", "c", "struct path")
	golden(t, "btf-find.txt", exitOK, "btf", "find", btfEmbedded, "list_head", "bpf_map_t*")
	_, errs, code := commandLine(t, "btf", "find", btfEmbedded, "no_such_type")
	assert.Equal(t, exitExpectation, code, errs)
}

func TestBTFDiff(t *testing.T) {
	golden(t, "btf-diff.txt", exitExpectation, "btf", "diff", btf510, btfEmbedded, "struct path", "struct sock_common", "func vfs_unlink", "enum bpf_map_type")
	_, _, code := commandLine(t, "btf", "diff", btfEmbedded, btfEmbedded)
	assert.Equal(t, exitOK, code)
	out, _, code := commandLine(t, "btf", "diff", btf510, btfEmbedded)
	assert.Equal(t, exitExpectation, code)
	assert.Contains(t, out, "\n~ struct task_struct: ")
	assert.Regexp(t, `\n\d+ added, \d+ removed, \d+ changed\n$`, out)
	out, _, _ = commandLine(t, "btf", "diff", btf510, btfEmbedded, "task_struct", "--json")
	assert.Contains(t, out, `"path": "__state"`)
}

// withoutIDs is a raw dump without the numbers of types, sorted.
func withoutIDs(dump string) []string {
	lines := strings.Split(regexp.MustCompile(`(?m)^\[\d+\] |type_id=\d+`).ReplaceAllString(dump, ""), "\n")
	slices.Sort(lines)
	return lines
}

func TestBTFMin(t *testing.T) {
	var objects []string
	for _, name := range []string{"exec", "guarded", "unlink", "fentry", "lsm", "tp_btf", "tc"} {
		objects = append(objects, "examples/"+name+"/"+name+".bpf.o")
	}
	dir := t.TempDir()
	small := filepath.Join(dir, "small.btf")
	out, errs, code := commandLine(t, append([]string{"btf", "min", "-o", small, btfEmbedded}, objects...)...)
	require.Equal(t, exitOK, code, errs)
	assert.Regexp(t, `: \d+ of \d+ types, \d+ of \d+ bytes for \d+ relocations -> `, out)
	ours, _, _ := commandLine(t, "btf", "dump", small)
	golden(t, "btf-min.txt", exitOK, "btf", "dump", small)

	// The same with several kernels, into a directory; the map of ids on request.
	out, errs, code = commandLine(t, append([]string{"btf", "min", "-v", "-o", dir + "/many/", "--btf", btfEmbedded, "--btf", btf510}, objects...)...)
	require.Equal(t, exitOK, code, errs)
	assert.Regexp(t, `\n  \[\d+\] -> \[\d+\] struct task_struct\n`, out)
	files, err := filepath.Glob(dir + "/many/*.btf")
	require.NoError(t, err)
	assert.Len(t, files, 2)
	a, err := os.ReadFile(small)
	require.NoError(t, err)
	b, err := os.ReadFile(files[slices.IndexFunc(files, func(f string) bool { return strings.Contains(f, "6.12") })])
	require.NoError(t, err)
	assert.Equal(t, a, b)

	// bpftool keeps the same types and members.
	bpftool, err := exec.LookPath("bpftool")
	if err != nil {
		t.Skip("there is no bpftool to compare with")
	}
	raw := filepath.Join(dir, "raw.btf")
	_, errs, code = commandLine(t, "btf", "dump", small)
	require.Equal(t, exitOK, code, errs)
	spec, err := btfSource{Source: kernels.EmbeddedSource()}.load(nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(raw, spec.Raw(), 0o644))
	theirs := filepath.Join(dir, "bpftool.btf")
	cmd := exec.Command(bpftool, append([]string{"gen", "min_core_btf", raw, theirs}, objects...)...)
	cmd.Dir = "../.."
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("bpftool: %v: %s", err, msg)
	}
	want, _, _ := commandLine(t, "btf", "dump", theirs)
	assert.Equal(t, withoutIDs(want), withoutIDs(ours))
}

// TestBTFRelocate moves the split BTF of a module from one kernel onto another.
func TestBTFRelocate(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b *btf.Builder) (string, *btf.Spec) {
		s, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, s.Raw(), 0o644))
		return path, s
	}
	base := func(before ...string) *btf.Builder {
		b := btf.NewBuilder(nil)
		for _, name := range before {
			b.Int(name, 8, 0)
		}
		b.Struct("sock", 4, btf.Member{Name: "id", Type: b.Int("int", 4, btf.IntSigned)})
		return b
	}
	oldPath, old := write("old.btf", base())
	newPath, _ := write("new.btf", base("a", "b"))
	mod := btf.NewBuilder(old)
	mod.Struct("mine", 8, btf.Member{Name: "sk", Type: mod.Ptr(2)})
	split, _ := write("mod.btf", mod)
	out := filepath.Join(dir, "moved.btf")
	_, errs, code := commandLine(t, "btf", "relocate", split, "--old-base", oldPath, "--base", newPath, "-o", out)
	require.Equal(t, exitOK, code, errs)
	shown, errs, code := commandLine(t, "btf", "dump", out, "--base", newPath)
	require.Equal(t, exitOK, code, errs)
	assert.Equal(t, "[5] PTR '(anon)' type_id=4\n[6] STRUCT 'mine' size=8 vlen=1\n\t'sk' type_id=5 bits_offset=0\n", shown)

	// Types without name of the old kernel are no obstacle: those the module needs go with it.
	withAnon := base()
	withAnon.Struct("", 4, btf.Member{Name: "anonymous", Type: 1})
	anonPath, anon := write("anon.btf", withAnon)
	mod = btf.NewBuilder(anon)
	mod.Struct("mine", 4, btf.Member{Name: "in", Type: 3})
	anonSplit, _ := write("anonmod.btf", mod)
	_, errs, code = commandLine(t, "btf", "relocate", anonSplit, "--old-base", anonPath, "--base", newPath, "-o", out)
	require.Equal(t, exitOK, code, errs)
	shown, errs, code = commandLine(t, "btf", "show", out, "mine.in.anonymous", "--base", newPath)
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, shown, "int")

	lacking, _ := write("lacking.btf", btf.NewBuilder(nil))
	_, errs, code = commandLine(t, "btf", "relocate", split, "--old-base", oldPath, "--base", lacking, "-o", out)
	assert.Equal(t, exitLoad, code)
	assert.Contains(t, errs, "cannot relocate split BTF")
}

// TestPickRelease: of a directory of kernels --kernel-version takes the one it names.
func TestPickRelease(t *testing.T) {
	out, errs, code := commandLine(t, "relo", "examples/exec/exec.bpf.o", "--btf", "testdata/btf/min", "--kernel-version", "6.12.107-riscv64")
	require.Equal(t, exitOK, code, errs)
	assert.True(t, strings.HasPrefix(out, "exec.bpf.o on linux-6.12.107-riscv64.min "), out)
	_, errs, code = commandLine(t, "relo", "examples/exec/exec.bpf.o", "--btf", "testdata/btf/min", "--kernel-version", "4.14")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "none of 11 files is for this release")
}
