package verdicts

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bpfrun/bpfrun/internal/worded"
)

// Verdicts of a kernel.
const (
	Accepted = "ok"
	Refused  = "refused"
	// Skipped: the verifier did not judge the program; Class explains why.
	Skipped = "skipped"
)

// Classes of who decided.
const (
	ByVerifier = "verifier"
	ByCORE     = "core" // a poisoned instruction is reached
	ByMap      = "map"  // a map could not be created
	ByEnv      = "env"  // the kernel has not what the program needs, or does not permit the load
	ByLoader   = "loader"
	ByTime     = "time" // the load was interrupted
)

// Line is the verdict of one kernel on one program.
type Line struct {
	// Object is the path of the object file below the directory of the recording's objects, SHA256 the hash of its contents.
	Object string `json:"object,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Program is the program's name in the object, or the name of a generated program.
	Program string `json:"program"`
	Section string `json:"section,omitempty"`
	// Patches change the linked program of the object.
	Patches []Patch `json:"patches,omitempty"`
	// Variant numbers the changed programs of one program, from 1.
	Variant int `json:"variant,omitempty"`
	// Generated is the program itself when no object has it.
	Generated *Program `json:"generated,omitempty"`

	ProgType     string `json:"prog_type"`
	Attach       uint32 `json:"expected_attach_type"`
	AttachTarget string `json:"attach_target,omitempty"`
	ProgFlags    uint32 `json:"prog_flags,omitempty"`
	Insns        int    `json:"insns,omitempty"`

	// Kernel is the release as uname prints it.
	Kernel string `json:"kernel"`
	// CPUs is the number of its processors, where it is known.
	CPUs    int    `json:"cpus,omitempty"`
	Verdict string `json:"verdict"`
	Class   string `json:"class"`
	// Errno is the name of the error: "EACCES".
	Errno string `json:"errno,omitempty"`
	// Reason is the last message of the log, Messages all of them when there are several.
	Reason   string   `json:"reason,omitempty"`
	Messages []string `json:"messages,omitempty"`
	Stats
	// Where is the last instruction the log shows before the message.
	Where *int `json:"where,omitempty"`
	// WhereFrom is "trace" when a log of level 1 showed it.
	WhereFrom string `json:"where_from,omitempty"`
	Note      string `json:"note,omitempty"`
	// Log is the kernel's log of level 2, where it was asked for.
	Log string `json:"log,omitempty"`
}

// Stats are the figures at the end of a kernel's log. Pointers are nil when the kernel printed none.
type Stats struct {
	Processed  *int   `json:"processed_insns,omitempty"`
	MaxStates  *int   `json:"max_states_per_insn,omitempty"`
	Total      *int   `json:"total_states,omitempty"`
	Peak       *int   `json:"peak_states,omitempty"`
	StackDepth string `json:"stack_depth,omitempty"`
	// Usec is what the kernel took, in microseconds: the time its verifier prints, or the processor time of the load where that is less.
	Usec *int `json:"verification_usec,omitempty"`
}

// Key names the program in reports.
func (l *Line) Key() string {
	switch {
	case l.Object == "":
		return l.Program
	case len(l.Patches) > 0:
		return fmt.Sprintf("%s:%s+%d", l.Object, l.Program, l.Variant)
	}
	return l.Object + ":" + l.Program
}

// Reset forgets the verdict.
func (l *Line) Reset() {
	l.Stats, l.Reason, l.Messages, l.Errno, l.Note, l.Where, l.Verdict, l.Class, l.Log = Stats{}, "", nil, "", "", nil, "", "", ""
}

// maxLine limits a line of a recording in bytes.
const maxLine = 16 << 20

// ReadFile calls f for each line of a recording, which may be compressed by gzip.
func ReadFile(path string, f func(*Line) error) error {
	raw, err := os.Open(path)
	if err != nil {
		return err
	}
	defer raw.Close()
	var r io.Reader = raw
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(raw)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		defer z.Close()
		r = z
	}
	if err := Read(r, f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Read calls f for each line of a recording.
func Read(r io.Reader, f func(*Line) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxLine)
	for n := 1; s.Scan(); n++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		l := new(Line)
		if err := json.Unmarshal(s.Bytes(), l); err != nil {
			return fmt.Errorf("line %d: %w", n, worded.Error(err))
		}
		if err := f(l); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return s.Err()
}
