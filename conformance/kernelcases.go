package conformance

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

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
	Globals     map[string]string `json:"globals"`
	UserRingbuf []UserSample      `json:"user_ringbuf"`
	Runs        []CaseRun         `json:"runs"`
	// SettleMS is the simulated time after the runs that lets timers and work queues finish.
	SettleMS int `json:"settle_ms"`
	// EnvDependent names what depends on the recording machine: "global:out", "check:name", "map:name",
	// "ringbuf:name", "perf:name", "ret", "data_out", "ctx_out", "trace".
	EnvDependent []string   `json:"env_dependent"`
	Expect       CaseExpect `json:"expect"`
}

// UserSample is a sample user space puts into a user ring buffer before the runs.
type UserSample struct {
	Map    string   `json:"map"`
	Sample HexBytes `json:"sample"`
}

// CaseRun is one BPF_PROG_TEST_RUN.
type CaseRun struct {
	Prog string   `json:"prog"`
	Data HexBytes `json:"data"`
	Ctx  HexBytes `json:"ctx"`
	CPU  int      `json:"cpu"`
	// Repeat runs the program several times; what is compared comes from the last one.
	Repeat int `json:"repeat"`
}

// CaseExpect is what the kernel did.
type CaseExpect struct {
	// LoadError says that the kernel refused the program.
	LoadError string                `json:"load_error"`
	Runs      []RunExpect           `json:"runs"`
	Checks    map[string]int64      `json:"checks"`
	Globals   map[string]GlobalWant `json:"globals"`
	Maps      map[string][]MapWant  `json:"maps"`
	Ringbuf   map[string][]HexBytes `json:"ringbuf"`
	Perf      map[string][]HexBytes `json:"perf"`
	Trace     []string              `json:"trace"`
}

// RunExpect is the outcome of one run. Absent fields were not recorded.
type RunExpect struct {
	Ret     *uint32   `json:"ret"`
	Errno   CaseErrno `json:"errno"`
	DataOut *HexBytes `json:"data_out"`
	CtxOut  *HexBytes `json:"ctx_out"`
}

// MapWant is one element of a map.
type MapWant struct {
	Key    HexBytes   `json:"k"`
	Value  HexBytes   `json:"v"`
	PerCPU []HexBytes `json:"percpu"`
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

// maxCaseFile bounds the size of a file of cases in bytes.
const maxCaseFile = 256 << 20

// ReadCases reads a file of recorded cases. The error is an [*InputError] or of the file system.
func ReadCases(path string) (*CaseFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCaseFile))
	if err != nil {
		return nil, err
	}
	return ParseCases(path, data)
}

// ParseCases reads recorded cases from memory.
func ParseCases(name string, data []byte) (*CaseFile, error) {
	var c CaseFile
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, &InputError{Name: name, Line: lineOf(data, err), Err: err}
	}
	if c.Object == "" || len(c.Cases) == 0 {
		return nil, &InputError{Name: name, Line: 1, Err: fmt.Errorf("no recorded cases: want {object, kernel, check_names, cases}")}
	}
	return &c, nil
}

// lineOf is the line of a JSON error, 1 when it has none.
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
