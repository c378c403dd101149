package btfcases

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bpfrun/bpfrun/btf/check"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/worded"
)

// Line contains a kernel's verdicts on the mutants of one source.
type Line struct {
	Kernel string `json:"kernel"`
	Source string `json:"source"`
	// SHA256 is the hash of the source's BTF.
	SHA256 string `json:"sha256"`
	Seed   uint64 `json:"seed"`
	// Verdicts has a letter for each mutant; see [Letter].
	Verdicts string `json:"verdicts"`
}

// letters maps the errors that BPF_BTF_LOAD returns.
var letters = map[uapi.Errno]byte{
	0: '.', uapi.EINVAL: 'I', uapi.E2BIG: 'B', uapi.EEXIST: 'X', uapi.ELOOP: 'L', uapi.ENOENT: 'N', uapi.EFAULT: 'F', 524: 'S',
}

// NotAsked is the letter of mutants that are not loaded because some kernels would crash.
const NotAsked = '-'

// Letter returns the letter of an error in recordings: "." for none, "I" for EINVAL. ok is false
// for errors that are not about the BTF.
func Letter(e uapi.Errno) (letter byte, ok bool) {
	letter, ok = letters[e]
	return letter, ok
}

// Hash returns Line.SHA256 of a source.
func Hash(raw []byte) string {
	h := sha256.Sum256(raw)
	return hex.EncodeToString(h[:])
}

// Read calls a function with each line of a recording, which may be compressed.
func Read(path string, each func(*Line) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	dec := json.NewDecoder(in)
	for {
		var l Line
		switch err := dec.Decode(&l); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", path, worded.Error(err))
		}
		if err := each(&l); err != nil {
			return err
		}
	}
}

// Result counts the outcomes of [Compare].
type Result struct {
	Cases, Accepted, NotAsked int
	// Wrong counts mutants that one side accepts and the other refuses, OtherErrno those refused
	// with different errors.
	Wrong, OtherErrno int
}

// Add adds up results.
func (r *Result) Add(o Result) {
	r.Cases += o.Cases
	r.Accepted += o.Accepted
	r.NotAsked += o.NotAsked
	r.Wrong += o.Wrong
	r.OtherErrno += o.OtherErrno
}

// Compare checks the mutants of a line's source. It calls differ for each mutant with a different
// verdict of the kernel; ours is nil or a *[check.Problem].
func Compare(l *Line, source []byte, release check.Release, inKernel Kernel, differ func(n int, raw []byte, ours error)) Result {
	var res Result
	for n := range len(l.Verdicts) {
		res.Cases++
		if l.Verdicts[n] == NotAsked {
			res.NotAsked++
			continue
		}
		raw := Mutant(source, l.Seed, uint64(n))
		err := check.BTF(raw, check.Options{Release: release, InKernel: inKernel})
		var p *check.Problem
		ours := uapi.Errno(0)
		if errors.As(err, &p) {
			ours = p.Errno
		}
		if l.Verdicts[n] == '.' {
			res.Accepted++
		}
		letter, _ := Letter(ours)
		switch {
		case letter == l.Verdicts[n]:
			continue
		case (letter == '.') != (l.Verdicts[n] == '.'):
			res.Wrong++
		default:
			res.OtherErrno++
		}
		if differ != nil {
			differ(n, raw, err)
		}
	}
	return res
}

// Unsafe reports whether the BTF may crash some kernels.
func Unsafe(raw []byte, inKernel Kernel) bool {
	for _, release := range []check.Release{0, uapi.R(6, 18)} {
		var p *check.Problem
		if errors.As(check.BTF(raw, check.Options{Release: release, InKernel: inKernel}), &p) && p.Unsafe {
			return true
		}
	}
	return false
}
