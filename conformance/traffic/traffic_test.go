package traffic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/conformance/record"
	"github.com/bpfrun/bpfrun/internal/testing/bpfprobe"
	"github.com/bpfrun/bpfrun/internal/testing/recording"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

const (
	seed    = 2026
	packets = 600
	golden  = "testdata/verdicts.json"
)

// verdicts is what became of the traffic in one program: runs of equal return values ("2x14 1x3")
// and a digest of the packets afterwards.
type verdicts struct {
	Refused string `json:"refused,omitempty"`
	Returns string `json:"returns,omitempty"`
	Packets string `json:"packets,omitempty"`
}

func summary(runs []conformance.RunExpect) verdicts {
	var b strings.Builder
	h := sha256.New()
	for i := 0; i < len(runs); {
		n := i
		for n < len(runs) && word(&runs[n]) == word(&runs[i]) {
			n++
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%sx%d", word(&runs[i]), n-i)
		i = n
	}
	for _, r := range runs {
		if r.DataOut != nil {
			fmt.Fprintf(h, "%d:", len(*r.DataOut))
			h.Write(*r.DataOut)
		}
	}
	return verdicts{Returns: b.String(), Packets: hex.EncodeToString(h.Sum(nil)[:8])}
}

// word is the return value of a run, or the error with which the kernel does not take the packet.
func word(r *conformance.RunExpect) string {
	if r.Ret == nil {
		return uapi.Errno(r.Errno).Error()
	}
	return strconv.Itoa(int(int32(*r.Ret)))
}

// returns expands what summary wrote.
func (v verdicts) returns() (out []string) {
	for w := range strings.FieldsSeq(v.Returns) {
		at := strings.LastIndexByte(w, 'x')
		n, _ := strconv.Atoi(w[at+1:])
		for range n {
			out = append(out, w[:at])
		}
	}
	return out
}

// open opens an object. Sections that say nothing ("filter", "loadbalancer") are those of socket
// filters.
func open(t *testing.T, path string) *loader.Object {
	t.Helper()
	obj, err := loader.Open(path)
	require.NoError(t, err)
	var opts []loader.Option
	for _, p := range obj.Programs {
		if p.Type == uapi.ProgTypeUnspec {
			opts = append(opts, loader.WithType(p.Name, uapi.ProgTypeSocketFilter))
		}
	}
	if len(opts) > 0 {
		obj, err = loader.Open(path, opts...)
		require.NoError(t, err)
	}
	for _, m := range obj.Maps {
		if m.MaxEntries == 0 && (m.Type == uapi.MapTypeArray || m.Type == uapi.MapTypeCpumap) {
			m.MaxEntries = 2 // user space sets it: the number of CPUs
		}
	}
	return obj
}

// casesOf are the programs of an object that a test run takes, each with the whole traffic.
func casesOf(obj *loader.Object) *conformance.CaseFile {
	file := &conformance.CaseFile{Object: obj.Name, Kernel: record.Release()}
	for _, p := range obj.Programs {
		switch {
		case p.Type == uapi.ProgTypeXDP && p.Attach != uapi.AttachXDPDevmap && p.Attach != uapi.AttachXDPCpumap:
		case p.Type == uapi.ProgTypeSchedCls || p.Type == uapi.ProgTypeSocketFilter:
		default:
			continue
		}
		c := conformance.Case{Name: p.Name}
		for _, f := range Packets(seed, packets) {
			c.Runs = append(c.Runs, conformance.CaseRun{Prog: p.Name, Data: f})
		}
		file.Cases = append(file.Cases, c)
	}
	return file
}

// preset gives the maps of a case their contents, those programs of this size and kind can have.
func preset(linked *loader.Linked, file *conformance.CaseFile) {
	const cpus = 2
	for i := range file.Cases {
		for _, m := range linked.Maps {
			for _, e := range Tables(m.Name, int(m.KeySize), int(m.ValueSize), cpus, linked.Object.ByteOrder) {
				if file.Cases[i].Maps == nil {
					file.Cases[i].Maps = map[string][]conformance.MapElement{}
				}
				file.Cases[i].Maps[m.Name] = append(file.Cases[i].Maps[m.Name], conformance.MapElement{Key: e.Key, Value: e.Value})
			}
		}
	}
}

func objects(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("BPFRUN_CORPUS")
	if dir == "" {
		t.Skip("BPFRUN_CORPUS is not set: the objects are from distribution packages")
	}
	var out []string
	for _, pkg := range []string{"xdp-tools", "libxdp1", "suricata"} {
		list, err := filepath.Glob(filepath.Join(dir, "objects", "*", pkg, "*.o"))
		require.NoError(t, err)
		out = append(out, list...)
	}
	if len(out) == 0 {
		t.Skip("the corpus has no objects of xdp-tools or suricata")
	}
	return out
}

// TestTools: the programs of xdp-tools, libxdp and suricata give the verdicts a kernel gave for the
// same traffic, and change the packets alike. With -record the running kernel is asked.
func TestTools(t *testing.T) {
	paths := objects(t)
	if *recording.Flag {
		recordTools(t, paths)
	}
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	want := map[string]map[string]verdicts{}
	require.NoError(t, json.Unmarshal(text, &want))
	compared := 0
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			obj := open(t, path)
			file := casesOf(obj)
			if len(file.Cases) == 0 {
				t.Skip("nothing a test run takes")
			}
			file.Kernel = "6.18.44"
			linked, err := obj.Load(target(t), loader.LoadOptions{})
			require.NoError(t, err)
			preset(linked, file)
			for _, c := range file.Cases {
				w, ok := want[name][c.Name]
				if !assert.True(t, ok, "%s: not recorded: run with -record as root", c.Name) || w.Refused != "" {
					continue
				}
				runs, err := conformance.Replay(context.Background(), obj, target(t), file, &c)
				require.NoError(t, err, c.Name)
				compared += len(runs)
				got := summary(runs)
				for i, r := range w.returns() {
					if g := word(&runs[i]); g != r {
						assert.Fail(t, "verdict", "%s: packet %d (%x): the kernel returns %s, here %s", c.Name, i, []byte(c.Runs[i].Data), r, g)
						break
					}
				}
				assert.Equal(t, w.Packets, got.Packets, "%s: packets afterwards", c.Name)
			}
		})
	}
	t.Logf("%d packets in programs of %d objects", compared, len(paths))
}

func target(t *testing.T) *loader.Target {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return loader.NewTarget(embedded.Name, spec, loader.WithVersion(6<<16|18<<8|44))
}

// recordTools asks the running kernel, and compares everything else of each case too: maps, events.
func recordTools(t *testing.T, paths []string) {
	t.Helper()
	bpfprobe.Require(t)
	spec, err := btffile.Load("/sys/kernel/btf/vmlinux", nil)
	require.NoError(t, err)
	host := loader.NewTarget("host", spec, loader.WithVersion(6<<16|18<<8|44))
	got := map[string]map[string]verdicts{}
	for _, path := range paths {
		obj := open(t, path)
		file := casesOf(obj)
		if len(file.Cases) == 0 {
			continue
		}
		linked, err := obj.Load(host, loader.LoadOptions{})
		require.NoError(t, err)
		preset(linked, file)
		require.NoError(t, record.Cases(context.Background(), obj, host, file), path)
		name := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
		got[name] = map[string]verdicts{}
		for _, c := range file.Cases {
			if c.Expect.LoadError != "" {
				got[name][c.Name] = verdicts{Refused: c.Expect.LoadError + ": " + c.Expect.VerifierLog}
				continue
			}
			got[name][c.Name] = summary(c.Expect.Runs)
		}
		var report strings.Builder
		judged, err := conformance.JudgeCases(context.Background(), obj, host, file, &report)
		require.NoError(t, err, path)
		t.Logf("%s: %s\n%s", name, judged.Summary(), report.String())
	}
	text, err := json.MarshalIndent(got, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(golden, append(text, '\n'), 0o644))
}

func TestPackets(t *testing.T) {
	a, b := Packets(1, 2000), Packets(1, 2000)
	assert.Equal(t, a, b, "the same seed gives the same frames")
	assert.NotEqual(t, a[:10], Packets(2, 10))
	kinds := map[uint16]int{}
	short := 0
	for _, f := range a {
		require.GreaterOrEqual(t, len(f), least)
		kinds[uint16(f[12])<<8|uint16(f[13])]++
		if len(f) < 34 {
			short++
		}
	}
	for _, k := range []uint16{etherIPv4, etherIPv6, etherARP, etherVLAN, etherQinQ} {
		assert.Greater(t, kinds[k], 10, "%#x", k)
	}
	assert.Greater(t, short, 20, "frames cut short")
}
