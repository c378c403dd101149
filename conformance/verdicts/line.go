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
	// Skipped means that the verifier did not check the program; Class explains why.
	Skipped = "skipped"
)

// Classes name the component that decided the verdict.
const (
	ByVerifier = "verifier"
	ByCORE     = "core" // a failed CO-RE relocation is reachable
	ByMap      = "map"  // a map could not be created
	ByEnv      = "env"  // the kernel lacks what the program needs, or does not permit the load
	ByLoader   = "loader"
	ByTime     = "time" // the load was interrupted
)

// Line is the verdict of one kernel on one program.
type Line struct {
	// Object is the path of the object file, relative to the directory of the recording's objects.
	// SHA256 is the hash of its contents.
	Object string `json:"object,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Program is the program's name in the object, or the name of a generated program.
	Program string `json:"program"`
	Section string `json:"section,omitempty"`
	// Patches modify the linked program of the object.
	Patches []Patch `json:"patches,omitempty"`
	// Variant numbers the variants of one program, starting from 1.
	Variant int `json:"variant,omitempty"`
	// Generated is the program itself if it does not come from an object.
	Generated *Program `json:"generated,omitempty"`

	ProgType     string `json:"prog_type"`
	Attach       uint32 `json:"expected_attach_type"`
	AttachTarget string `json:"attach_target,omitempty"`
	ProgFlags    uint32 `json:"prog_flags,omitempty"`
	Insns        int    `json:"insns,omitempty"`

	// Kernel is the release as printed by uname -r.
	Kernel string `json:"kernel"`
	// CPUs is the machine's number of CPUs, or 0 if unknown.
	CPUs    int    `json:"cpus,omitempty"`
	Verdict string `json:"verdict"`
	Class   string `json:"class"`
	// Errno is the name of the error: "EACCES".
	Errno string `json:"errno,omitempty"`
	// Reason is the last message of the log. Messages lists all of them if there are several.
	Reason   string   `json:"reason,omitempty"`
	Messages []string `json:"messages,omitempty"`
	Stats
	// Where is the last instruction that the log shows before the message.
	Where *int `json:"where,omitempty"`
	// WhereFrom is "trace" if it comes from a log of level 1.
	WhereFrom string `json:"where_from,omitempty"`
	Note      string `json:"note,omitempty"`
	// Log is the kernel's log of level 2 with statistics, Path that of level 1, if they were
	// requested.
	Log  string `json:"log,omitempty"`
	Path string `json:"path,omitempty"`
}

// Stats holds the statistics at the end of a kernel's log. Pointers are nil if the kernel did not
// print them.
type Stats struct {
	Processed  *int   `json:"processed_insns,omitempty"`
	MaxStates  *int   `json:"max_states_per_insn,omitempty"`
	Total      *int   `json:"total_states,omitempty"`
	Peak       *int   `json:"peak_states,omitempty"`
	StackDepth string `json:"stack_depth,omitempty"`
	// Usec is the kernel's verification time in microseconds: the time that its verifier prints, or
	// the CPU time of the load if that is less.
	Usec *int `json:"verification_usec,omitempty"`
}

// Key returns the name of the program in reports.
func (l *Line) Key() string {
	switch {
	case l.Object == "":
		return l.Program
	case len(l.Patches) > 0:
		return fmt.Sprintf("%s:%s+%d", l.Object, l.Program, l.Variant)
	}
	return l.Object + ":" + l.Program
}

// Reset clears the verdict.
func (l *Line) Reset() {
	l.Stats, l.Reason, l.Messages, l.Errno, l.Note, l.Where, l.Verdict, l.Class, l.Log, l.Path = Stats{}, "", nil, "", "", nil, "", "", "", ""
}

// maxLine limits the length of a line of a recording in bytes.
const maxLine = 16 << 20

// ReadFile calls f for each line of a recording, which may be compressed with gzip.
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
