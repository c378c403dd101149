package report

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/cover"
	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/subsys"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc/traffic"
	"github.com/bpfrun/bpfrun/internal/subsys/sched/schedule"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap"
	"github.com/bpfrun/bpfrun/internal/subsys/sockmap/stream"
)

// evil is a name as an object or a scenario file can have it.
const evil = `"><script>alert('x')</script><img src=//evil.example>&`

func evilError() *Error { return &Error{Kind: evil, Message: evil, Lines: []string{evil, evil}} }

// evilRuns is a document all of whose texts are hostile.
func evilRuns(t *testing.T) *RunDocument {
	t.Helper()
	before, err := packet.Parse(`eth/ip(ttl=64)/udp(dport=53)/'<script>alert(1)</script>'`)
	require.NoError(t, err)
	after, err := packet.Parse(`eth/vlan(id=5)/ip(ttl=63)/udp(dport=53)/'<script>alert(2)</script>'`)
	require.NoError(t, err)
	value := evil
	insn := 3
	moved := &stream.Moved{Sockets: []sockmap.Result{{Name: evil, Received: []byte(evil)}}}
	return &RunDocument{
		Object: evil, Scenario: evil, Error: evilError(), Target: &Target{Name: evil, Arch: evil}, Warnings: []string{evil},
		Chain: &Chain{Verdict: evil, NotRun: []string{evil}},
		Programs: []Program{{
			Name: evil, Section: evil, Hook: evil, Status: evil, Error: evilError(), Poisoned: []PoisonedInsn{{Verdict: "BREAK", Source: evil, Access: evil, Hint: evil}},
			Verifier: &Verdict{
				Verdict: "refused", Reason: evil, Message: evil, Errno: evil, Insn: &insn, Source: &VerifySource{evil, 1, evil}, Registers: evil, NotLoaded: evil, Assumes: evil,
				Path: []VerifyStep{{3, true, &VerifySource{evil, 1, evil}}}, Mend: &VerifyMend{Text: evil}, History: []VerifyCause{{1, evil, evil, evil, &VerifySource{evil, 1, evil}}},
			},
			Runs: []Run{{
				from: 1000, to: 5000, Name: evil, Function: evil, Verdict: evil, titled: true, Fault: &Fault{Kind: evil, Text: evil}, packetIn: before, packetOut: after, PacketChanges: []string{evil},
				Events: []Event{{Map: evil, Kind: evil, at: 2000}}, Effects: []Effect{{evil, evil, evil}}, Trace: []string{evil}, Output: evil, WhyNot: []string{evil, evil},
				Warnings: []string{evil}, Reached: &Reached{By: []string{evil}}, KernelReads: []Access{{Type: evil, Path: evil}},
				Expectations: []Expectation{{What: evil, Want: evil, Got: evil, Place: evil}},
			}},
			Replay: &Replay{File: evil, Verdicts: map[string]int{evil: 2}, Fault: &Fault{Text: evil}, Changes: []PacketChange{{1, evil, []string{evil}}}},
		}},
		Maps: map[string]Map{
			evil:    {Type: evil, Entries: []Entry{{Key: evil, Typed: TypedEntry{evil, evil}}, {Key: evil, Value: &value}, {Key: evil, PerCPU: []string{evil}}}},
			"other": {Type: evil, LeftOut: evil},
		},
		Globals:    map[string]Global{evil: {Section: evil, Typed: evil}},
		Histograms: []Histogram{{Map: evil, Key: evil, Path: evil, Slots: []uint64{1, 0, 3}}},
		Simulations: subsys.Simulations{
			Schedules: []schedule.Schedule{{
				Run: evil, Ops: evil, Status: evil, Error: evilError(), Exit: &schedule.ScheduleExit{Kind: evil, Message: evil, Dump: evil}, Duration: 100, Busy: []uint64{50},
				Tasks: []schedule.ScheduleTask{{Name: evil}}, Segments: []schedule.ScheduleSegment{{CPU: 0, Task: evil, From: 10, To: 60}, {CPU: 7, Task: evil, To: 1}, {CPU: 0, Task: evil, From: 90, To: 1000}},
			}},
			Traffic: []traffic.Traffic{{
				Run: evil, Ops: evil, Error: evilError(), Duration: 100, Flows: []traffic.TrafficFlow{{Name: evil, Leaked: 1}}, Stalled: true,
				Packets: []traffic.TrafficPacket{{Name: evil, Arrival: 1, Dequeued: 5, Sent: 9}, {Name: evil, Arrival: 1, Dropped: 2}}, Queue: []traffic.TrafficSample{{At: 1, Held: 1}, {At: 90}},
			}},
			Sockets: []stream.Sockets{*moved.Document(evil, NewError).(*stream.Sockets)},
		},
	}
}

// evilCoverage is a profile with a source line.
func evilCoverage() *cover.Profile {
	p := cover.New()
	p.Objects = []*cover.Object{{
		Name: evil, Files: []*cover.File{{Path: evil + ".c", Texts: map[int]string{3: evil}}},
		Kernels: []*cover.Kernel{{Name: evil, Runs: 1, Functions: []*cover.Function{
			{Name: evil, Section: evil, Program: true, Hits: []int{1, 0}, Lines: [][3]int{{0, 0, 3}}, Branches: []cover.Branch{{Slot: 0, Taken: 1}}}, {Name: evil, Section: "x", Hits: []int{1}},
		}}},
	}}
	return p
}

// pages are all pages with hostile contents.
func pages(t *testing.T) map[string]string {
	t.Helper()
	run := evilRuns(t)
	verdict := *run.Programs[0].Verifier
	facts := &DiffFacts{Section: evil, Status: "ok", Reason: evil, Source: evil, Processed: 5, Helpers: []string{evil}, Oldest: evil}
	older := *facts
	older.Helpers, older.Reason, older.Section, older.Oldest = nil, "", "tc", ""
	out := map[string]string{}
	var b strings.Builder
	page := func(name string, err error) {
		require.NoError(t, err, name)
		out[name] = b.String()
		b.Reset()
	}
	page("run", WriteRunHTML(&b, Documents{Results: []*RunDocument{run}}, nil))
	page("runs", WriteRunHTML(&b, Documents{Results: []*RunDocument{run, run}}, nil))
	page("test", WriteTestsHTML(&b, []*Suite{
		{File: evil, Target: evil, Cases: []TestCase{{Name: evil, Failures: []string{evil}, Notes: []string{evil}, Debug: evil, Histograms: run.Histograms}, {Name: evil, Skipped: evil}, {Name: evil, Doubt: evil}}},
		{File: evil + "2", Err: errors.New(evil)},
	}, []*RunDocument{run}, Covered{evil, 1, 2, evil}))
	page("verify", WriteVerifyHTML(&b, VerifyDocuments{Results: []*VerifyDocument{{Object: evil, Error: evilError(), Target: run.Target, Programs: []VerifyProgram{{Name: evil, Section: evil, Verdict: verdict}}}}}))
	page("diff", WriteDiffHTML(&b, &DiffDocument{Old: Build{evil, 1}, New: Build{evil, 2}, Results: []DiffResult{{
		Target: run.Target, Maps: []DiffMap{{evil, evil, evil, []string{evil}}}, Left: []DiffLeft{{evil, evil, evil}},
		Programs: []DiffProgram{{Name: evil, Old: &older, New: facts, Differences: []DiffDifference{{evil, evil}}, Exceeds: []DiffExcess{{LimitInsns, 1, 9, 10}}}, {Name: evil, Old: facts}, {Name: evil, New: facts}},
	}}}))
	page("fuzz", WriteFuzzHTML(&b, &FuzzDocument{
		Object: evil, Target: run.Target, Error: evilError(), Path: evil, Keep: evil, Unconfirmed: 1, Skipped: []FuzzSkipped{{evil, evil}}, Suite: []FuzzSuite{{evil, evil, []string{evil}}},
		Programs: []FuzzProgram{{Name: evil, Unreached: []FuzzUnreached{{evil, evil}}}},
		Findings: []FuzzFinding{{Kind: evil, Program: evil, Source: evil, Message: evil, Scenario: evil, Line: evil, Input: evil}},
	}, evilCoverage(), func(string) ([]string, bool) { return nil, false }))
	actors := []RaceActor{{Name: evil, Program: evil}, {Name: evil + "#2", Over: evil}}
	page("race", WriteRaceHTML(&b, &RaceDocument{
		Object: evil, Target: run.Target, Error: evilError(), Races: []Race{{Name: evil, Actors: actors, Why: evil, Findings: 2}}, Left: []RaceLeft{{evil, evil}},
		Findings: []RaceFinding{
			{
				Kind: evil, Race: evil, Message: evil, Actors: actors, Differs: []RaceDiffer{{evil, evil, []string{evil, evil}}}, Advice: []string{evil, evil}, Before: []string{evil}, Inputs: []string{evil}, Assumes: []string{evil}, Scenario: evil,
				Sides: []RaceSide{{Actor: evil, Source: evil, Line: evil, What: evil}, {Actor: evil + "#2", What: evil, number: 1}}, Order: []RaceTurn{{evil, 5}, {evil + "#2", 9}, {"nobody", 1}},
			},
			{Kind: evil, Benign: true, Message: evil, Sides: []RaceSide{{Source: evil}}},
		},
	}))
	page("bench", WriteBenchHTML(&b, &BenchDocument{Object: evil, Program: evil, Engine: evil, Ret: evil, Batches: []float64{1, 2, 2.5}, Target: run.Target, Compared: &BenchComparison{With: evil, Verdict: "slower"}}))
	return out
}

// withoutScript returns a page without the script of its timelines, and how many there were. The page
// allows that one only.
func withoutScript(t *testing.T, text string) (string, int) {
	t.Helper()
	script := "<script>\n" + markup.TimelineScript() + "</script>"
	n := strings.Count(text, script)
	if n > 0 {
		sum := sha256.Sum256([]byte("\n" + markup.TimelineScript()))
		assert.Contains(t, text, "; script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'\"")
	} else {
		assert.NotContains(t, text, "script-src")
	}
	return strings.ReplaceAll(text, script, ""), n
}

var tagOpen = regexp.MustCompile(`<([a-zA-Z][a-zA-Z0-9]*)`)

// The names in objects, scenarios and packets are text on pages, and pages need nothing from
// elsewhere.
func TestPagesStandAloneWhateverTheNamesAre(t *testing.T) {
	for name, text := range pages(t) {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, text, "&#34;&gt;&lt;script&gt;alert(&#39;x&#39;)")
			text, scripts := withoutScript(t, text)
			assert.Equal(t, strings.Contains(text, string(markup.TimelineMark)), scripts == 1, "a script where there is a timeline, and nowhere else")
			for _, m := range tagOpen.FindAllStringSubmatch(text, -1) {
				assert.NotContains(t, []string{"script", "img", "iframe", "object", "link", "base", "form"}, strings.ToLower(m[1]))
			}
			for _, outside := range []string{"http:", "https:", "url(", "@import", " src="} {
				assert.NotContains(t, strings.ReplaceAll(text, "&lt;img src=", ""), outside)
			}
			for _, has := range []string{"default-src 'none'", "prefers-color-scheme: dark", "@media print", "width=device-width", "</html>\n"} {
				assert.Contains(t, text, has)
			}
			for _, pair := range []string{"div", "details", "section", "table", "ol", "ul", "svg", "main"} {
				assert.Equal(t, strings.Count(text, "<"+pair+" ")+strings.Count(text, "<"+pair+">"), strings.Count(text, "</"+pair+">"), pair)
			}
			assert.NotContains(t, text, "%!")
			assert.NotContains(t, text, "NaN")
		})
	}
}

func TestPageDrawsThePacketsDifference(t *testing.T) {
	text := pages(t)["run"]
	assert.Contains(t, text, `<h4>vlan <span class="tag odd">inserted</span></h4>`)
	assert.Contains(t, text, `<small>ttl</small><span><del>64</del> 63</span>`)
	assert.Contains(t, text, "<mark>32</mark>", "the byte of the payload that differs")
	assert.Equal(t, 1, strings.Count(text, "<small>df</small>"))
	assert.NotContains(t, text, "<small>dscp</small>", "bits that are drawn as part of another field")
}

// Runs and records are drawn where they were in time; what has no time is not drawn.
func TestPageDrawsRunsOverTime(t *testing.T) {
	var b strings.Builder
	runs := []Run{{Name: "first", from: 1_000_000, to: 1_004_000, Ret: "0x0", Events: []Event{{Map: "events", Kind: "ringbuf", at: 1_002_000}}}, {Name: "second", from: 2_000_000, to: 2_000_000, Ret: "0x0"}, {Name: "packet of a capture"}}
	require.NoError(t, WriteRunHTML(&b, Documents{Results: []*RunDocument{{Object: "x.o", Target: &Target{}, Programs: []Program{{Name: "on_exec", Status: "ok", Runs: runs}}}}}, nil))
	text := b.String()
	assert.Contains(t, text, `<b title="on_exec">on_exec</b>`)
	assert.Contains(t, text, `<b title="events">events</b>`)
	assert.Contains(t, text, `style="left:0.0000%;width:0.3987%" data-what="on_exec" title="first: 0, 0s to 4µs"`)
	assert.Contains(t, text, `style="left:0.1993%`, "the record, two microseconds later")
	assert.Contains(t, text, `style="left:99.6678%`)
	assert.NotContains(t, text, "packet of a capture: 0, ")
}

// TestAFileWithoutAKernelFailsOnAll: one that cannot be read has no kernel of its own.
func TestAFileWithoutAKernelFailsOnAll(t *testing.T) {
	var b strings.Builder
	require.NoError(t, WriteTestsHTML(&b, []*Suite{
		{File: "good.yaml", Target: "6.1", Cases: []TestCase{{Name: "a"}}}, {File: "broken.yaml", Err: errors.New("line 3")}, {File: "other.yaml", Target: "6.12", Cases: []TestCase{{Name: "a"}}},
	}, nil))
	_, table, _ := strings.Cut(b.String(), "all files")
	rows := strings.Split(table, "<tr")
	row := func(file string) string {
		for _, r := range rows {
			if strings.Contains(r, file) {
				return r
			}
		}
		return ""
	}
	assert.Equal(t, 2, strings.Count(row("broken"), "1 of 1 failed"), row("broken"))
	assert.Equal(t, 1, strings.Count(row("good"), "–"), "not run on the other kernel")
}
