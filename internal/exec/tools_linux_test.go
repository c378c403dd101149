//go:build linux && amd64

package exec

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
)

// varies is what differs from run to run: times of day, the load of the host, how long something
// took; and addresses, which depend on what was allocated before.
var varies = []struct {
	is  *regexp.Regexp
	put string
}{
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "hh:mm:ss"},
	{regexp.MustCompile(`loadavg: .*`), "loadavg: ..."},
	{regexp.MustCompile(`loaded_at \S+`), "loaded_at ..."},
	{regexp.MustCompile(`(average\)|duration): \d+ns`), "$1: ...ns"},
	{regexp.MustCompile(`ffff8[0-9a-f]{11}\b`), "ffff8..........."},
	{regexp.MustCompile(`(?m)[ \t]*\bpids .*\n`), "\n"},
}

// TestPackagedToolsPrintWhatHappens runs the tools of distributions, unmodified, on the embedded
// kernel. A file of testdata/tools has the command in a line "run: COMMAND", the events if they are
// not in examples/exec/events, and what the tool printed; or a script of commands, which runs in a
// directory with the objects of examples/. The packages are Debian 12's: libbpf-tools 0.26, bpftool
// 7.1, bpftrace 0.17, xdp-tools 1.3. Tools are looked for in BPFRUN_TOOLS, a list of directories,
// and in the system's.
func TestPackagedToolsPrintWhatHappens(t *testing.T) {
	every := testsize.Pick(1, testsize.Sample(4, 16), 0)
	if every == 0 {
		t.Skip("takes half a minute")
	}
	if *rewrite.Flag {
		every = 1
	}
	dirs := append(filepath.SplitList(os.Getenv("BPFRUN_TOOLS")), "/usr/sbin", "/sbin", os.Getenv("PATH"))
	t.Setenv("PATH", strings.Join(dirs, ":"))
	t.Setenv("TZ", "UTC")
	t.Setenv("LC_ALL", "C")
	files, err := filepath.Glob("testdata/tools/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i, file := range files {
		if i%every != 0 {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			command, parts := "", map[string]string{}
			for l := range strings.Lines(string(a.Comment)) {
				if c, ok := strings.CutPrefix(strings.TrimSpace(l), "run: "); ok {
					command = c
				}
				if why, ok := strings.CutPrefix(strings.TrimSpace(l), "root: "); ok && os.Getuid() != 0 {
					t.Skip("needs root: " + why)
				}
			}
			require.NotEmpty(t, command, "%s has no line run: COMMAND", file)
			for _, f := range a.Files {
				parts[f.Name] = string(f.Data)
			}
			tool, _, _ := strings.Cut(command, " ")
			events, inline := parts["events"]
			if !inline { // those of the library
				text, err := os.ReadFile("../../examples/exec/events/" + strings.TrimSuffix(filepath.Base(file), ".txtar") + ".events")
				if !os.IsNotExist(err) {
					require.NoError(t, err)
				}
				events = string(text)
			}
			script, scripted := parts["script"]
			if scripted {
				command = "cd $WORK\n"
				for l := range strings.Lines(script) { // set -x would mix the commands of pipelines
					command += "printf '%s\\n' '$ " + strings.ReplaceAll(strings.TrimSpace(l), "'", `'\''`) + "'\n" + l
				}
			}
			if _, err := osexec.LookPath(tool); err != nil {
				t.Skipf("%v: Debian packages libbpf-tools, bpftool, bpftrace and xdp-tools have it; BPFRUN_TOOLS names other directories", err)
			}
			if !scripted {
				command = "exec " + command
			}
			work := t.TempDir()
			require.NoError(t, os.Chmod(work, 0o777))
			t.Setenv("WORK", work)
			objects, err := filepath.Glob("../../examples/*/*.bpf.o")
			require.NoError(t, err)
			for _, o := range objects {
				b, err := os.ReadFile(o)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(work, strings.TrimSuffix(filepath.Base(o), ".bpf.o")+".o"), b, 0o644))
			}
			r := start(t, "", events, func(c *Config) {
				c.Args, c.Root = []string{"/bin/sh", "-c", command}, true
			})
			got := r.out
			for _, v := range varies {
				got = v.is.ReplaceAllString(got, v.put)
			}
			if got != "" && !strings.HasSuffix(got, "\n") {
				got += "\n"
			}
			if *rewrite.Flag {
				a.Files = nil
				for _, name := range []string{"script", "events"} {
					if s, ok := parts[name]; ok {
						a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(s)})
					}
				}
				a.Files = append(a.Files, txtar.File{Name: "output", Data: []byte(got)})
				require.NoError(t, os.WriteFile(file, txtar.Format(a), 0o644))
				t.Logf("%s%s", got, r.notes)
				return
			}
			assert.Equal(t, parts["output"], got, "%s", r.notes)
		})
	}
}

// TestTheLibraryOfEventsIsRead: each file of the library is one of a tool that is tested, and says
// how it is used.
func TestTheLibraryOfEventsIsRead(t *testing.T) {
	files, err := filepath.Glob("../../examples/exec/events/*.events")
	require.NoError(t, err)
	require.Greater(t, len(files), 40)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, err = ReadEvents(strings.NewReader(string(text)))
		require.NoError(t, err, file)
		name := strings.TrimSuffix(filepath.Base(file), ".events")
		golden, err := txtar.ParseFile("testdata/tools/" + name + ".txtar")
		require.NoError(t, err)
		_, command, _ := strings.Cut(string(golden.Comment), "run: ")
		command = strings.TrimSpace(command)
		first, _, _ := strings.Cut(string(text), "\n")
		assert.Equal(t, "# bpfrun exec --events "+name+".events -- "+command, first)
	}
}
