package conformance

import (
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/worded"
	"github.com/bpfrun/bpfrun/uapi"
)

// CaseFile is a file of cases recorded from a kernel: FORMATS section 3, `conformance kernel`.
type CaseFile struct {
	Object string `json:"object"`
	// Kernel is the release of the kernel that was recorded.
	Kernel     string   `json:"kernel"`
	CheckNames []string `json:"check_names"`
	Cases      []Case   `json:"cases"`
}

// Case is one recorded case: what was set up, what was run, what the kernel did.
type Case struct {
	Name string `json:"name"`
	// Globals are set before the runs: bytes in hex, or "fill:5a".
	Globals     map[string]string `json:"globals,omitempty"`
	UserRingbuf []UserSample      `json:"user_ringbuf,omitempty"`
	// Maps are elements user space stores before the runs, in the form of BPF_MAP_UPDATE_ELEM: of per-CPU maps the values of all CPUs.
	Maps map[string][]MapElement `json:"maps,omitempty"`
	Runs []CaseRun               `json:"runs"`
	// SettleMS is the simulated time after the runs that lets timers and work queues finish.
	SettleMS int `json:"settle_ms,omitempty"`
	// EnvDependent names what depends on the recording machine: "global:out", "check:name", "map:name",
	// "ringbuf:name", "perf:name", "ret", "data_out", "ctx_out", "trace".
	EnvDependent []string   `json:"env_dependent,omitempty"`
	Expect       CaseExpect `json:"expect"`
}

// MapElement is an element of a map before the runs.
type MapElement struct {
	Key   HexBytes `json:"k"`
	Value HexBytes `json:"v"`
}

// UserSample is a sample user space puts into a user ring buffer before the runs.
type UserSample struct {
	Map    string   `json:"map"`
	Sample HexBytes `json:"sample"`
}

// CaseRun is one BPF_PROG_TEST_RUN.
type CaseRun struct {
	Prog string   `json:"prog"`
	Data HexBytes `json:"data,omitempty"`
	Ctx  HexBytes `json:"ctx,omitempty"`
	CPU  int      `json:"cpu,omitempty"`
	// Repeat runs the program several times; what is compared comes from the last one.
	Repeat int `json:"repeat,omitempty"`
}

// CaseExpect is what the kernel did.
type CaseExpect struct {
	// LoadError means that the kernel refused the program.
	LoadError string `json:"load_error,omitempty"`
	// VerifierLog is the last line of the log of a refused program.
	VerifierLog string                `json:"verifier_log,omitempty"`
	Runs        []RunExpect           `json:"runs,omitempty"`
	Checks      map[string]int64      `json:"checks,omitempty"`
	Globals     map[string]GlobalWant `json:"globals,omitempty"`
	Maps        map[string][]MapWant  `json:"maps,omitempty"`
	Ringbuf     map[string][]HexBytes `json:"ringbuf,omitempty"`
	Perf        map[string][]HexBytes `json:"perf,omitempty"`
	Trace       []string              `json:"trace,omitempty"`
}

// RunExpect is the outcome of one run. Absent fields were not recorded.
type RunExpect struct {
	Ret     *uint32   `json:"ret,omitempty"`
	Errno   CaseErrno `json:"errno,omitempty"`
	DataOut *HexBytes `json:"data_out,omitempty"`
	CtxOut  *HexBytes `json:"ctx_out,omitempty"`
}

// MapWant is one element of a map.
type MapWant struct {
	Key    HexBytes   `json:"k,omitempty"`
	Value  HexBytes   `json:"v,omitempty"`
	PerCPU []HexBytes `json:"percpu,omitempty"`
}

// HexBytes are bytes written as hex digits.
type HexBytes []byte

// UnmarshalJSON reads a string of hex digits.
func (h *HexBytes) UnmarshalJSON(b []byte) error {
	var s *string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s == nil {
		*h = nil
		return nil
	}
	out, err := hex.DecodeString(*s)
	*h = out
	return err
}

// MarshalJSON writes a string of hex digits.
func (h HexBytes) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(h)) }

// String writes the hex digits.
func (h HexBytes) String() string { return hex.EncodeToString(h) }

// CaseErrno is an error number, read from a number of either sign or a name.
type CaseErrno uapi.Errno

// UnmarshalJSON reads 22, -22 or "EINVAL".
func (e *CaseErrno) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	if text == "null" || text == "" {
		*e = 0
		return nil
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		*e = CaseErrno(max(n, -n))
		return nil
	}
	n, ok := uapi.ParseErrno(text)
	if !ok {
		return fmt.Errorf("errno %q is not known", text)
	}
	*e = CaseErrno(n)
	return nil
}

// MarshalJSON writes the name.
func (e CaseErrno) MarshalJSON() ([]byte, error) { return json.Marshal(uapi.Errno(e).Error()) }

// GlobalWant is the value of a global variable: a number, a list of numbers, or bytes in hex.
type GlobalWant struct {
	Number *json.Number
	List   []json.Number
	Bytes  []byte
}

// UnmarshalJSON reads one of the three forms.
func (g *GlobalWant) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) > 0 && b[0] == '"':
		var h HexBytes
		if err := h.UnmarshalJSON(b); err != nil {
			return err
		}
		g.Bytes = append([]byte{}, h...)
		return nil
	case len(b) > 0 && b[0] == '[':
		return json.Unmarshal(b, &g.List)
	case string(b) == "true", string(b) == "false":
		n := json.Number("0")
		if b[0] == 't' {
			n = "1"
		}
		g.Number = &n
		return nil
	}
	g.Number = new(json.Number)
	return json.Unmarshal(b, g.Number)
}

// MarshalJSON writes the form the value has.
func (g GlobalWant) MarshalJSON() ([]byte, error) {
	switch {
	case g.Bytes != nil:
		return HexBytes(g.Bytes).MarshalJSON()
	case g.Number != nil:
		return []byte(*g.Number), nil
	}
	return json.Marshal(g.List)
}

// maxCaseFile limits the size of a file of cases in bytes.
const maxCaseFile = 256 << 20

// ReadCases reads a file of recorded cases, which may be compressed (.gz). The error is an [*InputError] or of the file system.
func ReadCases(path string) (*CaseFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, &InputError{Name: path, Line: 1, Err: err}
		}
	}
	data, err := io.ReadAll(io.LimitReader(r, maxCaseFile))
	if err != nil {
		return nil, &InputError{Name: path, Line: 1, Err: err}
	}
	return ParseCases(path, data)
}

// ParseCases reads recorded cases from memory.
func ParseCases(name string, data []byte) (*CaseFile, error) {
	var c CaseFile
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, &InputError{Name: name, Line: lineOf(data, err), Err: worded.Error(err)}
	}
	if c.Object == "" || len(c.Cases) == 0 {
		return nil, &InputError{Name: name, Line: 1, Err: fmt.Errorf("no recorded cases: want {object, kernel, check_names, cases}")}
	}
	return &c, nil
}

// lineOf returns the line of a JSON error, 1 when it has none.
func lineOf(data []byte, err error) int {
	off := int64(0)
	switch e := err.(type) {
	case *json.SyntaxError:
		off = e.Offset
	case *json.UnmarshalTypeError:
		off = e.Offset
	}
	return 1 + strings.Count(string(data[:min(int(off), len(data))]), "\n")
}
