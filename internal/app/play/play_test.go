package play

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/loader"
)

// client sends messages to a Player.
type client struct {
	t *testing.T
	p *Player
}

func newClient(t *testing.T, cfg Config) *client {
	c := &client{t, New(cfg)}
	t.Cleanup(c.p.Close)
	return c
}

// raw returns the answer to a message as it is.
func (c *client) raw(message []byte) (result json.RawMessage, e *report.Error) {
	c.t.Helper()
	var a struct {
		ID     int64           `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *report.Error   `json:"error"`
	}
	require.NoError(c.t, json.Unmarshal(c.p.Answer(context.Background(), message), &a))
	assert.NotEqual(c.t, a.Error == nil, a.Result == nil, "a result or an error")
	return a.Result, a.Error
}

// say sends a message and decodes the result.
func (c *client) say(m Message, result any) *report.Error {
	c.t.Helper()
	text, err := json.Marshal(m)
	require.NoError(c.t, err)
	got, e := c.raw(text)
	if e == nil && result != nil {
		require.NoError(c.t, json.Unmarshal(got, result))
	}
	return e
}

// open opens an example.
func (c *client) open(name string) Opened {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../examples", name, name+".bpf.o"))
	require.NoError(c.t, err)
	var o Opened
	require.Nil(c.t, c.say(Message{Do: "open", Name: name + ".bpf.o", Data: data}, &o))
	require.NotEmpty(c.t, o.Object)
	return o
}

func file(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

func TestOpenNamesAnObjectByItsContent(t *testing.T) {
	c := newClient(t, Config{})
	xdp := c.open("xdp")
	assert.Equal(t, []string{"filter"}, programs(xdp))
	assert.Equal(t, xdp.Packets, programs(xdp))
	assert.Equal(t, xdp.Object, c.open("xdp").Object)
	assert.NotEqual(t, xdp.Object, c.open("exec").Object)
	assert.Empty(t, c.open("exec").Packets)
}

func programs(o Opened) (names []string) {
	for _, p := range o.Info.Programs {
		names = append(names, p.Name)
	}
	return names
}

func TestRunReturnsTheDocumentOfTheCommand(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("xdp")
	var doc report.RunDocument
	require.Nil(t, c.say(Message{Do: "run", Object: o.Object, Packet: "eth/ip(src=10.0.0.1)/tcp(dport=80)"}, &doc))
	require.Len(t, doc.Programs, 1)
	require.Len(t, doc.Programs[0].Runs, 1)
	assert.NotEmpty(t, doc.Programs[0].Runs[0].Verdict)
	assert.Nil(t, doc.Programs[0].Runs[0].Reached, "a packet that is given is not changed")
	assert.NotEmpty(t, doc.Maps)
}

func TestCodeTellsWhatRan(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("exec")
	var code Code
	require.Nil(t, c.say(Message{Do: "code", Object: o.Object}, &code))
	var doc report.RunDocument
	require.Nil(t, c.say(Message{Do: "run", Object: o.Object}, &doc))
	patched := 0
	for _, f := range code.Functions {
		for _, insn := range f.Insns {
			if insn.Relocation != nil && insn.Relocation.Old != insn.Relocation.New {
				patched++
			}
		}
	}
	assert.Positive(t, patched, "instructions that CO-RE changed")
	for _, p := range doc.Programs {
		assert.Len(t, code.Executed[p.Name], p.Coverage.Executed, p.Name)
	}
}

// A slider goes anywhere: the state at a point does not depend on the way to it.
func TestStepGoesBothWays(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("xdp")
	at := func(n int64) Step {
		var s Step
		require.Nil(t, c.say(Message{Do: "step", Object: o.Object, Program: "filter", At: n}, &s))
		return s
	}
	end := at(-1)
	assert.Equal(t, "ended", end.State)
	assert.Equal(t, end.End, end.At)
	require.NotEmpty(t, end.Notes)
	assert.Contains(t, end.Notes[0], "XDP_PASS")
	middle := at(int64(end.End / 2))
	assert.Equal(t, "running", middle.State)
	assert.NotEmpty(t, middle.Insn)
	assert.Len(t, middle.Registers, 11)
	assert.NotEmpty(t, middle.Frames)
	assert.NotEmpty(t, middle.Packet)
	start := at(0)
	assert.Zero(t, start.At)
	assert.Equal(t, middle, at(int64(middle.At)))
	assert.Equal(t, end, at(1<<40), "beyond the end is the end")
	var maps []string
	for _, m := range end.Maps {
		maps = append(maps, m.Name)
	}
	assert.NotEmpty(t, maps)
}

func TestKernelsAreGivenAsFiles(t *testing.T) {
	c := newClient(t, Config{Kernels: []Kernel{{Name: "here", Source: "a test", Open: func() (*loader.Target, error) {
		return nil, os.ErrNotExist
	}}}})
	const name = "linux-5.10.262-amd64-cloud.min.btf"
	var target report.Target
	require.Nil(t, c.say(Message{Do: "kernel", Name: name, Data: file(t, "../../../testdata/btf/min/"+name)}, &target))
	assert.Equal(t, "5.10.262", target.Version)
	require.Nil(t, c.say(Message{Do: "kernel", Name: name, Data: file(t, "../../../testdata/btf/min/"+name)}, nil), "once more")
	var list KernelList
	require.Nil(t, c.say(Message{Do: "kernels"}, &list))
	var names []string
	for _, k := range list.Kernels {
		names = append(names, k.Name)
	}
	assert.Equal(t, []string{"linux-6.12.107-amd64", "here", name}, names)
	o := c.open("exec")
	var m report.MatrixDocument
	require.Nil(t, c.say(Message{Do: "matrix", Object: o.Object, Kernels: []string{"linux-6.12.107-amd64", name}}, &m))
	assert.Equal(t, []string{"linux-6.12.107-amd64", name}, m.Targets)
	assert.NotEmpty(t, m.Rows)
	var l Layout
	require.Nil(t, c.say(Message{Do: "layout", Type: "task_struct", Kernels: []string{"linux-6.12.107-amd64", name}}, &l))
	assert.Len(t, l.Kernels, 2)
	assert.NotEmpty(t, l.Members)
	e := c.say(Message{Do: "run", Object: o.Object, Kernel: "here"}, nil)
	require.NotNil(t, e)
	assert.Contains(t, e.Message, "not exist")
}

func TestVerifyExplainsARefusal(t *testing.T) {
	c := newClient(t, Config{})
	var o Opened
	require.Nil(t, c.say(Message{Do: "open", Name: "faults.o", Data: file(t, "../../../testdata/objects/clang-22/faults.o")}, &o))
	var doc report.VerifyDocument
	require.Nil(t, c.say(Message{Do: "verify", Object: o.Object}, &doc))
	seen := map[string]bool{}
	for _, p := range doc.Programs {
		if p.Name == "err_null_lookup" {
			assert.Equal(t, "refused", p.Verdict.Verdict)
			assert.Equal(t, "R0 invalid mem access 'map_value_or_null'", p.Message)
			assert.NotEmpty(t, p.Reason)
			assert.NotNil(t, p.Source)
			assert.NotEmpty(t, p.History)
		}
		seen[p.Verdict.Verdict] = true
	}
	assert.True(t, seen["refused"] && seen["accepted"], "%v", seen)
}

func TestHostileMessagesAreErrors(t *testing.T) {
	c := newClient(t, Config{})
	o := c.open("xdp").Object
	long := strings.Repeat("x", 1000)
	for name, message := range map[string]string{
		"nothing":           ``,
		"no JSON":           `{"do":`,
		"a list":            `[]`,
		"null":              `null`,
		"two":               `{"do":"kernels"}{"do":"kernels"}`,
		"unknown member":    `{"do":"kernels","eval":"1"}`,
		"wrong type":        `{"do":7}`,
		"unknown message":   `{"do":"shell"}`,
		"deep":              strings.Repeat(`{"id":`, 100_000),
		"no base64":         `{"do":"open","name":"a","data":"!"}`,
		"no data":           `{"do":"open","name":"a"}`,
		"no object":         `{"do":"open","name":"a","data":"AAAA"}`,
		"an ELF header":     `{"do":"open","name":"a","data":"f0VMRgIBAQA="}`,
		"long name":         `{"do":"open","name":"` + long + `","data":"AAAA"}`,
		"no types":          `{"do":"kernel","name":"a","data":"AAAA"}`,
		"embedded's name":   `{"do":"kernel","name":"linux-6.12.107-amd64","data":"AAAA"}`,
		"object not open":   `{"do":"run","object":"0123456789abcdef"}`,
		"kernel not known":  `{"do":"run","object":"` + o + `","kernel":"/etc/passwd"}`,
		"program not known": `{"do":"step","object":"` + o + `","program":"x"}`,
		"packet of a file":  `{"do":"run","object":"` + o + `","packet":"@/etc/passwd"}`,
		"packet, truncated": `{"do":"run","object":"` + o + `","packet":" @/etc/passwd[:4]"}`,
		"huge packet":       `{"do":"run","object":"` + o + `","packet":"eth/zero(99999999999)"}`,
		"no packet":         `{"do":"run","object":"` + o + `","packet":"eth/("}`,
		"short packet":      `{"do":"run","object":"` + o + `","packet":"00"}`,
		"no type":           `{"do":"layout"}`,
		"unknown type":      `{"do":"layout","type":"no_such_struct"}`,
		"a field":           `{"do":"layout","type":"task_struct.pid"}`,
		"matrix of nothing": `{"do":"matrix"}`,
		"matrix elsewhere":  `{"do":"matrix","object":"` + o + `","kernels":["nowhere"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, e := (&client{t, c.p}).raw([]byte(message))
			require.NotNil(t, e)
			assert.NotEmpty(t, e.Message)
			assert.NotContains(t, e.Message, "bug in bpfrun")
			assert.NotContains(t, e.Message, "root:", "a file's content")
		})
	}
	var doc report.RunDocument
	require.Nil(t, c.say(Message{Do: "run", Object: o}, &doc), "the next message works")
}

// Damaged objects and types are errors or results, never a bug.
func TestDamagedFilesAreAnswered(t *testing.T) {
	c := newClient(t, Config{})
	whole := file(t, "../../../examples/tailcall/tailcall.bpf.o")
	btf := file(t, "../../../testdata/btf/min/linux-5.10.262-amd64-cloud.min.btf")
	for i := range 150 {
		damaged := append([]byte(nil), whole...)
		for k := range 1 + i%7 {
			damaged[(uint64(i)*2654435761+uint64(k)*40503)%uint64(len(damaged))] ^= byte(1 << (i % 8))
		}
		if i%10 == 9 {
			damaged = damaged[:len(damaged)*i/150]
		}
		var o Opened
		if e := c.say(Message{Do: "open", Name: "damaged.o", Data: damaged}, &o); e != nil {
			assert.NotContains(t, e.Message, "bug in bpfrun")
			continue
		}
		for _, do := range []string{"run", "code", "verify"} {
			if e := c.say(Message{Do: do, Object: o.Object}, nil); e != nil {
				assert.NotContains(t, e.Message, "bug in bpfrun", "%s %d", do, i)
			}
		}
		if len(o.Info.Programs) > 0 {
			if e := c.say(Message{Do: "step", Object: o.Object, Program: o.Info.Programs[0].Name, At: 3}, nil); e != nil {
				assert.NotContains(t, e.Message, "bug in bpfrun", "step %d", i)
			}
		}
		types := append([]byte(nil), btf...)
		types[(i*7919)%len(types)] ^= 0x55
		if e := c.say(Message{Do: "kernel", Name: "linux-5.10-damaged", Data: types}, nil); e != nil {
			assert.NotContains(t, e.Message, "bug in bpfrun")
		}
	}
}

func TestLimits(t *testing.T) {
	c := newClient(t, Config{})
	t.Run("objects", func(t *testing.T) {
		first := c.open("xdp").Object
		for i := range maxObjects {
			require.Nil(t, c.say(Message{Do: "open", Name: strings.Repeat("a", i+1), Data: file(t, "../../../examples/tc/tc.bpf.o")}, nil))
		}
		assert.Len(t, c.p.objects, maxObjects)
		assert.NotNil(t, c.say(Message{Do: "run", Object: first}, nil), "the one used longest ago is gone")
	})
	t.Run("kernels", func(t *testing.T) {
		data := file(t, "../../../testdata/btf/min/linux-5.10.262-amd64-cloud.min.btf")
		for i := range maxKernels {
			require.Nil(t, c.say(Message{Do: "kernel", Name: "k" + strings.Repeat("a", i), Data: data}, nil))
		}
		e := c.say(Message{Do: "kernel", Name: "one more", Data: data}, nil)
		require.NotNil(t, e)
		assert.Contains(t, e.Message, "limit")
		assert.LessOrEqual(t, len(c.p.targets), maxLoaded)
	})
	t.Run("message", func(t *testing.T) {
		_, e := c.raw(make([]byte, MaxMessage+1))
		require.NotNil(t, e)
		assert.Contains(t, e.Message, "limit")
	})
	t.Run("object", func(t *testing.T) {
		e := c.say(Message{Do: "open", Name: "large", Data: make([]byte, maxObject+1)}, nil)
		require.NotNil(t, e)
		assert.Contains(t, e.Message, "limit")
	})
}

func TestTimeoutStopsAMessage(t *testing.T) {
	c := newClient(t, Config{Timeout: time.Nanosecond})
	o := c.open("loop")
	for _, do := range []string{"run", "verify", "matrix", "code"} {
		e := c.say(Message{Do: do, Object: o.Object}, nil)
		require.NotNil(t, e, do)
		assert.Contains(t, e.Message, "took too long", do)
	}
	e := c.say(Message{Do: "step", Object: o.Object, Program: o.Info.Programs[0].Name}, nil)
	require.NotNil(t, e)
	assert.Contains(t, e.Message, "took too long")
}

// A panic is an answer too, and the next message works.
func TestPanicIsAnAnswer(t *testing.T) {
	c := newClient(t, Config{Kernels: []Kernel{{Name: "broken", Open: func() (*loader.Target, error) { panic("a test") }}}})
	o := c.open("xdp")
	require.Nil(t, c.say(Message{Do: "run", Object: o.Object}, nil))
	e := c.say(Message{Do: "run", Object: o.Object, Kernel: "broken"}, nil)
	require.NotNil(t, e)
	assert.Contains(t, e.Message, "bug in bpfrun")
	assert.Empty(t, c.p.targets, "a panic may leave an opened kernel half changed")
	require.Nil(t, c.say(Message{Do: "run", Object: o.Object}, nil))
}

func FuzzAnswer(f *testing.F) {
	p := New(Config{Timeout: 2 * time.Second})
	f.Add([]byte(`{"do":"kernels"}`))
	f.Add([]byte(`{"id":1,"do":"open","name":"a.o","data":"f0VMRgIBAQA="}`))
	f.Add([]byte(`{"do":"layout","type":"struct task_struct","kernels":["linux-6.12.107-amd64"]}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		var a struct {
			Result json.RawMessage
			Error  *report.Error
		}
		require.NoError(t, json.Unmarshal(p.Answer(context.Background(), message), &a))
		if a.Error != nil {
			assert.NotContains(t, a.Error.Message, "bug in bpfrun")
		}
	})
}
