package intest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Status is the outcome of a test or of one of its parts.
type Status int

// Outcomes, from good to bad: the status of a test is the worst of its parts'.
const (
	Unknown Status = iota
	Passed
	Skipped
	Failed
	Errored
)

// String returns the status as a word.
func (s Status) String() string {
	switch s {
	case Passed:
		return "pass"
	case Skipped:
		return "skip"
	case Failed:
		return "fail"
	case Errored:
		return "error"
	}
	return "unknown"
}

// codes maps status codes, in reports and as the return value of a check. Codes from 100 were added
// because 0 to 3 are also packet verdicts.
var codes = map[uint64]Status{0: Errored, 1: Passed, 2: Failed, 3: Skipped, 100: Errored, 101: Passed, 102: Failed, 103: Skipped}

// Log is a line of a report: a printf format and its arguments.
type Log struct {
	Format string
	Args   []uint64
}

// Part is one part of a test with its own status.
type Part struct {
	Name   string
	Status Status
	Code   uint64 // the status as encoded in the report
	Logs   []Log
}

// Report is the decoded value of suite_result_map, a protobuf message:
//
//	message SuiteResult { repeated TestResult results = 1; repeated Log suite_log = 2; }
//	message TestResult  { string name = 1; Status status = 2; repeated Log test_log = 3; }
//	message Log         { string fmt = 1; repeated fixed64 args = 2; }
type Report struct {
	Parts []Part
	Logs  []Log
	// Rest is the offset of bytes after the message that are neither zero nor a field, as an
	// interrupted write leaves them, or -1.
	Rest int
}

var errTruncated = errors.New("truncated")

// Wire types (protobuf.dev, "Encoding").
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// field is one field of a message.
type field struct {
	num   uint64
	typ   uint8
	value uint64 // for numeric wire types
	data  []byte // for wireBytes
}

// next decodes the field at the start of b and returns it with its length in bytes.
func next(b []byte) (field, int, error) {
	tag, n := binary.Uvarint(b)
	if n <= 0 {
		return field{}, 0, errTruncated
	}
	f := field{num: tag >> 3, typ: uint8(tag & 7)}
	if f.num == 0 {
		return f, 0, errors.New("field number 0")
	}
	switch f.typ {
	case wireVarint:
		v, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return f, 0, errTruncated
		}
		f.value = v
		return f, n + m, nil
	case wireFixed64, wireFixed32:
		size := 8
		if f.typ == wireFixed32 {
			size = 4
		}
		if len(b) < n+size {
			return f, 0, errTruncated
		}
		for i := size - 1; i >= 0; i-- {
			f.value = f.value<<8 | uint64(b[n+i])
		}
		return f, n + size, nil
	case wireBytes:
		size, m := binary.Uvarint(b[n:])
		if m <= 0 || size > uint64(len(b)-n-m) {
			return f, 0, errTruncated
		}
		f.data = b[n+m : n+m+int(size)]
		return f, n + m + int(size), nil
	}
	return f, 0, fmt.Errorf("wire type %d", f.typ)
}

// fields calls do for each field of a message.
func fields(b []byte, do func(field) error) error {
	for at := 0; at < len(b); {
		f, n, err := next(b[at:])
		if err == nil {
			err = do(f)
		}
		if err != nil {
			return fmt.Errorf("byte %d: %w", at, err)
		}
		at += n
	}
	return nil
}

// DecodeReport decodes the value of suite_result_map. The message ends at the first zero or invalid
// field.
func DecodeReport(value []byte) (*Report, error) {
	r := &Report{Rest: -1}
	for at := 0; at < len(value); {
		f, n, err := next(value[at:])
		if err != nil {
			if strings.Trim(string(value[at:]), "\x00") != "" {
				r.Rest = at
			}
			return r, nil
		}
		switch {
		case f.num == 1 && f.typ == wireBytes:
			var p Part
			if p, err = decodePart(f.data); err == nil {
				r.Parts = append(r.Parts, p)
			}
		case f.num == 2 && f.typ == wireBytes:
			var l Log
			if l, err = decodeLog(f.data); err == nil {
				r.Logs = append(r.Logs, l)
			}
		}
		if err != nil {
			return r, fmt.Errorf("the report in %s: field at byte %d: %w", resultMap, at, err)
		}
		at += n
	}
	return r, nil
}

func decodePart(b []byte) (Part, error) {
	p := Part{Status: Errored}
	err := fields(b, func(f field) error {
		switch {
		case f.num == 1 && f.typ == wireBytes:
			p.Name = cString(f.data)
		case f.num == 2 && f.typ == wireVarint:
			p.Code, p.Status = f.value, codes[f.value]
			if p.Status == Unknown {
				p.Status = Errored
			}
		case f.num == 3 && f.typ == wireBytes:
			l, err := decodeLog(f.data)
			if err != nil {
				return fmt.Errorf("log: %w", err)
			}
			p.Logs = append(p.Logs, l)
		}
		return nil
	})
	if err != nil {
		return p, fmt.Errorf("result %q: %w", p.Name, err)
	}
	return p, nil
}

func decodeLog(b []byte) (Log, error) {
	var l Log
	err := fields(b, func(f field) error {
		switch {
		case f.num == 1 && f.typ == wireBytes:
			l.Format = cString(f.data)
		case f.num == 2 && f.typ == wireFixed64:
			l.Args = append(l.Args, f.value)
		case f.num == 2 && f.typ == wireBytes: // packed encoding
			if len(f.data)%8 != 0 {
				return fmt.Errorf("%d bytes of packed arguments", len(f.data))
			}
			for i := 0; i < len(f.data); i += 8 {
				l.Args = append(l.Args, binary.LittleEndian.Uint64(f.data[i:]))
			}
		}
		return nil
	})
	return l, err
}

// cString returns a C string that was written with its full size: all terminators are dropped,
// including those between a string and the text appended after it.
func cString(b []byte) string { return strings.ReplaceAll(string(b), "\x00", "") }
