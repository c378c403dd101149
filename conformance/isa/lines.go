package isa

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"

	"github.com/bpfrun/bpfrun/conformance/result"
	"github.com/bpfrun/bpfrun/internal/worded"
)

// maxLine limits the length of a line in a vector file, in bytes: enough for a program of a million
// slots in hex and some runs.
const maxLine = 64 << 20

// Line is one line of a vector file in either form: a kernel vector has P and Runs; a line of the
// public suite has Code, Mem and Expect.
type Line struct {
	ID   string `json:"id,omitempty"`
	Cat  string `json:"cat,omitempty"`  // category, such as "alu" or "random"
	Form string `json:"form,omitempty"` // the instruction under test; absent for mixed programs
	T    string `json:"t,omitempty"`    // the program type it was recorded with
	P    string `json:"p,omitempty"`    // program, hex, little endian
	Pkt  string `json:"pkt,omitempty"`  // packet, hex; 64 zero bytes if absent
	Runs []Run  `json:"runs,omitempty"`

	Name   string `json:"name,omitempty"`
	Code   string `json:"code,omitempty"`   // program, hex, little endian
	Mem    string `json:"mem,omitempty"`    // memory that r1 points to, hex
	Expect string `json:"expect,omitempty"` // expected r0
	Error  string `json:"error,omitempty"`  // expected error text
}

// Run is one recorded execution of a kernel vector.
type Run struct {
	In  string `json:"in"`  // initial value of the map, hex, without trailing zero bytes
	Out string `json:"out"` // final value of the map
	Ret uint32 `json:"ret"` // lower half of r0
}

// Verdict is one line of a file of load verdicts: a program and a kernel's verdict on it.
type Verdict struct {
	ID  string `json:"id"`
	P   string `json:"p"`             // program, hex, little endian
	OK  *bool  `json:"ok,omitempty"`  // nil if no kernel was asked
	Why string `json:"why,omitempty"` // the verifier's last message
}

// ReadFile decodes each line of a file of JSON lines, which may be compressed with gzip, and calls
// f with it. It skips empty lines and stops at the first error of f.
func ReadFile[T any](path string, f func(T) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return Read(path, file, f)
}

// Read is like [ReadFile] but reads from r. name is the name of the input in errors.
func Read[T any](name string, r io.Reader, f func(T) error) error {
	b := bufio.NewReader(r)
	if magic, err := b.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return &result.InputError{Name: name, Line: 1, Err: err}
		}
		defer z.Close()
		b = bufio.NewReader(z)
	}
	s := bufio.NewScanner(b)
	s.Buffer(nil, maxLine)
	n := 0
	for s.Scan() {
		n++
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return &result.InputError{Name: name, Line: n, Err: worded.Error(err)}
		}
		if err := f(v); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return &result.InputError{Name: name, Line: n + 1, Err: err}
	}
	return nil
}
