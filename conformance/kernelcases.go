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

	"github.com/bpfrun/bpfrun/conformance/result"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/worded"
)

// CaseFile is a file of cases recorded on a kernel, the input of `conformance kernel` (FORMATS
// section 3).
type CaseFile struct {
	Object string `json:"object"`
	// Kernel is the release of the recorded kernel.
	Kernel     string   `json:"kernel"`
	CheckNames []string `json:"check_names"`
	Cases      []Case   `json:"cases"`
}

// Case is one recorded case: the setup, the runs, and what the kernel did.
type Case struct {
	Name string `json:"name"`
	// Globals maps global variables to their initial values: bytes in hex, or "fill:5a".
	Globals     map[string]string `json:"globals,omitempty"`
	UserRingbuf []UserSample      `json:"user_ringbuf,omitempty"`
	// Maps lists the elements that user space stores before the runs, in the format of
	// BPF_MAP_UPDATE_ELEM: elements of per-CPU maps contain the values of all CPUs.
	Maps map[string][]MapElement `json:"maps,omitempty"`
	Runs []CaseRun               `json:"runs"`
	// SettleMS is the simulated time after the runs, in milliseconds, in which timers and work
	// queues finish.
	SettleMS int `json:"settle_ms,omitempty"`
	// EnvDependent lists the results that depend on the recording machine: "global:out",
	// "check:name", "map:name", "ringbuf:name", "perf:name", "ret", "data_out", "ctx_out", "trace".
	EnvDependent []string   `json:"env_dependent,omitempty"`
	Expect       CaseExpect `json:"expect"`
}

// MapElement is the initial value of a map element.
type MapElement struct {
	Key   HexBytes `json:"k"`
	Value HexBytes `json:"v"`
}

// UserSample is a sample that user space writes to a user ring buffer before the runs.
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
	// Repeat is the number of times that the program runs; only the last run is compared.
	Repeat int `json:"repeat,omitempty"`
}

// CaseExpect records what the kernel did.
type CaseExpect struct {
	// LoadError is set if the kernel refused the program.
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

// RunExpect is the recorded outcome of one run. Nil fields were not recorded.
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

// HexBytes is a byte string that JSON represents as hex digits.
type HexBytes []byte

// UnmarshalJSON decodes a string of hex digits.
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

// MarshalJSON encodes the bytes as a string of hex digits.
func (h HexBytes) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(h)) }

// String returns the bytes as hex digits.
func (h HexBytes) String() string { return hex.EncodeToString(h) }

// CaseErrno is an error number. In JSON it is a name, or a number of either sign.
type CaseErrno uapi.Errno

// UnmarshalJSON decodes 22, -22 or "EINVAL".
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

// MarshalJSON encodes the error's name.
func (e CaseErrno) MarshalJSON() ([]byte, error) { return json.Marshal(uapi.Errno(e).Error()) }

// GlobalWant is the expected value of a global variable: a number, a list of numbers, or bytes in
// hex. One field is set.
type GlobalWant struct {
	Number *json.Number
	List   []json.Number
	Bytes  []byte
}

// UnmarshalJSON decodes a number, a boolean, a list of numbers, or a string of hex digits.
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

// MarshalJSON encodes the field that is set.
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

// ReadCases reads a file of recorded cases, which may be compressed (.gz). The error is an
// [*result.InputError] or comes from the file system.
func ReadCases(path string) (*CaseFile, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return ParseCases(path, data)
}

// readFile reads a file of at most maxCaseFile bytes, which is unpacked if its name ends in .gz.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, &result.InputError{Name: path, Line: 1, Err: err}
		}
	}
	data, err := io.ReadAll(io.LimitReader(r, maxCaseFile))
	if err != nil {
		return nil, &result.InputError{Name: path, Line: 1, Err: err}
	}
	return data, nil
}

// ParseCases parses recorded cases; name appears in errors, which are of type [*result.InputError].
func ParseCases(name string, data []byte) (*CaseFile, error) {
	var c CaseFile
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, &result.InputError{Name: name, Line: lineOf(data, err), Err: worded.Error(err)}
	}
	if c.Object == "" || len(c.Cases) == 0 {
		return nil, &result.InputError{Name: name, Line: 1, Err: fmt.Errorf("no recorded cases: want {object, kernel, check_names, cases}")}
	}
	return &c, nil
}

// lineOf returns the line of a JSON error, or 1 if the error has no position.
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
