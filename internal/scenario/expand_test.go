package scenario

import (
	"strings"
	"testing"

	"github.com/bpfrun/bpfrun/internal/scenario/grammar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func namesOf(runs []*Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.Name)
	}
	return out
}

// Anchors, merge keys, defaults and parameters give the runs that were written out in full.
func TestFilesThatRepeatNothing(t *testing.T) {
	const full = `
runs:
- {name: port 443, prog: firewall, packet: eth/ip/tcp(dport=443), expect: {ret: XDP_PASS, packet: unchanged}}
- {name: port 23, prog: firewall, packet: eth/ip/tcp(dport=23), expect: {ret: XDP_DROP, packet: unchanged}}
`
	f, err := Parse("s.yaml", []byte(full))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"defaults": `
defaults: {prog: firewall, expect: {packet: unchanged, ret: XDP_ABORTED}}
runs:
- {name: port 443, packet: eth/ip/tcp(dport=443), expect: {ret: XDP_PASS}}
- {name: port 23, packet: eth/ip/tcp(dport=23), expect: {ret: XDP_DROP}}
`,
		"anchors": `
runs:
- &first {name: port 443, prog: &prog firewall, packet: eth/ip/tcp(dport=443), expect: &expect {ret: XDP_PASS, packet: unchanged}}
- <<: *first
  name: port 23
  prog: *prog
  packet: eth/ip/tcp(dport=23)
  expect: {ret: XDP_DROP, <<: *expect}
`,
		"a list of merges": `
runs:
- {<<: [{name: port 443}, {name: never, prog: firewall}], packet: eth/ip/tcp(dport=443), expect: {ret: XDP_PASS, packet: unchanged}}
- {name: port 23, prog: firewall, packet: eth/ip/tcp(dport=23), expect: {ret: XDP_DROP, packet: unchanged}}
`,
		"parameters": `
runs:
- {name: "port ${port}", prog: firewall, packet: "eth/ip/tcp(dport=${port})", each: [{port: 443, verdict: XDP_PASS}, {port: 23, verdict: XDP_DROP}], expect: {ret: "${verdict}", packet: unchanged}}
`,
		"a parameter that is a mapping": `
defaults: {prog: firewall}
runs:
- {name: "port ${port}", packet: "eth/ip/tcp(dport=${port})", expect: "${e}", each: [{port: 443, e: {ret: XDP_PASS, packet: unchanged}}, {port: 23, e: {ret: XDP_DROP, packet: unchanged}}]}
`,
	} {
		g, err := Parse("s.yaml", []byte(text))
		require.NoError(t, err, name)
		require.Equal(t, namesOf(f.Runs), namesOf(g.Runs), name)
		for i, r := range g.Runs {
			assert.Equal(t, f.Runs[i].Prog, r.Prog, name)
			assert.Equal(t, f.Runs[i].Packet, r.Packet, name)
			assert.Equal(t, f.Runs[i].Expect.Ret.Text, r.Expect.Ret.Text, name)
			assert.Equal(t, f.Runs[i].Expect.Packet.Text, r.Expect.Packet.Text, name)
		}
	}
}

func TestNamesOfParametrisedRuns(t *testing.T) {
	f, err := Parse("s.yaml", []byte(`
runs:
- {prog: p, each: {cpu: [0, 1], n: [5, 6]}, cpu: "${cpu}", repeat: "${n}"}
- {name: b, prog: p, each: [{x: a b}], args: {"${x}": "$${x}"}}
sequence: ["b (x=a b)", "p (cpu=0, n=5)"]
`))
	require.NoError(t, err)
	assert.Equal(t, []string{"p (cpu=0, n=5)", "p (cpu=0, n=6)", "p (cpu=1, n=5)", "p (cpu=1, n=6)", "b (x=a b)"}, namesOf(f.Runs))
	assert.Equal(t, 1, f.Runs[3].CPU)
	assert.Equal(t, 6, f.Runs[3].Repeat)
	assert.Equal(t, "a b", f.Runs[4].Args[0].Key.Text)
	assert.Equal(t, "$${x}", f.Runs[4].Args[0].Value.Text, "two dollar signs are no parameter")
}

// A default packet gives way to a capture.
func TestDefaultsThatDoNotFit(t *testing.T) {
	f, err := Parse("s.yaml", []byte("defaults: {prog: p, packet: eth/ip, truncate: all}\nruns: [{name: a, pcap: x.pcap}, {name: b}]\n"))
	require.NoError(t, err)
	assert.Nil(t, f.Runs[0].Packet)
	assert.Nil(t, f.Runs[0].TruncateNode)
	assert.NotNil(t, f.Runs[1].Packet)
}

// Units are what shares a machine; runs of a sequence bring those before them.
func TestUnits(t *testing.T) {
	f, err := Parse("s.yaml", []byte("runs: [{name: a, prog: p}, {name: b, prog: p}, {name: c, prog: p}, {name: d, prog: p}]\nsequence: [c, b, c]\n"))
	require.NoError(t, err)
	shape := func(pick func(*Run) bool) (out [][]string) {
		for _, u := range f.Units(pick) {
			var names []string
			for _, s := range u.steps {
				name := s.run.Name
				if !s.wanted {
					name = "(" + name + ")"
				}
				names = append(names, name)
			}
			out = append(out, names)
		}
		return out
	}
	assert.Equal(t, [][]string{{"a"}, {"c", "b", "c"}, {"d"}}, shape(nil))
	assert.Equal(t, [][]string{{"(c)", "b"}}, shape(func(r *Run) bool { return r.Name == "b" }))
	assert.Equal(t, [][]string{{"d"}}, shape(func(r *Run) bool { return r.Name == "d" }))
	assert.Empty(t, shape(func(*Run) bool { return false }))
}

// TestMostRuns: the most runs that parameters make, of one each: and of several.
func TestMostRuns(t *testing.T) {
	list := func(name string, n int) string {
		return name + ": [" + strings.Repeat("0, ", n-1) + "0]"
	}
	for _, tt := range []struct {
		name string
		each []string
		want string
	}{
		{"one list", []string{list("a", maxRuns)}, ""},
		{"one longer list", []string{list("a", maxRuns+1)}, "more than 50000 combinations"},
		{"two lists", []string{list("a", maxRuns/2) + ", b: [0, 1]"}, ""},
		{"two longer lists", []string{list("a", maxRuns/2+1) + ", b: [0, 1]"}, "more than 50000 combinations"},
		{"two runs", []string{list("a", maxRuns-1), "a: [0]"}, ""},
		{"two longer runs", []string{list("a", maxRuns-1), "a: [0, 1]"}, "more than 50000 runs in the file"},
	} {
		text := "runs:\n"
		for _, e := range tt.each {
			text += "- {prog: p, each: {" + e + "}, cookie: '${a}'" + map[bool]string{true: ", repeat: '${b}1'"}[strings.Contains(e, "b:")] + "}\n"
		}
		f, err := grammar.ParseYAML("s.yaml", []byte(text))
		require.NoError(t, err, tt.name)
		_, err = expanded(f.Get("runs").Items, nil)
		if tt.want == "" {
			require.NoError(t, err, tt.name)
			continue
		}
		require.Error(t, err, tt.name)
		assert.Contains(t, err.Error(), tt.want, tt.name)
	}
}
